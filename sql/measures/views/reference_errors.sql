-- How far players are from rollouts on reference positions, by theme, split and quantity. Scores on a version that is not
-- the current one, or not here, have no rows.
create view reference_errors as
with series as (
    select manifest->>'variant' as variant,
           manifest->'parameters'->>'player' as player,
           (manifest->'parameters'->>'ply')::integer as ply,
           manifest->'parameters'->>'version' as player_version,
           (manifest->'parameters'->>'tables')::boolean as has_tables,
           manifest->'inputs'->>'reference' as reference,
           concat_ws('/', manifest->>'dataset', manifest->>'variant', version) as source_version
    from manifests
    where manifest->>'dataset' = 'reference_scores' and is_current
),
judges as (
    select manifest->>'variant' as variant, version,
           'reference_positions/' || (manifest->>'variant') || '@' || (manifest->>'digest') as reference
    from manifests
    where manifest->>'dataset' = 'reference_positions' and is_current
),
pairs as (
    select series.variant, judge.variant as reference, judge.game, judge.split, judge.theme, own.row,
           unnest([
               {quantity: 'cubeless_equity', error: own.cubeless_equity::double - judge.cubeless_equity, judge_error: judge.standard_error},
               {quantity: 'win', error: own.win::double - judge.win, judge_error: judge.win_standard_error::double},
               {quantity: 'win_gammon', error: own.win_gammon::double - judge.win_gammon, judge_error: judge.win_gammon_standard_error::double},
               {quantity: 'win_backgammon', error: own.win_backgammon::double - judge.win_backgammon, judge_error: judge.win_backgammon_standard_error::double},
               {quantity: 'lose_gammon', error: own.lose_gammon::double - judge.lose_gammon, judge_error: judge.lose_gammon_standard_error::double},
               {quantity: 'lose_backgammon', error: own.lose_backgammon::double - judge.lose_backgammon, judge_error: judge.lose_backgammon_standard_error::double}
           ], recursive := true)
    from series
    join judges using (reference)
    join reference_scores as own on own.variant = series.variant
    join reference_positions as judge on judge.variant = judges.variant and judge.row = own.row
),
grouped as (
    select * exclude (theme), unnest([theme, 'all']) as theme from pairs
),
games as (  -- positions of a game depend on one another: games are the observations of the standard error
    select variant, theme, split, quantity, game, count(*) as positions, sum(error * error) as squares,
           sum(abs(error)) as sizes, sum(error) as errors,
           sum(judge_error * judge_error) as judge_squares
    from grouped
    group by all
),
with_means as (  -- sums are in the order of games, so that they are the same to the last bit
    select *, sum(squares) over same / sum(positions) over same as mean_square,
           sum(sizes) over same / sum(positions) over same as mae, sum(errors) over same / sum(positions) over same as bias
    from games
    window same as (partition by variant, theme, split, quantity order by game rows between unbounded preceding and unbounded following)
),
found as (
    select variant, theme, split, quantity, sum(positions) as positions,
           sqrt(any_value(mean_square)) as rmse, any_value(mae) as mae, any_value(bias) as bias,
           sqrt(count(*) / nullif(count(*) - 1, 0)) / sum(positions) as scale,  -- null for a single game
           scale * sqrt(sum((squares - positions * mean_square) ** 2 order by game)) as mean_square_standard_error,
           scale * sqrt(sum((sizes - positions * mae) ** 2 order by game)) as mae_standard_error,
           scale * sqrt(sum((errors - positions * bias) ** 2 order by game)) as bias_standard_error,
           sqrt(sum(judge_squares order by game) / sum(positions)) as judge_rmse
    from with_means
    group by all
)
select series.player, series.ply, series.player_version, series.has_tables, 'reference_positions/' || judges.variant as reference,
       judges.version as reference_version, found.theme, found.split, found.quantity,
       found.positions::bigint as positions, found.rmse,
       found.mean_square_standard_error / case when found.rmse = 0 then 1 else 2 * found.rmse end as rmse_standard_error,
       found.mae, found.mae_standard_error, found.bias, found.bias_standard_error, found.judge_rmse, series.source_version
from found
join series using (variant)
join judges using (reference);
comment on view reference_errors is 'How far the values of players are from rollouts of reference positions, by theme, split and quantity';
comment on column reference_errors.player is 'Player';
comment on column reference_errors.ply is 'Plies looked ahead, 0 for the static evaluation';
comment on column reference_errors.player_version is 'Version of the player as it says it';
comment on column reference_errors.has_tables is 'Whether it plays as it is; if not, a network without bearoff tables';
comment on column reference_errors.reference is 'The set of positions: reference_positions/variant';
comment on column reference_errors.reference_version is 'The version of it';
comment on column reference_errors.theme is 'Theme of the positions, or all';
comment on column reference_errors.split is 'validation or test: choose by the one, report the other';
comment on column reference_errors.quantity is 'cubeless_equity, or one of the chances: win, win_gammon, win_backgammon, lose_gammon, lose_backgammon';
comment on column reference_errors.positions is 'Positions';
comment on column reference_errors.rmse is 'Root of the mean squared difference from the rollouts, whose own errors are part of it [points, or chance]';
comment on column reference_errors.rmse_standard_error is 'Standard error of rmse, games being the observations; null where all positions are from one [points, or chance]';
comment on column reference_errors.mae is 'Mean size of the difference [points, or chance]';
comment on column reference_errors.mae_standard_error is 'Standard error of mae, as of rmse [points, or chance]';
comment on column reference_errors.bias is 'Mean of the value of the player less that of the rollout [points, or chance]';
comment on column reference_errors.bias_standard_error is 'Standard error of bias, as of rmse [points, or chance]';
comment on column reference_errors.judge_rmse is 'Root of the mean squared standard error of the rollouts [points, or chance]';
comment on column reference_errors.source_version is 'Where each value is: dataset/variant/version';
