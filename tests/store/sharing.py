"""Work for tests of shards: cheap, importable by other processes, and easy to damage."""

import os
import pickle
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest

from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computed, FlatArray, Recheck, sample_text
from bgdata.store.executors import Cluster, InProcess
from bgdata.store.shards import ShardReturn, Work, compute_shards, ranges
from bgdata.store.table import Table
from bgdata.store.worker_inputs import NeededVersion, Settings
from tests.store.toy import Count, Squares


def squares(settings: Settings, begin: int, end: int) -> dict[str, Array]:
    """The squares of a range. Each call adds the range to a file."""
    if "log" in settings:
        with Path(str(settings["log"])).open("a") as log:
            log.write(f"{begin}-{end} {os.getpid()}\n")
    time.sleep(float(settings.get("seconds", 0)))
    if settings.get("refuse") == begin:
        raise InvalidParameterError(f"expected another range, got {begin}")
    if settings.get("die") == begin:
        os.kill(os.getpid(), signal.SIGKILL)
    numbers = np.arange(begin, end, dtype=np.int64)
    return {"square": numbers**2, "flags": np.full((end - begin, 2), int(settings.get("flag", 0)), np.int8)}


def work(**settings: str | int) -> Work:
    """`squares` with settings."""
    return Work("tests.store.sharing:squares", settings)


class PartedSquares(Squares):
    """Squares in parts of four numbers, with the digits of each square."""

    part_items = 4
    log = ""
    author = "a"
    arrays: ClassVar[tuple[FlatArray, ...]] = (
        FlatArray("square", "int64", "number", "Squares"),
        FlatArray("digits", "int8", "digit", "Their digits"),
        FlatArray("first_digits", "int64", "number, and one past the last", "Where its digits begin"),
        FlatArray("author", "uint8", "byte", "Who computed them", is_shared=True),
    )

    def item_count(self, parameters: Count, _inputs: Mapping[str, Table]) -> int:
        return parameters.count

    def compute(self, build: Build[Count]) -> None:
        items = build.items(build.parameters.count)
        wanted = work(**({"log": self.log} if self.log else {}))
        squares = [shard["square"] for shard in compute_shards(build.job, "numbers", wanted, ranges(items, 2))]
        texts = [str(number) for number in np.concatenate(squares).tolist()]
        build.job.save("square", np.concatenate(squares))
        build.job.save("digits", np.array([int(letter) for text in texts for letter in text], np.int8))
        build.job.save("first_digits", np.cumsum([0, *map(len, texts)]))
        build.job.save("author", np.frombuffer(self.author.encode(), np.uint8) + items.start * (self.author == "b"))

    def batches(self, computed: Computed[Count]) -> Iterator[pa.RecordBatch]:
        squares = computed.arrays["square"]
        for start in range(0, len(squares), self.row_group_rows):
            values = squares[start : start + self.row_group_rows]
            numbers = np.arange(start, start + len(values), dtype=np.int32) + computed.first_row
            yield pa.record_batch({"number": numbers, "square": np.ascontiguousarray(values)})

    def check_sample(self, recheck: Recheck[Count]) -> str:
        items = recheck.items(recheck.parameters.count)
        if recheck.table.array("square").tolist() != [number**2 for number in items]:
            raise CheckFailedError(f"expected squares from {items.start} on in {recheck.table.name}, found others")
        return sample_text(len(items), len(items))


class Elsewhere(Cluster):
    """A cluster in this process, which pickles its tasks like another machine."""

    def __init__(self, store: str = "") -> None:
        super().__init__(InProcess(), store)

    def submit(self, function: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        return super().submit(*pickle.loads(pickle.dumps((function, *given))), **named)


def hide_from_workers(monkeypatch: pytest.MonkeyPatch, folder: Path, cache: Path) -> None:
    """Make workers find no version in a folder, and unable to write into it; they fetch into another folder."""
    is_in = NeededVersion.is_in
    monkeypatch.setattr(
        NeededVersion, "is_in", lambda self, place: not place.is_relative_to(folder) and is_in(self, place)
    )
    monkeypatch.setattr(ShardReturn, "_is_seen", lambda _: False)
    for module in ("worker_inputs", "exchange"):
        monkeypatch.setattr(f"bgdata.store.{module}.cache_folder", lambda: cache)


def doubles(settings: Settings, begin: int, end: int) -> dict[str, Array]:
    """Twice the squares of a range, from the version sent; a file records the worker. With BGDATA_TEST_SLOW the
    call takes this many seconds."""
    time.sleep(float(os.environ.get("BGDATA_TEST_SLOW", "0.1")))
    with Path(str(settings["log"])).open("a") as log:
        log.write(f"{os.environ.get('HOME')}\n")
    return {"double": 2 * np.asarray(Table(Path(str(settings["squares"]))).array("square")[begin:end])}
