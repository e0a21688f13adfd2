"""Batches of positions with their chances, in an order that depends on the seed and the epoch alone.

Opening a feed counts the rows of the split, or loads the saved counts. Rows are read, and checked, in pools of some
hundred thousand rows, one of which is in memory at a time. With one source of rows, an epoch ends when each row has
been seen once. With several sources, by weights or by classes, each source gets a fixed share of every batch, and an
epoch ends when all rows have been seen; a source that is exhausted earlier starts again in another order. Several
processes that learn together get the batches of an epoch in turn, the same number each.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass, fields, replace
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import UsageError
from bgdata.evaluation.networks.contact_inputs import UNIT
from bgdata.evaluation.networks.input_sets import InputSet, input_set_named
from bgdata.evaluation.networks.inputs import encode
from bgdata.game.classes import PositionClass
from bgdata.kernel import threads
from bgdata.selfplay.splits import SPLITS
from bgdata.store.versions import Versions
from bgdata.training.feed.counts import Counts, block_counts
from bgdata.training.feed.rows import (
    COUNTED,
    GUARDED,
    Batch,
    Choice,
    Guard,
    LabelledRows,
    benchmark_versions,
    games_of,
    labelled_versions,
    open_version,
    splits_of,
)
from bgdata.training.feed.stream import Size, Stream, join_rows, random_order

if TYPE_CHECKING:
    from bgdata.training.feed.torch import TorchBatches

FORMAT = 2  # raised when the same recipe would give other batches
# By format: the rows of a block, the blocks of a pool, and the format. Pools of format 1 were whole blocks in random
# order, so a version could be any share of a batch. It is there to train older networks again as they were trained.
ORDERS = {1: (245_760, 4, 1), FORMAT: (1_024, 960, FORMAT)}
MIX = 1 << 32  # stands for a stream's number in keys of the order inside a batch
CLASSES = {entry.name.lower(): entry for entry in (PositionClass.CONTACT, PositionClass.CRASHED, PositionClass.RACE)}
UNEVEN = ("drop", "fill")  # what happens to rows at the end of an epoch that processes cannot share evenly


class Place(NamedTuple):
    """The position of a batch in the feed: the epoch, and the number of the batch in that epoch, both from 0."""

    epoch: int
    batch: int


@dataclass(frozen=True)
class FeedRecipe:
    """Everything that the batches of a feed depend on. `sources` contains a weight and the digests of versions for each
    requested kind or variant. `strata` contains the shares of classes; if it is empty, classes are as frequent as in
    the sources. `benchmarks` contains the digests of the versions whose positions are left out; None leaves out no
    position."""

    sources: Mapping[str, Mapping[str, Any]]  # name -> {"weight": 2.0, "versions": {"kind/variant/version": digest}}
    split: str
    seed: int
    batch_size: int
    features: str  # such as tesauro-196@1, empty for boards alone
    strata: Mapping[str, float]
    benchmarks: Mapping[str, str] | None
    block_rows: int = ORDERS[FORMAT][0]
    pool_blocks: int = ORDERS[FORMAT][1]
    format: int = FORMAT

    def check(self) -> None:
        """Raise UsageError if a field is invalid, and UnknownInputSetError if the features are unknown."""
        if not self.sources:
            raise UsageError("expected a kind to read, got none")
        if self.split not in SPLITS:
            raise UsageError(f"expected a split among {', '.join(SPLITS)}, got {self.split}")
        if not 0 <= self.seed < 1 << 63:
            raise UsageError(f"expected a seed from 0 to 2^63 - 1, got {self.seed}")
        for name in ("batch_size", "block_rows", "pool_blocks"):
            if not 1 <= getattr(self, name) < 1 << 31:
                raise UsageError(f"expected a {name} of at least 1, got {getattr(self, name)}")
        if self.format not in ORDERS:
            raise UsageError(f"expected a feed of format {' or '.join(map(str, ORDERS))}, got format {self.format}")
        for name in self.strata:
            if name not in CLASSES:
                raise UsageError(f"expected strata among {', '.join(CLASSES)}, got {name}")
        weights = {name: source["weight"] for name, source in self.sources.items()}
        for name, weight in (*weights.items(), *self.strata.items()):
            if not 0 < weight < float("inf"):
                raise UsageError(f"expected a weight above 0 for {name}, got {weight}")
        self.input_set_of()

    def input_set_of(self) -> InputSet | None:
        """Return the input set that computes `features`; None if batches contain boards alone. Raises
        UnknownInputSetError if the input set is unknown, and UsageError if its revision is not the current one."""
        if not self.features:
            return None
        label, _, revision = self.features.partition("@")
        input_set = input_set_named(label)
        if revision != str(input_set.revision):
            raise UsageError(f"expected features of revision {input_set.revision} of {label}, got {self.features}")
        return input_set

    def record(self) -> dict[str, Any]:
        """Return the fields as JSON values, for states and manifests; `from_record` reads them back."""
        return asdict(self)

    @classmethod
    def from_record(cls, values: object) -> FeedRecipe:
        """Return the recipe that `record` returned as `values`. Raises UsageError for other values, or for a record of
        another format."""
        if not isinstance(values, Mapping) or set(values) != {field.name for field in fields(cls)}:
            raise UsageError(f"expected the record of a feed of format {FORMAT}, got {values!r:.80}")
        recipe = cls(**values)
        recipe.check()
        return recipe


def parse_place(recipe: FeedRecipe, state: Mapping[str, Any]) -> Place:
    """Return the position of the next batch, from a state that `Feed.state_after` returned. Raises UsageError if the
    state is from a feed with another recipe; the error names the first difference."""
    if set(state) != {"feed", "epoch", "batch"}:
        raise UsageError(f"expected a state with feed, epoch and batch, got {', '.join(map(str, state)) or 'none'}")
    own, given = recipe.record(), state["feed"]
    if not isinstance(given, Mapping):
        raise UsageError(f"expected the record of a feed in the state, got {given!r:.80}")
    if given.get("format") != recipe.format:
        raise UsageError(
            f"expected the state of a feed of format {recipe.format}, got format {given.get('format')}, whose batches "
            "came in another order; try: begin an epoch without a state"
        )
    for name, value in own.items():
        if given.get(name) != value:
            raise UsageError(f"expected the state of a feed with {name} {value}, got one with {given.get(name)}")
    place = Place(state["epoch"], state["batch"])
    if not all(isinstance(number, int) and number >= 0 for number in place):
        raise UsageError(f"expected the numbers of an epoch and a batch, got {state['epoch']} and {state['batch']}")
    return place


def share_out(total: int, weights: Sequence[float | Fraction]) -> list[int]:
    """Divide `total` units into whole parts in proportion to `weights`. Units that are left over by rounding go to the
    largest remainders; ties go to the first."""
    fractions = [Fraction(weight) for weight in weights]
    exact = [weight * total / sum(fractions) for weight in fractions]
    parts = [int(part) for part in exact]
    by_remainder = sorted(range(len(parts)), key=lambda n: (parts[n] - exact[n], n))
    for n in by_remainder[: total - sum(parts)]:
        parts[n] += 1
    return parts


class Feed:
    """The batches of a recipe from a given position on, for `epochs` epochs, or without end if `epochs` is None. A feed
    can be sent to other processes, with the row counts that were made when it was opened.

    Raises MissingTableError if versions no longer exist, and UsageError if the split has no rows or batches are too
    small for their shares. Reading a batch raises CheckFailedError if its targets are not chances."""

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
        recipe.check()
        self.recipe, self.begin, self.epochs = recipe, begin, epochs
        self.rank, self.ranks, self.uneven = 0, 1, UNEVEN[0]
        digests = {name: digest for source in recipe.sources.values() for name, digest in source["versions"].items()}
        self.versions = tuple(sorted(digests))
        tables = [open_version(warehouse, name, digests[name]) for name in self.versions]
        # versions of the same games, whose positions occur more than once: the user should know
        games = [games_of(warehouse, table) for table in tables]
        self.notes = tuple(
            f"{self.versions[one]} and {self.versions[other]} are of the same games: {games[one]}"
            for one, other in combinations(range(len(games)), 2)
            if games[one] and games[one] == games[other]
        )
        self._rows = [LabelledRows(table, splits_of(warehouse, table), from_parquet) for table in tables]
        guarded = None if recipe.benchmarks is None else recipe.benchmarks.items()
        guard = None if guarded is None else Guard(open_version(warehouse, *version) for version in guarded)
        self._choice = Choice(SPLITS.index(recipe.split), guard)
        counts = [block_counts(rows, guard, recipe.block_rows)[:, self._choice.split] for rows in self._rows]
        total = sum((each.sum(axis=0, dtype=np.int64) for each in counts), np.zeros(GUARDED + 1, np.int64))
        # rows of the split that the guard leaves out: positions of benchmarks, for either side
        self.guarded = int(total[GUARDED])
        # int64[class]: number of rows of each class that an epoch may see; classes are numbered as in gnubg's files
        self.class_counts = np.zeros(max(COUNTED) + 1, np.int64)
        self.class_counts[list(COUNTED)] = total[:GUARDED]
        streams = self._open_streams(counts)
        self._streams = [stream for stream, _ in streams]
        # rows that an epoch sees at least once: the rows of the split that the guard does not leave out
        self.row_count = sum(stream.count for stream in self._streams)
        self._shares = share_out(recipe.batch_size, [weight for _, weight in streams])
        if 0 in self._shares:
            raise UsageError(
                f"expected batches with a row of each of {len(streams)} shares, got a batch_size of {recipe.batch_size}"
            )
        if begin.batch >= len(self):
            raise UsageError(f"expected a batch below {len(self)} in the state, got {begin.batch}")

    def __len__(self) -> int:
        """The number of batches in an epoch. If several processes share the feed, only the batches of this process
        count."""
        return self._steps(0)

    def __iter__(self) -> Iterator[Batch]:
        """Yield all batches that this process gets, from the beginning of the feed."""
        return self.part(0, 1)

    def __repr__(self) -> str:
        guard = f"{self.guarded:,} left out for benchmarks" if self.recipe.benchmarks else "no benchmark to guard"
        rank = f", rank {self.rank} of {self.ranks}" if self.ranks > 1 else ""
        return f"Feed({', '.join(self.versions)}: {self.row_count:,} rows of {self.recipe.split}, {guard}{rank})"

    def share(self, rank: int, ranks: int, uneven: str = "drop") -> Feed:
        """Return the part of this feed for process number `rank` (from 0) of `ranks` processes that train together.
        Each of them opens the same feed and gets every `ranks`-th batch. In each epoch all processes get the same
        number of batches, all of full size. Rows at the end of an epoch that cannot be divided evenly among the
        processes are left out (`drop`), or filled up with rows of another round of the same epoch (`fill`). Raises
        UsageError if numbers are out of range, or if there are fewer batches than processes."""
        if not 0 <= rank < ranks:
            raise UsageError(f"expected a rank from 0 to ranks - 1, got rank {rank} of {ranks}")
        if uneven not in UNEVEN:
            raise UsageError(f"expected uneven {' or '.join(UNEVEN)}, got {uneven}")
        part = copy(self)
        part.rank, part.ranks, part.uneven = rank, ranks, uneven
        if not len(part):
            raise UsageError(
                f"expected a full batch for each of {ranks} ranks in an epoch of {self.row_count:,} rows, got a "
                f"batch_size of {self.recipe.batch_size}; try: uneven='fill'"
            )
        return part

    def part(self, first: int, step: int) -> Iterator[Batch]:
        """Yield batches first, first + step, ... of this process, counted from 0. Each worker of a data loader reads
        one such part."""
        epoch, number = self.begin.epoch, first
        while self.epochs is None or epoch < self.epochs:
            start = self._start(epoch)
            steps = self._steps(start)
            while number < steps:
                yield self.batch(epoch, start + number * self.ranks + self.rank)
                number += step
            number, epoch = number - steps, epoch + 1

    def batch(self, epoch: int, number: int) -> Batch:
        """Read one batch of an epoch, both numbered from 0. If the feed reads a single stream of rows, the epoch's last
        batch may be shorter. Several streams, or a feed filled up with `fill`, start again instead."""
        size = self.recipe.batch_size
        if len(self._streams) == 1:
            stream, end = self._streams[0], (number + 1) * size
            is_filled = self.ranks > 1 and self.uneven == "fill"
            rows = stream.read(epoch, number * size, end if is_filled else min(end, stream.count))
        else:
            shares = zip(self._streams, self._shares, strict=True)
            found = join_rows([stream.read(epoch, number * share, (number + 1) * share) for stream, share in shares])
            rows = found.take(random_order((self.recipe.seed, MIX, epoch, number), len(found.rows)))
        input_set, features = self.recipe.input_set_of(), None
        if input_set is not None:
            with threads(1):  # a batch is too small to wait for threads that the training keeps busy
                features = np.multiply(encode(input_set, rows.boards), np.float32(1 / UNIT), dtype=np.float32)
        return Batch(rows.boards, features, *rows[1:], epoch, number, self._after(epoch, number))

    def state_after(self, batch: Batch) -> dict[str, Any]:
        """Return the state of the feed after `batch`, as JSON of some kilobytes. `Versions.batches` continues from the
        state if it gets it as `state`. If processes share the feed, all get the same state for batches that they read
        at the same time, and any number of processes may continue from it."""
        epoch, number = batch.after
        return {"feed": self.recipe.record(), "epoch": int(epoch), "batch": int(number)}

    def seen(self, last: Batch, begin: Place = Place(0, 0)) -> dict[str, Any]:  # noqa: B008
        """Return a record of exactly which rows a training run has read, from the first batch (or `begin`) to the batch
        `last`, for the manifest of the run. The record is the recipe and two positions, as JSON of some kilobytes;
        `listed_rows` lists the rows again. If processes share the feed, the record covers all of them."""
        after = self.state_after(last)
        shared = {"ranks": self.ranks, "uneven": self.uneven} if self.ranks > 1 else {}
        return {"feed": after["feed"], "begin": list(begin), "end": [after["epoch"], after["batch"]], **shared}

    def torch(self, rank: int = 0, ranks: int = 1, uneven: str = "drop") -> TorchBatches:
        """Return a PyTorch IterableDataset of whole batches, for `DataLoader(..., batch_size=None)`; see `feed.torch`.
        If `rank` and `ranks` are given, it contains the batches of that `share`."""
        from bgdata.training.feed.torch import TorchBatches

        return TorchBatches(self if (rank, ranks) == (0, 1) else self.share(rank, ranks, uneven))

    def _start(self, epoch: int) -> int:
        """Return the number of the first batch that this feed reads in an epoch."""
        return self.begin.batch if epoch == self.begin.epoch else 0

    def _steps(self, start: int) -> int:
        """Return the number of batches that every process gets in an epoch, from batch `start` on."""
        shares = list(zip(self._streams, self._shares, strict=True))
        batches = max(-(-stream.count // share) for stream, share in shares)
        if self.ranks > 1 and self.uneven == "drop":
            if len(shares) == 1:  # leave out a last batch that is not full
                batches = self._streams[0].count // self._shares[0]
            return max(batches - start, 0) // self.ranks
        return -(-max(batches - start, 0) // self.ranks)

    def _after(self, epoch: int, number: int) -> Place:
        """Return the position at which all processes continue after each has read one batch. Batch `number` of `epoch`
        is one of these batches."""
        start = self._start(epoch)
        step = (number - start) // self.ranks + 1
        return Place(epoch, start + step * self.ranks) if step < self._steps(start) else Place(epoch + 1, 0)

    def _open_streams(self, counts: Sequence[Counts]) -> list[tuple[Stream, Fraction]]:
        """Open the streams of rows, and return them with their weights, in the order of their names. If a source has no
        rows of a class, the other sources fill its share of that class. Raises UsageError if a source has no rows at
        all."""
        streams: list[tuple[Stream, Fraction]] = []
        names, sources = zip(*sorted(self.recipe.sources.items()), strict=True)
        for number, (stratum, share) in enumerate(sorted((self.recipe.strata or {"": 1}).items())):
            opened = [
                self._open_stream(source["versions"], stratum, counts, number * len(sources) + n)
                for n, source in enumerate(sources)
            ]
            weighted = zip(opened, (Fraction(source["weight"]) for source in sources), strict=True)
            found = [(stream, weight) for stream, weight in weighted if stream.count]
            if not found or (not stratum and len(found) < len(opened)):
                where = ", ".join(names) if stratum else names[[stream.count for stream in opened].index(0)]
                rows = f"rows of the class {stratum}" if stratum else "rows"
                left_out = f"; {self.guarded:,} were left out for benchmarks" if self.guarded else ""
                raise UsageError(f"expected {rows} in the split {self.recipe.split} of {where}, found none{left_out}")
            whole = sum(weight for _, weight in found)
            streams += [(stream, Fraction(share) * weight / whole) for stream, weight in found]
        return streams

    def _open_stream(self, names: Collection[str], stratum: str, counts: Sequence[Counts], number: int) -> Stream:
        place = COUNTED.index(CLASSES[stratum]) if stratum else -1
        taken = {
            version: counts[version][:, place] if stratum else counts[version][:, :GUARDED].sum(axis=1)
            for version, name in enumerate(self.versions)
            if name in names
        }
        recipe = self.recipe
        size = Size(recipe.block_rows, recipe.pool_blocks, recipe.format > 1)
        return Stream(self._rows, taken, self._choice._replace(place=place), (recipe.seed, number), size)


def open_feed(
    warehouse: Versions,
    kind: str | Mapping[str, float],
    *,
    features: str,
    strata: Mapping[str, float] | Sequence[str],
    guard: bool,
    state: Mapping[str, Any] | None,
    epochs: int | None,
    from_parquet: bool,
    **recipe_values: Any,
) -> Feed:
    """Open the feed that these settings describe, with the current versions of `kind`. See `bgdata.Warehouse.batches`
    for the parameters."""
    weights = {kind: 1.0} if isinstance(kind, str) else dict(kind)
    if features and "@" not in features:
        features = f"{features}@{input_set_named(features).revision}"
    recipe = FeedRecipe(
        sources={
            name: {"weight": weight, "versions": labelled_versions(warehouse, name)} for name, weight in weights.items()
        },
        features=features,
        strata=dict(strata) if isinstance(strata, Mapping) else dict.fromkeys(strata, 1.0),
        benchmarks=benchmark_versions(warehouse) if guard and recipe_values["split"] != "test" else None,
        **recipe_values,
    )
    begin = Place(0, 0) if state is None else parse_place(recipe, state)
    return Feed(warehouse, recipe, begin=begin, epochs=epochs, from_parquet=from_parquet)


def listed_rows(warehouse: Versions, seen: Mapping[str, Any]) -> Iterator[dict[str, NDArray[np.int64]]]:
    """Yield the rows of each batch that a training run has read, in order, as row numbers by version. `seen` is a
    record from `Feed.seen`. Raises UsageError for any other record, and the same exceptions as `open_feed`."""
    named = {"feed", "begin", "end"}
    if not isinstance(seen, Mapping) or set(seen) not in (named, named | {"ranks", "uneven"}):
        raise UsageError(f"expected a record with feed, begin and end, got {seen!r:.80}")
    recipe, begin, end = FeedRecipe.from_record(seen["feed"]), Place(*seen["begin"]), Place(*seen["end"])
    feed = Feed(warehouse, replace(recipe, features=""), begin=begin, epochs=None)
    feed = feed.share(0, seen.get("ranks", 1), seen.get("uneven", "drop"))
    for first in feed:
        if (first.epoch, first.number) >= end:
            return
        for batch in (first, *(feed.batch(first.epoch, first.number + rank) for rank in range(1, feed.ranks))):
            yield {
                name: batch.rows[batch.versions == number]
                for number, name in enumerate(feed.versions)
                if (batch.versions == number).any()
            }
