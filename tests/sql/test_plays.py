"""Tests of legal plays in plain SQL, against the reference of the rules and texts of Python."""

import functools
from collections.abc import Iterator

import duckdb
import pytest

from bgdata.game.dice import ROLLS
from bgdata.game.plays import legal_plays
from bgdata.game.position import START, Position
from bgdata.kinds import all_kinds
from tests.random_games import random_game_positions
from tests.reference.plays import boards_after
from tests.subtests import each

Board = list[int]
RULES = {  # checkers by slot of the board: 0 the opponent's bar, 25 the own one
    "only one die, the higher": {13: 1, 7: 0, 2: -2, 5: 1, 4: -2, 24: -1},
    "both on the bar": {25: 2, 0: 1, 6: 3, 20: -2, 24: -1, 18: -2},
    "bar and a blot to hit": {25: 1, 22: -1, 13: 2, 1: -2},
    "entering one of two": {25: 2, 20: -2, 21: -1, 8: 3},
    "closed out": {25: 1, **dict.fromkeys(range(19, 25), -2), 6: 2},
    "bearing off": {6: 3, 5: 2, 4: 1, 1: 1, 24: -2},
    "bearing off from the highest": {4: 2, 2: 1, 24: -1},
    "bearing off past a blot": {3: 1, 2: -1, 1: 0, 24: -3},
    "one checker left": {2: 1, 24: -15},
    "one checker outside": {7: 1, 5: 4, 1: 2, 23: -2},
    "a wall": {24: 2, 13: 1, **dict.fromkeys(range(17, 23), -2)},
    "blots everywhere": {24: 1, 23: -1, 21: -1, 19: -1, 17: -1, 12: 1, 11: -1, 9: -1, 7: -1, 6: 1},
}
FINISHED = ([0] * 26, [0, 3, *[0] * 24], [*[0] * 24, -3, 0])


@functools.cache
def random_boards() -> list[Board]:
    """About a hundred positions of random games."""
    boards: list[Board] = random_game_positions(60, seed=31).boards.tolist()[::58]
    assert len(boards) > 95
    return boards


def board_of(checkers: dict[int, int]) -> Board:
    """The board with these numbers of checkers by slot."""
    return [checkers.get(slot, 0) for slot in range(26)]


@pytest.fixture(scope="module")
def macros() -> Iterator[duckdb.DuckDBPyConnection]:
    """A client with only the macros."""
    with duckdb.connect() as connection:
        connection.execute("set threads = 1")
        all_kinds().sql.run(connection, "macros")
        yield connection


def sql_plays(
    connection: duckdb.DuckDBPyConnection, boards: list[Board]
) -> dict[tuple[str, int, int], list[tuple[str, str]]]:
    """(play, next Position ID) of every legal play of all rolls, by Position ID and roll."""
    ids = sorted({Position(board).id for board in boards})
    rows = connection.execute(
        "select id, high, low, list_transform(legal_plays(id, high, low), lambda legal: [legal.play, "
        "legal.next_position_id]) from (select unnest(?::varchar[]) as id), range(1, 7) as a(high), "
        "range(1, 7) as b(low) where high >= low",
        [ids],
    ).fetchall()
    assert len(rows) == len(ROLLS) * len(ids)
    return {(id_, high, low): [(text, next_id) for text, next_id in plays] for id_, high, low, plays in rows}


def compared_boards() -> dict[str, list[Board]]:
    """Boards by kind."""
    return {
        "random games": random_boards(),
        "difficult rules": [board_of(checkers) for checkers in RULES.values()],
        "finished games": list(FINISHED),
    }


@pytest.mark.slow
@each("boards", compared_boards)
def test_plays_of_all_rolls_match_the_reference(macros: duckdb.DuckDBPyConnection, boards: list[Board]) -> None:
    for (id_, high, low), plays in sql_plays(macros, boards).items():
        position = Position(id_)
        expected_ids = {Position(board).flip().id for board in boards_after(position.board, high, low)}
        assert {next_id for _, next_id in plays} == expected_ids, (id_, high, low)
        assert len(plays) == len(expected_ids)
        assert [text for text, _ in plays] == [str(play) for play in legal_plays(position, f"{high}{low}")]


def test_compared_positions_include_the_difficult_rules(macros: duckdb.DuckDBPyConnection) -> None:
    plays = sql_plays(macros, [board_of(checkers) for checkers in RULES.values()])
    texts = {text for plays_of_roll in plays.values() for text, _ in plays_of_roll}
    assert "no play" in texts
    assert "bar/22*" in texts or "bar/19" in texts
    for part in ("(2)", "*/", "off"):
        assert any(part in text for text in texts)
    assert any(text.count("*") > 1 for text in texts)


def test_higher_die_must_be_played_if_only_one_can_be(macros: duckdb.DuckDBPyConnection) -> None:
    position = Position(board_of({24: 1, 13: -2, 1: -1}))
    ((text, _),) = sql_plays(macros, [list(position.board)])[position.id, 6, 5]
    assert text == "24/18"  # not 24/19


@each("roll", [(None, 1), (1, None), (0, 1), (7, 1), (-1, 2)])
def test_invalid_roll_is_null(macros: duckdb.DuckDBPyConnection, roll: tuple[int | None, int | None]) -> None:
    query = "select legal_plays(?, ?::integer, ?::integer)"
    assert macros.execute(query, [START.id, *roll]).fetchall() == [(None,)]


@each("position_id", [None, "", "4HPwATDgc/ABM", "4HPwATDgc/ABMA=", "//////////////", "start"])
def test_invalid_id_is_null(macros: duckdb.DuckDBPyConnection, position_id: str | None) -> None:
    query = "select legal_plays(?::varchar, 3, 1), next_positions(?::varchar, 3, 1), play_text(?::varchar, 3, 1, 'x')"
    assert macros.execute(query, [position_id] * 3).fetchall() == [(None, None, None)]


def test_text_of_a_play(macros: duckdb.DuckDBPyConnection) -> None:
    query = "select play_text(?, 1, 3, ?)"
    for play in legal_plays(START, "31"):
        assert macros.execute(query, [START.id, play.next_position.id]).fetchall() == [(str(play),)]
    assert macros.execute(query, [START.id, START.id]).fetchall() == [(None,)]
