select variant, row, win, win_gammon, win_backgammon, lose_gammon, lose_backgammon
from bearoff_labels
where not coalesce(win between 0 and 1
                   and win_gammon between 0 and win
                   and win_backgammon between 0 and win_gammon
                   and lose_gammon between 0 and 1::float - win
                   and lose_backgammon between 0 and lose_gammon, false);
