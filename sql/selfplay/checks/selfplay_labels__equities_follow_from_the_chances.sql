select variant, game, turn, cubeless_equity
from selfplay_labels
where not coalesce(abs(cubeless_equity - (2.0::double * win - 1 + win_gammon + win_backgammon - lose_gammon
                                          - lose_backgammon)) < 0.00001, false);
