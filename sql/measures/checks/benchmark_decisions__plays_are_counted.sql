select variant, decision, n_plays, n_legal_plays, found
from benchmark_decisions
left join (select dataset, variant, decision, count(*) as found from benchmark_plays group by all)
    using (dataset, variant, decision)
where n_plays is distinct from coalesce(found, 0) or n_legal_plays < n_plays;
