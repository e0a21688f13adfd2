"""Tests of the kind `race_rules`, against a corpus and a table read one position at a time."""

import shutil
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

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


Row = tuple[str, str, str, int, float, float]


@pytest.fixture(scope="module")
def rows(root: Path) -> list[Row]:
    """The rows of the table: (rule, weighting, part, occurrences, total loss, total errors), in order of decisions."""
    with bgdata.open_warehouse(root).connect() as connection:
        return connection.execute(
            "select rule, weighting, part, occurrences, mean_loss_per_cube * occurrences, error_share * occurrences "
            "from race_rules where variant = ? order by cube_decision",
            [DATASET.slug(FEW_GAMES)],
        ).fetchall()


@pytest.mark.parametrize("rule", list(reference.BY_LAYOUT))
@pytest.mark.parametrize(("weighting", "part"), [("played", "all"), ("played", "tested"), ("longer", "all")])
def test_losses_of_rules_in_play(root: Path, rows: list[Row], rule: str, weighting: str, part: str) -> None:
    """What a rule loses in the positions of the corpus equals a sum over turns in plain Python."""
    exact = TwoSidedTable(bgdata.open_warehouse(root).open("bearoff_two_sided", "6x6"))
    lost = [0.0] * 3
    wrong = [0] * 3
    occurrences = 0
    for (own, other), count in turns_by_pair(root).items():
        if weighting == "longer" and min(sum(own), sum(other)) < 5:
            continue
        pair = position_index(own), position_index(other)
        if part == "tested" and not is_tested(*(np.array([index]) for index in pair))[0]:
            continue
        equities = exact.probe(list(own), list(other))
        taken = 2 * equities.opponent_owned
        margins = (min(taken, 1) - equities.centered, min(taken, 1) - equities.owned, 1 - taken)
        occurrences += count
        for n, (margin, acts) in enumerate(zip(margins, reference.BY_LAYOUT[rule](own, other), strict=True)):
            if abs(margin) > 1e-6 and acts != (margin > 0):
                lost[n] += count * abs(margin)
                wrong[n] += count * (abs(margin) > 1e-5)
    assert occurrences > 20
    rule_rows = [row[3:] for row in rows if row[:3] == (rule, weighting, part)]
    assert [row[0] for row in rule_rows] == [occurrences] * 3
    assert [row[1] for row in rule_rows] == pytest.approx(lost, abs=1e-4)
    assert [row[2] for row in rule_rows] == pytest.approx(wrong)


def test_rows_of_the_smallest_version_are_complete(small_root: Path) -> None:
    """There is a row for each rule, decision, weighting and part; half of the pairs are tested."""
    table = bgdata.open_warehouse(small_root).open("race_rules", DATASET.slug(DATASET.smallest))
    assert table.manifest.rows == len(NAMES) * 3 * 3 * 2
    assert table.manifest.statistics["pairs"] == 923 * 923
    with bgdata.open_warehouse(small_root).connect() as connection:
        sources = dict(connection.sql("select distinct rule, source from race_rules").fetchall())
        tested = connection.sql(
            "select distinct part, positions from race_rules where weighting = 'equal' order by 1"
        ).fetchall()
    assert sources.keys() == set(NAMES)
    assert {name: sources[name] for name in RULES} == {name: rule.source for name, rule in RULES.items()}
    assert [sources[name].startswith("pips") for name in NAMES[-3:]] == [True] * 3
    assert tested[0] == ("all", 923 * 923)
    assert tested[1][0] == "tested"
    assert abs(tested[1][1] / 923**2 - 0.5) < 0.01


def test_corpus_without_covered_positions_has_no_means(tmp_path: Path) -> None:
    """If no position of the corpus is in the table, means are null, and the search returns its first start."""
    warehouse = bgdata.open_warehouse(tmp_path)
    table = warehouse.build(DATASET.name, DATASET.smallest.with_changes({"points": 2, "checkers": 1}))
    assert table.manifest.statistics["played_positions"] == 0
    with warehouse.connect() as connection:
        rows = connection.sql(
            "select distinct occurrences, mean_loss_per_cube, error_share, largest_loss, on_roll_index from race_rules "
            "where weighting <> 'equal'"
        ).fetchall()
        sources = connection.sql(
            "select distinct split_part(source, ';', 1) from race_rules where rule in ('found-played', 'found-longer')"
        ).fetchall()
    assert rows == [(0, None, None, None, None)]
    assert sources == [(formula_text(FoundRule(STARTS[0], (0, 0, 0, 0))).split(";")[0],)]


def test_found_rules_lose_no_more_than_keiths_in_training(rows: list[Row]) -> None:
    """On the training half of the pairs, the rule found for a weighting loses no more than Keith's rule."""
    lost: defaultdict[tuple[str, str], float] = defaultdict(float)
    for rule, weighting, part, _, loss, _ in rows:
        lost[weighting, rule] += loss if part == "all" else -loss
    for weighting in ("equal", "played", "longer"):
        assert lost[weighting, f"found-{weighting}"] <= lost[weighting, "keith"] + 1e-6


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
