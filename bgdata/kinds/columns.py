"""Columns and arrays that many kinds declare: positions, chances, classes, strings."""

from __future__ import annotations

from bgdata.store.dataset import Column, FlatArray

POSITION_COLUMNS = (
    Column("position_id", "VARCHAR", "", "gnubg's Position ID, 14 characters, of the player on roll"),
    Column(
        "board", "TINYINT[]", "checkers", "26 integers: opponent's bar, points 1 to 24 (the opponent negative), own bar"
    ),
)
PIP_COLUMNS = (
    Column("pips", "SMALLINT", "pips", "Pip count of the player on roll"),
    Column("opponent_pips", "SMALLINT", "pips", "Pip count of the opponent"),
)
CORPUS_COLUMN = Column("corpus", "VARCHAR", "", "KIND/VARIANT of the games that the row is from; null without games")
JOINS_GAMES = "games using (corpus, game)"
JOINS_TURNS = "turns using (corpus, game, turn)"
# `place` is the index of a count in the board, from 1
_PIPS = "list_sum(list_transform(board, lambda checkers, place: {counted} * {point}))"
DERIVED_PIPS = {
    "pips": _PIPS.format(counted="greatest(checkers, 0)", point="(place - 1)"),
    "opponent_pips": _PIPS.format(
        counted="case when place = 1 then checkers else greatest(-(checkers::integer), 0) end", point="(26 - place)"
    ),
}
CHANCE_COLUMNS = (
    Column("win", "FLOAT", "chance", "Winning, whatever the size"),
    Column("win_gammon", "FLOAT", "chance", "Winning a gammon or backgammon"),
    Column("win_backgammon", "FLOAT", "chance", "Winning a backgammon"),
    Column("lose_gammon", "FLOAT", "chance", "Losing a gammon or backgammon"),
    Column("lose_backgammon", "FLOAT", "chance", "Losing a backgammon"),
)
EQUITY_COLUMN = Column("cubeless_equity", "FLOAT", "points", "What the five chances are worth to the player on roll")
CLASS_COLUMN = Column("class", "VARCHAR", "", "over, race, contact or crashed, as gnubg defines them")
TURN_COLUMN = Column("turn", "INTEGER", "", "Number of the turn in that game, from 0")
GAME_SPLIT_COLUMN = Column("split", "VARCHAR", "", "train, validation or test: the same for all positions of a game")
TURN_PLACE_ARRAYS = (
    FlatArray("games", "int32", "row", "Number of the game"),
    FlatArray("turns", "int32", "row", "Number of the turn in it"),
)
SPLITS_ARRAY = FlatArray("splits", "uint8", "row", "Train, validation or test: 0, 1 or 2")


def text_declarations(name: str, rows: str, meaning: str, *, is_shared: bool = False) -> tuple[FlatArray, FlatArray]:
    """Return the declarations of the two arrays that `kinds.column_values.text_arrays` makes of strings. `rows` names
    what has a string, and `meaning` says what the string is."""
    return (
        FlatArray(name, "uint8", "byte", f"{meaning}: UTF-8, one text after the other", is_shared),
        FlatArray(f"{name}_ends", "int64", rows, f"Where each text of `{name}` ends", is_shared),
    )
