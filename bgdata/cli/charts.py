"""Charts of all commands: one style, one size of everything, files that are the same bytes for the same numbers."""

from __future__ import annotations

import io
from pathlib import Path

from matplotlib.figure import Figure

from bgdata.errors import MissingExtraError
from bgdata.store.storage import write_file

TEAL, BLUE, RED, GREY = "#298c99", "#a9b5cc", "#bf4033", "#8a8f99"


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches. Raises MissingExtraError without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("expected matplotlib, found none; try: pip install matplotlib") from error
    return Figure(figsize=(width, height), layout="constrained")


def write_figure(figure: Figure, path: Path) -> None:
    """Write it as PNG, the same bytes for the same figure. Raises StorageError."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=120, metadata={"Software": None})
    write_file(path, picture.getvalue())
