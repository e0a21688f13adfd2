"""Names of players, and files that are players. This is the only list for commands, dataset kinds and documentation. It
is fast to import; `player.open_named_player` opens these players, and those of other packages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

NETWORK = "network"  # the default network; network/NAME is another network
NETWORK_KINDS = ("network", "supervised_network")  # trained by self-play, and from labels: both play as network/NAME
DEFAULT_NETWORK = "diverse-19"  # the network that plays as `network`
# versions are in <name>/<version>, with the ancestors of the default; docs/ship.py copies them there
SHIPPED = Path(__file__).parent / "networks" / "versions"
ONNX, UBGI = ".onnx", ".ubgi"  # endings of player files


class NamedPlayer(NamedTuple):
    """A player that has a name: how it is opened, and what it can do."""

    opener: str  # module:class, called with the ply if the player looks ahead
    most_ply: int = 0
    is_program: bool = False  # another program, which must be installed; it evaluates positions


PLAYERS = {
    "random": NamedPlayer("bgdata.evaluation.player:RandomPlayer"),
    "pubeval": NamedPlayer("bgdata.evaluation.player:PubEval"),
    "gnubg": NamedPlayer("bgdata.evaluation.gnubg:GnubgPlayer", 4, is_program=True),
    "bgsage": NamedPlayer("bgdata.evaluation.programs:BgsagePlayer", 3, is_program=True),
}
PROGRAMS = tuple(name for name, player in PLAYERS.items() if player.is_program)
PLAIN_PLAYERS = tuple(name for name in PLAYERS if name not in PROGRAMS)  # players that only choose plays


def is_player_file(name: str) -> bool:
    """Whether the name of a player is a file: an ONNX file, or one that starts a UBGI engine."""
    return name.endswith((ONNX, UBGI))


def is_callable(name: str) -> bool:
    """Whether the name of a player is that of a Python callable, `module:name`."""
    return re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", name, re.ASCII) is not None
