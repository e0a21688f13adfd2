-- How each opening roll was played, and what came of it for who played it.
create view opening_plays as
with openings as (
    select dataset, variant, greatest(die1, die2) || '' || least(die1, die2) as roll, play,
           case when player = winner then points_won else -points_won end as points,
           case when player = 0 then hedged_points else -hedged_points end + luck as hedged_points  -- the luck of this roll belongs to it
    from turns
    join games using (dataset, variant, game)
    where turn = 0 and action = 'play' and winner is not null
)
select dataset, variant, roll, play,
       count(*) as games,
       count(*) / sum(count(*)) over (partition by dataset, variant, roll) as share,
       avg(points) as mean_points,
       stddev_samp(points) / sqrt(count(*)) as standard_error,
       avg(hedged_points) as hedged_mean_points,
       stddev_samp(hedged_points) / sqrt(count(hedged_points)) as hedged_standard_error
from openings
group by dataset, variant, roll, play
order by dataset, variant, roll, games desc, play;
comment on view opening_plays is 'How each opening roll was played, and what came of it for who played it';
comment on column opening_plays.dataset is 'Dataset kind';
comment on column opening_plays.variant is 'Player, games and seed, or the import';
comment on column opening_plays.roll is 'Opening roll, the higher die first';
comment on column opening_plays.play is 'Checker moves in the usual notation';
comment on column opening_plays.games is 'Games that began so';
comment on column opening_plays.share is 'Share of the games with this roll';
comment on column opening_plays.mean_points is 'Mean result of who played it [points]';
comment on column opening_plays.standard_error is 'Standard error of mean_points [points]';
comment on column opening_plays.hedged_mean_points is 'The same less the luck of all later rolls, null where that is not known [points]';
comment on column opening_plays.hedged_standard_error is 'Standard error of hedged_mean_points [points]';
