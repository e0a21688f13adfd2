"""Parts of the contact positions: k-means against a reference in fractions, and the examples of each network."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.evaluation.chances import Chances, cubeless_equities
from bgdata.evaluation.networks.inputs import input_count
from bgdata.game.board_kernels import position_classes
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards
from bgdata.game.themes import position_themes
from bgdata.store.executors import InProcess
from bgdata.training.networks import FloatNetworks
from bgdata.training.recipes import SupervisedRecipe
from bgdata.training.supervised.examples import Examples
from bgdata.training.supervised.parts import (
    INPUTS,
    Arm,
    PartsRun,
    Scheme,
    arms_of,
    errors_of,
    integer_inputs,
    k_means,
    nearest_centres,
    new_part_networks,
    part_equities,
    part_examples,
    rounded_parts,
)
from tests.training.labels import sample_boards

SEED = 3


@dataclass(frozen=True)
class Labels:
    """A feed of one batch."""

    boards: Boards
    targets: Chances
    classes: NDArray[np.uint8]

    @property
    def row_count(self) -> int:
        return len(self.boards)

    @property
    def class_counts(self) -> NDArray[np.int64]:
        return np.bincount(self.classes)

    def __len__(self) -> int:
        return 1

    def batch(self, _epoch: int, _number: int) -> Labels:
        return self


@pytest.fixture(scope="module")
def labels() -> Labels:
    """A feed of contact and crashed positions, in which the side with fewer pips wins more often and a quarter of wins
    are gammons."""
    boards = sample_boards(60)
    classes = position_classes(boards)
    is_contact = (classes == PositionClass.CONTACT) | (classes == PositionClass.CRASHED)
    boards = np.ascontiguousarray(boards[is_contact])
    classes = classes[is_contact].astype(np.uint8)
    lead = boards.astype(np.int64) @ np.arange(26)  # lead, because the opponent's checkers are negative
    win = (1 / (1 + np.exp(lead / 60))).astype(np.float32)
    none = np.zeros(len(win), np.float32)
    return Labels(boards, np.stack([win, win / 4, none, (1 - win) / 4, none], axis=1), classes)


def test_inputs_are_whole_numbers(labels: Labels) -> None:
    values = integer_inputs(labels.boards)
    assert values.shape == (len(labels.boards), input_count(INPUTS))
    assert (values == np.rint(values)).all()
    assert values.max() < 1 << 15


def test_nearest_centre_is_exact(labels: Labels) -> None:
    """The nearest centre of each position equals that of exact arithmetic; between equal centres the first is taken."""
    values = integer_inputs(labels.boards[:40])
    centres = np.stack([values[3], values[11], values[3], values[20]])
    for row, part in enumerate(nearest_centres(values, centres).tolist()):
        distances = [
            sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(values[row], centre, strict=True))
            for centre in centres
        ]
        assert distances.index(min(distances)) == part


def test_k_means_finds_separate_clusters() -> None:
    """k-means finds three separate clusters: each centre is the rounded mean of one."""
    draw = np.random.default_rng(SEED)
    clusters = [draw.integers(-3, 4, (50, 5)) + centre for centre in (0, 500, -900)]
    values = np.concatenate(clusters).astype(np.float64)
    centres = k_means(values, 3, SEED)
    expected = sorted(np.rint(cluster.mean(axis=0)).tolist() for cluster in clusters)
    assert sorted(centres.tolist()) == expected
    assert len(np.unique(nearest_centres(values, centres))) == 3


def test_k_means_allows_empty_parts() -> None:
    values = np.array([[0.0, 0.0], [8.0, 8.0]])
    parts = nearest_centres(values, k_means(values, 4, SEED)).tolist()
    assert len(set(parts)) == 2
    assert nearest_centres(values, k_means(values, 4, SEED)).tolist() == parts


def test_k_means_reduces_distances(labels: Labels) -> None:
    """With more parts, positions are nearer to their centres; each position is in the nearest part."""
    values = integer_inputs(labels.boards)
    sums = []
    for count in (1, 2, 4, 8):
        centres = k_means(values, count, SEED)
        distances = ((values[:, None] - centres) ** 2).sum(axis=2)
        assert np.array_equal(
            distances.min(axis=1), distances[np.arange(len(values)), nearest_centres(values, centres)]
        )
        sums.append(distances.min(axis=1).sum())
    assert sums == sorted(sums, reverse=True)
    assert sums[-1] < 0.8 * sums[0]


def test_parts_by_hand_follow_themes(labels: Labels) -> None:
    boards = labels.boards
    values = integer_inputs(labels.boards)
    one, classes, themes, *_ = arms_of((2,), Examples(labels.boards, labels.targets), SEED)
    assert one.size == 1
    assert classes.size == 2
    assert themes.size == 12
    assert not one.parts(boards, values).any()
    assert np.array_equal(classes.parts(boards, values) == 1, position_classes(boards) == PositionClass.CONTACT)
    assert np.array_equal(themes.parts(boards, values), position_themes(boards))


def test_every_position_is_in_one_part_of_each_arm(labels: Labels) -> None:
    examples = Examples(labels.boards, labels.targets)
    arms = arms_of((2, 5), examples, SEED)
    tasks = part_examples(arms, examples)
    first = 0
    for arm in arms:
        assert sum(len(task.boards) for task in tasks[first : first + arm.size]) == len(labels.boards)
        first += arm.size
    assert first == len(tasks)


def test_networks_learn_from_their_part_alone(labels: Labels) -> None:
    """A network whose part has no positions keeps its weights; the others change, in the same way on any number of
    threads."""
    far = np.full((1, input_count(INPUTS)), 3000.0)  # a centre without positions
    near = integer_inputs(labels.boards[:1])
    arms = [Arm(Scheme.ONE, 1, near[:0]), Arm(Scheme.K_MEANS, 2, np.concatenate([near, far]))]
    weights_by_executor = []
    for executor in (InProcess(), ThreadPoolExecutor(2)):
        networks = new_part_networks(arms, 4, SEED)
        before = networks.weights.copy().reshape(3, -1)
        assert (before == before[0]).all()  # equal first weights
        run = PartsRun(SupervisedRecipe(epochs=2, learning_rate=0.01), arms, networks)
        with executor:
            for epoch in range(2):
                run.learn_epoch(labels, epoch, 1, executor)
        after = networks.weights.reshape(3, -1)
        assert run.learned.tolist() == [2 * len(labels.boards), 2 * len(labels.boards), 0]
        assert np.array_equal(after[0], after[1])  # both learned from all positions
        assert np.array_equal(after[2], before[2])
        assert not np.array_equal(after[0], before[0])
        weights_by_executor.append(after.copy())
        assert rmse_of(networks, 0, labels) < rmse_of(networks, 2, labels)
    assert np.array_equal(weights_by_executor[0], weights_by_executor[1])


def rmse_of(networks: FloatNetworks, number: int, labels: Labels) -> float:
    """The RMSE of equities of one of the networks on all positions."""
    all_in_part_0 = np.zeros(len(labels.boards), np.int64)
    equities = part_equities(rounded_parts(networks), number, all_in_part_0, labels.boards)
    return errors_of(equities, cubeless_equities(labels.targets), np.arange(len(labels.targets))).rmse


def test_equities_are_by_the_network_of_the_part(labels: Labels) -> None:
    """Each position's equity is that of its own part's network."""
    arms = [Arm(Scheme.CLASSES, 2, np.empty((0, input_count(INPUTS))))]
    networks = new_part_networks(arms, 4, SEED)
    networks.weights[len(networks.weights) // 2 :] *= -2
    rounded = rounded_parts(networks)
    boards = labels.boards
    parts = arms[0].parts(boards, integer_inputs(boards))
    equities_by_part = [part_equities(rounded, 0, np.full(len(boards), part), boards) for part in (0, 1)]
    assert np.array_equal(part_equities(rounded, 0, parts, boards), np.where(parts == 0, *equities_by_part))
    assert not np.array_equal(equities_by_part[0], equities_by_part[1])


def test_errors_equal_plain_sums() -> None:
    """RMSE, bias and standard error equal sums by hand, with each position or each game as an observation."""
    equities, expected = np.array([1, 0, -1, 2], np.float32), np.array([0, 0, 0, 0], np.float32)
    apart = np.arange(4)
    errors = errors_of(equities, expected, apart)
    assert errors.positions == 4
    assert errors.rmse == pytest.approx(1.5**0.5)
    assert errors.bias == 0.5
    assert errors.rmse_standard_error == pytest.approx(np.std([1, 0, 1, 4], ddof=1) / 2 / (2 * 1.5**0.5))
    of_two_games = errors_of(equities, expected, np.array([0, 0, 1, 1]))
    assert of_two_games[:2] == errors[:2]
    assert of_two_games.rmse_standard_error == pytest.approx(np.std([1, 5], ddof=1) / 2 / 2**0.5 / (2 * 1.5**0.5))
    assert set(errors_of(expected, expected, apart)[1:]) == {0}
    none = errors_of(equities[:0], expected[:0], apart[:0])
    assert none.positions == 0
    assert np.isnan(none.rmse)
