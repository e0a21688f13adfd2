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
    """The warehouse in a folder, or read-only at a remote address, with every kind that is installed. Raises UsageError
    if the scheme is unknown, MissingExtraError if its package is not installed, and DownloadError if the place cannot
    be opened."""
    from bgdata.kinds import all_kinds

    if isinstance(root, str) and "://" in root:
        from bgdata.store.places import folder_of

        folder = folder_of(root)
        return RemoteWarehouse(root, all_kinds()) if folder is None else Warehouse(folder, all_kinds())
    return Warehouse(root, all_kinds())


class Warehouse(Versions):
    """The versions in a folder, with methods to build, query and train."""

    is_remote = False

    def __reduce__(self) -> str | tuple[Any, ...]:
        from bgdata.kinds import all_kinds

        # pickled as its path, without the kinds
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
        """The version with this recipe, which becomes current. If missing or damaged, it and its inputs are built.

        `inputs` are input versions by role, by default those that `find_inputs` finds. `files` are the files of an
        imported kind; `strict` fails an import with rows that break a rule; `force` builds an existing version again;
        `executor` computes the shards of kinds that have them, by default the executor of `executors.using_executor`,
        or this process. `directory` is a folder for the versions of the variant, for example on another disk, which the
        warehouse links to. `with_catalog=False` leaves catalog.duckdb unchanged, for a caller that builds more. Raises
        InvalidParameterError if no variant has these parameters, UsageError if arguments do not fit, TooLargeError if
        memory or disk are too small, StorageError if files cannot be written, and CheckFailedError if a check fails.
        Existing versions stay undamaged.
        """
        from bgdata.store.build import build

        declared, paths = self.kind(kind), tuple(files)
        if declared.takes_files and not paths and not force:
            found = self.find(declared, parameters)  # imported before, and now an input
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
        """An in-memory DuckDB connection to the catalog, with the vectorised position functions.

        It can read the tables of the warehouse and write `outputs`, but no other files unless `allow_files` is true.
        `limits` lock its configuration; then an up-to-date catalog.duckdb is used, because it cannot be changed. `mend`
        rewrites an outdated catalog.duckdb. `is_relative` keeps the warehouse's path as it was opened, for a process
        that stays in its folder. `for_query` is an SQL query: only the tables that it names are defined, which is ten
        times faster. Raises MissingWarehouseError if the folder does not exist, and StorageError if it cannot be read.
        """
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
        """The rows of an SQL query with the parameters `given`, each a mapping from columns to values. Sums are
        reproducible to the last bit. Raises QueryError if a table cannot be read."""
        from bgdata.store.locked_sql import query_errors

        with self.connect(for_query=query) as connection, query_errors():
            connection.execute("set threads = 1")  # the last digit of a sum depends on its order
            found = connection.execute(query, dict(given or {}))
            names = [column[0] for column in found.description or ()]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def mend_catalog(self) -> None:
        """Rewrite catalog.duckdb after the warehouse was moved or copied, if it can be written."""
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
        """Batches of positions with their five chances: NumPy arrays, or tensors by `.torch()`; see `training.feed`.

        Batches are the same for the same seed, versions and settings, on any machine.

        kind: a kind of dataset with labels (all its variants), a variant `kind/variant` or a version, or a mapping of
            such names to weights: every batch has rows of each in these proportions.
        split: train, validation or test; eight, one and one tenths of the games, or else of the positions.
        features: inputs of a network beside the boards, such as tesauro-196 or contact, or contact@1 to insist on a
            revision; float32.
        strata: classes of which every batch contains equally many rows, or shares by class: {"contact": 2, "race": 1}.
        guard: leave out of train and validation the positions of this warehouse's benchmarks, for either side.
        epochs: the number of epochs, counted from the first; None continues without end.
        state: a state of `Feed.state_after`, to continue after a batch as if there had been no interruption.
        from_parquet: read the columns from Parquet instead of the mapped arrays: the same batches, more slowly.

        Raises UsageError for what cannot be followed and for a state of other data, UnknownKindError,
        UnknownInputSetError, MissingTableError, and CheckFailedError for targets that are not chances.
        """
        from bgdata.training.feed.feed import open_feed

        return open_feed(
            self, kind, features=features, strata=strata, guard=guard, state=state, epochs=epochs,
            from_parquet=from_parquet, split=split, seed=seed, batch_size=batch_size,
        )  # fmt: skip


class RemoteWarehouse(Warehouse):
    """A read-only warehouse at an address. Opened files are downloaded into the user's cache and checked. The list of
    versions is read once, when it is first needed. Nothing can be built there: see `bgdata pull` and `bgdata push`."""

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
        """The folder of the fetched files, with the manifests of all versions that are there now. Raises the same
        exceptions as `transfer.listing`."""
        assert self.mirror.contents
        return self.mirror.folder

    @property
    def staging(self) -> Path:
        """Not possible: a warehouse at an address is read-only. Always raises UsageError. Everything that writes begins
        here."""
        raise UsageError(
            f"expected a warehouse in a folder, to write into, got {self.address}; "
            f"try: bgdata pull {self.address}, and bgdata push {self.address} then"
        )

    def table_in(self, folder: Path, kind: str) -> MirroredTable:
        from bgdata.store.remote import MirroredTable

        return MirroredTable(folder, kind, self.mirror)

    def open(self, kind: str, variant: str, version: str | None = None) -> Table:
        """Open a version, the current one unless named. Raises the same exceptions as `Versions.open` and
        `Mirror.open`."""
        self.checked_kind(kind)
        try:
            if "contents" not in vars(self.mirror):
                return self.mirror.open(kind, variant, version)
        except MissingTableError:  # the list of what is there says more
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
        """Not possible: a warehouse at an address is read-only. Always raises UsageError."""
        return bool(self.staging)

    def build(self, kind: str, parameters: Parameters, **options: Any) -> Table:  # noqa: ARG002
        """Not possible: a warehouse at an address is read-only. Always raises UsageError."""
        self.kind(kind)
        raise UsageError(f"expected no build in {self.address}; try: bgdata pull {self.address}")

    def is_moved(self) -> bool:
        return False

    def connect(self, *, for_query: str = "", **options: Any) -> duckdb.DuckDBPyConnection:
        """A connection as for a warehouse in a folder, with the same restrictions. Parquet files that the query names
        are fetched first, with their hashes checked, and no others can be read. Raises the same exceptions as
        `Mirror.file`."""
        self._fetch_tables(for_query)
        with self.mirror.fetching_nothing():
            return super().connect(for_query=for_query, **{**options, "mend": False})

    def _fetch_tables(self, query: str) -> None:
        """Fetch the files of the tables that a query names, and of the tables from which these are made."""
        from bgdata.store.registry import parse_script

        generated = [parse_script(text) for text in self.kinds.views(self.kinds.values())]
        wanted = self.kinds.sql.needed_by(query, generated)
        for kind in self.kinds.values():
            named = [shape for shape in kind.tables if any(word.startswith(shape.name) for word in wanted)]
            for variant in self.variants(kind.name) if named else ():
                with suppress(CorruptFileError, MissingTableError):  # as the view of it says
                    table = self.table_in(self.open(kind.name, variant).folder, kind.name)
                    view = variant.replace("-", "_")
                    for shape in named:
                        if shape.name in wanted or f"{shape.name}_{view}" in wanted:
                            table.fetch_rows(shape.file)
