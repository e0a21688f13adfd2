"""The base classes of kinds of dataset. A kind is a declaration, from which tables, SQL and reference pages are
derived, and a computation in the module beside it, which is imported when it is needed."""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeAlias, TypeVar

from bgdata.errors import CheckSkippedError, ManifestFormatError, MissingTableError, UsageError, cite
from bgdata.store.manifest import Source, file_names, unpacked_name
from bgdata.store.names import identifier
from bgdata.store.parameters import Parameters, VersionRef

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from bgdata.store.arrays import Array
    from bgdata.store.job import Job
    from bgdata.store.manifest import Manifest, RawFile
    from bgdata.store.progress import Progress
    from bgdata.store.table import Table
    from bgdata.store.versions import Versions


PARQUET = "table.parquet"  # file of the main table


@dataclass(frozen=True)
class Column:
    """A column of a table: its DuckDB type, its unit, and its meaning in one sentence."""

    name: str
    type: str
    unit: str
    meaning: str

    @property
    def comment(self) -> str:
        """The comment that the column has in the catalog."""
        return f"{self.meaning} [{self.unit}]" if self.unit else self.meaning


@dataclass(frozen=True)
class TableShape:
    """The declaration of a table of a kind. The table is one Parquet file in each version, and one SQL view over all
    variants. If several kinds declare the same table, it is `shared`: one view shows the rows of all these kinds, with
    the kind in the column `dataset`."""

    name: str
    file: str
    summary: str
    columns: tuple[Column, ...]  # in SQL, without `variant`
    key: tuple[str, ...]  # columns that identify a row; the table is sorted by them
    shared: bool = False
    joins: tuple[str, ...] = ()  # tables about the same rows, as `TABLE using (COLUMNS)`

    @property
    def comment(self) -> str:
        """The comment that the view has in the catalog: what the table contains, and which tables it can be joined
        with."""
        return f"{self.summary} Joins {', '.join(self.joins)}." if self.joins else self.summary

    def select_list(self, missing: Mapping[str, str]) -> list[str]:
        """Return the SQL expression of each declared column. For columns that the Parquet file does not contain,
        `missing` has the SQL that computes them, by name."""
        return [
            f"({missing[column.name]})::{column.type} as {identifier(column.name)}"
            if column.name in missing
            else identifier(column.name)
            for column in self.columns
        ]

    @property
    def row(self) -> str:
        """A sentence that says what a row of the table is about."""
        return f"One row for each {' and '.join(self.key)}, in this order."


@dataclass(frozen=True)
class FlatArray:
    """The declaration of an array that players read: its dtype, the meaning of its axes, and its content."""

    name: str
    dtype: str
    axes: str
    meaning: str
    is_shared: bool = False  # equal in all parts of a version, such as the name of the player


CONFIDENCE = 0.99  # probability with which a sample finds the stated share of bad rows


class Estimate(NamedTuple):
    """The expected size of a build: its rows, bytes on disk and bytes of memory."""

    rows: int
    disk_bytes: int  # size of the finished version
    memory_bytes: int
    checkpoint_bytes: int = 0  # size of a checkpoint, or of all shards

    @property
    def building_bytes(self) -> int:
        """The peak disk space of the build, in bytes: two checkpoints, or a checkpoint and the finished files."""
        return self.checkpoint_bytes + max(self.disk_bytes, self.checkpoint_bytes)


def sample_text(count: int, total: int, unit: str = "rows") -> str:
    """Say what recomputing `count` of `total` random items can find: `1,000 of 10,000 games: finds 1 bad one in
    217`."""
    return (
        f"all {total:,} {unit}" if count >= total else f"{count:,} of {total:,} {unit}: {detection_text(count, total)}"
    )


def drawn_sample_text(count: int, total: int) -> str:
    """Say the same as `sample_text` for `count` random rows of `total` that are chosen with replacement."""
    return f"{count:,} rows drawn of {total:,}: {detection_text(count, total)}"


def detection_text(count: int, total: int) -> str:
    """Say which share of bad items among `total` a random sample of `count` items finds with probability CONFIDENCE."""
    rarest = min(total, max(1, int(-1 / math.expm1(math.log(1 - CONFIDENCE) / count)))) if count else 0
    return f"finds 1 bad one in {rarest:,} with {CONFIDENCE:.0%}"


# an input: (kind, parameters), or a version by name
Input: TypeAlias = "tuple[str, Parameters] | VersionRef"
P = TypeVar("P", bound=Parameters)
P_co = TypeVar("P_co", bound=Parameters, covariant=True)


