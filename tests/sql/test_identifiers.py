"""Tests of SQL's identifiers and themes against Python, as plain macros and as vectorised functions."""

import functools
from typing import Any

import duckdb
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bgdata.errors import InvalidPositionError, InvalidRollError, InvalidScoreError
from bgdata.game.dice import roll_of
from bgdata.game.identifiers import format_xgid
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.match_state import MatchState, format_gnubg_id, format_match_id
from bgdata.game.position import START, Position
from bgdata.game.themes import NO_THEME, Theme, position_themes
from tests.random_games import GamePositions, random_game_positions
from tests.sql.test_positions import NO_BOARDS
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


def state(given: dict[str, Any]) -> MatchState | None:
    """The match of these arguments in Python, None where there is none."""
    if (given["die1"] is None) != (given["die2"] is None):
        return None
    try:
        roll = None if given["die1"] is None else roll_of(given["die1"], given["die2"])
        is_match = given["away"] or given["opponent_away"] or given["match_length"]
        if (is_match and given["is_jacoby"]) or (not is_match and given["is_crawford"]):
            return None
        score = (
            MatchScore(given["away"], given["opponent_away"], given["is_crawford"])
            if is_match
            else Money(given["is_jacoby"])
        )
        stakes = Stakes(score, Cube(given["cube_value"], CubeOwner(given["cube_owner"])))
        return MatchState.from_stakes(stakes, roll=roll, length=given["match_length"])
    except (InvalidRollError, InvalidScoreError, ValueError):
        return None


def python_ids(position: Position, match: MatchState) -> tuple[str, str | None, str | None]:
    """XGID, gnubg ID and Match ID; None for a match that has none."""
    try:
        return format_xgid(position, match), format_gnubg_id(position, match), format_match_id(match)
    except InvalidScoreError:  # beyond the widths of a Match ID
        return format_xgid(position, match), None, None


def open_gammon_id(position: Position, given: dict[str, Any]) -> str:
    """The OpenGammon ID, computed as simply as possible; the player on roll is black."""
    letters = "0123456789abcdefghijklmnop"
    own = "".join(letters[point] * max(position.board[point], 0) for point in range(1, 26))
    other = letters[0] * position.board[0]
    other += "".join(letters[point] * max(-position.board[point], 0) for point in range(1, 25))
    owner = {"centered": "N", "on_roll": "B", "opponent": "W"}[given["cube_owner"]]
    cube = f"{owner}{given['cube_value'].bit_length() - 1}N"
    dice = sorted((given["die1"], given["die2"]), reverse=True) if given["die1"] else []
    return ":".join([other, own, cube, *["".join(map(str, dice))] * bool(dice)])


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
}).map(lambda given: given | {"die2": given["die2"] if given["die1"] else None})  # fmt: skip


@few_examples
@given(row=st.integers(0, 3000), given_=scores | sensible_arguments)
@example(row=0, given_=MONEY)
@example(row=0, given_=MONEY | {"is_jacoby": True})
@example(row=0, given_=MONEY | {"away": 1, "opponent_away": 4, "is_crawford": True, "match_length": 5})
@example(row=0, given_=MONEY | {"away": 1, "opponent_away": 1, "is_crawford": True})
@example(row=0, given_=MONEY | {"away": 3, "opponent_away": 4, "cube_value": 2})
@example(row=0, given_=MONEY | {"match_length": 5})
@example(row=0, given_=MONEY | {"is_crawford": True})
def test_identifiers_of_any_match_equal_python(connection: Connection, row: int, given_: dict[str, Any]) -> None:
    """SQL writes the identifiers of Python, and null where Python raises an error."""
    position = Position(games().boards[row].tolist())
    (found,) = connection.execute(
        f"select xgid($board::tinyint[], {ARGUMENTS}, {SCORE}), gnubg_id($board::tinyint[], {ARGUMENTS}, {SCORE}), "
        f"match_id({ARGUMENTS}, {SCORE})",
        {**given_, "board": list(position.board)},
    ).fetchall()
    match = state(given_)
    assert found == (python_ids(position, match) if match else (None, None, None))


