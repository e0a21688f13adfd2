select variant, game, turn, rank, loss
from play_sample
window plays as (partition by variant, game, turn order by rank)
qualify rank is distinct from row_number() over plays or loss is null or isnan(loss)
    or loss < coalesce(lag(loss) over plays, 0) or (rank = 1 and loss > 0);
