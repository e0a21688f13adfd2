"""Positions that labels are made for: those of any table, each once, with the games that they are from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bgdata.datasets.common.columns import CLASS_COLUMN, POSITION_COLUMNS, chosen_texts, class_column, position_columns
from bgdata.datasets.common.games import turn_places
from bgdata.datasets.common.imports import POSITION_ARRAYS
from bgdata.errors import InvalidParameterError, ManifestFormatError, MissingTableError
from bgdata.store.dataset import Dataset, Input
from bgdata.store.declaration import Column, FlatArray
from bgdata.store.parameters import Given, Parameters, VersionRef, to_json
from bgdata.store.versions import VERSION

if TYPE_CHECKING:
    import pyarrow as pa

    from bgdata.store.arrays import Array
    from bgdata.store.table import Table
    from bgdata.store.versions import Versions

UNNAMED = VersionRef("positions", "unnamed")
PLACE_COLUMNS = (
    Column("row", "INTEGER", "", "Row of the source, from 0: the first that has the position"),
    Column("game", "INTEGER", "", "Number of the game that this row is from, null where the source has no games"),
    Column("turn", "INTEGER", "", "Number of the turn in that game, from 0"),
    *POSITION_COLUMNS,
    CLASS_COLUMN,
)
SPLIT_COLUMN = Column("split", "VARCHAR", "", "train, validation or test: by the game, without one by the position")
PLACE_ARRAYS = (
    FlatArray("rows", "int32", "row", "Row of the source"),
    FlatArray("games", "int32", "row", "Number of the game, -1 where the source has none"),
    FlatArray("turns", "int32", "row", "Number of the turn in it, -1 where the source has no games"),
    *POSITION_ARRAYS,
)
SPLITS_ARRAY = FlatArray("splits", "uint8", "row", "Train, validation or test: 0, 1 or 2")


class Places(NamedTuple):
    """Distinct positions, in the order of the source: the arrays of PLACE_ARRAYS and SPLITS_ARRAY."""

    rows: Array
    games: Array
    turns: Array
    boards: Array
    classes: Array
    splits: Array

    def chosen(self, which: Array) -> Places:
        """Some of them."""
        return Places(*(values[which] for values in self))


def source_input(source: VersionRef, recipe: Given, *, turns: bool = True) -> Input:
    """The version that is named, or else the variant: then `recipe` has the parameters of
    a variant that is neither imported nor a default. Raises InvalidParameterError for one that has no positions; those
    of the turns of games count unless `turns` is false."""
    from bgdata.datasets import all_kinds

    kind = all_kinds().get(source.kind)
    if kind is None or not has_positions([array.name for array in kind.arrays], turns=turns):
        raise InvalidParameterError(f"expected a table of positions, such as positions/NAME, got {source}")
    return source if source.version else variant_input(kind, source.variant, recipe)


def variant_input(kind: Dataset[Any], variant: str, recipe: Given) -> tuple[str, Parameters]:
    """(kind, parameters) of a variant: `recipe` has the parameters of one that is neither imported nor a
    default. Raises InvalidParameterError."""
    if recipe.values:
        try:
            parameters: Parameters = kind.parameters.from_manifest(to_json(recipe))
        except ManifestFormatError as error:
            raise InvalidParameterError(f"{error} for {kind.name}/{variant}") from None
        if kind.slug(parameters) != variant:
            raise InvalidParameterError(
                f"expected parameters of {kind.name}/{variant}, got those of {kind.slug(parameters)}"
            )
        return kind.name, parameters
    if kind.takes_files:
        return kind.name, kind.parameters(variant)
    for known in (*kind.defaults, kind.smallest):
        if kind.slug(known) == variant:
            return kind.name, known
    raise InvalidParameterError(f"expected a default variant of {kind.name}, or parameters beside it, got {variant}")


def has_positions(arrays: list[str], *, turns: bool) -> bool:
    """Whether a kind with these arrays has positions: one a row, or where `turns` count one a turn of games."""
    return "boards" in arrays or (turns and {"turn_boards", "first_turns"} <= set(arrays))


def find_source(warehouse: Versions, source: str) -> tuple[VersionRef, Given]:
    """What `source_input` takes for the version that `kind/variant/version` names, or the current one of
    `kind/variant`: the variant and its recipe, or the version itself where a recipe would lead to another one.

    Raises InvalidParameterError for a name of no table of positions, and MissingTableError.
    """
    name, _, rest = source.partition("/")
    if name not in warehouse.kinds or not re.fullmatch(rf"[a-z0-9-]+(/{VERSION.pattern})?", rest):
        raise InvalidParameterError(f"expected a table of positions, such as positions/NAME, got {source}")
    table = warehouse.open_reference(source)
    if "/" in rest or not leads_to(warehouse, table):
        return VersionRef.parse(table.name), Given()
    return VersionRef.parse(source), recipe_of(warehouse, table)


def variant_recipe(warehouse: Versions, table: Table) -> Given:
    """What `variant_input` needs beside the name of a variant that is there. Raises MissingTableError for a version
    whose own inputs are there no more."""
    if not leads_to(warehouse, table):
        kind = table.manifest.dataset
        raise MissingTableError(
            f"expected {kind}/{table.manifest.variant} made from what is in {warehouse.root}, found "
            f"{table.folder.name} made from something else; try: bgdata build {kind}"
        )
    return recipe_of(warehouse, table)


def leads_to(warehouse: Versions, table: Table) -> bool:
    """Whether the parameters of a version, with what is in the warehouse now, are those of this very version."""
    kind = warehouse.kind(table.manifest.dataset)
    found = warehouse.find(kind, kind.parameters.from_manifest(table.manifest.parameters))
    return found is not None and found.folder == table.folder


def recipe_of(warehouse: Versions, table: Table) -> Given:
    """The parameters of a version, none where the name of its variant says them."""
    kind = warehouse.kind(table.manifest.dataset)
    known = [kind.slug(each) for each in (*kind.defaults, kind.smallest)]
    if kind.takes_files or table.manifest.variant in known:
        return Given()
    return Given.of(kind.parameters.from_manifest(table.manifest.parameters))


def places_of(source: Table) -> Places:
    """The distinct positions of a table, each where it is first; finished games too, which have nothing to learn.

    Splits are those of the source where it has them, else by its games (of the seed that it names), else by the
    position.
    """
    from bgdata.datasets.position_sample import board_hashes
    from bgdata.game.board_kernels import position_classes

    has_turns = (source.folder / "turn_boards.npy").exists()
    boards = np.asarray(source.array("turn_boards" if has_turns else "boards"))
    _, first = np.unique(board_hashes(boards), return_index=True)
    rows = np.sort(first)
    chosen = np.ascontiguousarray(boards[rows])
    games, turns = games_of(source, rows, has_turns=has_turns)
    return Places(
        rows.astype(np.int32),
        games.astype(np.int32),
        turns.astype(np.int32),
        chosen,
        position_classes(chosen).astype(np.uint8),
        splits_of(source, rows, games, chosen),
    )


def games_of(source: Table, rows: Array, *, has_turns: bool) -> tuple[Array, Array]:
    """(game, number of the turn in it) of some rows; -1 where nobody knows."""
    if has_turns:
        games, turns = turn_places(np.asarray(source.array("first_turns")), slice(0, len(source.array("turn_boards"))))
        return games[rows], turns[rows]
    if (source.folder / "games.npy").exists() and (source.folder / "turns.npy").exists():
        return np.asarray(source.array("games"))[rows], np.asarray(source.array("turns"))[rows]
    return np.full(len(rows), -1), np.full(len(rows), -1)


def splits_of(source: Table, rows: Array, games: Array, boards: Array) -> Array:
    """uint8[n]: places in `splits.SPLITS` of some rows, their games and boards."""
    from bgdata.game.position_hash import position_hashes
    from bgdata.play.splits import splits_of_games, splits_of_hashes

    if (source.folder / "splits.npy").exists():
        return np.asarray(source.array("splits"))[rows]
    by_game = splits_of_games(int(source.manifest.parameters.get("seed", 0)), games)
    return np.where(games >= 0, by_game, splits_of_hashes(position_hashes(boards))).astype(np.uint8)


def place_columns(arrays: Mapping[str, Array]) -> dict[str, pa.Array]:
    """PLACE_COLUMNS of some rows of the arrays."""
    import pyarrow as pa

    has_no_game = arrays["games"] < 0
    return {
        "row": arrays["rows"],
        "game": pa.array(arrays["games"], mask=has_no_game),
        "turn": pa.array(arrays["turns"], mask=has_no_game),
        **position_columns(arrays["boards"]),
        "class": class_column(arrays["classes"]),
    }


def split_column(splits: Array) -> pa.Array:
    """SPLIT_COLUMN of uint8[n] places in `splits.SPLITS`."""
    import pyarrow as pa

    from bgdata.play.splits import SPLITS

    return chosen_texts(pa.array(SPLITS), splits.astype(np.int32))
