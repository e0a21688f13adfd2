-- per unit cube a game without gammons is worth at most one point, with gammons two
select * from bearoff_two_sided
where abs(cubeless) > 2 or abs(owned) > 2 or abs(centered) > 2 or abs(opponent_owned) > 2;
