"""`bgdata.open_player`. Importing this loads the kernels, and with them Numba; opening a player then takes 2 ms."""

from __future__ import annotations

import os

from bgdata import Folder, open_warehouse
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.networks.player import map_player


def open_player(root: Folder = "warehouse", network: str | os.PathLike[str] = "", ply: int = 0) -> LookaheadPlayer:
    """Map a player: the bearoff tables of a warehouse and one of its networks, or those that come with the package.

    `ply` is how many rolls it looks ahead, 0 to 3. Raises MissingWarehouseError, MissingTableError for a network that
    is not there, CorruptFileError for a damaged one, and UsageError for a wrong ply.
    """
    return map_player(open_warehouse(root), network, ply)
