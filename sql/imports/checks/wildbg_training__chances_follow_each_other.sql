-- rounded to 5 decimals, so that two may be out of order by 0.00001
select variant, source, line, win, win_gammon, win_backgammon, lose_gammon, lose_backgammon
from wildbg_training
where not (win between 0 and 1
           and win_gammon between 0 and win + 0.000011
           and win_backgammon between 0 and win_gammon + 0.000011
           and lose_gammon between 0 and 1 - win + 0.000011
           and lose_backgammon between 0 and lose_gammon + 0.000011);
