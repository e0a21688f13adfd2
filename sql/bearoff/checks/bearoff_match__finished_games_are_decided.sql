-- a player without checkers has won the points on the cube, also when neither side has any
select * from bearoff_match
where (on_roll_index = 0 or opponent_index = 0)
  and (abs(cubeless_mwc - case when on_roll_index = 0 then double_pass_mwc else lost_mwc end) > 1e-5
       or abs(coalesce(owned_mwc, centered_mwc) - cubeless_mwc) > 1e-5);
