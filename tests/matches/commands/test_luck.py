"""Tests of `bgdata luck`: recorded matches turn by turn, and errors."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import error_of, output_of, run
from tests.formats.sessions import MAT

WHOLE_GAME = """\
 1 point match

 Game 1
 left : 0                   right : 0
  1) 31: 8/5 6/5                 65: 24/18 18/13
      Wins 1 point and the match
"""


def write_record(root: Path, name: str, text: str) -> Path:
    """Write a match file into a folder; returns its path."""
    path = root / name
    path.write_text(text.replace("$", ""))
    return path


def luck_rows(root: Path, *arguments: str | Path) -> list[dict[str, Any]]:
    """The rows that `bgdata luck` prints as JSON."""
    rows: list[dict[str, Any]] = json.loads(output_of(root, "luck", *arguments, "--format", "json"))
    return rows


def test_luck_and_skill_of_turns_sum_to_games(tmp_path: Path) -> None:
    path = write_record(tmp_path, "session.mat", MAT)
    turns = luck_rows(tmp_path, path)
    games = luck_rows(tmp_path, path, "--by-game")
    assert [row["game_number"] for row in games] == list(range(1, 9))
    assert [row["result"] for row in games] == [2, -1, -1, 1, 1, -1, 1, -3]  # points per unit of the last cube
    assert sum(row["turns"] for row in games) == len(turns)
    for game in games:
        turns_of_game = [row for row in turns if row["game_number"] == game["game_number"]]
        for player in (0, 1):
            luck = [row["luck"] for row in turns_of_game if row["player"] == game[f"player_{player}"]]
            assert game[f"luck_{player}"] == pytest.approx(sum(luck))
        assert game["net_luck"] == pytest.approx(game["luck_0"] - game["luck_1"])
        assert game["luck_adjusted"] == pytest.approx(game["result"] - game["net_luck"])
        assert game["result"] == pytest.approx(game["net_luck"] + game["net_skill"] + game["net_drift"])
        assert turns_of_game[0]["equity_before"] == 0
    assert max(row["skill"] for row in turns) == 0
    assert min(row["skill"] for row in turns) < 0


def test_csv_and_text_have_the_values_of_json(tmp_path: Path) -> None:
    path = write_record(tmp_path, "session.mat", MAT)
    turns = luck_rows(tmp_path, path)
    games = luck_rows(tmp_path, path, "--by-game")
    sheet = csv.DictReader(output_of(tmp_path, "luck", path, "--format", "csv").splitlines())
    assert [row["luck"] for row in sheet] == [str(row["luck"]) for row in turns]
    text = output_of(tmp_path, "luck", path)
    assert re.search(r"^   1  root +21  24/23 13/11 +\+0\.000 ", text, re.MULTILINE)
    assert re.search(r"^mean +-0\.125", text, re.MULTILINE)
    assert "cube actions are not valued" in text
    figures_of_games = re.findall(r"^ +\d+ +\d+ +\d+((?: +[+-]\d\.\d{3}){5})$", text, re.MULTILINE)
    luck_adjusted = [float(figures.split()[-1]) for figures in figures_of_games]
    assert luck_adjusted == pytest.approx([game["luck_adjusted"] for game in games], abs=6e-4)
    assert text.endswith(output_of(tmp_path, "luck", path, "--by-game"))


UNFINISHED_GAME = WHOLE_GAME.partition("      Wins")[0]
AUTOMATIC = (
    "(;FF[4]GM[6]CA[UTF-8]MI[length:0][game:0][ws:0][bs:0]PW[Al]PB[Bo]RU[Jacoby]RE[W+4R]CV[2]"
    ";W[31hefe];B[51lqst];W[double];B[take])\n"
)


def test_import_gives_the_rows_of_its_file(tmp_path: Path) -> None:
    """A file and its import give the same row, here of a game with an automatic double."""
    path = write_record(tmp_path, "automatic.sgf", AUTOMATIC)
    (game,) = luck_rows(tmp_path, path, "--by-game")
    assert (game["cube_value"], game["result"]) == (4, 1)
    output_of(tmp_path / "warehouse", "import", "matches", path)
    assert luck_rows(tmp_path / "warehouse", "matches/automatic", "--by-game") == [game]


ANSWERED_DOUBLE = """\
 0 point match

 Game 1
 Al : 0                         Bo : 0
  1) 31: 8/5 6/5                 52: 13/8 24/22
  2)  Doubles => 2                {}
      Wins {} points
