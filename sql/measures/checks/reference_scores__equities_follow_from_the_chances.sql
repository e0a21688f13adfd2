select variant, row, cubeless_equity
from reference_scores
where not coalesce(abs(cubeless_equity - (2.0::double * win - 1 + win_gammon + win_backgammon - lose_gammon
                                          - lose_backgammon)) <= 0.00001, false);
