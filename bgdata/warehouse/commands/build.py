"""`bgdata build` and `bgdata catalog`: build the default tables, or one variant of a kind, and write the catalog."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from bgdata.cli.completion import complete_computed
from bgdata.cli.options import add_options, executor_option, force_option, threads_option, yes_option
from bgdata.errors import UsageError, cite
from bgdata.kinds import all_kinds
from bgdata.store.build import mend_catalog
from bgdata.store.dataset import Dataset
from bgdata.store.lockfile import advice, missing_extra_variants
from bgdata.store.parameters import Parameters, value_text
from bgdata.store.plan import estimate_text
from bgdata.store.progress import progress_bars
from bgdata.warehouse import Warehouse

LARGE_BYTES = 4_000_000_000  # a build that needs more disk space or memory asks first
COMPUTED = [kind for kind in all_kinds().values() if kind.defaults]


def size_names(kind: Dataset[Any]) -> list[str]:
    """Return the names of the parameters of a kind that every recipe records. Parameters that were added later are left
    out."""
    return [name for name in kind.parameters.names() if name not in kind.parameters.later]


SIZED = [kind for kind in COMPUTED if all(isinstance(getattr(kind.smallest, name), int) for name in size_names(kind))]
PARAMETER_NAMES = sorted({name for kind in SIZED for name in size_names(kind)})


def parameter_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add to a command an option for each integer parameter of the kinds that are built by default, and --set for any
    parameter."""
    words = "A parameter of the kind, such as games=500; can be given several times."
    options = [
        click.option(f"--{name.replace('_', '-')}", name, type=int, metavar="N", help=f"Number of {name}.")
        for name in PARAMETER_NAMES
    ]
    return add_options(*options, click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help=words))(
        function
    )


def choose_parameters(
    warehouse: Warehouse, kind: Dataset[Any], options: dict[str, int | None], settings: tuple[str, ...]
) -> Parameters:
    """Return the parameters that the options of a command describe: those of a base variant, changed by `options` and
    by `settings`, which are texts NAME=VALUE. The base is the first variant of the kind that `bgdata build` builds. If
    there is none, it has the default values of the parameters where there are settings; else it is the first default
    variant, or the smallest one. Raises InvalidParameterError if a value is invalid, and UsageError if a parameter is
    given twice."""
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    base: Parameters = (*kind.basic, kind.parameters())[0] if settings else (*kind.defaults, kind.smallest)[0]
    for text in settings:
        name, sign, value = text.partition("=")
        if not sign:
            raise UsageError(f"expected NAME=VALUE, got {cite(text)}")
        if name in given:
            raise UsageError(
                f"expected {cite(name)} once, got {value_text(given[name])} and {cite(value)}; try: one of them alone"
            )
        given[name] = base.parse(name, value)
    completed: Parameters = kind.complete(base.with_changes(given), warehouse)
    return completed


@click.command()
@click.argument("kind", required=False, shell_complete=complete_computed)
@parameter_options
@click.option(
    "--directory",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder for the versions, on another disk for instance, and what is written while they are computed. A link "
    "makes them part of the warehouse.  [default: the warehouse]",
)
@click.option("--all", "is_all", is_flag=True, help="Also what takes longer, but for kinds that are built by name.")
@threads_option
@executor_option
@force_option
@yes_option
@click.pass_obj
def build(
    warehouse: Warehouse,
    /,
    kind: str | None,
    directory: Path | None,
    is_all: bool,
    force: bool,
    yes: bool,
    settings: tuple[str, ...],
    **options: int | None,
) -> None:
    """Build a variant of a KIND, or the whole default warehouse.

    KIND is a kind of dataset (see: bgdata list). Without parameters all variants of it are built that warehouse.lock
    lists; without KIND those of all kinds, except those that take longer and that a beginner does not need, which --all
    builds too. Kinds whose inputs take minutes and that few people need, such as cube_benchmark, are built by name
    only. A build that needs gigabytes says so and asks first.

    \b
      bgdata build
      bgdata build --all
      bgdata build bearoff_two_sided --points 7 --checkers 5
      bgdata build bearoff_two_sided --checkers 15 --directory /large
      bgdata build play_sample --set games=500 --set seed=3 --set "classes=contact crashed"
    """
    given = bool(settings) or any(value is not None for value in options.values())
    if kind is None and given:
        raise UsageError("expected a dataset kind before its parameters; try: bgdata list")
    if kind is None and directory:
        raise UsageError(f"expected a dataset kind to put into {directory}; try: bgdata list")
    if is_all and given:
        raise UsageError("expected either --all or the parameters of one variant, got both")
    kinds = [warehouse.kind(kind)] if kind is not None else list(warehouse.kinds.values())
    if kind and not kinds[0].defaults and (not given or kinds[0].takes_files):
        hint = f"try: bgdata import {kind} FILE..." if kinds[0].takes_files else "see: bgdata --help"
        raise UsageError(f"expected a kind that is computed by itself, got {kind}; {hint}")
    if given:
        wanted = [(kinds[0], choose_parameters(warehouse, kinds[0], options, settings))]
    else:
        wanted = [
            (each, parameters)
            for each in kinds
            for parameters in (each.defaults if kind else each.of_all if is_all else each.basic)
        ]
    for declared, parameters in wanted:
        declared.check_parameters(parameters)
        estimate = declared.estimate(parameters)  # the build itself refuses a table that does not fit
        is_large = max(estimate.building_bytes, estimate.memory_bytes) >= LARGE_BYTES
        if is_large and not warehouse.find(declared, parameters):
            click.echo(f"{declared.name}/{declared.slug(parameters)}: {estimate_text(estimate)}", err=True)
            if not yes and sys.stdin.isatty():
                click.confirm("build it?", abort=True, err=True)
    with progress_bars() as progress:
        for declared, parameters in wanted:
            warehouse.build(
                declared.name, parameters, progress=progress, force=force, directory=directory,
                with_catalog=False,
            )  # fmt: skip
    mend_catalog(warehouse)
    missing = [] if kind else missing_extra_variants(warehouse)
    if missing:
        click.echo(advice(missing), err=True)


@click.command()
@click.pass_obj
def catalog(warehouse: Warehouse) -> None:
    """Write the SQL catalog again, for instance after a move.

    The catalog is the file catalog.duckdb in the warehouse. Any DuckDB client can open it.
    """
    from bgdata.store.catalog import write_catalog

    warehouse.require()
    write_catalog(warehouse)
    click.echo(f"wrote {warehouse.catalog}")
