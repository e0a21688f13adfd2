"""Two-sided bearoff tables as text: a letter for each point of the player on roll, ace point first, and of the
opponent, A for no checker, B for one; a comma; the cubeless equity in six significant digits.

Source: Computational Backgammon, "Bearoff database created" (2011): for 6 points and 9 checkers a file of 557 MB.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bgdata.bearoff.layouts import all_layouts
from bgdata.bearoff.tables import TwoSidedTable


def format_layout_letters(table: TwoSidedTable) -> Iterator[bytes]:
    """The rows of each layout of the player on roll."""
    layouts = all_layouts(table.points, table.checkers)
    keys = [bytes(row) for row in (layouts + ord("A")).astype(np.uint8)]
    for key, row in zip(keys, table.stored, strict=True):
        equities = table.decode(row[:, 0])
        yield b"".join(
            b"%s%s,%.6g\n" % (key, other, equity) for other, equity in zip(keys, equities.tolist(), strict=True)
        )
