"""Tests of SQL's position functions against Python, as plain macros and as vectorised functions."""

import functools
import random
from typing import Any

import duckdb

from bgdata.errors import InvalidPositionError
from bgdata.game.board import BASE64_LETTERS
from bgdata.game.classes import position_class
from bgdata.game.dice import ORDERED_ROLLS, roll_of
from bgdata.game.plays import legal_plays
from bgdata.game.position import START, Position, board_flaw
from tests.random_games import GamePositions, random_game_positions
from tests.subtests import each

Connection = duckdb.DuckDBPyConnection
Board = list[int | None]
FUNCTIONS = ("flip", "position_class", "position_id")


@functools.cache
def games() -> GamePositions:
    """Random games."""
    return random_game_positions(100, seed=8)


@functools.cache
def positions() -> list[Position]:
    """The positions of the games."""
    return [Position(board) for board in games().boards.tolist()]


def column(connection: Connection, expression: str, type_: str, values: list[Any]) -> list[Any]:
    """Values of an expression of `x`, for each value in order."""
    rows = connection.execute(
        f"select {expression} from (select unnest(?::{type_}[]) as x, unnest(range(?)) as n) order by n",
        [values, len(values)],
    ).fetchall()
    return [row[0] for row in rows]


def python_answers(position: Position) -> tuple[Any, ...]:
    """The expected results of FUNCTIONS."""
    name = position_class(position).name.lower().partition("_")[0]
    return list(position.flip().board), name, position.id


def test_positions_of_random_games_equal_python(connection: Connection) -> None:
    boards = games().boards.tolist()
    assert len(boards) > 9000
    found = [column(connection, f"{name}(x)", "tinyint[]", boards) for name in FUNCTIONS]
    assert list(zip(*found, strict=True)) == [python_answers(position) for position in positions()]
    assert {answer[1] for answer in zip(*found, strict=True)} == {"contact", "crashed", "race", "bearoff"}
    assert column(connection, "pip_count(x)", "tinyint[]", boards) == [position.pip_count for position in positions()]
    ids = [position.id for position in positions()]
    assert column(connection, "board(x)", "varchar", ids) == boards


def test_finished_positions_equal_python(connection: Connection) -> None:
    empty = Position((0,) * 26)
    for board in ([0] * 26, [0, 1, *[0] * 24], [0] * 24 + [-15, 0], [*[0] * 25, 1]):
        position = Position(board)
        found = [column(connection, f"{name}(x)", "tinyint[]", [board])[0] for name in FUNCTIONS]
        assert tuple(found) == python_answers(position)
        assert found[1] == "over"
    assert column(connection, "board(x)", "varchar", [empty.id]) == [list(empty.board)]


BOTH_CLOSED: Board = [1, 2, 2, 2, 2, 2, 2, *[0] * 12, -2, -2, -2, -2, -2, -2, 1]
NO_BOARDS: list[Board | None] = [
    None,
    [],
    [None],
    [None] * 26,
    [*START.board[:25], None],
    [None, *START.board[1:]],
    list(START.board[:25]),
    [*START.board, 0],
    [-1, *START.board[1:]],
    [*START.board[:25], -1],
    [16, *[0] * 25],
    [*[0] * 25, 16],
    [15, -1, *[0] * 24],
    [*[0] * 24, 1, 15],
    [127] * 26,
    [-128] * 26,
    BOTH_CLOSED,
]


def test_invalid_boards_give_null(connection: Connection) -> None:
    for name in FUNCTIONS:
        assert column(connection, f"{name}(x)", "tinyint[]", NO_BOARDS) == [None] * len(NO_BOARDS)
        assert column(connection, f"{name}(x)", "integer[]", [[1000, *START.board[1:]]]) == [None]
        (bare,) = connection.sql(f"select {name}(null)").fetchall()
        assert bare == (None,)
    assert column(connection, "pip_count(x)", "tinyint[]", [None, [], [None] * 26]) == [None] * 3


def test_corrupted_boards_equal_python(connection: Connection) -> None:
    """SQL accepts the corrupted boards that Python accepts, and gives the same results for them."""
    chance = random.Random("boards")
    played: list[Board] = games().boards.tolist()
    boards = [list(chance.choice(played)) for _ in range(3000)]
    for board in boards:
        for _ in range(chance.randrange(1, 4)):
            board[chance.randrange(26)] = chance.choice([None, -16, -3, -1, 0, 0, 0, 0, 0, 1])
    expected = [
        python_answers(Position([count or 0 for count in board]))
        if None not in board and not board_flaw([count or 0 for count in board])
        else (None,) * 3
        for board in boards
    ]
    assert 300 < sum(answer[0] is not None for answer in expected) < 2500
    found = [column(connection, f"{name}(x)", "tinyint[]", boards) for name in FUNCTIONS]
    assert list(zip(*found, strict=True)) == expected


