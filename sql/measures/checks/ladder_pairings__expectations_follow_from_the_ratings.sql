-- 3 points are the most that a money game gives on average, 1 that a match does
select p.variant, p.player_name, p.ply, p.opponent, p.opponent_ply, expected
from (select *, case when variant like 'match-%' then 1.0 else 3.0 end as scale from ladder_pairings) p
left join ladder a using (variant, player_name, ply)
left join ladder b on b.variant = p.variant and b.player_name = p.opponent and b.ply = p.opponent_ply
where not coalesce(abs(expected - scale * tanh((a.rating - b.rating) / scale)) < 1e-6, false);
