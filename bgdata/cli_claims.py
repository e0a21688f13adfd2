"""The command about the register of claims."""

from __future__ import annotations

import click

from bgdata.claims.definitions import KINDS, STATUSES
from bgdata.commands.options import format_option
from bgdata.warehouse import Warehouse


@click.command()
@click.argument("names", nargs=-1)
@click.option("--status", "statuses", multiple=True, type=click.Choice(STATUSES), help="Claims of this status only.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Claims of this kind only.")
@click.option("--erratum", is_flag=True, help="Only what was published wrongly, or withdrawn.")
@click.option("--explain", is_flag=True, help="Everything about each claim: source, query, explanation.")
@click.option("--recompute", is_flag=True, help="Compute anew, with all that the warehouse has.")
@format_option
@click.pass_obj
def claims(
    warehouse: Warehouse,
    names: tuple[str, ...],
    statuses: tuple[str, ...],
    kinds: tuple[str, ...],
    erratum: bool,
    explain: bool,
    recompute: bool,
    form: str,
) -> None:
    """Print published numbers, and whether they come out.

    NAMES are beginnings of claims' names, such as A8 or A2.mean; all claims without any. With --recompute claims are
    answered too that need what only some warehouses have, such as imported match equity tables (met_xml) or scores of
    other players.

    Kinds are counted apart: what somebody published; published_twice, the figure of another row again; own_oracle,
    computed for the register by an independent program and published by nobody; identity, which could not have come
    out otherwise.

    \b
      bgdata claims --status corrected
      bgdata claims A8.crawford --explain
      bgdata claims --kind published --status open
    """
    from bgdata.commands.claims import print_claims

    which = {"is_erratum": erratum, "is_recomputed": recompute, "is_explained": explain}
    print_claims(warehouse, names, statuses, kinds, form=form, **which)


COMMANDS = (claims,)