"""


@pytest.mark.parametrize(("answer", "points", "cube_value"), [("Takes", 2, 2), ("Beavers => 4", 8, 4)])
def test_record_may_end_with_an_answer(tmp_path: Path, answer: str, points: int, cube_value: int) -> None:
    """If a record ends with an answer to a double, the final cube is the one after the answer."""
    path = write_record(tmp_path, "answered.mat", ANSWERED_DOUBLE.format(answer, points))
    (game,) = luck_rows(tmp_path, path, "--by-game")
    assert (game["cube_value"], game["result"]) == (cube_value, points / cube_value)


def test_unfinished_game_has_no_result(tmp_path: Path) -> None:
    path = write_record(tmp_path, "cut.mat", UNFINISHED_GAME)
    (game,) = luck_rows(tmp_path, path, "--by-game")
    assert (game["result"], game["luck_adjusted"], game["net_drift"]) == (None, None, None)
    assert game["luck_0"] > 0
    assert re.search(r"^ +1 +2 +1 +- .* - +-$", output_of(tmp_path, "luck", path, "--by-game"), re.MULTILINE)


@pytest.mark.parametrize(
    ("player", "code", "message"),
    [
        ("pubeval", 2, "expected a player that evaluates positions, got pubeval, which only chooses plays"),
        ("nobody", 2, "expected a player among random, "),
        ("network/none", 1, "no network/none in "),
    ],
)
def test_invalid_players_are_refused(tmp_path: Path, player: str, code: int, message: str) -> None:
    path = write_record(tmp_path, "whole.mat", WHOLE_GAME)
    assert error_of(run(tmp_path, "luck", path, "--player", player), code).startswith(message)


def test_looking_ahead_changes_the_values(tmp_path: Path) -> None:
    path = write_record(tmp_path, "whole.mat", WHOLE_GAME)
    at_0_ply = luck_rows(tmp_path, path, "--ply", "0")[1]["luck"]
    at_1_ply = luck_rows(tmp_path, path, "--ply", "1")[1]["luck"]
    assert at_0_ply != at_1_ply
    assert at_0_ply == pytest.approx(at_1_ply, abs=0.2)


def test_picture_is_reproducible(tmp_path: Path) -> None:
    path = write_record(tmp_path, "session.mat", MAT)
    pictures = [tmp_path / "one.png", tmp_path / "two.png"]
    for picture in pictures:
        output_of(tmp_path, "luck", path, "--by-game", "--plot", picture)
    assert pictures[0].read_bytes().startswith(b"\x89PNG")
    assert pictures[0].read_bytes() == pictures[1].read_bytes()


def test_picture_of_an_unfinished_game_is_drawn(tmp_path: Path) -> None:
    path = write_record(tmp_path, "cut.mat", UNFINISHED_GAME)
    output_of(tmp_path, "luck", path, "--plot", tmp_path / "cut.png")
    assert (tmp_path / "cut.png").read_bytes().startswith(b"\x89PNG")


def test_each_match_of_a_file_has_its_own_players(tmp_path: Path) -> None:
    two_matches = WHOLE_GAME + WHOLE_GAME.replace("left", "Cid ").replace("right", "Ann  ")
    path = write_record(tmp_path, "two.mat", two_matches)
    games = luck_rows(tmp_path, path, "--by-game")
    assert [(row["match"], row["player_0"], row["player_1"]) for row in games] == [
        (0, "left", "right"),
        (1, "Cid", "Ann"),
    ]
    turns = luck_rows(tmp_path, path)
    assert [row["player"] for row in turns] == ["left", "right", "Cid", "Ann"]
    assert [row["match"] for row in turns] == [0, 0, 1, 1]
    text = output_of(tmp_path, "luck", path, "--by-game")
    assert re.findall("match .*", text) == ["match 1 of 2: left against right", "match 2 of 2: Cid against Ann"]
    assert re.findall(r"^(\S+): 1 rolls", text, re.MULTILINE) == ["left", "right", "Cid", "Ann"]
    result = run(tmp_path, "luck", path, "--plot", tmp_path / "x.svg")
    assert error_of(result, 2) == "expected one match with --plot, got 2"
