-- a player without checkers has won, also when neither side has any
select * from bearoff_two_sided
where (on_roll_index = 0 and cubeless < 1) or (on_roll_index <> 0 and opponent_index = 0 and cubeless > -1);
