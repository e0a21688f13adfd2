"""`bgdata claims`: the register of published numbers, printed and recomputed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from bgdata.cli.options import format_option
from bgdata.cli.output import show_rows, write_rows
from bgdata.errors import MissingTableError
from bgdata.rows import COUNT, Column, Quantity, table_lines
from bgdata.store.progress import progress_bars
from bgdata.studies import rows as register
from bgdata.studies.claims.definitions import DISAGREES, KINDS, STATUSES
from bgdata.studies.kinds.claims import DATASET
from bgdata.studies.rows import (
    Row,
    answer_text,
    check_claim_names,
    chosen_claims,
    counts_of,
    current_register,
    printed_tables,
    rows_of,
    rows_without_tables,
)
from bgdata.warehouse import Warehouse


@click.command()
@click.argument("names", nargs=-1)
@click.option("--status", "statuses", multiple=True, type=click.Choice(STATUSES), help="Only claims of this status.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only claims of this kind.")
@click.option("--erratum", is_flag=True, help="Only claims that were published wrongly, or withdrawn.")
@click.option("--explain", is_flag=True, help="Print everything about each claim: source, query, explanation.")
@click.option("--together", is_flag=True, help="Judge the figures of each printed table together.")
@click.option("--recompute", is_flag=True, help="Compute the answers again, from all that the warehouse has.")
@format_option
@click.pass_obj
def claims(
    warehouse: Warehouse,
    names: tuple[str, ...],
    statuses: tuple[str, ...],
    kinds: tuple[str, ...],
    erratum: bool,
    explain: bool,
    together: bool,
    recompute: bool,
    form: str,
) -> None:
    """Print published numbers, and whether they can be reproduced.

    NAMES are beginnings of claims' names, such as A8 or A2.mean; without NAMES all claims are printed. --recompute also
    answers claims that need data which only some warehouses have, such as imported match equity tables (met_xml) or
    scores of other players.

    A claim is reproduced if our answer is within the tolerance, which follows from the printed digits and from the
    standard errors of both; corrected if the published figure is wrong and ours is the right one; else it disagrees.
    What is open waits for an experiment, and what is unreachable is of something that nobody can obtain. Published
    figures are counted by source document, and those of a kind apart: published_twice, the same figure as in another
    row, and statement, words or a bound. --together judges figures that were printed in one table together, which shows
    small differences that all point the same way.

    \b
      bgdata claims --status corrected
      bgdata claims A8.crawford --explain
      bgdata claims --kind published --status disagrees
      bgdata claims --together
    """
    check_claim_names(names, [(claim.claim, claim.part) for claim in register.WHOLE.chosen()])
    rows = register_rows(warehouse, is_recomputed=recompute)
    shown = chosen_claims(rows, names, statuses, kinds, is_erratum=erratum)
    if together:
        judged = printed_tables(shown)
        show_rows(judged, form, table_lines(TOGETHER, judged) if judged else ["no printed table is among these"])
        return
    if form != "table":
        write_rows(shown, form)
        click.echo(summary_line(shown), err=True)
        return
    lines = (explained_lines(shown) if explain else list_lines(shown)) if shown else ()
    click.echo("\n".join([*lines, summary_line(shown), *count_lines(shown)]))


TOGETHER = (
    Column("n_rows", COUNT, heading="rows"),
    Column("n_disagreeing", COUNT, heading="disagree"),
    Column("chi_squared", Quantity(1), heading="chi-squared"),
    Column("chance", heading="chance", is_right=True),
    Column("status"),
    Column("printed_table"),
)
WIDEST = 24  # characters of a value in the list
SHOWN = (  # fields that --explain prints
    *("subject", "document", "source", "source_date", "place", "printed_table", "restates"),
    *("published", "published_error", "tolerance"),
    *("answer", "our_error", "our_bound", "correction", "explanation", "query"),
)


def register_rows(warehouse: Warehouse, *, is_recomputed: bool) -> list[Row]:
    """Return the rows of the register. If `is_recomputed`, a new register is built from everything in the warehouse;
    else the current register is read. If there is none, only claims that need no tables are answered, and a line says
    what is missing. Raises the errors of `Warehouse.build`."""
    if is_recomputed:
        with progress_bars() as progress:
            complete = DATASET.complete(register.WHOLE, warehouse)
            return rows_of(warehouse.build(DATASET.name, complete, progress=progress, force=True))
    try:
        return rows_of(current_register(warehouse))
    except MissingTableError:
        wanted = [(DATASET.name, register.WHOLE), *DATASET.inputs(register.WHOLE).values()]
        missing = [f"{kind}/{warehouse.kind(kind).slug(each)}" for kind, each in wanted
                   if not warehouse.find_input((kind, each))]  # fmt: skip
        click.echo(
            f"not built: {', '.join(missing)}; only claims that need no tables are answered; "
            f"try: bgdata build {DATASET.name}",
            err=True,
        )
        return rows_without_tables()


def list_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Yield one line of text for each claim: name, published value, our answer, status, subject."""
    heads = {"claim": "claim", "published": "published", "answer": "ours", "status": "status", "subject": "subject"}
    columns = [Column(name, heading=head, missing="-") for name, head in heads.items()]
    shown = (
        {**row, "published": shorten_cell(row["published"]), "answer": shorten_cell(answer_text(row))} for row in rows
    )
    yield from table_lines(columns, shown)


def shorten_cell(text: str | None) -> str | None:
    """Return a text, shortened to the width of its column in the list of claims."""
    return text if text is None or len(text) <= WIDEST else text[: WIDEST - 3] + "..."


def explained_lines(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of text that --explain prints for each claim: source, query, figures, explanation."""
    for row in rows:
        yield f"{row['claim']}: {row['kind']}, {row['status']}" + (", erratum" if row["is_erratum"] else "")
        for name in SHOWN:
            if row[name] not in (None, ""):
                value = f"{row[name]:.6g}" if isinstance(row[name], float) else row[name]
                yield f"  {name.replace('_', ' '):<15} {value}"
        yield ""


def summary_line(rows: Sequence[Row]) -> str:
    """Return a line of text such as `310 claims: 290 reproduced, 12 corrected, ...`."""
    named = {DISAGREES: "disagree"}
    counts = ", ".join(
        f"{sum(row['status'] == status for row in rows)} {named.get(status, status)}" for status in STATUSES
    )
    errata = sum(row["is_erratum"] for row in rows)
    many, wrong = "claim" if len(rows) == 1 else "claims", "erratum" if errata == 1 else "errata"
    return f"{len(rows)} {many}: {counts}; {errata} {wrong}"


def count_lines(rows: Sequence[Row]) -> list[str]:
    """Return lines of text with the number of claims by kind, source document and status."""
    counts = counts_of(rows)
    if not counts:
        return []
    names = [name for name in counts[0] if name not in ("kind", "document")]
    columns = [Column("kind"), Column("document"), *(Column(name, COUNT) for name in names)]
    return table_lines(columns, counts)
