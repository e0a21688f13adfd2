"""The contract of a dataset kind. A kind is one declaration in `bgdata/datasets`; everything else discovers it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Self, TypeVar

from bgdata.errors import InvalidParameterError, ManifestFormatError, MissingTableError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from bgdata.store.arrays import Array
    from bgdata.store.job import Job
    from bgdata.store.table import Table


@dataclass(frozen=True)
class Column:
    """A column as SQL shows it: its DuckDB type, unit and meaning in one sentence."""

    name: str
    type: str
    unit: str
    meaning: str

    @property
    def comment(self) -> str:
        """Text of the column's comment in the catalog."""
        return f"{self.meaning} [{self.unit}]" if self.unit else self.meaning


@dataclass(frozen=True)
class FlatArray:
    """An array that the player maps: its dtype, the meaning of its axes, and what it holds."""

    name: str
    dtype: str
    axes: str
    meaning: str


class Estimate(NamedTuple):
    """What a build will need, before it starts."""

    rows: int
    disk_bytes: int
    memory_bytes: int


@dataclass(frozen=True)
class Parameters:
    """Base of every kind's parameters: a frozen dataclass of integers and strings with defaults."""

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Names of the parameters, in order."""
        return tuple(field.name for field in fields(cls))

    def with_changes(self, changes: Mapping[str, Any]) -> Self:
        """A copy with some parameters changed. Raises InvalidParameterError for a name that is none of them."""
        for name in changes:
            if name not in self.names():
                raise InvalidParameterError(f"expected a parameter among {', '.join(self.names())}, got {name}")
        return replace(self, **changes)

    @classmethod
    def from_manifest(cls, values: Mapping[str, Any]) -> Self:
        """The parameters that a manifest records. Raises ManifestFormatError when they are those of another recipe."""
        if set(values) != set(cls.names()):
            raise ManifestFormatError(f"expected the parameters {', '.join(cls.names())}, found {dict(values)}")
        return cls(**values)


P = TypeVar("P", bound=Parameters)


class Dataset(ABC, Generic[P]):
    """A kind of dataset: what it holds, how it is computed, and how anyone can check it."""

    name: ClassVar[str]
    revision: ClassVar[int]  # raised whenever the values change for the same parameters
    summary: ClassVar[str]
    source: ClassVar[str]  # where the method or the data come from
    licence: ClassVar[str] = "CC0-1.0"
    columns: ClassVar[tuple[Column, ...]]  # as SQL shows them, `variant` not included
    key: ClassVar[tuple[str, ...]]  # columns that name a row; the table is sorted by them
    arrays: ClassVar[tuple[FlatArray, ...]]
    row_group_rows: ClassVar[int] = 245_760  # fewer, larger groups: DuckDB spends 20 us on each it skips

    parameters: type[P]
    defaults: tuple[P, ...]  # variants of the default build
    smallest: P  # what tests build

    def default(self, variant: str) -> P:
        """The default parameters with this slug. Raises MissingTableError."""
        for parameters in self.defaults:
            if self.slug(parameters) == variant:
                return parameters
        have = ", ".join(map(self.slug, self.defaults))
        raise MissingTableError(f"expected a default variant of {self.name}: {have}, got {variant}")

    @abstractmethod
    def slug(self, parameters: P) -> str:
        """Readable name of a variant, unique within the kind; letters, digits, `x`, `-`."""

    def check_parameters(self, parameters: P) -> None:
        """Raise InvalidParameterError when no such variant can exist."""

    def inputs(self, parameters: P) -> Mapping[str, tuple[str, Parameters]]:  # noqa: ARG002
        """Other datasets that this one is computed from: role -> (kind, parameters)."""
        return {}

    @abstractmethod
    def estimate(self, parameters: P) -> Estimate:
        """Rows, bytes on disk and peak memory of a build."""

    @abstractmethod
    def compute(self, parameters: P, inputs: Mapping[str, Table], job: Job) -> None:
        """Save every declared array through `job`; the same values on any machine and thread count."""

    @abstractmethod
    def batches(self, parameters: P, arrays: Mapping[str, Array]) -> Iterator[pa.RecordBatch]:
        """The rows of the Parquet file, in key order, from the arrays."""

    def expressions(self, parameters: P) -> Mapping[str, str]:  # noqa: ARG002
        """SQL over the Parquet columns for columns that are not stored as they are shown."""
        return {}

    def statistics(self, parameters: P, arrays: Mapping[str, Array]) -> Mapping[str, float]:  # noqa: ARG002
        """Summary figures and error bounds for the manifest."""
        return {}

    def check_sample(
        self, table: Table, inputs: Mapping[str, Table], rows: int, generator: np.random.Generator
    ) -> None:
        """Recompute a random sample of rows from their successors; raise CheckFailedError naming the first bad one."""
