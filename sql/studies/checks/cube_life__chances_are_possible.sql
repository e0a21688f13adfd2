-- the error of one-sided chances is 0.014 at most; a twentieth would mean a wrong table
select * from cube_life
where win_chance not between 0 and 1 or one_sided_win_chance not between 0 and 1
   or abs(win_chance - one_sided_win_chance) > 0.05;
