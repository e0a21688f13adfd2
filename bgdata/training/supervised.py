"""Supervised learning: networks that learn the chances of labelled positions, each those of its class.

An epoch is a number of lessons, batches of a feed; each network takes the positions of its class from a lesson and
learns them in batches of the recipe. After each epoch the networks, rounded as a player has them, are tested on
positions that none has learned from, and each keeps the weights that did best. Everything follows from the recipe and
the labels: the same networks on any number of threads, and after a kill.
"""

from __future__ import annotations

from concurrent.futures import Executor, ThreadPoolExecutor
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import CheckFailedError
from bgdata.evaluation.answers import NETWORK_CLASSES, evaluations
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.chances import Chances, cubeless_equities
from bgdata.evaluation.encoder import Encoder
from bgdata.evaluation.network_kernels import Networks
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards
from bgdata.kernel import thread_count
from bgdata.store.executors import InProcess
from bgdata.training.learning import FloatNetworks, Floats, rounded_networks
from bgdata.training.sparse_inputs import Sparse, fill_sparse, fill_sparse_alone, new_sparse
from bgdata.training.supervised_kernels import Learner, Rule, learn_batches, learn_batches_alone
from bgdata.training.supervised_loss import cross_entropies
from bgdata.training.supervised_recipe import Cycles, SupervisedRecipe

NETWORKS = 3
SMALLER, LARGEST = (0, 1), (2,)  # networks that learn while that for contact does
LESSON_ROWS = 65_536  # of a batch of the feed
FIRST_DECAY, SECOND_DECAY, LEAST = 0.9, 0.999, 1e-8  # of Adam, as published
# by class as gnubg numbers them: place in NETWORK_CLASSES, or NETWORKS for finished games, which nobody learns
_NETWORK_OF = np.full(max(PositionClass) + 1, 0)
_NETWORK_OF[[PositionClass.OVER, PositionClass.CRASHED, PositionClass.CONTACT]] = NETWORKS, 1, 2


class Lesson(Protocol):
    """A batch of a feed."""

    @property
    def boards(self) -> Boards: ...
    @property
    def targets(self) -> Chances: ...
    @property
    def classes(self) -> NDArray[np.uint8]: ...


class Lessons(Protocol):
    """What a feed is to its learner."""

    @property
    def row_count(self) -> int: ...
    def __len__(self) -> int: ...
    def batch(self, epoch: int, number: int) -> Lesson: ...


class Examples(NamedTuple):
    """Positions of one network with their chances."""

    boards: Boards  # [n, 26]
    targets: Chances  # [n, 5]


class Homework(NamedTuple):
    """What one network is to learn from a lesson."""

    examples: Examples
    sparse: Sparse


class Error(NamedTuple):
    """How far a network is from the targets: means over positions."""

    cross_entropy: float  # summed over the chances that are possible; that of the targets themselves is part of it
    squared_error: float  # of cubeless equities, in points squared


NO_ERROR = Error(np.nan, np.nan)


