"""`bgdata diff`: compares two tables, or the warehouse with its lock."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from bgdata.cli.completion import complete_tables
from bgdata.cli.options import format_option
from bgdata.cli.output import show_rows
from bgdata.errors import MissingTableError, UsageError, cite
from bgdata.formats.gnubg_bearoff import open_gnubg_bearoff
from bgdata.rows import Row
from bgdata.store.checks import compare_views, define_version
from bgdata.store.lockfile import lock_verdicts
from bgdata.store.names import parse_scope
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse
from bgdata.warehouse.commands.query import define_gnubg_view


@click.command()
@click.argument("before", required=False, shell_complete=complete_tables)
@click.argument("after", required=False, shell_complete=complete_tables)
@format_option
@click.pass_obj
def diff(warehouse: Warehouse, before: str | None, after: str | None, form: str) -> None:
    """Compare two tables, or the warehouse with its lock.

    BEFORE and AFTER are KIND/VARIANT, KIND/VARIANT/VERSION, or a gnubg .bd file; side tables, such as quarantine, are
    compared too. Without them the warehouse is compared with warehouse.lock; with a KIND or KIND/VARIANT alone, only
    that part is compared with the lock. The exit code is 1 if they differ.

    \b
      bgdata diff
      bgdata diff match_equity
      bgdata diff bearoff_two_sided/6x6 gnubg_ts0.bd
    """
    if before is None or after is None:
        is_same = _compare_with_lock(warehouse, form, before)
    else:
        is_same = _compare_tables(warehouse, before, after, form)
    if not is_same:
        sys.exit(1)


def _compare_with_lock(warehouse: Warehouse, form: str, scope: str | None) -> bool:
    """Compare the variants in the lock (all, or those of KIND or KIND/VARIANT) with the warehouse, and print a line for
    each. Returns whether all digests are equal. A variant that only `bgdata build --all` builds may be missing."""
    if scope is not None and (scope.endswith(".bd") or scope.count("/") > 1):
        raise UsageError(f"expected two tables to compare, got one: {cite(scope)}")
    kind, variant, _ = parse_scope(scope)
    if kind is not None:
        warehouse.checked_kind(kind)
    verdicts = [
        each
        for each in lock_verdicts(warehouse)
        if kind in (None, each.entry.dataset) and variant in (None, each.entry.variant)
    ]
    if not verdicts:
        raise MissingTableError(f"expected {scope} in {warehouse.lock}, found none; try: bgdata diff BEFORE AFTER")
    rows = (vars(each.entry) | {"is_same": each.is_same, "verdict": each.text} for each in verdicts)
    show_rows(rows, form, map(str, verdicts))
    return all(each.is_right for each in verdicts)


def _compare_tables(warehouse: Warehouse, before: str, after: str, form: str) -> bool:
    """Compare two versions, table by table. Prints the rows that only one of them has, and for each column the number
    and size of changes. Returns whether all tables are equal."""
    sides = {"before": _open_side(warehouse, before), "after": _open_side(warehouse, after)}
    with warehouse.connect() as connection:
        kinds = []
        for view, side in sides.items():
            if isinstance(side, Path):
                kinds.append(define_gnubg_view(connection, side, view))
            else:
                kinds.append(side.manifest.dataset)
                declared = warehouse.kind(kinds[-1])
                define_version(connection, view, declared, declared.tables[0], side)
        if kinds[0] != kinds[1]:
            raise UsageError(f"expected two tables of one kind, got {' and '.join(kinds)}")
        kind = warehouse.kind(kinds[0])
        points = [  # number of points of the layouts; None for other tables
            getattr(open_gnubg_bearoff(side), "points", None)
            if isinstance(side, Path)
            else side.manifest.parameters.get("points")
            for side in sides.values()
        ]
        has_indexes = any(name.endswith("_index") for name in kind.tables[0].key)
        if has_indexes and points[0] != points[1]:  # indexes depend on the number of points
            raise UsageError(f"expected two tables of the same points, got {' and '.join(map(str, points))}")
        found = [compare_views(connection, kind.tables[0])]
        if not found[0].has_common:
            raise UsageError(f"expected two tables with rows in common, got {before} and {after}")
        versions = {view: side for view, side in sides.items() if isinstance(side, Table)}  # without gnubg files
        for shape in kind.side_tables if len(versions) == len(sides) else ():
            for view, table in versions.items():
                define_version(connection, view, kind, shape, table)
            found.append(compare_views(connection, shape))
    titles = [f"{before} -> {after}", *(each.shape.name for each in found[1:])]
    rows, lines = list[Row](), list[str]()
    for title, each in zip(titles, found, strict=True):
        alone = {"rows_only_before": each.only_before, "rows_only_after": each.only_after}
        lines.append(f"{title}, by {', '.join(each.shape.key)}")
        lines.append(f"  {each.only_before:,} rows only in {before}, {each.only_after:,} only in {after}")
        for change in each.changes:
            rows.append({"table": each.shape.name, **change._asdict(), **alone})
            if not each.has_common:
                continue
            text = f"  {change.column:<16} {change.rows_changed:>12,} of {change.rows_compared:,} rows changed"
            if change.rows_changed:
                text += f", at most {change.largest_change:.6g} (row {change.key_of_largest}), "
                text += f"mean {change.mean_absolute_change:.3g}"
            lines.append(text)
    show_rows(rows, form, lines)
    return all(each.is_same for each in found)


def _open_side(warehouse: Warehouse, name: str) -> Table | Path:
    """Open the version that KIND/VARIANT or KIND/VARIANT/VERSION names, or return the path of a gnubg .bd file. Raises
    UsageError if the name is neither."""
    if name.endswith(".bd"):
        return Path(name)
    if name.count("/") not in (1, 2):
        raise UsageError(f"expected KIND/VARIANT, KIND/VARIANT/VERSION or a .bd file, got {cite(name)}")
    return warehouse.open_reference(name)
