-- Positions that work in any DuckDB client. A board is 26 integers: the opponent's bar, points 1 to 24 of the player on
-- roll (the opponent's checkers negative), the own bar. Through bgdata the same names are vectorised and faster.
-- No `if(...)`, as in bearoff.sql.

create macro is_board(board) as
    coalesce(len(board) = 26 and list_count(board) = 26 and board[1] >= 0 and board[26] >= 0, false)
    and list_sum(list_transform(board, lambda checkers: greatest(checkers::integer, 0))) - board[1] <= 15
    and list_sum(list_transform(board, lambda checkers: greatest(-(checkers::integer), 0))) + board[1] <= 15
    and not (board[1] > 0 and board[26] > 0 and list_min(board[2:7]) >= 2 and list_max(board[20:25]) <= -2);
comment on macro is_board is 'Whether a list can be a board: 26 integers, 15 checkers a side, not both on the bar against closed boards';

create macro own_points(board) as
    list_transform(board[2:26], lambda checkers: greatest(checkers, 0)::tinyint);
comment on macro own_points is 'Checkers of the player on roll on points 1 to 24 of that side and, last, on its bar';

create macro opponent_points(board) as
    list_transform(list_reverse(board[2:25]), lambda checkers: greatest(-(checkers::integer), 0)::tinyint)
    || [board[1]::tinyint];
comment on macro opponent_points is 'Checkers of the opponent on points 1 to 24 of that side and, last, on its bar';

create macro flip(board) as
    case when is_board(board) then
        list_transform(list_reverse(board), lambda checkers, place:
            case when place in (1, 26) then checkers else -(checkers::integer) end::tinyint) end;
comment on macro flip is 'The same position with the other player on roll, seen from that side; null for a list that is none';

create macro pip_count(board) as
    case when len(board) = 26 and list_count(board) > 0 then
        list_sum(list_transform(board, lambda checkers, place: greatest(checkers, 0) * (place - 1)))::integer
    else list_sum(list_transform(board, lambda checkers, point: checkers * point))::integer end;
comment on macro pip_count is 'Pips of the player on roll of a board of 26 integers, or to bear off a layout of up to 18 points';

create macro rearmost(points) as
    coalesce(list_max(list_transform(points, lambda checkers, point: case when checkers > 0 then point else 0 end)), 0);
comment on macro rearmost is 'Highest point that holds a checker, 0 for none; 25 is the bar';

create macro is_crashed(points) as
    list_sum(points) <= 6
    or (points[1] >= 2 and (list_sum(points) - points[1] <= 6
                            or (points[2] >= 2 and list_sum(points) - points[1] - points[2] + 1 <= 6)))
    or (points[1] < 2 and points[2] >= 1 and list_sum(points) - points[2] + 1 <= 6);
comment on macro is_crashed is 'Whether at most 6 checkers are left to play with, those deep on the ace and deuce points left out';

-- `list_transform([value], lambda name: ...)[1]` names a value, so that it is worked out once and not at every mention.
create macro class_of_points(own, opponent) as
    list_transform([{'own': own, 'opponent': opponent, 'sum': rearmost(own) + rearmost(opponent)}], lambda sides:
        case when rearmost(sides.own) = 0 or rearmost(sides.opponent) = 0 then 'over'
             when sides.sum > 24 and (is_crashed(sides.own) or is_crashed(sides.opponent)) then 'crashed'
             when sides.sum > 24 then 'contact'
             when greatest(rearmost(sides.own), rearmost(sides.opponent)) <= 6 then 'bearoff'
             else 'race' end)[1];
comment on macro class_of_points is 'position_class from own_points and opponent_points';

create macro position_class(board) as
    case when is_board(board) then class_of_points(own_points(board), opponent_points(board)) end;
comment on macro position_class is 'over, bearoff, race, crashed or contact, as gnubg defines them; null for a list that is no board';

create macro base64_letters() as 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
comment on macro base64_letters is 'Letters of a Position ID by their value';

create macro reversed_bytes(text, bytes := 10) as
    list_transform([text], lambda bits: list_reduce(
        list_transform(range(0, bytes), lambda byte: reverse(substr(bits, 8 * byte + 1, 8))), lambda a, b: a || b))[1];
comment on macro reversed_bytes is '80 bits, or those of so many bytes, with the order of the bits in each byte turned round';

create macro unary(points) as
    list_reduce(list_transform(points, lambda checkers: repeat('1', checkers::bigint) || '0'), lambda a, b: a || b);
comment on macro unary is 'A 1 for each checker on a point and a 0 behind each point';

create macro letters_of_bits(bits, letters := 14) as
    list_reduce(
        list_transform(
            range(0, letters),
            lambda letter: substr(
                base64_letters(),
                1 + ('0b' || substr(bits, 6 * letter + 1, 6))::integer,
                1)),
        lambda a, b: a || b);
comment on macro letters_of_bits is 'Bits as letters of six each, 14 unless said otherwise';

create macro position_id(board) as
    case when is_board(board) then
        list_transform(
            [reversed_bytes(rpad(unary(opponent_points(board)) || unary(own_points(board)), 80, '0')) || '0000'],
            lambda bits: letters_of_bits(bits))[1] end;
comment on macro position_id is 'gnubg''s Position ID, 14 characters, of a board; null for a list that is none';

create macro counts_of_id(position_id) as
    list_transform(
        string_split(
            reversed_bytes(list_reduce(
                list_transform(
                    string_split(position_id, ''),
                    lambda letter: right(((instr(base64_letters(), letter) - 1)::utinyint)::bit::varchar, 6)),
                lambda a, b: a || b)),
            '0'),
        lambda ones: len(ones)::tinyint);
comment on macro counts_of_id is 'Counts of a Position ID: the opponent''s points 1 to 24 and bar, those of the player on roll, then zeros';

create macro board_of_counts(counts) as
    [counts[25]]
    || list_transform(range(1, 25), lambda point: (counts[25 + point] - counts[25 - point])::tinyint)
    || [counts[50]];
comment on macro board_of_counts is 'Board of the counts of counts_of_id';

create macro is_position(counts) as
    len(counts) > 50
    and list_sum(counts[1:25]) <= 15
    and list_sum(counts[26:50]) <= 15
    and list_sum(counts[51:]) = 0
    and list_max(list_transform(range(1, 25), lambda point: least(counts[25 + point], counts[25 - point]))) = 0
    and not (counts[25] > 0 and counts[50] > 0 and list_min(counts[1:6]) >= 2 and list_min(counts[26:31]) >= 2);
comment on macro is_position is 'Whether the counts of counts_of_id can occur: checkers, shared points, both on the bar against closed boards';

create macro board(position_id) as
    list_transform(
        [case when regexp_full_match(position_id, '[A-Za-z0-9+/]{13}[AQgw]') then counts_of_id(position_id) end],
        lambda counts: case when counts is not null and is_position(counts) then board_of_counts(counts) end)[1];
comment on macro board is 'Board of a Position ID: 26 integers; null for a text that is none';

create macro bearoff_board(on_roll_points, opponent_points) as
    case when bearoff_index(on_roll_points) is not null and bearoff_index(opponent_points) is not null
              and list_max(list_transform(range(1, 25), lambda point:
                  least(coalesce(on_roll_points[point], 0), coalesce(opponent_points[25 - point], 0)))) = 0 then
        [0::tinyint]
        || list_transform(range(1, 25), lambda point:
            (coalesce(on_roll_points[point], 0) - coalesce(opponent_points[25 - point], 0))::tinyint)
        || [0::tinyint] end;
comment on macro bearoff_board is 'Board of two layouts, the ace point of each side first; null for what is none, and where both would stand on a point';
