select variant, game, turn, label_source, turns_later
from selfplay_labels
where not coalesce(outcome between -3 and 3 and outcome <> 0
                   and case label_source
                       when 'outcome' then turns_later is null and cubeless_equity = outcome
                       when 'exact' then turns_later >= 0 and win_gammon + lose_gammon = 0
                       when 'combined' then turns_later >= 0 and win_backgammon + lose_backgammon = 0
                       end, false);
