"""Truth in place of luck: labels against a twin, and the variance that goes."""

from __future__ import annotations

from itertools import pairwise
from math import isnan

import numpy as np
import pytest

import bgdata
from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.evaluation.bearoff import BearoffEvaluator
from bgdata.evaluation.bearoff_kernels import NO_TABLES, BearoffSource
from bgdata.evaluation.chances import cubeless_equities
from bgdata.evaluation.pubeval import PubEval
from bgdata.kernel import threads
from bgdata.selfplay.corpus import Corpus, self_play
from bgdata.selfplay.rescoring import GameOutcomes, Labels, luck_adjusted_equities, rescored_labels, rescoring_report
from tests.reference.luck import Board, luck_adjusted, rescored
from tests.reference.networks import Chances


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return self_play(PubEval().chooser, 60, 9)


def outcomes(corpus: Corpus) -> GameOutcomes:
    return GameOutcomes(corpus.outcomes, corpus.begins, corpus.offsets)


@pytest.fixture(scope="module")
def bearoff(tmp_path_factory: pytest.TempPathFactory) -> BearoffEvaluator:
    warehouse = bgdata.open_warehouse(tmp_path_factory.mktemp("truth"))
    return BearoffEvaluator(
        warehouse.build("bearoff_two_sided", TwoSidedParameters(6, 4)),
        warehouse.build("bearoff_one_sided", RaceParameters(6)),
        warehouse.build("bearoff_gammon", RaceParameters(6)),
    )


@pytest.mark.parametrize("combined", [False, True])
def test_labels_are_those_of_the_twin(bearoff: BearoffEvaluator, corpus: Corpus, combined: bool) -> None:
    found = rescored_labels(bearoff.arrays, outcomes(corpus), corpus.boards, combined=combined)

    def solve(board: Board) -> Chances | None:
        chances, sources = bearoff.evaluate_many(np.array([board], np.int8))
        known = {BearoffSource.EXACT, BearoffSource.COMBINED} if combined else {BearoffSource.EXACT}
        return chances[0].tolist() if sources[0] in known else None

    reached = 0
    for game in range(0, 60, 4):
        rows = slice(*corpus.offsets[game : game + 2])
        turns = rows.stop - rows.start
        points = int(corpus.outcomes[game]) * (1 if (corpus.begins[game] + turns) % 2 == 1 else -1)
        outcome = [float(points > 0), *(float(points > n) for n in (1, 2)), *(float(-points > n) for n in (1, 2))]
        boards = corpus.boards[rows].tolist()
        assert found.outcomes[rows].tolist() == rescored(lambda _: None, boards, outcome)
        assert found.rescored[rows] == pytest.approx(np.array(rescored(solve, boards, outcome)), abs=1e-6)
        covered = [rows.start + turn for turn, board in enumerate(boards) if solve(board)]
        reached += bool(covered)
        for turn in range(turns):
            later = [row for row in covered if row >= rows.start + turn]
            assert found.solved[rows.start + turn] == (later[0] if later else -1)
    assert reached > 0
    assert combined or reached < 15


def test_report(bearoff: BearoffEvaluator) -> None:
    """Noise goes: in the solved region and in all; of what games never reached nothing changes."""
    corpus = self_play(PubEval().chooser, 1500, 10)
    games = outcomes(corpus)
    labels = rescored_labels(bearoff.arrays, games, corpus.boards, combined=True)
    report = rescoring_report(labels)
    assert report.positions == len(corpus.boards)
    assert 0 < report.covered < report.rescored < report.positions
    assert report.variance_after < report.variance_before
    # what is exact does not depend on what is luck: the variances add, but for the noise of a sample
    difference = report.variance_before - report.variance_after
    assert difference == pytest.approx(report.mean_square_change, rel=0.5)
    assert report.mean_square_change_covered > report.mean_square_change
    untouched = labels.solved < 0
    assert np.array_equal(labels.rescored[untouched], labels.outcomes[untouched])
    with threads(1):
        again = rescored_labels(bearoff.arrays, games, corpus.boards, combined=True)
    assert all(np.array_equal(getattr(again, name), values) for name, values in labels._asdict().items())


def test_by_hand() -> None:
    """Two positions, the second solved with an equity of -0.5 to its player, who then won."""
    win, lose = [1, 0, 0, 0, 0], [0, 0, 0, 0, 0]
    labels = Labels(
        np.array([lose, win], np.float32),
        np.array([[0.75, 0, 0, 0, 0], [0.25, 0, 0, 0, 0]], np.float32),
        np.array([1, 1]),
    )
    report = rescoring_report(labels)
    assert (report.positions, report.rescored, report.covered) == (2, 2, 1)
    assert (report.variance_before, report.variance_after) == (1, 0.25)
    assert (report.mean_square_change, report.mean_square_change_covered) == (2.25, 2.25)


