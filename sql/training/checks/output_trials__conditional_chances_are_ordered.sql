-- a chance times one that supposes it is no larger, up to rounding, and without an output there is no backgammon
select variant, trial, games
from output_trials
where trial <> 'chances'
      and not coalesce(win_gammon <= win + 1e-6
                       and win_backgammon <= win_gammon + 1e-6
                       and lose_gammon <= 1 - win + 1e-6
                       and lose_backgammon <= lose_gammon + 1e-6
                       and (trial <> 'gammon' or (win_backgammon = 0 and lose_backgammon = 0)), false);
