-- Cube decisions of solved bearoffs, with both layouts: how close they are, and what rules of thumb lose.
create view cube_decisions as
select c.variant, a.points as on_roll_points, b.points as opponent_points, c.* exclude (variant),
       case when c.double_margin < 0 then 'no double'
            when c.take_margin > 0 then 'double, take' else 'double, pass' end as centered_action,
       case when c.redouble_margin < 0 then 'no redouble'
            when c.take_margin > 0 then 'redouble, take' else 'redouble, pass' end as owned_action
from cube_life c  -- left joins, or DuckDB would first pair all layouts
left join bearoff_positions a on a.variant = split_part(c.variant, 'x', 1) || 'x15' and a.position_index = c.on_roll_index
left join bearoff_positions b on b.variant = a.variant and b.position_index = c.opponent_index;
comment on view cube_decisions is 'Cube decisions of solved bearoffs in money play: both layouts, the right action, its margin, and what rules of thumb lose';
comment on column cube_decisions.variant is 'Points x checkers';
comment on column cube_decisions.on_roll_points is 'Checkers of the player on roll on each point, the ace point first [checkers]';
comment on column cube_decisions.opponent_points is 'Checkers of the opponent on each point [checkers]';
comment on column cube_decisions.on_roll_index is 'Position index of the player on roll';
comment on column cube_decisions.opponent_index is 'Position index of the opponent';
comment on column cube_decisions.on_roll_pip_count is 'Pips of the player on roll [pips]';
comment on column cube_decisions.opponent_pip_count is 'Pips of the opponent [pips]';
comment on column cube_decisions.win_chance is 'Exact chance that the player on roll wins without a cube [chance]';
comment on column cube_decisions.one_sided_win_chance is 'The same from the two one-sided distributions [chance]';
comment on column cube_decisions.centered_cube_life_index is 'Index of a centered cube; null where none from 0 to 1 is exact [index]';
comment on column cube_decisions.owned_cube_life_index is 'Index of a cube that the player on roll owns, or null [index]';
comment on column cube_decisions.opponent_owned_cube_life_index is 'Index of a cube that the opponent owns, or null [index]';
comment on column cube_decisions.double_margin is 'What doubling a centered cube gains; negative where it is wrong [points per unit cube]';
comment on column cube_decisions.redouble_margin is 'What doubling an owned cube gains; negative where it is wrong [points per unit cube]';
comment on column cube_decisions.take_margin is 'What taking gains over passing; negative where a pass is right [points per unit cube]';
comment on column cube_decisions.janowski_double_loss is 'Loss of a double or none by the model at index 0.7 [points per unit cube]';
comment on column cube_decisions.janowski_redouble_loss is 'Loss of a redouble or none by the model at index 0.7 [points per unit cube]';
comment on column cube_decisions.janowski_take_loss is 'Loss of a take or pass by the model at index 0.7 [points per unit cube]';
comment on column cube_decisions.one_sided_double_loss is 'As janowski_double_loss, by one-sided chances [points per unit cube]';
comment on column cube_decisions.one_sided_redouble_loss is 'As janowski_redouble_loss, by one-sided chances [points per unit cube]';
comment on column cube_decisions.one_sided_take_loss is 'As janowski_take_loss, by one-sided chances [points per unit cube]';
comment on column cube_decisions.centered_action is 'Right action with the cube in the middle; ties double';
comment on column cube_decisions.owned_action is 'Right action of a player on roll who owns the cube';
