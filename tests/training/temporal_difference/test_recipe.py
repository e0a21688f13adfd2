"""Recipes: what they say, and those that nobody can follow."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bgdata.errors import InvalidParameterError, UnknownInputSetError
from bgdata.evaluation.networks.input_sets import InputSet
from bgdata.training.temporal_difference.recipe import TemporalDifferenceRecipe, parse_layers
from tests.together import each

RECIPE = TemporalDifferenceRecipe()


def test_defaults_can_be_followed() -> None:
    RECIPE.check()
    assert RECIPE.input_sets() == (InputSet.RACE, InputSet.CONTACT, InputSet.CONTACT)
    assert RECIPE.layers() == ((80,), (120,), (120,))
    assert (RECIPE.rounds, replace(RECIPE, games=201).rounds, replace(RECIPE, games=1).rounds) == (500, 2, 1)


def test_networks_are_named_race_crashed_contact() -> None:
    recipe = replace(RECIPE, inputs="tesauro-198", race_inputs="tesauro-196", race_hidden="3", crashed_hidden="4-5")
    assert recipe.input_sets() == (InputSet.TESAURO_196, InputSet.TESAURO_198, InputSet.TESAURO_198)
    assert recipe.layers() == ((3,), (4, 5), (120,))


def test_rates() -> None:
    recipe = TemporalDifferenceRecipe(games=1000, learning_rate=0.5, final_learning_rate=0.1)
    found = [recipe.rate_after(games) for games in range(0, 1001, 100)]
    assert found[0] == 0.5
    assert found[-1] == pytest.approx(0.1)
    assert found == sorted(found, reverse=True)
    assert [1 / rate for rate in found] == pytest.approx([2 + 8 * share / 10 for share in range(11)])
    assert {RECIPE.rate_after(games) for games in (0, 1, 100_000)} == {0.1}


@pytest.mark.parametrize(
    ("text", "layers"),
    [("1", (1,)), ("120", (120,)), ("120-60", (120, 60)), ("2048-1-7", (2048, 1, 7)), ("010", (10,))],
)
def test_layers(text: str, layers: tuple[int, ...]) -> None:
    assert parse_layers(text) == layers


@each("text", ["", "0", "-", "a-b", "8-", "-8", "8--4", "8-0", "2049", "8 4", "+8", "8.0", "٣", "9" * 5000])
def test_wrong_layers(text: str) -> None:
    with pytest.raises(
        InvalidParameterError, match=r"expected units such as 120 or 120-60, each from 1 to 2048, got '"
    ):
        parse_layers(text)
    for name in ("hidden", "crashed_hidden", "race_hidden"):
        changes: dict[str, Any] = {name: text}
        with pytest.raises(InvalidParameterError, match="expected units such as"):
            replace(RECIPE, **changes).check()


@each(
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
def test_wrong_numbers(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=f"^{message}$"):
        replace(RECIPE, **change).check()


@pytest.mark.parametrize("name", ["inputs", "race_inputs"])
def test_unknown_inputs(name: str) -> None:
    changes: dict[str, Any] = {name: "nothing"}
    with pytest.raises(UnknownInputSetError, match=r"expected inputs among .*, got nothing"):
        replace(RECIPE, **changes).check()
