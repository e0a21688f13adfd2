-- a double can be passed after the first roll of both sides
select variant, number, games_played, turns from cubeful_scores where not coalesce(turns >= games_played, false);
