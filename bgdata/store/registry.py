"""The registry of a warehouse: its kinds of dataset by name, and the SQL that belongs to them.

A kind is imported when it is first needed, and none to learn which there are. Installed packages add kinds by entry
points.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgdata.errors import PluginError, shown
from bgdata.store.names import is_name
from bgdata.store.scripts import SqlFolders

if TYPE_CHECKING:
    from bgdata.store.dataset import Dataset

Place = str  # full name of a module that declares a kind as `DATASET`


def no_views(_: Iterable[Dataset[Any]]) -> Iterator[str]:
    """The generated views of kinds that need none."""
    return iter(())


class Kinds(Mapping[str, "Dataset[Any]"]):
    """Kinds in order of name, each a declaration or the full name of the module that declares it as `DATASET`.

    sql: folders of SQL, see `scripts`.
    views: SQL of views that are generated from the declarations; one text a view, with its comments.
    group: entry points of installed packages that add kinds. The name of an entry point is that of the kind, its value
        a module. SQL is in the folder `sql` of the module's top package.
    """

    def __init__(
        self,
        kinds: Mapping[str, Dataset[Any] | Place],
        *,
        sql: Iterable[Path] = (),
        views: Callable[[Iterable[Dataset[Any]]], Iterator[str]] = no_views,
        group: str = "",
    ) -> None:
        self._own = dict(kinds)
        self._folders = tuple(sql)
        self.views = views
        self._group = group

    def __or__(self, more: Mapping[str, Dataset[Any] | Place]) -> Kinds:
        return Kinds({**self._own, **more}, sql=self._folders, views=self.views, group=self._group)

    @cached_property
    def _added(self) -> dict[str, Place]:
        """The modules of the kinds that other packages add; the names of our own kinds stay ours."""
        if not self._group:
            return {}
        from importlib.metadata import entry_points  # takes longer to import than all else here

        found = {each.name: each.value for each in entry_points(group=self._group)}
        return {name: module for name, module in found.items() if name not in self._own and is_name("kind", name)}

    @cached_property
    def modules(self) -> dict[str, Dataset[Any] | Place]:
        """What was given for each kind, in order of name."""
        return dict(sorted({**self._own, **self._added}.items()))

    @cached_property
    def sql(self) -> SqlFolders:
        """All folders of SQL: those given, and those of other packages."""
        added: list[Path] = []
        for package in sorted({module.partition(".")[0] for module in self._added.values()}):
            spec = find_spec(package)  # imports nothing
            added += [Path(folder) / "sql" for folder in (spec and spec.submodule_search_locations) or ()]
        return SqlFolders((*self._folders, *(folder for folder in added if folder.is_dir())))

    def __getitem__(self, name: str) -> Dataset[Any]:
        place = self._own[name] if name in self._own else self._added[name]
        if not isinstance(place, str):
            return place
        if name in self._own:
            found: Dataset[Any] = import_module(place).DATASET
            return found
        return load_added(name, place)

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._added

    def __iter__(self) -> Iterator[str]:
        return iter(self.modules)

    def __len__(self) -> int:
        return len(self.modules)

    @property
    def has_modules_alone(self) -> bool:
        """Whether every kind is given by its module, so that `files` are all that declares them."""
        return all(isinstance(place, str) for place in self.modules.values())

    def files(self) -> set[Path]:
        """The sources of the kinds, with all modules of the packages that they are in, which may share something."""
        given = self.modules.values()
        names = {each for each in given if isinstance(each, str)}
        names |= {base.__module__ for each in given if not isinstance(each, str) for base in type(each).__mro__}
        found = set()
        for package in {name.rpartition(".")[0] for name in names} - {""}:
            found |= {path for folder in import_module(package).__path__ for path in Path(folder).rglob("*.py")}
        for name in names:
            module = sys.modules.get(name)
            spec = None if module or "." in name else find_spec(name)
            origin = getattr(module, "__file__", None) or (spec and spec.origin)
            if origin:
                found.add(Path(origin))
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Kinds):
            return super().__eq__(other)
        return (self.modules, self.sql) == (other.modules, other.sql)

    __hash__ = None  # type: ignore[assignment]


def load_added(name: str, module: Place) -> Dataset[Any]:
    """The kind that another package declares. Raises PluginError."""
    from bgdata.store.dataset import Dataset

    try:
        found = import_module(module).DATASET
    except Exception as error:  # whatever a stranger's module does
        reason = f"{type(error).__name__}: {shown(str(error))}"
        raise PluginError(
            f"expected the kind {name} in the module {shown(module)} of another package, got {reason}; "
            "try: install that package again, or uninstall it"
        ) from error
    if not isinstance(found, Dataset) or found.name != name:
        raise PluginError(f"expected a Dataset named {name} as DATASET of {shown(module)}, got {shown(found)}")
    return found
