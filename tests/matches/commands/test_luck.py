"""Tests of `bgdata luck`: recorded matches turn by turn, and errors."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from tests.command_line import error_of, output_of, run
from tests.formats.sessions import MAT, SGF

WHOLE_GAME = """\
 1 point match

 Game 1
 left : 0                   right : 0
  1) 31: 8/5 6/5                 65: 24/18 18/13
      Wins 1 point and the match
"""


@pytest.fixture
def root(memory_path: Path) -> Path:
    return memory_path


def file(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.write_text(text.replace("$", ""))
    return path


def test_luck_and_skill_of_turns_sum_to_games(root: Path) -> None:
    """Luck and skill of turns sum to those of games, in a session with cubes, beavers and resignations."""
    path = file(root, "session.mat", MAT)
    turns = json.loads(output_of(root, "luck", path, "--format", "json"))
    games = json.loads(output_of(root, "luck", path, "--by-game", "--format", "json"))
    assert [row["game_number"] for row in games] == list(range(1, 9))
    assert [row["result"] for row in games] == [2, -1, -1, 1, 1, -1, 1, -3]  # points per unit of the last cube
    assert sum(row["turns"] for row in games) == len(turns)
    for game in games:
        own = [row for row in turns if row["game_number"] == game["game_number"]]
        lucks = [sum(row["luck"] for row in own if row["player"] == game[f"player_{side}"]) for side in (0, 1)]
        assert [game["luck_0"], game["luck_1"]] == pytest.approx(lucks)
        assert game["net_luck"] == pytest.approx(lucks[0] - lucks[1])
        assert game["luck_adjusted"] == pytest.approx(game["result"] - game["net_luck"])
        assert game["result"] == pytest.approx(game["net_luck"] + game["net_skill"] + game["net_drift"])
        assert own[0]["equity_before"] == 0
    assert all(row["skill"] <= 0 for row in turns)
    assert any(row["skill"] < 0 for row in turns)


def test_csv_and_text_have_the_values_of_json(root: Path) -> None:
    """Text and CSV have the luck and the results that JSON has."""
    path = file(root, "session.mat", MAT)
    turns = json.loads(output_of(root, "luck", path, "--format", "json"))
    games = json.loads(output_of(root, "luck", path, "--by-game", "--format", "json"))
    shown = csv.DictReader(output_of(root, "luck", path, "--format", "csv").splitlines())
    assert [row["luck"] for row in shown] == [str(row["luck"]) for row in turns]
    table = output_of(root, "luck", path)
    assert re.search(r"^   1  root +21  24/23 13/11 +\+0\.000 ", table, re.MULTILINE)
    assert re.search(r"^mean +-0\.125", table, re.MULTILINE)
    assert "cube actions are not valued" in table
    rows = re.findall(r"^ +\d+ +\d+ +\d+((?: +[+-]\d\.\d{3}){5})$", table, re.MULTILINE)
    assert [float(row.split()[-1]) for row in rows] == pytest.approx(
        [game["luck_adjusted"] for game in games], abs=6e-4
    )
    assert table.endswith(output_of(root, "luck", path, "--by-game"))


def test_files_and_imports_give_the_same_rows(root: Path) -> None:
    mat = file(root, "session.mat", MAT)
    sgf = root / "session.sgf"
    sgf.write_text(SGF)
    options = ("--by-game", "--format", "json")
    expected = json.loads(output_of(root, "luck", mat, *options))
    assert json.loads(output_of(root, "luck", sgf, *options)) == expected
    warehouse = root / "warehouse"
    output_of(warehouse, "import", "matches", mat)
    assert json.loads(output_of(warehouse, "luck", "matches/session", *options)) == expected


AUTOMATIC = (
    "(;FF[4]GM[6]CA[UTF-8]MI[length:0][game:0][ws:0][bs:0]PW[Al]PB[Bo]RU[Jacoby]RE[W+4R]CV[2]"
    ";W[31hefe];B[51lqst];W[double];B[take])\n"
)


def test_automatic_doubles_survive_the_import(root: Path) -> None:
    path = file(root, "automatic.sgf", AUTOMATIC)
    warehouse = root / "automatic"
    options = ("--by-game", "--format", "json")
    (game,) = json.loads(output_of(root, "luck", path, *options))
    assert (game["cube_value"], game["result"]) == (4, 1)
    output_of(warehouse, "import", "matches", path)
    assert json.loads(output_of(warehouse, "luck", "matches/automatic", *options)) == [game]


ANSWERED_DOUBLE = """\
 0 point match

 Game 1
 Al : 0                         Bo : 0
  1) 31: 8/5 6/5                 52: 13/8 24/22
  2)  Doubles => 2                {}
      Wins {} points
