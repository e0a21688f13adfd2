"""Which names of players are ONNX files: light to import, for declarations of datasets too."""

from __future__ import annotations

SUFFIX = ".onnx"


def is_onnx(name: str) -> bool:
    """Whether the name of a player is that of an ONNX file."""
    return name.endswith(SUFFIX)
