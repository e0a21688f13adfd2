-- games are cut after 400 rolls, and the winner needs at least 7 of its own for 167 pips
select variant, trial, games
from output_trials
where not coalesce(win between 0 and 1
                   and win_gammon between 0 and 1
                   and win_backgammon between 0 and 1
                   and lose_gammon between 0 and 1
                   and lose_backgammon between 0 and 1
                   and side_difference between -1 and 1
                   and gammon_share >= 0 and backgammon_share >= 0 and gammon_share + backgammon_share <= 1
                   and turns_per_game between 13 and 400
                   and points_per_game between -3 and 3
                   and standard_error between 0 and 3, false);
