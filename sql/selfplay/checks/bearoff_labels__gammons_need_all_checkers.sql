-- a side that has borne off a checker has saved the gammon, and nobody is in the other's home board any more
select variant, row, win_gammon, lose_gammon, label_source
from (select *, list_sum([greatest(count, 0) for count in board]) as checkers,
             list_sum([greatest(-count, 0) for count in board]) as opponent_checkers
      from bearoff_labels)
where not coalesce(win_backgammon = 0 and lose_backgammon = 0
                   and (win_gammon = 0 or opponent_checkers = 15)
                   and (lose_gammon = 0 or checkers = 15)
                   and case label_source when 'exact' then greatest(checkers, opponent_checkers) < 15
                                         when 'combined' then true end
                   and abs(cubeless_equity - (2.0::double * win - 1 + win_gammon - lose_gammon)) < 0.00001, false);
