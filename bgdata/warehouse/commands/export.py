"""`bgdata export`: tables in other programs' formats."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from bgdata.bearoff.index import check_size
from bgdata.cli.completion import complete_mets, complete_networks, complete_tables
from bgdata.cli.options import output_option, threads_option
from bgdata.cli.output import build_version
from bgdata.equity.commands import export_met
from bgdata.errors import UsageError, cite
from bgdata.formats.gnubg_bearoff import write_one_sided, write_one_sided_normal, write_two_sided
from bgdata.formats.lines import write_bytes
from bgdata.formats.mat import format_mat
from bgdata.store.plan import readable_bytes
from bgdata.store.progress import progress_bars
from bgdata.store.storage import sha256_file
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse

if TYPE_CHECKING:
    from bgdata.bearoff.tables import TwoSidedTable
    from bgdata.evaluation.networks.inference import Networks

FORMATS: dict[str, set[str]] = {  # text formats, with the arrays that each format needs
    "gnubg-training": {"boards", "chances"},
    "gnubg-benchmark": {"decisions_boards", "plays_boards"},
    "wildbg-csv": {"boards", "chances"},
    "bgsage-rollouts": {"boards", "chances"},
    "position-list": {"boards"},
    "mat": {"turn_moves", "players"},
}


@click.group()
def export() -> None:
    """Write tables in other programs' formats."""


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
    from bgdata.endgames.kinds.contact_endgame import EndgameParameters
    from bgdata.formats.gnubg_bearoff import HYPERGAMMON_EQUITIES, write_hypergammon

    output: Path = options["output"]
    if hypergammon is None:
        write_gnubg_bearoff(**options)
    else:
        if any(value for name, value in options.items() if name != "output"):
            raise UsageError("expected --hypergammon without another option than --output")
        table = build_version(warehouse, warehouse.kind("hypergammon"), EndgameParameters(hypergammon))
        equities = table.array("equities")[:, :, HYPERGAMMON_EQUITIES]
        write_hypergammon(output, hypergammon, table.array("chances"), equities)
    click.echo(describe_file(output, with_hash=True))


@export.command(name="parquet")
@click.argument("table", shell_complete=complete_tables)
@click.option(
    "--into",
    "folder",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder to write the parts into; those that are there already are left as they are.",
)
@click.pass_obj
def export_parquet(warehouse: Warehouse, table: str, folder: Path) -> None:
    """Write a two-sided bearoff table as Parquet in parts.

    TABLE is bearoff_two_sided/VARIANT, or bearoff_two_sided/VARIANT/VERSION: tables that are too large for a Parquet
    file of their own, too. There is a folder for each number of checkers of the player on roll, as Hive lays them out,
    and any reader of Parquet reads them as one table. A stopped command continues after the parts that it has written.

    \b
      bgdata export parquet bearoff_two_sided/6x15 --into two_sided
    """
    from bgdata.bearoff.kinds.shared.two_sided_parquet import parts_of, write_parts
    from bgdata.bearoff.tables import TwoSidedTable

    found = two_sided_version(warehouse, table)
    opened = TwoSidedTable(found)
    with progress_bars() as progress:
        count = write_parts(opened, folder, progress)
    paths = [folder / part.path for part in parts_of(opened.points, opened.checkers)]
    size = readable_bytes(sum(path.stat().st_size for path in paths))
    click.echo(f"wrote {count:,} of {len(paths):,} parts of {found.name} into {folder}: {len(opened):,} rows, {size}")


@export.command(name="text")
@click.argument("table", shell_complete=complete_tables)
@click.option("--format", "form", required=True, type=click.Choice(list(FORMATS)), help="Format of the file.")
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
    from bgdata.bearoff.tables import TwoSidedTable

    write_bytes(output, letter_rows(TwoSidedTable(two_sided_version(warehouse, table))))
    click.echo(describe_file(output))


