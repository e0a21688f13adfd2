-- Results of players in whole games, one row for each series.
create view game_summary as
select manifest->'parameters'->>'player' as player,
       (manifest->'parameters'->>'ply')::integer as ply,
       manifest->'parameters'->>'version' as player_version,
       manifest->'parameters'->>'opponent' as opponent,
       (manifest->'parameters'->>'opponent_ply')::integer as opponent_ply,
       manifest->'parameters'->>'opponent_version' as opponent_version,
       (manifest->'parameters'->>'seed')::bigint as seed,
       (manifest->>'rows')::bigint as games,
       (manifest->'statistics'->>'points_per_game')::double as points_per_game,
       (manifest->'statistics'->>'standard_error')::double as standard_error,
       (manifest->'statistics'->>'hedged_points_per_game')::double as hedged_points_per_game,
       (manifest->'statistics'->>'hedged_standard_error')::double as hedged_standard_error,
       (manifest->'statistics'->>'win_share')::double as win_share,
       (manifest->'statistics'->>'win_gammon_share')::double as win_gammon_share,
       (manifest->'statistics'->>'win_backgammon_share')::double as win_backgammon_share,
       (manifest->'statistics'->>'lose_gammon_share')::double as lose_gammon_share,
       (manifest->'statistics'->>'lose_backgammon_share')::double as lose_backgammon_share,
       (manifest->'statistics'->>'turns_per_game')::double as turns_per_game
from manifests
where manifest->>'dataset' = 'game_scores' and is_current;
comment on view game_summary is 'Results of series of cubeless money games: points per game of a player against another';
comment on column game_summary.player is 'Player';
comment on column game_summary.ply is 'Plies that the player looks ahead, 0 for the static evaluation';
comment on column game_summary.player_version is 'Version of the player as it says it';
comment on column game_summary.opponent is 'Opponent';
comment on column game_summary.opponent_ply is 'Plies that the opponent looks ahead';
comment on column game_summary.opponent_version is 'Version of the opponent as it says it';
comment on column game_summary.seed is 'Seed of the dice';
comment on column game_summary.games is 'Games, two with each sequence of dice';
comment on column game_summary.points_per_game is 'Mean result of the player [points]';
comment on column game_summary.standard_error is 'Standard error of points_per_game, pairs of games being the observations [points]';
comment on column game_summary.hedged_points_per_game is 'Mean result of the player less net luck, null where luck was not measured [points]';
comment on column game_summary.hedged_standard_error is 'Standard error of hedged_points_per_game, pairs of games being the observations [points]';
comment on column game_summary.win_share is 'Share of games that the player won, whatever the size';
comment on column game_summary.win_gammon_share is 'Share of games won by a gammon or backgammon';
comment on column game_summary.win_backgammon_share is 'Share of games won by a backgammon';
comment on column game_summary.lose_gammon_share is 'Share of games lost by a gammon or backgammon';
comment on column game_summary.lose_backgammon_share is 'Share of games lost by a backgammon';
comment on column game_summary.turns_per_game is 'Mean rolls of both sides [turns]';
