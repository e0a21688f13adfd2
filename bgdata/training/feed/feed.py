"""Batches to learn from: positions with their chances, in an order that a seed and an epoch decide, and nothing else.

Every version is read once when a feed is opened, block by block, to count the rows of the split and to check all
targets; after that a pool of blocks is in memory at a time. One source of rows ends an epoch when each of them has
been seen once. Several, by weights or by classes, share out every batch alike, and an epoch lasts until all were seen;
those that are through before begin again in another order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import UsageError
from bgdata.evaluation.chances import Chances
from bgdata.evaluation.networks.inputs import UNIT, encode
from bgdata.game.codec import Boards
from bgdata.kernel import threads
from bgdata.store.versions import Versions
from bgdata.training.feed.recipe import FeedRecipe, Place, checked_place, feature_name, state_of
from bgdata.training.feed.shares import SharedBatches
from bgdata.training.feed.versions import benchmark_versions, labelled_versions

if TYPE_CHECKING:
    from bgdata.training.feed.torch import TorchBatches


class Batch(NamedTuple):
    """Contiguous arrays of its own: `torch.from_numpy` takes them without a copy."""

    boards: Boards  # int8[n, 26] of the player on roll
    features: NDArray[np.float32] | None  # [n, inputs] where asked for
    targets: Chances  # float32[n, 5]: win, win_gammon, win_backgammon, lose_gammon, lose_backgammon
    classes: NDArray[np.uint8]  # [n] as gnubg numbers them
    versions: NDArray[np.uint16]  # [n] which of `Feed.versions` a row is from
    rows: NDArray[np.int64]  # [n] and which row of it
    epoch: int
    number: int  # in the epoch, from 0


class Feed:
    """The batches of a recipe, from a place on, for some epochs or (None) without end. It can be sent to processes.

    Opening raises MissingTableError for versions that are gone, CheckFailedError for targets that are no chances, and
    UsageError for a split without rows or batches too small for all that they are shared out to.
    """

    def __init__(
        self,
        warehouse: Versions,
        recipe: FeedRecipe,
        *,
        begin: Place = Place(0, 0),  # noqa: B008
        epochs: int | None = 1,
        from_parquet: bool = False,
    ) -> None:
        if epochs is not None and epochs < 1:
            raise UsageError(f"expected at least 1 epoch, got {epochs}")
        self.recipe, self.begin, self.epochs = recipe, begin, epochs
        self._opened = partial(Feed, warehouse, recipe, begin=begin, epochs=epochs, from_parquet=from_parquet)
        self.shared = SharedBatches(warehouse, recipe, from_parquet)
        self.versions = self.shared.versions
        if begin.batch >= len(self):
            raise UsageError(f"expected a batch below {len(self)} in the state, got {begin.batch}")

    def __reduce__(self) -> tuple[partial[Feed], tuple[()]]:
        """Another process opens the feed anew."""
        return self._opened, ()

    def __len__(self) -> int:
        """Batches of an epoch."""
        return self.shared.count

    def __iter__(self) -> Iterator[Batch]:
        """Every batch from the beginning of the feed on."""
        return self.part(0, 1)

    def __repr__(self) -> str:
        guard = f"{self.guarded:,} left out for benchmarks" if self.recipe.benchmarks else "no benchmark to guard"
        return f"Feed({', '.join(self.versions)}: {self.row_count:,} rows of {self.recipe.split}, {guard})"

    @property
    def row_count(self) -> int:
        """Rows that an epoch sees at least once: those of the split that the guard leaves."""
        return self.shared.row_count

    @property
    def guarded(self) -> int:
        """Rows of the split that the guard leaves out: positions of benchmarks, seen by either side."""
        return self.shared.guarded

    def part(self, first: int, step: int) -> Iterator[Batch]:
        """Every batch number first, first + step, ... of those that the feed gives, counted from 0: a worker's."""
        size = len(self)
        place, end = self.begin.epoch * size + self.begin.batch, None if self.epochs is None else self.epochs * size
        place += first
        while end is None or place < end:
            yield self.batch(*divmod(place, size))
            place += step

    def batch(self, epoch: int, number: int) -> Batch:
        """A batch of an epoch, both numbered from 0."""
        rows = self.shared.rows(epoch, number)
        return Batch(
            rows.boards, self._features(rows.boards), rows.targets, rows.classes, rows.versions, rows.rows,
            epoch, number,
        )  # fmt: skip

    def state_after(self, batch: Batch) -> dict[str, Any]:
        """What goes on after a batch, as JSON of some kilobytes: give it to `Versions.batches` as `state`."""
        return state_of(self.recipe, Place(*divmod(batch.epoch * len(self) + batch.number + 1, len(self))))

    def seen(self, last: Batch, begin: Place = Place(0, 0)) -> dict[str, Any]:  # noqa: B008
        """Which rows a run has seen, exactly, from the first batch, or from `begin`, to the last, for its manifest:
        the recipe and two places, as JSON of some kilobytes. `listed_rows` lists the rows again."""
        after = self.state_after(last)
        return {"feed": after["feed"], "begin": list(begin), "end": [after["epoch"], after["batch"]]}

    def torch(self, rank: int = 0, ranks: int = 1) -> TorchBatches:
        """An IterableDataset of whole batches for `DataLoader(..., batch_size=None)`; see `feed_torch`."""
        from bgdata.training.feed.torch import TorchBatches

        return TorchBatches(self, rank, ranks)

    def _features(self, boards: Boards) -> NDArray[np.float32] | None:
        encoder = self.recipe.encoder_of()
        if encoder is None:
            return None
        with threads(1):  # in a batch there is less to do than to wait for another thread where a learner is at work
            return np.multiply(encode(encoder, boards), np.float32(1 / UNIT), dtype=np.float32)


