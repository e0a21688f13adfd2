"""Names of players and of the versions that they are measured on, in parameters and in names of variants."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from bgdata.errors import InvalidParameterError
from bgdata.evaluation.players import is_callable, is_player_file
from bgdata.kinds import all_kinds
from bgdata.selfplay.kinds.selfplay import TABLES
from bgdata.selfplay.kinds.shared.games import check_seed
from bgdata.store.dataset import Input
from bgdata.store.parameters import Parameters, VersionRef
from bgdata.store.versions import VERSION
from bgdata.training.kinds.network import default_network

MIN_GAMES = 4  # minimum number of games of a pairing, because a standard error needs two pairs
LONGEST_FILE = 40  # maximum number of characters of a file name in the name of a variant


def check_player_name(name: str) -> None:
    """Raise InvalidParameterError if `name` cannot be the name of a player. Allowed are letters, digits and `-`;
    network/NAME; network/NAME/VERSION; an ONNX file; a file that starts an engine; and a Python callable
    module:name."""
    named = rf"(network/)?-*[A-Za-z0-9][A-Za-z0-9-]*|network/[a-z0-9-]+/{VERSION.pattern}"
    if not (re.fullmatch(named, name) or is_callable(name) or (is_player_file(name) and name.isprintable())):
        raise InvalidParameterError(f"expected the name of a player, got {name!r}")


def player_slug(name: str, ply: int) -> str:
    """Return a player and its ply as part of a variant's name: pubeval-0ply, network-td-1ply, or onnx-mine-0ply for
    mine.onnx."""
    if is_player_file(name):
        words = re.sub("[^a-z0-9]+", "-", Path(name).stem.lower())[:LONGEST_FILE].strip("-")
        name = "-".join(filter(None, (Path(name).suffix[1:], words)))
    elif is_callable(name):
        name = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")
    return f"{name.replace('/', '-')}-{ply}ply"


@dataclass(frozen=True)
class PairingParameters(Parameters):
    """Parameters that name two players, with their plies and the versions that they report."""

    player: str = "pubeval"
    ply: int = 0
    version: str = "2"
    opponent: str = "random"
    opponent_ply: int = 0
    opponent_version: str = "1"

    @property
    def pairing(self) -> str:
        """Both players as part of a variant's name."""
        return f"{player_slug(self.player, self.ply)}-against-{player_slug(self.opponent, self.opponent_ply)}"

    def check_pairing(self, games: int, seed: int) -> None:
        """Raise InvalidParameterError for an invalid name of a player, or for a number of games or a seed that is out
        of range."""
        check_player_name(self.player)
        check_player_name(self.opponent)
        if games >= 1 << 31:
            raise InvalidParameterError(f"expected fewer than 2^31 games, got {games}")
        if games < MIN_GAMES or games % 2:
            raise InvalidParameterError(f"expected an even number of at least {MIN_GAMES} games, got {games}")
        check_seed(seed)


def luck_inputs() -> dict[str, tuple[str, Parameters]]:
    """Return the inputs by which luck is measured, by role: the network of the package and its tables."""
    return {"network": default_network(), **TABLES}


def source_input(place: VersionRef) -> Input:
    """Return the input that `place` names: a version, or, without a version, the smallest variant of a kind. Raises
    InvalidParameterError if it names another variant without a version."""
    kind = all_kinds()[place.kind]
    if not place.version and kind.slug(kind.smallest) != place.variant:
        raise InvalidParameterError(f"expected a version, such as {place}/r1-0123abcd, got {place}")
    return place if place.version else (place.kind, kind.smallest)
