-- What players lose in exact bearoffs, one row for each.
create view referee_summary as
select manifest->'parameters'->>'player' as player,
       (manifest->'parameters'->>'ply')::integer as ply,
       manifest->'parameters'->>'version' as player_version,
       (manifest->'parameters'->>'tables')::boolean as has_tables,
       (manifest->'parameters'->>'points') || 'x' || (manifest->'parameters'->>'checkers') as referee,
       (manifest->'parameters'->>'seed')::bigint as seed,
       (manifest->>'rows')::bigint as decisions,
       (manifest->'statistics'->>'mean_loss')::double as mean_loss,
       (manifest->'statistics'->>'standard_error')::double as standard_error,
       (manifest->'statistics'->>'error_share')::double as error_share,
       (manifest->'statistics'->>'loss_of_worst_tenth')::double as loss_of_worst_tenth,
       (manifest->'statistics'->>'loss_of_worst_hundredth')::double as loss_of_worst_hundredth,
       (manifest->'statistics'->>'loss_of_worst_thousandth')::double as loss_of_worst_thousandth,
       (manifest->'statistics'->>'largest_loss')::double as largest_loss,
       (manifest->'statistics'->>'loss_error_bound')::double as loss_error_bound
from manifests
where manifest->>'dataset' = 'referee_scores' and is_current;
comment on view referee_summary is 'What players lose in bearoffs and contact endgames that an exact table has solved';
comment on column referee_summary.player is 'Player';
comment on column referee_summary.ply is 'Plies that the player looks ahead, 0 for the static evaluation';
comment on column referee_summary.player_version is 'Version of the player as it says it';
comment on column referee_summary.has_tables is 'Whether it plays as it is; if not, a network without bearoff tables';
comment on column referee_summary.referee is 'What judges: points x checkers of bearoff_two_sided, or 25 x checkers of contact_endgame';
comment on column referee_summary.seed is 'Seed of the games that the decisions are from';
comment on column referee_summary.decisions is 'Decisions';
comment on column referee_summary.mean_loss is 'Mean loss of cubeless equity a decision [points]';
comment on column referee_summary.standard_error is 'Standard error of mean_loss, over which games the decisions are from [points]';
comment on column referee_summary.error_share is 'Share of choices that lose more than the rounding of the table';
comment on column referee_summary.loss_of_worst_tenth is 'One decision in ten loses at least this [points]';
comment on column referee_summary.loss_of_worst_hundredth is 'One decision in a hundred loses at least this [points]';
comment on column referee_summary.loss_of_worst_thousandth is 'One decision in a thousand loses at least this [points]';
comment on column referee_summary.largest_loss is 'Largest loss of a decision [points]';
comment on column referee_summary.loss_error_bound is 'Error bound of a loss, from the rounding of the table [points]';
