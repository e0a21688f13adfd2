"""Supervised learning: networks learn the chances of labelled positions, each network from the positions of its class.

An epoch is a number of batches of the feed. Each network learns the positions of its class in batches of the recipe.
After each epoch the networks, or the averages of their weights, are rounded to the integers of a player and validated
on positions outside training. Each network keeps its best weights. The result depends on the recipe and the labels
alone: it is the same on any number of threads, and after a run that was killed and continued.
"""

from __future__ import annotations

from concurrent.futures import Executor, ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import CheckFailedError
from bgdata.evaluation.answers import NETWORK_CLASSES
from bgdata.evaluation.networks.input_sets import InputSet
from bgdata.evaluation.networks.inputs import encode
from bgdata.kernel import thread_count, threads
from bgdata.store.executors import InProcess
from bgdata.training.networks import FloatNetworks, copy_networks, numbers_of, revive, rounded_networks
from bgdata.training.recipes import CYCLE, SupervisedRecipe
from bgdata.training.supervised.examples import (
    NETWORKS,
    LabelledBatches,
    MeanErrors,
    error_of,
    examples_by_network,
    read_examples,
)
from bgdata.training.supervised.trainer import KernelTrainer, NetworkTrainer, PreparedBatch

SMALLER, LARGEST = (0, 1), (2,)  # race and crashed networks, and the contact network, which learn at the same time
REVIVED_BY = 20_000  # maximum number of positions that test whether a hidden unit is always 0, so that it is revived
FEED_BATCH_ROWS = 65_536  # rows of a batch of the feed
RISES = 3  # number of epochs in a row with a larger error after which a learning rate in cycles falls


class Cycles:
    """A schedule that moves the learning rate of each network through cycles. After three epochs in a row with a larger
    error, the rate is divided by the root of 10. Below a thirtieth of the first rate it starts again, to leave a poor
    local minimum. Source: the training of gnubg by Joseph Heled, and its repetition of 2012 with learning rates about
    ten times smaller."""

    def __init__(self, networks: int) -> None:
        self.state: NDArray[np.float64] = np.zeros((networks, 3))  # level, rises in a row, last error
        self.state[:, 2] = np.inf

    def level(self, which: int) -> int:
        """Return the index into CYCLE of the present learning rate of network `which`, from 0."""
        return int(self.state[which, 0])

    def note(self, which: int, error: float) -> None:
        """Record the validation error of network `which` after an epoch. After RISES rises in a row, the network gets
        the next rate."""
        level, rises, last = self.state[which].tolist()
        rises = rises + 1 if error > last else 0
        if rises == RISES:
            level, rises = (level + 1) % len(CYCLE), 0
        self.state[which] = level, rises, error


