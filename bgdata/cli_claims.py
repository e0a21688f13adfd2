"""The command about the register of claims."""

from __future__ import annotations

import click

from bgdata.claims.definitions import KINDS, STATUSES
from bgdata.store.warehouse import Warehouse


@click.command(short_help="Published numbers, and whether they come out.")
@click.argument("names", nargs=-1)
@click.option("--status", "statuses", multiple=True, type=click.Choice(STATUSES), help="Claims of this status only.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Claims of this kind only.")
@click.option("--erratum", is_flag=True, help="Only what was published wrongly, or withdrawn.")
@click.option("--explain", is_flag=True, help="Everything about each claim: source, query, explanation.")
@click.option("--recompute", is_flag=True, help="Compute anew, with all that the warehouse has.")
@click.pass_obj
def claims(
    warehouse: Warehouse,
    names: tuple[str, ...],
    statuses: tuple[str, ...],
    kinds: tuple[str, ...],
    erratum: bool,
    explain: bool,
    recompute: bool,
) -> None:
    """Print the register of claims: published numbers beside what we find, and how many come out.

    NAMES are beginnings of claims' names, such as A8 or A2.mean. With --recompute claims are answered too that need
    what only some warehouses have, such as imported match equity tables (met_xml) or scores of other players.

    Four kinds of claims are counted apart: what somebody published; published_twice, the figure of another row again;
    own_oracle, published by nobody and computed for the register by an independent program; identity, which could not
    have come out otherwise.
    """
    from bgdata.commands.claims import print_claims

    print_claims(warehouse, names, statuses, kinds, is_erratum=erratum, is_recomputed=recompute, is_explained=explain)


COMMANDS = (claims,)
