"""Training games as a dataset; the contract tests build it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bgdata.errors import InvalidParameterError
from bgdata.selfplay.kinds.training_games import DATASET, STARTS, StartShare
from bgdata.selfplay.kinds.training_games_compute import DOUBTED
from bgdata.selfplay.splits import SPLITS
from bgdata.store.parameters import VersionRef
from bgdata.store.progress import Silence
from bgdata.store.verify import verify
from bgdata.warehouse import Warehouse


@pytest.mark.parametrize(
    ("text", "share"), [("back-game:3", StartShare("back-game", 3.0)), ("opening:0.5", StartShare("opening", 0.5))]
)
def test_start_shares_round_trip(text: str, share: StartShare) -> None:
    assert StartShare.parse(text) == share
    assert str(share) == text


def test_share_of_a_start_is_1_by_default() -> None:
    assert StartShare.parse("blitz") == StartShare("blitz", 1.0)


def test_doubtful_games_begin_where_plies_disagree(warehouse: Warehouse) -> None:
    """Games start at the training positions where 0-ply and 1-ply differ most, and `verify` accepts the table."""
    earlier = warehouse.open(DATASET.name, DATASET.slug(DATASET.smallest))
    version = VersionRef(DATASET.name, *earlier.folder.parts[-2:])
    starts = (StartShare("doubtful"), StartShare("opening"))
    table = warehouse.build(DATASET.name, replace(DATASET.smallest, name="doubts", starts=starts, doubts=version))
    assert table.manifest.inputs["doubts"].startswith(f"{DATASET.name}/{version.variant}@{earlier.manifest.digest}")

    is_train = np.asarray(earlier.array("splits")) == SPLITS.index("train")
    differences = np.abs(np.asarray(earlier.array("lookahead_equities")) - np.asarray(earlier.array("static_equities")))
    least_difference = np.sort(differences[is_train])[-(is_train.sum() // DOUBTED)]
    is_doubted = is_train & (differences >= least_difference)
    doubted_boards = set(map(tuple, np.asarray(earlier.array("boards"))[is_doubted].tolist()))

    is_first_turn = np.asarray(table.array("turns")) == 0
    is_doubtful = np.asarray(table.array("starts")) == STARTS.index("doubtful")
    first_boards = list(map(tuple, np.asarray(table.array("boards"))[is_first_turn & is_doubtful].tolist()))
    assert 5 < len(first_boards) < 17
    assert set(first_boards) <= doubted_boards
    assert len(set(first_boards)) > 2
    findings = verify(warehouse, [table], sample_rows=22, seed=1, progress=Silence())
    assert [finding.problem for finding in findings if finding.problem] == []


def test_invalid_share_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"^expected START:SHARE, such as back-game:3, got 'blitz:much'$"):
        StartShare.parse("blitz:much")
