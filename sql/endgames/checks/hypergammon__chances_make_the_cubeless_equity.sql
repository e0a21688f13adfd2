-- both come between bounds of their own, at most 1e-5 apart
select * from hypergammon
where not (abs(2 * win - 1 + win_gammon + win_backgammon - lose_gammon - lose_backgammon - cubeless) < 5e-5);
