-- the same label from the other side, one turn nearer, unless this turn has one of its own
select variant, game, turn, label_source, turns_later
from (select *, lead(turn) over following as next_turn, lead(outcome) over following as next_outcome,
             lead(cubeless_equity) over following as next_equity, lead(label_source) over following as next_source,
             lead(turns_later) over following as next_turns_later,
             row_number() over following as place
      from selfplay_labels
      window following as (partition by variant, game order by turn))
where not coalesce(turn = place - 1
                   and (next_turn is null or outcome = -next_outcome)
                   and (coalesce(turns_later = 0, false)
                        or (next_turn is null and turns_later is null)
                        or (turns_later is not distinct from next_turns_later + 1
                            and label_source = next_source
                            and abs(cubeless_equity + next_equity) < 0.00001)), false);
