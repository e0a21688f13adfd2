"""The command line: one short function per command. Heavy imports wait until a command needs them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from bgdata import cli_bearoff, cli_claims, cli_corpora, cli_housekeeping, cli_met, cli_players
from bgdata.commands import report
from bgdata.commands.completion import (
    complete_computed,
    complete_explained,
    complete_imported,
    complete_kinds,
    complete_tables,
)
from bgdata.commands.grammar import Commands, give_warehouse
from bgdata.commands.options import (
    OUTPUT,
    executor_option,
    force_option,
    format_option,
    gnubg_option,
    output_option,
    seed_option,
    threads_option,
    yes_option,
)
from bgdata.commands.train import train
from bgdata.datasets import all_kinds
from bgdata.errors import UsageError, shown
from bgdata.store.dataset import Dataset
from bgdata.store.parameters import Parameters
from bgdata.warehouse import Warehouse

TEXT_FORMATS = ["gnubg-training", "gnubg-benchmark", "wildbg-csv", "bgsage-rollouts", "position-list", "mat"]
COMPUTED = [kind for kind in all_kinds().values() if kind.defaults]
SIZED = [kind for kind in COMPUTED if all(isinstance(value, int) for value in vars(kind.smallest).values())]
PARAMETER_NAMES = sorted({name for kind in SIZED for name in kind.parameters.names()})
SECTIONS = {
    "tables": ("list", "explain", "query", "build", "rebuild", "verify", "diff", "export"),
    "positions": ("show", "eval", "hint", "cube", "rollout", "probe"),
    "players": ("play", "score", "benchmark", "referee", "luck"),
    "corpora": ("import", "fetch", "selfplay", "label", "rescore", "decisions"),
    "training": ("train",),
    "studies": ("met", "cube-life", "study", "claims"),
    "housekeeping": ("use", "rm", "gc", "lock", "catalog", "completion"),
}


@click.group(
    name="bgdata", cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.option("--debug", is_flag=True, help="Show tracebacks.")
@click.version_option(package_name="bgdata", help="Show the version and exit.")
def main(debug: bool) -> None:
    """Build, prove and query backgammon databases, and play by them.

    \b
      bgdata build                                     the default tables: five minutes
      bgdata hint 4HPwATDgc/ABMA 31                    the best plays of a roll
      bgdata query "from bearoff_two_sided limit 5"    anything else, in SQL

    A POSITION is a Position ID, gnubg ID, XGID, 20-letter key, 26 integers or start. Data go to standard output, all
    else to standard error. Exit codes: 0 done, 1 failed or found to differ, 2 wrong usage, 130 interrupted.
    """


main.sections = SECTIONS


def parameter_options(function: Callable[..., None]) -> Callable[..., None]:
    """One option for each number that a default kind has, and one for all parameters."""
    function = click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="NAME=VALUE",
        help="A parameter of the kind, such as games=500; can be given several times.",
    )(function)
    for name in reversed(PARAMETER_NAMES):
        function = click.option(f"--{name.replace('_', '-')}", name, type=int, metavar="N", help=f"Number of {name}.")(
            function
        )
    return function


def chosen(
    warehouse: Warehouse, kind: Dataset[Any], options: dict[str, int | None], settings: tuple[str, ...]
) -> Parameters:
    """The default parameters with the given ones changed; without any, the smallest where there is no default. Raises
    InvalidParameterError."""
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    base: Parameters = (*kind.defaults, kind.parameters() if settings else kind.smallest)[0]
    for text in settings:
        name, sign, value = text.partition("=")
        if not sign:
            raise UsageError(f"expected NAME=VALUE, got {shown(text)}")
        given[name] = base.parse(name, value)
    parameters: Parameters = kind.completed(base.with_changes(given), warehouse)
    return parameters


@main.command(name="list")
@format_option
@click.pass_obj
def list_(warehouse: Warehouse, form: str) -> None:
    """List the kinds of dataset, and the versions that are there."""
    report.print_kinds(warehouse, form)


@main.command()
@click.argument("name", shell_complete=complete_explained)
@parameter_options
@format_option
@click.pass_obj
def explain(warehouse: Warehouse, /, name: str, form: str, settings: tuple[str, ...], **options: int | None) -> None:
    """Explain a kind, table, view or macro of SQL.

    NAME is a kind of dataset: columns with units and meanings, arrays, parameters, checks, and what a build with the
    given parameters would need. Or it is a table, view or macro of the catalog: columns or parameters, and where it
    comes from.

    \b
      bgdata explain bearoff_two_sided --points 6 --checkers 9
      bgdata explain cube_decisions
      bgdata explain best_cube_action
    """
    from bgdata.commands.explain import print_explanation, print_kind

    if name in warehouse.kinds:
        declared = warehouse.kinds[name]
        print_kind(declared, chosen(warehouse, declared, options, settings), form)
        return
    if settings or any(value is not None for value in options.values()):
        raise UsageError(f"expected a kind of dataset before its parameters, got {shown(name)}; see: bgdata list")
    print_explanation(warehouse, name, form)


@main.command()
@click.argument("kind", required=False, shell_complete=complete_computed)
@parameter_options
@threads_option
@executor_option
@force_option
@yes_option
@click.pass_obj
def build(
    warehouse: Warehouse,
    /,
    kind: str | None,
    threads: int | None,
    executor: str,
    force: bool,
    yes: bool,
    settings: tuple[str, ...],
    **options: int | None,
) -> None:
    """Build a variant of a KIND, or the whole default warehouse.

    KIND is a kind of dataset (see: bgdata list), whose default variants are built unless parameters are given. A build
    that needs gigabytes says so and asks first.

    \b
      bgdata build
      bgdata build bearoff_two_sided --points 7 --checkers 5
      bgdata build play_sample --set games=500 --set seed=3 --set "classes=contact crashed"
    """
    from bgdata.kernel import threads as run_on
    from bgdata.store.executors import open_executor

    given = bool(settings) or any(value is not None for value in options.values())
    if kind is None and given:
        raise UsageError("expected a dataset kind before its parameters; try: bgdata list")
    kinds = [warehouse.kind(kind)] if kind else list(warehouse.kinds.values())
    if kind and not kinds[0].defaults and (not given or kinds[0].takes_files):
        hint = f"try: bgdata import {kind} FILE..." if kinds[0].takes_files else "see: bgdata --help"
        raise UsageError(f"expected a kind that is computed by itself, got {kind}; {hint}")
    wanted = [(k, p) for k in kinds for p in ([chosen(warehouse, k, options, settings)] if given else k.defaults)]
    for declared, parameters in wanted:
        declared.check_parameters(parameters)
        report.confirm_large(warehouse, declared, parameters, yes=yes)
    with open_executor(executor) as workers, report.progress_bars() as progress, run_on(threads):
        for declared, parameters in wanted:
            warehouse.build(declared.name, parameters, progress=progress, force=force, executor=workers)


@main.command(name="import")
@click.argument("kind", shell_complete=complete_imported)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--name", metavar="NAME", help="What to call the variant.  [default: the names of the files]")
@click.option("--strict", is_flag=True, help="Fail at a line that breaks a rule instead of setting it aside.")
@force_option
@format_option
@click.pass_obj
def import_(
    warehouse: Warehouse, /, kind: str, files: tuple[Path, ...], name: str | None, strict: bool, force: bool, form: str
) -> None:
    """Import FILES of other programs as one variant of a KIND.

    KIND is gnubg_training, gnubg_benchmark, wildbg_training, bgsage_rollouts, positions, matches or met_xml; FILES may
    be packed with gzip or bzip2.

    Lines that break a rule go to the table `quarantine`. A file of which no line gives a row is not imported.

    \b
    The variant is called by its files, without their endings, several joined by -and-:
      bgdata import positions My_list.csv.gz          positions/my-list
      bgdata import positions a.csv b.csv             positions/a-and-b
      bgdata import positions --name wild *.csv       positions/wild

    Variants stand side by side in SQL and in the feed of training. Another file of the same name is a new version of
    its variant, and replaces the one before until `bgdata use` goes back.
    """
    from bgdata.commands.imports import import_files, print_report

    print_report(import_files(warehouse, kind, files, name, strict=strict, force=force), form)


@main.command()
@click.argument("source", type=click.Choice(["gnubg"]), metavar="SOURCE")
@click.argument("names", nargs=-1)
@click.option("--address", metavar="URL", help="A mirror that has the files side by side.  [default: the publisher's]")
@click.pass_obj
def fetch(warehouse: Warehouse, source: str, names: tuple[str, ...], address: str | None) -> None:  # noqa: ARG001
    """Download the files that a SOURCE publishes.

    SOURCE is gnubg, its training data and benchmarks; NAMES are those of its files, all of them without any. Each is
    checked against its known hash. Stopped at any moment, the same command goes on.

    \b
      bgdata fetch gnubg
      bgdata fetch gnubg contact.bm.bz2
    """
    from bgdata.commands import fetch as fetching

    files = fetching.published_files(address)
    known = [file.name for file in files]
    for name in names:
        if name not in known:
            raise UsageError(f"expected a file among {', '.join(known)}, got {shown(name)}")
    fetching.fetch(warehouse, [file for file in files if not names or file.name in names])


@main.command()
@click.argument("position")
@click.option("--roll", metavar="DICE", help="A roll such as 31, to list its plays.  [default: as the position says]")
@click.option("--play", metavar="MOVES", help="A play such as '8/5 6/5': the position after it, and arrows in the SVG.")
@click.option("--svg", type=OUTPUT, metavar="FILE", help="Draw the board into an SVG file.")
@format_option
def show(position: str, roll: str | None, play: str | None, svg: Path | None, form: str) -> None:
    """Draw a POSITION and name it in every format.

    POSITION is a Position ID, gnubg ID, XGID, 20-letter key, 26 integers or start.

    \b
      bgdata show 4HPwATDgc/ABMA
      bgdata show 4HPwATDgc/ABMA --roll 31 --svg opening.svg
    """
    from bgdata.commands.show import show_position

    show_position(position, roll, play, svg, form)


@main.command()
@click.argument("sql", required=False)
@click.option("--file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="A file with the query.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "json", "parquet"]),
    default="table",
    show_default=True,
    help="Form of what is printed.",
)
@output_option("standard output")
@gnubg_option
@click.option("--allow-files", is_flag=True, help="Allow any statements, which may read and write any files.")
@click.option(
    "--seconds",
    default=600.0,
    show_default=True,
    type=click.FloatRange(0.01, 86_400),
    metavar="S",
    help="Stop after so long.",
)
@click.option("--memory", type=click.FloatRange(0.1, 65_536), metavar="GB", help="Most memory.  [default: half of all]")
@click.pass_obj
def query(
    warehouse: Warehouse,
    sql: str | None,
    file: Path | None,
    form: str,
    output: Path | None,
    gnubg_files: tuple[Path, ...],
    allow_files: bool,
    seconds: float,
    memory: float | None,
) -> None:
    """Run one SQL query on the tables.

    SQL is a query in DuckDB's words; - reads it from standard input. It can read the tables of the warehouse and
    nothing else, unless --allow-files. A gnubg file given with --bd is a view named like the file: gnubg_ts0.bd is
    gnubg_ts0. In JSON, what is no number is null; parquet needs --output.

    \b
      bgdata query "select * from versions" --format csv
      bgdata query "from match_equity where away = 3" --format parquet --output three.parquet
    """
    from bgdata.commands.query import query_text, run_query
    from bgdata.store.locked_sql import Limits

    limits = Limits(seconds, round((memory or 0) * 1e9))
    text = query_text(sql, file)
    run_query(warehouse, text, form, output, gnubg_files, allow_files=allow_files, limits=limits)


@main.command()
@click.argument("kind", required=False, shell_complete=complete_kinds)
@click.option(
    "--sample",
    type=click.IntRange(0),
    metavar="ROWS",
    help="Rows of each table to recompute.  [default: all where that takes seconds, else what the kind says]",
)
@seed_option(0)
@click.option("--repair", is_flag=True, help="Build the versions that fail anew.")
@format_option
@click.pass_obj
def verify(warehouse: Warehouse, kind: str | None, sample: int | None, seed: int, repair: bool, form: str) -> None:
    """Prove the warehouse: hashes, values, checks, samples.

    KIND is a kind of dataset, all of them without one. Every version is hashed, its values are compared with its
    digest, every SQL check is run on all rows, and whole tables or samples of their rows are computed again. Says for
    each version what was recomputed and what that finds, and what was skipped and why. Exit code 1 if anything fails.

    \b
      bgdata verify
      bgdata verify match_equity --sample 100 --seed 7
    """
    from bgdata.commands.prove import verify_warehouse

    warehouse.require()
    if not verify_warehouse(warehouse, kind, sample, seed, form, repair=repair):
        sys.exit(1)


@main.command()
@click.argument("kind", required=False, shell_complete=complete_computed)
@click.option(
    "--check", is_flag=True, help="Build aside and compare with warehouse.lock; the warehouse is not touched."
)
@click.option("--all", "is_all", is_flag=True, help="Compute also what comes with the package, which may take hours.")
@threads_option
@format_option
@click.pass_obj
def rebuild(warehouse: Warehouse, kind: str | None, check: bool, is_all: bool, threads: int | None, form: str) -> None:
    """Build the default tables again, and compare.

    KIND is a kind of dataset, all of them without one. With --check this proves that digests come out the same: exit
    code 1 if any differs. Of versions that come with the package only the hashes are compared, unless --all is given.

    \b
      bgdata rebuild --check
      bgdata rebuild bearoff_gammon
    """
    from bgdata.commands.prove import rebuild_and_compare, rebuild_in_place
    from bgdata.kernel import threads as run_on

    with run_on(threads):
        if check and not rebuild_and_compare(warehouse, kind, form, is_all=is_all):
            sys.exit(1)
        if not check:
            rebuild_in_place(warehouse, kind, is_all=is_all)


@main.command()
@click.argument("before", required=False, shell_complete=complete_tables)
@click.argument("after", required=False, shell_complete=complete_tables)
@format_option
@click.pass_obj
def diff(warehouse: Warehouse, before: str | None, after: str | None, form: str) -> None:
    """Compare two tables, or the warehouse with its lock.

    BEFORE and AFTER are KIND/VARIANT, KIND/VARIANT/VERSION, or a gnubg .bd file; without them the warehouse is compared
    with warehouse.lock. Exit code 1 when they differ.

    \b
      bgdata diff
      bgdata diff bearoff_two_sided/6x6 gnubg_ts0.bd
    """
    from bgdata.commands.compare import compare_tables, compare_with_lock

    if before is not None and after is None:
        raise UsageError(f"expected two tables to compare, got one: {shown(before)}")
    same = compare_tables(warehouse, before, after, form) if before and after else compare_with_lock(warehouse, form)
    if not same:
        sys.exit(1)


@main.command()
@click.pass_obj
def lock(warehouse: Warehouse) -> None:
    """Write warehouse.lock from what is built.

    It lists the digest of every default variant, which `bgdata rebuild --check` and `bgdata diff` compare with.
    """
    from bgdata.commands.prove import write_lock

    write_lock(warehouse)


@main.command()
@click.pass_obj
def catalog(warehouse: Warehouse) -> None:
    """Write the SQL catalog anew, for instance after a move.

    It is catalog.duckdb in the warehouse, which any DuckDB client opens.
    """
    from bgdata.store.catalog import write_catalog

    warehouse.require()
    write_catalog(warehouse)
    click.echo(f"wrote {warehouse.catalog}")


main.add_command(train)


@main.group()
def export() -> None:
    """Write tables in other programs' formats."""


