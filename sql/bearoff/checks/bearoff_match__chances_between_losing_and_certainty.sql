-- MWC are chances; without a double by the player nothing is worse than losing twice the points, which the cube may cost
select * from bearoff_match
where cubeless_mwc not between lost_mwc - 1e-5 and double_pass_mwc + 1e-5
   or coalesce(owned_mwc, 0) not between 0 and 1 or coalesce(centered_mwc, 0) not between 0 and 1
   or coalesce(opponent_owned_mwc, 0) not between 0 and 1 or coalesce(taken_mwc, 0) not between 0 and 1;