NO_IDS = [
    *(None, "", "4HPwATDgc/ABM", "4HPwATDgc/ABMAA", "4HPwATDgc/ABMB", "4HPwATDgc-ABMA", " 4HPwATDgc/ABM"),
    *("4HPwATDgc/ABMA\0", "4HPwATDgc/ABM\n", "4HPwATDgc/ABMä", "ä" * 7, "äääääääääääääA", "AAAAAAAAAAAAAg"),
    "//////////////",
]


def test_invalid_position_ids_give_null(connection: Connection) -> None:
    assert column(connection, "board(x)", "varchar", NO_IDS) == [None] * len(NO_IDS)
    assert connection.sql("select board(null)").fetchall() == [(None,)]


def test_corrupted_position_ids_equal_python(connection: Connection) -> None:
    chance = random.Random("ids")
    texts = []
    for _ in range(5000):
        letters = list(chance.choice(positions()).id)
        for _ in range(chance.randrange(1, 3)):
            letters[chance.randrange(14)] = chance.choice(BASE64_LETTERS + "!")
        texts.append("".join(letters))

    def board_of(text: str) -> list[int] | None:
        try:
            return list(Position(text).board)
        except InvalidPositionError:
            return None

    expected = list(map(board_of, texts))
    assert 500 < expected.count(None) < 4500
    assert column(connection, "board(x)", "varchar", texts) == expected


def plays(connection: Connection, position_id: str | None, die1: int | None, die2: int | None) -> tuple[Any, Any]:
    values = [position_id, die1, die2]
    (row,) = connection.execute("select legal_plays($1, $2, $3), next_positions($1, $2, $3)", values).fetchall()
    return row[0], row[1]


def test_plays_of_positions_of_random_games(connection: Connection) -> None:
    chosen = random.Random("plays").sample(range(len(positions())), 400)
    ids, rolls = [positions()[row].id for row in chosen], [games().rolls[row].tolist() for row in chosen]
    found = connection.execute(
        "select legal_plays(id, die1, die2), next_positions(id, die1, die2) from (select unnest(?::varchar[]) as id, "
        "unnest(?::integer[]) as die1, unnest(?::integer[]) as die2, unnest(range(?)) as n) order by n",
        [ids, [die for die, _ in rolls], [die for _, die in rolls], len(ids)],
    ).fetchall()
    for row, roll, (texts, following) in zip(chosen, rolls, found, strict=True):
        expected = legal_plays(positions()[row], roll_of(*roll))
        next_ids = [play.next_position.id for play in expected]
        assert [(entry["play"], entry["next_position_id"]) for entry in texts] == list(
            zip(map(str, expected), next_ids, strict=True)
        )
        assert following == next_ids


def test_plays_of_one_position(connection: Connection) -> None:
    found = connection.execute(
        "select legal_plays(id, die1, die2), next_positions(id, die1, die2) from (select $1 as id, "
        "unnest($2::integer[]) as die1, unnest($3::integer[]) as die2, unnest(range(36)) as n) order by n",
        [START.id, *map(list, zip(*ORDERED_ROLLS, strict=True))],
    ).fetchall()
    for dice, (texts, following) in zip(ORDERED_ROLLS, found, strict=True):
        expected = legal_plays(START, roll_of(*dice))
        assert [entry["play"] for entry in texts] == [str(play) for play in expected]
        assert following == [play.next_position.id for play in expected]
    closed_out = Position([0, 0, 0, 0, 0, 0, 2, *[0] * 12, -2, -2, -2, -2, -2, -2, 1])
    assert plays(connection, closed_out.id, 6, 5) == (
        [{"play": "no play", "next_position_id": closed_out.flip().id}],
        [closed_out.flip().id],
    )


@each(
    ("position_id", "die1", "die2"),
    [
        (None, 3, 1),
        ("4HPwATDgc/ABM", 3, 1),
        (START.id, None, 1),
        (START.id, 3, None),
        (START.id, 0, 1),
        (START.id, 3, 7),
        (START.id, -1, 257),
    ],
)
def test_invalid_board_or_roll_has_no_plays(
    connection: Connection, position_id: str | None, die1: int | None, die2: int | None
) -> None:
    assert plays(connection, position_id, die1, die2) == (None, None)
