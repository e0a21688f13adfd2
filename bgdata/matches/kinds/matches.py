"""Recorded matches, replayed: every play is legal, and the position before every turn is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bgdata.errors import InvalidParameterError
from bgdata.formats.lines import encoding_name
from bgdata.imports.kinds.shared.imports import (
    QUARANTINE,
    QUARANTINE_ARRAYS,
    SOURCE_COLUMNS,
    FileImport,
    ImportParameters,
)
from bgdata.kinds.columns import CHANCE_COLUMNS, text_declarations
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
MATCH = Column("match", "INTEGER", "", "Number of the match or session in its version, from 0")
IMPORTED_MATCHES = TableShape(
    name="imported_matches",
    file="imported_matches.parquet",
    summary="Imported matches and money sessions: where they are from, and what their files say of them.",
    columns=(
        MATCH,
        Column("source", "VARCHAR", "", "Name of the file"),
        Column("format", "VARCHAR", "", "mat, sgf, gnubg text, gnubg html, xg, bgf or ogxm"),
        Column("player_0", "VARCHAR", "", "Name of player 0"),
        Column("player_1", "VARCHAR", "", "Name of player 1"),
        Column("match_length", "SMALLINT", "points", "Points that win the match, 0 for money"),
        Column("n_games", "INTEGER", "games", "Its games in `games`"),
        Column("date", "VARCHAR", "", "Date as the file says it, null where it does not"),
        Column("event", "VARCHAR", "", "Event as the file says it, null where it does not"),
        Column("place", "VARCHAR", "", "Place as the file says it, null where it does not"),
        Column("info", "VARCHAR", "", "All that the file says of the match: a list of names and values, as JSON"),
        Column("played", "VARCHAR", "", "Hash of the rolls, plays and cube actions: the same in all formats"),
        Column("n_files", "INTEGER", "files", "Files with this match; only the first is in `games`"),
    ),
    key=("match",),
)
FOREIGN_ANALYSIS = TableShape(
    name="foreign_analysis",
    file="foreign_analysis.parquet",
    summary="What imported files say of turns: plays and cube actions as other programs judged them, luck, comments.",
    columns=(
        GAME,
        Column("turn", "INTEGER", "", "Number of the turn in its game, from 0"),
        Column("subject", "VARCHAR", "", "play, cube (of the player on roll), luck (of the roll), or comment"),
        Column("analyst", "VARCHAR", "", "Program that said it, or author of a comment; empty if unknown"),
        Column("choice", "SMALLINT", "", "Number of the choice in its order in the file, from 0"),
        Column("level", "VARCHAR", "", "How deep the program looked, in its own words"),
        Column("text", "VARCHAR", "", "Play, cube action or comment"),
        Column("is_made", "BOOLEAN", "", "Whether this is the play that was made, null for other subjects"),
        Column("value", "DOUBLE", "as unit says", "Equity with the cube to the player on roll, or luck; else null"),
        Column("unit", "VARCHAR", "", "points (of normalised equity) or mwc; empty for comments"),
        *CHANCE_COLUMNS,
    ),
    key=("game", "turn", "subject", "analyst", "choice"),
)
SAID_ARRAYS = (
    FlatArray("said", "int32", "statement, (turn, subject, analyst, choice, made, mwc)", "Indexes; made -1: unknown"),
    FlatArray("said_values", "float32", "statement, (value, five chances)", "NaN where the file has none"),
    *text_declarations("said_texts", "statement", "Plays, cube actions and comments"),
    *text_declarations("analysts", "analyst", "Programs and how deep they looked, as JSON"),
)


@dataclass(frozen=True)
class MatchesParameters(ImportParameters):
    """Parameters of imported matches: the name, and the encoding of texts that are neither UTF-8 nor UTF-16, by
    Python's name; empty for code page 1252."""

    later = ("encoding",)
    encoding: str = ""

    def check(self) -> None:
        """Raise InvalidParameterError for an invalid name, or for an unknown encoding."""
        super().check()
        if self.encoding and self.encoding != (name := encoding_name(self.encoding)):
            raise InvalidParameterError(f"expected the encoding {name} by this name, got {self.encoding}")


class Matches(FileImport):
    """Kind `matches`: recorded matches, imported and replayed. `games` has one row per game, in the order of the files;
    `turns` has one row per turn."""

    name = "matches"
    revision = 7  # 7: names of players have no control characters
    summary = "Matches and money sessions recorded by other programs, every game replayed from the start position."
    is_told_by_content = True
    parameters = MatchesParameters
    smallest = MatchesParameters("sample")
    source = "Imported from .mat (Jellyfish format), .sgf, .xg, .bgf and .ogxm files and exports of gnubg and others"
    licence = "as of the files"
    columns = GAMES.columns
    key = GAMES.key
    arrays = (
        *GAME_ARRAYS,
        *text_declarations("players", "game x 2", "Names of the players of each game"),
        *TURN_ARRAYS,
        *text_declarations("plays", "turn", "Checker moves in the usual notation, empty without"),
        *text_declarations("infos", "match", "What else the file says of the match, as JSON"),
        *text_declarations("forms", "match", "Format of the file"),
        *text_declarations("played", "match", "Hash of the rolls, plays and cube actions"),
        FlatArray("match_sources", "int32", "match, (file, number of files)", "Index in `sources`, and all its files"),
        *text_declarations("sources", "file", "Names of the files"),
        FlatArray("note_games", "int32", "note", "Index of the note's game"),
        FlatArray("note_sources", "uint16", "note", "Index of the note's file in `sources`"),
        FlatArray("note_lines", "int32", "note", "Line of the file, from 1"),
        *text_declarations("notes", "note", "What was repaired or read leniently, or is missing"),
        *SAID_ARRAYS,
        *QUARANTINE_ARRAYS,
    )

    def derived_columns(self, parameters: ImportParameters) -> Mapping[str, str]:
        return derived_columns(self, parameters)

    @property
    def tables(self) -> tuple[TableShape, ...]:
        return GAMES, TURNS, GAME_NOTES, IMPORTED_MATCHES, FOREIGN_ANALYSIS, QUARANTINE


DATASET = Matches()
