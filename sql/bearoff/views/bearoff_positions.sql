-- Layouts of one player: the rows of the one-sided tables without their chances.
create view bearoff_positions as
select variant, position_index, points, checkers, pip_count from bearoff_one_sided;
comment on view bearoff_positions is 'Index, points, checkers and pip count of every bearoff layout of up to 15 checkers';
comment on column bearoff_positions.variant is 'Points x checkers of the one-sided table that lists the layout';
comment on column bearoff_positions.position_index is 'Rank of the layout: checkers ascending, then most on the ace point first';
comment on column bearoff_positions.points is 'Checkers on each point, the ace point first';
comment on column bearoff_positions.checkers is 'Checkers on the board';
comment on column bearoff_positions.pip_count is 'Pips to bear all of them off [pips]';
