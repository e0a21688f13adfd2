select one.variant, one.met, one.is_post_crawford, one.away, one.opponent_away, one.mwc_change
from match_equity_sensitivities as one
left join match_equity_sensitivities as other
       on other.variant = one.variant
      and other.is_post_crawford = one.is_post_crawford
      and other.away = one.opponent_away
      and other.opponent_away = one.away
where not coalesce(abs(one.mwc_change + other.mwc_change) < 1e-12, false);
