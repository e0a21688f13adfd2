-- one step of the 16-bit code for rounding
select * from bearoff_two_sided
where owned < centered - 1e-4 or centered < opponent_owned - 1e-4 or owned < cubeless - 1e-4 or cubeless < opponent_owned - 1e-4;
