select variant, state, win, win_gammon, win_backgammon, lose_gammon, lose_backgammon
from first_doubles
where not coalesce(
    win between 0 and 1
    and 0 <= win_backgammon and win_backgammon <= win_gammon and win_gammon <= win
    and 0 <= lose_backgammon and lose_backgammon <= lose_gammon and lose_gammon <= 1 - win + 0.000001, false);
