"""Tests of the kind `match_analysis`: its rows against the judgements themselves, and games that were judged before."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import bgdata
from bgdata.equity.cube import CubeRules
from bgdata.equity.kinds.match_equity import PUBLISHED
from bgdata.errors import InvalidParameterError, MissingTableError
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.matches.acts import ActKind, CubeValues, JudgedAct, totals_of
from bgdata.matches.kinds.match_analysis import DATASET, MatchAnalysisParameters
from bgdata.matches.kinds.match_analysis_compute import ANSWER, DOUBLE, counts_for_pr, error_of
from bgdata.matches.kinds.matches_compute import matches_of
from bgdata.matches.kinds.shared import source_games
from bgdata.matches.situations import Situation, replayed_situation, replayed_situations
from bgdata.matches.steps import judge_all
from bgdata.selfplay.kinds.shared.rollouts_compute import first_met, open_roller
from bgdata.store.dataset import Context
from bgdata.store.parameters import VersionRef
from bgdata.store.progress import Progress
from bgdata.store.table import Table
from tests.command_line import output_of
from tests.imports.importing import Imports
from tests.subtests import each

SESSION = (Path(__file__).parents[2] / "formats/binary/session.mat").read_text()
MATCH = """ 3 point match

 Game 1
 ann : 0                        bob : 0
  1)                             31: 8/5 6/5
  2) 65: 24/18 18/13              Doubles => 2
  3)  Drops
                                  Wins 1 point

 Game 2
 ann : 0                        bob : 1
  1) 31: 24/23 8/5               42: 8/4 6/4
"""
BEAVERS = """ 0 point match

 Game 1
 ann : 0                        bob : 0
  1)                             31: 24/23 13/10
  2) 65: 24/18 13/8               Doubles => 2
  3)  Beavers => 4                62: 24/16
