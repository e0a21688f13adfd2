"""The command line: one short function per command. Heavy imports wait until a command needs them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import click

from bgdata import cli_bearoff, cli_claims, cli_corpora, cli_housekeeping, cli_met, cli_players
from bgdata.commands import report
from bgdata.commands.options import executor_option, gnubg_option, threads_option
from bgdata.commands.train import train
from bgdata.datasets import all_kinds
from bgdata.errors import BgdataError, UsageError
from bgdata.process import BROKEN_PIPE, forget, is_stopping, say_stopped
from bgdata.store.dataset import Dataset, Parameters
from bgdata.store.warehouse import Warehouse

TEXT_FORMATS = ["gnubg-training", "gnubg-benchmark", "wildbg-csv", "bgsage-rollouts", "position-list", "mat"]
OUTPUT = click.Path(path_type=Path, dir_okay=False)
COMPUTED = [kind for kind in all_kinds().values() if kind.defaults]
SIZED = [kind for kind in COMPUTED if all(isinstance(value, int) for value in vars(kind.smallest).values())]
PARAMETER_NAMES = sorted({name for kind in SIZED for name in kind.parameters.names()})


class Commands(click.Group):
    """Prints expected errors as one line: exit code 2 for wrong usage, 1 for failure, 130 when interrupted, 141 when
    nobody reads the output."""

    def main(self, *arguments: Any, **options: Any) -> Any:
        forget()
        try:
            return super().main(*arguments, **options)
        except SystemExit:
            if type(sys.stdout).__name__.endswith("PacifyFlushWrapper"):  # so does Click end where a pipe breaks
                sys.exit(BROKEN_PIPE)
            raise

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except BaseException as error:
            if is_stopping(error):
                sys.exit(say_stopped())
            if isinstance(error, BgdataError) and not context.params.get("debug"):
                fail(str(error), 2 if isinstance(error, UsageError) else 1)
            raise


def fail(message: str, code: int) -> NoReturn:
    """Print an error and exit."""
    click.echo(f"error: {message}", err=True)
    sys.exit(code)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option(
    "--warehouse", "root", default="warehouse", show_default=True, metavar="DIR", help="Folder of the tables."
)
@click.option("--debug", is_flag=True, help="Show tracebacks.")
@click.version_option(package_name="bgdata")
@click.pass_context
def main(context: click.Context, root: str, debug: bool) -> None:  # noqa: ARG001
    """Backgammon databases you can rebuild, prove and query."""
    context.obj = Warehouse(root, all_kinds())
    context.obj.mend_catalog()


def parameter_options(function: Callable[..., None]) -> Callable[..., None]:
    """One option for each number that a default kind has, and one for all parameters."""
    function = click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="NAME=VALUE",
        help="Any parameter of the kind, such as games=500; can be given several times.",
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
    given: dict[str, int | float | str] = {name: value for name, value in options.items() if value is not None}
    base: Parameters = (*kind.defaults, kind.parameters() if settings else kind.smallest)[0]
    for text in settings:
        name, sign, value = text.partition("=")
        if not sign:
            raise UsageError(f"expected NAME=VALUE, got {text}")
        given[name] = number_or_text(name, value, vars(base).get(name))
    parameters: Parameters = kind.completed(base.with_changes(given), warehouse)
    return parameters


def number_or_text(name: str, value: str, default: object) -> int | float | str:
    """What a parameter with this default takes. Raises UsageError for a text where it takes a number."""
    if not isinstance(default, int | float):
        return value
    try:
        return type(default)(value)
    except ValueError:
        raise UsageError(f"expected a number for {name}, got {value}") from None


@main.command(name="list", short_help="List the kinds of dataset, and the versions that are there.")
@click.pass_obj
def list_(warehouse: Warehouse) -> None:
    """List the dataset kinds and the versions in the warehouse."""
    report.print_kinds(warehouse)


@main.command(short_help="Explain a KIND: columns, parameters, checks, size.")
@click.argument("kind")
@parameter_options
@click.pass_obj
def explain(warehouse: Warehouse, /, kind: str, settings: tuple[str, ...], **options: int | None) -> None:
    """Explain a dataset KIND: columns, arrays, parameters, checks, and what a build would need."""
    declared = warehouse.kind(kind)
    report.print_kind(declared, chosen(warehouse, declared, options, settings))


@main.command(short_help="Build a KIND, or the whole default warehouse.")
@click.argument("kind", required=False)
@parameter_options
@threads_option
@executor_option
@click.option("--force", is_flag=True, help="Build anew even what is there.")
@click.option("--yes", is_flag=True, help="Do not ask before a large build.")
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
    """Build a dataset KIND with the given parameters, or the whole default warehouse.

    \b
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


