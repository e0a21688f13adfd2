"""What trains one network of a run, and the one that does it by kernels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.networks.inference import LAYERS, SIZES
from bgdata.evaluation.networks.input_sets import InputSet
from bgdata.training.networks import FloatNetworks, Floats, numbers_of
from bgdata.training.supervised.examples import (
    Examples,
    fill_sparse,
    fill_sparse_alone,
    new_sparse,
)
from bgdata.training.supervised.kernels import Learner, Rule, learn_batches, learn_batches_alone
from bgdata.training.supervised.recipe import SupervisedRecipe

FIRST_DECAY, SECOND_DECAY, LEAST = 0.9, 0.999, 1e-8  # of Adam, as published


class PreparedBatch(NamedTuple):
    """The positions of a batch of the feed that one network learns from, with their inputs."""

    examples: Examples
    inputs: Any  # of the boards, as its way of learning wants them


class Steps(NamedTuple):
    """The step sizes of a series of batches."""

    rates: Floats  # learning rate; Adam's makes up for means that began with nothing
    takes: Floats  # share of the new weights in their average


class NetworkTrainer(ABC):
    """Trains one network in place. All state is in arrays, which checkpoints save and load."""

    shares_threads: ClassVar[bool]  # whether one trainer can keep more than two threads busy

    def __init__(
        self, networks: FloatNetworks, which: int, recipe: SupervisedRecipe, averages: FloatNetworks | None = None
    ) -> None:
        self.recipe, self.shape = recipe, networks.shapes[which]
        self.weights, self.biases = numbers_of(networks, which)
        self.averages = numbers_of(averages, which) if averages else (np.empty(0, np.float32),) * 2
        self.means, self.squares = np.zeros((2, len(self.weights) + len(self.biases)), np.float32)
        self._decays = np.ones(2)  # of Adam, to the power of the number of steps
        self._steps = np.zeros(1)  # that were averaged

    def settings(self) -> AbstractContextManager[None]:
        """A context that must be active while trainers of this kind learn."""
        return nullcontext()

    def state(self) -> dict[str, NDArray[np.generic]]:
        """The arrays that change besides the weights and their averages."""
        return {"means": self.means, "squares": self.squares, "decays": self._decays, "steps": self._steps}

    def load(self) -> None:  # noqa: B027
        """Read the arrays before the first batch of an epoch."""

    def store(self) -> None:  # noqa: B027
        """Write the arrays after the last batch of an epoch."""

    @abstractmethod
    def prepare(self, examples: Examples, is_shared: bool) -> PreparedBatch:
        """Examples with their inputs; with `is_shared` computed by all threads."""

    @abstractmethod
    def learn(self, prepared_batch: PreparedBatch, ends: list[float], is_shared: bool) -> None:
        """Learn from the examples in order, at learning rates that go from one end to the other; with `is_shared` on
        all threads."""

    def steps(self, positions: int, first_rate: float, last_rate: float) -> Steps:
        """The step sizes for batches of this many positions, which are counted as learned."""
        batches = -(-positions // self.recipe.batch_size)
        found = Steps(np.empty(batches, np.float32), np.zeros(batches, np.float32))
        for number in range(batches):
            rate = first_rate + (last_rate - first_rate) * number / batches
            if self.recipe.optimizer == "adam":
                self._decays *= (FIRST_DECAY, SECOND_DECAY)
                rate *= (1 - self._decays[1]) ** 0.5 / (1 - self._decays[0])
            found.rates[number] = rate
            if self.recipe.average_decay:
                self._steps += 1
                # a plain mean at first, so that the weights the run began with leave no trace
                found.takes[number] = max(1 - self.recipe.average_decay, 1 / self._steps[0])
        return found


class KernelTrainer(NetworkTrainer):
    """Trains a network by our kernels, with the same result on any machine and number of threads."""

    shares_threads = True

    def __init__(
        self, networks: FloatNetworks, which: int, recipe: SupervisedRecipe, averages: FloatNetworks | None = None
    ) -> None:
        super().__init__(networks, which, recipe, averages)
        values, deltas = np.zeros((2, self.shape[LAYERS], recipe.batch_size, self.shape[SIZES:].max()), np.float32)
        learned, moments = (self.weights, self.biases), (self.means, self.squares)
        self._learner = Learner(self.shape, *learned, *moments, values, deltas, *self.averages)
        decays = map(np.float32, (FIRST_DECAY, SECOND_DECAY, LEAST))
        self._rule = Rule(recipe.optimizer == "adam", recipe.loss == "squared", *decays)

    def prepare(self, examples: Examples, is_shared: bool) -> PreparedBatch:
        input_set, batch = InputSet(int(self.shape[0])), self.recipe.batch_size
        sparse = new_sparse(input_set, int(self.shape[1]), len(examples.boards), batch)
        fill = fill_sparse if is_shared else fill_sparse_alone
        fill(int(input_set), examples.boards, batch, sparse)
        return PreparedBatch(examples, sparse)

    def learn(self, prepared_batch: PreparedBatch, ends: list[float], is_shared: bool) -> None:
        examples, sparse = prepared_batch
        learn = learn_batches if is_shared else learn_batches_alone
        steps = self.steps(len(examples.boards), *ends)
        learn(self._learner, *examples, sparse, self.recipe.batch_size, *steps, self._rule)
