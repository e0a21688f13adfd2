select variant, game, count(distinct split) as splits, count(distinct source) as sources, count(distinct start) as starts
from reference_positions
group by all
having not coalesce(splits = 1 and sources = 1 and starts = 1 and count(distinct is_perturbed) = 1
                    and count(split) = count(*) and count(source) = count(*) and count(start) = count(*)
                    and count(is_perturbed) = count(*)
                    and bool_and(split in ('validation', 'test')), false);
