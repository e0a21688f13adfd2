"""The warehouse that `bgdata.open_warehouse` returns: versions, builds, queries, and training batches.

DuckDB and PyArrow are loaded when something is built or queried.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgdata.errors import BgdataError, CorruptFileError, MissingFileError, MissingTableError, UsageError
from bgdata.store.parameters import Parameters
from bgdata.store.progress import Progress, Silence
from bgdata.store.table import Table
from bgdata.store.versions import Versions

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import duckdb

    from bgdata.store.dataset import Dataset
    from bgdata.store.locked_sql import QueryLimits
    from bgdata.store.remote import MirroredTable
    from bgdata.training.feed.feed import Feed

Row = dict[str, Any]  # a value by the name of its column


def open_whole(root: str | os.PathLike[str]) -> Warehouse:
    """Open the warehouse in a folder, or, for reading only, the warehouse at an address such as s3://BUCKET/PATH, with
    every installed kind of dataset. Raises UsageError if the scheme of the address is unknown, MissingExtraError if its
    package is not installed, and DownloadError if the address cannot be opened."""
    from bgdata.kinds import all_kinds

    if isinstance(root, str) and "://" in root:
        from bgdata.store.places import folder_of

        folder = folder_of(root)
        return RemoteWarehouse(root, all_kinds()) if folder is None else Warehouse(folder, all_kinds())
    return Warehouse(root, all_kinds())


class Warehouse(Versions):
    """A folder of datasets, with methods to build versions, query tables and read training batches."""

    is_remote = False

    def __reduce__(self) -> str | tuple[Any, ...]:
        from bgdata.kinds import all_kinds

        # a pickle contains only the path, without the kinds
        return (open_whole, (self.root,)) if self.kinds == all_kinds() else super().__reduce__()

    def build(
        self,
        kind: str,
        parameters: Parameters,
        *,
        files: Iterable[Path] = (),
        progress: Progress | None = None,
        strict: bool = False,
        force: bool = False,
        executor: Executor | None = None,
        inputs: Mapping[str, Table] | None = None,
        directory: Path | None = None,
        with_catalog: bool = True,
    ) -> Table:
        """Build a version of a kind with these parameters, or return the existing one. Missing inputs are built first.
        The version becomes the current one of its variant.

        `inputs` are versions to compute from, by role; the default is what `find_inputs` finds. `files` are the files
        to import, for a kind that is imported; if `strict` is true, the import fails if a row breaks a rule. If `force`
        is true, a version that exists is built again. `executor` computes kinds whose work is done in ranges; the
        default is the executor of `executors.using_executor`, or this process. `directory` is a folder, for example on
        another disk, in which the versions of the variant are stored; the warehouse links to it. `with_catalog=False`
        leaves catalog.duckdb unchanged, for a caller that builds more.

        Raises InvalidParameterError if no variant has these parameters, UsageError if arguments do not fit together,
        TooLargeError if memory or disk are too small, StorageError if a file cannot be written, and CheckFailedError if
        the values break a check. A failed build leaves existing versions undamaged."""
        from bgdata.store.build import build

        declared, paths = self.kind(kind), tuple(files)
        if declared.takes_files and not paths and not force:
            found = self.find(declared, parameters)  # it was imported before, and is now an input
            if found is not None:
                return found
        return build(
            self, declared, parameters, progress or Silence(), files=paths, strict=strict, force=force,
            executor=executor, inputs=inputs, directory=directory, with_catalog=with_catalog,
        )  # fmt: skip

    def connect(
        self,
        *,
        limits: QueryLimits | None = None,
        allow_files: bool = False,
        outputs: Iterable[Path] = (),
        mend: bool = True,
        is_relative: bool = False,
        for_query: str = "",
    ) -> duckdb.DuckDBPyConnection:
        """Open an in-memory DuckDB connection with all tables, views and macros of the warehouse, and its vectorised
        SQL functions on positions.

        The connection can read the tables of the warehouse and write to `outputs`; if `allow_files` is true, it can
        open any other file. `limits` are set for each query, and lock the configuration of the connection; then an
        up-to-date catalog.duckdb is used, because queries cannot change it. `mend` rewrites an outdated catalog.duckdb.
        `is_relative` uses the path with which the warehouse was opened, for a process that stays in its working
        directory. `for_query` is an SQL query: only the tables that it names are defined, which is ten times faster.
        Raises MissingWarehouseError if the folder does not exist, and StorageError if it cannot be read."""
        from bgdata.matches.aliases import ALIASES, MACRO, read_aliases
        from bgdata.store.catalog import connect
        from bgdata.warehouse.sql_functions import define_aliases, define_flat_tables, register_functions

        def define(connection: duckdb.DuckDBPyConnection) -> None:
            register_functions(connection)
            define_flat_tables(connection, self)
            if not for_query or MACRO in self.kinds.sql.needed_by(for_query):
                define_aliases(connection, read_aliases(self.root / ALIASES))

        return connect(
            self,
            limits=limits,
            allow_files=allow_files,
            outputs=outputs,
            mend=mend,
            is_relative=is_relative,
            functions=define,
            for_query=for_query,
        )

    def rows(self, query: str, given: Mapping[str, Any] | None = None) -> list[Row]:
        """Run an SQL query, with the values `given` of its parameters, and return its rows as dictionaries by column.
        Sums are the same on every run, to the last bit. Raises QueryError if a table cannot be read."""
        from bgdata.store.locked_sql import query_errors

        with self.connect(for_query=query) as connection, query_errors():
            connection.execute("set threads = 1")  # the last digit of a sum depends on its order
            found = connection.execute(query, dict(given or {}))
            names = [column[0] for column in found.description or ()]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def mend_catalog(self) -> None:
        """Rewrite catalog.duckdb if the warehouse was moved or copied and the file can be written."""
        if self.is_moved():
            from bgdata.store.catalog import write_catalog

            with suppress(BgdataError):
                write_catalog(self)

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
        """Read batches of positions with the chances of the five outcomes, for training a network, as NumPy arrays, or
        as tensors by `.torch()`: see `training.feed`.

        The same arguments and versions give the same batches on any machine.

        kind: a kind of dataset with chances (all its variants), a variant `kind/variant`, or a version; or a mapping of
            such names to weights: every batch then has rows of each in these proportions.
        split: train, validation or test: eight, one and one tenths of the games, or of the positions without games.
        features: a set of network inputs to add to the boards, float32, such as tesauro-196 or contact; contact@1 asks
            for that revision of the set.
        strata: classes of position, of which every batch has equally many rows; or the share of each, such as
            {"contact": 2, "race": 1}.
        guard: leave out of train and validation every position that a benchmark of this warehouse has, for either side
            on roll.
        epochs: the number of passes over the data; None repeats without end.
        state: the result of `Feed.state_after`, to continue after a batch as if there had been no interruption.
        from_parquet: read the columns from Parquet instead of the mapped arrays: the same batches, more slowly.

        Raises UsageError for arguments that do not fit together and for a state of other data; UnknownKindError,
        UnknownInputSetError or MissingTableError for an unknown name; and CheckFailedError for values that are not
        chances."""
        from bgdata.training.feed.feed import open_feed

        return open_feed(
            self, kind, features=features, strata=strata, guard=guard, state=state, epochs=epochs,
            from_parquet=from_parquet, split=split, seed=seed, batch_size=batch_size,
        )  # fmt: skip


class RemoteWarehouse(Warehouse):
    """A warehouse at an address, which can only be read. Files are downloaded to the user's cache when they are opened,
    and checked. The list of versions is read once, when it is first needed. Nothing can be built here; `bgdata pull`
    and `bgdata push` copy versions."""

    is_remote = True

    def __init__(self, address: str, kinds: Mapping[str, Dataset[Any]]) -> None:
        from bgdata.store.registry import Kinds
        from bgdata.store.remote import Mirror

        self._given = address
        self.mirror = Mirror(address)
        self.address = self.mirror.address
        self.kinds = kinds if isinstance(kinds, Kinds) else Kinds(kinds)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.address!r})"

    def __reduce__(self) -> str | tuple[Any, ...]:
        return open_whole, (self._given,)

    @property
    def root(self) -> Path:  # type: ignore[override]
        """The local folder with the downloaded files. First use downloads the manifests of all versions into it. Raises
        the same exceptions as `transfer.listing`."""
        assert self.mirror.contents
        return self.mirror.folder

    @property
    def staging(self) -> Path:
        """Raise UsageError, since a warehouse at an address is read-only. Every method that writes asks for this folder
        first."""
        raise UsageError(
            f"expected a warehouse in a folder, to write into, got {self.address}; "
            f"try: bgdata pull {self.address}, and bgdata push {self.address} then"
        )

    def table_in(self, folder: Path, kind: str) -> MirroredTable:
        from bgdata.store.remote import MirroredTable

        return MirroredTable(folder, kind, self.mirror)

    def open(self, kind: str, variant: str, version: str | None = None) -> Table:
        """Open a version of a variant, by default the current one. Raises the same exceptions as `Versions.open` and
        `Mirror.open`."""
        self.checked_kind(kind)
        try:
            if "contents" not in vars(self.mirror):
                return self.mirror.open(kind, variant, version)
        except MissingTableError:  # the error of the list of versions, if it has one, says more
            try:
                self.mirror.contents  # noqa: B018
            except BgdataError as other:
                if not isinstance(other, MissingFileError):
                    raise
            if "contents" not in vars(self.mirror):
                raise
        try:
            return super().open(kind, variant, version)
        except MissingTableError as error:
            message = str(error).replace(str(self.mirror.folder), self.address).partition("; try:")[0]
            raise MissingTableError(message) from error

    def use(self, table: Table) -> bool:  # noqa: ARG002
        """Raise UsageError, since a warehouse at an address is read-only."""
        return bool(self.staging)

    def build(self, kind: str, parameters: Parameters, **options: Any) -> Table:  # noqa: ARG002
        """Raise UsageError, since a warehouse at an address is read-only."""
        self.kind(kind)
        raise UsageError(f"expected no build in {self.address}; try: bgdata pull {self.address}")

    def is_moved(self) -> bool:
        return False

    def connect(self, *, for_query: str = "", **options: Any) -> duckdb.DuckDBPyConnection:
        """Open a connection as `Warehouse.connect` does. The Parquet files of the tables that the query `for_query`
        names are downloaded and checked first; no others can be read. Raises the same exceptions as `Mirror.file`."""
        self._fetch_tables(for_query)
        with self.mirror.fetching_nothing():
            return super().connect(for_query=for_query, **{**options, "mend": False})

    def _fetch_tables(self, query: str) -> None:
        """Download the files of the tables that an SQL query names, directly or through views."""
        from bgdata.store.registry import parse_script

        generated = [parse_script(text) for text in self.kinds.views(self.kinds.values())]
        wanted = self.kinds.sql.needed_by(query, generated)
        for kind in self.kinds.values():
            named = [shape for shape in kind.tables if any(word.startswith(shape.name) for word in wanted)]
            for variant in self.variants(kind.name) if named else ():
                with suppress(CorruptFileError, MissingTableError):  # the view of the table reports this
                    table = self.table_in(self.open(kind.name, variant).folder, kind.name)
                    view = variant.replace("-", "_")
                    for shape in named:
                        if shape.name in wanted or f"{shape.name}_{view}" in wanted:
                            table.fetch_rows(shape.file)
