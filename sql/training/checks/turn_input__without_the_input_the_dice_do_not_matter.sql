select variant, arm, games, win
from turn_input
where arm = 'no input' and not coalesce(win = 0.5 and win_gammon = lose_gammon and win_backgammon = lose_backgammon, false);
