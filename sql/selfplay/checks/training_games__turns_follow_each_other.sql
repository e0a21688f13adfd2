select variant, game, count(*) as turns, max(turn) as last_turn
from training_games
group by variant, game
having min(turn) <> 0 or last_turn <> turns - 1 or count(distinct turn) <> turns;
