-- The players of analysed matches: rating, PR and luck.
create view players as
select variant, player_named(player_name) as player,
       count(distinct match) as matches,
       count(*) filter (where is_decision) as decisions,
       1000 * sum(loss) / nullif(count(*) filter (where is_decision), 0) as performance_rating,
       500 * sum(loss) filter (where counts_for_pr) / nullif(count(*) filter (where counts_for_pr), 0) as pr,
       1000 * sum(loss) filter (where subject = 'play')
           / nullif(count(*) filter (where is_decision and subject = 'play'), 0) as play_rating,
       1000 * sum(loss) filter (where subject <> 'play')
           / nullif(count(*) filter (where is_decision and subject <> 'play'), 0) as cube_rating,
       sum(luck) / count(distinct game) as luck_per_game
from match_analysis
group by variant, player_named(player_name)
order by variant, matches desc, player;
comment on view players is 'The players of analysed matches: rating, PR and luck';
comment on column players.variant is 'Analysis of an import';
comment on column players.player is 'Name';
comment on column players.matches is 'Matches and sessions';
comment on column players.decisions is 'Decisions: unforced plays, and cube actions that were close or taken';
comment on column players.performance_rating is 'Loss per decision, as in `bgdata analyze` [thousandths of a point]';
comment on column players.pr is 'Loss per decision by the rules of eXtreme Gammon [500ths of a point]';
comment on column players.play_rating is 'Loss per unforced play [thousandths of a point]';
comment on column players.cube_rating is 'Loss per cube decision [thousandths of a point]';
comment on column players.luck_per_game is 'Luck of a game on average [points]';
