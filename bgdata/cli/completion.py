"""Completion in the shell: kinds, versions, networks, players, match equity tables, and all names that `explain` knows.

A completion only reads folder names and small files, without DuckDB or PyArrow, and imports modules when needed.
Completion never fails; an unreadable warehouse gives no completions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem, get_completion_class

from bgdata.evaluation.players import NETWORK, PLAYERS
from bgdata.warehouse import Warehouse

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_BGDATA_COMPLETE"

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def completion_callback(names: Callable[[Warehouse, str], Iterable[str]]) -> Complete:
    """Return a callback for click that completes what the user typed to one of the names that `names(warehouse, typed)`
    returns."""

    def complete(context: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem]:
        try:
            return [CompletionItem(name) for name in dict.fromkeys(names(context.obj, typed)) if name.startswith(typed)]
        except Exception:  # the command itself reports errors; a traceback would corrupt the line
            return []

    return complete


def complete_folders(_: click.Context, __: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return a callback for click that leaves the completion of folders to the shell."""
    return [CompletionItem(typed, type="dir")]


def network_names(warehouse: Warehouse) -> list[str]:
    """Return the names of all networks in the warehouse and in the package."""
    from bgdata.evaluation.players import NETWORK_KINDS, SHIPPED

    shipped = (path.name for path in SHIPPED.iterdir() if path.is_dir())
    return sorted({*shipped, *(name for kind in NETWORK_KINDS for name in warehouse.variants(kind))})


def names_to_explain(warehouse: Warehouse) -> list[str]:
    """Return all names that `bgdata explain` knows: kinds, their tables, and the views and macros of SQL."""
    from bgdata.store.registry import PARTS

    tables = (shape.name for kind in warehouse.kinds.values() for shape in kind.tables)
    created = (name for script in warehouse.kinds.sql.scripts(*PARTS) for name in script.creates)
    return sorted({*warehouse.kinds, *tables, *created})


def _met_names(warehouse: Warehouse) -> Iterable[str]:
    from bgdata.equity.match_equity import KINDS, met_names

    return (name for kind in KINDS for table in warehouse.current(kind) for name in met_names(table.arrays()))


def _titles(warehouse: Warehouse, typed: str, kind: str | None = None) -> Iterable[str]:
    """Return KIND/VARIANT of all variants, or of those of one kind. Once the user has typed a variant, return
    KIND/VARIANT/VERSION of all versions."""
    for table in warehouse.versions(kind):
        title, version = table.name.rsplit("/", 1)
        yield title
        if typed.startswith(f"{title}/"):
            yield f"{title}/{version}"


def _scopes(warehouse: Warehouse, typed: str) -> Iterable[str]:
    """Return the names of all kinds. Once the user has typed a kind, return KIND/VARIANT and KIND/VARIANT/VERSION."""
    kind, slash, _ = typed.partition("/")
    return _titles(warehouse, typed, kind) if slash else warehouse.kinds


def _kinds(warehouse: Warehouse, *, takes_files: bool) -> Iterable[str]:
    return (name for name, kind in warehouse.kinds.items() if kind.takes_files == takes_files)


def _players(warehouse: Warehouse) -> Iterable[str]:
    return (NETWORK, *PLAYERS, *(f"network/{name}" for name in network_names(warehouse)))


def _sources() -> Iterable[str]:
    from bgdata.imports.sources import load_sources

    return load_sources()


complete_computed = completion_callback(lambda warehouse, _: _kinds(warehouse, takes_files=False))
complete_imported = completion_callback(lambda warehouse, _: _kinds(warehouse, takes_files=True))
complete_scopes = completion_callback(_scopes)
complete_sources = completion_callback(lambda _, __: _sources())
complete_tables = completion_callback(_titles)
complete_versions = completion_callback(lambda warehouse, _: (table.name for table in warehouse.versions()))
complete_networks = completion_callback(lambda warehouse, _: network_names(warehouse))
complete_players = completion_callback(lambda warehouse, _: _players(warehouse))
complete_mets = completion_callback(lambda warehouse, _: _met_names(warehouse))
complete_explained = completion_callback(lambda warehouse, _: names_to_explain(warehouse))


def completion_script(shell: str, command: click.Command) -> str:
    """Return the script by which a shell, such as bash, completes the arguments of `bgdata`."""
    found = get_completion_class(shell)
    assert found is not None  # one of SHELLS
    complete = found(command, {}, "bgdata", VARIABLE)
    return complete.source_template % complete.source_vars()