def letter_rows(table: TwoSidedTable) -> Iterator[bytes]:
    """Yield a two-sided table as text, one block of lines for each layout of the player on roll. In a line, letters
    give the checkers on each point (A: none, B: one), first of the player on roll, then of the opponent, each from the
    ace point on. A comma and the equity with six significant digits follow. Source: Computational Backgammon, "Bearoff
    database created" (2011), where the table of 6 points and 9 checkers has 557 MB."""
    from bgdata.bearoff.layouts import all_layouts

    layouts = all_layouts(table.points, table.checkers)
    keys = [bytes(row) for row in (layouts + ord("A")).astype(np.uint8)]
    for key, row in zip(keys, table.stored, strict=True):
        equities = table.decode(row[:, 0])
        yield b"".join(
            b"%s%s,%.6g\n" % (key, other, equity) for other, equity in zip(keys, equities.tolist(), strict=True)
        )


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
    from bgdata.formats.onnx.write import onnx_bytes

    write_network(warehouse, network, output, onnx_bytes)


@export.command(name="torch")
@click.argument("network", default="", shell_complete=complete_networks)
@output_option(required=True)
@click.pass_obj
def export_torch(warehouse: Warehouse, network: str, output: Path) -> None:
    """Write a NETWORK as a program of PyTorch.

    NETWORK is as for `bgdata export onnx`, and the program has the same inputs, outputs and parts. `torch.export.load`
    reads it. On a processor its answers are those of bgdata without tables, to the last bit. Needs the extra `torch`,
    and some seconds.

    \b
      bgdata export torch -o network.pt2
      bgdata export torch mine -o mine.pt2
    """
    from bgdata.formats.onnx.torch_program import torch_bytes

    write_network(warehouse, network, output, torch_bytes)


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


def describe_file(output: Path, *, with_hash: bool = False) -> str:
    """Return a line that tells the user the path and size of a written file, and its SHA-256 if `with_hash` is true."""
    digest = f", SHA-256 {sha256_file(output)}" if with_hash else ""
    return f"wrote {output}: {output.stat().st_size:,} bytes{digest}"


def two_sided_version(warehouse: Warehouse, reference: str) -> Table:
    """Open a version of `bearoff_two_sided`. Raises UsageError if `reference` names another kind, and MissingTableError
    if there is no such version."""
    table = warehouse.open_reference(reference)
    if table.manifest.dataset != "bearoff_two_sided":
        raise UsageError(f"expected a version of bearoff_two_sided, got {table.name}")
    return table


def write_network(
    warehouse: Warehouse, network: str, output: Path, as_bytes: Callable[[Networks, dict[str, str]], bytes]
) -> None:
    """Write a network to a file, as the bytes that `as_bytes` returns for it, and tell the user. Raises
    UnknownPlayerError or MissingTableError if there is no such network, CorruptFileError if it is damaged,
    MissingExtraError if a package is not installed, and StorageError if the file cannot be written."""
    from bgdata.evaluation.networks.player import find_network, open_networks
    from bgdata.evaluation.players import NETWORK
    from bgdata.formats.onnx.network import properties_of

    table = find_network(f"{NETWORK}/{network}" if network else NETWORK, warehouse)
    write_bytes(output, [as_bytes(open_networks(table), properties_of(table))])
    click.echo(describe_file(output, with_hash=True))


