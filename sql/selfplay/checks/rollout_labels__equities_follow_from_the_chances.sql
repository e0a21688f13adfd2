-- chances are held to the rules, which moves them by little more than their standard errors
select variant, row, equity
from rollout_labels
where not coalesce(abs(equity - (2.0::double * win - 1 + win_gammon + win_backgammon - lose_gammon - lose_backgammon))
                   <= 0.00001 + 10.0::double * (win_standard_error + win_gammon_standard_error
                       + win_backgammon_standard_error + lose_gammon_standard_error
                       + lose_backgammon_standard_error), false);
