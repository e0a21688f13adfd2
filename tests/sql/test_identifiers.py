"""Tests of SQL's identifiers and themes against Python, as plain macros and as vectorised functions."""

import functools
from typing import Any

import duckdb
import numpy as np
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from bgdata.errors import InvalidPositionError, InvalidRollError, InvalidScoreError
from bgdata.game.dice import roll_of
from bgdata.game.identifiers import format_xgid
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.match_state import MatchState, format_gnubg_id, format_match_id
from bgdata.game.position import START, Position
from bgdata.game.themes import NO_THEME, Theme, position_themes
from tests.random_games import GamePositions, random_game_positions
from tests.sql.test_positions import INVALID_BOARDS
from tests.subtests import each

Connection = duckdb.DuckDBPyConnection
few_examples = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
ARGUMENTS = (
    "die1 := $die1::integer, die2 := $die2::integer, cube_value := $cube_value::integer, "
    "cube_owner := $cube_owner::varchar"
)
SCORE = (
    "away := $away::integer, opponent_away := $opponent_away::integer, match_length := $match_length::integer, "
    "is_crawford := $is_crawford::boolean, is_jacoby := $is_jacoby::boolean"
)
MONEY = {
    "die1": None, "die2": None, "cube_value": 1, "cube_owner": "centered", "away": 0, "opponent_away": 0,
    "match_length": None, "is_crawford": False, "is_jacoby": False,
}  # fmt: skip


@functools.cache
def games() -> GamePositions:
    """Random games."""
    return random_game_positions(100, seed=11)


def values(connection: Connection, expression: str, boards: list[Any]) -> list[Any]:
    """Values of an expression of `x`, for each board in order."""
    rows = connection.execute(
        f"select {expression} from (select unnest(?::tinyint[][]) as x, unnest(range(?)) as n) order by n",
        [boards, len(boards)],
    ).fetchall()
    return [row[0] for row in rows]


def match_state(arguments: dict[str, Any]) -> MatchState | None:
    """The match of these arguments in Python, None where there is none."""
    die1, die2 = arguments["die1"], arguments["die2"]
    away, opponent_away, length = arguments["away"], arguments["opponent_away"], arguments["match_length"]
    is_match = bool(away or opponent_away or length)
    if (die1 is None) != (die2 is None):
        return None
    if arguments["is_jacoby" if is_match else "is_crawford"]:
        return None
    try:
        roll = None if die1 is None else roll_of(die1, die2)
        match = MatchScore(away, opponent_away, arguments["is_crawford"]) if is_match else Money(arguments["is_jacoby"])
        stakes = Stakes(match, Cube(arguments["cube_value"], CubeOwner(arguments["cube_owner"])))
        return MatchState.from_stakes(stakes, roll=roll, length=length)
    except (InvalidRollError, InvalidScoreError, ValueError):
        return None


def python_ids(position: Position, match: MatchState) -> tuple[str, str | None, str | None]:
    """XGID, gnubg ID and Match ID; None for a match that has none."""
    try:
        return format_xgid(position, match), format_gnubg_id(position, match), format_match_id(match)
    except InvalidScoreError:  # beyond the widths of a Match ID
        return format_xgid(position, match), None, None


def open_gammon_id(position: Position, arguments: dict[str, Any]) -> str:
    """The OpenGammon ID, computed as simply as possible; the player on roll is black."""
    letters = "0123456789abcdefghijklmnop"
    black = "".join(letters[point] * max(position.board[point], 0) for point in range(1, 26))
    white = letters[0] * position.board[0]
    white += "".join(letters[point] * max(-position.board[point], 0) for point in range(1, 25))
    owner = {"centered": "N", "on_roll": "B", "opponent": "W"}[arguments["cube_owner"]]
    parts = [white, black, f"{owner}{arguments['cube_value'].bit_length() - 1}N"]
    if arguments["die1"]:
        parts.append("".join(map(str, sorted((arguments["die1"], arguments["die2"]), reverse=True))))
    return ":".join(parts)


small_numbers = st.integers(0, 6)
dice = st.one_of(st.none(), st.integers(0, 7))
scores = st.fixed_dictionaries({
    "die1": dice, "die2": dice,
    "cube_value": st.sampled_from([0, 1, 2, 3, 4, 64, 512, 1024, 32768, 65536, 1 << 30]),
    "cube_owner": st.sampled_from(["centered", "on_roll", "opponent", "nobody"]),
    "away": small_numbers, "opponent_away": small_numbers,
    "match_length": st.one_of(st.none(), small_numbers, st.sampled_from([7, 64, 65])),
    "is_crawford": st.booleans(), "is_jacoby": st.booleans(),
})  # fmt: skip
sensible_arguments = st.fixed_dictionaries({
    "die1": st.none() | st.integers(1, 6), "die2": st.integers(1, 6),
    "cube_value": st.sampled_from([2, 4, 8, 1024]), "cube_owner": st.sampled_from(["on_roll", "opponent"]),
    "away": st.integers(1, 11), "opponent_away": st.integers(1, 11),
    "match_length": st.sampled_from([None, 11, 13, 64, 65]), "is_crawford": st.just(False), "is_jacoby": st.just(False),
}).map(lambda arguments: arguments | {"die2": arguments["die2"] if arguments["die1"] else None})  # fmt: skip


