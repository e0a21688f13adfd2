"""`bgdata export`: tables in other programs' formats."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from bgdata.bearoff.index import check_size
from bgdata.cli.completion import complete_mets, complete_networks, complete_tables
from bgdata.cli.options import output_option, threads_option
from bgdata.equity.commands import export_met
from bgdata.errors import QueryError, UsageError, shown
from bgdata.formats.gnubg_bearoff_write import write_one_sided, write_one_sided_normal, write_two_sided
from bgdata.formats.lines import write_bytes
from bgdata.formats.mat import format_mat
from bgdata.store.arrays import Array
from bgdata.store.checks import connect_tables
from bgdata.store.names import identifier
from bgdata.store.progress_bars import progress_bars
from bgdata.store.storage import sha256_file
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse
from bgdata.warehouse.commands.export_parquet import export_parquet, name_in_parquet
from bgdata.warehouse.commands.query import copy_rows, form_of, written_aside

if TYPE_CHECKING:
    from bgdata.evaluation.networks.inference import Networks

TEXT_FORMATS = ["gnubg-training", "gnubg-benchmark", "wildbg-csv", "bgsage-rollouts", "position-list", "mat"]


@click.group()
def export() -> None:
    """Write tables in other programs' formats."""


export.add_command(export_parquet)


@export.command(name="gnubg-bd")
@click.option("--one-sided", type=click.IntRange(1, 18), metavar="POINTS", help="A one-sided file (makebearoff -o).")
@click.option("--two-sided", metavar="POINTSxCHECKERS", help="A two-sided file (makebearoff -t).")
@click.option(
    "--hypergammon",
    type=click.IntRange(1, 3),
    metavar="CHECKERS",
    help="A hypergammon file (makehyper -c), of a table.",
)
@output_option(required=True)
@click.option("-g", "--no-gammons", is_flag=True, help="One-sided without gammon distributions (-g).")
@click.option("-c", "--uncompressed", is_flag=True, help="One-sided without compression (-c).")
@click.option("-n", "--normal", is_flag=True, help="One-sided as normal distributions (-n).")
@click.option("-C", "--cubeless", is_flag=True, help="Two-sided with cubeless equities only (-C).")
@threads_option
@click.pass_obj
def gnubg_bd(warehouse: Warehouse, /, hypergammon: int | None, **options: Any) -> None:
    """Write a database as gnubg's makebearoff or makehyper does.

    Bearoff files are identical, byte for byte. A hypergammon file is written from the table `hypergammon`, which is
    built if it is missing; it is right where makehyper's is not, with the cube where a player may dance.

    \b
      bgdata export gnubg-bd --two-sided 6x6 -o gnubg_ts0.bd
      bgdata export gnubg-bd --one-sided 6 -o gnubg_os0.bd
      bgdata export gnubg-bd --hypergammon 2 -o hyper2.bd
    """
    if hypergammon is None:
        click.echo(write_gnubg_bearoff(**options))
        return
    if any(value for name, value in options.items() if name != "output"):
        raise UsageError("expected --hypergammon without another option than --output")
    click.echo(write_hypergammon_file(warehouse, hypergammon, options["output"]))


@export.command(name="table")
@click.argument("table", shell_complete=complete_tables)
@click.option(
    "--format",
    "form",
    type=click.Choice(["csv", "json", "parquet"]),
    help="Format of the file.  [default: the one that its name ends with, else parquet]",
)
@output_option(required=True)
@click.pass_obj
def export_table(warehouse: Warehouse, table: str, form: str | None, output: Path) -> None:
    """Write a table with the columns that it has in SQL.

    TABLE is KIND/VARIANT, or KIND/VARIANT/VERSION.

    \b
      bgdata export table bearoff_two_sided/6x6 -o two_sided.parquet
      bgdata export table match_equity/published-12 -o published.csv
    """
    export_version(warehouse, table, form_of(form, output, "parquet"), output)


@export.command(name="text")
@click.argument("table", shell_complete=complete_tables)
@click.option("--format", "form", required=True, type=click.Choice(TEXT_FORMATS), help="Format of the file.")
@output_option(required=True)
@click.pass_obj
def export_text(warehouse: Warehouse, table: str, form: str, output: Path) -> None:
    """Write positions, benchmarks or matches for other programs.

    TABLE is KIND/VARIANT, or KIND/VARIANT/VERSION. An output file that ends in .gz or .bz2 is compressed.

    \b
      bgdata export text selfplay/network-500-seed-2-luck --format mat -o games.mat
    """
    click.echo(write_text(warehouse.open_reference(table), form, output))