@main.command(name="import", short_help="Import FILES of other programs as a KIND.")
@click.argument("kind")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--name", metavar="NAME", help="What to call the variant.  [default: the names of the files]")
@click.option("--strict", is_flag=True, help="Fail at a line that breaks a rule instead of setting it aside.")
@click.option("--force", is_flag=True, help="Import again even what is there.")
@click.pass_obj
def import_(
    warehouse: Warehouse, /, kind: str, files: tuple[Path, ...], name: str | None, strict: bool, force: bool
) -> None:
    """Import FILES of other programs as one variant of a dataset KIND.

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

    print_report(import_files(warehouse, kind, files, name, strict=strict, force=force).manifest)


@main.command(short_help="Download files that a SOURCE publishes.")
@click.argument("source", type=click.Choice(["gnubg"]))
@click.argument("names", nargs=-1)
@click.option("--address", metavar="URL", help="A mirror that has the files side by side.")
@click.pass_obj
def fetch(warehouse: Warehouse, source: str, names: tuple[str, ...], address: str | None) -> None:  # noqa: ARG001
    """Download the files that a SOURCE publishes, all or those with the given NAMES; goes on where it stopped."""
    from bgdata.commands import fetch as fetching

    files = fetching.published_files(address)
    known = [file.name for file in files]
    for name in names:
        if name not in known:
            raise UsageError(f"expected a file among {', '.join(known)}, got {name}")
    fetching.fetch(warehouse, [file for file in files if not names or file.name in names])


@main.command()
@click.argument("position")
@click.option("--roll", metavar="DICE", help="A roll such as 31, to list its plays.")
@click.option("--svg", type=OUTPUT, help="Draw the board into an SVG file.")
def show(position: str, roll: str | None, svg: Path | None) -> None:
    """Draw a POSITION and name it in every format.

    POSITION is a Position ID, gnubg ID, 20-letter key, XGID or 26 integers.
    """
    from bgdata.commands.show import show_position

    show_position(position, roll, svg)


@main.command(short_help="Run one SQL query on the tables.")
@click.argument("sql", required=False)
@click.option("--file", type=click.Path(path_type=Path, dir_okay=False), help="Read the query from a file.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "json", "parquet"]),
    default="table",
    show_default=True,
    help="Form of the rows.",
)
@click.option("-o", "--output", type=OUTPUT, help="Write to a file (needed for parquet).")
@gnubg_option
@click.option("--allow-files", is_flag=True, help="Any statements, which may read and write any files.")
@click.option(
    "--seconds", default=600.0, show_default=True, type=click.FloatRange(0.01), metavar="S", help="Stop after so long."
)
@click.option("--memory", type=click.FloatRange(0.1), metavar="GB", help="Most memory.  [default: half of all]")
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
    """Run one SQL query on the catalog; SQL - reads it from standard input.

    It can read the tables of the warehouse and nothing else, unless --allow-files. A gnubg file given with --bd is a
    view named like the file: gnubg_ts0.bd is gnubg_ts0. In JSON, what is no number is null.
    """
    from bgdata.commands.query import query_text, run_query
    from bgdata.store.locked_sql import Limits

    limits = Limits(seconds, round((memory or 0) * 1e9))
    text = query_text(sql, file)
    run_query(warehouse, text, form, output, gnubg_files, allow_files=allow_files, limits=limits)


@main.command(short_help="Prove the warehouse: hashes, values, checks, samples.")
@click.argument("kind", required=False)
@click.option(
    "--sample",
    type=click.IntRange(0),
    metavar="ROWS",
    help="Rows of each table to recompute. Default: whole tables where that takes seconds, else what the kind says.",
)
@click.option("--seed", default=0, show_default=True, help="Chooses the sample.")
@click.option("--repair", is_flag=True, help="Build the versions that fail anew.")
@click.pass_obj
def verify(warehouse: Warehouse, kind: str | None, sample: int | None, seed: int, repair: bool) -> None:
    """Prove the warehouse: hashes, values, SQL checks, and tables or samples of their rows computed again.

    Says for each version what was recomputed and what that finds, and what was skipped and why.
    """
    from bgdata.commands.prove import verify_warehouse

    warehouse.require()
    if not verify_warehouse(warehouse, kind, sample, seed, repair=repair):
        sys.exit(1)


@main.command(short_help="Build the default tables again, and compare.")
@click.argument("kind", required=False)
@click.option(
    "--check", is_flag=True, help="Build aside and compare with warehouse.lock; the warehouse is not touched."
)
@click.option("--all", "is_all", is_flag=True, help="Compute also what comes with the package, which may take hours.")
@threads_option
@click.pass_obj
def rebuild(warehouse: Warehouse, kind: str | None, check: bool, is_all: bool, threads: int | None) -> None:
    """Build the default tables again, all or those of one KIND; with --check prove that they come out the same.

    Of versions that come with the package only the hashes are compared, unless --all is given.
    """
    from bgdata.commands.prove import rebuild_and_compare, rebuild_in_place
    from bgdata.kernel import threads as run_on

    with run_on(threads):
        if check and not rebuild_and_compare(warehouse, kind, is_all=is_all):
            sys.exit(1)
        if not check:
            rebuild_in_place(warehouse, kind, is_all=is_all)


@main.command(short_help="Compare two tables, or the warehouse with its lock.")
@click.argument("before", required=False)
@click.argument("after", required=False)
@click.pass_obj
def diff(warehouse: Warehouse, before: str | None, after: str | None) -> None:
    """Compare two tables, or the warehouse with warehouse.lock.

    BEFORE and AFTER are KIND/VARIANT, KIND/VARIANT/VERSION, or a gnubg .bd file. Exit code 1 when they differ.
    """
    from bgdata.commands.compare import compare_tables, compare_with_lock

    if before is not None and after is None:
        raise UsageError(f"expected two tables to compare, got one: {before}")
    same = compare_tables(warehouse, before, after) if before and after else compare_with_lock(warehouse)
    if not same:
        sys.exit(1)


@main.command(short_help="Write warehouse.lock from what is built.")
@click.pass_obj
def lock(warehouse: Warehouse) -> None:
    """Write warehouse.lock from the default variants in the warehouse."""
    from bgdata.commands.prove import write_lock

    write_lock(warehouse)


@main.command(short_help="Write the SQL catalog anew, for instance after a move.")
@click.pass_obj
def catalog(warehouse: Warehouse) -> None:
    """Write catalog.duckdb anew, for instance after the warehouse was moved."""
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
@click.option("-o", "--output", required=True, type=OUTPUT, help="File to write.")
@click.option("-g", "--no-gammons", is_flag=True, help="One-sided without gammon distributions (-g).")
@click.option("-c", "--uncompressed", is_flag=True, help="One-sided without compression (-c).")
@click.option("-n", "--normal", is_flag=True, help="One-sided as normal distributions (-n).")
@click.option("-C", "--cubeless", is_flag=True, help="Two-sided with cubeless equities only (-C).")
@threads_option
def gnubg_bd(threads: int | None, **options: Any) -> None:
    """Write a bearoff database as gnubg's makebearoff does, byte for byte."""
    from bgdata.commands.export import write_gnubg_bearoff
    from bgdata.kernel import threads as run_on

    with run_on(threads):
        click.echo(write_gnubg_bearoff(**options))


