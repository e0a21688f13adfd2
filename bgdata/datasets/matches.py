"""Recorded matches, replayed: every play is legal, and the position before every turn is known."""

from __future__ import annotations

from bgdata.datasets.common.columns import text_declarations
from bgdata.datasets.common.games import GAME_ARRAYS, GAMES, TURN_ARRAYS, TURNS
from bgdata.datasets.common.imports import QUARANTINE, QUARANTINE_ARRAYS, FileImport
from bgdata.store.declaration import TableShape


class Matches(FileImport):
    """Games keep the order of the files."""

    name = "matches"
    revision = 4  # 4: the Jacoby rule of .sgf files is kept, and their text may be that of Windows
    summary = "Matches and money sessions recorded by other programs, every game replayed from the start position."
    source = "Imported from .mat (Jellyfish format) and .sgf files as gnubg writes them"
    licence = "as of the files"
    columns = GAMES.columns
    key = GAMES.key
    arrays = (
        *GAME_ARRAYS,
        *text_declarations("players", "game x 2", "Names of the players of each game"),
        *TURN_ARRAYS,
        *text_declarations("plays", "turn", "Checker moves in the usual notation, empty without"),
        *text_declarations("infos", "match", "What else the file says of the match, as JSON"),
        *text_declarations("sources", "file", "Names of the files"),
        *QUARANTINE_ARRAYS,
    )

    @property
    def tables(self) -> tuple[TableShape, ...]:
        return GAMES, TURNS, QUARANTINE


DATASET = Matches()