"""


@pytest.mark.parametrize(("answer", "points", "cube_value"), [("Takes", 2, 2), ("Beavers => 4", 8, 4)])
def test_record_may_end_with_an_answer(root: Path, answer: str, points: int, cube_value: int) -> None:
    """If a record ends with an answer to a double, the final cube is the one after the answer."""
    path = file(root, "answered.mat", ANSWERED_DOUBLE.format(answer, points))
    (game,) = json.loads(output_of(root, "luck", path, "--by-game", "--format", "json"))
    assert (game["cube_value"], game["result"]) == (cube_value, points / cube_value)


def test_unfinished_game_has_no_result(root: Path) -> None:
    path = file(root, "cut.mat", WHOLE_GAME.partition("      Wins")[0])
    (game,) = json.loads(output_of(root, "luck", path, "--by-game", "--format", "json"))
    assert (game["result"], game["luck_adjusted"], game["net_drift"]) == (None, None, None)
    assert game["luck_0"] > 0
    assert re.search(r"^ +1 +2 +1 +- .* - +-$", output_of(root, "luck", path, "--by-game"), re.MULTILINE)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("8/5 6/5", "8/5 6/4"), r"expected .*, in line 5: left play \(game 1 of .*\.mat\)"),
        (("8/5 6/5", "8/5 nonsense"), r"expected a record of whole games in .*\.mat, found in line 5: expected .*"),
        ((WHOLE_GAME, ""), r"expected recorded games in .*\.mat, found none"),
    ],
)
def test_invalid_records_are_refused(root: Path, change: tuple[str, str], message: str) -> None:
    path = file(root, "bad.mat", WHOLE_GAME.replace(*change))
    assert re.fullmatch(message, error_of(run(root, "luck", path), 1))


def test_invalid_players_and_outputs_are_refused(root: Path) -> None:
    path = file(root, "whole.mat", WHOLE_GAME)
    message = error_of(run(root, "luck", path, "--player", "pubeval"), 2)
    assert message == "expected a player that evaluates positions, got pubeval, which only chooses plays"
    assert re.match("expected a player among random, ", error_of(run(root, "luck", path, "--player", "nobody"), 2))
    assert re.match("no network/none in ", error_of(run(root, "luck", path, "--player", "network/none"), 1))
    assert re.match("expected a file at .*none.mat, found", error_of(run(root, "luck", root / "none.mat"), 1))
    assert re.match(
        "no matches/none in .*; try: bgdata import matches FILE", error_of(run(root, "luck", "matches/none"), 1)
    )


def test_looking_ahead_changes_the_values(root: Path) -> None:
    path = file(root, "whole.mat", WHOLE_GAME)
    static, ahead = (
        json.loads(output_of(root, "luck", path, "--ply", str(ply), "--format", "json"))[1] for ply in (0, 1)
    )
    assert static["luck"] != ahead["luck"]
    assert static["luck"] == pytest.approx(ahead["luck"], abs=0.2)


def test_picture_is_drawn(root: Path) -> None:
    path = file(root, "session.mat", MAT)
    pictures = []
    for name in ("one.png", "two.png"):
        output_of(root, "luck", path, "--by-game", "--plot", root / name)
        pictures.append((root / name).read_bytes())
    assert pictures[0].startswith(b"\x89PNG")
    assert pictures[0] == pictures[1]
    output_of(root, "luck", file(root, "cut.mat", WHOLE_GAME.partition("      Wins")[0]), "--plot", root / "three.png")


def test_each_match_of_a_file_has_its_own_players(root: Path) -> None:
    """A file with two matches lists the luck of each with its own players; a picture of both is refused."""
    path = file(root, "two.mat", WHOLE_GAME + WHOLE_GAME.replace("left", "Cid ").replace("right", "Ann  "))
    games = json.loads(output_of(root, "luck", path, "--by-game", "--format", "json"))
    assert [(row["match"], row["player_0"], row["player_1"]) for row in games] == [
        (0, "left", "right"), (1, "Cid", "Ann"),
    ]  # fmt: skip
    turns = json.loads(output_of(root, "luck", path, "--format", "json"))
    assert [(row["match"], row["player"]) for row in turns] == [
        (0, "left"), (0, "right"), (1, "Cid"), (1, "Ann"),
    ]  # fmt: skip
    table = output_of(root, "luck", path, "--by-game")
    assert re.findall("match .*", table) == ["match 1 of 2: left against right", "match 2 of 2: Cid against Ann"]
    assert re.findall(r"^(\S+): (\d+) rolls", table, re.MULTILINE) == [
        ("left", "1"), ("right", "1"), ("Cid", "1"), ("Ann", "1"),
    ]  # fmt: skip
    assert error_of(run(root, "luck", path, "--plot", root / "x.svg"), 2) == "expected one match with --plot, got 2"


def test_unknown_network_is_refused(root: Path) -> None:
    result = run(root, "luck", file(root, "whole.mat", WHOLE_GAME), "--player", "network/none")
    assert error_of(result, 1).startswith("no network/none in ")
