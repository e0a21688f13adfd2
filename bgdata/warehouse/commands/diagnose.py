"""`bgdata diagnose`: a description of the installation for a report of a fault."""

from __future__ import annotations

import click

from bgdata.cli.options import format_option
from bgdata.cli.output import show_rows
from bgdata.rows import Column, table_lines
from bgdata.warehouse import Warehouse
from bgdata.warehouse.diagnosis import diagnosis_rows

COLUMNS = (Column("about"), Column("name"), Column("value"))


@click.command()
@format_option
@click.pass_obj
def diagnose(warehouse: Warehouse, form: str) -> None:
    """Describe this installation, for a report of a fault.

    Versions of bgdata, Python and libraries, the processor, the operating system, what the warehouse holds in numbers,
    and the compiled kernels. No personal folder is named: the home folder is ~, and the warehouse is given by its name
    alone.
    """
    rows = diagnosis_rows(warehouse)
    show_rows(rows, form, table_lines(COLUMNS, rows))
