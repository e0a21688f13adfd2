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
from tests.matches.kinds.test_match_analysis import BEAVERS, MATCH, Notes, analyse_texts, rows
from tests.subtests import each

ERRORS = """ 3 point match

 Game 1
 ann : 0                        bob : 0
  1)                             31: 24/23 13/10
  2) 65: 24/18 13/8               Doubles => 2
  3)  Drops
                                  Wins 1 point
"""
ONLY_MADE_AND_BEST: dict[str, Any] = {"most_plays": 0, "within": 0.0}  # plays, which makes rollouts fast
MONEY_ERRORS = ERRORS.replace(" 3 point match", " 0 point match")


def recipe(name: str, **changes: Any) -> MatchRolloutParameters:
    return replace(DATASET.smallest, source=VersionRef("match_analysis", name), **changes)


def roll_out_analysis(imports: Imports, analysis: Table, progress: Notes | None = None, **changes: Any) -> Table:
    """Roll out an analysis with the smallest parameters and these changes."""
    parameters = DATASET.complete(recipe(analysis.manifest.variant, **changes), imports.warehouse)
    return imports.warehouse.build("match_rollouts", parameters, progress=progress)


def mwc_of(imports: Imports, away: int, opponent_away: int) -> float:
    """The match winning chance at a score before the Crawford game."""
    met = first_met(imports.warehouse.build("match_equity", PUBLISHED).arrays())
    return met.mwc(away, opponent_away)


def test_errors_are_rolled_out(imports: Imports) -> None:
    """Every decision that loses enough has its choices once; one is marked as made, one as best by the analysis."""
    analysis = analyse_texts(imports, "m", ERRORS)
    errors = {(row["xgid"], row["subject"], row["made"]) for row in rows(analysis) if row["loss"] >= 0.001}
    choices = rows(roll_out_analysis(imports, analysis))
    assert {row["subject"] for row in choices} >= {"play", "double"}
    assert {(row["xgid"], row["subject"], row["action"]) for row in choices if row["is_made"]} == errors
    for number in {row["decision"] for row in choices}:
        own = [row for row in choices if row["decision"] == number]
        assert [row["choice"] for row in own] == list(range(len(own)))
        assert sum(row["is_made"] for row in own) == 1
        assert sum(row["is_best_by_analysis"] for row in own) == 1
        assert own[0]["loss"] == own[0]["loss_standard_error"] == 0
        for row in own:
            assert row["loss_mwc"] == pytest.approx(own[0]["value"] - row["value"], abs=1e-8)
            assert (row["unit"], row["trials"], row["level"]) == ("mwc", 72, "rollout, 72 games")


def test_values_are_those_of_bgdata_rollout(imports: Imports) -> None:
    largest: dict[str, Any] = {"table_points": 6, "table_checkers": 6}  # which `bgdata rollout` chooses
    analysis = analyse_texts(imports, "m", ERRORS, **largest)
    choices = rows(roll_out_analysis(imports, analysis, **ONLY_MADE_AND_BEST, **largest))

    def choices_of_first(subject: str) -> list[dict[str, Any]]:
        decision = next(row["decision"] for row in choices if row["subject"] == subject)
        return [row for row in choices if row["decision"] == decision]

    def values_of_command(xgid: str, subject: str, *options: str) -> dict[str, float]:
        seed = AnalysedDecision(xgid, subject, "", "").seed
        options += ("--network", "contact-160", "--trials", "72", "--seed", str(seed), "--met", "published-12")
        text = output_of(imports.warehouse.root, "rollout", xgid, *options, "--format", "json")
        return {row["choice"]: row["value"] for row in json.loads(text)}

    plays = choices_of_first("play")
    expected = values_of_command(plays[0]["xgid"], "play", "--plays", "30", "--within", "3")
    for row in plays:
        assert row["value"] == pytest.approx(expected[row["action"]], abs=1e-8)
    actions = choices_of_first("double")
    expected = values_of_command(actions[0]["xgid"], "double")
    expected["double"] = min(expected["double, take"], mwc_of(imports, 2, 3))  # the opponent's better answer
    for row in actions:
        assert row["value"] == pytest.approx(expected[row["action"]], abs=1e-8)


def test_answer_is_valued_for_its_player(imports: Imports) -> None:
    """The values of a take and a pass are for the player who answers: the opponent's chances turned around."""
    analysis = analyse_texts(imports, "m", ERRORS)
    (answer,) = [row for row in rows(analysis) if row["subject"] == "answer"]
    assert answer["loss"] > 0.05, "the pass is an error"
    take, passed = [row for row in rows(roll_out_analysis(imports, analysis)) if row["subject"] == "answer"]
    assert (take["action"], take["is_made"], take["is_best_by_analysis"]) == ("take", False, True)
    assert (passed["action"], passed["is_made"], passed["is_best_by_analysis"]) == ("pass", True, False)
    assert take["value"] > passed["value"]
    assert passed["value_standard_error"] == 0
    assert passed["value"] == pytest.approx(mwc_of(imports, 3, 2), abs=1e-6)


