-- the bounds that enclose the equities may be 1e-5 apart
select * from hypergammon
where owned < centered - 2e-5 or centered < opponent_owned - 2e-5 or owned < cubeless - 2e-5 or cubeless < opponent_owned - 2e-5;