@export.command(name="gnubg-bd")
@click.option("--one-sided", type=click.IntRange(1, 18), metavar="POINTS", help="A one-sided file (makebearoff -o).")
@click.option("--two-sided", metavar="POINTSxCHECKERS", help="A two-sided file (makebearoff -t).")
@output_option(required=True)
@click.option("-g", "--no-gammons", is_flag=True, help="One-sided without gammon distributions (-g).")
@click.option("-c", "--uncompressed", is_flag=True, help="One-sided without compression (-c).")
@click.option("-n", "--normal", is_flag=True, help="One-sided as normal distributions (-n).")
@click.option("-C", "--cubeless", is_flag=True, help="Two-sided with cubeless equities only (-C).")
@threads_option
def gnubg_bd(threads: int | None, **options: Any) -> None:
    """Write a bearoff database as gnubg's makebearoff does.

    The files are the same byte for byte.

    \b
      bgdata export gnubg-bd --two-sided 6x6 -o gnubg_ts0.bd
      bgdata export gnubg-bd --one-sided 6 -o gnubg_os0.bd
    """
    from bgdata.commands.export import write_gnubg_bearoff
    from bgdata.kernel import threads as run_on

    with run_on(threads):
        click.echo(write_gnubg_bearoff(**options))


@export.command(name="table")
@click.argument("table", shell_complete=complete_tables)
@click.option(
    "--format",
    "form",
    type=click.Choice(["csv", "json", "parquet"]),
    default="parquet",
    show_default=True,
    help="Form of the file.",
)
@output_option(required=True)
@click.pass_obj
def export_table(warehouse: Warehouse, table: str, form: str, output: Path) -> None:
    """Write a table with the columns that SQL shows.

    TABLE is KIND/VARIANT, or KIND/VARIANT/VERSION.

    \b
      bgdata export table bearoff_two_sided/6x6 -o two_sided.parquet
      bgdata export table match_equity/published-12 --format csv -o published.csv
    """
    from bgdata.commands.query import export_version

    export_version(warehouse, table, form, output)


@export.command(name="text")
@click.argument("table", shell_complete=complete_tables)
@click.option("--format", "form", required=True, type=click.Choice(TEXT_FORMATS), help="Form of the file.")
@output_option(required=True)
@click.pass_obj
def export_text(warehouse: Warehouse, table: str, form: str, output: Path) -> None:
    """Write positions, benchmarks or matches for other programs.

    TABLE is KIND/VARIANT, or KIND/VARIANT/VERSION. A file that ends in .gz or .bz2 is packed.

    \b
      bgdata export text selfplay/network-500-seed-2-luck --format mat -o games.mat
    """
    from bgdata.commands.export_text import write_text

    click.echo(write_text(warehouse.open_reference(table), form, output))


export.add_command(cli_met.export)
for module in (cli_players, cli_bearoff, cli_corpora, cli_met, cli_claims, cli_housekeeping):
    for command in module.COMMANDS:
        main.add_command(command)
give_warehouse(main)


if __name__ == "__main__":
    main()
