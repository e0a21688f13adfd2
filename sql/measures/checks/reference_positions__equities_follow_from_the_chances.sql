select variant, row, cubeless_equity
from reference_positions
where not coalesce(cubeless_equity between -3 and 3
                   and abs(cubeless_equity - (2.0::double * win - 1 + win_gammon + win_backgammon - lose_gammon
                                              - lose_backgammon)) <= 0.00001, false);