@export.command(name="letters")
@click.argument("table", shell_complete=complete_tables)
@output_option(required=True)
@click.pass_obj
def export_letters(warehouse: Warehouse, table: str, output: Path) -> None:
    """Write a two-sided bearoff table as text.

    TABLE is bearoff_two_sided/VARIANT, or bearoff_two_sided/VARIANT/VERSION. A row has a letter for each point of the
    player on roll, ace point first, and of the opponent (A: no checker, B: one checker), a comma, and the cubeless
    equity. An output file that ends in .gz or .bz2 is compressed.

    \b
      bgdata export letters bearoff_two_sided/6x6 -o bearoff.csv
    """
    click.echo(write_letters(warehouse.open_reference(table), output))


@export.command(name="onnx")
@click.argument("network", default="", shell_complete=complete_networks)
@output_option(required=True)
@click.pass_obj
def export_onnx(warehouse: Warehouse, network: str, output: Path) -> None:
    """Write a NETWORK as an ONNX file, which other programs run.

    NETWORK is a name of the warehouse, or NAME/VERSION; the default is the one that comes with bgdata. The file takes
    int8[N, 26] boards of the player on roll, before the roll, and gives float32[N, 5] chances: win, win_gammon,
    win_backgammon, lose_gammon, lose_backgammon. Inputs, the class of each position and the rules are in it, bearoff
    tables are not. With onnxruntime on a processor its answers are those of bgdata without tables, to the last bit. Its
    metadata say so too. Needs the extra `onnx`.

    \b
      bgdata export onnx -o network.onnx
      bgdata export onnx mine -o mine.onnx
    """
    click.echo(write_network(warehouse, network, output, "onnx"))


@export.command(name="torch")
@click.argument("network", default="", shell_complete=complete_networks)
@output_option(required=True)
@click.pass_obj
def export_torch(warehouse: Warehouse, network: str, output: Path) -> None:
    """Write a NETWORK as a program of PyTorch.

    NETWORK is as for `bgdata export onnx`, and so is what the program takes, gives and holds. `torch.export.load` reads
    it. On a processor its answers are those of bgdata without tables, to the last bit. Needs the extra `torch`,
    and some seconds.

    \b
      bgdata export torch -o network.pt2
      bgdata export torch mine -o mine.pt2
    """
    click.echo(write_network(warehouse, network, output, "torch"))


@export.command(name="met")
@click.argument("met", default="", shell_complete=complete_mets)
@output_option(required=True)
@click.pass_obj
def export_met_command(warehouse: Warehouse, met: str, output: Path) -> None:
    """Write a MET as the XML file that gnubg loads.

    MET is a name or a file (see: bgdata met --help); the default is the table built here. gnubg loads the file with
    `set met FILE`. An output file that ends in .gz or .bz2 is compressed.

    \b
      bgdata export met -o ours.xml
    """
    click.echo(export_met(warehouse, met, output))


def export_version(warehouse: Warehouse, reference: str, form: str, output: Path) -> None:
    """Write the main table of `KIND/VARIANT` or `KIND/VARIANT/VERSION`. Raises UsageError, MissingTableError and
    QueryError."""
    import duckdb

    from bgdata.store.locked_sql import first_lines

    table = warehouse.open_reference(reference)
    name = name_in_parquet(warehouse, table)
    with written_aside(output, form, is_needed=True) as path:
        assert path is not None
        with connect_tables(warehouse.kinds, [table], outputs=[path]) as connection:
            try:
                copy_rows(connection, connection.sql(f"from {identifier(name)}"), form, path)
            except duckdb.Error as error:
                raise QueryError(first_lines(error)) from error


def write_network(warehouse: Warehouse, network: str, output: Path, form: str) -> str:
    """Write a network as an ONNX file, or a program of PyTorch (`torch`); returns a line that says what was written.

    Raises UnknownPlayerError, MissingTableError, CorruptFileError, MissingExtraError and StorageError.
    """
    from bgdata.evaluation.networks.mapped import open_networks
    from bgdata.evaluation.networks.named import KIND, find_network
    from bgdata.formats.onnx.network import properties_of

    table = find_network(f"{KIND}/{network}" if network else KIND, warehouse)
    content = network_bytes(form)(open_networks(table), properties_of(table))
    write_bytes(output, [content])
    return f"wrote {output}: {output.stat().st_size:,} bytes, SHA-256 {sha256_file(output)}"