def test_decisions_are_rolled_out_once(imports: Imports) -> None:
    """Decisions that another version contains are copied from it, and the digest is the same as without it."""
    notes = Notes()
    old = roll_out_analysis(imports, analyse_texts(imports, "old", MATCH), notes, **ONLY_MADE_AND_BEST)
    assert notes.about("were rolled out before") == []
    both = roll_out_analysis(imports, analyse_texts(imports, "new", ERRORS, MATCH), notes, **ONLY_MADE_AND_BEST)
    n_old, n_both = (int(table.manifest.statistics["decisions"]) for table in (old, both))
    assert 0 < n_old < n_both
    assert notes.about("were rolled out before") == [f"{n_old} of {n_both} decisions were rolled out before"]
    other = Imports(imports.folder / "other")
    without_old = roll_out_analysis(other, analyse_texts(other, "new", ERRORS, MATCH), **ONLY_MADE_AND_BEST)
    assert without_old.manifest.digest == both.manifest.digest


def test_sessions_with_beavers_are_left_out(imports: Imports) -> None:
    other_session = MONEY_ERRORS.replace("31: 24/23 13/10", "41: 24/23 13/9")  # no position occurs in both
    analysis = analyse_texts(imports, "both", BEAVERS, other_session, ERRORS)
    (beaver,) = [row for row in rows(analysis) if row["made"] == "beaver"]
    session_with_beaver = {row["xgid"] for row in rows(analysis) if row["match"] == beaver["match"]}
    choices = rows(roll_out_analysis(imports, analysis, **ONLY_MADE_AND_BEST))
    assert {row["unit"] for row in choices} == {"points", "mwc"}
    assert session_with_beaver.isdisjoint(row["xgid"] for row in choices)


def test_values_in_money_play_are_in_points(imports: Imports) -> None:
    choices = rows(roll_out_analysis(imports, analyse_texts(imports, "money", MONEY_ERRORS)))
    assert {(row["unit"], row["loss_mwc"]) for row in choices} == {("points", None)}
    (passed,) = [row for row in choices if row["action"] == "pass"]
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


@pytest.mark.parametrize("by_version", [True, False])
def test_match_equity_table_is_that_of_the_analysis(imports: Imports, by_version: bool) -> None:
    """Rollouts use the analysis's match equity table unless another is given, whether or not the analysis is named by
    version."""
    source = VersionRef.parse(analyse_texts(imports, "m", MATCH).name)
    parameters = replace(DATASET.smallest, source=source if by_version else replace(source, version=""), met="")
    completed = DATASET.complete(parameters, imports.warehouse)
    assert completed == replace(parameters, source=source, met="published")
    with_own_met = DATASET.complete(replace(parameters, met="own"), imports.warehouse)
    assert with_own_met == replace(parameters, source=source, met="own")


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
    parameters = recipe(analysis.manifest.variant)
    output_of(root, "build", "match_rollouts", *settings_of(parameters))
    table = imports.warehouse.open("match_rollouts", DATASET.slug(parameters))
    choices_made = {(row["xgid"], row["action"]): row for row in rows(table) if row["is_made"]}
    errors = imports.warehouse.rows("from my_errors where loss >= 0.001")
    for row in errors:
        rollout = choices_made[row["xgid"], row["made"]]
        assert row["rollout_loss"] == rollout["loss"]
        assert row["rollout_standard_error"] == rollout["loss_standard_error"]
        assert row["rollout_level"] == "rollout, 72 games"
        assert (row["rollout_best"] == row["made"]) == (row["rollout_loss"] == 0)
    worst_error_of_ann = next(row for row in errors if row["player"] == "ann")
    page = imports.folder / "ann.html"
    report = output_of(root, "matches", "ann", "--page", page)
    assert "by rollout" in report.partition("worst errors")[2].splitlines()[1]
    assert f"{worst_error_of_ann['rollout_loss']:.4f}" in report
    assert "rollout, 72 games" in page.read_text()
    analyse_texts(imports, "m", MATCH, ERRORS)
    assert imports.warehouse.rows("from my_errors where rollout_loss is not null")


def settings_of(parameters: MatchRolloutParameters) -> list[str]:
    """The options of `bgdata build` for these parameters."""
    names = ("source", "least_loss", "most_plays", "met", "network", "trials", "table_points", "table_checkers")
    return [word for name in names for word in ("--set", f"{name}={getattr(parameters, name)}")]