def open_feed(
    warehouse: Versions,
    kind: str | Mapping[str, float],
    *,
    split: str = "train",
    seed: int = 0,
    batch_size: int = 4096,
    features: str = "",
    strata: Mapping[str, float] | Sequence[str] = (),
    guard: bool = True,
    epochs: int | None = 1,
    state: Mapping[str, Any] | None = None,
    from_parquet: bool = False,
) -> Feed:
    """The feed of the current versions: see `bgdata.Warehouse.batches`."""
    weights = {kind: 1.0} if isinstance(kind, str) else dict(kind)
    shares = dict(strata) if isinstance(strata, Mapping) else dict.fromkeys(strata, 1.0)
    recipe = FeedRecipe(
        sources={
            name: {"weight": weight, "versions": labelled_versions(warehouse, name)} for name, weight in weights.items()
        },
        split=split,
        seed=seed,
        batch_size=batch_size,
        features=feature_name(features),
        strata=shares,
        benchmarks=benchmark_versions(warehouse) if guard and split != "test" else None,
    )
    begin = Place(0, 0) if state is None else checked_place(recipe, state)
    return Feed(warehouse, recipe, begin=begin, epochs=epochs, from_parquet=from_parquet)


def listed_rows(warehouse: Versions, seen: Mapping[str, Any]) -> Iterator[dict[str, NDArray[np.int64]]]:
    """The rows of each batch that a run has seen, in order, from what `Feed.seen` says of it: rows by the version that
    they are from. Raises UsageError for what is no such record, and as opening the feed does."""
    if not isinstance(seen, Mapping) or set(seen) != {"feed", "begin", "end"}:
        raise UsageError(f"expected a record with feed, begin and end, got {seen!r:.80}")
    recipe, begin, end = FeedRecipe.from_record(seen["feed"]), Place(*seen["begin"]), Place(*seen["end"])
    feed = Feed(warehouse, replace(recipe, features=""), begin=begin, epochs=None)
    for batch in feed:
        if (batch.epoch, batch.number) >= end:
            return
        yield {
            name: batch.rows[batch.versions == number]
            for number, name in enumerate(feed.versions)
            if (batch.versions == number).any()
        }