@dataclass(frozen=True)
class Context(Generic[P_co]):
    """A version, by its parameters, and the versions that are its inputs."""

    parameters: P_co
    inputs: Mapping[str, Table]  # by role
    warehouse: Versions  # finds players by name; values depend only on inputs and parameters
    part: range | None = field(default=None, kw_only=True)  # range of its items, None for all: see Dataset.part_items

    def items(self, count: int) -> range:
        """Return the items to compute: the items of the part, or all of `range(count)`."""
        return range(count) if self.part is None else self.part


@dataclass(frozen=True)
class Build(Context[P_co]):
    """A version that is being computed."""

    job: Job  # saves the arrays of the version


@dataclass(frozen=True)
class Recheck(Context[P_co]):
    """A version of which `rows` random rows are computed again."""

    table: Table
    rows: int  # number of rows to compute again
    generator: np.random.Generator


@dataclass(frozen=True)
class Computed(Generic[P_co]):
    """The finished arrays of a version, or of a part of one, by name."""

    parameters: P_co
    arrays: Mapping[str, Array]
    first_item: int = 0  # first item of a part
    first_row: int = 0  # first row of its main table


ANYWHERE = "bit for bit, on any machine"
FROM_INPUTS = "bit for bit from the same inputs, on any machine"
BY_PLAYERS = "bit for bit by players of ours; other programs may answer otherwise on another machine"


