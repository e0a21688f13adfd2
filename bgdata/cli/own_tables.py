"""The folder of tables where nobody names one, and the small tables with which questions are answered in it at once."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from bgdata.evaluation.lookahead_player import LookaheadPlayer
    from bgdata.store.parameters import Parameters
    from bgdata.warehouse import Warehouse

HERE = "warehouse"  # the folder that is taken where it is
DATA, OWN = "XDG_DATA_HOME", "~/.local/share"  # of a user's own data
_POINTS = 6
_CHECKERS = 6  # a side, of the exact table: 13 MB


def default_folder() -> Path:
    """`warehouse` in the current folder, or the user's own where there is none, as beside an installed wheel."""
    return Path(HERE) if Path(HERE).exists() else own_folder()


def own_folder() -> Path:
    """The user's own warehouse: `~/.local/share/bgdata/warehouse`, or below XDG_DATA_HOME."""
    named = os.environ.get(DATA, "")  # a path that is not absolute is none, says who defines the variable
    return Path(named if Path(named).is_absolute() else OWN).expanduser() / "bgdata" / HERE


def open_player(warehouse: Warehouse, network: str = "", ply: int = 0) -> LookaheadPlayer:
    """A player, with the small tables if the warehouse is the user's own. Raises what `map_player` raises, and
    StorageError."""
    from bgdata.evaluation.networks.player import map_player

    build_small_tables(warehouse)
    return map_player(warehouse, network, ply)


def build_small_tables(warehouse: Warehouse) -> None:
    """Build the bearoff tables of 6 points that the user's own warehouse lacks. Raises StorageError."""
    if not is_own(warehouse):
        return
    from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters
    from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters

    race = RaceParameters(_POINTS)
    exact = ("bearoff_two_sided", TwoSidedParameters(_POINTS, _CHECKERS))
    build_missing(warehouse, [exact, ("bearoff_one_sided", race), ("bearoff_gammon", race)])


def build_default_met(warehouse: Warehouse) -> None:
    """Build the match equity table of the shipped network if the user's own warehouse lacks it. Raises
    StorageError."""
    if not is_own(warehouse):
        return
    from bgdata.equity.kinds.match_equity import DATASET

    build_missing(warehouse, [(DATASET.name, DATASET.defaults[0])])


def is_own(warehouse: Warehouse) -> bool:
    """Whether it is the user's own: nothing is built in any other unasked, of which somebody else decides."""
    return warehouse.root.absolute() == own_folder()


def build_missing(warehouse: Warehouse, wanted: Iterable[tuple[str, Parameters]]) -> None:
    """Build what a warehouse lacks, and say so. Raises StorageError."""
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
