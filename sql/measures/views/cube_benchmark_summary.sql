-- What players lose with the cube, by judge: over all decisions, by theme, and by score.
create view cube_benchmark_summary as
with series as (
    select manifest->>'variant' as variant,
           manifest->'parameters'->>'player' as player,
           (manifest->'parameters'->>'ply')::integer as ply,
           manifest->'parameters'->>'cube' as cube_model,
           manifest->'parameters'->>'version' as player_version,
           concat_ws('/', manifest->'parameters'->'benchmark'->>'kind', manifest->'parameters'->'benchmark'->>'variant') as benchmark,
           manifest->'parameters'->'benchmark'->>'version' as benchmark_version
    from manifests
    where manifest->>'dataset' = 'cube_benchmark_scores' and is_current
),
grouped as (
    select series.*, judge, double_loss, answer_loss,
           unnest([
               {part: 'all', part_name: 'all'},
               {part: 'theme', part_name: theme},
               {part: 'score', part_name: case
                   when score = 'money' then 'money'
                   when split_part(score, '-', 1)::integer < split_part(score, '-', 2)::integer then 'match, ahead'
                   when split_part(score, '-', 1) = split_part(score, '-', 2) then 'match, level'
                   else 'match, behind'
               end}
           ], recursive := true)
    from cube_benchmark_scores
    join series using (variant)
)
select player, ply, cube_model, player_version, judge, benchmark, benchmark_version, part, part_name,
       count(*)::integer as decisions,
       500 * avg(double_loss + answer_loss) as error_rate,
       500 * stddev_samp(double_loss + answer_loss) / sqrt(count(*)) as standard_error,
       1000 * avg(double_loss) as double_error_rate,
       1000 * stddev_samp(double_loss) / sqrt(count(*)) as double_standard_error,
       1000 * avg(answer_loss) as answer_error_rate,
       1000 * stddev_samp(answer_loss) / sqrt(count(*)) as answer_standard_error
from grouped
group by all;
comment on view cube_benchmark_summary is 'Error rates of players with the cube, by judge: over all decisions, by theme, and by score';
comment on column cube_benchmark_summary.player is 'Player';
comment on column cube_benchmark_summary.ply is 'Plies looked ahead, 0 for the static evaluation';
comment on column cube_benchmark_summary.cube_model is 'Model of the cube; empty for programs, which have their own';
comment on column cube_benchmark_summary.player_version is 'Version of the player as it says it';
comment on column cube_benchmark_summary.judge is 'Program or network that rolled out the decisions, and its version';
comment on column cube_benchmark_summary.benchmark is 'The set of decisions: kind/variant';
comment on column cube_benchmark_summary.benchmark_version is 'The version of it that was scored on';
comment on column cube_benchmark_summary.part is 'What part_name names: all, theme or score';
comment on column cube_benchmark_summary.part_name is 'all; the theme; or money, and whether the player on roll is ahead in the match';
comment on column cube_benchmark_summary.decisions is 'Positions; each has a double and an answer';
comment on column cube_benchmark_summary.error_rate is '1000 x mean loss over doubles and answers [thousandths of a point per decision]';
comment on column cube_benchmark_summary.standard_error is 'Standard error of error_rate, positions being the observations [thousandths of a point per decision]';
comment on column cube_benchmark_summary.double_error_rate is '1000 x mean loss of doubling or not [thousandths of a point per decision]';
comment on column cube_benchmark_summary.double_standard_error is 'Standard error of double_error_rate [thousandths of a point per decision]';
comment on column cube_benchmark_summary.answer_error_rate is '1000 x mean loss of takes and passes [thousandths of a point per decision]';
comment on column cube_benchmark_summary.answer_standard_error is 'Standard error of answer_error_rate [thousandths of a point per decision]';
