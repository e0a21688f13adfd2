"""The tables of games and turns, which are the same for imported matches and for self-play."""

from __future__ import annotations

from bgdata.errors import InvalidParameterError
from bgdata.kinds.columns import (
    CLASS_COLUMN,
    CORPUS_COLUMN,
    JOINS_GAMES,
    JOINS_TURNS,
    PIP_COLUMNS,
    POSITION_COLUMNS,
)
from bgdata.store.dataset import Column, FlatArray, TableShape

ACTIONS = ("play", "roll", "double", "beaver", "take", "pass", "resign")
MAX_GAMES = 1 << 30
PART_GAMES = 100_000  # games in a part of a corpus: some 5.5 million turns, half a GB of memory
GAME = Column("game", "INTEGER", "", "Number of the game in its version, from 0")
GAMES = TableShape(
    name="games",
    file="table.parquet",
    summary="Games, imported or played here: who, at which score, and what came out.",
    columns=(
        CORPUS_COLUMN,
        GAME,
        Column("match", "INTEGER", "", "Number of the match or session in its version, from 0"),
        Column("game_number", "SMALLINT", "", "Number of the game in its match, from 1"),
        Column("player_0", "VARCHAR", "", "Name of player 0"),
        Column("player_1", "VARCHAR", "", "Name of player 1"),
        Column("match_length", "SMALLINT", "points", "Points that win the match, 0 for money"),
        Column("score_0", "SMALLINT", "points", "Score of player 0 before the game"),
        Column("score_1", "SMALLINT", "points", "Score of player 1 before the game"),
        Column("is_crawford", "BOOLEAN", "", "Whether this is the Crawford game, null where the record does not say"),
        Column("winner", "TINYINT", "", "0 or 1, null for a game that was not finished"),
        Column("points_won", "SMALLINT", "points", "Points won, the cube included"),
        Column("n_turns", "INTEGER", "turns", "Rows of the game in `turns`"),
        Column("seed", "BIGINT", "", "Seed of the dice, which with the game's number decides them; null if imported"),
        Column("luck_0", "DOUBLE", "points", "Luck of player 0 less that of player 1, null where it is not known"),
        Column("hedged_points", "DOUBLE", "points", "Result of player 0 less luck_0, null where that is not known"),
    ),
    key=("game",),
    shared=True,
    joins=(JOINS_TURNS.replace(", turn)", ")"),),
)
TURNS = TableShape(
    name="turns",
    file="turns.parquet",
    summary="Turns of the games in `games`, in order: plays and cube actions, with the position before each.",
    columns=(
        CORPUS_COLUMN,
        GAME,
        Column("turn", "INTEGER", "", "Number of the turn in its game, from 0"),
        Column("player", "TINYINT", "", "Who acts: 0 or 1"),
        Column("action", "VARCHAR", "", "play, roll (not played any more), double, beaver, take, pass or resign"),
        *POSITION_COLUMNS,
        CLASS_COLUMN,
        *PIP_COLUMNS,
        Column("on_roll", "TINYINT", "", "Whose position it is: 0 or 1; at a take or pass the one who doubled"),
        Column("die1", "TINYINT", "", "First die as written, null without a roll"),
        Column("die2", "TINYINT", "", "Second die as written, null without a roll"),
        Column("play", "VARCHAR", "", "Checker moves in the usual notation"),
        Column("cube_value", "INTEGER", "", "Cube before the turn"),
        Column("cube_owner", "VARCHAR", "", "centered, on_roll or opponent, before the turn"),
        Column("cubeless_equity", "FLOAT", "points", "Static, before the roll, of the player on roll; null if unknown"),
        Column("luck", "FLOAT", "points", "What the roll is worth more than rolls on average; null if unknown"),
    ),
    key=("game", "turn"),
    shared=True,
    joins=(JOINS_GAMES,),
)
GAME_ARRAYS = (
    FlatArray(
        "games",
        "int32",
        "game, (match, number, length, scores 0 and 1, crawford, winner, points)",
        "As recorded; -1: unknown",
    ),
    FlatArray("first_turns", "int64", "game, and one past the last", "Where the game's turns begin"),
)
TURN_ARRAYS = (
    FlatArray("turn_boards", "int8", "turn, 26 integers", "Board of the player on roll before the turn"),
    FlatArray("turn_classes", "uint8", "turn", "Class of the position, numbered as by gnubg"),
    FlatArray("turn_moves", "int8", "turn, 4 checker moves, (from, to, hits)", "As written; -1: none, or unknown"),
    FlatArray("turns", "int32", "turn, (player, action, on roll, die 1, die 2, cube, owner)", "Indexes; 0 for no die"),
)


def check_count(games: int) -> None:
    """Raise InvalidParameterError if the number of games is below 1 or too large to be played."""
    if not 1 <= games < MAX_GAMES:
        raise InvalidParameterError(f"expected 1 to {MAX_GAMES:,} games, got {games}")


def check_seed(seed: int) -> None:
    """Raise InvalidParameterError if the seed is outside the range of seeds for dice."""
    if not 0 <= seed < 1 << 63:
        raise InvalidParameterError(f"expected a seed from 0 to 2^63 - 1, got {seed}")
