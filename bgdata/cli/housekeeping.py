"""Commands that keep house: which version of a variant is current, which versions go, and what the shell completes."""

from __future__ import annotations

import sys

import click

from bgdata.cli.completion import SHELLS, complete_versions, completion_script
from bgdata.cli.options import format_option, yes_option
from bgdata.cli.output import write_rows
from bgdata.errors import UsageError, shown
from bgdata.store.build import readable_bytes, refresh_catalog
from bgdata.store.housekeeping import Rubbish, remove, rubbish, sweep
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse


@click.command()
@click.argument("version", shell_complete=complete_versions)
@click.pass_obj
def use(warehouse: Warehouse, version: str) -> None:
    """Make a VERSION the current one of its variant.

    VERSION is KIND/VARIANT/VERSION, as `bgdata list` has it. The current version answers where none is named: views,
    players and the lock follow it. A build, an import or training that ends at a version does the same.

    \b
      bgdata list
      bgdata use network/tiny/r2-0123abcd
    """
    use_version(warehouse, version)


@click.command()
@click.argument("version", shell_complete=complete_versions)
@click.pass_obj
def rm(warehouse: Warehouse, version: str) -> None:
    """Delete a VERSION that nothing is made from.

    VERSION is KIND/VARIANT/VERSION. Refused, with the list of who, while another version or warehouse.lock is made from
    it.

    \b
      bgdata rm network/tiny/r2-0123abcd
    """
    remove_version(warehouse, version)


@click.command()
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
@yes_option
@format_option
@click.pass_obj
def gc(warehouse: Warehouse, dry_run: bool, yes: bool, form: str) -> None:
    """Delete the versions and the staging that nobody needs.

    Kept are the version of each variant that is current, those that warehouse.lock lists, all that these are made
    from, and whatever is damaged. A build that was stopped begins anew after its staging is deleted.
    """
    collect_garbage(warehouse, form, dry_run=dry_run, yes=yes)


@click.command()
@click.argument("shell", type=click.Choice(SHELLS), metavar="SHELL")
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print what lets a SHELL complete names after Tab.

    SHELL is bash, zsh or fish. Commands and options are completed, and kinds, variants, versions, networks, players and
    match equity tables of the warehouse.

    \b
      bgdata completion bash >> ~/.bashrc
      bgdata completion zsh >> ~/.zshrc
      bgdata completion fish > ~/.config/fish/completions/bgdata.fish
    """
    click.echo(completion_script(shell, context.find_root().command))


def use_version(warehouse: Warehouse, reference: str) -> None:
    """Make a version the current one of its variant. Raises UsageError for what names no version, MissingTableError,
    and whatever is wrong with its manifest."""
    table = named_version(warehouse, reference)
    table.check_sizes()
    if warehouse.use(table):
        refresh_catalog(warehouse)
        click.echo(f"{table.name} is current now")
    else:
        click.echo(f"{table.name} is current already")


def remove_version(warehouse: Warehouse, reference: str) -> None:
    """Delete one version. Raises UsageError for what names no version, MissingTableError, and VersionInUseError."""
    table = named_version(warehouse, reference)
    was_current = warehouse.open(*table.folder.parts[-3:-1]).folder == table.folder
    left = remove(warehouse, table)
    refresh_catalog(warehouse)
    click.echo(f"deleted {table.name}")
    if left is not None and was_current:
        click.echo(f"{left.name} is current now")


def named_version(warehouse: Warehouse, reference: str) -> Table:
    """The version that `KIND/VARIANT/VERSION` names. Raises UsageError and MissingTableError."""
    if reference.count("/") != 2:
        raise UsageError(f"expected KIND/VARIANT/VERSION, got {shown(reference)}; see: bgdata list")
    return warehouse.open_reference(reference)


def collect_garbage(warehouse: Warehouse, form: str = "table", *, dry_run: bool, yes: bool) -> None:
    """Name what nobody needs or holds, ask where somebody can answer, and delete it. Raises MissingWarehouseError and
    VersionInUseError."""
    warehouse.require()
    found = rubbish(warehouse)
    if form != "table":
        write_rows((entry._asdict() | {"path": name_of(warehouse, entry)} for entry in found), form)
    for entry in found if form == "table" else ():
        click.echo(f"{readable_bytes(entry.bytes):>8}  {name_of(warehouse, entry)}: {entry.reason}")
    total = readable_bytes(sum(entry.bytes for entry in found))
    if dry_run or not found:
        click.echo(f"{total} would be freed" if found else "nothing to delete", err=form != "table")
        return
    if not yes and sys.stdin.isatty():
        click.confirm(f"delete these {len(found)}, {total}?", abort=True, err=True)
    sweep(warehouse, found)
    refresh_catalog(warehouse)
    click.echo(f"{total} freed", err=form != "table")


def name_of(warehouse: Warehouse, entry: Rubbish) -> str:
    """Where one thing that may go is in the warehouse."""
    return entry.path.relative_to(warehouse.root).as_posix()
