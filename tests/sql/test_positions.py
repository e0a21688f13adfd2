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


def sql_results(connection: Connection, boards: list[Any]) -> list[tuple[Any, ...]]:
    """The results of FUNCTIONS in SQL, for each board in order."""
    columns = [column(connection, f"{name}(x)", "tinyint[]", boards) for name in FUNCTIONS]
    return list(zip(*columns, strict=True))


def python_results(position: Position) -> tuple[Any, ...]:
    """The expected results of FUNCTIONS."""
    name = position_class(position).name.lower().partition("_")[0]
    return list(position.flip().board), name, position.id


def test_positions_of_random_games_equal_python(connection: Connection) -> None:
    boards = games().boards.tolist()
    assert len(boards) > 9000
    expected = [python_results(position) for position in positions()]
    assert {name for _, name, _ in expected} == {"contact", "crashed", "race", "bearoff"}
    assert sql_results(connection, boards) == expected
    assert column(connection, "pip_count(x)", "tinyint[]", boards) == [position.pip_count for position in positions()]
    ids = [position.id for position in positions()]
    assert column(connection, "board(x)", "varchar", ids) == boards


def test_finished_positions_equal_python(connection: Connection) -> None:
    boards = [[0] * 26, [0, 1, *[0] * 24], [0] * 24 + [-15, 0], [*[0] * 25, 1]]
    expected = [python_results(Position(board)) for board in boards]
    assert {name for _, name, _ in expected} == {"over"}
    assert sql_results(connection, boards) == expected
    assert column(connection, "board(x)", "varchar", [Position([0] * 26).id]) == [[0] * 26]


BOTH_CLOSED: Board = [1, 2, 2, 2, 2, 2, 2, *[0] * 12, -2, -2, -2, -2, -2, -2, 1]
INVALID_BOARDS: list[Board | None] = [
    None, [], [None], [None] * 26, [*START.board[:25], None], [None, *START.board[1:]],
    list(START.board[:25]), [*START.board, 0],  # too short and too long
    [-1, *START.board[1:]], [*START.board[:25], -1],  # checkers on the other side's bar
    [16, *[0] * 25], [*[0] * 25, 16], [15, -1, *[0] * 24], [*[0] * 24, 1, 15], [127] * 26, [-128] * 26,
    BOTH_CLOSED,
]  # fmt: skip


def test_invalid_boards_give_null(connection: Connection) -> None:
    for name in FUNCTIONS:
        assert column(connection, f"{name}(x)", "tinyint[]", INVALID_BOARDS) == [None] * len(INVALID_BOARDS)
        assert column(connection, f"{name}(x)", "integer[]", [[1000, *START.board[1:]]]) == [None]
        (bare,) = connection.sql(f"select {name}(null)").fetchall()
        assert bare == (None,)
    assert column(connection, "pip_count(x)", "tinyint[]", [None, [], [None] * 26]) == [None] * 3


def test_corrupted_boards_equal_python(connection: Connection) -> None:
    chance = random.Random("boards")
    game_boards: list[Board] = games().boards.tolist()
    boards = [list(chance.choice(game_boards)) for _ in range(3000)]
    for board in boards:
        for _ in range(chance.randrange(1, 4)):
            board[chance.randrange(26)] = chance.choice([None, -16, -3, -1, 0, 0, 0, 0, 0, 1])

    def expected_results(board: Board) -> tuple[Any, ...]:
        counts = [count for count in board if count is not None]
        is_valid = len(counts) == 26 and not board_flaw(counts)
        return python_results(Position(counts)) if is_valid else (None, None, None)

    expected = [expected_results(board) for board in boards]
    assert 500 < expected.count((None, None, None)) < 2700
    assert sql_results(connection, boards) == expected


INVALID_IDS = [
    *(None, "", "4HPwATDgc/ABM", "4HPwATDgc/ABMAA", "4HPwATDgc/ABMB", "4HPwATDgc-ABMA", " 4HPwATDgc/ABM"),
    *("4HPwATDgc/ABMA\0", "4HPwATDgc/ABM\n", "4HPwATDgc/ABMä", "ä" * 7, "äääääääääääääA", "AAAAAAAAAAAAAg"),
    "//////////////",
]


def test_invalid_position_ids_give_null(connection: Connection) -> None:
    assert column(connection, "board(x)", "varchar", INVALID_IDS) == [None] * len(INVALID_IDS)
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


def sql_plays(connection: Connection, ids: list[str], dice: list[tuple[int, int]]) -> list[tuple[Any, Any]]:
    """The results of legal_plays and next_positions in SQL, for each Position ID and roll in order."""
    return connection.execute(
        "select legal_plays(id, die1, die2), next_positions(id, die1, die2) from (select unnest(?::varchar[]) as id, "
        "unnest(?::integer[]) as die1, unnest(?::integer[]) as die2, unnest(range(?)) as n) order by n",
        [ids, [die1 for die1, _ in dice], [die2 for _, die2 in dice], len(ids)],
    ).fetchall()


def test_plays_of_positions_of_random_games(connection: Connection) -> None:
    sample = random.Random("plays").sample(range(len(positions())), 400)
    ids = [positions()[row].id for row in sample]
    dice = [(int(games().rolls[row][0]), int(games().rolls[row][1])) for row in sample]
    expected = [expected_plays(Position(id_), *roll) for id_, roll in zip(ids, dice, strict=True)]
    assert sql_plays(connection, ids, dice) == expected


def expected_plays(position: Position, die1: int, die2: int) -> tuple[list[dict[str, str]], list[str]]:
    """The results of legal_plays and next_positions in Python."""
    plays = legal_plays(position, roll_of(die1, die2))
    next_ids = [play.next_position.id for play in plays]
    texts = [{"play": str(play), "next_position_id": next_id} for play, next_id in zip(plays, next_ids, strict=True)]
    return texts, next_ids


def test_plays_of_one_position(connection: Connection) -> None:
    expected = [expected_plays(START, die1, die2) for die1, die2 in ORDERED_ROLLS]
    assert sql_plays(connection, [START.id] * 36, list(ORDERED_ROLLS)) == expected
    closed_out = Position([0, 0, 0, 0, 0, 0, 2, *[0] * 12, -2, -2, -2, -2, -2, -2, 1])
    no_play = [{"play": "no play", "next_position_id": closed_out.flip().id}]
    assert sql_plays(connection, [closed_out.id], [(6, 5)]) == [(no_play, [closed_out.flip().id])]


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
    query = "select legal_plays($1, $2, $3), next_positions($1, $2, $3)"
    assert connection.execute(query, [position_id, die1, die2]).fetchall() == [(None, None)]