class Dataset(ABC, Generic[P]):
    """The declaration of a kind of dataset: its tables and arrays, its inputs, and its variants."""

    name: ClassVar[str]
    revision: ClassVar[int]  # raised whenever the values change for the same parameters
    summary: ClassVar[str]
    source: ClassVar[str]  # source of the method or the data
    licence: ClassVar[str] = "CC0-1.0"
    made_again: ClassVar[str] = ANYWHERE  # whether the same code computes equal values again
    columns: ClassVar[tuple[Column, ...]]  # columns of the main table, which is named like the kind; see TableShape
    key: ClassVar[tuple[str, ...]]
    joins: ClassVar[tuple[str, ...]] = ()  # joins of the main table; see TableShape
    main_table: ClassVar[str] = ""  # name of the main table; empty if it is the name of the kind
    side_tables: ClassVar[tuple[TableShape, ...]] = ()
    arrays: ClassVar[tuple[FlatArray, ...]]
    computed_by: ClassVar[str] = ""  # stem of the module that computes it; if empty, NAME_compute is the module
    takes_files: ClassVar[bool] = False  # whether it is imported from files rather than computed
    tags: ClassVar[frozenset[str]] = frozenset()  # for subjects; the store ignores them
    sample_rows: ClassVar[int] = 1000  # rows that `verify` recomputes by default, of tables that take long to compute
    whole_rows: ClassVar[int] = 0  # `verify` computes tables of up to so many rows as a whole: they take seconds
    # items, such as games, of one part of a version: a part is computed, written and proven at a time; 0: versions have
    # no parts
    part_items: ClassVar[int] = 0
    row_group_rows: ClassVar[int] = 245_760  # few, large groups: DuckDB spends 20 us on each that it skips

    parameters: type[P]
    defaults: tuple[P, ...]  # variants in warehouse.lock, whose names imply their parameters
    more: tuple[P, ...] = ()  # defaults that only `bgdata build --all` or `bgdata build KIND` builds
    named_only = False  # whether `--all` leaves them out too: their inputs take minutes, and few people need them
    smallest: P  # the variant of tests

    @property
    def basic(self) -> list[P]:
        """The parameters of the variants that `bgdata build` builds without `--all`."""
        return [parameters for parameters in self.defaults if parameters not in self.more]

    @property
    def of_all(self) -> list[P]:
        """The parameters of the variants that `bgdata build --all` builds."""
        return self.basic if self.named_only else [*self.defaults]

    @property
    def tables(self) -> tuple[TableShape, ...]:
        """All tables of the kind: the main table first, then the side tables."""
        main = TableShape(self.main_table or self.name, PARQUET, self.summary, self.columns, self.key, joins=self.joins)
        return (main, *self.side_tables)

    def tables_of(self, _parameters: P) -> tuple[TableShape, ...]:
        """Return the tables that a variant stores as Parquet files: all tables, or none if the variant is too large for
        Parquet."""
        return self.tables

    def derived_columns(self, _parameters: P) -> Mapping[str, str]:
        """Return the SQL of columns that can be computed from other columns and `variant`, by name. These columns were
        declared later than the others, so older Parquet files lack them, and views compute them."""
        return {}

    def arrays_of(self, _parameters: P) -> tuple[FlatArray, ...]:
        """The arrays of a variant. An array named `X_row_sha256` contains the SHA-256 of each row of the array X: see
        `values_digest`."""
        return self.arrays

    def default(self, variant: str) -> P:
        """The default parameters whose variant has this name. Raises MissingTableError if there are none."""
        for parameters in self.defaults:
            if self.slug(parameters) == variant:
                return parameters
        have = ", ".join(map(self.slug, self.defaults))
        raise MissingTableError(f"expected a default variant of {self.name}: {have}, got {variant}")

    def recipe_of(self, manifest: Manifest) -> P:
        """Return the parameters that the manifest of a version contains. Raises ManifestFormatError if they belong to a
        variant with another name, and InvalidParameterError if they are invalid."""
        parameters = self.parameters.from_manifest(manifest.parameters)
        slug = self.slug(parameters)
        if slug != manifest.variant:
            raise ManifestFormatError(
                f"expected the parameters of {self.name}/{manifest.variant} in its manifest, "
                f"found those of {cite(slug)}"
            )
        return parameters

    @abstractmethod
    def slug(self, parameters: P) -> str:
        """The name of the variant with these parameters, such as `6x9`: unique within the kind, made of letters,
        digits, `x` and `-`."""

    def check_parameters(self, parameters: P) -> None:
        """Raise InvalidParameterError if no variant can have these parameters."""

    def complete(self, parameters: P, _warehouse: Versions) -> P:
        """Return the parameters, with missing values filled in from the warehouse, such as the version of an input that
        the user gave as KIND/VARIANT."""
        return parameters

    def inputs(self, _parameters: P) -> Mapping[str, Input]:
        """Return the datasets from which a variant is computed, by role."""
        return {}

    def item_count(self, _parameters: P, _inputs: Mapping[str, Table]) -> int:
        """Return the number of items, such as games, from which a version is computed, in the order of its rows. A
        version with more than `part_items` items is computed and stored in parts."""
        return 0

    def published_folder(self, _parameters: P) -> Path | None:
        """Return the folder, inside the package, of a finished version with these parameters, None if there is none.
        The package contains versions that take hours to compute."""
        return None

    @abstractmethod
    def estimate(self, parameters: P) -> Estimate:
        """The expected number of rows, bytes on disk and peak memory of a build with these parameters."""

    @functools.cached_property
    def computation(self) -> Computation[P]:
        """The object that computes versions of this kind. The first use imports the module `<name>_compute` beside the
        declaration, with its kernels. A module that computes several kinds has a dictionary of classes by kind."""
        declaring = next(base for base in type(self).__mro__ if "name" in vars(base))
        package = declaring.__module__.rpartition(".")[0]
        module = import_module(f"{package}.{self.computed_by or self.name}_compute")
        by_name = module.COMPUTATION
        found: Computation[P] = (by_name[self.name] if isinstance(by_name, dict) else by_name)(self)
        return found

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickling, without the computation, which the process that unpickles the kind imports
        again."""
        return {name: value for name, value in vars(self).items() if name != "computation"}


class ImportedDataset(Dataset[P]):
    """Base of kinds that are imported from other people's files, which a build finds in `Job.files`. Equal files give
    equal versions."""

    takes_files = True
    endings: ClassVar[tuple[str, ...]] = ()  # endings of the files that are read from folders; if empty, all files
    is_told_by_content: ClassVar[bool] = False  # whether files of folders and archives are chosen by their content

    @abstractmethod
    def parameters_of(self, files: Sequence[Path], name: str | None = None) -> P:
        """Return the parameters of the variant that the import of these files makes. It is named `name`, or after the
        files if no name is given. Raises InvalidParameterError for an invalid name."""

    def check_files(self, files: Sequence[Path]) -> None:
        """Raise UsageError if these files cannot be imported together, for example because two files have the same
        name, by which rows identify their file."""
        for name, count in Counter(map(unpacked_name, file_names(files))).items():
            if count > 1:
                raise UsageError(f"expected files of different names, got {name} {count} times")

    @functools.cached_property
    def computation(self) -> ImportedComputation[P]:
        """The object that reads the files of this kind."""
        found = super().computation
        assert isinstance(found, ImportedComputation)
        return found


class Computation(ABC, Generic[P]):
    """Base of computations: how versions of a kind are computed, converted to rows, and checked. Declaration and
    computation are separate classes, so that listing kinds imports neither kernels nor libraries."""

    kind: Dataset[P]
    weighed_by: ClassVar[Mapping[str, str]] = {}  # figures that are means, by the figure that counts their items

    def __init__(self, kind: Dataset[P]) -> None:
        self.kind = kind

    @abstractmethod
    def compute(self, build: Build[P]) -> None:
        """Compute all declared arrays, and save them with `build.job`. The values must not depend on the machine or the
        number of threads."""

    @abstractmethod
    def batches(self, computed: Computed[P]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the main table, made from the arrays, in order of the key and with all declared columns. A
        column of numbers with few different values may be a dictionary: it is stored as plain numbers with dictionary
        encoding."""

    def side_batches(self, name: str, _computed: Computed[P]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the side table `name`, made from the arrays, in order of the key. Kinds that declare side
        tables override this method."""
        raise NotImplementedError(name)

    def table_batches(self, shape: TableShape, computed: Computed[P]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the main table or of a side table, with columns in the declared order."""
        names = [column.name for column in shape.columns]
        is_main = shape.name == self.kind.tables[0].name
        found = self.batches(computed) if is_main else self.side_batches(shape.name, computed)
        for batch in found:
            yield batch.select(names)

    def statistics(self, _computed: Computed[P]) -> Mapping[str, float]:
        """Return summary figures and error bounds of a version, by name, for its manifest."""
        return {}

    def joined_statistics(self, parts: Sequence[tuple[int, Mapping[str, float]]]) -> Mapping[str, float]:
        """Combine the statistics of the parts of a version into those of the version. `parts` contains the number of
        rows and the statistics of each part. The name of a figure says how it is combined: the largest of `largest...`;
        the mean of means, shares and variances, weighted by rows or by the count that `weighed_by` names; the quadratic
        mean of `rms_...`; the sum of any other figure."""
        found = dict[str, float]()
        for name in {name: None for _, figures in parts for name in figures}:
            of = self.weighed_by.get(name, "")
            weighted = [(figures.get(of, rows), figures[name]) for rows, figures in parts if name in figures]
            total = sum(rows for rows, _ in weighted) or 1
            if name.startswith("largest") or name.endswith("_bound"):
                found[name] = max(value for _, value in weighted)
            elif name.endswith("standard_error"):
                found[name] = math.hypot(*(rows * value for rows, value in weighted)) / total
            elif name.startswith("rms_"):
                found[name] = math.sqrt(sum(rows * value**2 for rows, value in weighted) / total)
            elif name.startswith(("mean_", "median_", "variance_")) or name.endswith(("_share", "_per_game")):
                found[name] = sum(rows * value for rows, value in weighted) / total
            else:
                found[name] = sum(value for _, value in weighted)
        return found

    def warnings(self, _files: Sequence[RawFile]) -> list[str]:
        """Return warnings for the user about the imported files of a version, for example that a file differs from the
        published file."""
        return []

    def check_strict(self, arrays: Mapping[str, Array]) -> None:
        """Raise CheckFailedError if rows of the imported files are in quarantine. `arrays` are the arrays of a part, or
        of the whole version."""

    def check_parts(self, parts: Sequence[Mapping[str, Array]], job: Job) -> None:
        """Raise an error if the parts of a version, taken together, have a defect, such as an imported file that gave
        no row. `parts` contains the arrays of each part, and `job` the title, progress and files of the build."""

    def repair(self, _parameters: P, _table: Table, _progress: Progress) -> int | None:
        """Compute again those rows of a damaged version that do not match their hashes. Returns the number of these
        rows, or None if the kind has no such hashes, so that the whole version must be built again."""
        return None

    def check_sample(self, recheck: Recheck[P]) -> str:
        """Compute a random sample of rows again, and compare them with the stored rows. Returns a description of the
        sample: see `sample_text`. Raises CheckFailedError, which names the first bad row, and CheckSkippedError if an
        input or a program that is needed is missing."""
        raise CheckSkippedError(f"nothing that {recheck.table.name} could be recomputed from is kept")


class ImportedComputation(Computation[P]):
    """Base of computations that read the files in `Job.files`."""

    @abstractmethod
    def read_file(self, path: Path) -> Source:
        """Read a file. Returns its unpacked content and its hashes, with the address and licence under which it was
        published, as far as they are known."""

    @contextmanager
    def read_files(self, paths: Sequence[Path], _folder: Path) -> Iterator[tuple[Source, ...]]:
        """Yield the contents of files, which stay open during the `with` block. Content that does not fit into memory
        is written to an unnamed file in `_folder`."""
        yield tuple(map(self.read_file, paths))

    @abstractmethod
    def write_sample(self, folder: Path) -> list[Path]:
        """Write a small set of valid files of the kind into a folder and return their paths, for tests and for trying
        the import."""
