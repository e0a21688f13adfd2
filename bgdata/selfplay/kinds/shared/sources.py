"""Tables of positions that labels are made for: their names, and the recipes to build them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from bgdata.errors import InvalidParameterError, ManifestFormatError, MissingTableError
from bgdata.imports.kinds.shared.imports import POSITION_ARRAYS
from bgdata.kinds import all_kinds
from bgdata.kinds.columns import CLASS_COLUMN, POSITION_COLUMNS, TURN_COLUMN
from bgdata.store.dataset import Dataset, Input
from bgdata.store.declaration import Column, FlatArray
from bgdata.store.parameters import Given, Parameters, VersionRef, to_json
from bgdata.store.versions import VERSION

if TYPE_CHECKING:
    from bgdata.store.table import Table
    from bgdata.store.versions import Versions

UNNAMED = VersionRef("positions", "unnamed")
# of labels, whose variants are not those of turns: a join of both by variant has no rows
CORPUS = "its turns have the variant of the corpus, which the view lineage names"
PLACE_COLUMNS = (
    Column("row", "INTEGER", "", "Row of the source, from 0: the first that has the position"),
    Column("game", "INTEGER", "", f"Number of the game that this row is from, null where there is none; {CORPUS}"),
    TURN_COLUMN,
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

SAMPLE = ", which holds turns of games; try: a position_sample of it, or --engine lookahead"


def source_input(source: VersionRef, recipe: Given, *, turns: bool = True) -> Input:
    """The version that is named, or else the variant: then `recipe` has the parameters of
    a variant that is neither imported nor a default. Raises InvalidParameterError for one that has no positions; those
    of the turns of games count unless `turns` is false."""
    kind = all_kinds().get(source.kind)
    arrays = [array.name for array in kind.arrays] if kind else []
    if kind is None or not has_positions(arrays, turns=turns):
        hint = SAMPLE if has_positions(arrays, turns=True) else ""
        raise InvalidParameterError(f"expected a table of positions, such as positions/NAME, got {source}{hint}")
    return source if source.version else variant_input(kind, source.variant, recipe)


def check_splits(source: VersionRef) -> None:
    """Raise InvalidParameterError for rollouts as a source of labels: they leave splits to the positions that they
    label, and others would put positions of the same games into other splits."""
    if source.kind == "rollout_labels":
        raise InvalidParameterError(f"expected the table whose positions {source} rolled out, got {source} itself")


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
    """The arguments of `source_input` for the version that `kind/variant/version` names, or the current one of
    `kind/variant`: the variant and its recipe, or the version itself where a recipe would lead to another one.

    Raises InvalidParameterError for a name that is not a table of positions, and MissingTableError.
    """
    name, _, rest = source.partition("/")
    if name not in warehouse.kinds or not re.fullmatch(rf"[a-z0-9-]+(/{VERSION.pattern})?", rest):
        raise InvalidParameterError(f"expected a table of positions, such as positions/NAME, got {source}")
    table = warehouse.open_reference(source)
    if "/" in rest or not leads_to(warehouse, table):
        return VersionRef.parse(table.name), Given()
    return VersionRef.parse(source), recipe_of(warehouse, table)


def variant_recipe(warehouse: Versions, table: Table) -> Given:
    """The recipe that `variant_input` needs besides the name of an existing variant. Raises MissingTableError for a
    version whose own inputs are gone."""
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
    """The parameters of a version; empty if the name of its variant determines them all."""
    kind = warehouse.kind(table.manifest.dataset)
    known = [kind.slug(each) for each in (*kind.defaults, kind.smallest)]
    if kind.takes_files or table.manifest.variant in known:
        return Given()
    return Given.of(kind.parameters.from_manifest(table.manifest.parameters))
