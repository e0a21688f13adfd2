"""Pictures of all commands: a figure to draw on, and the PNG file it becomes. Needs matplotlib, an extra."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from bgdata.errors import MissingExtraError
from bgdata.store.storage import write_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
