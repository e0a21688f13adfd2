"""Trainers in PyTorch: dense matrix products on a processor core or a GPU. Needs the extra `torch`.

The recipe, the order of positions, the losses and the optimizers are the same as in the kernels. Sums are made in
another order and the logistic function is exact, so weights differ from the kernels' weights. Two runs agree to the
last bit on one platform (`platform_name`), with any number of threads and after a kill; PyTorch guarantees no more.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bgdata.errors import UsageError, needing
from bgdata.evaluation.networks.inference import ACTIVATION, MAX_RECTIFIED, Activation
from bgdata.training.networks import FloatNetworks, split_layers, units_of
from bgdata.training.recipes import SupervisedRecipe
from bgdata.training.supervised import trainer
from bgdata.training.supervised.examples import Examples, fill_dense, fill_possible
from bgdata.training.supervised.trainer import NetworkTrainer, PreparedBatch

with needing("torch", "for the trainer torch"):
    import torch

if TYPE_CHECKING:
    from torch import Tensor


class Batches(NamedTuple):
    """Tensors with the inputs and targets of positions, on the device."""

    inputs: Tensor  # [n, input]
    targets: Tensor  # [n, 5]
    allowed: Tensor  # [n, 5] 1 for chances that the rules allow, else 0


class TorchTrainer(NetworkTrainer):
    """Trains one network by PyTorch. Its tensors are separate from the arrays of the network; `load` and `store` copy
    between them."""

    shares_threads = False

    def __init__(
        self, networks: FloatNetworks, which: int, recipe: SupervisedRecipe, averages: FloatNetworks | None = None
    ) -> None:
        super().__init__(networks, which, recipe, averages)
        platform = platform_name(recipe.device)
        if recipe.platform and recipe.platform != platform:
            raise UsageError(
                f"expected PyTorch {recipe.platform}, as the recipe says, found {platform}; train under another name"
            )
        self._device = torch.device(recipe.device)
        self._is_rectified = int(self.shape[ACTIVATION]) == Activation.RECTIFIED
        count = len(self.means)
        # tensors allocated by PyTorch have fixed alignments, on which the order of sums may depend
        self._numbers, self._gradient, self._means, self._squares, self._averages, self._limits = (
            torch.zeros(count, device=self._device) for _ in range(6)
        )
        self._layers, self._slopes = (layers_within(numbers, self.shape) for numbers in (self._numbers, self._gradient))
        for place, (weights, biases) in enumerate(layers_within(self._limits, self.shape)):
            weights.fill_(float(trainer.LATER_LIMIT if place else trainer.FIRST_LIMIT))
            biases.fill_(float(trainer.BIAS_LIMIT))

    @contextmanager
    def settings(self) -> Iterator[None]:
        """Make sums deterministic while the context is active: each product on one thread, deterministic algorithms,
        full float precision.

        On a processor, PyTorch multiplies by MKL, or with lower allowed precision by oneDNN. Both are equally exact,
        but MKL uses only half of the vector units of AMD processors. oneDNN rounds factors to bfloat16 only on
        processors with AMX."""
        threads, precision = torch.get_num_threads(), torch.get_float32_matmul_precision()
        is_deterministic = torch.are_deterministic_algorithms_enabled()
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # otherwise cuBLAS chooses by free memory
        torch.set_num_threads(1)
        torch.set_float32_matmul_precision("highest" if self._device.type == "cuda" else "medium")
        torch.use_deterministic_algorithms(True)
        try:
            yield
        finally:
            torch.set_num_threads(threads)
            torch.set_float32_matmul_precision(precision)
            torch.use_deterministic_algorithms(is_deterministic)

    def load(self) -> None:
        for tensor, parts in self._copies():
            tensor.copy_(torch.from_numpy(np.concatenate(parts)))

    def store(self) -> None:
        for tensor, parts in self._copies():
            values, begin = tensor.cpu().numpy(), 0
            for part in parts:
                part[:] = values[begin : begin + len(part)]
                begin += len(part)

    def _copies(self) -> list[tuple[Tensor, list[np.ndarray]]]:
        """Return each tensor with the arrays that it is copied from and to, which are parts of it in order."""
        learned = self._numbers, [self.weights, self.biases]
        found = [learned, (self._means, [self.means]), (self._squares, [self.squares])]
        return [*found, (self._averages, list(self.averages))] if self.recipe.average_decay else found

    def prepare(self, examples: Examples) -> PreparedBatch:
        count = len(examples.boards)
        inputs, is_possible = torch.empty(count, int(self.shape[1])), np.empty((count, 5), np.bool_)
        fill_dense(int(self.shape[0]), examples.boards, inputs.numpy())
        fill_possible(examples.boards, is_possible)
        host = inputs, torch.from_numpy(examples.targets), torch.from_numpy(is_possible.astype(np.float32))
        return PreparedBatch(examples, Batches(*(tensor.to(self._device) for tensor in host)))

    def learn(self, prepared_batch: PreparedBatch, ends: list[float]) -> None:
        rates, takes = (values.tolist() for values in self.steps(len(prepared_batch.examples.boards), *ends))
        batches = zip(*(values.split(self.recipe.batch_size) for values in prepared_batch.inputs), strict=True)
        for batch, rate, take in zip(batches, rates, takes, strict=True):
            self._fill_gradient(Batches(*batch))
            self._change(len(batch[0]), rate)
            if take:
                self._averages.lerp_(self._numbers, take)

    def _fill_gradient(self, batch: Batches) -> None:
        """Compute the gradient of a batch, summed over its positions."""
        values = [batch.inputs]
        for place, (weights, biases) in enumerate(self._layers, start=1):
            sums = torch.addmm(biases, values[-1], weights)
            is_clipped = self._is_rectified and place < len(self._layers)
            values.append(sums.clamp_(0, MAX_RECTIFIED) if is_clipped else sums.sigmoid_())
        delta = (batch.targets - values[-1]).mul_(batch.allowed)
        if self.recipe.loss == "squared":
            delta.mul_(steepness(values[-1]))
        for place in range(len(self._layers) - 1, -1, -1):
            (weights, biases), below = self._slopes[place], values[place]
            torch.sum(delta, 0, out=biases)
            if place:
                torch.mm(delta.T, below, out=weights.T)
                delta = torch.mm(delta, self._layers[place][0].T)
                if self._is_rectified:  # one pass; comparisons would take as long as a matrix product
                    delta = torch.ops.aten.hardtanh_backward(delta, below, 0.0, MAX_RECTIFIED)
                else:
                    delta.mul_(steepness(below))
            else:
                torch.mm(below.T, delta, out=weights)

    def _change(self, size: int, rate: float) -> None:
        """Change the weights by the summed gradient of `size` positions. They stay within the limits of integer
        networks."""
        if self.recipe.optimizer == "adam":
            self._gradient.div_(size)
            self._means.lerp_(self._gradient, 1 - trainer.FIRST_DECAY)
            keep = trainer.SECOND_DECAY
            self._squares.mul_(keep).addcmul_(self._gradient, self._gradient, value=1 - keep)
            self._numbers.addcdiv_(self._means, self._squares.sqrt().add_(trainer.EPSILON), value=rate)
        else:
            self._numbers.add_(self._gradient, alpha=rate)
        self._numbers.clamp_(-self._limits, self._limits)


def steepness(values: Tensor) -> Tensor:
    """Return the derivative of the logistic function at the points where its values are `values`."""
    return torch.addcmul(values, values, values, value=-1)


def layers_within(numbers: Tensor, shape: np.ndarray) -> list[tuple[Tensor, Tensor]]:
    """Return views of the weights [below, unit] and biases [unit] of each layer of one network. `numbers` contains all
    its weights, laid out as in `FloatNetworks`, then all its biases."""
    sizes = units_of(shape.tolist())
    end = sum(below * units for below, units in pairwise(sizes))
    return split_layers(numbers[:end], numbers[end:], sizes)


def platform_name(device: str) -> str:
    """Return a name for everything that sums depend on: the version of PyTorch, the kind of processor, and the library
    that multiplies, such as "2.6.0+cpu AVX2 oneDNN". Raises UsageError if the device is missing."""
    version = str(torch.__version__)
    if device == "cpu":
        multiplies = "oneDNN AMX" if torch.cpu._is_amx_tile_supported() else "oneDNN"
        return f"{version} {torch.backends.cpu.get_cpu_capability()} {multiplies}"
    if not torch.cuda.is_available():
        raise UsageError(f"expected a GPU for the device {device}, PyTorch {version} finds none; try: --device cpu")
    return f"{version} {torch.cuda.get_device_name()}"
