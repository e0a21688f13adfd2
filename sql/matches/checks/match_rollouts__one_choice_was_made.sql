select variant, decision, count(*) filter (where is_made) as made
from match_rollouts
group by variant, decision
having made <> 1;
