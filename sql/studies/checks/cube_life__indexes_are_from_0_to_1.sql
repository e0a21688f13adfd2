-- where no index is exact there is none
select * from cube_life
where centered_cube_life_index not between 0 and 1 or owned_cube_life_index not between 0 and 1
   or opponent_owned_cube_life_index not between 0 and 1;
