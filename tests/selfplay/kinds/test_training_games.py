"""Training games as a dataset; the contract tests build it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bgdata.errors import InvalidParameterError
from bgdata.selfplay.kinds.training_games import DATASET, STARTS, StartShare
from bgdata.selfplay.kinds.training_games_compute import DOUBTED
from bgdata.store.parameters import VersionRef
from bgdata.store.progress import Silence
from bgdata.store.verify import verify
from bgdata.warehouse import Warehouse


def test_start_shares_round_trip() -> None:
    for text in ("back-game:3", "opening:0.5"):
        assert str(StartShare.parse(text)) == text
    assert StartShare.parse("blitz") == StartShare("blitz", 1.0)


def test_doubtful_games_begin_where_plies_disagree(warehouse: Warehouse) -> None:
    """Games start at the training positions where 0-ply and 1-ply differ most, and `verify` accepts the table."""
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


def test_invalid_share_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"^expected START:SHARE, such as back-game:3, got 'blitz:much'$"):
        StartShare.parse("blitz:much")