"""


def recipe(name: str) -> MatchAnalysisParameters:
    return replace(DATASET.smallest, source=VersionRef("matches", name))


def analyse_texts(imports: Imports, name: str, *texts: str, progress: Progress | None = None, **changes: Any) -> Table:
    """Import files with these texts as `name`, and analyse them with the smallest parameters and these changes."""
    files = [imports.file(f"{name}-{number}.mat", text) for number, text in enumerate(texts)]
    imports.build("matches", files, name=name)
    return imports.warehouse.build("match_analysis", replace(recipe(name), **changes), progress=progress)


def rows(table: Table) -> list[dict[str, Any]]:
    return list(pq.read_table(table.parquet).to_pylist())


def test_each_decision_is_a_row(imports: Imports) -> None:
    decisions = rows(analyse_texts(imports, "m", MATCH))
    names = ("game", "turn", "subject", "game_number", "turn_number", "player_name", "away", "opponent_away", "made")
    assert [tuple(row[name] for name in names) for row in decisions] == [
        (0, 0, "play", 1, 1, "bob", 3, 3, "8/5 6/5"),
        (0, 1, "double", 1, 2, "ann", 3, 3, "no double"),
        (0, 1, "play", 1, 2, "ann", 3, 3, "24/13"),
        (0, 2, "double", 1, 3, "bob", 3, 3, "double"),
        (0, 3, "answer", 1, 4, "ann", 3, 3, "pass"),
        (1, 0, "play", 2, 1, "ann", 3, 2, "24/23 8/5"),
        (1, 1, "double", 2, 2, "bob", 2, 3, "no double"),
        (1, 1, "play", 2, 2, "bob", 2, 3, "8/4 6/4"),
    ]
    for row in decisions:
        assert (row["luck"] is None) == (row["subject"] != "play")
        assert (row["error"] is None) == (row["loss"] == 0)
        assert not row["is_crawford"]
    answer = decisions[4]
    assert answer["xgid"].startswith("XGID=-a---BD-B---fE---c-e----B-:0:0:1:D:")
    assert decisions[0]["xgid"].split(":")[4:8] == ["31", "0", "0", "0"]


def test_sums_equal_those_of_judge_all(imports: Imports) -> None:
    table = analyse_texts(imports, "both", MATCH, SESSION)
    context = Context(recipe("both"), imports.warehouse.made_from(table), imports.warehouse)
    player = LookaheadPlayer(open_roller(context), 0)
    matches = list(matches_of(imports.warehouse.open("matches", "both").arrays()))
    met = first_met(imports.warehouse.build("match_equity", PUBLISHED).arrays())
    judged = judge_all(player, CubeRules(met=met), replayed_situations(matches, "both"), Progress())
    decisions = rows(table)
    for number, game in enumerate(judged):
        for name, score in zip(game.match.players, totals_of([game.judged]).scores, strict=True):
            own = [row for row in decisions if row["game"] == number and row["player_name"] == name]
            plays = [row for row in own if row["subject"] == "play"]
            assert len(plays) == score.rolls
            assert sum(row["is_decision"] for row in plays) == score.unforced_plays
            assert sum(row["is_decision"] for row in own) == score.unforced_plays + score.cube_decisions
            assert sum(row["luck"] for row in plays) == pytest.approx(score.normalised_luck, abs=1e-6)
            assert sum(row["loss"] for row in plays) == pytest.approx(score.normalised_play_loss, abs=1e-6)


def test_rows_equal_those_of_analyze(imports: Imports) -> None:
    """For a match, a session with beavers and games that end in exact bearoffs, each decision has the loss, luck, play
    and cube action that `bgdata analyze` gives."""
    other_root = imports.folder / "other"
    self_play = []
    for option in ("--no-jacoby", "--jacoby"):
        output_of(other_root, "selfplay", "--cube-model", "0.7", "--games", "3", option)
    for table in bgdata.open_warehouse(other_root).versions("cubeful_selfplay"):
        path = imports.folder / "made.mat"
        output_of(other_root, "export", "text", table.name, "--format", "mat", "-o", path)
        self_play.append(path.read_text())
    largest: dict[str, Any] = {"table_points": 6, "table_checkers": 6}  # which `bgdata analyze` chooses
    decisions = rows(analyse_texts(imports, "all", MATCH, SESSION, BEAVERS, *self_play, **largest))
    options = ("--network", "tiny", "--ply", "0", "--met", "published-12", "--format", "json")
    turns = {
        (row["match"], row["game_number"], row["turn"]): row
        for row in json.loads(output_of(imports.warehouse.root, "analyze", "matches/all", *options))
    }
    assert len({row["match"] for row in decisions}) > 4
    assert sum(row["made"] == "beaver" for row in decisions) == 1
    for row in decisions:
        turn = turns[row["match"], row["game_number"], row["turn"]]
        assert (row["turn_number"], row["player_name"]) == (turn["turn_number"], turn["player"])
        part = "play" if row["subject"] == "play" else "cube"
        assert row["loss"] == pytest.approx(turn[f"normalised_{part}_loss"], abs=1e-8), row
        assert row["is_decision"] == turn[f"is_{part}_decision"]
        if part == "cube":
            assert row["best"] == turn["best_cube_action"]
        else:
            assert row["luck"] == pytest.approx(turn["normalised_luck"], abs=1e-6)
            assert (row["made"], row["best"]) == (turn["play"], turn["best_play"])


class Notes(Progress):
    """Progress that keeps all messages."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def about(self, words: str) -> list[str]:
        """The messages that contain these words."""
        return [text for text in self.notes if words in text]


def test_games_are_judged_once(imports: Imports) -> None:
    """Games that another version contains are copied from it, and the digest is the same as without it."""
    notes = Notes()
    analyse_texts(imports, "old", SESSION, progress=notes)
    assert notes.about("games were judged before") == []
    both = analyse_texts(imports, "new", MATCH, SESSION, progress=notes)
    assert notes.about("games were judged before") == ["3 of 5 games were judged before"]
    assert {row["game"] for row in rows(both)} == set(range(5))
    other = Imports(imports.folder / "other")
    assert analyse_texts(other, "new", MATCH, SESSION).manifest.digest == both.manifest.digest


def test_only_new_matches_are_replayed(imports: Imports, monkeypatch: pytest.MonkeyPatch) -> None:
    analyse_texts(imports, "mine", SESSION)
    replayed: list[int] = []

    def replay(*args: Any, **options: Any) -> Situation:
        replayed.append(args[1].number)
        return replayed_situation(*args, **options)

    monkeypatch.setattr(source_games, "replayed_situation", replay)
    table = analyse_texts(imports, "mine", SESSION, MATCH)
    assert replayed == [1, 2, 1, 2], "for their keys, and to be judged"
    assert {row["match"] for row in rows(table)} == {0, 1}


