-- How near Janowski's model comes to rolled-out equities if its index depends on parts of the positions: each index is
-- fitted by least squares to the positions of half of the games, and judged by the others.
with rolled as (
    select *, live - dead as span, measured - dead as gain,
        if(away is null, 'money', 'needs ' || least(away, opponent_away)) as score
    from cubeful_equities
    where variant = (select variant from cubeful_equities group by all order by count(*) desc limit 1)
),
keyed as (
    select *, game % 2 as half, unnest([
        {fitted: 'one index', part: ''},
        {fitted: 'by class', part: class},
        {fitted: 'by score', part: score},
        {fitted: 'by owner', part: cube_owner},
        {fitted: 'by class and owner', part: class || cube_owner},
        {fitted: 'by class and score', part: class || score},
        {fitted: 'by theme', part: theme},
        {fitted: 'by theme, owner, and money or match', part: theme || cube_owner || (away is null)}
    ], recursive := true) from rolled
),
fits as (select fitted, part, half, sum(gain * span) / nullif(sum(span * span), 0) as best from keyed group by all)
select fitted, count(distinct part) as indexes,
    sqrt(avg((dead + coalesce(best, 0.7) * span - measured) ** 2)) as rms,
    sqrt(avg((dead + 0.7 * span - measured) ** 2)) as rms_at_default,
    sqrt(avg(standard_error ** 2)) as noise
from keyed join fits using (fitted, part) where fits.half <> keyed.half group by all order by rms desc