@few_examples
@given(row=st.integers(0, 3000), arguments=scores | sensible_arguments)
@example(row=0, arguments=MONEY)
@example(row=0, arguments=MONEY | {"is_jacoby": True})
@example(row=0, arguments=MONEY | {"away": 1, "opponent_away": 4, "is_crawford": True, "match_length": 5})
@example(row=0, arguments=MONEY | {"away": 1, "opponent_away": 1, "is_crawford": True})
@example(row=0, arguments=MONEY | {"away": 3, "opponent_away": 4, "cube_value": 2})
@example(row=0, arguments=MONEY | {"match_length": 5})
@example(row=0, arguments=MONEY | {"is_crawford": True})
def test_identifiers_of_any_match_equal_python(connection: Connection, row: int, arguments: dict[str, Any]) -> None:
    """SQL writes the identifiers of Python, and null where Python raises an error."""
    position = Position(games().boards[row].tolist())
    identifiers = connection.execute(
        f"select xgid($board::tinyint[], {ARGUMENTS}, {SCORE}), gnubg_id($board::tinyint[], {ARGUMENTS}, {SCORE}), "
        f"match_id({ARGUMENTS}, {SCORE})",
        {**arguments, "board": list(position.board)},
    ).fetchone()
    match = match_state(arguments)
    assert identifiers == (python_ids(position, match) if match else (None, None, None))


@few_examples
@given(row=st.integers(0, 3000), arguments=scores | sensible_arguments)
def test_opengammon_ids_hold_any_cube(connection: Connection, row: int, arguments: dict[str, Any]) -> None:
    """Only cubes up to 512 can be written."""
    position = Position(games().boards[row].tolist())
    dice_and_cube = {name: arguments[name] for name in ("die1", "die2", "cube_value", "cube_owner")}
    (identifier,) = connection.execute(
        f"select ogid($board::tinyint[], {ARGUMENTS})", {**dice_and_cube, "board": list(position.board)}
    ).fetchall()[0]
    if match_state(MONEY | dice_and_cube) is None or arguments["cube_value"] > 512:
        assert identifier is None
    else:
        assert identifier == open_gammon_id(position, arguments)


def test_identifiers_of_the_start(connection: Connection) -> None:
    query = "select xgid($1), gnubg_id($1), ogid($1), ogid($1, 3, 1)"
    assert connection.execute(query, [list(START.board)]).fetchone() == (
        "XGID=-b----E-C---eE---c-e----B-:0:0:1:00:0:0:0:0:10",
        "4HPwATDgc/ABMA:cAkAAAAAAAAE",
        "11ccccchhhjjjjj:66666888dddddoo:N0N",
        "11ccccchhhjjjjj:66666888dddddoo:N0N:31",
    )


def test_identifiers_of_random_games_equal_python(connection: Connection) -> None:
    boards = games().boards.tolist()
    assert len(boards) > 9000
    positions = list(map(Position, boards))
    assert values(connection, "xgid(x)", boards) == [format_xgid(position, MatchState()) for position in positions]
    expected = [format_gnubg_id(position, MatchState()) for position in positions]
    assert values(connection, "gnubg_id(x)", boards) == expected
    assert values(connection, "ogid(x)", boards) == [open_gammon_id(position, MONEY) for position in positions]


def theme_labels(boards: NDArray[np.int8]) -> list[str | None]:
    """The theme of each board in Python, None without one."""
    return [None if theme == NO_THEME else Theme(theme).label for theme in position_themes(boards).tolist()]


def test_themes_of_random_games_equal_python(connection: Connection) -> None:
    expected = theme_labels(games().boards)
    assert len(set(expected)) > 10
    assert values(connection, "theme(x)", games().boards.tolist()) == expected


counts = st.lists(st.integers(-4, 5), min_size=24, max_size=24)


@settings(few_examples, max_examples=300)
@given(points=counts, bars=st.tuples(st.integers(0, 2), st.integers(0, 2)), most=st.integers(0, 15))
@example(points=[0] * 24, bars=(0, 0), most=0)
@example(points=[0, 0, 2, 2, 2, 2, *[0] * 11, 2, 2, 2, 2, 2, -2, -2], bars=(0, 0), most=15)
def test_themes_of_any_board_equal_python(
    connection: Connection, points: list[int], bars: tuple[int, int], most: int
) -> None:
    """Themes of boards that are rare in games equal those of Python. A side has at most `most` checkers; others are
    taken away."""
    board = [bars[0], *points, bars[1]]
    free = {1: most - bars[1], -1: most - bars[0]}  # checkers that may still be placed, by side
    for point in range(1, 25):
        side = 1 if board[point] > 0 else -1
        checkers = max(0, min(abs(board[point]), free[side]))
        board[point] = side * checkers
        free[side] -= checkers
    try:
        expected = theme_labels(np.array([Position(board).board], np.int8))
    except InvalidPositionError:
        expected = [None]
    assert values(connection, "theme(x)", [board]) == expected


@each("name", ["xgid", "gnubg_id", "ogid", "theme"])
def test_invalid_boards_give_null(connection: Connection, name: str) -> None:
    assert values(connection, f"{name}(x)", INVALID_BOARDS) == [None] * len(INVALID_BOARDS)
    assert connection.sql(f"select {name}(null)").fetchall() == [(None,)]


@each(
    "arguments",
    {
        "one die": "die1 := 3",
        "a die of 7": "die1 := 7, die2 := 1",
        "a cube of 3": "cube_value := 3, cube_owner := 'on_roll'",
        "a null cube": "cube_value := null",
        "an owner of a cube of 1": "cube_owner := 'on_roll'",
        "another word": "cube_owner := 'white'",
        "a null owner": "cube_owner := null",
    },
)
def test_impossible_dice_and_cubes_give_null(connection: Connection, arguments: str) -> None:
    for name in ("xgid", "gnubg_id", "ogid"):
        assert connection.execute(f"select {name}($1, {arguments})", [list(START.board)]).fetchone() == (None,), name
