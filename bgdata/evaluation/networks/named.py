"""Networks as players by name: `network` is the one that comes with bgdata, `network/NAME` one of the warehouse."""

from __future__ import annotations

import os
import re

from bgdata.equity.cube import ExactCube
from bgdata.errors import BgdataError, MissingTableError, UnknownPlayerError
from bgdata.evaluation.bearoff import BearoffEvaluator, open_bearoff
from bgdata.evaluation.cube_tables import MatchBearoff, MoneyBearoff, MoneyEndgame, SolvedRaces
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.networks.player import MappedNetwork, NetworkPlayer
from bgdata.evaluation.networks.shipped import DEFAULT_NETWORK, KINDS, SHIPPED
from bgdata.evaluation.onnx_evaluator import OnnxEvaluator
from bgdata.evaluation.players import NETWORK, is_onnx
from bgdata.store.table import Table
from bgdata.store.versions import VERSION, Versions

KIND = NETWORK  # as which all kinds of networks play
MATCHES = "bearoff_match"  # of exact tables at match scores


def network_name(name: str) -> str:
    """`network/NAME` or `network/NAME/VERSION` as given; for `network`, the name of the one that comes with bgdata.
    Raises UnknownPlayerError."""
    if not re.fullmatch(rf"{KIND}(/[a-z0-9-]+(/{VERSION.pattern})?)?", name):
        raise UnknownPlayerError(f"expected {KIND}, {KIND}/NAME or {KIND}/NAME/VERSION, got {name}")
    return f"{KIND}/{DEFAULT_NETWORK}" if name == KIND else name


def find_network(name: str, warehouse: Versions, version: str | None = None) -> Table:
    """The current version of `network/NAME`, of any kind of network, or the version that is named. If the warehouse has
    none, it is the one that comes with bgdata.

    Raises UnknownPlayerError or MissingTableError, and CorruptFileError where `current` names one that is gone.
    """
    _, variant, *named = network_name(name).split("/")
    version = named[0] if named else version
    tables = [table for kind in KINDS if kind in warehouse.kinds for table in warehouse.versions(kind, variant)]
    kinds = {table.folder.parts[-3] for table in tables if version in (None, table.folder.name)}
    if version is None:  # with one whose current version is gone: to open it is an error
        kinds |= {kind for kind in KINDS if kind in warehouse.kinds and variant in warehouse.variants(kind)}
    if kinds:
        found = [warehouse.open(kind, variant, version) for kind in sorted(kinds)]
        return found[0] if len(found) == 1 else max(found, key=_created)
    folder = next((SHIPPED / variant).glob(version or "r*-*"), None)
    if folder:
        return Table(folder)
    have = ", ".join(table.folder.name for table in tables)
    have = have or ", ".join(sorted({name for kind in KINDS for name in warehouse.variants(kind)})) or "none"
    wanted = f"{KIND}/{variant}" + (f"/{version}" if version else "")
    raise MissingTableError(f"no {wanted} in {warehouse.root} (have: {have}); try: bgdata train td {variant}")


def _created(table: Table) -> str:
    """When a version was made; a damaged one sorts last."""
    try:
        return table.manifest.created
    except BgdataError:
        return ""


def open_network_player(
    name: str, ply: int, warehouse: Versions, *, tables: bool = True, endgames: bool = False
) -> NetworkPlayer | LookaheadPlayer:
    """A network with the best bearoff tables of the warehouse (without them unless `tables`), all memory-mapped. At ply
    0 the result is a player that kernels can play. Contact endgames answer too if `endgames`: recipes name no such
    tables, so what is recorded is played without.

    Raises UnknownPlayerError, MissingTableError or CorruptFileError.
    """
    table = find_network(name, warehouse)
    has_tables = tables and warehouse.root.is_dir()
    player = MappedNetwork(
        table, open_bearoff(warehouse, with_endgames=endgames) if has_tables else BearoffEvaluator(), warehouse
    )
    return LookaheadPlayer(player, ply) if ply else player


def map_player(warehouse: Versions, network: str | os.PathLike[str] = "", ply: int = 0) -> LookaheadPlayer:
    """A player with the best bearoff tables and contact endgames of a warehouse, and one of its networks or the one
    that comes with bgdata; or an ONNX file as it is, which uses exact tables for cube decisions alone.

    Only what is needed is read, and nothing is copied. Raises MissingWarehouseError, MissingTableError for a missing
    network, CorruptFileError, UsageError for a ply that is not 0 to MOST_PLY, and what `OnnxEvaluator` raises.
    """
    warehouse.require()
    bearoff = open_bearoff(warehouse, with_endgames=True)
    cubes: list[ExactCube] = [MoneyEndgame(bearoff.endgame)] if bearoff.endgame else []
    cubes += [MoneyBearoff(bearoff.two_sided)] if bearoff.two_sided else []
    cubes += [MatchBearoff(each) for each in warehouse.current(MATCHES)] if MATCHES in warehouse.kinds else []
    cubes.append(SolvedRaces())
    if is_onnx(network := os.fspath(network)):
        return LookaheadPlayer(OnnxEvaluator(network), ply, cubes=cubes)
    table = find_network(f"{KIND}/{network}" if network else KIND, warehouse)
    return LookaheadPlayer(MappedNetwork(table, bearoff, warehouse), ply, cubes=cubes)
