"""Tests of `bgdata analyze`: matches and money sessions in every format, page, picture, and errors."""

from __future__ import annotations

import csv
import json
import os
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import bgdata
from bgdata.equity.kinds.match_equity import PUBLISHED
from tests.command_line import error_of, output_of, run
from tests.conftest import SharedFolder, build_for_player
from tests.formats.sessions import MAT, SGF

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
      Wins 3 points and the match
"""
QUICK = ("--ply", "0", "--met", "published-12")


@pytest.fixture(scope="module")
def filled_root(shared_folder: SharedFolder) -> Path:
    """A warehouse with a network, small tables, a match equity table, an imported session, and a match with a missing
    game."""

    def fill(folder: Path) -> None:
        build_for_player(folder)
        (folder / "session.sgf").write_text(SGF)
        (folder / "gap.mat").write_text(MISSING_GAME)
        for name in ("session.sgf", "gap.mat"):
            output_of(folder / "warehouse", "import", "matches", folder / name)
        bgdata.open_warehouse(folder / "warehouse").build("match_equity", PUBLISHED)

    return shared_folder("analyze-with-a-gap", fill) / "warehouse"


@pytest.fixture
def root(filled_root: Path, memory_path: Path) -> Path:
    """A copy of `filled_root`, with match files beside it."""
    (memory_path / "match.mat").write_text(MATCH)
    (memory_path / "session.mat").write_text(MAT.replace("$", ""))
    (memory_path / "session.sgf").write_text(SGF)
    (memory_path / "warehouse").symlink_to(filled_root)
    return memory_path


def analyze(root: Path, source: str | Path, *options: str | Path) -> str:
    """The output of `bgdata analyze` with the small network."""
    return output_of(root / "warehouse", "analyze", source, "--network", "random", *options)


def rows(root: Path, source: str | Path, *options: str) -> list[dict[str, Any]]:
    """The rows that `bgdata analyze` prints as JSON."""
    printed: list[dict[str, Any]] = json.loads(analyze(root, source, *options, "--format", "json"))
    return printed


@pytest.mark.parametrize("name", ["session.mat", "session.sgf"])
def test_turns_sum_to_games_and_players(root: Path, name: str) -> None:
    turns = rows(root, root / name, "--ply", "0")
    games = rows(root, root / name, "--ply", "0", "--by-game")
    players = rows(root, root / name, "--ply", "0", "--by-player")
    assert [game["result"] for game in games][:6] == [8, -8, -2, 4, 8, -1]
    assert {row["act"] for row in turns} == {"roll", "double", "beaver", "take", "pass"}
    assert {row["unit"] for row in turns} == {"points"}
    for game in games:
        turns_of_game = [row for row in turns if row["game_number"] == game["game_number"]]
        assert len(turns_of_game) == game["turns"]
        luck = [sum(row["luck"] for row in turns_of_game if row["player"] == game[f"player_{side}"]) for side in (0, 1)]
        assert game["net_luck"] == pytest.approx(luck[0] - luck[1])
        assert game["result"] == pytest.approx(game["net_luck"] + game["net_skill"] + game["net_drift"])
        assert game["luck_adjusted"] == pytest.approx(game["result"] - game["net_luck"])
    assert min(row["play_loss"] for row in turns) >= 0
    for player in players:
        turns_of_player = [row for row in turns if row["player"] == player["player"]]
        assert player["play_loss"] == pytest.approx(sum(row["play_loss"] for row in turns_of_player))
        assert player["unforced_plays"] == sum(bool(row["is_play_decision"]) for row in turns_of_player)
        decisions = player["unforced_plays"] + player["cube_decisions"]
        loss = player["normalised_play_loss"] + player["normalised_cube_loss"]
        assert player["performance_rating"] == pytest.approx(1000 * loss / decisions)
    points = sum(game["result"] for game in games)
    assert [player["result"] for player in players] == [points, -points]


def test_jacoby_rule_of_a_mat_file_is_used(root: Path) -> None:
    """The rule is that of the file, or an option. Files that do not say it are played without."""
    silent, stating = root / "session.mat", root / "stating.mat"
    stating.write_text(f'; [Jacoby "On"]\n{silent.read_text()}')
    with_rule = rows(root, silent, "--ply", "0", "--jacoby")
    without_rule = rows(root, silent, "--ply", "0", "--no-jacoby")
    assert with_rule != without_rule
    assert rows(root, silent, "--ply", "0") == without_rule
    assert rows(root, stating, "--ply", "0") == with_rule
    assert rows(root, stating, "--ply", "0", "--no-jacoby") == without_rule


def test_jacoby_rule_of_an_sgf_file_is_used(root: Path) -> None:
    """The rule is that of the file, also after an import, or an option. The headline states it."""
    sgf = root / "session.sgf"
    with_rule = rows(root, sgf, "--ply", "0", "--jacoby")
    without_rule = rows(root, sgf, "--ply", "0", "--no-jacoby")
    assert with_rule != without_rule
    for source in (sgf, "matches/session"):
        assert rows(root, source, "--ply", "0") == with_rule
        assert rows(root, source, "--ply", "0", "--no-jacoby") == without_rule
    headline = "gnubg against root, {} analysed by random-0ply\n"
    assert analyze(root, sgf, "--ply", "0").startswith(headline.format("for money with the Jacoby rule;"))
    assert analyze(root, sgf, "--ply", "0", "--no-jacoby").startswith(headline.format("for money;"))


def test_values_of_a_match_are_consistent(root: Path) -> None:
    """The match winning chance at the end of a game is the one at the beginning of the next."""
    path = root / "match.mat"
    first, second = rows(root, path, *QUICK, "--by-game")
    assert first["unit"] == "mwc"
    assert second["score_1"] == 2
    assert first["initial"] + first["result"] == pytest.approx(second["initial"])
    assert second["initial"] + second["result"] == pytest.approx(1)
    turns = rows(root, path, *QUICK)
    double, answer = (row for row in turns if row["act"] in ("double", "pass"))
    assert double["worth_after"] == pytest.approx(1 - answer["worth_before"])
    assert answer["worth_after"] == pytest.approx(1 - double["double_pass"])
    crawford_game = [row for row in turns if row["game_number"] == 2]
    assert {row["no_double"] for row in crawford_game} == {None}


MISSING_GAME = """\
 5 point match

 Game 1
 nora : 0                       ivo : 0
  1) 31: 8/5 6/5                  Doubles => 2
  2)  Drops                       Wins 1 point

 Game 2
 nora : 0                       ivo : 1
  1) 31: 8/5 6/5                 64: 24/18 13/9
  2)  Nonsense
                                  Wins 2 points

 Game 3
 nora : 0                       ivo : 3
  1) 31: 8/5 6/5                  Doubles => 2
  2)  Drops                       Wins 1 point
