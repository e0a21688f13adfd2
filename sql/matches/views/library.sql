-- Every imported match once, whatever the number of imports it is in.
create view library as
select min(variant) as variant,
       arg_min(match, variant) as match,
       arg_min(source, variant) as source,
       player_named(arg_min(player_0, variant)) as player_0,
       player_named(arg_min(player_1, variant)) as player_1,
       any_value(match_length) as match_length,
       max(n_games) as n_games,
       max(iso_date(date)) as date,
       max(event) as event,
       max(place) as place,
       played,
       count(*) as imports
from imported_matches
group by played
order by date, source;
comment on view library is 'Every imported match once, whatever the number of imports it is in';
comment on column library.variant is 'First import with the match';
comment on column library.match is 'Number of the match in that version, from 0';
comment on column library.source is 'Name of the file';
comment on column library.player_0 is 'Name of player 0';
comment on column library.player_1 is 'Name of player 1';
comment on column library.match_length is 'Points that win the match, 0 for money [points]';
comment on column library.n_games is 'Games that were imported';
comment on column library.date is 'Date that a file gives, in the form 2026-11-30 where it can be read';
comment on column library.event is 'Event as a file says it';
comment on column library.place is 'Place as a file says it';
comment on column library.played is 'Hash of the rolls, plays and cube actions';
comment on column library.imports is 'Imports with the match';
