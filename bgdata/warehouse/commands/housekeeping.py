"""Housekeeping commands: they choose the current version of a variant, delete versions, and complete names in the
shell."""

from __future__ import annotations

import sys

import click

from bgdata.cli.completion import SHELLS, complete_versions, completion_script
from bgdata.cli.options import format_option, yes_option
from bgdata.cli.output import write_rows
from bgdata.errors import UsageError, cite
from bgdata.store.build import refresh_catalog
from bgdata.store.housekeeping import check_removable, is_current, remove, rubbish, size, sweep
from bgdata.store.plan import readable_bytes
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse


@click.command()
@click.argument("version", shell_complete=complete_versions)
@click.pass_obj
def use(warehouse: Warehouse, version: str) -> None:
    """Make a VERSION the current one of its variant.

    VERSION is KIND/VARIANT/VERSION, as `bgdata list` prints it. The current version is the one that views, players and
    the lock use when no version is named. A build, an import or a training run makes its result current, too.

    \b
      bgdata list
      bgdata use network/tiny/r2-0123abcd
    """
    table = named_version(warehouse, version)
    table.check_sizes()
    if warehouse.use(table):
        refresh_catalog(warehouse)
        click.echo(f"{table.name} is current now")
    else:
        click.echo(f"{table.name} is current already")


@click.command()
@click.argument("version", shell_complete=complete_versions)
@yes_option
@click.pass_obj
def rm(warehouse: Warehouse, version: str, yes: bool) -> None:
    """Delete a VERSION that nothing depends on.

    VERSION is KIND/VARIANT/VERSION. The command asks first where there is a terminal to ask at. It refuses, and lists
    what depends on it, while another version is made from it or warehouse.lock lists it.

    \b
      bgdata rm network/tiny/r2-0123abcd
    """
    table = named_version(warehouse, version)
    check_removable(warehouse, table)
    if not yes and sys.stdin.isatty():
        click.confirm(f"delete {table.name}, {readable_bytes(size(table.folder))}?", abort=True, err=True)
    was_current = is_current(warehouse, table)
    left = remove(warehouse, table)
    refresh_catalog(warehouse)
    click.echo(f"deleted {table.name}")
    if left is not None and was_current:
        click.echo(f"{left.name} is current now")


@click.command()
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option("--damaged", is_flag=True, help="Also delete what `bgdata verify --repair` has set aside.")
@yes_option
@format_option
@click.pass_obj
def gc(warehouse: Warehouse, dry_run: bool, damaged: bool, yes: bool, form: str) -> None:
    """Delete versions and staging folders that are not needed.

    It keeps the current version of each variant, the versions that warehouse.lock lists, damaged ones (without a
    readable manifest, or with files that are missing or of another size), everything that these are made from, and what
    a repair has set aside. A stopped build starts from the beginning once its staging folder is deleted.
    """
    warehouse.require()
    found = rubbish(warehouse, damaged=damaged)
    names = [entry.path.relative_to(warehouse.root).as_posix() for entry in found]
    paths = [name if name.isprintable() else cite(name) for name in names]
    rows = [entry._asdict() | {"path": path} for entry, path in zip(found, paths, strict=True)]
    if form != "table":
        write_rows(rows, form)
    for row in rows if form == "table" else ():
        click.echo(f"{readable_bytes(row['bytes']):>8}  {row['path']}: {row['reason']}")
    total = readable_bytes(sum(entry.bytes for entry in found))
    if dry_run or not found:
        click.echo(f"{total} would be freed" if found else "nothing to delete", err=form != "table")
        return
    if not yes and sys.stdin.isatty():
        click.confirm(f"delete these {len(found)}, {total}?", abort=True, err=True)
    swept = sweep(warehouse, found)
    refresh_catalog(warehouse)
    if len(swept) < len(found):
        click.echo(f"{len(found) - len(swept)} of these are needed by now, or gone", err=True)
    click.echo(f"{readable_bytes(sum(entry.bytes for entry in swept))} freed", err=form != "table")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS), metavar="SHELL")
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that lets a SHELL complete names.

    SHELL is bash, zsh or fish. The Tab key then completes commands and options, and the kinds, variants, versions,
    networks, players and match equity tables of the warehouse.

    \b
      bgdata completion bash >> ~/.bashrc
      bgdata completion zsh >> ~/.zshrc
      bgdata completion fish > ~/.config/fish/completions/bgdata.fish
    """
    click.echo(completion_script(shell, context.find_root().command))


def named_version(warehouse: Warehouse, reference: str) -> Table:
    """Open the version that KIND/VARIANT/VERSION names. Raises UsageError if `reference` has another form, and
    MissingTableError if there is no such version."""
    if reference.count("/") != 2:
        raise UsageError(f"expected KIND/VARIANT/VERSION, got {cite(reference)}; see: bgdata list")
    return warehouse.open_reference(reference)
