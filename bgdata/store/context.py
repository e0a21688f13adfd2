"""What the methods of a dataset kind are given: which version is meant, and what it is made from or consists of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    import numpy as np

    from bgdata.store.arrays import Array
    from bgdata.store.job import Job
    from bgdata.store.table import Table
    from bgdata.store.versions import Versions

P_co = TypeVar("P_co", bound="Any", covariant=True)


@dataclass(frozen=True)
class Context(Generic[P_co]):
    """A version and what it is made from."""

    parameters: P_co
    inputs: Mapping[str, Table]  # by role
    warehouse: Versions  # where players are found by name; what values depend on is in inputs or parameters


@dataclass(frozen=True)
class Build(Context[P_co]):
    """A version that is being computed."""

    job: Job  # saves its arrays


@dataclass(frozen=True)
class Recheck(Context[P_co]):
    """A version of which some rows, chosen at random, are computed again."""

    table: Table
    rows: int  # how many
    generator: np.random.Generator


@dataclass(frozen=True)
class Computed(Generic[P_co]):
    """A version whose values are there: the arrays by name."""

    parameters: P_co
    arrays: Mapping[str, Array]