def test_without_tables_or_positions(corpus: Corpus) -> None:
    labels = rescored_labels(NO_TABLES, outcomes(corpus), corpus.boards, combined=True)
    assert np.array_equal(labels.rescored, labels.outcomes)
    assert (labels.solved == -1).all()
    report = rescoring_report(labels)
    assert (report.rescored, report.covered, report.mean_square_change) == (0, 0, 0)
    assert isnan(report.mean_square_change_covered)
    nothing = rescoring_report(Labels(**{name: values[:0] for name, values in labels._asdict().items()}))
    assert (nothing.positions, nothing.variance_before) == (0, 0)


WIN, LOSE, LOSE_GAMMON, HALF = [1.0, 0, 0, 0, 0], [0.0, 0, 0, 0, 0], [0.0, 0, 0, 1, 0], [0.5, 0, 0, 0, 0]


def labels_of(outcomes: list[list[float]], rescored: list[list[float]], solved: list[int]) -> Labels:
    return Labels(np.array(outcomes, np.float32), np.array(rescored, np.float32), np.array(solved))


def test_luck_adjusted_equities_by_hand() -> None:
    """Two games: one that its loser lost by bad luck in the last roll but one, one that a table covers in between."""
    labels = labels_of(
        [LOSE_GAMMON, [1.0, 1, 0, 0, 0], LOSE, WIN, LOSE],
        [LOSE_GAMMON, [1.0, 1, 0, 0, 0], HALF, HALF, [0.25, 0, 0, 0, 0]],
        [-1, -1, 3, 3, 4],
    )
    lucks = np.array([-1.5, 0.25, 0.125, 9, 9], np.float32)
    # the second player won a gammon with a lucky roll of 0.25; the first had lost 1.5 by his own roll
    assert luck_adjusted_equities(labels, np.array([0, 2, 5]), lucks).tolist() == [
        -1.75 + 1.5, 1.75,
        -0.0 - 0.125, 0, -0.5,  # what comes after a position that is covered is no luck of the label's
    ]  # fmt: skip


def test_luck_adjusted_equities_of_the_twin() -> None:
    """Games of all lengths, some covered from somewhere on, some here and there, some never."""
    generator = np.random.default_rng(8)
    lengths = generator.integers(1, 60, 200)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    n = int(offsets[-1])
    covered = generator.random(n) < np.repeat(generator.choice([0, 0.02, 0.5], 200), lengths)
    rescored = np.sort(generator.random((n, 5)).astype(np.float32))[:, ::-1] / 2
    solved = np.full(n, -1)
    outcomes = np.zeros((n, 5), np.float32)
    lucks = generator.normal(0, 0.3, n).astype(np.float32)
    expected: list[float] = []
    for begin, end in pairwise(offsets):
        won = int(generator.integers(2))
        for row in range(begin, end):
            later = [place for place in range(row, end) if covered[place]]
            solved[row] = later[0] if later else -1
            outcomes[row, 0] = won ^ (end - 1 - row) % 2
        known = cubeless_equities(np.ascontiguousarray(rescored[begin:end])).tolist()
        table = [known[row] if covered[begin + row] else None for row in range(end - begin)]
        expected += luck_adjusted(table, lucks[begin:end].tolist(), 2 * won - 1)
    found = luck_adjusted_equities(Labels(outcomes, np.ascontiguousarray(rescored), solved), offsets, lucks)
    assert found.dtype == np.float32
    assert found == pytest.approx(np.array(expected), abs=1e-5)
    some = slice(offsets[7], offsets[9])  # two games alone: to the last bit
    part = Labels(
        outcomes[some], np.ascontiguousarray(rescored[some]), np.where(solved[some] < 0, -1, solved[some] - offsets[7])
    )
    assert np.array_equal(luck_adjusted_equities(part, offsets[7:10] - offsets[7], lucks[some]), found[some])


def test_without_luck_or_turns() -> None:
    labels = labels_of([LOSE, WIN], [HALF, HALF], [1, 1])
    assert np.isnan(luck_adjusted_equities(labels, np.array([0, 2]), np.full(2, np.nan, np.float32))).all()
    nothing = Labels(np.zeros((0, 5), np.float32), np.zeros((0, 5), np.float32), np.zeros(0, np.int64))
    assert luck_adjusted_equities(nothing, np.zeros(1, np.int64), np.zeros(0, np.float32)).shape == (0,)
