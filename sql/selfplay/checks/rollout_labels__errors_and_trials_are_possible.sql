select variant, row, standard_error, trials
from rollout_labels
where not coalesce(trials >= 72 and trials % 36 = 0
                   and standard_error between 0 and 3 and plain_standard_error between 0 and 3
                   and least(win_standard_error, win_gammon_standard_error, win_backgammon_standard_error,
                             lose_gammon_standard_error, lose_backgammon_standard_error) >= 0
                   and is_reached is not null and network like 'network/%', false);
