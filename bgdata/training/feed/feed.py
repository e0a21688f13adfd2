"""Batches of positions with their chances, in an order that depends on the seed and the epoch alone.

Every version is read once when a feed is opened, block by block, to count the rows of the split and to check all
targets; after that a pool of blocks is in memory at a time. With one source of rows, an epoch ends when each row has
been seen once. Several sources, by weights or by classes, have fixed shares of every batch, and an epoch ends when all
rows have been seen; sources that are exhausted earlier start again in another order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from fractions import Fraction
from functools import partial
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
from bgdata.training.feed.rows import (
    FILE_CLASSES,
    Batch,
    Choice,
    Guard,
    LabelledRows,
    Span,
    Stream,
    benchmark_versions,
    join_rows,
    labelled_versions,
    open_version,
    random_order,
    splits_of,
)

if TYPE_CHECKING:
    from bgdata.training.feed.torch import TorchBatches

FORMAT = 1  # raised when the same recipe would give other batches
BLOCK_ROWS = 245_760  # as the row groups of Parquet files: what is read at once
POOL_BLOCKS = 4  # that are shuffled together: 47 MB
MIX = 1 << 32  # in the place of a stream's number: the order inside a batch
CLASSES = {entry.name.lower(): entry for entry in (PositionClass.CONTACT, PositionClass.CRASHED, PositionClass.RACE)}


class Place(NamedTuple):
    """A batch: the epoch and its number in it, both from 0."""

    epoch: int
    batch: int


@dataclass(frozen=True)
class FeedRecipe:
    """Everything that batches depend on.

    `sources` has, for each kind or variant that was asked for, a weight and the digests of its versions. `strata` has
    the shares of classes; if it is empty, positions come as they are. `benchmarks` has the digests of the versions that
    the rows are guarded against, None without a guard.
    """

    sources: Mapping[str, Mapping[str, Any]]  # name -> {"weight": 2.0, "versions": {"kind/variant/version": digest}}
    split: str
    seed: int
    batch_size: int
    features: str  # such as tesauro-196@1, empty for boards alone
    strata: Mapping[str, float]
    benchmarks: Mapping[str, str] | None
    block_rows: int = BLOCK_ROWS
    pool_blocks: int = POOL_BLOCKS
    format: int = FORMAT

    def check(self) -> None:
        """Raise UsageError for a recipe that cannot be followed, UnknownInputSetError for unknown features."""
        if not self.sources:
            raise UsageError("expected a kind to read, got none")
        if self.split not in SPLITS:
            raise UsageError(f"expected a split among {', '.join(SPLITS)}, got {self.split}")
        if not 0 <= self.seed < 1 << 63:
            raise UsageError(f"expected a seed from 0 to 2^63 - 1, got {self.seed}")
        for name in ("batch_size", "block_rows", "pool_blocks"):
            if not 1 <= getattr(self, name) < 1 << 31:
                raise UsageError(f"expected a {name} of at least 1, got {getattr(self, name)}")
        for name in self.strata:
            if name not in CLASSES:
                raise UsageError(f"expected strata among {', '.join(CLASSES)}, got {name}")
        weights = {name: source["weight"] for name, source in self.sources.items()}
        for name, weight in (*weights.items(), *self.strata.items()):
            if not 0 < weight < float("inf"):
                raise UsageError(f"expected a weight above 0 for {name}, got {weight}")
        self.input_set_of()

    def input_set_of(self) -> InputSet | None:
        """The input set of the features. Raises UnknownInputSetError, and UsageError for another revision of it than
        the current one."""
        if not self.features:
            return None
        label, _, revision = self.features.partition("@")
        input_set = input_set_named(label)
        if revision != str(input_set.revision):
            raise UsageError(f"expected features of revision {input_set.revision} of {label}, got {self.features}")
        return input_set

    def record(self) -> dict[str, Any]:
        """The fields as JSON, for states and manifests; `from_record` reads them back."""
        return asdict(self)

    @classmethod
    def from_record(cls, values: object) -> FeedRecipe:
        """The recipe of a record. Raises UsageError for anything else, or a record of another format."""
        if not isinstance(values, Mapping) or set(values) != {field.name for field in fields(cls)}:
            raise UsageError(f"expected the record of a feed of format {FORMAT}, got {values!r:.80}")
        if values["format"] != FORMAT:
            raise UsageError(f"expected the record of a feed of format {FORMAT}, got format {values['format']}")
        recipe = cls(**values)
        recipe.check()
        return recipe


def parse_place(recipe: FeedRecipe, state: Mapping[str, Any]) -> Place:
    """The next batch of a state of `Feed.state_after`. Raises UsageError for the state of another feed, which names the
    first difference."""
    if set(state) != {"feed", "epoch", "batch"}:
        raise UsageError(f"expected a state with feed, epoch and batch, got {', '.join(map(str, state)) or 'none'}")
    own, given = recipe.record(), state["feed"]
    if not isinstance(given, Mapping):
        raise UsageError(f"expected the record of a feed in the state, got {given!r:.80}")
    for name, value in own.items():
        if given.get(name) != value:
            raise UsageError(f"expected the state of a feed with {name} {value}, got one with {given.get(name)}")
    place = Place(state["epoch"], state["batch"])
    if not all(isinstance(number, int) and number >= 0 for number in place):
        raise UsageError(f"expected the numbers of an epoch and a batch, got {state['epoch']} and {state['batch']}")
    return place


def share_out(total: int, weights: Sequence[float | Fraction]) -> list[int]:
    """Whole parts of a total in proportion to weights. What rounding leaves goes to the largest remainders, the first
    of equals."""
    fractions = [Fraction(weight) for weight in weights]
    exact = [weight * total / sum(fractions) for weight in fractions]
    parts = [int(part) for part in exact]
    by_remainder = sorted(range(len(parts)), key=lambda n: (parts[n] - exact[n], n))
    for n in by_remainder[: total - sum(parts)]:
        parts[n] += 1
    return parts


class Feed:
    """The batches of a recipe, from a place on, for `epochs` epochs, or without end for None. A feed can be sent to
    other processes.

    Opening it reads every version once. Raises MissingTableError for versions that are gone, CheckFailedError for
    targets that are not chances, and UsageError for a split without rows or batches too small for their shares.
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
        recipe.check()
        self.recipe, self.begin, self.epochs = recipe, begin, epochs
        self._opened = partial(Feed, warehouse, recipe, begin=begin, epochs=epochs, from_parquet=from_parquet)
        digests = {name: digest for source in recipe.sources.values() for name, digest in source["versions"].items()}
        self.versions = tuple(sorted(digests))
        tables = [open_version(warehouse, name, digests[name]) for name in self.versions]
        self._rows = [LabelledRows(table, splits_of(warehouse, table), from_parquet) for table in tables]
        guarded = None if recipe.benchmarks is None else recipe.benchmarks.items()
        guard = None if guarded is None else Guard(open_version(warehouse, *version) for version in guarded)
        self._choice = Choice(SPLITS.index(recipe.split), guard)
        spans = [span for version, rows in enumerate(self._rows) for span in self._count(version, rows)]
        # rows of the split that the guard leaves out: positions of benchmarks, as seen by either side
        self.guarded = sum(span.guarded for span in spans)
        # int64[class]: rows of each class, as gnubg's files number them, that an epoch may see
        self.class_counts = sum((span.by_class for span in spans), np.zeros(len(FILE_CLASSES), np.int64))
        streams = self._open_streams(spans)
        self._streams = [stream for stream, _ in streams]
        # rows that an epoch sees at least once: those of the split that the guard does not leave out
        self.row_count = sum(stream.count for stream in self._streams)
        self._shares = share_out(recipe.batch_size, [weight for _, weight in streams])
        if 0 in self._shares:
            raise UsageError(
                f"expected batches with a row of each of {len(streams)} shares, got a batch_size of {recipe.batch_size}"
            )
        if begin.batch >= len(self):
            raise UsageError(f"expected a batch below {len(self)} in the state, got {begin.batch}")

    def __reduce__(self) -> tuple[partial[Feed], tuple[()]]:
        """Another process opens the feed again."""
        return self._opened, ()

    def __len__(self) -> int:
        """Number of batches in an epoch."""
        return max(-(-stream.count // share) for stream, share in zip(self._streams, self._shares, strict=True))

    def __iter__(self) -> Iterator[Batch]:
        """All batches from the beginning of the feed."""
        return self.part(0, 1)

    def __repr__(self) -> str:
        guard = f"{self.guarded:,} left out for benchmarks" if self.recipe.benchmarks else "no benchmark to guard"
        return f"Feed({', '.join(self.versions)}: {self.row_count:,} rows of {self.recipe.split}, {guard})"

    def part(self, first: int, step: int) -> Iterator[Batch]:
        """The batches number first, first + step, ... of the feed, counted from 0: the part of one worker."""
        size = len(self)
        place, end = self.begin.epoch * size + self.begin.batch, None if self.epochs is None else self.epochs * size
        place += first
        while end is None or place < end:
            yield self.batch(*divmod(place, size))
            place += step

    def batch(self, epoch: int, number: int) -> Batch:
        """A batch of an epoch, both numbered from 0. A single stream ends with the epoch; several streams start
        again."""
        size = self.recipe.batch_size
        if len(self._streams) == 1:
            stream = self._streams[0]
            rows = stream.read(epoch, number * size, min((number + 1) * size, stream.count))
        else:
            shares = zip(self._streams, self._shares, strict=True)
            found = join_rows([stream.read(epoch, number * share, (number + 1) * share) for stream, share in shares])
            rows = found.take(random_order((self.recipe.seed, MIX, epoch, number), len(found.rows)))
        input_set, features = self.recipe.input_set_of(), None
        if input_set is not None:
            with threads(1):  # a batch is too small to wait for threads that a learner keeps busy
                features = np.multiply(encode(input_set, rows.boards), np.float32(1 / UNIT), dtype=np.float32)
        return Batch(rows.boards, features, *rows[1:], epoch, number)

    def state_after(self, batch: Batch) -> dict[str, Any]:
        """The state after a batch, as JSON of some kilobytes; `Versions.batches` continues from it as `state`."""
        place = Place(*divmod(batch.epoch * len(self) + batch.number + 1, len(self)))
        return {"feed": self.recipe.record(), "epoch": place.epoch, "batch": place.batch}

    def seen(self, last: Batch, begin: Place = Place(0, 0)) -> dict[str, Any]:  # noqa: B008
        """A record of exactly which rows a run has seen, from the first batch (or `begin`) to the last, for its
        manifest: the recipe and two places, as JSON of some kilobytes. `listed_rows` lists the rows again."""
        after = self.state_after(last)
        return {"feed": after["feed"], "begin": list(begin), "end": [after["epoch"], after["batch"]]}

    def torch(self, rank: int = 0, ranks: int = 1) -> TorchBatches:
        """An IterableDataset of whole batches, for `DataLoader(..., batch_size=None)`; see `feed.torch`. `rank` of
        `ranks` training processes gets every `ranks`-th batch."""
        from bgdata.training.feed.torch import TorchBatches

        return TorchBatches(self, rank, ranks)

    def _count(self, version: int, rows: LabelledRows) -> Iterator[Span]:
        for begin in range(0, len(rows), self.recipe.block_rows):
            end = min(begin + self.recipe.block_rows, len(rows))
            block = rows.read(begin, end)
            rows.check(block, begin)
            is_chosen, guarded = rows.choose(block, begin, self._choice)
            classes = FILE_CLASSES[block.classes[is_chosen]]
            yield Span(version, begin, end, np.bincount(classes, minlength=len(FILE_CLASSES)), guarded)

    def _open_streams(self, counted: Sequence[Span]) -> list[tuple[Stream, Fraction]]:
        """The streams and their weights, by name, whatever the order in which they were given.

        A source that lacks a class leaves its part of that class to the others. Raises UsageError for the first source
        without rows.
        """
        streams: list[tuple[Stream, Fraction]] = []
        names, sources = zip(*sorted(self.recipe.sources.items()), strict=True)
        for number, (stratum, share) in enumerate(sorted((self.recipe.strata or {"": 1}).items())):
            opened = [
                self._open_stream(source["versions"], stratum, counted, number * len(sources) + n)
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

    def _open_stream(self, names: Collection[str], stratum: str, counted: Sequence[Span], number: int) -> Stream:
        position_class = int(CLASSES[stratum]) if stratum else None
        spans = [
            span._replace(taken=int(span.by_class[position_class] if stratum else span.by_class.sum()))
            for span in counted
            if self.versions[span.version] in names
        ]
        choice = self._choice._replace(position_class=position_class)
        return Stream(self._rows, spans, choice, (self.recipe.seed, number), self.recipe.pool_blocks)


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
    """The feed of the current versions: see `bgdata.Warehouse.batches`."""
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
    """The rows of each batch that a run has seen, in order, from a record of `Feed.seen`: row numbers by version.
    Raises UsageError for any other record, and what opening the feed raises."""
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
