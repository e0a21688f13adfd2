-- noisy: out of order by up to a twentieth
select variant, source, line, win, win_gammon, win_backgammon, lose_gammon, lose_backgammon
from bgsage_rollouts
where not (win between 0 and 1
           and win_gammon between 0 and win + 0.0501
           and win_backgammon between 0 and win_gammon + 0.0501
           and lose_gammon between 0 and 1 - win + 0.0501
           and lose_backgammon between 0 and lose_gammon + 0.0501);
