"""Commands that keep house: which version of a variant is current, and which versions go."""

from __future__ import annotations

import click

from bgdata.store.warehouse import Warehouse


@click.command(short_help="Make a VERSION the current one of its variant.")
@click.argument("version", metavar="KIND/VARIANT/VERSION")
@click.pass_obj
def use(warehouse: Warehouse, version: str) -> None:
    """Make a version the current one of its variant: the one that answers where no version is named.

    Views, players and the lock follow it. A build, an import or training that ends at a version does the same.

    \b
      bgdata list
      bgdata use network/tiny/r2-0123abcd
    """
    from bgdata.commands.housekeeping import use_version

    use_version(warehouse, version)


@click.command(short_help="Delete a VERSION that nothing is made from.")
@click.argument("version", metavar="KIND/VARIANT/VERSION")
@click.pass_obj
def rm(warehouse: Warehouse, version: str) -> None:
    """Delete one version. Refused, with the list of who, while another version or warehouse.lock is made from it."""
    from bgdata.commands.housekeeping import remove_version

    remove_version(warehouse, version)


@click.command(short_help="Delete the versions and the staging that nobody needs.")
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def gc(warehouse: Warehouse, dry_run: bool, yes: bool) -> None:
    """Delete the staging that no build holds, and every version that nobody needs.

    Kept are the version of each variant that is current, those that warehouse.lock lists, all that these are made
    from, and whatever is damaged. A build that was stopped begins anew after its staging is deleted.
    """
    from bgdata.commands.housekeeping import collect_garbage

    collect_garbage(warehouse, dry_run=dry_run, yes=yes)


COMMANDS = (use, rm, gc)
