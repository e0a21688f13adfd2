"""The feed in PyTorch: whole batches, without a copy, in the same order with any number of workers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.errors import MissingExtraError, UsageError
from bgdata.training.feed.feed import Feed
from tests.training.labels import sample_boards, write_labels


@pytest.fixture
def feed(tmp_path: Path) -> Feed:
    write_labels(tmp_path, "gnubg_training/contact", sample_boards(20))
    warehouse = bgdata.open_warehouse(tmp_path)
    return warehouse.batches("gnubg_training", seed=1, batch_size=100, features="tesauro-196", epochs=2)


def test_without_pytorch_there_is_one_line(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "bgdata.training.feed.torch", raising=False)
    with pytest.raises(MissingExtraError, match=r'expected torch .*, found none; try: .*"bgdata\[torch\]"$'):
        feed.torch()


def assert_equal(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        assert np.array_equal(one.rows.numpy(), other.rows)
        assert np.array_equal(one.features.numpy(), other.features)
        assert np.array_equal(one.targets.numpy(), other.targets)
        assert (one.epoch, one.number) == (other.epoch, other.number)


def test_tensors_share_the_memory_of_the_arrays(feed: Feed) -> None:
    torch = pytest.importorskip("torch")
    from bgdata.training.feed.torch import tensors

    batch = feed.batch(0, 0)
    found = tensors(batch)
    for name in ("boards", "features", "targets", "classes", "rows"):
        assert isinstance(getattr(found, name), torch.Tensor)
        assert getattr(found, name).data_ptr() == getattr(batch, name).ctypes.data
    assert found.features is not None
    assert found.features.dtype == torch.float32
    assert tensors(batch._replace(features=None)).features is None


@pytest.mark.slow
def test_workers_give_the_same_batches_in_the_same_order(feed: Feed) -> None:
    data = pytest.importorskip("torch.utils.data")
    expected = list(feed)
    assert_equal(data.DataLoader(feed.torch(), batch_size=None), expected)
    workers = data.DataLoader(feed.torch(), batch_size=None, num_workers=2, multiprocessing_context="spawn")
    assert_equal(workers, expected)


def test_ranks_share_the_batches_out(feed: Feed) -> None:
    pytest.importorskip("torch")
    expected = list(feed)
    for rank in range(3):
        assert_equal(feed.torch(rank, 3), expected[rank::3])
    with pytest.raises(UsageError, match="expected a rank from 0 to ranks - 1, got rank 3 of 3"):
        feed.torch(3, 3)


def test_a_run_goes_on_from_a_batch_of_tensors(feed: Feed, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    batches = list(feed.torch())
    state = feed.state_after(batches[4])
    rest = bgdata.open_warehouse(tmp_path).batches(
        "gnubg_training", seed=1, batch_size=100, features="tesauro-196", epochs=2, state=state
    )
    assert_equal(batches[5:], rest)
