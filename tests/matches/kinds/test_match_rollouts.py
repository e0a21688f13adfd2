"""Tests of the kind `match_rollouts`: rows against `bgdata rollout`, decisions that were rolled out before, and wrong
parameters."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from bgdata.equity.kinds.match_equity import PUBLISHED
from bgdata.errors import InvalidParameterError, MissingTableError
from bgdata.matches.kinds.match_rollouts import DATASET, MatchRolloutParameters
from bgdata.matches.rolling_out import AnalysedDecision
from bgdata.selfplay.kinds.shared.rollouts_compute import first_met
from bgdata.store.parameters import VersionRef
from bgdata.store.table import Table
from tests.command_line import output_of, run
from tests.imports.importing import Imports
from tests.matches.kinds.test_match_analysis import BEAVERS, MATCH, SESSION, Notes, analyse_texts, rows
from tests.subtests import each

ERRORS = """ 3 point match

 Game 1
 ann : 0                        bob : 0
  1)                             31: 24/23 13/10
  2) 65: 24/18 13/8               Doubles => 2
  3)  Drops
                                  Wins 1 point
"""


def recipe(name: str, **changes: Any) -> MatchRolloutParameters:
    return replace(DATASET.smallest, source=VersionRef("match_analysis", name), **changes)


def roll_out_analysis(imports: Imports, analysis: Table, progress: Notes | None = None, **changes: Any) -> Table:
    """Roll out an analysis with the smallest parameters and these changes."""
    wanted = DATASET.complete(recipe(analysis.manifest.variant, **changes), imports.warehouse)
    return imports.warehouse.build("match_rollouts", wanted, progress=progress)


def mwc_of(imports: Imports, away: int, opponent_away: int) -> float:
    """The match winning chance at a score before the Crawford game."""
    met = first_met(imports.warehouse.build("match_equity", PUBLISHED).arrays())
    return met.mwc(away, opponent_away)


def test_errors_are_rolled_out(imports: Imports) -> None:
    """Every decision that loses enough has its choices once; one is marked as made, one as best by the analysis."""
    analysis = analyse_texts(imports, "m", ERRORS)
    errors = {(row["xgid"], row["subject"], row["made"]): row["best"] for row in rows(analysis) if row["loss"] >= 0.001}
    found = rows(roll_out_analysis(imports, analysis))
    assert {row["subject"] for row in found} >= {"play", "double"}
    assert {(row["xgid"], row["subject"], row["action"]) for row in found if row["is_made"]} == set(errors)
    for number in {row["decision"] for row in found}:
        own = [row for row in found if row["decision"] == number]
        assert [row["choice"] for row in own] == list(range(len(own)))
        assert sum(row["is_made"] for row in own) == sum(row["is_best_by_analysis"] for row in own) == 1
        assert own[0]["loss"] == own[0]["loss_standard_error"] == 0
        for row in own[1:]:
            assert row["loss_mwc"] == pytest.approx(own[0]["value"] - row["value"], abs=1e-8)
        assert {(row["unit"], row["trials"], row["level"]) for row in own} == {("mwc", 72, "rollout, 72 games")}


def test_values_are_those_of_bgdata_rollout(imports: Imports) -> None:
    """With the same seed, `bgdata rollout` gives the same values and losses, for plays and for a double."""
    largest: dict[str, Any] = {"table_points": 6, "table_checkers": 6}  # which `bgdata rollout` chooses
    analysis = analyse_texts(imports, "m", ERRORS, **largest)
    found = rows(roll_out_analysis(imports, analysis, most_plays=0, within=0.0, **largest))
    for subject in ("play", "double"):
        own = [row for row in found if row["subject"] == subject]
        own = [row for row in own if row["decision"] == own[0]["decision"]]
        seed = AnalysedDecision(own[0]["xgid"], subject, "", "").seed
        options = ["--network", "tiny", "--trials", "72", "--seed", str(seed), "--met", "published-12"]
        options += ["--plays", "30", "--within", "3"] if subject == "play" else []
        text = output_of(imports.warehouse.root, "rollout", own[0]["xgid"], *options, "--format", "json")
        values = {row["choice"]: row["value"] for row in json.loads(text)}
        names = {"double": "double, take"}
        for row in own:
            expected = values[names.get(row["action"], row["action"])]
            if row["action"] == "double":
                expected = min(expected, mwc_of(imports, 2, 3))  # the opponent's better answer
            assert row["value"] == pytest.approx(expected, abs=1e-8)


def test_answer_is_valued_for_its_player(imports: Imports) -> None:
    """The values of a take and a pass are for the player who answers: the opponent's chances turned around."""
    analysis = analyse_texts(imports, "m", ERRORS)
    (answer,) = [row for row in rows(analysis) if row["subject"] == "answer"]
    assert answer["loss"] > 0.05, "the pass is an error"
    own = [row for row in rows(roll_out_analysis(imports, analysis)) if row["subject"] == "answer"]
    assert [(row["action"], row["is_made"], row["is_best_by_analysis"]) for row in own] == [
        ("take", False, True),
        ("pass", True, False),
    ]
    assert own[0]["value"] > own[1]["value"]
    assert own[1]["value_standard_error"] == 0
    assert own[1]["value"] == pytest.approx(mwc_of(imports, 3, 2), abs=1e-6)


