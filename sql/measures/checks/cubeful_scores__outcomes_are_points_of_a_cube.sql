-- a match is won or lost by 1; a money game is worth 1 to 3 cubes of at most 64
select variant, number, net_points, games_played
from cubeful_scores
where not coalesce(net_points <> 0 and abs(net_points) <= 192 and games_played >= 1, false)
   or (variant like '%-matches-to-%' and abs(net_points) <> 1)
   or (variant not like '%-matches-to-%' and games_played <> 1);
