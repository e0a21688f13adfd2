-- one step of the 16-bit code for rounding
select * from bearoff_match
where owned_mwc < cubeless_mwc - 2e-5 or cubeless_mwc < opponent_owned_mwc - 2e-5;
