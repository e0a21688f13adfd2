select variant, game, count(distinct split) as splits, count(distinct start) as starts
from training_games
group by variant, game
having splits > 1 or starts > 1 or bool_or(start is null)
       or bool_or(split is null or split not in ('train', 'validation', 'test'));
