"""The recipe of a feed: versions, split, guard, seed and shares, which determine every batch to the last row.

A recipe is plain JSON, so it fits into checkpoints and manifests; `parse_place` reads one back, and refuses that of
another feed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from typing import Any, NamedTuple

from bgdata.errors import UsageError
from bgdata.evaluation.networks.input_sets import InputSet, input_set_named
from bgdata.game.classes import PositionClass
from bgdata.selfplay.splits import SPLITS

FORMAT = 1  # raised when the same recipe would give other batches
BLOCK_ROWS = 245_760  # as the row groups of Parquet files: what is read at once
POOL_BLOCKS = 4  # that are shuffled together: 47 MB
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
        for name, weight in (*self.weights.items(), *self.strata.items()):
            if not 0 < weight < float("inf"):
                raise UsageError(f"expected a weight above 0 for {name}, got {weight}")
        self.input_set_of()

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each source."""
        return {name: source["weight"] for name, source in self.sources.items()}

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