def test_decisions_are_rolled_out_once(imports: Imports) -> None:
    """Decisions that another version contains are copied from it, and the digest is the same as without it."""
    notes = Notes()
    before = "were rolled out before"
    old = roll_out_analysis(imports, analyse_texts(imports, "old", MATCH), notes)
    assert not [text for text in notes.notes if before in text]
    both = roll_out_analysis(imports, analyse_texts(imports, "new", ERRORS, MATCH), notes)
    count, whole = (int(table.manifest.statistics["decisions"]) for table in (old, both))
    assert [text for text in notes.notes if before in text] == [f"{count} of {whole} decisions {before}"]
    assert 0 < count < whole
    other = Imports(imports.folder / "other")
    assert roll_out_analysis(other, analyse_texts(other, "new", ERRORS, MATCH)).manifest.digest == both.manifest.digest


def test_sessions_with_beavers_are_left_out(imports: Imports) -> None:
    """Decisions of a session with beavers are analysed but not rolled out; those of another session are."""
    analysis = analyse_texts(imports, "both", BEAVERS, SESSION, ERRORS)
    beavers = {row["match"] for row in rows(analysis) if row["made"] == "beaver"}
    assert len(beavers) == 1
    left_out = {row["xgid"] for row in rows(analysis) if row["match"] in beavers}
    found = rows(roll_out_analysis(imports, analysis))
    assert {row["unit"] for row in found} == {"points", "mwc"}
    assert not left_out & {row["xgid"] for row in found}


def test_values_in_money_play_are_in_points(imports: Imports) -> None:
    session = ERRORS.replace(" 3 point match", " 0 point match")
    found = rows(roll_out_analysis(imports, analyse_texts(imports, "money", session)))
    assert {(row["unit"], row["loss_mwc"]) for row in found} == {("points", None)}
    (passed,) = [row for row in found if row["action"] == "pass"]
    assert passed["value"] == -1


def test_analysis_without_large_errors_gives_an_empty_table(imports: Imports) -> None:
    table = roll_out_analysis(imports, analyse_texts(imports, "m", MATCH), least_loss=5.0)
    assert rows(table) == []


@each(
    ("change", "message"),
    [
        ({"source": VersionRef("matches", "x")}, "expected an analysis of matches, such as match_analysis/NAME, got"),
        ({"least_loss": 0.0}, "expected a least loss above 0 points, got 0.0"),
        ({"least_loss": float("nan")}, "expected a least loss above 0 points, got nan"),
        ({"within": -0.1}, "expected 0 or more plays within 0 or more points, got 2 and -0.1"),
        ({"most_plays": -1}, "expected 0 or more plays within 0 or more points, got -1"),
        ({"met": "mine"}, "expected own or published as met, got 'mine'"),
        ({"turns": 3}, "expected rollouts with the cube to end with the game, got stop=exact and turns=3"),
        ({"trials": 10}, "expected a multiple of 36 trials"),
        ({"network": "A b"}, "expected the name of a network"),
    ],
)
def test_wrong_parameters_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        DATASET.check_parameters(replace(DATASET.smallest, **change))


def test_match_equity_table_is_that_of_the_analysis(imports: Imports) -> None:
    """Rollouts use the analysis's match equity table unless another is given, whether or not the analysis is named by
    version."""
    analysis = analyse_texts(imports, "m", MATCH)
    source = VersionRef.parse(analysis.name)
    for given in (source, replace(source, version="")):
        wanted = replace(DATASET.smallest, source=given, met="")
        assert DATASET.complete(wanted, imports.warehouse) == replace(wanted, source=source, met="published")
        other = DATASET.complete(replace(wanted, met="own"), imports.warehouse)
        assert other == replace(wanted, source=source, met="own")


def test_missing_analysis_is_refused(imports: Imports) -> None:
    analyse_texts(imports, "m", MATCH)
    with pytest.raises(MissingTableError, match="match_analysis/none"):
        DATASET.complete(recipe("none"), imports.warehouse)
    result = run(imports.warehouse.root, "build", "match_rollouts", "--set", "source=match_analysis/none")
    assert result.exit_code != 0
    assert result.stderr.count("\n") == 1


def test_errors_are_shown_with_their_rollouts(imports: Imports) -> None:
    """The view, the report and its page show the rollouts of errors, also after matches are imported and analysed
    again."""
    analysis = analyse_texts(imports, "m", ERRORS)
    root = imports.warehouse.root
    assert "by rollout" not in output_of(root, "matches", "ann")
    output_of(root, "build", "match_rollouts", *settings_of(recipe(analysis.manifest.variant)))
    found = imports.warehouse.rows("from my_errors where loss >= 0.001")
    table = imports.warehouse.open("match_rollouts", DATASET.slug(recipe(analysis.manifest.variant)))
    made = {(row["xgid"], row["action"]): row for row in rows(table) if row["is_made"]}
    for row in found:
        rollout = made[row["xgid"], row["made"]]
        assert row["rollout_loss"] == rollout["loss"]
        assert row["rollout_standard_error"] == rollout["loss_standard_error"]
        assert row["rollout_level"] == "rollout, 72 games"
        assert (row["rollout_best"] == row["made"]) == (row["rollout_loss"] == 0)
    (worst, *_) = [row for row in found if row["player"] == "ann"]
    page = imports.folder / "ann.html"
    lines = output_of(root, "matches", "ann", "--page", page).splitlines()
    heading = lines[lines.index(next(line for line in lines if "worst errors" in line)) + 1]
    assert "by rollout" in heading
    assert f"{worst['rollout_loss']:.4f}" in "".join(lines)
    assert "rollout, 72 games" in page.read_text()
    analyse_texts(imports, "m", MATCH, ERRORS)
    assert imports.warehouse.rows("from my_errors where rollout_loss is not null")


def settings_of(wanted: MatchRolloutParameters) -> list[str]:
    """The options of `bgdata build` for these parameters."""
    names = ("source", "least_loss", "most_plays", "met", "network", "trials", "table_points", "table_checkers")
    return [word for name in names for word in ("--set", f"{name}={getattr(wanted, name)}")]
