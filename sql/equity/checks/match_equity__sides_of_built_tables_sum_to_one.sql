-- those of other people may favour a side, or be rounded
select one.variant, one.met, one.is_post_crawford, one.away, one.opponent_away, one.mwc, other.mwc as opponent_mwc
from match_equity as one
left join match_equity as other
       on other.dataset = one.dataset
      and other.variant = one.variant
      and other.met = one.met
      and other.is_post_crawford = one.is_post_crawford
      and other.away = one.opponent_away
      and other.opponent_away = one.away
where one.dataset = 'match_equity' and not coalesce(abs(one.mwc + other.mwc - 1) < 1e-12, false);
