"""Plans of commands for `bgdata rebuild`: they build everything that comes with bgdata from nothing, or a published
player."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from bgdata.cli.output import show_rows
from bgdata.errors import CorruptFileError, cite
from bgdata.rows import COUNT, Column, Quantity, Row, table_lines
from bgdata.warehouse import Warehouse
from bgdata.warehouse.from_nothing import (
    PLAN,
    Part,
    arguments,
    compare,
    figures_of,
    finished_parts,
    missing_versions,
    plan_path,
    read_plan,
    run_parts,
    select_parts,
)

PLAN_COLUMNS = (
    Column("part"),
    Column("minutes", COUNT),
    Column("makes"),
    Column("needs"),
    Column("version"),
    Column("digest"),
)
FIGURE_COLUMNS = (
    Column("part"),
    Column("figure"),
    Column("ours", Quantity(4), error="standard_error"),
    Column("published", Quantity(4)),
)


def load_plan(path: Path) -> list[Part]:
    """Read the parts of a plan, in order. Raises CorruptFileError if the file is damaged, or contains an unknown
    command or option."""
    parts = read_plan(path)
    for part in parts:
        _check_command(part)
    return parts


def _check_command(part: Part) -> None:
    """Raise CorruptFileError if the command of a part, or one of its options, does not exist."""
    from bgdata.cli import main

    context: Any = None
    command: click.Command = main
    words = arguments(part, {})
    try:
        while True:
            context = command.make_context(command.name or "bgdata", words, parent=context, resilient_parsing=False)
            if not isinstance(command, click.Group):
                return
            name, found, words = command.resolve_command(context, [*context._protected_args, *context.args])
            assert found
            command, found.name = found, name
    except (click.ClickException, SystemExit) as error:
        reason = error.format_message() if isinstance(error, click.ClickException) else "see bgdata --help"
        raise CorruptFileError(
            f"expected a command of bgdata as {part.name}, got {cite(part.command)}: {reason}"
        ) from None


def run_plan(warehouse: Warehouse, plan: str | None, names: Sequence[str], form: str, *, is_dry: bool) -> bool:
    """Run the named parts of a plan (by default all), or only print them if `is_dry`. `plan` is the plan's name; None
    is the plan of everything that comes with the package. Published figures are printed to standard error after each
    part, and all of them at the end. Returns False if a digest differs, or if a version that comes with the package is
    made by no part."""
    whole = load_plan(plan_path(plan) if plan else PLAN)
    parts, rows, figures = select_parts(whole, names), list[Row](), list[Row]()
    made = finished_parts(warehouse, parts) if is_dry and warehouse.root.is_dir() else {}
    done = ((part, made.get(part.name)) for part in parts) if is_dry else run_parts(warehouse, parts)
    for part, table in done:
        digest, found = (compare(warehouse, part, table), figures_of(warehouse, part, table)) if table else ("", [])
        row = {"part": part.name, "minutes": part.minutes, "makes": part.makes, "needs": ", ".join(part.all_needs)}
        row |= {"version": table.folder.name if table else "", "digest": digest, "command": part.command}
        rows.append(row | ({"figures": found} if plan and form == "json" else {}))
        if not is_dry and table:
            click.echo(f"{part.name}: {table.name} {digest}".rstrip(), err=True)
            click.echo("".join(f"{line}\n" for line in table_lines(FIGURE_COLUMNS, found) if found), err=True, nl=False)
        figures += found
    lines = list(table_lines(PLAN_COLUMNS, rows))
    show_rows(rows, form, lines + (["", *table_lines(FIGURE_COLUMNS, figures)] if figures else []))
    missing = [] if names or plan else missing_versions(warehouse, whole)
    hours = sum(part.minutes for part in parts) / 60
    click.echo(f"{len(parts)} parts, {hours:.1f} hours of two cores", err=form != "table")
    if missing:
        kinds = Counter(title.partition("/")[0] for title in missing)
        named = ", ".join(f"{count} of {kind}" for kind, count in kinds.items())
        click.echo(f"no part makes {len(missing)} versions that come with the package: {named}", err=True)
    return not missing and not any(row["digest"].startswith("DIFFERS") for row in rows)
