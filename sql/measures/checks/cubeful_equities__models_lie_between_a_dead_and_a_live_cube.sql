-- Janowski's model mixes a dead and a live cube, in money play and at match scores.
select variant, row, dead, live, model
from cubeful_equities
where not coalesce(abs(dead + 0.7 * (live - dead) - model) < 1e-6, false);