@export.command(name="table")
@click.argument("table")
@click.option(
    "--format",
    "form",
    type=click.Choice(["csv", "json", "parquet"]),
    default="parquet",
    show_default=True,
    help="Form of the rows.",
)
@click.option("-o", "--output", required=True, type=OUTPUT, help="File to write.")
@click.pass_obj
def export_table(warehouse: Warehouse, table: str, form: str, output: Path) -> None:
    """Write a table, such as bearoff_two_sided/6x6 or one version of it, with the columns that SQL shows."""
    from bgdata.commands.query import export_version

    export_version(warehouse, table, form, output)


@export.command(name="text")
@click.argument("table")
@click.option("--format", "form", required=True, type=click.Choice(TEXT_FORMATS), help="Format of the file.")
@click.option("-o", "--output", required=True, type=OUTPUT, help="File to write; packed if it ends in .gz or .bz2.")
@click.pass_obj
def export_text(warehouse: Warehouse, table: str, form: str, output: Path) -> None:
    """Write a table of positions, a benchmark or matches as other programs read them."""
    from bgdata.commands.export_text import write_text

    click.echo(write_text(warehouse.open_reference(table), form, output))


export.add_command(cli_met.export)
for module in (cli_players, cli_bearoff, cli_corpora, cli_met, cli_claims, cli_housekeeping):
    for command in module.COMMANDS:
        main.add_command(command)


if __name__ == "__main__":
    main()