class SupervisedRun:
    """A run of supervised training. Each call of `learn_epoch` trains the networks for one epoch, in place."""

    def __init__(
        self, recipe: SupervisedRecipe, networks: FloatNetworks, batches: LabelledBatches, validation: LabelledBatches
    ) -> None:
        recipe.check()
        self.recipe, self.networks, self.batches = recipe, networks, batches
        self.validation = read_examples(validation, recipe.validation_rows, of_each=True)
        self.training = read_examples(batches, recipe.validation_rows, of_each=True)
        self._revived = [0] * NETWORKS  # hidden units that were 0 in all tested positions
        for which in range(NETWORKS) if recipe.revive else ():
            boards = self.training[which].boards[:REVIVED_BY]
            if len(boards):
                inputs = encode(InputSet(networks.shapes[which, 0]), boards)
                self._revived[which] = revive(networks, which, inputs, recipe.seed)
        self.best = copy_networks(networks)
        self.tested = copy_networks(networks) if recipe.average_decay else networks  # the averages, if there are any
        self.cycles = Cycles(NETWORKS)
        self._trainers = open_trainers(networks, recipe, self.tested if recipe.average_decay else None)
        self._lowest = np.full(NETWORKS, np.inf)
        self._threads: int | None = 1  # threads of one network, None for all
        self.batches_per_epoch = -(-recipe.epoch_rows // FEED_BATCH_ROWS) if recipe.epoch_rows else len(batches)

    @property
    def learns(self) -> list[bool]:
        """Whether each network has positions for training and for validation; otherwise it does not change."""
        pairs = zip(self.training, self.validation, strict=True)
        return [len(training.boards) > 0 and len(validation.boards) > 0 for training, validation in pairs]

    def state(self) -> dict[str, NDArray[np.generic]]:
        """Return all arrays that change in training. Checkpoints save them, and load them in place."""
        found: dict[str, NDArray[np.generic]] = {
            "weights": self.networks.weights,
            "biases": self.networks.biases,
            "best_weights": self.best.weights,
            "best_biases": self.best.biases,
            "cycles": self.cycles.state,
            "lowest": self._lowest,
        }
        if self.recipe.average_decay:
            found |= {"average_weights": self.tested.weights, "average_biases": self.tested.biases}
        for which, trainer in enumerate(self._trainers):
            found |= {f"{name}_{which}": values for name, values in trainer.state().items()}
        return found

    @property
    def positions(self) -> int:
        """The number of positions in an epoch for all networks together; the true number may be slightly smaller."""
        return self.batches.row_count if not self.recipe.epoch_rows else self.batches_per_epoch * FEED_BATCH_ROWS

    def notes(self) -> list[str]:
        """Return messages for the user before training begins, such as which networks are not trained."""
        idle, revived = [], []
        for which, name in enumerate(NETWORK_CLASSES):
            if not self.learns[which]:
                learned, tested = (len(each[which].boards) for each in (self.training, self.validation))
                idle.append(
                    f"{name}: stays as it is, with {learned:,} positions to learn from and {tested:,} to be tested on"
                )
            if self._revived[which]:
                revived.append(f"{name}: {self._revived[which]} hidden units were always 0 and begin anew")
        return idle + revived

    def curve_rows(self, epoch: int) -> NDArray[np.float64]:
        """Train for an epoch, numbered from 1, or only test if `epoch` is 0. Returns float64[network, number]: learning
        rate, positions, cross-entropy in training and in validation, squared errors of both, and whether the weights
        are the best so far."""
        seen = self.learn_epoch(epoch - 1) if epoch else [0] * NETWORKS
        share, levels = epoch / self.recipe.epochs, [self.cycles.level(which) for which in range(NETWORKS)]
        found = self.test()
        for which, (_, validation, _) in enumerate(found if epoch else ()):
            self.cycles.note(which, validation.cross_entropy)
        rows = [
            (self.recipe.learning_rate_at(share, level), count, *np.transpose((training, validation)).ravel(), is_best)
            for level, count, (training, validation, is_best) in zip(levels, seen, found, strict=True)
        ]
        return np.array(rows, np.float64)

    def learn_epoch(self, epoch: int) -> list[int]:
        """Train on the batches of an epoch, numbered from 0. Returns how many positions each network saw. On two
        threads, one trains the largest network while the other prepares the next batch. Raises CheckFailedError if
        weights are no longer finite."""
        trainers = self._trainers
        is_shared = trainers[0].shares_threads and thread_count() > 2
        self._threads = None if is_shared else 1
        for trainer in trainers:
            trainer.load()
        # Two threads are faster with one task each than with a shared batch: there they would wait for each other
        # several times in a millisecond.
        is_helped = thread_count() >= 2 and not is_shared
        with trainers[0].settings(), ThreadPoolExecutor(1) if is_helped else InProcess() as helper:
            seen = self._go_through(epoch, helper)
        for trainer in trainers:
            trainer.store()
        if not (np.isfinite(self.networks.weights).all() and np.isfinite(self.networks.biases).all()):
            raise CheckFailedError(
                f"expected finite weights after epoch {epoch + 1}, found others; "
                f"try a learning rate below {self.recipe.learning_rate}"
            )
        learned: list[int] = (seen * self.learns).tolist()
        return learned

    def _go_through(self, epoch: int, helper: Executor) -> NDArray[np.int64]:
        """Train on all batches of an epoch. Returns the number of positions that each network saw, as
        int64[network]."""
        seen, count = np.zeros(NETWORKS, np.int64), self.batches_per_epoch
        ready = self._prepare(epoch, 0)
        for number in range(count):
            shares = [(epoch + (number + part) / count) / self.recipe.epochs for part in (0, 1)]
            others = helper.submit(self._learn, SMALLER, ready, shares)
            later = helper.submit(self._prepare, epoch, number + 1) if number + 1 < count else None
            self._learn(LARGEST, ready, shares)
            others.result()
            seen += [len(prepared_batch.examples.boards) for prepared_batch in ready]
            ready = later.result() if later else ready
        return seen

    def _prepare(self, epoch: int, number: int) -> list[PreparedBatch]:
        """Read a batch of the feed, and compute the inputs of each network for it."""
        batch = self.batches.batch(*divmod(epoch * self.batches_per_epoch + number, len(self.batches)))
        with threads(self._threads):
            return [
                trainer.prepare(part) for trainer, part in zip(self._trainers, examples_by_network(batch), strict=True)
            ]

    def _learn(self, networks: tuple[int, ...], ready: list[PreparedBatch], shares: list[float]) -> None:
        """Train `networks` on a batch. `shares` are the shares of the run that are done before and after the batch;
        they determine the learning rates."""
        for which in networks:
            if self.learns[which] and len(ready[which].examples.boards):
                rates = [self.recipe.learning_rate_at(share, self.cycles.level(which)) for share in shares]
                with threads(self._threads):
                    self._trainers[which].learn(ready[which], rates)

    def test(self) -> list[tuple[MeanErrors, MeanErrors, bool]]:
        """Test each network. Returns its errors in training and in validation, and whether the validation error is the
        lowest so far. If it is, the network keeps these weights. The first call, before any epoch, sets the errors to
        improve on."""
        rounded = rounded_networks(self.tested)
        found = []
        for which in range(NETWORKS):
            training = error_of(rounded, self.training[which])
            validation = error_of(rounded, self.validation[which])
            is_best = self.learns[which] and validation.cross_entropy < self._lowest[which]
            if is_best:
                self._lowest[which] = validation.cross_entropy
                for kept, values in zip(numbers_of(self.best, which), numbers_of(self.tested, which), strict=True):
                    kept[:] = values
            found.append((training, validation, is_best))
        return found


def open_trainers(
    networks: FloatNetworks, recipe: SupervisedRecipe, averages: FloatNetworks | None
) -> list[NetworkTrainer]:
    """Return a trainer for each network, of the kind that the settings name. Raises MissingExtraError if the trainer
    needs PyTorch and it is not installed, and UsageError if the device is missing."""
    kind: type[NetworkTrainer] = KernelTrainer
    if recipe.trainer == "torch":
        from bgdata.training.supervised.torch_trainer import TorchTrainer

        kind = TorchTrainer
    return [kind(networks, which, recipe, averages) for which in range(NETWORKS)]
