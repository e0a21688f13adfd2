"""Defaults of commands: the warehouse, small tables of the user's own warehouse, the match equity table, and the model
and rules of the cube. Cheap to import."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bgdata.errors import CorruptFileError, UsageError

if TYPE_CHECKING:
    from bgdata.equity.cube import CubeRules
    from bgdata.equity.match_equity import MatchEquity
    from bgdata.evaluation.lookahead_player import LookaheadPlayer
    from bgdata.game.match import Stakes
    from bgdata.store.parameters import Parameters
    from bgdata.warehouse import Warehouse

HERE = "warehouse"  # folder in the working directory that is used if it exists
DATA, OWN = "XDG_DATA_HOME", "~/.local/share"  # base folder of a user's data
_POINTS = 6
_CHECKERS = 6  # checkers a side in the exact table, which has 13 MB


def default_folder() -> Path:
    """Return the folder of the warehouse that commands use by default: `warehouse` in the working directory if it
    exists, else the user's own warehouse."""
    return Path(HERE) if Path(HERE).exists() else own_folder()


def own_folder() -> Path:
    """Return the folder of the user's own warehouse: `bgdata/warehouse` below XDG_DATA_HOME, which is `~/.local/share`
    by default."""
    named = os.environ.get(DATA, "")  # relative paths are ignored, as the specification of the variable says
    return Path(named if Path(named).is_absolute() else OWN).expanduser() / "bgdata" / HERE


def open_player(warehouse: Warehouse, network: str = "", ply: int = 0, *, endgames: bool = True) -> LookaheadPlayer:
    """Open the player that uses this network, or the default network, and looks `ply` rolls ahead. If the warehouse is
    the user's own, small bearoff tables are built first. If `endgames` is false, the player does not use tables of
    contact endgames. Raises StorageError and the errors of `map_player`."""
    from bgdata.evaluation.networks.player import map_player

    build_small_tables(warehouse)
    return map_player(warehouse, network, ply, endgames=endgames)


def build_small_tables(warehouse: Warehouse) -> None:
    """Build the bearoff tables on 6 points, if the warehouse is the user's own and they are missing. Raises
    StorageError if they cannot be written."""
    if not is_own(warehouse):
        return
    from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters
    from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters

    race = RaceParameters(_POINTS)
    exact = ("bearoff_two_sided", TwoSidedParameters(_POINTS, _CHECKERS))
    build_missing(warehouse, [exact, ("bearoff_one_sided", race), ("bearoff_gammon", race)])


def build_default_met(warehouse: Warehouse) -> None:
    """Build the match equity table of the default network, if the warehouse is the user's own and it is missing. Raises
    StorageError if it cannot be written."""
    if not is_own(warehouse):
        return
    from bgdata.equity.kinds.match_equity import DATASET

    build_missing(warehouse, [(DATASET.name, DATASET.defaults[0])])


def is_own(warehouse: Warehouse) -> bool:
    """Return whether this is the user's own warehouse. Only in this warehouse are tables built without a command to
    build them."""
    return warehouse.root.absolute() == own_folder()


def build_missing(warehouse: Warehouse, wanted: Iterable[tuple[str, Parameters]]) -> None:
    """Build those variants, given by kind and parameters, that have no version, and tell the user. Raises StorageError
    if a variant cannot be written."""
    missing = [
        (kind, parameters, slug)
        for kind, parameters in wanted
        if next(warehouse.versions(kind, slug := warehouse.kind(kind).slug(parameters)), None) is None
    ]
    if not missing:
        return
    from bgdata.store.progress import progress_bars

    names = ", ".join(f"{kind}/{slug}" for kind, _, slug in missing)
    click.echo(f"building {names}: seconds, once; kept in {warehouse.root}", err=True)
    with progress_bars(notes=False) as progress:
        for kind, parameters, _ in missing:
            warehouse.build(kind, parameters, progress=progress)


def rules_from_options(
    warehouse: Warehouse, stakes: Stakes, options: Mapping[str, Any], *, has_beavers: bool = False
) -> CubeRules:
    """Return the cube model, the match equity table and the rules that the options of a command ask for. `has_beavers`
    says whether beavers are allowed if the option does not. Raises UsageError if options do not fit the model or the
    game, InvalidParameterError for a value out of range, and the errors of `find_met_or_file`."""
    from bgdata.equity.cube import CubeRules
    from bgdata.equity.cube_models import DEFAULT_INDEX, JANOWSKI, JANOWSKI_FIRST, JUMP, MODEL_NAMES
    from bgdata.equity.curves import DEFAULT_VOLATILITY
    from bgdata.equity.doubling import DEFAULT_STRATEGY, janowski, janowski_first, jump
    from bgdata.game.match import MatchScore

    index, volatility, as_money = options["index"], options["volatility"], options["as_money"]
    number = MODEL_NAMES.index(options["model"] or MODEL_NAMES[JANOWSKI])
    if number == JUMP:
        if index is not None:
            raise UsageError(f"expected --index with the janowski model, got it with jump: {index:g}")
        strategy = jump(DEFAULT_VOLATILITY if volatility is None else volatility)
    else:
        if volatility is not None:
            raise UsageError(f"expected --volatility with --model jump, got it with janowski: {volatility:g}")
        model = {JANOWSKI: janowski, JANOWSKI_FIRST: janowski_first}[number]
        is_default = number == JANOWSKI and index is None
        strategy = DEFAULT_STRATEGY if is_default else model(DEFAULT_INDEX if index is None else index)
    is_match = isinstance(stakes.score, MatchScore)
    if options.get("beavers") is not None:
        has_beavers = options["beavers"]
    elif is_match:
        has_beavers = False
    if not is_match:
        for name in ("met", "as_money"):
            if options[name]:
                raise UsageError(f"expected a match with --{name.replace('_', '-')}, got money play")
    if as_money and options["met"]:
        raise UsageError("expected either --as-money or --met, got both")
    met = find_met_or_file(warehouse, options["met"] or "") if is_match and not as_money else None
    return CubeRules(strategy, met, has_beavers, as_money, by_model=options["model"] is not None)


def find_met_or_file(warehouse: Warehouse, text: str) -> MatchEquity:
    """Find the match equity table called `text` in the warehouse, by default the table that the warehouse has built, or
    read it if `text` is the path of an .xml or .met file. Raises MissingTableError if the warehouse does not contain
    the table, StorageError if the file cannot be read, and CorruptFileError if the file contains no table of winning
    chances."""
    from bgdata.equity.kinds.met_xml import DATASET, met_name
    from bgdata.store.manifest import unpacked_name
    from bgdata.store.names import is_name

    if not text:
        build_default_met(warehouse)
    is_named_so = unpacked_name(text.lower()).endswith(DATASET.endings)
    if not text or not (is_named_so or (not is_name("variant", text) and Path(text).is_file())):
        from bgdata.equity.match_equity import find_met

        return find_met(warehouse, text)
    from bgdata.equity.kinds.met_xml_compute import describe_table
    from bgdata.formats.lines import read_bytes
    from bgdata.formats.met_files import parse_met

    path = Path(text)
    found = parse_met(read_bytes(path))
    for problem in found.rejects:
        if not problem.reason.startswith("expected a table that is whole"):
            raise CorruptFileError(f"expected a match equity table in {path}, found in {problem}")
    table = describe_table(met_name(path.name), found.table) if found.table else None
    if table is None or table.met is None:
        what = f"a formula ({table.form})" if table else "none"
        raise CorruptFileError(f"expected a match equity table of chances in {path}, found {what}")
    return table.met
