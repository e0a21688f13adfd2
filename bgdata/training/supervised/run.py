"""Supervised learning: networks that learn the chances of labelled positions, each those of its class.

An epoch is a number of batches of the feed; each network takes the positions of its class from such a batch and
learns them in batches of the recipe. After each epoch the networks, or the averages of their weights where the recipe
has them, rounded as a player has them, are tested on positions that none has learned from, and each keeps the weights
that did best. Everything follows from the recipe and the labels: the same networks on any number of threads, and after
a kill.
"""

from __future__ import annotations

from concurrent.futures import Executor, ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import CheckFailedError
from bgdata.evaluation.answers import NETWORK_CLASSES
from bgdata.kernel import thread_count
from bgdata.store.executors import InProcess
from bgdata.training.networks import FloatNetworks, copied, numbers_of, rounded_networks
from bgdata.training.supervised.examples import NETWORKS, Error, LabelledBatches, by_network, error_of, read_examples
from bgdata.training.supervised.recipe import Cycles, SupervisedRecipe
from bgdata.training.supervised.trainer import KernelTrainer, NetworkTrainer, PreparedBatch

SMALLER, LARGEST = (0, 1), (2,)  # networks that learn while that for contact does
FEED_BATCH_ROWS = 65_536  # of a batch of the feed


class SupervisedRun:
    """A run of a recipe: networks that `learn_epoch` after epoch makes better, in place."""

    def __init__(
        self, recipe: SupervisedRecipe, networks: FloatNetworks, batches: LabelledBatches, validation: LabelledBatches
    ) -> None:
        recipe.check()
        self.recipe, self.networks, self.batches = recipe, networks, batches
        self.best = copied(networks)
        self.tested = copied(networks) if recipe.average_decay else networks  # the averages
        self.cycles = Cycles(NETWORKS)
        self.validation = read_examples(validation, recipe.validation_rows)
        self.training = read_examples(batches, recipe.validation_rows)
        self._trainers = open_trainers(networks, recipe, self.tested if recipe.average_decay else None)
        self._lowest = np.full(NETWORKS, np.inf)
        self._is_shared = False  # whether all threads learn with one network
        self.batches_per_epoch = (
            len(batches) if not recipe.epoch_rows else max(-(-recipe.epoch_rows // FEED_BATCH_ROWS), 1)
        )

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
        if self.recipe.average_decay:
            found |= {"average_weights": self.tested.weights, "average_biases": self.tested.biases}
        for which, trainer in enumerate(self._trainers):
            found |= {f"{name}_{which}": values for name, values in trainer.state().items()}
        return found

    @property
    def positions(self) -> int:
        """Of an epoch, of all networks, or somewhat fewer."""
        return self.batches.row_count if not self.recipe.epoch_rows else self.batches_per_epoch * FEED_BATCH_ROWS

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
        """Learn from the batches of an epoch, numbered from 0; returns how many positions each network saw.

        On two threads one learns with the largest network while the other prepares the next batch. Raises
        CheckFailedError when weights have become no numbers.
        """
        trainers = self._trainers
        self._is_shared = trainers[0].shares_threads and thread_count() > 2
        for trainer in trainers:
            trainer.load()
        with trainers[0].settings(), open_helper(self._is_shared) as helper:
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
        """The batches of an epoch; int64[network]: positions that were for each."""
        seen, count = np.zeros(NETWORKS, np.int64), self.batches_per_epoch
        ready = self._prepared(epoch, 0)
        for number in range(count):
            shares = [(epoch + (number + part) / count) / self.recipe.epochs for part in (0, 1)]
            others = helper.submit(self._learn, SMALLER, ready, shares)
            later = helper.submit(self._prepared, epoch, number + 1) if number + 1 < count else None
            self._learn(LARGEST, ready, shares)
            others.result()
            seen += [len(prepared_batch.examples.boards) for prepared_batch in ready]
            ready = later.result() if later else ready
        return seen

    def _prepared(self, epoch: int, number: int) -> list[PreparedBatch]:
        """The inputs of each network for a batch of the feed."""
        batch = self.batches.batch(*divmod(epoch * self.batches_per_epoch + number, len(self.batches)))
        examples = by_network(batch)
        return [self._trainers[which].prepared(examples[which], self._is_shared) for which in range(NETWORKS)]

    def _learn(self, networks: tuple[int, ...], ready: list[PreparedBatch], shares: list[float]) -> None:
        """Let some of the networks learn at the rates for the shares of the run at both ends of the batch."""
        for which in networks:
            if self.learns[which] and len(ready[which].examples.boards):
                rates = [self.recipe.rate_after(share, self.cycles.level(which)) for share in shares]
                self._trainers[which].learn(ready[which], rates, self._is_shared)

    def test(self) -> list[tuple[Error, Error, bool]]:
        """For each network: errors on what it learned and on what it did not, and whether they are the lowest so far:
        then its weights are kept. The first call, before any epoch, sets what is to be beaten."""
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

    def _note_errors(self, found: list[tuple[Error, Error, bool]]) -> None:
        """Tell the schedule how an epoch went."""
        for which, (_, validation, _) in enumerate(found):
            self.cycles.note(which, validation.cross_entropy)


def open_helper(is_shared: bool) -> Executor:
    """Another thread where there are two or more that do not share every batch, else this one. Two do better with a
    task each than together: they need not wait for each other several times in a thousandth of a second, which takes
    long where others use the same cores."""
    return ThreadPoolExecutor(1) if thread_count() >= 2 and not is_shared else InProcess()


def open_trainers(
    networks: FloatNetworks, recipe: SupervisedRecipe, averages: FloatNetworks | None
) -> list[NetworkTrainer]:
    """A trainer for each network, of the kind that the recipe names. Raises MissingExtraError where PyTorch is missing
    for that, and UsageError for a device that is not there."""
    kind: type[NetworkTrainer] = KernelTrainer
    if recipe.trainer == "torch":
        from bgdata.training.supervised.torch_trainer import TorchTrainer

        kind = TorchTrainer
    return [kind(networks, which, recipe, averages) for which in range(NETWORKS)]
