select variant, decision, rank, standard_error, loss_standard_error, trials
from openings
where not coalesce(trials >= 72 and trials % 36 = 0
                   and standard_error between 0 and 3
                   and loss_standard_error between 0 and 3 and (rank > 0 or loss_standard_error = 0)
                   and win_standard_error between 0 and 1
                   and win_gammon_standard_error between 0 and 1
                   and win_backgammon_standard_error between 0 and 1
                   and lose_gammon_standard_error between 0 and 1
                   and lose_backgammon_standard_error between 0 and 1
                   and is_reached is not null and network like 'network/%', false);
