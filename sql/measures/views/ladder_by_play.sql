-- The ladders side by side: a player a row, its rating in each play. Of matches, the shortest that it played.
create view ladder_by_play as
with rated as (
    select l.*, split_part(variant, '-', 1) as play, try_cast(split_part(variant, '-', 2) as integer) as length
    from ladder l),
first as (
    select * from rated
    qualify coalesce(length, 0) = min(coalesce(length, 0)) over (partition by player_name, ply, player_version, play))
select player_name, ply, player_version,
       any_value(rating) filter (where play = 'cubeless') as cubeless_rating,
       any_value(rating_error) filter (where play = 'cubeless') as cubeless_error,
       any_value(rating) filter (where play = 'money') as money_rating,
       any_value(rating_error) filter (where play = 'money') as money_error,
       any_value(rating) filter (where play = 'match') as match_rating,
       any_value(rating_error) filter (where play = 'match') as match_error,
       any_value(length) filter (where play = 'match') as match_length
from first
group by all
order by cubeless_rating desc nulls last, player_name, ply;
comment on view ladder_by_play is 'The ladders side by side: the rating of each player in cubeless games, money games with the cube, and matches';
comment on column ladder_by_play.player_name is 'Player';
comment on column ladder_by_play.ply is 'How many rolls it looked ahead';
comment on column ladder_by_play.player_version is 'Version of the player as it says it';
comment on column ladder_by_play.cubeless_rating is 'Rating in cubeless games; null where it played none [points]';
comment on column ladder_by_play.cubeless_error is 'Its standard error [points]';
comment on column ladder_by_play.money_rating is 'Rating in money games with the cube [points]';
comment on column ladder_by_play.money_error is 'Its standard error [points]';
comment on column ladder_by_play.match_rating is 'Rating in matches, of wins less losses [points]';
comment on column ladder_by_play.match_error is 'Its standard error [points]';
comment on column ladder_by_play.match_length is 'Points that win these matches [points]';
