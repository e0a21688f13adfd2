-- of player 0 less that of player 1; known of all turns of a game or of none
select variant, dataset, game, luck_0, total, known, n_turns
from games
left join (
    select dataset, variant, game, sum(if(player = 0, luck, -luck)::double) as total, count(luck) as known
    from turns group by all
) using (dataset, variant, game)
where if(luck_0 is null, coalesce(known, 0) > 0, not coalesce(abs(luck_0 - total) < 1e-6 and known = n_turns, false));