@pytest.mark.parametrize("is_copied", [False, True])
def test_equal_games_of_two_matches_have_their_own_rows(imports: Imports, is_copied: bool) -> None:
    other = MATCH.replace("42: 8/4 6/4", "42: 13/7")  # in the second game
    table = analyse_texts(imports, "first", MATCH, other)
    if is_copied:
        table = analyse_texts(imports, "again", MATCH, other)
    first = [row for row in rows(table) if row["game"] == 0]
    second = [row for row in rows(table) if row["game"] == 2]
    assert {row["match"] for row in first} == {0}
    assert {row["match"] for row in second} == {1}
    names = ("turn", "subject", "xgid", "made", "best", "loss", "luck")
    assert [[row[name] for name in names] for row in first] == [[row[name] for name in names] for row in second]


def test_game_at_another_score_is_judged_anew(imports: Imports) -> None:
    notes = Notes()
    analyse_texts(imports, "old", MATCH)
    analyse_texts(imports, "new", MATCH.replace(" 3 point match", " 5 point match"), progress=notes)
    assert notes.about("judged before") == []


def test_views_list_players_errors_and_matches(imports: Imports) -> None:
    analyse_texts(imports, "m", MATCH)
    imports.build("matches", [imports.file("again.mat", MATCH)], name="again")
    losses = [row["loss"] for row in imports.warehouse.rows("select loss from my_errors")]
    assert losses == sorted(losses, reverse=True) != []
    players = imports.warehouse.rows("from players order by player")
    assert [(row["player"], row["matches"]) for row in players] == [("ann", 1), ("bob", 1)]
    for row in players:
        assert row["decisions"] > 0
        assert row["performance_rating"] > 0
    (match,) = imports.warehouse.rows("select player_0, player_1, n_games, imports from library")
    assert match == {"player_0": "ann", "player_1": "bob", "n_games": 2, "imports": 2}


@each(
    ("change", "message"),
    [
        ({"ply": 4}, "expected a ply of 0 to 3, got 4"),
        ({"ply": -1}, "expected a ply of 0 to 3, got -1"),
        ({"met": "mine"}, "expected own or published as met, got 'mine'"),
        ({"source": VersionRef("selfplay", "x")}, "expected imported matches, such as matches/NAME, got selfplay/x"),
        ({"source": VersionRef("matches", "A b")}, "expected a name of at most 64 small letters"),
        ({"network": "A b"}, "expected the name of a network"),
    ],
)
def test_wrong_parameters_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        DATASET.check_parameters(replace(DATASET.smallest, **change))


def test_missing_source_is_refused(imports: Imports) -> None:
    imports.build("matches", [imports.file("mine.mat", MATCH)])
    with pytest.raises(MissingTableError, match=r"no matches/none in .* \(have: mine\)"):
        imports.warehouse.build("match_analysis", recipe("none"))


def judgement(no_double: float, double_take: float, loss: float = 0.0, kind: ActKind = ActKind.ROLL) -> JudgedAct:
    """A judged cube decision with these equities."""
    act: Any = type("Act", (), {"kind": kind})
    return JudgedAct(act, 2.0, 0, 0, 0, None, CubeValues(2 * no_double, 2 * double_take, 2.0), cube_loss=2 * loss)


@each(
    ("no_double", "double_take", "loss", "counts"),
    {
        "close double": (0.5, 0.55, 0.0, True),
        "close no double": (0.5, 0.4, 0.0, True),
        "far too early": (0.5, 0.29, 0.0, False),
        "far too early, but doubled": (0.5, 0.29, 0.21, True),
        "equal values": (0.5, 0.5005, 0.0, False),
        "equal values, but a loss": (0.5, 0.5005, 0.002, True),
        "too good": (1.3, 1.5, 0.0, False),
        "hopeless": (-0.95, -0.93, 0.0, False),
        "bad, but not hopeless": (-0.95, -0.8, 0.0, True),
    },
)
def test_only_close_or_wrong_doubles_count_for_pr(
    no_double: float, double_take: float, loss: float, counts: bool
) -> None:
    assert counts_for_pr(judgement(no_double, double_take, loss), DOUBLE) is counts


def test_only_answers_with_different_values_count_for_pr() -> None:
    assert counts_for_pr(judgement(0.5, 0.9), ANSWER)
    assert not counts_for_pr(judgement(0.5, 1.0005), ANSWER)


def test_errors_are_named() -> None:
    assert error_of(DOUBLE, "no double", 0.1) == "missed double"
    assert error_of(DOUBLE, "double", 0.1) == "wrong double"
    assert error_of(ANSWER, "pass", 0.1) == "wrong pass"
    assert error_of(ANSWER, "take", 0.1) == "wrong take"
    assert error_of(ANSWER, "take", 0.0) is None
