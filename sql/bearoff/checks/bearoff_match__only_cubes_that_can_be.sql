-- a cube of 1 is in the middle and a higher one is not; in the Crawford game neither side may double
select * from bearoff_match
where (centered_mwc is null) = (cube_value = 1) or (owned_mwc is null) <> (cube_value = 1)
   or (opponent_owned_mwc is null) <> (cube_value = 1) or (taken_mwc is null) <> is_crawford
   or (is_crawford and centered_mwc <> cubeless_mwc);