def network_bytes(form: str) -> Callable[[Networks, dict[str, str]], bytes]:
    """What makes the file of networks with these properties. Raises MissingExtraError."""
    if form == "onnx":
        from bgdata.formats.onnx.write import onnx_bytes

        return onnx_bytes
    from bgdata.formats.onnx.torch_program import torch_bytes

    return torch_bytes


def write_gnubg_bearoff(
    one_sided: int | None,
    two_sided: str | None,
    output: Path,
    *,
    no_gammons: bool = False,
    uncompressed: bool = False,
    normal: bool = False,
    cubeless: bool = False,
) -> str:
    """Compute and write one file; returns a line that says what was written. Raises UsageError for options that do not
    belong together, and StorageError if the file cannot be written."""
    if (one_sided is None) == (two_sided is None):
        raise UsageError("expected one of --one-sided POINTS, --two-sided POINTSxCHECKERS and --hypergammon CHECKERS")
    if two_sided is not None:
        if no_gammons or uncompressed or normal:
            raise UsageError("expected -g, -c and -n with --one-sided only")
        write_two_sided_file(*parse_size(two_sided), output, cubeless=cubeless)
    elif one_sided is not None:
        if cubeless:
            raise UsageError("expected -C with --two-sided only")
        write_one_sided_file(one_sided, output, gammons=not no_gammons, compressed=not uncompressed, normal=normal)

    return f"wrote {output}: {output.stat().st_size:,} bytes, SHA-256 {sha256_file(output)}"


def write_hypergammon_file(warehouse: Warehouse, checkers: int, output: Path) -> str:
    """Write the hypergammon table of a warehouse, which is built if it is missing; returns a line that says what was
    written. Raises StorageError if the file cannot be written."""
    from bgdata.endgames.kinds.contact_endgame import EndgameParameters
    from bgdata.formats.gnubg_bearoff_write import HYPERGAMMON_EQUITIES, write_hypergammon

    with progress_bars() as progress:
        table = warehouse.build("hypergammon", EndgameParameters(checkers), progress=progress)
    write_hypergammon(output, checkers, table.array("chances"), table.array("equities")[:, :, HYPERGAMMON_EQUITIES])
    return f"wrote {output}: {output.stat().st_size:,} bytes, SHA-256 {sha256_file(output)}"


def parse_size(text: str) -> tuple[int, int]:
    """(points, checkers) of `6x9`. Raises UsageError."""
    match = re.fullmatch(r"(\d+)x(\d+)", text)
    if match is None:
        raise UsageError(f"expected POINTSxCHECKERS such as 6x6, got {shown(text)}")
    points, checkers = int(match[1]), int(match[2])
    check_size(points, checkers)
    return points, checkers


def write_one_sided_file(points: int, output: Path, *, gammons: bool, compressed: bool, normal: bool) -> None:
    """Write what `makebearoff -o POINTS` writes: distributions as integers, or as the moments of normal
    distributions."""
    from bgdata.bearoff.gnubg_counts import normal_moments, one_sided_counts

    if normal:
        write_one_sided_normal(output, points, normal_moments(points))
        return
    counts = one_sided_counts(points)
    gammon_counts = one_sided_counts(points, is_gammon=True) if gammons else None
    write_one_sided(output, points, counts, gammon_counts, compressed=compressed)


def write_two_sided_file(points: int, checkers: int, output: Path, *, cubeless: bool) -> None:
    """Write what `makebearoff -t POINTSxCHECKERS` writes, cubeful or cubeless."""
    from bgdata.bearoff.gnubg_counts import two_sided_codes

    write_two_sided(output, points, checkers, two_sided_codes(points, checkers, is_cubeless=cubeless))


Arrays = Mapping[str, Array]


def write_letters(table: Table, output: Path) -> str:
    """Write a two-sided table as letters; returns a line that says what was written. Raises UsageError for a table of
    another kind, and StorageError."""
    from bgdata.bearoff.tables import TwoSidedTable
    from bgdata.formats.layout_letters import format_layout_letters

    if table.manifest.dataset != "bearoff_two_sided":
        raise UsageError(f"expected a version of bearoff_two_sided, got {table.name}")
    write_bytes(output, format_layout_letters(TwoSidedTable(table)))
    return f"wrote {output}: {output.stat().st_size:,} bytes"


