-- in tables that are built; post-Crawford an even number of points to go is little better than the odd one above it
select less.variant, less.met, less.is_post_crawford, less.away, less.opponent_away, less.mwc
from match_equity as less
join match_equity as more
  on more.dataset = less.dataset
 and more.variant = less.variant
 and more.met = less.met
 and more.is_post_crawford = less.is_post_crawford
 and more.away = less.away + 1
 and more.opponent_away = less.opponent_away
where less.dataset = 'match_equity' and not coalesce(less.mwc >= more.mwc, false);
