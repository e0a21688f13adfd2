select variant, met, is_post_crawford, away, opponent_away, mwc
from match_equity
where not coalesce(mwc between 0 and 1, false);
