-- an error of 0 can be: luck is all that there is where exact tables know every position after the next roll
select variant, row, standard_error, trials
from reference_positions
where not coalesce(trials >= 72 and trials % 36 = 0
                   and standard_error between 0 and 3
                   and win_standard_error between 0 and 1
                   and win_gammon_standard_error between 0 and 1
                   and win_backgammon_standard_error between 0 and 1
                   and lose_gammon_standard_error between 0 and 1
                   and lose_backgammon_standard_error between 0 and 1
                   and is_reached is not null and network like 'network/%', false);
