"""Recipes of supervised learning: rates, cycles, and what cannot be followed."""

from __future__ import annotations

import sys
from math import cos, pi
from typing import Any

import pytest

from bgdata.errors import InvalidParameterError, MissingExtraError
from bgdata.training.supervised.recipe import CYCLE, Cycles, SupervisedRecipe
from bgdata.training.supervised.run import open_trainers
from tests.evaluation.sample_networks import random_floats
from tests.together import each

SHARES = [step / 50 for step in range(51)]


def rates(schedule: str) -> list[float]:
    recipe = SupervisedRecipe(schedule=schedule, learning_rate=0.01)
    return [recipe.rate_after(share) / 0.01 for share in SHARES]


def test_schedules() -> None:
    assert rates("constant") == pytest.approx([1.0] * 51)
    assert rates("smoothstep") == pytest.approx([(1 + cos(pi * share)) / 2 for share in SHARES], abs=0.0101)
    assert rates("smoothstep")[0] == pytest.approx(1)
    assert rates("smoothstep")[-1] == 0
    cycle = rates("one-cycle")
    assert cycle[0] == pytest.approx(0.04)
    assert cycle[:6] == sorted(cycle[:6])
    assert cycle[5] == max(cycle) == pytest.approx(1)
    assert cycle[5:] == sorted(cycle[5:], reverse=True)
    assert cycle[-1] == 0


def test_cycles_as_they_were_done_in_2012() -> None:
    """Three epochs in a row with a larger error: the root of 10 less; below a thirtieth: from the beginning."""
    recipe, cycles = SupervisedRecipe(schedule="cycles", learning_rate=1.0, optimizer="sgd"), Cycles(2)
    for level, rate in enumerate((1, 10**-0.5, 0.1, 10**-1.5)):
        assert cycles.level(0) == level
        assert recipe.rate_after(0.5, level) == pytest.approx(rate)
        for error in (2.0, 3.0, 4.0, 3.5, 3.6, 3.7):  # two rises, a fall, two rises
            cycles.note(0, error)
            assert cycles.level(0) == level
        cycles.note(0, 3.8)
    assert cycles.level(0) == 0
    assert cycles.level(1) == 0
    assert recipe.rate_after(0.81, 0) == pytest.approx(CYCLE[-1])  # the last fifth


@each(
    ("change", "message"),
    [
        ({"epochs": 0}, "expected epochs from 1 to 2,147,483,647, got 0"),
        ({"batch_size": 0}, "expected batch_size from 1 to 1,048,576, got 0"),
        ({"epoch_rows": -1}, "expected epoch_rows from 0 to 2,147,483,647, got -1"),
        ({"validation_rows": 0}, "expected validation_rows from 1 to 2,147,483,647, got 0"),
        ({"optimizer": "newton"}, "expected optimizer among adam, sgd, got newton"),
        ({"schedule": "steps"}, "expected schedule among smoothstep, one-cycle, cycles, constant, got steps"),
        ({"loss": "hinge"}, "expected loss among cross-entropy, squared, got hinge"),
        ({"learning_rate": 0.0}, "expected a learning_rate above 0, up to 0.1 for adam, got 0.0"),
        ({"learning_rate": float("nan")}, "expected a learning_rate above 0, up to 0.1 for adam, got nan"),
        ({"learning_rate": 11.0, "optimizer": "sgd"}, "expected a learning_rate above 0, up to 10.0 for sgd, got 11.0"),
        ({"seed": -1}, "expected a seed from 0 to 2^63 - 1, got -1"),
        ({"average_decay": 1.0}, "expected an average_decay of 0, or more and below 1, got 1.0"),
        ({"average_decay": float("nan")}, "expected an average_decay of 0, or more and below 1, got nan"),
        ({"trainer": "jax"}, "expected trainer among kernels, torch, got jax"),
        ({"trainer": "torch", "device": "tpu"}, "expected device among cpu, cuda, got tpu"),
        ({"device": "cuda"}, "expected the trainer torch for the device cuda, got kernels; try: --trainer torch"),
        ({"platform": "2.6.0 AVX2"}, "expected no platform for the trainer kernels, got '2.6.0 AVX2'"),
        ({"hidden": "many"}, "expected units such as 120 or 120-60, each from 1 to 2048, got 'many'"),
    ],
)
def test_wrong_recipes(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError) as error:
        SupervisedRecipe(**change).check()
    assert str(error.value) == message


def test_without_pytorch_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "bgdata.training.supervised.torch_trainer", raising=False)
    with pytest.raises(MissingExtraError) as error:
        open_trainers(random_floats(0), SupervisedRecipe(trainer="torch"), None)
    said = f'found none; try: {sys.executable} -m pip install "bgdata[torch]"'
    assert str(error.value) == f"expected torch for the trainer torch, {said}"
