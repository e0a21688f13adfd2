-- What the dice did in every game whose luck is known.
create view luck_by_game as
select dataset, variant, game, player_0, player_1,
       case when winner = 0 then points_won else -points_won end as points,
       sum(luck) filter (where player = 0) as luck_of_player_0,
       coalesce(sum(luck) filter (where player = 1), 0) as luck_of_player_1,
       any_value(luck_0) as luck_0,
       any_value(hedged_points) as hedged_points
from games
join turns using (dataset, variant, game)
where luck_0 is not null
group by all
order by dataset, variant, game;
comment on view luck_by_game is 'What the dice did in every game whose luck is known, and the result without it';
comment on column luck_by_game.dataset is 'Dataset kind';
comment on column luck_by_game.variant is 'Player, games and seed, or the import';
comment on column luck_by_game.game is 'Number of the game in its version, from 0';
comment on column luck_by_game.player_0 is 'Name of player 0';
comment on column luck_by_game.player_1 is 'Name of player 1';
comment on column luck_by_game.points is 'Result of player 0 [points]';
comment on column luck_by_game.luck_of_player_0 is 'Luck of all rolls of player 0, for itself [points]';
comment on column luck_by_game.luck_of_player_1 is 'Luck of all rolls of player 1, for itself [points]';
comment on column luck_by_game.luck_0 is 'Luck of player 0 less that of player 1 [points]';
comment on column luck_by_game.hedged_points is 'Result of player 0 less luck_0: as good on average, and less noisy [points]';
