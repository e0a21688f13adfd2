"""Trainers in PyTorch against dense NumPy in double precision, on any number of threads."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from bgdata.errors import UsageError
from bgdata.kernel import threads
from bgdata.training.recipes import SupervisedRecipe
from bgdata.training.supervised.examples import Examples
from bgdata.training.supervised.run import open_trainers
from bgdata.training.supervised.trainer import NetworkTrainer
from tests.evaluation.sample_networks import random_floats
from tests.reference.networks import unpacked
from tests.reference.supervised import matrices, trained_averages
from tests.training.supervised.test_trainer import check_learned, check_limits, examples

RECIPE = SupervisedRecipe(trainer="torch", batch_size=16, learning_rate=0.01)


pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is an extra")


def torch() -> Any:
    """The package, which takes long to import."""
    return import_module("torch")


def learn(trainer: NetworkTrainer, *parts: Examples) -> None:
    """Learn some examples after others, at the rate of the recipe."""
    rate = trainer.recipe.learning_rate
    trainer.load()
    with trainer.settings():
        for part in parts:
            trainer.learn(trainer.prepare(part), [rate, rate])
    trainer.store()


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("loss", ["cross-entropy", "squared"])
@pytest.mark.parametrize("number", [0, 1, 2, 3, 4])
def test_batches_are_learned_as_by_dense_arrays(number: int, loss: str, optimizer: str) -> None:
    rate = 0.001 if optimizer == "adam" else 0.05
    recipe = SupervisedRecipe(trainer="torch", batch_size=9, optimizer=optimizer, loss=loss, learning_rate=rate)
    for which in range(3):
        before, networks = random_floats(number, size=3), random_floats(number, size=3)
        given = examples(which, 40)  # the last batch is shorter
        learn(open_trainers(networks, recipe, None)[which], given)
        check_learned(before, networks, which, given, recipe, 0.001)


def test_averages_of_weights() -> None:
    recipe = SupervisedRecipe(trainer="torch", batch_size=7, optimizer="sgd", learning_rate=0.05, average_decay=0.7)
    before, networks, averages = (random_floats(1, size=3) for _ in range(3))
    given = examples(2, 40)
    learn(open_trainers(networks, recipe, averages)[2], given)
    wanted = trained_averages(unpacked(before, 2), given.boards.tolist(), given.targets, 7, 0.05, 0.7)
    for start, found, expected in zip(
        *(matrices(unpacked(each, 2)) for each in (before, averages)), wanted, strict=True
    ):
        assert np.abs(found - expected).max() <= 0.001 * np.abs(expected - start).max() + 1e-6


def results(device: str, counts: tuple[int, ...]) -> list[list[bytes]]:
    """All numbers after a run on each number of threads, of kernels and of PyTorch."""
    recipe = SupervisedRecipe(trainer="torch", batch_size=64, learning_rate=0.01, average_decay=0.9, device=device)
    found, before = [], torch().get_num_threads()
    for count in counts:
        torch().set_num_threads(count)
        networks, averages = random_floats(2), random_floats(2)
        with threads(count):
            trainer = open_trainers(networks, recipe, averages)[2]
            learn(trainer, examples(2, 300), examples(2, 150))
        numbers = (*networks[1:], *averages[1:], *trainer.state().values())
        found.append([values.tobytes() for values in numbers])
    torch().set_num_threads(before)
    return found


def test_any_number_of_threads() -> None:
    first, *others = results("cpu", (1, 2, 2))
    assert others == [first, first]
    assert first[0] != random_floats(2).weights.tobytes()


def test_a_gpu_learns_twice_the_same_and_what_the_processor_does() -> None:
    if not torch().cuda.is_available():
        pytest.skip("no GPU that PyTorch can use")
    first, second = results("cuda", (1, 2))
    assert first == second
    found, expected = (np.frombuffer(numbers[0], np.float32) for numbers in (first, results("cpu", (1,))[0]))
    assert np.abs(found - expected).max() <= 0.01


def test_a_trainer_continues_from_its_arrays() -> None:
    """Another trainer with the same arrays learns what the first would have."""
    given = examples(2, 200)
    parts = [Examples(given.boards[part], given.targets[part]) for part in (slice(0, 120), slice(120, 200))]
    numbers = []
    for is_killed in (False, True):
        networks, averages = random_floats(1), random_floats(1)
        recipe = SupervisedRecipe(trainer="torch", batch_size=16, learning_rate=0.01, average_decay=0.9)
        trainer = open_trainers(networks, recipe, averages)[2]
        learn(trainer, parts[0])
        if is_killed:
            state, trainer = trainer.state(), open_trainers(networks, recipe, averages)[2]
            for name, values in trainer.state().items():
                values[...] = state[name]
        learn(trainer, parts[1])
        arrays: list[Any] = [*networks, *averages, *trainer.state().values()]
        numbers.append([values.tobytes() for values in arrays])
    assert numbers[0] == numbers[1]


def test_weights_stay_in_the_range_of_a_player() -> None:
    networks, given = random_floats(0), examples(2, 40)
    recipe = SupervisedRecipe(trainer="torch", batch_size=4, optimizer="sgd", learning_rate=10.0)
    certain = Examples(given.boards, (given.targets > 0.5).astype(np.float32))
    learn(open_trainers(networks, recipe, None)[2], *[certain] * 30)
    check_limits(networks)


def test_settings_hold_while_learning_alone() -> None:
    from bgdata.training.supervised.torch_trainer import TorchTrainer

    def now() -> tuple[object, ...]:
        return (
            torch().get_num_threads(),
            torch().are_deterministic_algorithms_enabled(),
            torch().get_float32_matmul_precision(),
        )

    before = now()
    with TorchTrainer(random_floats(0), 2, SupervisedRecipe(trainer="torch")).settings():
        assert now() == (1, True, "medium")  # by oneDNN
    assert now() == before


def test_platforms(monkeypatch: pytest.MonkeyPatch) -> None:
    from bgdata.training.supervised.torch_trainer import platform_name

    name = platform_name("cpu")
    assert name.startswith(f"{torch().__version__} ")
    for platform in ("", name):
        open_trainers(random_floats(0), SupervisedRecipe(trainer="torch", platform=platform), None)
    with pytest.raises(UsageError) as error:
        open_trainers(random_floats(0), SupervisedRecipe(trainer="torch", platform="1.0 AVX"), None)
    assert str(error.value) == f"expected PyTorch 1.0 AVX, as the recipe says, found {name}; train under another name"
    monkeypatch.setattr(torch().cuda, "is_available", lambda: False)
    message = r"^expected a GPU for the device cuda, PyTorch .* finds none; try: --device cpu$"
    with pytest.raises(UsageError, match=message):
        open_trainers(random_floats(0), SupervisedRecipe(trainer="torch", device="cuda"), None)
    monkeypatch.setattr(torch().cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch().cuda, "get_device_name", lambda: "Imaginary 1")
    assert platform_name("cuda") == f"{torch().__version__} Imaginary 1"
