-- The theme of a position in any DuckDB client; the rules are in the docstring of `bgdata.game.themes`. Through bgdata
-- `theme` is vectorised. `points` are own_points of one side, the bar last. Texts are faster than lists here.

create macro made_text(points) as
    array_to_string(list_transform(points[1:24], lambda checkers: case when checkers >= 2 then '1' else '0' end), '');
comment on macro made_text is '24 letters, 1 for each point with two checkers or more of own_points';

create macro count_made(made, lowest, highest) as
    length(replace(substr(made, lowest, highest - lowest + 1), '0', ''));
comment on macro count_made is 'Number of points from `lowest` to `highest` in a text of made_text';

create macro theme_side(points) as {
    'moved': 15 - least(points[6], 5) - least(points[8], 3) - least(points[13], 5) - least(points[24], 2),
    'checkers': list_sum(points)::integer,
    'outside': list_sum(points[7:25])::integer,
    'zone': list_sum(points[1:12])::integer,
    'behind': list_sum(points[19:24])::integer,
    'bar': points[25],
    'rearmost': rearmost(points),
    'pips': list_sum(list_transform(points, lambda checkers, point: checkers * point))::integer,
    'made': made_text(points)
};
comment on macro theme_side is 'What theme_of_sides needs of one side';

create macro is_containing(side) as side.outside between 1 and 3 and side.checkers < 15;
comment on macro is_containing is 'Whether a side of theme_side bears off but has one to three checkers outside its home board';

create macro holds_anchors(side, other) as count_made(side.made, 19, 24) >= 2 and side.pips > other.pips;
comment on macro holds_anchors is 'Whether a side of theme_side plays a back game';

create macro holds_ace_point(side, other) as
    substr(side.made, 19, 6) = '000001' and other.rearmost <= 13 and side.pips > other.pips;
comment on macro holds_ace_point is 'Whether a side of theme_side plays an ace-point game';

create macro is_blitzing(side, other) as
    count_made(side.made, 1, 6) between 2 and 5 and substr(other.made, 19, 6) = '000000'
    and (other.bar > 0 or other.behind >= 2) and side.zone >= 10;
comment on macro is_blitzing is 'Whether a side of theme_side attacks loose checkers in its home board';

-- the last four points in a row are those to get behind; the text is read from its end
create macro has_prime(side, other) as
    contains(side.made, '1111') and other.rearmost > 25 - (22 - instr(reverse(side.made), '1111'));
comment on macro has_prime is 'Whether a side of theme_side has four points in a row before a checker of the other one';

create macro holds_advanced_anchor(side) as side.rearmost between 18 and 21 and substr(side.made, side.rearmost, 1) = '1';
comment on macro holds_advanced_anchor is 'Whether the rearmost checkers of a side of theme_side are an anchor on its 18 to 21 point';

create macro theme_of_sides(class, side, other) as
    case when class is null or class = 'over' then null
         when class = 'race' then 'race'
         when class = 'bearoff' then 'bear-off'
         when side.moved <= 4 and other.moved <= 4 then 'opening'
         when is_containing(side) or is_containing(other) then 'containment'
         when holds_anchors(side, other) then 'back-game-on-roll'
         when holds_anchors(other, side) then 'back-game-against'
         when holds_ace_point(side, other) or holds_ace_point(other, side) then 'ace-point-game'
         when least(side.rearmost, other.rearmost) <= 6 then 'bear-off-against-contact'
         when is_blitzing(side, other) or is_blitzing(other, side) then 'blitz'
         when side.rearmost <= 13 and other.rearmost >= 19 or other.rearmost <= 13 and side.rearmost >= 19
             then 'bear-in-against-contact'
         when class = 'crashed' then 'crashed'
         when has_prime(side, other) and has_prime(other, side) then 'priming-battle'
         when holds_advanced_anchor(side) and holds_advanced_anchor(other) then 'mutual-holding'
         else 'middle-game' end;
comment on macro theme_of_sides is 'theme from position_class and theme_side of both sides';

create macro theme(board) as
    list_transform(
        [case when is_board(board) then {
            'class': position_class(board),
            'side': theme_side(own_points(board::integer[])),
            'other': theme_side(opponent_points(board::integer[]))
        } end],
        lambda seen: theme_of_sides(seen.class, seen.side, seen.other))[1];
comment on macro theme is 'Theme of a position, as players are scored by: opening, blitz, race, ...; null for a finished game and for a list that is no board';
