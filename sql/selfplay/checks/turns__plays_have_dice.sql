select variant, dataset, game, turn, action, die1, die2
from turns
where not coalesce(die1 between 1 and 6 and die2 between 1 and 6, false) <> (action not in ('play', 'roll'));
