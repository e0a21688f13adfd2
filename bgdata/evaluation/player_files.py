"""Which names of players are files or Python callables: light to import, for declarations of datasets too."""

from __future__ import annotations

import re

ONNX = ".onnx"
UBGI = ".ubgi"


def is_onnx(name: str) -> bool:
    """Whether the name of a player is that of an ONNX file."""
    return name.endswith(ONNX)


def is_ubgi(name: str) -> bool:
    """Whether the name of a player is a file that says how an engine of UBGI is started."""
    return name.endswith(UBGI)


def is_callable(name: str) -> bool:
    """Whether the name of a player is that of a Python callable, `module:name`."""
    return re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", name, re.ASCII) is not None
