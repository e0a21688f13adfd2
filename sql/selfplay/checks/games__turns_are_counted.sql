select variant, dataset, game, n_turns, found
from games
left join (select dataset, variant, game, count(*) as found from turns group by all) using (dataset, variant, game)
where n_turns is distinct from coalesce(found, 0);
