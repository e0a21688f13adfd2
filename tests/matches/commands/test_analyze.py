"""Tests of `bgdata analyze`: matches and money sessions in every format, page, picture, and errors."""

from __future__ import annotations

import csv
import json
import os
import re
from pathlib import Path
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
        output_of(folder / "warehouse", "import", "matches", folder / "session.sgf")
        (folder / "gap.mat").write_text(MISSING_GAMES)
        output_of(folder / "warehouse", "import", "matches", folder / "gap.mat")
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


def rows(root: Path, *arguments: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(
        output_of(root / "warehouse", "analyze", *arguments, "--network", "random", "--format", "json")
    )
    return found


@pytest.mark.parametrize("name", ["session.mat", "session.sgf"])
def test_money_session_in_every_format(root: Path, name: str) -> None:
    """The turns of a money session sum to games, and games to players; .mat and .sgf give the same rows."""
    path = str(root / name)
    turns, games, players = (rows(root, path, "--ply", "0", *by) for by in ([], ["--by-game"], ["--by-player"]))
    assert [game["result"] for game in games] == [8, -8, -2, 4, 8, -1, *(game["result"] for game in games[6:])]
    assert {row["act"] for row in turns} == {"roll", "double", "beaver", "take", "pass"}
    assert {row["unit"] for row in turns} == {"points"}
    for game in games:
        own = [row for row in turns if row["game_number"] == game["game_number"]]
        luck, loss = (
            [sum(row[name] for row in own if row["player"] == game[f"player_{side}"]) for side in (0, 1)]  # type: ignore[misc]
            for name in ("luck", "play_loss")
        )
        assert game["net_luck"] == pytest.approx(luck[0] - luck[1])
        parts = [game[name] for name in ("net_luck", "net_skill", "net_drift")]
        assert game["result"] == pytest.approx(sum(parts))  # type: ignore[arg-type]
        assert game["luck_adjusted"] == pytest.approx(game["result"] - game["net_luck"])  # type: ignore[operator]
        assert len(own) == game["turns"]
        assert min(loss) >= 0
    for player in players:
        own = [row for row in turns if row["player"] == player["player"]]
        assert player["play_loss"] == pytest.approx(sum(row["play_loss"] for row in own))  # type: ignore[misc]
        assert player["unforced_plays"] == sum(bool(row["is_play_decision"]) for row in own)
        decisions = player["unforced_plays"] + player["cube_decisions"]  # type: ignore[operator]
        loss = player["normalised_play_loss"] + player["normalised_cube_loss"]  # type: ignore[operator]
        assert player["performance_rating"] == pytest.approx(1000 * loss / decisions)
    assert [player["result"] for player in players] == [sum(game["result"] for game in games) * s for s in (1, -1)]  # type: ignore[misc]


def test_jacoby_rule_is_taken_from_the_file(root: Path) -> None:
    """The Jacoby rule is read from both formats and after an import; an option overrides it, and the headline states
    it."""
    silent, stating, sgf = root / "session.mat", root / "said.mat", root / "session.sgf"
    stating.write_text(f'; [Jacoby "On"]\n{silent.read_text()}')
    with_rule, without = (rows(root, str(silent), "--ply", "0", option) for option in ("--jacoby", "--no-jacoby"))
    assert with_rule != without == rows(root, str(silent), "--ply", "0")
    assert rows(root, str(stating), "--ply", "0") == with_rule
    assert rows(root, str(stating), "--ply", "0", "--no-jacoby") == without
    by_rule, by_none = (rows(root, str(sgf), "--ply", "0", option) for option in ("--jacoby", "--no-jacoby"))
    assert by_rule != by_none
    for source in (str(sgf), "matches/session"):
        assert rows(root, source, "--ply", "0") == by_rule
        assert rows(root, source, "--ply", "0", "--no-jacoby") == by_none
    for options, words in (([], "for money with the Jacoby rule;"), (["--no-jacoby"], "for money;")):
        shown = output_of(root / "warehouse", "analyze", sgf, "--ply", "0", "--network", "random", *options)
        assert shown.startswith(f"gnubg against root, {words} analysed by random-0ply\n")


def test_values_of_a_match_are_consistent(root: Path) -> None:
    """The match winning chance at the end of a game is the one at the beginning of the next."""
    path = str(root / "match.mat")
    first, second = rows(root, path, *QUICK, "--by-game")
    assert first["unit"] == "mwc"
    assert second["score_1"] == 2
    assert first["initial"] + first["result"] == pytest.approx(second["initial"])  # type: ignore[operator]
    assert second["initial"] + second["result"] == pytest.approx(1)  # type: ignore[operator]
    turns = rows(root, path, *QUICK)
    double, answer = (row for row in turns if row["act"] in ("double", "pass"))
    assert double["worth_after"] == pytest.approx(1 - answer["worth_before"])  # type: ignore[operator]
    assert answer["worth_after"] == pytest.approx(1 - double["double_pass"])  # type: ignore[operator]
    assert all(row["no_double"] is None for row in turns if row["game_number"] == 2), "the crawford game"


MISSING_GAMES = """\
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


@pytest.mark.parametrize("command", [("analyze", *QUICK), ("luck", "--ply", "0")])
def test_missing_games_are_noted(root: Path, command: tuple[str, ...]) -> None:
    """Missing games of an imported match are reported on standard error, and in the notes of games and players."""
    warehouse = root / "warehouse"
    option = "--network" if command[0] == "analyze" else "--player"
    player = "random" if command[0] == "analyze" else "network/random"
    for form in ("table", "json"):
        result = run(warehouse, command[0], "matches/gap", *command[1:], option, player, "--by-game", "--format", form)
        assert result.exit_code == 0, result.output
        assert result.stderr.splitlines() == [f"note on nora against ivo: {text}" for text in (GAP_NOTE, END_NOTE)]
    if command[0] == "analyze":
        assert [row["notes"] for row in json.loads(result.stdout)] == ["", f"{GAP_NOTE}; {END_NOTE}"]
        players = run(warehouse, "analyze", "matches/gap", *QUICK, option, player, "--by-player", "--format", "json")
        assert [row["notes"] for row in json.loads(players.stdout)] == [f"{GAP_NOTE}; {END_NOTE}"] * 2


def test_repairs_are_reported(root: Path) -> None:
    """Repairs are reported: a win is cut to the points that the match lacked, and `Crawford "Off"` removes the Crawford
    game."""
    path = root / "capped.mat"
    path.write_text(MATCH.replace("Wins 3 points", "Losses 3 points").replace("      Losses", f"{'':34}Losses"))
    assert rows(root, str(path), *QUICK, "--by-game") == rows(root, str(root / "match.mat"), *QUICK, "--by-game")
    path.write_text(f'; [Crawford "Off"]\n{MATCH}')
    turns = rows(root, str(path), *QUICK)
    assert any(row["no_double"] is not None for row in turns if row["game_number"] == 2)


def test_match_is_read_from_a_pipe(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = rows(root, str(root / "match.mat"), *QUICK)
    for source in ("-", None):
        end, start = os.pipe()
        os.write(start, MATCH.encode())
        os.close(start)
        monkeypatch.setattr("bgdata.matches.steps.STANDARD_INPUT", f"/dev/fd/{end}")
        assert rows(root, source or f"/dev/fd/{end}", *QUICK) == expected
        os.close(end)


def test_rows_have_position_score_and_cube(root: Path) -> None:
    """Rows have the position, score and cube before each act. `match` and `turn` are as in the table `turns`;
    `turn_number` counts from 1."""
    sql = "select distinct turn, position_id from turns where variant = 'session' and action <> 'resign'"
    stored = json.loads(output_of(root / "warehouse", "query", sql, "--format", "json"))
    found = rows(root, "matches/session")
    assert {(row["turn"], row["position_id"]) for row in found} == {tuple(row.values()) for row in stored}
    assert [found[0][name] for name in ("match", "turn", "game_number", "turn_number")] == [0, 0, 1, 1]
    first, *_ = rows(root, str(root / "match.mat"), *QUICK)
    assert [first[name] for name in ("away", "opponent_away", "is_crawford", "is_jacoby", "cube_owner")] == [
        3, 2, False, None, "centered",
    ]  # fmt: skip


def test_text_has_turns_sums_and_errors(root: Path) -> None:
    """The text lists turns, sums, ratings and the worst errors; options leave out turns and games."""
    shown = output_of(root / "warehouse", "analyze", root / "match.mat", *QUICK, "--network", "random", "--errors", "2")
    assert shown.startswith("left against right, a match to 3; analysed by random-0ply\n\ngame 1: left 0, right 1\n")
    assert re.search(r"^   1  left   31      8/5 6/5 +\d\d\.\d\d %  [+-]\d\.\d{3}", shown, re.MULTILINE)
    assert re.search(r"^   4  right  double ", shown, re.MULTILINE)
    assert re.search(r"^   5  left   pass ", shown, re.MULTILINE)
    assert re.search(r"^ sum +[+-]\d\d\.\d\d %", shown, re.MULTILINE)
    assert re.search(r"^performance rating +\d+\.\d +\d+\.\d$", shown, re.MULTILINE)
    listed = re.findall(r"^(\d\.\d{3}) \S+ +game \d turn \d+ +(?:left|right) .* best: ", shown, re.MULTILINE)
    assert len(listed) == 2
    assert listed == sorted(listed, reverse=True)
    games = output_of(root / "warehouse", "analyze", root / "match.mat", *QUICK, "--network", "random", "--by-game")
    assert "game 1: " not in games
    players = output_of(root / "warehouse", "analyze", root / "match.mat", *QUICK, "--network", "random", "--by-player")
    assert "net luck" not in players.partition("luck-adj.")[0]
    given = (*QUICK, "--network", "random", "--by-player", "--format", "csv")
    sheet = output_of(root / "warehouse", "analyze", root / "match.mat", *given)
    assert [row["player"] for row in csv.DictReader(sheet.splitlines())] == ["left", "right"]


def test_page_and_picture_are_written(root: Path) -> None:
    """The page is well-formed, loads nothing, and shows a board for every listed error."""
    page, picture = root / "match.html", root / "match.png"
    options = ("--network", "random", "--errors", "3", "--page", page, "--plot", picture)
    output_of(root / "warehouse", "analyze", root / "match.mat", *QUICK, *options)
    text = page.read_text()
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert text.count('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 660 548"') == 3
    assert text.count('class="chart"') == 1
    assert "<script" not in text
    assert not re.search(r'(?:src|href)="(?!#)', text)
    body = text[text.index("<body>") : text.index("</html>")].replace("<br>", "<br/>").replace("class=number", "")
    ElementTree.fromstring(body)
    names = re.findall(r'id="([^"]+)"', text)
    assert len(names) == len(set(names))
    again = root / "again.html"
    output_of(root / "warehouse", "analyze", root / "match.mat", *QUICK, *options[:4], "--page", again)
    assert again.read_text() == text


def test_player_names_are_escaped(root: Path) -> None:
    path, page = root / "names.mat", root / "names.html"
    path.write_text(MATCH.replace("left ", "<b>&x"))
    output_of(root / "warehouse", "analyze", path, *QUICK, "--network", "random", "--page", page)
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
    ("change", "message"),
    [
        (("8/5 6/5", "8/5 6/4"), r"expected .*, in line 5: left play \(game 1 of .*\.mat\)"),
        (("8/5 6/5", "8/5 nonsense"), r"expected a record of whole games in .*\.mat, found in line 5: expected .*"),
        (("right : 1", "right : 4"), r"expected scores below the 3 points of the match, got 0-4 \(game 1 of .*\.mat\)"),
        (("Wins 1 point\n", "Wins 2 points\n"), r"expected a result that follows .* \(game 1 of .*\.mat\)"),
        (("3 point match", "20 point match"), "expected a match equity table to 20-away, got .*"),
        ((MATCH, ""), r"expected recorded games in .*\.mat, found none"),
    ],
)
def test_invalid_records_are_refused(root: Path, change: tuple[str, str], message: str) -> None:
    path = root / "bad.mat"
    path.write_text(MATCH.replace(*change))
    result = run(root / "warehouse", "analyze", path, *QUICK, "--network", "random")
    stderr = error_of(result, result.exit_code)
    assert result.exit_code in (1, 2)
    assert re.fullmatch(message, stderr), stderr
