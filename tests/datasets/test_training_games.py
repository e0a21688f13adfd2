"""Games to learn from, as a dataset; the contract tests build it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bgdata.datasets.training_games import DATASET, StartShare
from bgdata.errors import InvalidParameterError


def test_starts_are_written_as_they_are_read() -> None:
    for text in ("back-game:3", "opening:0.5"):
        assert str(StartShare.parse(text)) == text
    assert StartShare.parse("blitz") == StartShare("blitz", 1.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "No Name"}, "expected a name of small letters, digits and -, got 'No Name'"),
        ({"games": 0}, "expected 1 to 1,073,741,824 games, got 0"),
        ({"seed": -1}, r"expected a seed from 0 to 2\^62 - 1, got -1"),
        ({"likely": -1}, "expected 1 to 21 likely plays of a roll, or 0 for all, got -1"),
        ({"likely": 22}, "expected 1 to 21 likely plays of a roll, or 0 for all, got 22"),
        ({"overlooked": 1.5}, "expected overlooked from 0 to 1, got 1.5"),
        ({"td_lambda": float("nan")}, "expected td_lambda from 0 to 1, got nan"),
        ({"starts": ()}, "expected starts of games, got none"),
        ({"starts": (StartShare("nowhere"),)}, "expected START:SHARE of opening, .*, got 'nowhere:1'"),
        ({"starts": (StartShare("opening", -1),)}, "expected START:SHARE of opening, .*, got 'opening:-1'"),
        ({"network": "../x"}, "expected the name of a network"),
    ],
)
def test_wrong_parameters(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=f"^{message}"):
        DATASET.check_parameters(replace(DATASET.smallest, **changes))


def test_a_share_that_is_no_number() -> None:
    with pytest.raises(InvalidParameterError, match=r"^expected START:SHARE, such as back-game:3, got 'blitz:much'$"):
        StartShare.parse("blitz:much")
