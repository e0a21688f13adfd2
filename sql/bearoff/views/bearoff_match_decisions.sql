-- Cube decisions of solved bearoffs at match scores: one row a pair and owner of the cube who may double.
create view bearoff_match_decisions as
with owners as (
    select variant, on_roll_index, opponent_index, away, opponent_away, is_crawford, cube_value, met, taken_mwc,
           double_pass_mwc, lost_mwc,
           case when centered_mwc is null then 'on_roll' else 'centered' end as cube_owner,
           coalesce(centered_mwc, owned_mwc) as no_double_mwc
    from bearoff_match
    where on_roll_index > 0 and opponent_index > 0
)
select o.variant, o.on_roll_index, o.opponent_index, a.points as on_roll_points, b.points as opponent_points,
       o.away, o.opponent_away, o.is_crawford, o.cube_value, o.met, o.cube_owner,
       o.no_double_mwc, o.taken_mwc, o.double_pass_mwc,
       case when o.taken_mwc is not null  -- which least would leave out
            then least(o.taken_mwc, o.double_pass_mwc) - o.no_double_mwc end as double_gain_mwc,
       o.double_pass_mwc - o.taken_mwc as take_gain_mwc,
       (2 * o.no_double_mwc - o.double_pass_mwc - o.lost_mwc) / nullif(o.double_pass_mwc - o.lost_mwc, 0) as no_double_equity,
       case when double_gain_mwc is null or double_gain_mwc < 0 then 'no double'
            when take_gain_mwc > 0 then 'double, take' else 'double, pass' end as best_action
from owners o
left join bearoff_one_sided a on a.variant = split_part(o.variant, 'x', 1) || 'x15' and a.position_index = o.on_roll_index
left join bearoff_one_sided b on b.variant = a.variant and b.position_index = o.opponent_index;
comment on view bearoff_match_decisions is 'Cube decisions of solved bearoffs at match scores: both layouts, the right action, and what it gains';
comment on column bearoff_match_decisions.variant is 'Points x checkers, score, cube value and match equity table';
comment on column bearoff_match_decisions.on_roll_index is 'Position index of the player on roll';
comment on column bearoff_match_decisions.opponent_index is 'Position index of the opponent';
comment on column bearoff_match_decisions.on_roll_points is 'Checkers of the player on roll on each point, the ace point first; null without the one-sided table of these points [checkers]';
comment on column bearoff_match_decisions.opponent_points is 'Checkers of the opponent on each point; null without that table [checkers]';
comment on column bearoff_match_decisions.away is 'Points that the player on roll still needs to win the match [points]';
comment on column bearoff_match_decisions.opponent_away is 'Points that the opponent still needs [points]';
comment on column bearoff_match_decisions.is_crawford is 'Whether this is the Crawford game, in which neither side may double';
comment on column bearoff_match_decisions.cube_value is 'Value of the cube';
comment on column bearoff_match_decisions.met is 'Name of the match equity table';
comment on column bearoff_match_decisions.cube_owner is 'centered, or on_roll for a cube above 1';
comment on column bearoff_match_decisions.no_double_mwc is 'MWC of the player on roll who does not double now [chance]';
comment on column bearoff_match_decisions.taken_mwc is 'MWC after a double that is taken, null in the Crawford game [chance]';
comment on column bearoff_match_decisions.double_pass_mwc is 'MWC after a pass [chance]';
comment on column bearoff_match_decisions.double_gain_mwc is 'What doubling gains, negative where it is wrong, null in the Crawford game [chance]';
comment on column bearoff_match_decisions.take_gain_mwc is 'What taking gains over passing, negative where a pass is right [chance]';
comment on column bearoff_match_decisions.no_double_equity is 'Normalised no-double equity: 1 for winning the points on the cube, -1 for losing them [points per unit cube]';
comment on column bearoff_match_decisions.best_action is 'Right cube action; ties double';
