-- The cube in one row for each corpus or import with a double.
create view cube_summary as
with by_game as (
    select dataset, variant, game,
           count(*) filter (where action = 'double') as doubles,
           count(*) filter (where action = 'take') as takes,
           count(*) filter (where action = 'pass') as passes,
           arg_max(cube_value, turn) as cube_value  -- a take is never the last turn
    from turns
    group by dataset, variant, game
)
select dataset, variant,
       count(*) as games,
       sum(doubles)::bigint as doubles,
       sum(takes)::bigint as takes,
       avg(passes) as passed_share,
       avg(cube_value) as mean_cube_value
from by_game
group by dataset, variant
having sum(doubles) > 0
order by dataset, variant;
comment on view cube_summary is 'The cube in one row for each corpus or import with a double';
comment on column cube_summary.dataset is 'Dataset kind';
comment on column cube_summary.variant is 'Player, cube models, games and seed, or the import';
comment on column cube_summary.games is 'Games';
comment on column cube_summary.doubles is 'Doubles';
comment on column cube_summary.takes is 'Doubles that were taken';
comment on column cube_summary.passed_share is 'Share of games that ended with a pass';
comment on column cube_summary.mean_cube_value is 'Mean value of the cube when games ended';
