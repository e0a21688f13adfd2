-- What players lose on one set of decisions by each judge, and whom each judge favours.
create view benchmark_judges as
with sets as (  -- the decisions of a judged set are those of the set that it names
    select manifest->>'dataset' as dataset, manifest->>'variant' as variant,
           case when manifest->>'dataset' = 'judged_decisions'
                then manifest->'inputs'->>'decisions'
                else 'rollout_decisions/' || (manifest->>'variant') || '@' || (manifest->>'digest')
           end as source
    from manifests
    where manifest->>'dataset' in ('rollout_decisions', 'judged_decisions') and is_current
),
judges as (
    select dataset, variant, source, any_value(network) as judge
    from sets
    join benchmark_decisions using (dataset, variant)
    group by all
),
choices as (
    select source, judge, benchmark, player, ply, player_version, decision, loss
    from benchmark_choices
    join judges using (dataset, variant)
),
shared as (  -- players that were scored by every judge of the set
    select source, player, ply, player_version
    from choices
    join (select source, count(*) as judges from judges group by source) as counted using (source)
    group by source, player, ply, player_version, judges
    having judges > 1 and count(distinct benchmark) = judges
),
beside_players as (
    select *, loss - avg(loss) over (partition by source, benchmark, decision) as relative
    from choices
    join shared using (source, player, ply, player_version)
),
beside_judges as (
    select *, avg(relative) over (partition by source, player, ply, player_version, decision) - relative as favour
    from beside_players
)
select split_part(source, '@', 1) as decision_set, judge, benchmark, player, ply, player_version,
       count(*)::integer as decisions,
       1000 * avg(loss) as error_rate,
       1000 * stddev_samp(loss) / sqrt(count(*)) as standard_error,
       1000 * avg(favour) as favour,
       1000 * stddev_samp(favour) / sqrt(count(*)) as favour_standard_error
from beside_judges
group by all;
comment on view benchmark_judges is 'Error rates of players on one set of decisions by each judge, and whom each judge favours; players that every judge of the set has scored';
comment on column benchmark_judges.decision_set is 'The set whose decisions the judges share: kind/variant';
comment on column benchmark_judges.judge is 'Network or program that rolled out, and its version';
comment on column benchmark_judges.benchmark is 'The decisions with the values of this judge: kind/variant';
comment on column benchmark_judges.player is 'Player';
comment on column benchmark_judges.ply is 'Plies looked ahead, 0 for the static evaluation';
comment on column benchmark_judges.player_version is 'Version of the player as it says it';
comment on column benchmark_judges.decisions is 'Decisions';
comment on column benchmark_judges.error_rate is '1000 x mean loss by this judge [thousandths of a point per decision]';
comment on column benchmark_judges.standard_error is 'Standard error of error_rate, decisions being the observations [thousandths of a point per decision]';
comment on column benchmark_judges.favour is 'How much less the player loses by this judge than by all judges on average, both beside the mean of the players; above 0: the judge favours it [thousandths of a point per decision]';
comment on column benchmark_judges.favour_standard_error is 'Standard error of favour, decisions being the observations [thousandths of a point per decision]';
