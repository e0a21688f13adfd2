select variant, coalesce(game, -1) as game, min(row) as row, count(distinct split) as splits
from lookahead_labels
group by variant, game, if(game is null, row, null)
having splits > 1 or bool_or(split is null or split not in ('train', 'validation', 'test'));
