"""Opens the network that plays rollouts, and stores its name in a version."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bgdata.equity.match_equity import MatchEquity, met_names, met_of_arrays
from bgdata.evaluation.bearoff import BearoffEvaluator, open_bearoff
from bgdata.evaluation.choices import Chooser
from bgdata.evaluation.networks.player import MappedNetwork, NetworkPlayer, find_network
from bgdata.evaluation.player import open_named_player
from bgdata.evaluation.players import NETWORK, PLAIN_PLAYERS
from bgdata.selfplay.kinds.cubeful_selfplay import MET
from bgdata.selfplay.kinds.selfplay import TABLES
from bgdata.selfplay.kinds.shared.rollouts import NetworkChoice, RollerParameters
from bgdata.selfplay.rollout import Wrapper, roll_out
from bgdata.selfplay.series import CubefulRules
from bgdata.store.arrays import Array
from bgdata.store.dataset import Context
from bgdata.store.table import Table
from bgdata.store.versions import Versions
from bgdata.store.worker_inputs import Settings


def network_folders(context: Context[NetworkChoice]) -> dict[str, str]:
    """Return the folders of the network's and the bearoff tables' versions, by role. Raises MissingTableError if one is
    missing."""
    return {role: str(table.folder.resolve()) for role, table in network_versions(context).items()}


def network_versions(context: Context[NetworkChoice]) -> dict[str, Table]:
    """Return the versions of the network and the bearoff tables, by role. Raises MissingTableError if one is
    missing."""
    return {**context.inputs, "network": network_table(context)}


def player_tables(name: str, warehouse: Versions, *, has_tables: bool = True) -> list[Table]:
    """Return the versions of the network and the bearoff tables by which the player `name` plays: those that
    `open_named_player` opens."""
    if name.partition("/")[0] != NETWORK:
        return []
    found = [find_network(name, warehouse)]
    if has_tables and warehouse.root.is_dir():
        bearoff = open_bearoff(warehouse)
        tables = bearoff.two_sided, bearoff.one_sided, bearoff.gammon, bearoff.error
        found += [table for table in tables if table is not None]
    return found


def open_network_and_rules(settings: Settings) -> tuple[Chooser, CubefulRules]:
    """Open the network and the rules of cubeful games in a worker. `settings` contain folders by role, `length` and
    `jacoby`."""
    *_, chooser = open_labelled_player("network", settings)
    met = first_met(Table(Path(str(settings[MET]))).arrays()) if MET in settings else None
    return chooser, CubefulRules(int(settings["length"]), bool(settings["jacoby"]), met)


def open_labelled_player(name: str, folders: Mapping[str, object]) -> tuple[str, str, Chooser]:
    """Open the player `name` from the folders of its versions by role. Returns its label, its version and its chooser.
    Raises CorruptFileError if a file is damaged."""
    if name in PLAIN_PLAYERS:
        player: Any = open_named_player(name)
        return player.label, player.version, player.chooser
    network = open_network(folders)
    return network.label, network.version, network.chooser


def open_network(folders: Mapping[str, object]) -> MappedNetwork:
    """Open a player from the folders of a network and its bearoff tables, by role. Raises CorruptFileError if a file is
    damaged."""
    tables = {role: Table(Path(str(folders[role]))) for role in ("network", *TABLES) if role in folders}
    return MappedNetwork(tables.pop("network"), BearoffEvaluator(**tables))


def first_met(arrays: Mapping[str, Array]) -> MatchEquity:
    """Return the match equity table in the arrays of a version; the first one if there are several."""
    return met_of_arrays(arrays, met_names(arrays)[0])


BEAROFF_ROLES = ("two_sided", "one_sided", "gammon")
SAMPLE_ROWS = 3  # rows that `verify` rolls out again: each takes seconds
ROLLED = {  # arrays of rollouts: dtype, and number of values in a row
    "chances": (np.float32, (5,)),
    "standard_errors": (np.float32, (5,)),
    "equities": (np.float64, ()),
    "equity_standard_errors": (np.float64, ()),
    "plain_standard_errors": (np.float64, ()),
    "trials": (np.int64, ()),
}


def network_table(context: Context[NetworkChoice]) -> Table:
    """Return the version of the network that the parameters name. Raises MissingTableError if it is missing."""
    parameters, table = context.parameters, context.inputs.get("network")
    if table is not None:
        return table
    return find_network(f"{NETWORK}/{parameters.network}", context.warehouse, parameters.network_version or None)


def open_roller(context: Context[NetworkChoice]) -> NetworkPlayer:
    """Open the network that the parameters name, as a player. Raises MissingTableError if a version is missing."""
    return MappedNetwork(network_table(context), BearoffEvaluator(*(context.inputs[role] for role in BEAROFF_ROLES)))


def network_text(parameters: NetworkChoice, inputs: Mapping[str, Table]) -> Array:
    """Return the text network/NAME/VERSION of the network, in UTF-8, as uint8[n]."""
    version = inputs["network"].folder.name if "network" in inputs else parameters.network_version
    return np.frombuffer(f"network/{parameters.network}/{version}".encode(), np.uint8)


def empty_rollouts(names: Iterable[str], count: int) -> dict[str, Array]:
    """Return arrays for the results of rollouts of `count` positions, filled with zeros. `names` are keys of ROLLED."""
    return {name: np.zeros((count, *ROLLED[name][1]), ROLLED[name][0]) for name in names}


def rollout_arrays(
    parameters: RollerParameters,
    seed: int,
    chooser: Chooser,
    boards: Array,
    items: Array,
    names: Iterable[str],
    wrap: Wrapper = lambda rolled: rolled,
) -> dict[str, Array]:
    """Roll out int8[n, 26] boards with the dice of int64[n] items of a seed, and return the arrays of ROLLED called
    `names`. A row depends on its board and item alone."""
    boards = np.ascontiguousarray(boards)
    result = roll_out(boards, chooser, parameters.limits(), seed, parameters.how(), items=items, wrap=wrap)
    values = {**result._asdict(), "chances": result.legal_chances()}
    return {name: values[name].astype(ROLLED[name][0]) for name in names}
