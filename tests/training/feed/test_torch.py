"""The feed in PyTorch: whole batches, without a copy, in the same order with any number of workers."""

import json
import multiprocessing
import sys
from datetime import timedelta
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


def test_missing_pytorch_gives_a_one_line_error(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "bgdata.training.feed.torch", raising=False)
    with pytest.raises(MissingExtraError, match=r'expected torch .*, found none; try: .*"bgdata-backgammon\[torch\]"$'):
        feed.torch()


def assert_equal(tensor_batches: Any, batches: Any) -> None:
    """Check that batches of tensors contain the values of batches of arrays."""
    for tensors, arrays in zip(tensor_batches, batches, strict=True):
        assert np.array_equal(tensors.rows.numpy(), arrays.rows)
        assert np.array_equal(tensors.features.numpy(), arrays.features)
        assert np.array_equal(tensors.targets.numpy(), arrays.targets)
        assert (tensors.epoch, tensors.number) == (arrays.epoch, arrays.number)


def test_tensors_share_the_memory_of_the_arrays(feed: Feed) -> None:
    torch = pytest.importorskip("torch")
    from bgdata.training.feed.torch import tensors

    batch = feed.batch(0, 0)
    converted = tensors(batch)
    for name in ("boards", "features", "targets", "classes", "rows"):
        assert isinstance(getattr(converted, name), torch.Tensor)
        assert getattr(converted, name).data_ptr() == getattr(batch, name).ctypes.data
    assert converted.features is not None
    assert converted.features.dtype == torch.float32
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
    for rank in range(3):
        assert_equal(feed.torch(rank, 3), feed.share(rank, 3))
        assert_equal(feed.torch(rank, 3, "fill"), feed.share(rank, 3, "fill"))
        assert_equal(feed.share(rank, 3).torch(), feed.share(rank, 3))
    with pytest.raises(UsageError, match="expected a rank from 0 to ranks - 1, got rank 3 of 3"):
        feed.torch(3, 3)


def test_feed_resumes_after_a_batch_of_tensors(feed: Feed, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    batches = list(feed.torch())
    state = feed.state_after(batches[4])
    rest = bgdata.open_warehouse(tmp_path).batches(
        "gnubg_training", seed=1, batch_size=100, features="tesauro-196", epochs=2, state=state
    )
    assert_equal(batches[5:], rest)


OPTIONS: dict[str, Any] = {"seed": 1, "batch_size": 95, "features": "tesauro-196", "epochs": 2}


def learn(rank: int, folder: str, state: dict[str, Any] | None, uneven: str, workers: int) -> None:
    """Train as process `rank` of two: add up the rows of both after every step, as gradients are added, and save the
    rows and states of this process."""
    from torch import distributed
    from torch.utils.data import DataLoader

    meeting = f"file://{folder}/meeting-{state is None}"
    distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=2, timeout=timedelta(seconds=120))
    feed = bgdata.open_warehouse(Path(folder, "warehouse")).batches("gnubg_training", **OPTIONS, state=state)
    context = "spawn" if workers else None
    batches = DataLoader(
        feed.torch(rank, 2, uneven), batch_size=None, num_workers=workers, multiprocessing_context=context
    )
    seen, states, sums = [], [], []
    for batch in batches:
        total = batch.rows.sum()
        distributed.all_reduce(total)  # waits for the other process: one with more batches would wait for ever
        sums.append(int(total))
        seen.append(batch.rows.tolist())
        states.append(feed.state_after(batch))
    distributed.barrier()
    distributed.destroy_process_group()
    found = {"seen": seen, "states": states, "sums": sums}
    Path(folder, f"rank-{rank}-{state is None}.json").write_text(json.dumps(found))


def run_two_processes(folder: Path, state: dict[str, Any] | None, uneven: str, workers: int) -> list[dict[str, Any]]:
    """Run two training processes, and return what each saved."""
    spawned = multiprocessing.get_context("spawn")
    ranks = [spawned.Process(target=learn, args=(rank, str(folder), state, uneven, workers)) for rank in (0, 1)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join(300)
    assert [process.exitcode for process in ranks] == [0, 0]
    return [json.loads((folder / f"rank-{rank}-{state is None}.json").read_text()) for rank in (0, 1)]


@pytest.mark.slow
@pytest.mark.parametrize(("uneven", "workers"), [("drop", 0), ("fill", 0), ("drop", 2)])
def test_two_processes_learn_together(tmp_path: Path, uneven: str, workers: int) -> None:
    """With gloo, each of two processes gets equally many batches, together all rows of an epoch except the dropped
    ones, and both have the same state."""
    pytest.importorskip("torch.distributed")
    write_labels(tmp_path / "warehouse", "gnubg_training/contact", sample_boards(20))
    feed = bgdata.open_warehouse(tmp_path / "warehouse").batches("gnubg_training", **OPTIONS)
    assert len(feed) % 2 == 1  # one rank would wait for ever if the other had a batch more
    first, second = run_two_processes(tmp_path, None, uneven, workers)
    steps = len(feed) // 2 if uneven == "drop" else -(-len(feed) // 2)
    assert len(first["seen"]) == len(second["seen"]) == 2 * steps
    assert {len(rows) for found in (first, second) for rows in found["seen"]} == {95}
    assert first["sums"] == second["sums"]
    assert first["sums"] == [sum(a) + sum(b) for a, b in zip(first["seen"], second["seen"], strict=True)]
    in_turn = [rows for step in zip(first["seen"], second["seen"], strict=True) for rows in step][: 2 * steps]
    full = [batch.rows.tolist() for batch in feed if batch.epoch == 0 and len(batch.rows) == 95]
    assert in_turn[: len(full)] == full[: len(in_turn)]
    assert first["states"] == second["states"]
    again = run_two_processes(tmp_path, second["states"][2], uneven, 0)
    for found, whole in zip(again, (first, second), strict=True):
        assert found["seen"] == whole["seen"][3:]
        assert found["states"] == whole["states"][3:]
