select variant, number, net_points, net_luck, hedged_points
from cubeful_scores
where (net_luck is null) <> (hedged_points is null)
   or not coalesce(abs(net_points - net_luck - hedged_points) < 1e-9, net_luck is null);
