-- The atlas in classes of five pips: how alive the cube is as games get longer.
create view cube_life_by_length as
select variant,
       (least(on_roll_pip_count, opponent_pip_count) - 1) // 5 * 5 + 1 as least_pips,
       (least(on_roll_pip_count, opponent_pip_count) - 1) // 5 * 5 + 5 as most_pips,
       count(*) as pairs,
       count(centered_cube_life_index) / count(*) as centered_index_share,
       avg(centered_cube_life_index) as centered_mean_index,
       stddev_pop(centered_cube_life_index) as centered_sd_index,
       count(owned_cube_life_index) / count(*) as owned_index_share,
       avg(owned_cube_life_index) as owned_mean_index,
       stddev_pop(owned_cube_life_index) as owned_sd_index,
       count(opponent_owned_cube_life_index) / count(*) as opponent_owned_index_share,
       avg(opponent_owned_cube_life_index) as opponent_owned_mean_index,
       stddev_pop(opponent_owned_cube_life_index) as opponent_owned_sd_index
from cube_life
group by all
order by all;
comment on view cube_life_by_length is 'Cube life index that makes Janowski exact, by how many pips the side with fewer has left';
comment on column cube_life_by_length.variant is 'Points x checkers';
comment on column cube_life_by_length.least_pips is 'Least pips of the class, of the side that has fewer [pips]';
comment on column cube_life_by_length.most_pips is 'Most pips of the class [pips]';
comment on column cube_life_by_length.pairs is 'Ordered pairs of layouts';
comment on column cube_life_by_length.centered_index_share is 'Share of pairs with an index from 0 to 1 for a centered cube';
comment on column cube_life_by_length.centered_mean_index is 'Mean of these indexes [index]';
comment on column cube_life_by_length.centered_sd_index is 'Standard deviation of these indexes [index]';
comment on column cube_life_by_length.owned_index_share is 'Share of pairs with an index for a cube of the player on roll';
comment on column cube_life_by_length.owned_mean_index is 'Mean of these indexes [index]';
comment on column cube_life_by_length.owned_sd_index is 'Standard deviation of these indexes [index]';
comment on column cube_life_by_length.opponent_owned_index_share is 'Share of pairs with an index for a cube of the opponent';
comment on column cube_life_by_length.opponent_owned_mean_index is 'Mean of these indexes [index]';
comment on column cube_life_by_length.opponent_owned_sd_index is 'Standard deviation of these indexes [index]';
