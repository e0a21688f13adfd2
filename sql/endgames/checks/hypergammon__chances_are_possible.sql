select * from hypergammon
where not (win between 0 and 1 and win_gammon between 0 and win + 1e-5 and win_backgammon between 0 and win_gammon + 1e-5
       and lose_gammon between 0 and 1 - win + 1e-5 and lose_backgammon between 0 and lose_gammon + 1e-5);