def write_text(table: Table, form: str, output: Path) -> str:
    """Write a version in another format; returns a line that says what was written.

    Raises UsageError for a table that does not hold what the format needs, and StorageError if the file cannot be
    written.
    """
    needed, writer = FORMATS[form]
    arrays = table.arrays()
    if not set(needed) <= set(arrays):
        able = [name for name, (arrays_of_format, _) in FORMATS.items() if set(arrays_of_format) <= set(arrays)]
        raise UsageError(f"expected a format for {table.name} among {', '.join(able) or 'none'}, got {form}")
    writer(arrays, output)
    return f"wrote {output}: {output.stat().st_size:,} bytes"


def write_training(arrays: Arrays, output: Path) -> None:
    """Write gnubg training data, with the comments if the table has any."""
    from bgdata.formats.gnubg_training import format_gnubg_training
    from bgdata.kinds.column_values import text_column

    # rows of a second file may have no comment of their own: written, they stand below those of the first
    index = np.maximum.accumulate(arrays["comment_index"]) if "comment_index" in arrays else None
    comments = text_column(arrays, "comments").to_pylist() if index is not None else ()
    boards, chances = arrays["boards"], arrays["chances"]
    write_bytes(output, format_gnubg_training(boards, chances, comment_index=index, comments=comments))


def write_wildbg(arrays: Arrays, output: Path) -> None:
    """Write a CSV file as wildbg reads it."""
    from bgdata.formats.wildbg_csv import format_wildbg_csv

    write_bytes(output, format_wildbg_csv(arrays["boards"], arrays["chances"]))


def write_bgsage(arrays: Arrays, output: Path) -> None:
    """Write rollouts as bgsage does: positions after the play, chances of the player who made it. Rows that were
    imported from bgsage come out as they were."""
    from bgdata.formats.bgsage_rollouts import format_bgsage_rollouts
    from bgdata.game.codec import flip_boards
    from bgdata.imports.kinds.bgsage_rollouts_compute import flipped_chances

    written = arrays.get("chances_after_play")
    chances = np.asarray(written) if written is not None else flipped_chances(arrays["chances"].astype(np.float64))
    write_bytes(output, format_bgsage_rollouts(flip_boards(arrays["boards"]), chances))


def write_positions(arrays: Arrays, output: Path) -> None:
    """Write Position IDs, one per line."""
    from bgdata.formats.position_list import format_position_list

    write_bytes(output, format_position_list(arrays["boards"]))


def write_benchmark(arrays: Arrays, output: Path) -> None:
    """Write a gnubg benchmark file: an imported one as it was, or decisions that were rolled out here."""
    from bgdata.formats.gnubg_benchmark import format_gnubg_benchmark
    from bgdata.imports.kinds import gnubg_benchmark_compute as gnubg_benchmark
    from bgdata.measures.kinds.shared import decision_file

    is_imported = "decisions_lines" in arrays
    benchmark_of = gnubg_benchmark.benchmark_of if is_imported else decision_file.benchmark_of
    write_bytes(output, format_gnubg_benchmark(benchmark_of(arrays)))


def write_matches(arrays: Arrays, output: Path) -> None:
    """Write all matches in the Jellyfish format (.mat), one after another."""
    from bgdata.matches.kinds.matches_compute import matches_of
    from bgdata.selfplay.kinds.selfplay_compute import match_arrays

    arrays = arrays if "games" in arrays else match_arrays(arrays)
    write_bytes(output, (line for match in matches_of(arrays) for line in format_mat(match)))


FORMATS: dict[str, tuple[tuple[str, ...], Callable[[Arrays, Path], None]]] = {  # arrays that it needs, writer
    "gnubg-training": (("boards", "chances"), write_training),
    "gnubg-benchmark": (("decisions_boards", "plays_boards"), write_benchmark),
    "wildbg-csv": (("boards", "chances"), write_wildbg),
    "bgsage-rollouts": (("boards", "chances"), write_bgsage),
    "position-list": (("boards",), write_positions),
    "mat": (("turn_moves", "players"), write_matches),
}
