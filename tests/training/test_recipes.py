"""Recipes of both ways of training: rates, cycles, and invalid settings."""

from dataclasses import replace
from math import cos, pi
from typing import Any

import pytest

from bgdata.errors import InvalidParameterError, UnknownInputSetError
from bgdata.evaluation.networks.input_sets import InputSet
from bgdata.training.recipes import CYCLE, SupervisedRecipe, TemporalDifferenceRecipe, parse_layers
from bgdata.training.supervised.run import Cycles

RECIPE = TemporalDifferenceRecipe()


def test_defaults_are_valid() -> None:
    RECIPE.check()
    assert RECIPE.input_sets() == (InputSet.RACE, InputSet.CONTACT, InputSet.CONTACT)
    assert RECIPE.layers() == ((80,), (120,), (120,))
    assert RECIPE.rounds == 500
    assert replace(RECIPE, games=201).rounds == 2
    assert replace(RECIPE, games=1).rounds == 1


def test_networks_are_race_crashed_contact() -> None:
    recipe = replace(RECIPE, inputs="tesauro-198", race_inputs="tesauro-196", race_hidden="3", crashed_hidden="4-5")
    assert recipe.input_sets() == (InputSet.TESAURO_196, InputSet.TESAURO_198, InputSet.TESAURO_198)
    assert recipe.layers() == ((3,), (4, 5), (120,))


def test_learning_rate_falls_with_games() -> None:
    recipe = TemporalDifferenceRecipe(games=1000, learning_rate=0.5, final_learning_rate=0.1)
    rates = [recipe.learning_rate_at(games) for games in range(0, 1001, 100)]
    assert rates[0] == 0.5
    assert rates[-1] == pytest.approx(0.1)
    assert rates == sorted(rates, reverse=True)
    assert [1 / rate for rate in rates] == pytest.approx([2 + 8 * share / 10 for share in range(11)])
    assert {RECIPE.learning_rate_at(games) for games in (0, 1, 100_000)} == {0.1}


@pytest.mark.parametrize(
    ("text", "layers"),
    [("1", (1,)), ("120", (120,)), ("120-60", (120, 60)), ("2048-1-7", (2048, 1, 7)), ("010", (10,))],
)
def test_parse_layers(text: str, layers: tuple[int, ...]) -> None:
    assert parse_layers(text) == layers


@pytest.mark.parametrize(
    "text", ["", "0", "-", "a-b", "8-", "-8", "8--4", "8-0", "2049", "8 4", "+8", "8.0", "٣", "9" * 5000]
)
def test_invalid_layers_are_refused(text: str) -> None:
    with pytest.raises(
        InvalidParameterError, match=r"expected units such as 120 or 120-60, each from 1 to 2048, got '"
    ):
        parse_layers(text)
    for name in ("hidden", "crashed_hidden", "race_hidden"):
        changes: dict[str, Any] = {name: text}
        with pytest.raises(InvalidParameterError, match="expected units such as"):
            replace(RECIPE, **changes).check()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"games": 0}, r"expected games of at least 1, got 0"),
        ({"round_games": -1}, r"expected round_games of at least 1, got -1"),
        ({"td_lambda": 1.01}, r"expected a td_lambda from 0 to 1, got 1.01"),
        ({"td_lambda": -0.01}, r"expected a td_lambda from 0 to 1, got -0.01"),
        ({"td_lambda": float("nan")}, r"expected a td_lambda from 0 to 1, got nan"),
        ({"learning_rate": 0.05}, r"expected 0 < final_learning_rate <= learning_rate <= 1, got 0.1 and 0.05"),
        ({"learning_rate": 1.5}, r"expected 0 < final_learning_rate <= learning_rate <= 1, got 0.1 and 1.5"),
        ({"final_learning_rate": 0.0}, r"expected 0 < final_learning_rate <= learning_rate <= 1, got 0.0 and 0.1"),
        ({"final_learning_rate": 0.2}, r"expected 0 < final_learning_rate <= learning_rate <= 1, got 0.2 and 0.1"),
        ({"learning_rate": float("nan")}, r"expected 0 < final_learning_rate <= learning_rate <= 1, got 0.1 and nan"),
        ({"seed": -1}, r"expected a seed from 0 to 2\^63 - 1, got -1"),
        ({"seed": 2**63}, r"expected a seed from 0 to 2\^63 - 1, got 9223372036854775808"),
    ],
)
def test_invalid_self_play_recipes_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=f"^{message}$"):
        replace(RECIPE, **change).check()


@pytest.mark.parametrize("name", ["inputs", "race_inputs"])
def test_unknown_inputs_are_refused(name: str) -> None:
    changes: dict[str, Any] = {name: "nothing"}
    with pytest.raises(UnknownInputSetError, match=r"expected inputs among .*, got nothing"):
        replace(RECIPE, **changes).check()


SHARES = [step / 50 for step in range(51)]


def rates(schedule: str) -> list[float]:
    recipe = SupervisedRecipe(schedule=schedule, learning_rate=0.01)
    return [recipe.learning_rate_at(share) / 0.01 for share in SHARES]


def test_schedules_change_the_learning_rate() -> None:
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


def test_cycles_fall_after_three_rises() -> None:
    """After three rises of the error, the rate is divided by the root of 10; below a thirtieth it starts again."""
    recipe = SupervisedRecipe(schedule="cycles", learning_rate=1.0, optimizer="sgd")
    cycles = Cycles(2)
    for level, rate in enumerate((1, 10**-0.5, 0.1, 10**-1.5)):
        assert cycles.level(0) == level
        assert recipe.learning_rate_at(0.5, level) == pytest.approx(rate)
        for error in (2.0, 3.0, 4.0, 3.5, 3.6, 3.7):  # two rises, a fall, two rises
            cycles.note(0, error)
            assert cycles.level(0) == level
        cycles.note(0, 3.8)
    assert cycles.level(0) == 0
    assert cycles.level(1) == 0
    assert recipe.learning_rate_at(0.81, 0) == pytest.approx(CYCLE[-1])  # the last fifth


@pytest.mark.parametrize(
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
def test_invalid_supervised_recipes_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError) as error:
        SupervisedRecipe(**change).check()
    assert str(error.value) == message
