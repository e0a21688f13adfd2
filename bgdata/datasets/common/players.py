"""Names of players in parameters and variants."""

from __future__ import annotations

import re

from bgdata.errors import InvalidParameterError
from bgdata.store.versions import VERSION


def check_player_name(name: str) -> None:
    """Raise InvalidParameterError for a name that no player has: letters, digits and -, network/NAME or
    network/NAME/VERSION."""
    if not re.fullmatch(rf"(network/)?-*[A-Za-z0-9][A-Za-z0-9-]*|network/[a-z0-9-]+/{VERSION.pattern}", name):
        raise InvalidParameterError(f"expected the name of a player, got {name!r}")


def player_slug(name: str, ply: int) -> str:
    """The text for a player in the name of a variant: pubeval-0ply, network-td-1ply."""
    return f"{name.replace('/', '-')}-{ply}ply"
