-- Every match equity table beside every other one, at the scores that both have.
create view match_equity_differences as
select one.met,
       other.met as other_met,
       one.is_post_crawford,
       one.away,
       one.opponent_away,
       one.mwc,
       other.mwc as other_mwc,
       one.mwc - other.mwc as difference
from match_equity as one
join match_equity as other using (is_post_crawford, away, opponent_away)
where (one.dataset, one.variant, one.met) <> (other.dataset, other.variant, other.met);
comment on view match_equity_differences is 'Every match equity table beside every other one, at the scores that both have';
comment on column match_equity_differences.met is 'Name of a match equity table';
comment on column match_equity_differences.other_met is 'Name of the other one';
comment on column match_equity_differences.is_post_crawford is 'Whether the Crawford game is over; else 1-away is the Crawford game';
comment on column match_equity_differences.away is 'Points that the player still needs to win the match [points]';
comment on column match_equity_differences.opponent_away is 'Points that the opponent still needs [points]';
comment on column match_equity_differences.mwc is 'The player''s chance of winning the match [chance]';
comment on column match_equity_differences.other_mwc is 'The same by the other table [chance]';
comment on column match_equity_differences.difference is 'mwc less other_mwc [chance]';
