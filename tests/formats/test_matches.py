"""Missing parts of recorded matches, and records of other games than backgammon."""

import pytest

from bgdata.formats.matches import Game, Match, missing_parts
from tests.subtests import each

WON = (0, 1)  # by player 0, one point


def game(number: int, score: tuple[int, int], result: tuple[int | None, int | None] = WON) -> Game:
    return Game(number, score, winner=result[0], points=result[1], line=10 * number, result_line=10 * number + 5)


@each(
    ("games", "length", "expected"),
    [
        ([game(1, (0, 0)), game(2, (1, 0), (1, 2)), game(3, (1, 2), (0, 2))], 3, ["", "", ""]),
        ([game(1, (0, 0)), game(2, (0, 2), (1, 1))], 3, ["", "game 2 begins at 0-2, where game 1 ends at 1-0"]),
        (
            [game(1, (0, 0)), game(3, (1, 2), (1, 1))],
            3,
            ["", "game 2 is missing: game 3 begins at 1-2, and game 1 ends at 1-0"],
        ),
        (
            [game(1, (0, 0)), game(4, (1, 2), (1, 1))],
            3,
            ["", "games 2 to 3 are missing: game 4 begins at 1-2, and game 1 ends at 1-0"],
        ),
        ([game(1, (0, 1), (1, 2))], 3, ["game 1 begins at 0-1: games before it are missing"]),
        ([game(7, (0, 0), (1, 3))], 3, [""]),
        ([game(1, (0, 0))], 3, ["the record ends at 1-0, before anybody has 3 points"]),
        ([game(1, (0, 0), (None, None))], 3, ["game 1 has no result: the record ends in it"]),
        ([game(1, (0, 0), (0, None))], 3, ["game 1 has no result: the record ends in it"]),
        (
            [game(1, (0, 0), (None, None)), game(2, (1, 0), (0, 2))],
            3,
            ["", "game 1 has no result, and game 2 begins at 1-0"],
        ),
        ([game(1, (0, 0)), game(2, (0, 0))], 0, ["", ""]),
        ([game(1, (5, 3)), game(2, (6, 3))], 0, ["", ""]),
        ([game(1, (5, 3)), game(2, (5, 3))], 0, ["", "game 2 begins at 5-3, where game 1 ends at 6-3"]),
        ([], 3, []),
    ],
)
def test_missing_parts_of_a_match_are_listed(games: list[Game], length: int, expected: list[str]) -> None:
    notes_by_game = missing_parts(Match(("anna", "ben"), length, tuple(games)))
    assert ["; ".join(note.text for note in notes) for notes in notes_by_game] == expected


def test_missing_parts_name_their_lines() -> None:
    (notes,) = missing_parts(Match(("anna", "ben"), 3, (game(1, (1, 0)),)))
    assert [note.line for note in notes] == [10, 15]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("Variation", "NackGammon", "NackGammon"),
        ("variation", " HyperGammon (3) ", "HyperGammon (3)"),
        ("Variation", "Backgammon", None),
        ("Variation", "", None),
        ("Event", "Nackgammon", None),
    ],
)
def test_record_names_its_variation(name: str, value: str, expected: str | None) -> None:
    assert Match(("a", "b"), 0, info=((name, value),)).variation == expected
