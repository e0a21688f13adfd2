"""bgsage's rollouts, converted to positions before the roll with the chances of the player on roll."""

from __future__ import annotations

from bgdata.imports.kinds.shared.imports import PositionImport
from bgdata.store.dataset import Column, FlatArray


class Bgsage(PositionImport):
    """Kind `bgsage_rollouts`: rollouts of bgsage, imported from rollout files and JSON lines. Each line gives a row, in
    the order of the files."""

    name = "bgsage_rollouts"
    revision = 2  # 2: searched, truncated and cubeful values of JSON lines are set aside
    summary = (
        "bgsage's rollouts: a position before the roll and the five chances of the player on roll. The files have them "
        "after the play, for the player who has played: they are flipped here, chances cut to 0 to 1, and the numbers "
        "kept as written."
    )
    source = "Imported from bgsage's *-rollout files (26 integers and five chances) and rollouts.jsonl"
    licence = "MPL-2.0"
    columns = (
        *PositionImport.columns,
        Column(
            "chances_after_play", "DOUBLE[]", "chance", "As written, of the player who has played: may leave 0 to 1"
        ),
        Column("equity_after_play", "DOUBLE", "points", "As written, null where the file has none"),
        Column("standard_error", "DOUBLE", "points", "Of the equity, null where the file has none"),
    )
    arrays = (
        *PositionImport.arrays,
        FlatArray("chances_after_play", "float64", "row, five chances", "As written: of the player who has played"),
        FlatArray("equities_after_play", "float64", "row", "As written, NaN where the file has none"),
        FlatArray("standard_errors", "float64", "row", "Of the equities, NaN where the file has none"),
    )


DATASET = Bgsage()
