"""Parts that several kinds of rollouts share: the network, the settings, and the source of the positions."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from bgdata.bearoff.kinds.bearoff_one_sided import race_inputs
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.errors import InvalidParameterError, ManifestFormatError, MissingTableError, TooLargeError, UsageError
from bgdata.evaluation.players import DEFAULT_NETWORK, SHIPPED
from bgdata.imports.kinds.shared.imports import POSITION_ARRAYS
from bgdata.kinds import all_kinds
from bgdata.kinds.columns import CLASS_COLUMN, CORPUS_COLUMN, PIP_COLUMNS, POSITION_COLUMNS, TURN_COLUMN
from bgdata.store.dataset import Column, Dataset, FlatArray, Input
from bgdata.store.parameters import Given, Parameters, VersionRef, to_json
from bgdata.store.versions import VERSION
from bgdata.training.kinds.network import known_network

if TYPE_CHECKING:
    from bgdata.selfplay.rollout import Limits, RolloutSettings
    from bgdata.store.table import Table
    from bgdata.store.versions import Versions

UNNAMED = VersionRef("positions", "unnamed")
MAX_ROWS = 1 << 31  # limit of the column `row`
PLACE_COLUMNS = (
    Column("row", "INTEGER", "", "Row of the source, from 0: the first that has the position"),
    CORPUS_COLUMN,
    Column("game", "INTEGER", "", "Number of the game that this row is from, null where there is none"),
    TURN_COLUMN,
    *POSITION_COLUMNS,
    CLASS_COLUMN,
    *PIP_COLUMNS,
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
    """Return the input for a source of positions. The input is the version `source`. If `source` is a variant, the
    input is the kind and parameters of that variant, which `recipe` contains unless the variant is imported or a
    default. Raises InvalidParameterError if the source has no positions; turns of games count as positions unless
    `turns` is false."""
    kind = all_kinds().get(source.kind)
    arrays = [array.name for array in kind.arrays] if kind else []
    if kind is None or not has_positions(arrays, turns=turns):
        hint = SAMPLE if has_positions(arrays, turns=True) else ""
        raise InvalidParameterError(f"expected a table of positions, such as positions/NAME, got {source}{hint}")
    return source if source.version else variant_input(kind, source.variant, recipe)


def check_splits(source: VersionRef) -> None:
    """Raise InvalidParameterError if the source of labels is a table of rollouts. Rollouts record no splits, and splits
    by position would separate positions of one game."""
    if source.kind == "rollout_labels":
        raise InvalidParameterError(f"expected the table whose positions {source} rolled out, got {source} itself")


def variant_input(kind: Dataset[Any], variant: str, recipe: Given) -> tuple[str, Parameters]:
    """Return the kind and the parameters of a variant. `recipe` contains the parameters unless the variant is imported
    or a default. Raises InvalidParameterError if these are the parameters of another variant."""
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
    """Return whether a kind with arrays of these names has positions: one for each row, or, if `turns` is true, one for
    each turn of games."""
    return "boards" in arrays or (turns and {"turn_boards", "first_turns"} <= set(arrays))


PART_POSITIONS = 4_000_000  # positions of a part of labels: 0.5 GB of memory


def position_count(source: Table) -> int:
    """Return the number of positions in a table: one for each row, or one for each turn of games. Raises TooLargeError
    if the table has more positions than row numbers can count."""
    found = len(source.array("turn_boards" if source.has_array("turn_boards") else "boards"))
    if found >= MAX_ROWS:
        raise TooLargeError(f"expected a source of less than {MAX_ROWS:,} positions, got {found:,} in {source.name}")
    return found


def find_source(warehouse: Versions, source: str) -> tuple[VersionRef, Given]:
    """Return the arguments that `source_input` needs for `kind/variant/version`, or for the current version of
    `kind/variant`. They are the variant and its parameters, or the version itself if those parameters now lead to
    another version. Raises MissingTableError if there is no such version, and InvalidParameterError if it is not a
    table of positions."""
    name, _, rest = source.partition("/")
    if name not in warehouse.kinds or not re.fullmatch(rf"[a-z0-9-]+(/{VERSION.pattern})?", rest):
        raise InvalidParameterError(f"expected a table of positions, such as positions/NAME, got {source}")
    table = warehouse.open_reference(source)
    if "/" in rest or not is_up_to_date(warehouse, table):
        return VersionRef.parse(table.name), Given()
    return VersionRef.parse(source), recipe_of(warehouse, table)


def variant_recipe(warehouse: Versions, table: Table) -> Given:
    """Return the parameters of an existing version, for `variant_input`. Raises MissingTableError if inputs of the
    version are missing."""
    if not is_up_to_date(warehouse, table):
        kind = table.manifest.dataset
        raise MissingTableError(
            f"expected {kind}/{table.manifest.variant} made from what is in {warehouse.root}, found "
            f"{table.folder.name} made from something else; try: bgdata build {kind}"
        )
    return recipe_of(warehouse, table)


def is_up_to_date(warehouse: Versions, table: Table) -> bool:
    """Return whether a build with the parameters of a version and the current inputs would give this same version."""
    kind = warehouse.kind(table.manifest.dataset)
    found = warehouse.find(kind, kind.parameters.from_manifest(table.manifest.parameters))
    return found is not None and found.folder == table.folder


def recipe_of(warehouse: Versions, table: Table) -> Given:
    """Return the parameters of a version; empty if the name of its variant determines them."""
    kind = warehouse.kind(table.manifest.dataset)
    known = [kind.slug(each) for each in (*kind.defaults, kind.smallest)]
    if kind.takes_files or table.manifest.variant in known:
        return Given()
    return Given.of(kind.parameters.from_manifest(table.manifest.parameters).to_json())


ERROR_COLUMNS = tuple(
    Column(f"{name}_standard_error", "FLOAT", "chance", f"Standard error of {name}")
    for name in ("win", "win_gammon", "win_backgammon", "lose_gammon", "lose_backgammon")
)
EQUITY_COLUMNS = (
    Column("equity", "DOUBLE", "points", "Cubeless money equity, from the chances before they are held to the rules"),
    Column("standard_error", "DOUBLE", "points", "Standard error of equity"),
    Column("plain_standard_error", "DOUBLE", "points", "What it were if luck had not been subtracted"),
    Column("trials", "BIGINT", "games", "Games played"),
    Column("is_reached", "BOOLEAN", "", "Whether the standard error is as small as was wanted"),
)
NETWORK_COLUMN = Column("network", "VARCHAR", "", "Network that played both sides, and its version")
NETWORK_ARRAY = FlatArray(
    "network", "uint8", "byte", "Network that played both sides, and its version: UTF-8", is_shared=True
)


@dataclass(frozen=True)
class NetworkChoice(Parameters):
    """Parameters that name a network and its bearoff tables. If `network` is not part of bgdata, `network_version`
    names its version in the warehouse."""

    network: str = DEFAULT_NETWORK
    network_version: str = ""
    table_points: int = 6
    table_checkers: int = 6

    def check_network(self) -> None:
        """Raise InvalidParameterError if `network` cannot be the name of a network."""
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", self.network):
            raise InvalidParameterError(f"expected the name of a network, got {self.network!r}")

    def check_determined(self) -> None:
        """Raise InvalidParameterError if the network is not part of bgdata and `network_version` is empty: another
        network could be trained under the same name."""
        comes_along = known_network(self.network) is not None or (SHIPPED / self.network).is_dir()
        if not (self.network_version or comes_along):
            raise InvalidParameterError(
                f"expected the version of the network {self.network}, which does not come with bgdata, "
                "in network_version, such as r1-0123abcd, got none"
            )

    def usual_network(self, network: str) -> str:
        """Return `network`, or the name of the default network if `network` is the string "network"."""
        return network

    def network_inputs(self) -> dict[str, tuple[str, Parameters]]:
        """Return the inputs by role: the bearoff tables, and the network if it is part of bgdata."""
        found: dict[str, tuple[str, Parameters]] = {
            "two_sided": ("bearoff_two_sided", TwoSidedParameters(self.table_points, self.table_checkers)),
            **race_inputs(self.table_points),
        }
        known = known_network(self.network)
        if known and not self.network_version:
            found["network"] = known
        return found


@dataclass(frozen=True)
class RollerParameters(NetworkChoice):
    """Parameters that name the network that plays both sides, and the settings of rollouts; see `selfplay.rollout`.
    `until` is the standard error to reach, in points; if `turns` is 0, games are played to the end. `play_ply` is the
    ply at which both sides choose plays, 0 or 1."""

    later: ClassVar[tuple[str, ...]] = ("play_ply",)

    trials: int = 1296
    until: float | None = None
    most_trials: int = 0
    stop: str = "exact"
    turns: int = 0
    with_luck: bool = True
    play_ply: int = 0

    @property
    def how_text(self) -> str:
        """The suffix of a variant's name if plays are chosen by looking ahead, else an empty string."""
        return f"-{self.play_ply}ply" if self.play_ply else ""

    def how(self) -> RolloutSettings:
        """Return the settings of the rollouts, for `selfplay.rollout`."""
        from bgdata.selfplay.rollout import RolloutSettings

        return RolloutSettings(self.stop, self.turns, self.with_luck, play_ply=self.play_ply)

    def limits(self) -> Limits:
        """Return the limits on the number of trials of a rollout."""
        from bgdata.selfplay.rollout import Limits

        return Limits(self.trials, math.inf if self.until is None else self.until, self.most_trials)

    def check_roller(self, seed: int) -> None:
        """Raise InvalidParameterError if no rollout with these settings and dice of this seed is possible."""
        try:
            self.limits().check()
            self.how().for_kernels(seed)
        except UsageError as error:
            raise InvalidParameterError(str(error)) from None
        self.check_network()
