-- Legal plays of a roll in any DuckDB client, in the order and the words of the command line. A way is a board and the
-- checker moves that led to it, each as a list [start, end, hit]: 25 is the bar, 0 is off, and 1 a hit.
-- Through bgdata legal_plays and next_positions are many times faster. No `if(...)`, as in bearoff.sql.

create macro starts_of(board, die) as
    list_transform([rearmost(own_points(board))], lambda highest:
        list_filter(
            case when board[26] > 0 then [25] else range(24, 0, -1) end,
            lambda point: board[point + 1] > 0
                and case when point > die then board[point - die + 1] >= -1
                         else highest <= 6 and (point = die or point = highest) end))[1];
comment on macro starts_of is 'Points, from the highest, whose checkers the player on roll of a board can move by a die; 25 is the bar';

create macro board_after_move(board, point, die) as
    list_transform(board, lambda checkers, slot:
        (case when slot = point + 1 then checkers - 1
              when point > die and slot = point - die + 1 then case when checkers = -1 then 1 else checkers + 1 end
              when slot = 1 and point > die and board[point - die + 1] = -1 then checkers + 1
              else checkers end)::tinyint);
comment on macro board_after_move is 'Board after the checker on a point (25: the bar) moved by a die, seen by the player who moved it';

-- `places` are the ways with their number, sorted by board, so that the first way to each is beside the later ones
create macro first_ways(ways) as
    list_transform(
        [list_sort(list_transform(ways, lambda way, number: {'board': way.board, 'number': number, 'moves': way.moves}))],
        lambda places: list_transform(
            list_sort(list_transform(
                list_filter(places, lambda place, number: number = 1 or places[number - 1].board <> place.board),
                lambda place: {'number': place.number, 'board': place.board, 'moves': place.moves})),
            lambda place: {'board': place.board, 'moves': place.moves}))[1];
comment on macro first_ways is 'The first of the ways to each board, in order';

create macro ways_by_die(ways, die) as
    first_ways(flatten(list_transform(ways, lambda way:
        list_transform(starts_of(way.board, die), lambda point: {
            'board': board_after_move(way.board, point, die),
            'moves': way.moves || [[point, greatest(point - die, 0),
                                    case when point > die and way.board[point - die + 1] = -1 then 1 else 0 end]::tinyint[]]
        }))));
comment on macro ways_by_die is 'Ways with one more checker moved by a die, the first to each board';

create macro ways_of_dice(way, dice) as
    list_reduce(
        list_transform(dice, lambda die: {'ways': [way], 'played': 0, 'die': die}),
        lambda so_far, next: list_transform([ways_by_die(so_far.ways, next.die)], lambda further:
            case when len(further) > 0 then {'ways': further, 'played': so_far.played + 1, 'die': next.die}
                 else so_far end)[1],
        {'ways': [way], 'played': 0, 'die': dice[1]});
comment on macro ways_of_dice is 'Ways to play dice in this order, leaving out what cannot be played, and how many were played';

create macro ways_of_roll(position_id, die1, die2) as
    list_transform([board(position_id)], lambda start:
        case when start is not null and die1 between 1 and 6 and die2 between 1 and 6 then
            list_transform(
                [list_transform(
                    case when rearmost(own_points(start)) = 0 or rearmost(opponent_points(start)) = 0 then [[]::integer[]]
                         when die1 = die2 then [[die1, die1, die1, die1]]
                         else [[greatest(die1, die2), least(die1, die2)], [least(die1, die2), greatest(die1, die2)]] end,
                    lambda dice: ways_of_dice({'board': start, 'moves': []::tinyint[][]}, dice))],
                lambda orders: -- where only one die can be played, the first order plays the higher that can be
                    case when len(orders) = 1 or orders[1].played > orders[2].played or orders[1].played < 2
                              and orders[2].played < 2 then orders[1].ways
                         when orders[2].played > orders[1].played then orders[2].ways
                         else first_ways(orders[1].ways || orders[2].ways) end)[1] end)[1];