class Teacher:
    """A run of a recipe: networks that `learn_epoch` after epoch makes better, in place."""

    def __init__(
        self, recipe: SupervisedRecipe, networks: FloatNetworks, lessons: Lessons, validation: Lessons
    ) -> None:
        recipe.check()
        self.recipe, self.networks, self.lessons = recipe, networks, lessons
        self.best = FloatNetworks(networks.shapes, networks.weights.copy(), networks.biases.copy())
        self.cycles = Cycles(NETWORKS)
        self.validation = read_examples(validation, recipe.validation_rows)
        self.training = read_examples(lessons, recipe.validation_rows)
        self._pupils = [Pupil(networks, which, recipe) for which in range(NETWORKS)]
        self._lowest = np.full(NETWORKS, np.inf)
        self._is_shared = False  # whether all threads learn with one network
        self.lessons_per_epoch = len(lessons) if not recipe.rows else max(-(-recipe.rows // LESSON_ROWS), 1)

    @property
    def learns(self) -> list[bool]:
        """Which networks have positions to learn from and others to be tested on; the rest stay as they are."""
        return [
            len(training.boards) > 0 and len(validation.boards) > 0
            for training, validation in zip(self.training, self.validation, strict=True)
        ]

    def state(self) -> dict[str, NDArray[np.generic]]:
        """All that changes, to be saved and loaded in place."""
        found: dict[str, NDArray[np.generic]] = {
            "weights": self.networks.weights,
            "biases": self.networks.biases,
            "best_weights": self.best.weights,
            "best_biases": self.best.biases,
            "cycles": self.cycles.state,
            "lowest": self._lowest,
        }
        for which, pupil in enumerate(self._pupils):
            found |= {f"{name}_{which}": values for name, values in pupil.state().items()}
        return found

    @property
    def positions(self) -> int:
        """Of an epoch, of all networks, or somewhat fewer."""
        return self.lessons.row_count if not self.recipe.rows else self.lessons_per_epoch * LESSON_ROWS

    def notes(self) -> list[str]:
        """What a user should know before it begins."""
        found = []
        for name, learns, training, validation in zip(
            NETWORK_CLASSES, self.learns, self.training, self.validation, strict=True
        ):
            if not learns:
                found.append(
                    f"{name}: stays as it is, with {len(training.boards):,} positions to learn from "
                    f"and {len(validation.boards):,} to be tested on"
                )
        return found

    def curve_rows(self, epoch: int) -> NDArray[np.float64]:
        """Go through an epoch, numbered from 1; 0 only tests. Returns float64[network, number]: rate, positions,
        cross-entropy on what is learned and on what is not, squared errors alike, whether the weights are kept."""
        seen = self.learn_epoch(epoch - 1) if epoch else [0] * NETWORKS
        share, levels = epoch / self.recipe.epochs, [self.cycles.level(which) for which in range(NETWORKS)]
        found = self.test()
        if epoch:
            self._note_errors(found)
        rows = [
            (self.recipe.rate_after(share, level), count, *np.transpose((training, validation)).ravel(), is_best)
            for level, count, (training, validation, is_best) in zip(levels, seen, found, strict=True)
        ]
        return np.array(rows, np.float64)

    def learn_epoch(self, epoch: int) -> list[int]:
        """Learn from the lessons of an epoch, numbered from 0; returns how many positions each network saw.

        On two threads one learns with the largest network while the other prepares the next lesson. Raises
        CheckFailedError when weights have become no numbers.
        """
        seen, count = np.zeros(NETWORKS, np.int64), self.lessons_per_epoch
        self._is_shared = thread_count() > 2
        with open_helper() as helper:
            ready = self._prepared(epoch, 0)
            for number in range(count):
                shares = [(epoch + (number + part) / count) / self.recipe.epochs for part in (0, 1)]
                others = helper.submit(self._learn, SMALLER, ready, shares)
                later = helper.submit(self._prepared, epoch, number + 1) if number + 1 < count else None
                self._learn(LARGEST, ready, shares)
                others.result()
                seen += [len(homework.examples.boards) for homework in ready]
                ready = later.result() if later else ready
        if not (np.isfinite(self.networks.weights).all() and np.isfinite(self.networks.biases).all()):
            raise CheckFailedError(
                f"expected finite weights after epoch {epoch + 1}, found others; "
                f"try a learning rate below {self.recipe.rate}"
            )
        learned: list[int] = (seen * self.learns).tolist()
        return learned

    def _prepared(self, epoch: int, number: int) -> list[Homework]:
        """The inputs of each network for a lesson."""
        lesson = self.lessons.batch(*divmod(epoch * self.lessons_per_epoch + number, len(self.lessons)))
        examples = by_network(lesson)
        return [self._pupils[which].prepared(examples[which], self._is_shared) for which in range(NETWORKS)]

    def _learn(self, networks: tuple[int, ...], ready: list[Homework], shares: list[float]) -> None:
        """Let some of the networks learn at the rates for the shares of the run at the lesson's ends."""
        for which in networks:
            if self.learns[which] and len(ready[which].examples.boards):
                rates = [self.recipe.rate_after(share, self.cycles.level(which)) for share in shares]
                self._pupils[which].learn(ready[which], rates, self._is_shared)

    def test(self) -> list[tuple[Error, Error, bool]]:
        """For each network: errors on what it learned and on what it did not, and whether they are the lowest so far:
        then its weights are kept. The first call, before any epoch, sets what is to be beaten."""
        rounded = rounded_networks(self.networks)
        found = []
        for which in range(NETWORKS):
            training = error_of(rounded, self.training[which])
            validation = error_of(rounded, self.validation[which])
            is_best = self.learns[which] and validation.cross_entropy < self._lowest[which]
            if is_best:
                self._lowest[which] = validation.cross_entropy
                self._pupils[which].copy_to(self.best)
            found.append((training, validation, is_best))
        return found

    def _note_errors(self, found: list[tuple[Error, Error, bool]]) -> None:
        """Tell the schedule how an epoch went."""
        for which, (_, validation, _) in enumerate(found):
            self.cycles.note(which, validation.cross_entropy)


class Pupil:
    """One network, with what its way of learning remembers."""

    def __init__(self, networks: FloatNetworks, which: int, recipe: SupervisedRecipe) -> None:
        shape = networks.shapes[which]
        ends = networks.shapes[which + 1, 2:4].tolist() if which + 1 < len(networks.shapes) else (None, None)
        self._places = slice(shape[2], ends[0]), slice(shape[3], ends[1])
        weights, biases = networks.weights[self._places[0]], networks.biases[self._places[1]]
        moments = np.zeros((2, len(weights) + len(biases)), np.float32)
        scratch = np.zeros((2, shape[4], recipe.batch, shape[5:].max()), np.float32)
        self.learner = Learner(shape, weights, biases, *moments, *scratch)
        self._decays = np.ones(2)  # of Adam, to the power of the number of steps
        self._batch = recipe.batch
        self._rule = Rule(
            recipe.method == "adam", recipe.loss == "squared", *map(np.float32, (FIRST_DECAY, SECOND_DECAY, LEAST))
        )

    def state(self) -> dict[str, NDArray[np.generic]]:
        """What changes beside the weights."""
        return {"means": self.learner.means, "squares": self.learner.squares, "decays": self._decays}

    def copy_to(self, other: FloatNetworks) -> None:
        """Write the weights into networks of the same shapes."""
        other.weights[self._places[0]] = self.learner.weights
        other.biases[self._places[1]] = self.learner.biases

    def prepared(self, examples: Examples, is_shared: bool) -> Homework:
        """Examples with their inputs; `is_shared` among all threads."""
        encoder, inputs = Encoder(int(self.learner.shape[0])), int(self.learner.shape[1])
        sparse = new_sparse(encoder, inputs, len(examples.boards), self._batch)
        fill = fill_sparse if is_shared else fill_sparse_alone
        fill(int(encoder), examples.boards, self._batch, sparse)
        return Homework(examples, sparse)

    def learn(self, homework: Homework, ends: list[float], is_shared: bool) -> None:
        """Learn from examples in order, at rates that go from one end to the other; `is_shared` among all threads."""
        examples, sparse = homework
        rates = self._rates(len(sparse.starts), *ends)
        learn = learn_batches if is_shared else learn_batches_alone
        learn(self.learner, *examples, sparse, self._batch, rates, self._rule)

    def _rates(self, batches: int, first_rate: float, last_rate: float) -> Floats:
        """The rate of each batch; Adam's make up for means that began with nothing."""
        rates = np.empty(batches, np.float32)
        for number in range(batches):
            rate = first_rate + (last_rate - first_rate) * number / batches
            if self._rule.is_adam:
                self._decays *= (FIRST_DECAY, SECOND_DECAY)
                rate *= (1 - self._decays[1]) ** 0.5 / (1 - self._decays[0])
            rates[number] = rate
        return rates


def open_helper() -> Executor:
    """Another thread where there are two, else this one. Two do better with a task each than together: they need not
    wait for each other several times in a thousandth of a second, which takes long where others use the same cores."""
    return ThreadPoolExecutor(1) if thread_count() == 2 else InProcess()


def by_network(lesson: Lesson) -> list[Examples]:
    """The examples of each network, in their order."""
    networks = _NETWORK_OF[lesson.classes]
    places = [np.flatnonzero(networks == which) for which in range(NETWORKS)]
    return [Examples(lesson.boards.take(rows, axis=0), lesson.targets.take(rows, axis=0)) for rows in places]


def read_examples(lessons: Lessons, most: int) -> list[Examples]:
    """The first `most` positions of an epoch, or all, by network."""
    parts: list[list[Examples]] = [[] for _ in range(NETWORKS)]
    rows = 0
    for number in range(len(lessons)):
        lesson = lessons.batch(0, number)
        for part, found in zip(parts, by_network(lesson), strict=True):
            part.append(found)
        rows += len(lesson.boards)
        if rows >= most:
            break
    return [Examples(*(np.concatenate(columns) for columns in zip(*part, strict=True))) for part in parts]


def error_of(networks: Networks, examples: Examples) -> Error:
    """The mean errors of rounded networks without tables; NaN without examples."""
    if not len(examples.boards):
        return NO_ERROR
    chances = evaluations(networks, NO_TABLES, examples.boards).chances
    differences = cubeless_equities(chances).astype(np.float64) - cubeless_equities(examples.targets)
    return Error(
        float(cross_entropies(examples.boards, chances, examples.targets).mean()), float((differences**2).mean())
    )
