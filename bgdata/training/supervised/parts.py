"""Contact positions in parts, each with its own network. Parts are made by hand, or by k-means over the inputs.

Parts and networks are the same on any machine and number of threads, because sums are exact or in a fixed order: inputs
and centres are whole numbers, and their products fit float64.
"""

from __future__ import annotations

from concurrent.futures import Executor
from enum import IntEnum
from itertools import repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.answers import NETWORK_CLASSES, evaluations
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.chances import cubeless_equities
from bgdata.evaluation.networks.contact_inputs import UNIT
from bgdata.evaluation.networks.inference import Networks
from bgdata.evaluation.networks.input_sets import InputSet
from bgdata.evaluation.networks.inputs import input_count
from bgdata.evaluation.value_errors import ErrorSummary, error_summary
from bgdata.game.board_kernels import position_classes
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards
from bgdata.game.random import random_bits, random_stream
from bgdata.game.themes import Theme, position_themes
from bgdata.kernel import read_only, threads
from bgdata.training.networks import FloatNetworks, new_networks, numbers_of, rounded_networks
from bgdata.training.recipes import SupervisedRecipe
from bgdata.training.supervised.examples import Examples, LabelledBatches, examples_by_network, fill_dense
from bgdata.training.supervised.trainer import KernelTrainer

Values = NDArray[np.float64]
Places = NDArray[np.int64]
INPUTS = InputSet.TESAURO_196
CONTACT_THEMES = Theme.RACE  # themes with lower numbers have contact
_ROUNDS = 50  # maximum number of rounds of k-means
_CENTRE_ROWS = 50_000  # maximum number of positions for k-means


class Scheme(IntEnum):
    """How contact positions are divided into parts; its number is stored."""

    ONE = 0
    CLASSES = 1
    THEMES = 2
    K_MEANS = 3


class Arm(NamedTuple):
    """One division of positions into parts, to compare with others."""

    scheme: Scheme
    size: int  # number of parts
    centres: Values  # [part, input], for K_MEANS only

    def parts(self, boards: Boards, values: Values) -> Places:
        """Return the part of each position, from 0, as int64[n]. `values` are their integer inputs."""
        if self.scheme is Scheme.ONE:
            return np.zeros(len(boards), np.int64)
        if self.scheme is Scheme.CLASSES:
            return np.asarray(position_classes(boards) == PositionClass.CONTACT, np.int64)
        if self.scheme is Scheme.THEMES:
            return np.asarray(position_themes(boards), np.int64)
        return nearest_centres(values, self.centres)


def contact_examples(groups: list[Examples]) -> Examples:
    """Return the contact and crashed positions, from the examples of each network in `groups`."""
    pair = (groups[NETWORK_CLASSES.index(name)] for name in ("contact", "crashed"))
    return Examples(*map(np.concatenate, zip(*pair, strict=True)))


def arms_of(counts: tuple[int, ...], examples: Examples, seed: int) -> list[Arm]:
    """Return the divisions to compare: one network for all positions, parts made by hand, and k-means with each number
    of parts in `counts`."""
    values = integer_inputs(examples.boards[:_CENTRE_ROWS])
    none = np.empty((0, input_count(INPUTS)))
    by_hand = [Arm(Scheme.ONE, 1, none), Arm(Scheme.CLASSES, 2, none), Arm(Scheme.THEMES, int(CONTACT_THEMES), none)]
    return [*by_hand, *(Arm(Scheme.K_MEANS, count, k_means(values, count, seed)) for count in counts)]


def integer_inputs(boards: Boards) -> Values:
    """Return the network inputs of each board in units of 1/64, which makes them whole numbers, as float64[n,
    input]."""
    inputs = np.empty((len(boards), input_count(INPUTS)), np.float32)
    fill_dense(int(INPUTS), boards, inputs)
    return inputs.astype(np.float64) * UNIT


def nearest_centres(values: Values, centres: Values) -> Places:
    """Return the index of the centre that is nearest to each row, as int64[n]; ties go to the first. Whole numbers make
    sums exact in any order."""
    distances = (centres * centres).sum(axis=1) - 2 * (values @ centres.T)  # without a term that all centres share
    return np.asarray(distances.argmin(axis=1), np.int64)


def k_means(values: Values, count: int, seed: int) -> Values:
    """Return the centres of `count` parts by k-means (Lloyd 1982), rounded to whole numbers in every round, as
    float64[part, input]. The first centres are rows chosen at random by their squared distances from earlier ones
    (k-means++, Arthur and Vassilvitskii 2007). Rounds end when no row changes its part, or after 50 rounds. A part
    without rows keeps its centre."""
    centres, parts = spread_rows(values, count, seed), np.full(len(values), -1)
    for _ in range(_ROUNDS):
        found = nearest_centres(values, centres)
        if np.array_equal(found, parts):
            break
        parts = found
        for part in np.unique(parts):
            rows = values[parts == part]
            centres[part] = np.rint(rows.sum(axis=0) / len(rows))
    return centres


