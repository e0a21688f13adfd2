"""Games to learn from, as a dataset; the contract tests build it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bgdata.computations.training_games import DOUBTED
from bgdata.datasets.training_games import DATASET, STARTS, StartShare
from bgdata.errors import InvalidParameterError
from bgdata.store.parameters import VersionRef
from bgdata.store.progress import Silence
from bgdata.store.verify import verify
from bgdata.warehouse import Warehouse
from tests.together import each


def test_starts_are_written_as_they_are_read() -> None:
    for text in ("back-game:3", "opening:0.5"):
        assert str(StartShare.parse(text)) == text
    assert StartShare.parse("blitz") == StartShare("blitz", 1.0)


@each(
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
        ({"starts": (StartShare("doubtful"),)}, "expected a version training_games/.* begin as doubtful, .*, got none"),
        (
            {"doubts": VersionRef("training_games", "x", "r2-01234567")},
            "expected a version .* got training_games/x/r2-",
        ),
        (
            {"starts": (StartShare("doubtful"),), "doubts": VersionRef("training_games", "x")},
            "expected a version training_games/VARIANT/VERSION .* got training_games/x",
        ),
        (
            {"starts": (StartShare("doubtful"),), "doubts": VersionRef("selfplay", "x", "r1-01234567")},
            "expected a version training_games/VARIANT/VERSION .* got selfplay/x/r1-01234567",
        ),
    ],
)
def test_wrong_parameters(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=f"^{message}"):
        DATASET.check_parameters(replace(DATASET.smallest, **changes))


def test_games_that_begin_where_there_was_doubt(warehouse: Warehouse) -> None:
    """At positions of the training split that 0-ply and 1-ply disagreed about most; the same when verified."""
    earlier = warehouse.open(DATASET.name, DATASET.slug(DATASET.smallest))
    place = VersionRef(DATASET.name, *earlier.folder.parts[-2:])
    starts = (StartShare("doubtful"), StartShare("opening"))
    table = warehouse.build(DATASET.name, replace(DATASET.smallest, name="doubts", starts=starts, doubts=place))
    assert table.manifest.inputs["doubts"].startswith(f"{DATASET.name}/{place.variant}@{earlier.manifest.digest}")
    is_first = np.asarray(table.array("turns")) == 0
    is_doubtful = np.asarray(table.array("starts")) == STARTS.index("doubtful")
    begun = np.asarray(table.array("boards"))[is_first & is_doubtful]
    assert 5 < len(begun) < 17
    is_train = np.asarray(earlier.array("splits")) == 0
    differences = np.abs(np.asarray(earlier.array("lookahead_equities")) - np.asarray(earlier.array("static_equities")))
    least = np.sort(differences[is_train])[-(is_train.sum() // DOUBTED)]
    doubted = {board.tobytes() for board in np.asarray(earlier.array("boards"))[is_train & (differences >= least)]}
    assert {board.tobytes() for board in begun} <= doubted
    assert len({board.tobytes() for board in begun}) > 2
    found = [finding.problem for finding in verify(warehouse, [table], sample_rows=22, seed=1, progress=Silence())]
    assert found == [""] * len(found)


def test_a_share_that_is_no_number() -> None:
    with pytest.raises(InvalidParameterError, match=r"^expected START:SHARE, such as back-game:3, got 'blitz:much'$"):
        StartShare.parse("blitz:much")
