-- the rollout's equity is from -3 to 3 too
select variant, row, cubeless_equity, equity_error, standard_error
from reference_scores
where not coalesce(cubeless_equity - equity_error between -3 and 3 and standard_error between 0 and 3, false);
