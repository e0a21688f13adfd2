"""The warehouse that `bgdata.open_warehouse` gives: that of `store`, which knows no backgammon, and batches from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bgdata.store import warehouse

if TYPE_CHECKING:
    from bgdata.training.feed.feed import Feed


class Warehouse(warehouse.Warehouse):
    """The versions below one folder, and batches of labelled positions to train on."""

    def batches(
        self,
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
        """Batches of positions with their five chances: NumPy arrays, or tensors by `.torch()`; see `training.feed`.

        The same batches for the same seed, versions and settings, on any machine.

        kind: a kind of dataset with labels (all its variants), a variant `kind/variant` or a version, or a mapping of
            such names to weights: every batch has rows of each in these proportions.
        split: train, validation or test; eight, one and one tenths of the games, or else of the positions.
        features: inputs of a network beside the boards, such as tesauro-196 or contact, or contact@1 to insist on a
            revision; float32.
        strata: classes that every batch has as many rows of, or shares by class: {"contact": 2, "race": 1}.
        guard: leave out of train and validation what benchmarks of this warehouse consist of, seen by either side.
        epochs: how many, counted from the first; None goes on without end.
        state: of `Feed.state_after`, to go on after a batch as if nothing had happened.
        from_parquet: read the columns from Parquet rather than from the mapped arrays: the same batches, more slowly.

        Raises UsageError for what cannot be followed and for a state of other data, UnknownKindError,
        UnknownInputSetError, MissingTableError, and CheckFailedError for targets that are no chances.
        """
        from bgdata.training.feed.feed import open_feed

        return open_feed(
            self, kind, split=split, seed=seed, batch_size=batch_size, features=features, strata=strata, guard=guard,
            epochs=epochs, state=state, from_parquet=from_parquet,
        )  # fmt: skip
