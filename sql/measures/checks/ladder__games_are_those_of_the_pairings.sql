select variant, rank, l.games, l.opponents
from ladder l
left join (select variant, player_name, ply, sum(games) as games, count(*) as opponents
           from (select variant, player_name, ply, games from ladder_pairings
                 union all select variant, opponent, opponent_ply, games from ladder_pairings)
           group by all) p using (variant, player_name, ply)
where not coalesce(l.games = p.games and l.opponents = p.opponents, false);
