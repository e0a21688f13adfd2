-- what tables or the rules say does not change by looking ahead
select variant, row, cubeless_equity, static_equity, change, label_source
from lookahead_labels
where not coalesce(abs(cubeless_equity - (2.0::double * win - 1 + win_gammon + win_backgammon - lose_gammon
                                          - lose_backgammon)) < 0.00001
                   and abs(static_equity) <= 3.00001
                   and abs(change - (cubeless_equity - static_equity)) < 0.00001
                   and case when label_source = 'lookahead' then network like 'network/%'
                            when label_source in ('exact', 'combined', 'outcome') then change = 0
                       end, false);
