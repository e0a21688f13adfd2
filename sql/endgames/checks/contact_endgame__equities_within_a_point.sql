-- a side has borne off, so no gammon is possible, and no cube makes a game worth more than a point a unit
select * from contact_endgame
where not (abs(cubeless) <= 1 and abs(owned) <= 1 and abs(centered) <= 1 and abs(opponent_owned) <= 1);
