select variant, game, turn, cubeless_equity, lookahead_equity, static_equity, network
from training_games
where not coalesce(abs(cubeless_equity - (2.0::double * win - 1 + win_gammon + win_backgammon - lose_gammon
                                          - lose_backgammon)) < 0.00001
                   and abs(lookahead_equity) <= 3.00001 and abs(static_equity) <= 3.00001
                   and network like 'network/%', false);
