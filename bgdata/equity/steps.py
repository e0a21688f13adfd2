"""Steps of flows: build match equity tables for each ply of a network, and compare them with the published one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bgdata.equity.kinds.match_equity import DATASET, PUBLISHED, MatchEquityParameters
from bgdata.equity.match_equity import met_names, met_of_arrays
from bgdata.evaluation.networks.player import network_name
from bgdata.evaluation.players import NETWORK
from bgdata.store.progress import Progress
from bgdata.store.table import Table
from bgdata.training.steps import network_parameters
from bgdata.warehouse import Warehouse


@dataclass(frozen=True)
class MatchEquityPlan:
    """Which match equity tables to build: one for each ply of a network."""

    player: str = NETWORK
    plies: tuple[int, ...] = (0, 1)
    cube_life_index: float = MatchEquityParameters.cube_life_index
    length: int = MatchEquityParameters.length


def recipes(warehouse: Warehouse, plan: MatchEquityPlan) -> list[MatchEquityParameters]:
    """Return the parameters of the published match equity table and of the tables in a plan. Raises
    InvalidParameterError for an invalid plan, UnknownPlayerError for a player that is not a network, and
    MissingTableError for a missing network."""
    network = network_parameters(warehouse, network_name(plan.player).partition("/")[2])
    made = [
        MatchEquityParameters(**network, ply=ply, cube_life_index=plan.cube_life_index, length=plan.length)
        for ply in plan.plies
    ]
    for parameters in made:
        DATASET.check_parameters(parameters)
    return [PUBLISHED, *made]


def build_met(warehouse: Warehouse, parameters: MatchEquityParameters, progress: Progress) -> Table:
    """Build one match equity table."""
    return warehouse.build(DATASET.name, parameters, progress=progress)


def differences(warehouse: Warehouse, versions: list[str]) -> list[dict[str, str | float]]:
    """Compare match equity tables with the first one, before and after the Crawford game: differences in percentage
    points of mwc. `versions` are names of versions in the warehouse."""
    tables = [warehouse.open_reference(version).arrays() for version in versions]
    first, *others = [met_of_arrays(arrays, met_names(arrays)[0]) for arrays in tables]
    rows: list[dict[str, str | float]] = []
    for met in others:
        shown = slice(1, min(first.length, met.length) + 1)
        sizes = 100 * np.abs(met.cells[:, shown, shown] - first.cells[:, shown, shown])
        known = [part[np.isfinite(part)] for part in sizes]
        rows.append(
            {
                "met": met.name,
                "beside": first.name,
                "largest": round(float(known[0].max()), 2),
                "mean": round(float(np.cumsum(known[0])[-1]) / len(known[0]), 2),
                "largest_post_crawford": round(float(known[1].max()), 2),
            }
        )
    return rows
