"""Recorded matches, replayed: every play is legal, and the position before every turn is known."""

from __future__ import annotations

from collections.abc import Mapping

from bgdata.imports.kinds.shared.imports import (
    QUARANTINE,
    QUARANTINE_ARRAYS,
    SOURCE_COLUMNS,
    FileImport,
    ImportParameters,
)
from bgdata.kinds.columns import text_declarations
from bgdata.selfplay.kinds.shared.corpora import derived_columns
from bgdata.selfplay.kinds.shared.games import GAME, GAME_ARRAYS, GAMES, TURN_ARRAYS, TURNS
from bgdata.store.dataset import Column, FlatArray, TableShape

GAME_NOTES = TableShape(
    name="game_notes",
    file="game_notes.parquet",
    summary="What was repaired or read leniently in imported games, and what is missing of their matches.",
    columns=(
        GAME,
        Column("note", "INTEGER", "", "Number of the note in its version, from 0"),
        *SOURCE_COLUMNS,
        Column("text", "VARCHAR", "", "What was done, or what is missing"),
    ),
    key=("game", "note"),
)


class Matches(FileImport):
    """Games keep the order of the files."""

    name = "matches"
    revision = 5  # 5: files as more programs write them, with notes; rolls that were not played are no dances
    summary = "Matches and money sessions recorded by other programs, every game replayed from the start position."
    endings = (".mat", ".sgf", ".txt")
    source = "Imported from .mat (Jellyfish format) and .sgf files as gnubg and others write them"
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
        FlatArray("note_games", "int32", "note", "Index of the note's game"),
        FlatArray("note_sources", "uint16", "note", "Index of the note's file in `sources`"),
        FlatArray("note_lines", "int32", "note", "Line of the file, from 1"),
        *text_declarations("notes", "note", "What was repaired or read leniently, or is missing"),
        *QUARANTINE_ARRAYS,
    )

    def derived_columns(self, parameters: ImportParameters) -> Mapping[str, str]:
        return derived_columns(self, parameters)

    @property
    def tables(self) -> tuple[TableShape, ...]:
        return GAMES, TURNS, GAME_NOTES, QUARANTINE


DATASET = Matches()
