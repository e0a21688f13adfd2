"""Where workers find the network and the rules of games with the cube."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bgdata.equity.match_equity import MatchEquity
from bgdata.equity.stored_met import met_names, met_of_arrays
from bgdata.evaluation.choices import Chooser
from bgdata.selfplay.cubeful_series import CubefulRules
from bgdata.selfplay.kinds.selfplay_compute import open_seat
from bgdata.selfplay.kinds.shared.cube_players import MET
from bgdata.selfplay.kinds.shared.rollouts import NetworkChoice
from bgdata.selfplay.kinds.shared.rollouts_compute import network_table
from bgdata.store.arrays import Array
from bgdata.store.context import Context
from bgdata.store.job import Settings
from bgdata.store.table import Table


def folders_of(context: Context[NetworkChoice]) -> dict[str, str]:
    """Where workers find the network and the tables, by role. Raises MissingTableError."""
    tables = {**context.inputs, "network": network_table(context)}
    return {role: str(table.folder.resolve()) for role, table in tables.items()}


def open_played(settings: Settings) -> tuple[Chooser, CubefulRules]:
    """The network and the rules, in a worker: settings have folders by role, `length` and `jacoby`."""
    *_, chooser = open_seat("network", {role: str(value) for role, value in settings.items()})
    met = first_met(Table(Path(str(settings[MET]))).arrays()) if MET in settings else None
    return chooser, CubefulRules(int(settings["length"]), bool(settings["jacoby"]), met)


def first_met(arrays: Mapping[str, Array]) -> MatchEquity:
    """The match equity table in the arrays of a version, the first one if there are several."""
    return met_of_arrays(arrays, met_names(arrays)[0])
