"""bgdata: backgammon databases you can rebuild, prove and query.

>>> import bgdata
>>> warehouse = bgdata.open_warehouse("warehouse")            # doctest: +SKIP
>>> table = bgdata.open_two_sided("warehouse", 6, 9)          # doctest: +SKIP
>>> table.probe([0, 1, 0, 0, 1, 0], [0, 1, 1, 0, 0, 0])       # doctest: +SKIP
Equities(cubeless=0.34224..., owned=0.34413..., centered=0.16047..., opponent_owned=0.16047...)

>>> bgdata.open_player("warehouse").evaluate("start")           # doctest: +SKIP
Evaluation(win=0.52..., ..., source=<AnswerSource.CONTACT_NETWORK: 5>, ply=0, accuracy='network/...')

>>> warehouse.batches("rollout_labels", split="train", seed=1)  # doctest: +SKIP
Feed(rollout_labels/...: 8,012 rows of train, 3 left out for benchmarks)

Importing bgdata loads nothing else, and opening tables only NumPy. DuckDB, PyArrow and Numba are loaded by the first
build or query, and Numba by `open_player`.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = [
    "Equities",
    "Play",
    "Position",
    "RaceTable",
    "TwoSidedTable",
    "Warehouse",
    "all_kinds",
    "layout_at",
    "layout_count",
    "legal_plays",
    "open_gammon",
    "open_met",
    "open_one_sided",
    "open_player",
    "open_two_sided",
    "open_warehouse",
    "position_index",
]

if TYPE_CHECKING:
    from bgdata.bearoff.index import layout_at, layout_count, position_index
    from bgdata.bearoff.tables import Equities, RaceTable, TwoSidedTable
    from bgdata.equity.match_equity import MatchEquity
    from bgdata.evaluation.lookahead_player import LookaheadPlayer
    from bgdata.game.plays import Play, legal_plays
    from bgdata.game.position import Position
    from bgdata.kinds import all_kinds
    from bgdata.version import __version__ as __version__
    from bgdata.warehouse import Warehouse

Folder = str | os.PathLike[str]
_HOMES = {
    "bgdata.bearoff.index": ("layout_at", "layout_count", "position_index"),
    "bgdata.bearoff.tables": ("Equities", "RaceTable", "TwoSidedTable"),
    "bgdata.kinds": ("all_kinds",),
    "bgdata.game.plays": ("Play", "legal_plays"),
    "bgdata.game.position": ("Position",),
    "bgdata.version": ("__version__",),
    "bgdata.warehouse": ("Warehouse",),
}


def open_warehouse(root: Folder = "warehouse") -> Warehouse:
    """Open the warehouse in the folder `root`, which need not exist yet.

    `root` may also be an address such as s3://BUCKET/PATH. The warehouse there can only be read: a file is downloaded
    to the user's cache, and checked, when it is first opened. Raises UsageError if the scheme of the address is
    unknown, MissingExtraError if its package is not installed, and DownloadError if it cannot be opened."""
    from bgdata.warehouse import open_whole

    return open_whole(root)


def open_one_sided(root: Folder, points: int) -> RaceTable:
    """Open the one-sided bearoff table of up to 15 checkers on `points` points. Raises MissingTableError if the
    warehouse does not contain it."""
    from bgdata.bearoff.tables import RaceTable

    return RaceTable(open_warehouse(root).open("bearoff_one_sided", f"{points}x15"))


def open_gammon(root: Folder, points: int) -> RaceTable:
    """Open the gammon table of `points` points: for every layout of 15 checkers, the chance that the first checker,
    which saves the gammon, is borne off in each number of rolls. Raises MissingTableError if the warehouse does not
    contain it."""
    from bgdata.bearoff.tables import RaceTable

    return RaceTable(open_warehouse(root).open("bearoff_gammon", f"{points}x15"))


def open_two_sided(root: Folder, points: int, checkers: int) -> TwoSidedTable:
    """Open the exact two-sided bearoff table of up to `checkers` checkers a side on `points` points. Raises
    MissingTableError if the warehouse does not contain it.

    If `root` is an address, only the rows that are looked up are downloaded from a large table, and each is checked
    against its hash. Opening the table and looking up positions then raise DownloadError if a download fails, and
    DigestMismatchError if a row does not match its hash."""
    from bgdata.bearoff.remote import open_pairs

    return open_pairs(open_warehouse(root).open("bearoff_two_sided", f"{points}x{checkers}"))


def open_met(root: Folder, name: str = "") -> MatchEquity:
    """Open the match equity table `name` of a warehouse, or its default table if `name` is empty. Raises
    MissingTableError if the warehouse does not contain it."""
    from bgdata.equity.match_equity import find_met

    return find_met(open_warehouse(root), name)


def open_player(root: Folder = "warehouse", network: Folder = "", ply: int = 0) -> LookaheadPlayer:
    """Open a player that evaluates positions by the bearoff tables of a warehouse and by a network.

    `network` is the name of a network of the warehouse, or empty for the default network of the package. `ply` is the
    number of rolls that the player looks ahead, 0 to 3. Raises MissingWarehouseError if the folder does not exist,
    MissingTableError if the network is missing, CorruptFileError if a file is damaged, and UsageError if `ply` is out
    of range."""
    from bgdata.evaluation.networks.player import map_player

    return map_player(open_warehouse(root), network, ply)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, because commands start faster without the player and other slow
    modules."""
    for home, names in _HOMES.items():
        if name in names:
            globals()[name] = getattr(import_module(home), name)
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
