select variant, number, outcome, net_luck, hedged_points
from game_scores
where (net_luck is null) <> (hedged_points is null)
   or not coalesce(abs(outcome - net_luck - hedged_points) < 1e-9, net_luck is null);
