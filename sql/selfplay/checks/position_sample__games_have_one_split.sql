select variant, game, count(distinct split) as splits
from position_sample
group by variant, game
having splits > 1 or bool_or(split is null or split not in ('train', 'validation', 'test'));
