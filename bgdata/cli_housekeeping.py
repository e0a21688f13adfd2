"""Commands that keep house: which version of a variant is current, which versions go, and what the shell completes."""

from __future__ import annotations

import click

from bgdata.commands.completion import SHELLS, complete_versions, completion_script
from bgdata.commands.options import format_option, yes_option
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
    from bgdata.commands.housekeeping import use_version

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
    from bgdata.commands.housekeeping import remove_version

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
    from bgdata.commands.housekeeping import collect_garbage

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


COMMANDS = (use, rm, gc, completion)
