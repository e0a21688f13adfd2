"""Kinds of dataset by name: each is imported when it is asked for, and none to learn which there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bgdata.store.dataset import Dataset


class Kinds(Mapping[str, "Dataset[Any]"]):
    """The kinds that modules declare as `DATASET`, in order of name. `modules` are the full names of the modules by
    the name of the kind."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        self.modules = dict(sorted(modules.items()))

    def __getitem__(self, name: str) -> Dataset[Any]:
        found: Dataset[Any] = import_module(self.modules[name]).DATASET
        return found

    def __contains__(self, name: object) -> bool:
        return name in self.modules

    def __iter__(self) -> Iterator[str]:
        return iter(self.modules)

    def __len__(self) -> int:
        return len(self.modules)

    def files(self) -> set[Path]:
        """The sources of the packages that declare them."""
        packages = {module.rpartition(".")[0] for module in self.modules.values()}
        return {
            path for each in packages for folder in import_module(each).__path__ for path in Path(folder).rglob("*.py")
        }

    def __eq__(self, other: object) -> bool:
        return self.modules == other.modules if isinstance(other, Kinds) else super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]
