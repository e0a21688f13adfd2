"""Tests of the kind `race_rules`, against a corpus and a table read one position at a time."""

import shutil
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.bearoff.index import position_index
from bgdata.bearoff.tables import TwoSidedTable
from bgdata.errors import InvalidParameterError
from bgdata.studies.kinds.race_rules import DATASET, RaceRuleParameters
from bgdata.studies.kinds.race_rules_compute import SEARCH_PAIRS, formula_text, searched_pairs
from bgdata.studies.race_rules import NAMES, RULES, Penalties
from bgdata.studies.race_scores import is_tested
from bgdata.studies.race_search import STARTS, FoundRule
from tests.contract.kinds import smallest_version
from tests.reference import race_rules as reference

CHECKERS = 6
FEW_GAMES = RaceRuleParameters("pubeval", "2", games=300, seed=3, checkers=CHECKERS)


@pytest.fixture(scope="module")
def root(small_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with rules scored on the races of some hundred games."""
    root = tmp_path_factory.mktemp("rules") / "warehouse"
    shutil.copytree(small_root, root)
    bgdata.open_warehouse(root).build(DATASET.name, FEW_GAMES)
    return root


@cache
def turns_by_pair(root: Path) -> Counter[tuple[tuple[int, ...], tuple[int, ...]]]:
    """In how many turns of the corpus each pair of layouts of the table occurs."""
    boards = bgdata.open_warehouse(root).open("selfplay", "pubeval-300-seed-3").array("turn_boards")
    turns: Counter[tuple[tuple[int, ...], tuple[int, ...]]] = Counter()
    for board in boards.tolist():
        own = tuple(max(count, 0) for count in board)
        other = tuple(max(-count, 0) for count in reversed(board))
        if all(0 < sum(side[1:7]) == sum(side) <= CHECKERS for side in (own, other)):
            turns[own[1:7], other[1:7]] += 1
    return turns


@pytest.fixture(scope="module")
def rows(root: Path) -> list[dict[str, Any]]:
    """The rows of the table, in order of decisions, with total losses and errors."""
    return bgdata.open_warehouse(root).rows(
        "select rule, weighting, part, occurrences, mean_loss_per_cube * occurrences as loss, "
        f"error_share * occurrences as errors from race_rules where variant = '{DATASET.slug(FEW_GAMES)}' "
        "order by cube_decision"
    )


@pytest.mark.parametrize("rule", list(reference.BY_LAYOUT))
@pytest.mark.parametrize(("weighting", "part"), [("played", "all"), ("played", "tested"), ("longer", "all")])
def test_losses_of_rules_in_play(root: Path, rows: list[dict[str, Any]], rule: str, weighting: str, part: str) -> None:
    """What a rule loses in the positions of the corpus equals a sum over turns in plain Python."""
    exact = TwoSidedTable(bgdata.open_warehouse(root).open("bearoff_two_sided", "6x6"))
    losses = [0.0] * 3
    errors = [0] * 3
    occurrences = 0
    for (on_roll, opponent), count in turns_by_pair(root).items():
        if weighting == "longer" and min(sum(on_roll), sum(opponent)) < 5:
            continue
        indexes = np.array([position_index(on_roll)]), np.array([position_index(opponent)])
        if part == "tested" and not is_tested(*indexes)[0]:
            continue
        occurrences += count
        equities = exact.probe(list(on_roll), list(opponent))
        doubled = 2 * equities.opponent_owned
        margins = (min(doubled, 1) - equities.centered, min(doubled, 1) - equities.owned, 1 - doubled)
        acts = reference.BY_LAYOUT[rule](on_roll, opponent)
        for decision, margin in enumerate(margins):
            if abs(margin) > 1e-6 and acts[decision] != (margin > 0):
                losses[decision] += count * abs(margin)
                errors[decision] += count * (abs(margin) > 1e-5)
    assert occurrences > 20
    rule_rows = [row for row in rows if row["rule"] == rule and row["weighting"] == weighting and row["part"] == part]
    assert [row["occurrences"] for row in rule_rows] == [occurrences] * 3
    assert [row["loss"] for row in rule_rows] == pytest.approx(losses, abs=1e-4)
    assert [row["errors"] for row in rule_rows] == pytest.approx(errors)


def test_rows_of_the_smallest_version_are_complete(small_root: Path) -> None:
    """There is a row for each rule, decision, weighting and part; half of the pairs are tested."""
    table = smallest_version(small_root, DATASET)
    assert table.manifest.rows == len(NAMES) * 3 * 3 * 2
    assert table.manifest.statistics["pairs"] == 923 * 923
    rows = bgdata.open_warehouse(small_root).rows("from race_rules")
    assert {row["rule"] for row in rows} == set(NAMES)
    for row in rows:
        if row["rule"] in RULES:
            assert row["source"] == RULES[row["rule"]].source
        else:
            assert row["source"].startswith("pips")  # a rule that was found
        if row["weighting"] == "equal":
            share = {"all": 1, "tested": pytest.approx(0.5, abs=0.01)}[row["part"]]
            assert row["positions"] / 923**2 == share


def test_corpus_without_covered_positions_has_no_means(tmp_path: Path) -> None:
    """If no position of the corpus is in the table, means are null, and the search returns its first start."""
    warehouse = bgdata.open_warehouse(tmp_path)
    table = warehouse.build(DATASET.name, DATASET.smallest.with_changes({"points": 2, "checkers": 1}))
    assert table.manifest.statistics["played_positions"] == 0
    first_start, _, _ = formula_text(FoundRule(STARTS[0], (0, 0, 0, 0))).partition(";")
    rows = warehouse.rows("from race_rules where weighting <> 'equal'")
    assert {row["rule"] for row in rows} == set(NAMES)
    for row in rows:
        assert row["occurrences"] == 0
        for column in ("mean_loss_per_cube", "error_share", "largest_loss", "on_roll_index"):
            assert row[column] is None
        if row["rule"] in ("found-played", "found-longer"):
            assert row["source"].startswith(first_start)


@pytest.mark.parametrize("weighting", ["equal", "played", "longer"])
def test_found_rules_lose_no_more_than_keiths_in_training(rows: list[dict[str, Any]], weighting: str) -> None:
    """On the training half of the pairs, which are those that are not tested."""
    training_losses: defaultdict[str, float] = defaultdict(float)
    for row in rows:
        if row["weighting"] == weighting:
            training_losses[row["rule"]] += row["loss"] if row["part"] == "all" else -row["loss"]
    assert training_losses[f"found-{weighting}"] <= training_losses["keith"] + 1e-6


def test_searched_pairs_are_all_or_a_uniform_sample() -> None:
    pairs = [side.tolist() for side in searched_pairs(3)]
    assert pairs == [[1, 1, 1, 2, 2, 2, 3, 3, 3], [1, 2, 3] * 3]
    for side in searched_pairs(5004):
        counts = np.bincount(side, minlength=5005)
        assert counts.sum() == SEARCH_PAIRS
        assert counts[0] == 0
        expected = SEARCH_PAIRS / 5004
        assert len(counts) == 5005
        assert abs(((counts[1:] - expected) ** 2).mean() / expected - 1) < 0.1  # as for independent draws


def test_formula_is_written_in_words() -> None:
    """The formula of a found rule is written in words, with penalties, the part that is added, and limits."""
    keith = Penalties(ace=2, ace_spare=1, deuce=1, deuce_spare=1, three=1, three_spare=3, gap=1)
    assert formula_text(FoundRule(keith, (7, -4, -3, -2))) == (
        "pips, +2 for each checker beyond 1 on the ace point, +1 for each checker beyond 1 on the deuce point, "
        "+1 for each checker beyond 3 on the three point, +1 for each gap on points 4, 5 and 6; the player on roll "
        "adds 1/7, rounded down; double if the opponent then has -4 or more, redouble from -3, take up to -2"
    )
    assert formula_text(FoundRule(Penalties(point=1), (0, 1, 2, 3))) == (
        "pips, -1 for each home point held; the player on roll adds nothing; double if the opponent then has +1 or "
        "more, redouble from +2, take up to +3"
    )
    assert formula_text(FoundRule(Penalties(), (0, 1, 2, 3))).startswith("pips; the player on roll adds nothing; ")
    assert formula_text(FoundRule(Penalties(ace=1), (0, 1, 2, 3))).startswith(
        "pips, +1 for each checker on the ace point; "
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"points": 19}, "expected 1 to 18 points and 1 to 15 checkers, got 19 points and 9 checkers"),
        ({"checkers": 0}, "expected 1 to 18 points and 1 to 15 checkers, got 6 points and 0 checkers"),
        ({"games": 0}, "expected 1 to 1,073,741,824 games, got 0"),
    ],
)
def test_invalid_parameters_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=f"^{message}$"):
        DATASET.check_parameters(RaceRuleParameters().with_changes(change))
