select * from hypergammon
where not (abs(cubeless) <= 3 and abs(owned) <= 3 and abs(centered) <= 3 and abs(opponent_owned) <= 3 and abs(centered_jacoby) <= 3);
