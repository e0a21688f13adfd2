"""`bgdata publish`: tables as one folder of files for a hub, a web server or a colleague."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click
from click.core import ParameterSource

from bgdata.cli.completion import complete_scopes
from bgdata.cli.options import format_option
from bgdata.cli.output import show_rows
from bgdata.errors import UsageError, cite, needing
from bgdata.publishing import TITLE, publish
from bgdata.publishing.contents import Contents
from bgdata.rows import COUNT, Column, Row, table_lines
from bgdata.store.plan import readable_bytes
from bgdata.store.progress import progress_bars
from bgdata.warehouse import Warehouse
from bgdata.warehouse.commands.transfer import count_text


@click.command(name="publish")
@click.argument("folder", metavar="FOLDER", type=click.Path(path_type=Path))
@click.argument("kind", nargs=-1, shell_complete=complete_scopes)
@click.option("--pack", is_flag=True, help="What an author of an engine wants; what is missing is built first.")
@click.option("--title", default=TITLE, show_default=True, metavar="TEXT", help="Name of the dataset on its card.")
@click.option("--explorer", "with_explorer", is_flag=True, help="Add the pages of `bgdata serve --static` about them.")
@format_option
@click.pass_context
def publish_command(
    context: click.Context,
    /,
    folder: Path,
    kind: tuple[str, ...],
    pack: bool,
    title: str,
    with_explorer: bool,
    form: str,
) -> None:
    """Publish tables as one folder for hubs and colleagues.

    FOLDER is a dataset of Hugging Face: README.md says what the tables are, how they were made and what proves them,
    and data/ has them as Parquet, in shards by split. Beside that are descriptions for other catalogues
    (datapackage.json, croissant.json, openlineage.jsonl), SHA256SUMS, and the manifests. `bgdata verify FOLDER` proves
    it, and `bgdata pull FOLDER` makes a warehouse of it.

    KIND is a kind of dataset, KIND/VARIANT or KIND/VARIANT/VERSION; the default is all that is current. Tables made
    from other people's data carry their licence, or are left out with the reason. The same command goes on where
    another one stopped; the same versions give the same bytes.

    With --pack it is a fixed choice, 170 MB: exact bearoffs and small endgames, decisions and positions to measure an
    engine by, the opening book, match equity tables, and a million labelled positions.

    \b
      bgdata publish backgammon
      bgdata publish bearoffs bearoff_two_sided/6x6 bearoff_one_sided
      bgdata publish pack --pack
    """
    warehouse: Warehouse = context.obj
    if pack and kind:
        raise UsageError(f"expected no KIND with --pack, got {cite(kind[0])}")
    explorer: Callable[[Warehouse, Path], object] | None = None
    if with_explorer:
        with needing("web", "for the site"):
            from bgdata.web.static_site import write_static
        explorer = write_static
    with progress_bars() as progress:
        if pack:
            from bgdata.publishing import pack as the_pack  # loads the kinds of all tables

            is_named = context.get_parameter_source("title") is ParameterSource.COMMANDLINE
            named = title if is_named else the_pack.TITLE
            contents = the_pack.publish_pack(warehouse, folder, title=named, explorer=explorer, progress=progress)
        else:
            contents = publish(warehouse, folder, kind, title=title, explorer=explorer, progress=progress)
    rows = table_rows(contents)
    columns = (
        Column("config"),
        Column("split"),
        Column("rows", COUNT),
        Column("shards", COUNT),
        Column("size", is_right=True),
    )
    show_rows(rows, form, table_lines(columns, ({**row, "size": readable_bytes(row["bytes"])} for row in rows)))
    size = readable_bytes(contents.size)
    line = f"published {count_text(len(contents.versions), 'version')} into {folder}: {contents.rows:,} rows, {size}"
    left = len(contents.left_out)
    click.echo(line + (f"; {left} left out" if left else ""), err=True)


def table_rows(contents: Contents) -> list[Row]:
    """Return a row for each split of each published table, for printing."""
    return [
        {
            "config": table.config,
            "split": split.name,
            "rows": split.rows,
            "shards": len(split.files),
            "bytes": sum(file.bytes for file in split.files),
            "licence": version.licence,
        }
        for version in contents.versions
        for table in version.tables
        for split in table.splits
    ]
