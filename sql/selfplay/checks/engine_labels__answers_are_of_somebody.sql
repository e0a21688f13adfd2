select variant, row, engine, ply, cubeless_equity
from engine_labels
where not coalesce(ply >= 0 and (engine like 'network/%' or engine like 'gnubg %' or engine like 'bgsage %')
                   and abs(cubeless_equity - (2.0::double * win - 1 + win_gammon + win_backgammon - lose_gammon
                                              - lose_backgammon)) < 0.00001, false);
