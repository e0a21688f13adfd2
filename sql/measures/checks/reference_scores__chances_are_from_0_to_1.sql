-- other programs round each chance by itself, so one may be a hair above one that includes it: their order is not checked
select variant, row, win, win_gammon, win_backgammon, lose_gammon, lose_backgammon
from reference_scores
where not coalesce(win between -0.00001 and 1.00001
                   and win_gammon between -0.00001 and 1.00001
                   and win_backgammon between -0.00001 and 1.00001
                   and lose_gammon between -0.00001 and 1.00001
                   and lose_backgammon between -0.00001 and 1.00001, false);
