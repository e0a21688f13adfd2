-- known of all turns of a game or of none; where the table covers the position there is none
select variant, game, turn, cubeless_equity, hedged_equity, known, turns
from (select *, count(hedged_equity) over same_game as known, count(*) over same_game as turns
      from selfplay_labels
      window same_game as (partition by variant, game))
where not coalesce(known in (0, turns)
                   and (known = 0 or isfinite(hedged_equity))
                   and (known = 0 or turns_later is distinct from 0 or hedged_equity = cubeless_equity), false);
