"""Trainers in PyTorch: the same result on any number of threads and after a kill, on one platform."""

from importlib import import_module
from typing import Any

import numpy as np
import pytest

from bgdata.errors import UsageError
from bgdata.kernel import threads
from bgdata.training.recipes import SupervisedRecipe
from bgdata.training.supervised.examples import Examples
from bgdata.training.supervised.run import open_trainers
from tests.evaluation.sample_networks import random_floats
from tests.training.supervised.test_trainer import WITH_TORCH, examples, learn

pytestmark = WITH_TORCH


def torch() -> Any:
    """The module torch, imported only when it is used, because that takes long."""
    return import_module("torch")


def results(device: str, counts: tuple[int, ...]) -> list[list[bytes]]:
    """All numbers after a run by kernels and one by PyTorch, for each number of threads in `counts`."""
    recipe = SupervisedRecipe(trainer="torch", batch_size=64, learning_rate=0.01, average_decay=0.9, device=device)
    numbers_by_count = []
    before = torch().get_num_threads()
    for count in counts:
        torch().set_num_threads(count)
        networks, averages = random_floats(2), random_floats(2)
        with threads(count):
            trainer = learn(networks, 2, recipe, examples(2, 300), examples(2, 150), averages=averages)
        numbers = (*networks[1:], *averages[1:], *trainer.state().values())
        numbers_by_count.append([values.tobytes() for values in numbers])
    torch().set_num_threads(before)
    return numbers_by_count


def test_results_do_not_depend_on_threads() -> None:
    first, *others = results("cpu", (1, 2, 2))
    assert others == [first, first]
    assert first[0] != random_floats(2).weights.tobytes()


def test_gpu_results_are_reproducible_and_near_the_processor() -> None:
    if not torch().cuda.is_available():
        pytest.skip("no GPU that PyTorch can use")
    first, repeated = results("cuda", (1, 2))
    assert first == repeated
    on_gpu, on_processor = (np.frombuffer(numbers[0], np.float32) for numbers in (first, results("cpu", (1,))[0]))
    assert np.abs(on_gpu - on_processor).max() <= 0.01


def test_trainer_continues_from_its_arrays() -> None:
    """A new trainer that gets the saved arrays of another one continues with the same result."""
    samples = examples(2, 200)
    parts = [Examples(samples.boards[part], samples.targets[part]) for part in (slice(0, 120), slice(120, 200))]
    numbers = []
    for is_resumed in (False, True):
        networks, averages = random_floats(1), random_floats(1)
        recipe = SupervisedRecipe(trainer="torch", batch_size=16, learning_rate=0.01, average_decay=0.9)
        trainer = learn(networks, 2, recipe, parts[0], averages=averages)
        if is_resumed:
            state = trainer.state()
            trainer = open_trainers(networks, recipe, averages)[2]
            for name, values in trainer.state().items():
                values[...] = state[name]
        trainer.load()
        with trainer.settings():
            trainer.learn(trainer.prepare(parts[1]), [0.01, 0.01])
        trainer.store()
        arrays: list[Any] = [*networks, *averages, *trainer.state().values()]
        numbers.append([values.tobytes() for values in arrays])
    assert numbers[0] == numbers[1]


def test_settings_change_only_while_training() -> None:
    """One thread, deterministic algorithms and the precision of products are set during training only."""
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


def test_platform_must_match_the_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Training by another version of PyTorch, or without the GPU that is asked for, is refused."""
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
