-- Identifiers of other programs, for money play or a match, the player on roll at the bottom of the board. Null for
-- what is no board, for a score or cube that cannot be, and for a null among the arguments other than both dice.

create macro is_stakes(die1, die2, cube_value, cube_owner, away, opponent_away, match_length, is_crawford, is_jacoby) as
    (die1 is null and die2 is null or coalesce(die1 between 1 and 6 and die2 between 1 and 6, false))
    and cube_value between 1 and 1073741824
    and cube_value::bigint & (cube_value::bigint - 1) = 0
    and cube_owner in ('centered', 'on_roll', 'opponent')
    and (cube_value > 1 or cube_owner = 'centered')
    and match_length >= greatest(away, opponent_away)
    and case when match_length = 0 then away = 0 and opponent_away = 0 and not is_crawford
             else away >= 1 and opponent_away >= 1 and not is_jacoby
                  and (cube_owner <> 'centered' or cube_value = 1)
                  and (not is_crawford or (away = 1) <> (opponent_away = 1) and cube_value = 1) end;
comment on macro is_stakes is 'Whether dice, cube and score can be: both dice or none, a cube that is a power of two, 0-away and length 0 for money';

create macro dice_text(die1, die2) as coalesce(greatest(die1, die2)::varchar || least(die1, die2)::varchar, '00');
comment on macro dice_text is 'Two dice as text, the higher first; 00 for none';

create macro xgid_letters(board) as
    array_to_string(
        list_transform(
            board,
            lambda checkers, place: case when checkers = 0 then '-'
                                         when checkers > 0 and place > 1 then chr(64 + checkers::integer)
                                         else chr(96 + abs(checkers::integer)) end),
        '');
comment on macro xgid_letters is 'The first field of an XGID: 26 letters, capitals for the player on roll';

create macro xgid(
    board, die1 := null, die2 := null, cube_value := 1, cube_owner := 'centered', away := 0, opponent_away := 0,
    match_length := null, is_crawford := false, is_jacoby := false
) as
    list_transform([coalesce(match_length, greatest(away, opponent_away))], lambda length:
        case when is_board(board)
                  and is_stakes(die1, die2, cube_value, cube_owner, away, opponent_away, length, is_crawford, is_jacoby)
        then concat_ws(
            ':',
            'XGID=' || xgid_letters(board),
            log2(cube_value)::integer,
            case cube_owner when 'centered' then 0 when 'on_roll' then 1 else -1 end,
            1,
            dice_text(die1, die2),
            length - away,
            length - opponent_away,
            (is_crawford or is_jacoby)::integer,
            length,
            greatest(10, log2(cube_value)::integer)) end)[1];
comment on macro xgid is 'XGID of a board, before the roll or with one; 0-away for money. Without match_length the shortest match with that score';

create macro low_bits(value, width) as reverse(right((value)::integer::bit::varchar, width));
comment on macro low_bits is 'The lowest bits of a number as text, the lowest first';

create macro match_id(
    die1 := null, die2 := null, cube_value := 1, cube_owner := 'centered', away := 0, opponent_away := 0,
    match_length := null, is_crawford := false, is_jacoby := false
) as
    list_transform([coalesce(match_length, greatest(away, opponent_away))], lambda length:
        case when is_stakes(die1, die2, cube_value, cube_owner, away, opponent_away, length, is_crawford, is_jacoby)
                  and cube_value <= 32768 and length <= 64
        then letters_of_bits(
            reversed_bytes(
                concat(
                    low_bits(log2(cube_value), 4),
                    case cube_owner when 'centered' then '11' when 'on_roll' then '10' else '00' end,
                    '1',  -- the player on roll is player 1
                    low_bits(is_crawford, 1),
                    '100',  -- a game is being played
                    '1000',  -- player 1 decides; nothing is offered
                    low_bits(coalesce(greatest(die1, die2), 0), 3),
                    low_bits(coalesce(least(die1, die2), 0), 3),
                    low_bits(length, 15),
                    low_bits(length - opponent_away, 15),
                    low_bits(length - away, 15),
                    low_bits(not is_jacoby, 1),
                    '00000'),
                9),
            12) end)[1];
comment on macro match_id is 'gnubg''s Match ID, 12 characters, with the player on roll as player 1; also null beyond 64 points or a cube of 32768';

create macro gnubg_id(
    board, die1 := null, die2 := null, cube_value := 1, cube_owner := 'centered', away := 0, opponent_away := 0,
    match_length := null, is_crawford := false, is_jacoby := false
) as
    position_id(board) || ':' || match_id(
        die1 := die1, die2 := die2, cube_value := cube_value, cube_owner := cube_owner, away := away,
        opponent_away := opponent_away, match_length := match_length, is_crawford := is_crawford, is_jacoby := is_jacoby);
comment on macro gnubg_id is 'gnubg''s Position ID and Match ID of a board, with a colon between them; arguments as of xgid';

create macro ogid_letters(board, is_on_roll) as
    array_to_string(
        list_transform(
            board,
            lambda checkers, place: repeat(
                substr('0123456789abcdefghijklmnop', place, 1),
                case when is_on_roll = (place > 1) then greatest(checkers::bigint, 0)
                     else greatest(-(checkers::bigint), 0) end)),
        '');
comment on macro ogid_letters is 'The checkers of one side in an OpenGammon ID, a letter for each: its point, seen by the player on roll';

create macro ogid(board, die1 := null, die2 := null, cube_value := 1, cube_owner := 'centered') as
    case when is_board(board) and cube_value <= 512
              and is_stakes(die1, die2, cube_value, cube_owner, 0, 0, 0, false, false) then
        concat_ws(
            ':',
            ogid_letters(board, false),
            ogid_letters(board, true),
            concat(
                case cube_owner when 'centered' then 'N' when 'on_roll' then 'B' else 'W' end,
                log2(cube_value)::integer,
                'N'),
            case when die1 is not null then dice_text(die1, die2) end) end;
comment on macro ogid is 'OpenGammon ID of a board, the player on roll as black: checkers, cube and dice, without the side to move, which readers understand in two ways';