def spread_rows(values: Values, count: int, seed: int) -> Values:
    """Return the rows from which k-means starts, as float64[part, input]. They are chosen at random, far from each
    other."""
    stream = np.uint64(random_stream(seed, 0))
    chosen = [int(random_bits(stream, 0)) % len(values)]
    distances = ((values - values[chosen[0]]) ** 2).sum(axis=1).astype(np.int64)
    for draw in range(1, count):
        ends = np.cumsum(distances)
        row = int(np.searchsorted(ends, int(random_bits(stream, draw)) % max(int(ends[-1]), 1), side="right"))
        chosen.append(min(row, len(values) - 1))
        distances = np.minimum(distances, ((values - values[chosen[-1]]) ** 2).sum(axis=1).astype(np.int64))
    return values[chosen].copy()


def new_part_networks(arms: list[Arm], units: int, seed: int) -> FloatNetworks:
    """Return new networks, one for each part of each arm, in order. Networks of a seed begin with the same weights in
    every arm."""
    total = sum(arm.size for arm in arms)
    networks = new_networks((INPUTS,) * total, ((units,),) * total, seed)
    first, _ = numbers_of(networks, 0)
    for which in range(1, total):
        numbers_of(networks, which)[0][:] = first
    return networks


class PartsRun:
    """A training run with the networks of all arms. They learn from the same batches, each network from the positions
    of its part."""

    def __init__(self, recipe: SupervisedRecipe, arms: list[Arm], networks: FloatNetworks) -> None:
        self.recipe, self.arms, self.networks = recipe, arms, networks
        self.learned = np.zeros(len(networks.shapes), np.int64)  # positions learned by each network
        self._trainers = [KernelTrainer(networks, which, recipe) for which in range(len(networks.shapes))]

    def state(self) -> dict[str, NDArray[np.generic]]:
        """Return all arrays that change in training. Checkpoints save them, and load them in place."""
        found: dict[str, NDArray[np.generic]] = {
            "weights": self.networks.weights,
            "biases": self.networks.biases,
            "learned": self.learned,
        }
        for which, trainer in enumerate(self._trainers):
            found |= {f"{name}_{which}": values for name, values in trainer.state().items()}
        return found

    def learn_epoch(self, feed: LabelledBatches, epoch: int, count: int, executor: Executor) -> None:
        """Train all networks on `count` batches of the feed; epochs are numbered from 0. Networks are independent, so
        each learns on one thread, many at a time."""
        for number in range(count):
            batch = feed.batch(*divmod(epoch * count + number, len(feed)))
            shares = [(epoch + (number + end) / count) / self.recipe.epochs for end in (0, 1)]
            rates = [self.recipe.learning_rate_at(share) for share in shares]
            tasks = part_examples(self.arms, contact_examples(examples_by_network(batch)))
            list(executor.map(self._learn, range(len(tasks)), tasks, repeat(rates)))

    def _learn(self, which: int, examples: Examples, rates: list[float]) -> None:
        """Train network `which` on its examples, if there are any."""
        if len(examples.boards):
            trainer = self._trainers[which]
            with threads(1):
                trainer.learn(trainer.prepare(examples), rates)
            self.learned[which] += len(examples.boards)


def part_examples(arms: list[Arm], examples: Examples) -> list[Examples]:
    """Divide examples into those of each part of each arm, in the order of the networks."""
    values, found = integer_inputs(examples.boards), []
    for arm in arms:
        parts = arm.parts(examples.boards, values)
        rows = (np.flatnonzero(parts == part) for part in range(arm.size))
        found += [Examples(examples.boards.take(each, axis=0), examples.targets.take(each, axis=0)) for each in rows]
    return found


def rounded_parts(networks: FloatNetworks) -> Networks:
    """Return the networks with the integer weights by which players evaluate."""
    alone = []
    for which, shape in enumerate(networks.shapes.copy()):
        shape[2:4] = 0  # first weight and first bias
        shapes = np.tile(shape, (len(NETWORK_CLASSES), 1))  # for each class, because players look up networks by class
        alone.append(rounded_networks(FloatNetworks(shapes, *numbers_of(networks, which))))
    weights, biases = (np.concatenate([each[place] for each in alone]) for place in (1, 2))
    return Networks(*map(read_only, (networks.shapes.copy(), weights, biases)))


def part_equities(networks: Networks, first: int, parts: Places, boards: Boards) -> NDArray[np.float32]:
    """Return the cubeless equity of each position by the network of its part, as float32[n]. `first` is the index of
    the network of part 0."""
    found = np.empty(len(boards), np.float32)
    for part in np.unique(parts).tolist():
        rows = np.flatnonzero(parts == part)
        shapes = np.tile(networks.shapes[first + part], (len(NETWORK_CLASSES), 1))
        chances = evaluations(
            Networks(read_only(shapes), networks.weights, networks.biases), NO_TABLES, boards.take(rows, axis=0)
        ).chances
        found[rows] = cubeless_equities(chances)
    return found


def errors_of(equities: NDArray[np.float32], labels: NDArray[np.float32], games: NDArray[np.int64]) -> ErrorSummary:
    """Return the errors of equities against labels, in points; NaN if there are none. Positions of one game are a
    cluster, because their errors are correlated."""
    count, errors = len(labels), equities.astype(np.float64) - labels
    if not count:
        return ErrorSummary(0, *[np.nan] * 5)
    return error_summary(errors, np.zeros(count), games)
