-- What two one-sided tables get wrong, with both layouts. Position ID: position_id(bearoff_board(on_roll_points,
-- opponent_points)) of the rows that are left, which would take hours for all.
create view bearoff_error_positions as
select e.variant, e.on_roll_index, e.opponent_index,
       a.points as on_roll_points, b.points as opponent_points,
       a.pip_count as on_roll_pip_count, b.pip_count as opponent_pip_count,
       e.one_sided_equity, e.exact_equity, e.difference
from bearoff_error e  -- left joins, or DuckDB would first pair all layouts
left join bearoff_one_sided a on a.variant = split_part(e.variant, 'x', 1) || 'x15' and a.position_index = e.on_roll_index
left join bearoff_one_sided b on b.variant = a.variant and b.position_index = e.opponent_index;
comment on view bearoff_error_positions is 'One-sided against exact cubeless equity, with the layouts of both sides';
comment on column bearoff_error_positions.variant is 'Points x checkers';
comment on column bearoff_error_positions.on_roll_index is 'Position index of the player on roll';
comment on column bearoff_error_positions.opponent_index is 'Position index of the opponent';
comment on column bearoff_error_positions.on_roll_points is 'Checkers of the player on roll on each point, the ace point first [checkers]';
comment on column bearoff_error_positions.opponent_points is 'Checkers of the opponent on each of its points, the ace point first [checkers]';
comment on column bearoff_error_positions.on_roll_pip_count is 'Pips of the player on roll [pips]';
comment on column bearoff_error_positions.opponent_pip_count is 'Pips of the opponent [pips]';
comment on column bearoff_error_positions.one_sided_equity is 'Cubeless equity from the two one-sided distributions [points]';
comment on column bearoff_error_positions.exact_equity is 'Cubeless equity of the two-sided table [points]';
comment on column bearoff_error_positions.difference is 'one_sided_equity - exact_equity [points]';