"""
GAP_NOTE = "game 2 is missing: game 3 begins at 0-3, and game 1 ends at 0-1"
END_NOTE = "the record ends at 0-4, before anybody has 5 points"


@pytest.mark.parametrize(
    "command",
    [
        ("analyze", "matches/gap", "--network", "random", *QUICK),
        ("luck", "matches/gap", "--player", "network/random", "--ply", "0"),
    ],
    ids=["analyze", "luck"],
)
def test_missing_games_are_reported_on_standard_error(root: Path, command: tuple[str, ...]) -> None:
    for form in ("table", "json"):
        result = run(root / "warehouse", *command, "--by-game", "--format", form)
        assert result.exit_code == 0, result.output
        assert result.stderr.splitlines() == [f"note on nora against ivo: {text}" for text in (GAP_NOTE, END_NOTE)]


def test_missing_games_are_noted_in_rows(root: Path) -> None:
    games = rows(root, "matches/gap", *QUICK, "--by-game")
    assert [row["notes"] for row in games] == ["", f"{GAP_NOTE}; {END_NOTE}"]
    players = rows(root, "matches/gap", *QUICK, "--by-player")
    assert [row["notes"] for row in players] == [f"{GAP_NOTE}; {END_NOTE}"] * 2


def test_win_is_cut_to_the_points_that_the_match_lacked(root: Path) -> None:
    path = root / "capped.mat"
    path.write_text(MATCH.replace("      Wins 3 points", f"{'':34}Losses 3 points"))
    assert rows(root, path, *QUICK, "--by-game") == rows(root, root / "match.mat", *QUICK, "--by-game")


def test_match_without_the_crawford_rule_has_no_crawford_game(root: Path) -> None:
    path = root / "off.mat"
    path.write_text(f'; [Crawford "Off"]\n{MATCH}')
    second_game = [row for row in rows(root, path, *QUICK) if row["game_number"] == 2]
    assert any(row["no_double"] is not None for row in second_game)


@pytest.mark.parametrize("is_standard_input", [True, False])
def test_match_is_read_from_a_pipe(root: Path, monkeypatch: pytest.MonkeyPatch, is_standard_input: bool) -> None:
    reading_end, writing_end = os.pipe()
    os.write(writing_end, MATCH.encode())
    os.close(writing_end)
    pipe = f"/dev/fd/{reading_end}"
    monkeypatch.setattr("bgdata.matches.steps.STANDARD_INPUT", pipe)
    assert rows(root, "-" if is_standard_input else pipe, *QUICK) == rows(root, root / "match.mat", *QUICK)
    os.close(reading_end)


def test_rows_have_position_score_and_cube(root: Path) -> None:
    """Rows have the position, score and cube before each act. `match` and `turn` are as in the table `turns`;
    `turn_number` counts from 1."""
    sql = "select distinct turn, position_id from turns where variant = 'session' and action <> 'resign'"
    stored = json.loads(output_of(root / "warehouse", "query", sql, "--format", "json"))
    turns = rows(root, "matches/session")
    assert {(row["turn"], row["position_id"]) for row in turns} == {(row["turn"], row["position_id"]) for row in stored}
    assert [turns[0][name] for name in ("match", "turn", "game_number", "turn_number")] == [0, 0, 1, 1]
    first = rows(root, root / "match.mat", *QUICK)[0]
    assert (first["away"], first["opponent_away"], first["is_crawford"]) == (3, 2, False)
    assert (first["is_jacoby"], first["cube_owner"]) == (None, "centered")


def test_text_has_turns_sums_and_errors(root: Path) -> None:
    path = root / "match.mat"
    text = analyze(root, path, *QUICK, "--errors", "2")
    assert text.startswith("left against right, a match to 3; analysed by random-0ply\n\ngame 1: left 0, right 1\n")
    for pattern in (
        r"^   1  left   31      8/5 6/5 +\d\d\.\d\d %  [+-]\d\.\d{3}",
        r"^   4  right  double ",
        r"^   5  left   pass ",
        r"^ sum +[+-]\d\d\.\d\d %",
        r"^performance rating +\d+\.\d +\d+\.\d$",
    ):
        assert re.search(pattern, text, re.MULTILINE)
    losses = re.findall(r"^(\d\.\d{3}) \S+ +game \d turn \d+ +(?:left|right) .* best: ", text, re.MULTILINE)
    assert len(losses) == 2
    assert losses == sorted(losses, reverse=True)
    assert "game 1: " not in analyze(root, path, *QUICK, "--by-game")
    assert "net luck" not in analyze(root, path, *QUICK, "--by-player").partition("luck-adj.")[0]
    sheet = csv.DictReader(analyze(root, path, *QUICK, "--by-player", "--format", "csv").splitlines())
    assert [row["player"] for row in sheet] == ["left", "right"]


def test_page_and_picture_are_written(root: Path) -> None:
    """The page is well-formed, loads nothing, and shows a board for every listed error."""
    page, picture = root / "match.html", root / "match.png"
    analyze(root, root / "match.mat", *QUICK, "--errors", "3", "--page", page, "--plot", picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
    text = page.read_text()
    assert text.count('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 660 548"') == 3
    assert text.count('class="chart"') == 1
    assert "<script" not in text
    assert not re.search(r'(?:src|href)="(?!#)', text)
    body = text[text.index("<body>") : text.index("</html>")].replace("<br>", "<br/>").replace("class=number", "")
    ElementTree.fromstring(body)
    identifiers = re.findall(r'id="([^"]+)"', text)
    assert len(identifiers) == len(set(identifiers))
    again = root / "again.html"
    analyze(root, root / "match.mat", *QUICK, "--errors", "3", "--page", again)
    assert again.read_text() == text


def test_player_names_are_escaped(root: Path) -> None:
    path, page = root / "names.mat", root / "names.html"
    path.write_text(MATCH.replace("left ", "<b>&x"))
    analyze(root, path, *QUICK, "--page", page)
    assert "<b>" not in page.read_text()
    assert "&lt;b&gt;&amp;x" in page.read_text()


@pytest.mark.parametrize(
    ("file", "options", "code", "message"),
    [
        ("match.mat", ["--jacoby"], 2, "expected money play with --jacoby, got a match to 3"),
        ("match.mat", ["--beavers"], 2, "expected money play with --beavers, got a match to 3"),
        ("session.mat", ["--met", "published-12"], 2, "expected a match with --met, got money play"),
        ("match.mat", ["--by-game", "--by-player"], 2, "expected one of --by-game and --by-player, got both"),
        ("match.mat", ["--met", "none"], 1, "no match equity table none in .*"),
        ("match.mat", ["--network", "none", *QUICK], 1, "no network/none in .*"),
        ("match.mat", ["--ply", "4"], 2, "invalid value for '--ply': 4 is not in .*"),
        ("none.mat", [], 1, "expected a file at .*none.mat, found: .*"),
        ("matches/none", [], 1, "no matches/none in .*; try: bgdata import matches .*"),
    ],
)
def test_invalid_arguments_are_refused(root: Path, file: str, options: list[str], code: int, message: str) -> None:
    source = file if "/" in file else root / file
    stderr = error_of(run(root / "warehouse", "analyze", source, "--network", "random", *options), code)
    assert re.fullmatch(message, stderr), stderr


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (("8/5 6/5", "8/5 nonsense"), 1, r"expected a record of whole games in .*\.mat, found in line 5: expected .*"),
        (("Wins 1 point\n", "Wins 2 points\n"), 1, r"expected a result that follows .* \(game 1 of .*\.mat\)"),
    ],
)
def test_invalid_records_are_refused(root: Path, change: tuple[str, str], code: int, message: str) -> None:
    path = root / "bad.mat"
    path.write_text(MATCH.replace(*change))
    result = run(root / "warehouse", "analyze", path, *QUICK, "--network", "random")
    assert re.fullmatch(message, error_of(result, code))