@few_examples
@given(row=st.integers(0, 3000), given_=scores | sensible_arguments)
def test_opengammon_ids_hold_any_cube(connection: Connection, row: int, given_: dict[str, Any]) -> None:
    given_ = given_ | {
        name: MONEY[name] for name in ("away", "opponent_away", "match_length", "is_crawford", "is_jacoby")
    }
    position = Position(games().boards[row].tolist())
    wanted = {name: given_[name] for name in ("die1", "die2", "cube_value", "cube_owner")}
    (found,) = connection.execute(
        f"select ogid($board::tinyint[], {ARGUMENTS})", {**wanted, "board": list(position.board)}
    ).fetchall()
    is_written = state(given_) is not None and given_["cube_value"] <= 512
    assert found == (open_gammon_id(position, given_) if is_written else None,)


def test_identifiers_of_the_start(connection: Connection) -> None:
    """Identifiers of the start are those that other programs write."""
    found = connection.execute(
        "select xgid($1), gnubg_id($1), ogid($1), ogid($1, 3, 1)", [list(START.board)]
    ).fetchone()
    assert found == (
        "XGID=-b----E-C---eE---c-e----B-:0:0:1:00:0:0:0:0:10",
        "4HPwATDgc/ABMA:cAkAAAAAAAAE",
        "11ccccchhhjjjjj:66666888dddddoo:N0N",
        "11ccccchhhjjjjj:66666888dddddoo:N0N:31",
    )


def test_identifiers_of_random_games_equal_python(connection: Connection) -> None:
    boards = games().boards.tolist()
    assert len(boards) > 9000
    match = MatchState()
    expected = [
        (format_xgid(position, match), format_gnubg_id(position, match), open_gammon_id(position, MONEY))
        for position in map(Position, boards)
    ]
    found = [values(connection, f"{name}(x)", boards) for name in ("xgid", "gnubg_id", "ogid")]
    assert list(zip(*found, strict=True)) == expected


def test_themes_of_random_games_equal_python(connection: Connection) -> None:
    boards = games().boards.tolist()
    expected = [None if each == NO_THEME else Theme(each).label for each in position_themes(games().boards).tolist()]
    assert values(connection, "theme(x)", boards) == expected
    assert len({*expected}) > 10


counts = st.lists(st.integers(-4, 5), min_size=24, max_size=24)


@settings(few_examples, max_examples=300)
@given(points=counts, bars=st.tuples(st.integers(0, 2), st.integers(0, 2)), kept=st.integers(0, 15))
@example(points=[0] * 24, bars=(0, 0), kept=0)
@example(points=[0, 0, 2, 2, 2, 2, *[0] * 11, 2, 2, 2, 2, 2, -2, -2], bars=(0, 0), kept=15)
def test_themes_of_any_board_equal_python(
    connection: Connection, points: list[int], bars: tuple[int, int], kept: int
) -> None:
    """Themes of random boards, which are rarer than in random games, equal those of Python. Checkers beyond `kept` on a
    side are taken away."""
    board, left = [bars[0], *points, bars[1]], [kept - bars[1], kept - bars[0]]
    for point in range(1, 25):
        side = 0 if board[point] > 0 else 1
        checkers = max(0, min(abs(board[point]), left[side]))
        board[point], left[side] = (checkers if side == 0 else -checkers), left[side] - checkers
    try:
        boards = Position(board).board
    except InvalidPositionError:
        assert values(connection, "theme(x)", [board]) == [None]
        return
    import numpy as np

    (number,) = position_themes(np.array([boards], np.int8)).tolist()
    assert values(connection, "theme(x)", [board]) == [None if number == NO_THEME else Theme(number).label]


@each("name", ["xgid", "gnubg_id", "ogid", "theme"])
def test_lists_that_are_no_boards_give_null(connection: Connection, name: str) -> None:
    assert values(connection, f"{name}(x)", NO_BOARDS) == [None] * len(NO_BOARDS)
    (bare,) = connection.sql(f"select {name}(null)").fetchall()
    assert bare == (None,)


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