comment on macro ways_of_roll is 'Every legal play of a roll as a way; null for what is no position or roll';

create macro next_positions(position_id, die1, die2) as
    list_transform(ways_of_roll(position_id, die1, die2), lambda way: position_id(flip(way.board)));
comment on macro next_positions is 'Position IDs, the opponent on roll, that the legal plays of a roll lead to; null for what is no position or roll';

-- A checker that moves on is one path [start, ..., end]: a move goes on with the first path that ends where it begins.
create macro paths_with_move(paths, move) as
    list_transform([{'paths': paths, 'place': list_position(list_transform(paths, lambda path: path[-1]), move[1])}],
        lambda so_far: case when so_far.place is null then so_far.paths || [move[1:2]]
            else list_transform(so_far.paths, lambda path, number:
                case when number = so_far.place then path || [move[2]] else path end) end)[1];
comment on macro paths_with_move is 'Paths of checkers with one more checker move [start, end, hit]';

create macro paths_of_moves(moves) as
    list_transform([list_reverse_sort(moves::tinyint[][])], lambda sorted:
        list_transform(
            list_reverse_sort(list_transform(
                list_reduce(
                    list_transform(sorted, lambda move: [move]),
                    lambda paths, move: paths_with_move(paths, move[1]),
                    []::tinyint[][]),
                lambda path: {'start': path[1], 'last': path[-1], 'path': path})),
            lambda entry: entry.path))[1];
comment on macro paths_of_moves is 'Paths of the checkers that moved, from the highest start and end down';

create macro point_name(point) as
    case point when 25 then 'bar' when 0 then 'off' else point::varchar end;
comment on macro point_name is 'A point as plays write it';

-- Each hit has one star: on the first path that comes there.
create macro text_of_paths(paths, hits) as
    coalesce(nullif(array_to_string(
        list_transform(list_filter(paths, lambda path, number: number = 1 or paths[number - 1] <> path), lambda path:
            list_transform(
                [list_filter(hits, lambda point: not list_contains(
                    flatten(list_transform(paths[1:list_position(paths, path) - 1], lambda before: before[2:])), point))],
                lambda starred:
                    point_name(path[1]) || '/' || array_to_string(
                        list_transform(
                            list_filter(path[2:], lambda point, number:
                                number = len(path) - 1 or list_contains(starred, point)),
                            lambda point: point_name(point) || case when list_contains(starred, point) then '*' else '' end),
                        '/')
                    || case when len(list_filter(paths, lambda each: each = path)) > 1
                            then '(' || len(list_filter(paths, lambda each: each = path)) || ')' else '' end)[1]),
        ' '), ''), 'no play');
comment on macro text_of_paths is 'Paths of checkers in the usual notation; hits are the points with a star';

create macro text_of_moves(moves) as
    list_transform(
        [{'paths': paths_of_moves(moves),
          'hits': list_transform(list_filter(moves, lambda move: move[3] = 1), lambda move: move[2])}],
        lambda play: text_of_paths(play.paths, play.hits))[1];
comment on macro text_of_moves is 'Checker moves [start, end, hit] in the usual notation: 24/18/13*, bar/22*, 6/off(2) or no play';

create macro legal_plays(position_id, die1, die2) as
    list_transform(ways_of_roll(position_id, die1, die2), lambda way:
        {'play': text_of_moves(way.moves), 'next_position_id': position_id(flip(way.board))});
comment on macro legal_plays is 'Every legal play of a roll as text, with the Position ID that it leads to, the opponent on roll; null for what is no position or roll';

create macro play_text(position_id, die1, die2, next_position_id) as
    list_filter(legal_plays(position_id, die1, die2), lambda legal: legal.next_position_id = next_position_id)[1].play;
comment on macro play_text is 'The play of a roll that leads to a position with the opponent on roll, in the usual notation; null where none does';