def write_gnubg_bearoff(
    one_sided: int | None,
    two_sided: str | None,
    output: Path,
    *,
    no_gammons: bool = False,
    uncompressed: bool = False,
    normal: bool = False,
    cubeless: bool = False,
) -> None:
    """Write the bearoff file that gnubg's `makebearoff -o POINTS` (`one_sided`) or `makebearoff -t POINTSxCHECKERS`
    (`two_sided`) would write. The other options are those of makebearoff. Raises UsageError if options do not fit
    together, and StorageError if the file cannot be written."""
    from bgdata.bearoff.race import normal_moments, one_sided_counts
    from bgdata.bearoff.two_sided import two_sided_codes

    if (one_sided is None) == (two_sided is None):
        raise UsageError("expected one of --one-sided POINTS, --two-sided POINTSxCHECKERS and --hypergammon CHECKERS")
    if two_sided is not None:
        if no_gammons or uncompressed or normal:
            raise UsageError("expected -g, -c and -n with --one-sided only")
        size = re.fullmatch(r"(\d+)x(\d+)", two_sided)
        if size is None:
            raise UsageError(f"expected POINTSxCHECKERS such as 6x6, got {cite(two_sided)}")
        points, checkers = map(int, size.groups())
        check_size(points, checkers)
        write_two_sided(output, points, checkers, two_sided_codes(points, checkers, is_cubeless=cubeless))
    elif one_sided is not None:
        if cubeless:
            raise UsageError("expected -C with --two-sided only")
        if normal:
            write_one_sided_normal(output, one_sided, normal_moments(one_sided))
            return
        counts = one_sided_counts(one_sided)
        gammons = None if no_gammons else one_sided_counts(one_sided, is_gammon=True)
        write_one_sided(output, one_sided, counts, gammons, compressed=not uncompressed)


def write_text(table: Table, form: str, output: Path) -> str:
    """Write a version as a text file in the format `form`. Returns a line about the file, for the user. Raises
    UsageError if the table lacks what the format needs, and StorageError if the file cannot be written."""
    arrays = table.arrays()
    if not FORMATS[form] <= set(arrays):
        able = [name for name, needed in FORMATS.items() if needed <= set(arrays)]
        raise UsageError(f"expected a format for {table.name} among {', '.join(able) or 'none'}, got {form}")
    write_bytes(output, (line for part in table.parts for line in _text_lines(form, part)))
    return describe_file(output)


def _text_lines(form: str, part: Table) -> Iterable[bytes]:
    """Return the lines of text, in the format `form`, of a version or of a part of one."""
    arrays, goes_on = part.arrays(), bool(part.items and part.items.start)
    if form == "gnubg-training":
        from bgdata.formats.position_files import format_gnubg_training
        from bgdata.kinds.column_values import text_column

        # without this, rows of a second file that has no comment would come under the comment of the first file
        index = np.maximum.accumulate(arrays["comment_index"]) if "comment_index" in arrays else None
        comments = text_column(arrays, "comments").to_pylist() if index is not None else []
        if goes_on and index is not None:  # the part before contains the first comment
            index, comments = np.maximum(index - 1, -1), comments[1:]
        return format_gnubg_training(arrays["boards"], arrays["chances"], comment_index=index, comments=comments)
    if form == "gnubg-benchmark":
        from bgdata.formats.gnubg_benchmark import format_gnubg_benchmark
        from bgdata.imports.kinds import gnubg_benchmark_compute as gnubg_benchmark
        from bgdata.measures.kinds import rollout_decisions_compute as rollout_decisions

        is_imported = "decisions_lines" in arrays  # otherwise the decisions were rolled out by bgdata
        benchmark_of = gnubg_benchmark.benchmark_of if is_imported else rollout_decisions.benchmark_of
        return format_gnubg_benchmark(benchmark_of(arrays))
    if form == "wildbg-csv":
        from bgdata.formats.position_files import format_wildbg_csv

        return islice(format_wildbg_csv(arrays["boards"], arrays["chances"]), int(goes_on), None)  # one heading
    if form == "bgsage-rollouts":  # positions after the play, with chances of the player who made it
        from bgdata.formats.position_files import format_bgsage_rollouts
        from bgdata.game.codec import flip_boards
        from bgdata.imports.kinds.positions_compute import flipped_chances

        written = arrays.get("chances_after_play")  # the chances as imported
        chances = np.asarray(written) if written is not None else flipped_chances(arrays["chances"].astype(np.float64))
        return format_bgsage_rollouts(flip_boards(arrays["boards"]), chances)
    if form == "position-list":
        from bgdata.formats.position_files import format_position_list

        return format_position_list(arrays["boards"])
    from bgdata.matches.kinds.matches_compute import matches_of
    from bgdata.selfplay.kinds.selfplay_compute import match_arrays

    matches = matches_of(arrays if "games" in arrays else match_arrays(arrays))
    return (line for match in matches for line in format_mat(match))
