"""Truth in place of luck: labels against a twin, and the variance that goes."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest

import bgdata
from bgdata.datasets.bearoff_two_sided import TwoSidedParameters
from bgdata.datasets.common.race import RaceParameters
from bgdata.evaluation.bearoff import BearoffEvaluator
from bgdata.evaluation.bearoff_kernels import NO_TABLES, BearoffSource
from bgdata.evaluation.pubeval import PubEval
from bgdata.kernel import threads
from bgdata.play.corpus import Corpus, self_play
from bgdata.play.rescoring import GameOutcomes, Labels, rescored_labels, rescoring_report
from tests.reference.luck import Board, rescored
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
