"""Names of players in parameters and variants."""

from __future__ import annotations

import re
from pathlib import Path

from bgdata.errors import InvalidParameterError
from bgdata.evaluation.player_files import is_callable, is_onnx, is_ubgi
from bgdata.store.versions import VERSION

LONGEST_FILE = 40  # letters of a file's name in the name of a variant


def check_player_name(name: str) -> None:
    """Raise InvalidParameterError for a name that no player has: letters, digits and -, network/NAME,
    network/NAME/VERSION, an ONNX file or one that starts an engine, or a Python callable module:name."""
    named = rf"(network/)?-*[A-Za-z0-9][A-Za-z0-9-]*|network/[a-z0-9-]+/{VERSION.pattern}"
    if not (re.fullmatch(named, name) or is_callable(name) or (is_file(name) and name.isprintable())):
        raise InvalidParameterError(f"expected the name of a player, got {name!r}")


def player_slug(name: str, ply: int) -> str:
    """The text for a player in the name of a variant: pubeval-0ply, network-td-1ply, onnx-mine-0ply for mine.onnx."""
    if is_file(name):
        words = re.sub("[^a-z0-9]+", "-", Path(name).stem.lower())[:LONGEST_FILE].strip("-")
        name = "-".join(filter(None, (Path(name).suffix[1:], words)))
    elif is_callable(name):
        name = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")
    return f"{name.replace('/', '-')}-{ply}ply"


def is_file(name: str) -> bool:
    """Whether the name of a player is a file: an ONNX file, or one that starts an engine."""
    return is_onnx(name) or is_ubgi(name)
