"""What files of networks say about themselves."""

from __future__ import annotations

from bgdata.evaluation.networks.measured import recorded_name
from bgdata.formats.onnx.network import BOARDS, CHANCES
from bgdata.store.table import Table

MEANINGS = {
    BOARDS: "int8[N, 26], seen by the player on roll, before the roll: [0] checkers of the opponent on the bar, [1] to "
    "[24] checkers on the points of the player on roll, those of the opponent negative, [25] own checkers on the bar",
    CHANCES: "float32[N, 5] of the player on roll in cubeless money play: win, win_gammon, win_backgammon, "
    "lose_gammon, lose_backgammon; a gammon includes backgammons, a win both",
    "bound": "on a processor, equal to the last bit to what bgdata answers without bearoff tables",
}


def properties_of(table: Table) -> dict[str, str]:
    """The properties of the file of a version of networks, by name. Raises ManifestFormatError."""
    found = table.manifest
    named = {"name": found.variant, "version": recorded_name(table), "digest": found.digest, "licence": found.licence}
    return named | MEANINGS
