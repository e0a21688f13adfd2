"""Batches that several streams share out: one for each source of rows, or for each class of each source."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import UsageError
from bgdata.play.splits import SPLITS
from bgdata.store.versions import Versions
from bgdata.training.feed.guard import open_guard
from bgdata.training.feed.order import Choice, Rows, Span, Stream, joined, shuffled
from bgdata.training.feed.recipe import CLASSES, FeedRecipe, shared_out
from bgdata.training.feed.rows import FILE_CLASSES, LabelledRows
from bgdata.training.feed.versions import open_version, splits_of

MIX = 1 << 32  # in the place of a stream's number: the order inside a batch


class Counts(NamedTuple):
    """Rows of a block that a split has, by class as gnubg's files name them, and those that the guard left out."""

    version: int
    begin: int
    end: int
    by_class: NDArray[np.int64]
    guarded: int

    def span(self, position_class: int | None) -> Span:
        """The block for a stream of this class."""
        count = self.by_class.sum() if position_class is None else self.by_class[position_class]
        return Span(self.version, self.begin, self.end, int(count))


class SharedBatches:
    """The rows of every batch of a recipe. Opening it reads every version once."""

    def __init__(self, warehouse: Versions, recipe: FeedRecipe, from_parquet: bool) -> None:
        recipe.check()
        self.recipe = recipe
        found = {name: digest for source in recipe.sources.values() for name, digest in source["versions"].items()}
        self.versions = tuple(sorted(found))
        tables = [open_version(warehouse, name, found[name]) for name in self.versions]
        self._rows = [LabelledRows(table, splits_of(warehouse, table), from_parquet) for table in tables]
        self._guard = None if recipe.benchmarks is None else open_guard(warehouse, recipe.benchmarks)
        self._split = SPLITS.index(recipe.split)
        counted = [counts for n, rows in enumerate(self._rows) for counts in self._count(n, rows)]
        self.guarded = sum(counts.guarded for counts in counted)
        streams = self._open_streams(counted)
        self._streams = [stream for stream, _ in streams]
        self._shares = shared_out(recipe.batch_size, [weight for _, weight in streams])
        if 0 in self._shares:
            raise UsageError(
                f"expected batches with a row of each of {len(streams)} shares, got a batch_size of {recipe.batch_size}"
            )

    @property
    def count(self) -> int:
        """Batches of an epoch."""
        return max(-(-stream.count // share) for stream, share in zip(self._streams, self._shares, strict=True))

    @property
    def row_count(self) -> int:
        """Rows of all streams."""
        return sum(stream.count for stream in self._streams)

    def rows(self, epoch: int, number: int) -> Rows:
        """The rows of a batch: one stream ends with the epoch, several begin again."""
        if len(self._streams) == 1:
            begin, stream = number * self.recipe.batch_size, self._streams[0]
            return stream.read(epoch, begin, min(begin + self.recipe.batch_size, stream.count))
        shares = zip(self._streams, self._shares, strict=True)
        found = joined([stream.read(epoch, number * share, (number + 1) * share) for stream, share in shares])
        return found.take(shuffled((self.recipe.seed, MIX, epoch, number), len(found.rows)))

    def _count(self, version: int, rows: LabelledRows) -> list[Counts]:
        counted = []
        for begin in range(0, len(rows), self.recipe.block_rows):
            end = min(begin + self.recipe.block_rows, len(rows))
            block = rows.read(begin, end)
            rows.check(block, begin)
            chosen = rows.choose(block, begin, self._split, self._guard)
            classes = FILE_CLASSES[block.classes[chosen.is_chosen]]
            by_class = np.bincount(classes, minlength=len(FILE_CLASSES))
            counted.append(Counts(version, begin, end, by_class, chosen.guarded))
        return counted

    def _open_streams(self, counted: Sequence[Counts]) -> list[tuple[Stream, Fraction]]:
        """The streams and their weights, by name, whatever the order in which they were given.

        A source that lacks a class leaves its part of that class to the others.
        """
        streams: list[tuple[Stream, Fraction]] = []
        sources = [source for _, source in sorted(self.recipe.sources.items())]
        for number, (stratum, share) in enumerate(sorted((self.recipe.strata or {"": 1}).items())):
            opened = [
                (
                    self._open_stream(source["versions"], stratum, counted, number * len(sources) + n),
                    Fraction(source["weight"]),
                )
                for n, source in enumerate(sources)
            ]
            found = [(stream, weight) for stream, weight in opened if stream.count]
            if not found or (not stratum and len(found) < len(opened)):
                self._raise_empty(stratum, [stream.count for stream, _ in opened])
            whole = sum(weight for _, weight in found)
            streams += [(stream, Fraction(share) * weight / whole) for stream, weight in found]
        return streams

    def _open_stream(self, names: Collection[str], stratum: str, counted: Sequence[Counts], number: int) -> Stream:
        position_class = int(CLASSES[stratum]) if stratum else None
        spans = [counts.span(position_class) for counts in counted if self.versions[counts.version] in names]
        choice = Choice(self._split, self._guard, position_class)
        return Stream(self._rows, spans, choice, (self.recipe.seed, number), self.recipe.pool_blocks)

    def _raise_empty(self, stratum: str, counts: Sequence[int]) -> None:
        """UsageError for the first source without rows."""
        names = sorted(self.recipe.sources)
        where = ", ".join(names) if stratum else names[counts.index(0)]
        rows = f"rows of the class {stratum}" if stratum else "rows"
        left_out = f"; {self.guarded:,} were left out for benchmarks" if self.guarded else ""
        raise UsageError(f"expected {rows} in the split {self.recipe.split} of {where}, found none{left_out}")
