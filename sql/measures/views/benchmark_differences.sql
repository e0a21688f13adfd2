-- Players against each other on the same decisions of a benchmark, every two of them both ways. Scores of a set that is
-- not the current one, or not here, have no rows.
create view benchmark_differences as
with choices as (  -- an unlisted play loses as the last listed one, and is as surely known
    select chosen.* exclude (rank), listed.rank, listed.standard_error, listed.loss_standard_error
    from benchmark_choices as chosen
    join benchmark_decisions as decisions using (dataset, variant, decision)
    join benchmark_plays as listed
      on listed.dataset = chosen.dataset and listed.variant = chosen.variant
     and listed.decision = chosen.decision and listed.rank = coalesce(chosen.rank, decisions.n_plays - 1)
),
pairs as (
    select own.*, other.player as other_player,
           other.ply as other_ply, other.player_version as other_version,
           own.next_position_id = other.next_position_id as is_same,
           own.loss - other.loss as difference,
           case when own.loss_standard_error is null then null  -- imported
                when own.rank = other.rank then 0
                -- no difference of two errors is larger than their sum; exact where one of the plays is the best
                else least(own.loss_standard_error + other.loss_standard_error, own.standard_error + other.standard_error)
           end as rollout_error
    from choices as own
    join choices as other using (benchmark, decision)
    where own.scores <> other.scores
)
select player, ply, player_version, other_player, other_ply, other_version, benchmark, benchmark_version,
       count(*)::integer as decisions,
       count(*) filter (where is_same)::integer as same_choices,
       1000 * avg(difference) as difference,
       1000 * stddev_samp(difference) / sqrt(count(*)) as standard_error,
       1000 * sqrt(sum(rollout_error ** 2)) / count(*) as rollout_standard_error
from pairs
group by all;
comment on view benchmark_differences is 'Players compared on the same decisions of a benchmark: the difference of their error rates, with its standard error';
comment on column benchmark_differences.player is 'Player';
comment on column benchmark_differences.ply is 'Plies looked ahead, 0 for the static evaluation';
comment on column benchmark_differences.player_version is 'Version of the player as it says it';
comment on column benchmark_differences.other_player is 'Player that it is compared with';
comment on column benchmark_differences.other_ply is 'Plies that the other player looks ahead';
comment on column benchmark_differences.other_version is 'Version of the other player as it says it';
comment on column benchmark_differences.benchmark is 'The set of decisions: kind/variant';
comment on column benchmark_differences.benchmark_version is 'The version of it that both were scored on';
comment on column benchmark_differences.decisions is 'Decisions';
comment on column benchmark_differences.same_choices is 'Decisions on which both choose the same play: these differ by nothing, and have no noise [decisions]';
comment on column benchmark_differences.difference is 'Error rate less that of the other player, above 0 where the other is better [thousandths of a point per decision]';
comment on column benchmark_differences.standard_error is 'Standard error of difference, noise of the rollouts included, decisions being the observations; null for only one [thousandths of a point per decision]';
comment on column benchmark_differences.rollout_standard_error is 'How much of standard_error the rollouts are to blame for at most; null if imported [thousandths of a point per decision]';
