-- games are cut after 400 rolls, and the winner needs at least 7 of his own for 167 pips
select variant, games, turns_per_game, gammon_share, backgammon_share
from learning_curve
where not coalesce(gammon_share >= 0 and backgammon_share >= 0 and gammon_share + backgammon_share <= 1
                   and turns_per_game between 13 and 400, false);
