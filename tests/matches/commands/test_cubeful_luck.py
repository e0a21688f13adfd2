"""`bgdata luck --cubeful`: against the rows of `bgdata analyze`, sums over turns, and one line for what is wrong."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

import bgdata
from bgdata.equity.kinds.match_equity import PUBLISHED
from tests.command_line import error_of, run, succeeds
from tests.formats.sessions import MAT

MATCH = """\
 3 point match

 Game 1
 left : 0                   right : 1
  1) 31: 8/5 6/5                 65: 24/18 18/13
  2) 11: 6/5 6/5 6/5 6/5         Doubles => 2
  3)  Drops
                                 Wins 1 point

 Game 2
 left : 0                   right : 2
  1)                             31: 8/5 6/5
  2) 64: 24/18 13/9
"""
MET = ("--met", "published-12")


@pytest.fixture
def root(memory_path: Path) -> Path:
    bgdata.open_warehouse(memory_path).build("match_equity", PUBLISHED)
    (memory_path / "match.mat").write_text(MATCH)
    (memory_path / "session.mat").write_text(MAT.replace("$", ""))
    return memory_path


def rows(root: Path, *arguments: str | Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(succeeds(root, *arguments, "--format", "json"))
    return found


@pytest.mark.parametrize(("name", "options"), [("match.mat", MET), ("session.mat", ("--jacoby",))])
def test_turns_are_those_of_analyze(root: Path, name: str, options: tuple[str, ...]) -> None:
    found = rows(root, "luck", root / name, "--cubeful", *options)
    judged = rows(root, "analyze", root / name, "--ply", "0", *options)
    assert len(found) == len(judged)
    for row, other in zip(found, judged, strict=True):
        same = ("game_number", "turn", "player", "act", "roll", "play", "unit", "worth_before", "worth_after", "luck")
        assert [row[column] for column in (*same, "drift")] == [other[column] for column in (*same, "drift")]
        assert row["skill"] == pytest.approx(-other["play_loss"] - other["cube_loss"], abs=1e-15)
        assert row["cube_skill"] == -other["cube_loss"]
        assert row["worth_after"] - row["worth_before"] == pytest.approx(row["luck"] + row["skill"], abs=1e-12)
    assert any(row["cube_skill"] < 0 for row in found)
    assert {row["act"] for row in found} >= {"roll", "double", "pass"}


def test_games_add_up(root: Path) -> None:
    """Turns add up to games; luck, skill and drift to results."""
    turns = rows(root, "luck", root / "session.mat", "--cubeful")
    games = rows(root, "luck", root / "session.mat", "--cubeful", "--by-game")
    assert [game["result"] for game in games][:6] == [8, -8, -2, 4, 8, -1]  # the cube included
    for game in games:
        own = [row for row in turns if row["game_number"] == game["game_number"]]
        for player in (0, 1):
            acts = [row for row in own if row["player"] == game[f"player_{player}"]]
            for name in ("luck", "skill", "cube_skill"):
                assert game[f"{name}_{player}"] == pytest.approx(sum(row[name] for row in acts), abs=1e-9)
        assert game["net_luck"] == pytest.approx(game["luck_0"] - game["luck_1"], abs=1e-9)
        assert game["net_skill"] == pytest.approx(game["skill_0"] - game["skill_1"], abs=1e-9)
        assert game["result"] == pytest.approx(game["net_luck"] + game["net_skill"] + game["net_drift"], abs=1e-9)
        assert game["luck_adjusted"] == pytest.approx(game["result"] - game["net_luck"], abs=1e-9)


def test_the_table_says_what_the_rows_say(root: Path) -> None:
    path = root / "match.mat"
    shown = succeeds(root, "luck", path, "--cubeful", *MET)
    finished, cut = rows(root, "luck", path, "--cubeful", *MET, "--by-game")
    assert shown.startswith("left against right, a match to 3; analysed by ")
    figures = ("result", "net_luck", "net_skill", "net_drift", "luck_adjusted")
    line = f"   1      5{''.join(f'  {100 * finished[name]:+7.2f} %' for name in figures)}"
    assert line in shown.splitlines()
    assert cut["result"] is cut["luck_adjusted"] is cut["net_drift"] is None
    assert re.search(r"^ sum +- .* - +-$", shown, re.MULTILINE)
    assert re.search(
        r"^left: 3 rolls, luck [+-]\d+\.\d\d %, skill [+-]\d+\.\d\d %, of it the cube ", shown, re.MULTILINE
    )
    assert re.search(r"^   3  right  double  ", shown, re.MULTILINE)
    assert shown.endswith(succeeds(root, "luck", path, "--cubeful", *MET, "--by-game").partition("\n\n")[2])
    table = csv.DictReader(succeeds(root, "luck", path, "--cubeful", *MET, "--format", "csv").splitlines())
    assert [row["act"] for row in table][:4] == ["roll", "roll", "roll", "double"]


def test_the_rules_and_the_ply_change_values(root: Path) -> None:
    path = root / "session.mat"
    plain, jacoby = (rows(root, "luck", path, "--cubeful", rule, "--by-game") for rule in ("--no-jacoby", "--jacoby"))
    assert plain[0]["net_luck"] != jacoby[0]["net_luck"]
    static, ahead = (rows(root, "luck", root / "match.mat", "--cubeful", *MET, "--ply", ply) for ply in ("0", "1"))
    assert static[1]["luck"] != ahead[1]["luck"]
    assert static[1]["luck"] == pytest.approx(ahead[1]["luck"], abs=0.05)


def test_a_picture(root: Path) -> None:
    succeeds(root, "luck", root / "match.mat", "--cubeful", *MET, "--plot", root / "luck.png")
    assert (root / "luck.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--cubeful", "--player", "gnubg"), "expected network or network/NAME with --cubeful, got gnubg"),
        (("--cubeful", "--player", "network/none"), "no network/none in "),
        (("--cubeful", "--jacoby"), "expected money play with --jacoby, got a match to 3"),
        (("--cubeful", "--met", "none"), "no match equity table none in "),
        (MET, "expected --cubeful with --met, got none"),
        (("--no-jacoby",), "expected --cubeful with --jacoby, got none"),
        (("--beavers",), "expected --cubeful with --beavers, got none"),
    ],
)
def test_invalid_arguments_are_refused(root: Path, options: tuple[str, ...], message: str) -> None:
    result = run(root, "luck", root / "match.mat", *options)
    assert error_of(result, result.exit_code).startswith(message)
