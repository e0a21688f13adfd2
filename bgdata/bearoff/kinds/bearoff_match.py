"""Match bearoffs: exact match winning chances of every pair of layouts at one score and cube value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from bgdata.bearoff.index import layout_count
from bgdata.bearoff.kinds.bearoff_two_sided import check_size, is_rounded
from bgdata.bearoff.match_table import match_columns, start_states
from bgdata.equity.kinds.match_equity import DATASET as MATCH_EQUITY
from bgdata.equity.match_equity import KINDS, met_names
from bgdata.errors import InvalidParameterError, InvalidScoreError, MissingTableError
from bgdata.game.match import MatchScore
from bgdata.kinds import all_kinds
from bgdata.selfplay.kinds.shared.rollouts import variant_input, variant_recipe
from bgdata.store.dataset import Column, Dataset, Estimate, FlatArray
from bgdata.store.parameters import NONE_GIVEN, Given, Parameters, VersionRef
from bgdata.store.versions import Versions

MAX_CHECKERS = 14  # with 15 checkers a gammon is possible
MAX_AWAY = 64  # as in match equity tables
DEFAULT_MET = MATCH_EQUITY.slug(MATCH_EQUITY.defaults[0])


@dataclass(frozen=True)
class MatchBearoffParameters(Parameters):
    """Parameters of `bearoff_match`: both sides have up to `checkers` checkers on points 1 to `points`; the player on
    roll needs `away` points, the opponent `opponent_away`.

    `met` is the name of a match equity table. `met_source` is the kind/variant that contains this table, by default
    match_equity/MET, and `met_recipe` the parameters of that variant for
    `selfplay.kinds.shared.rollouts.variant_input`."""

    size_names = ("points", "checkers")
    points: int = 6
    checkers: int = 6
    away: int = 5
    opponent_away: int = 5
    is_crawford: bool = False
    cube_value: int = 1
    met: str = DEFAULT_MET
    met_source: VersionRef | None = None
    met_recipe: Given = NONE_GIVEN

    def score(self) -> MatchScore:
        """Return the match score. Raises InvalidScoreError if it cannot occur."""
        return MatchScore(self.away, self.opponent_away, self.is_crawford)

    def source(self) -> VersionRef:
        """Return the variant in the warehouse that contains the match equity table."""
        return self.met_source or VersionRef(KINDS[0], self.met)


class BearoffMatch(Dataset[MatchBearoffParameters]):
    """Kind `bearoff_match`: exact match winning chances (MWC) at one score and cube value, with one row for each
    ordered pair of layouts, also pairs with an empty side."""

    name = "bearoff_match"
    revision = 2  # 2: Parquet contains all columns, as SQL shows them
    summary = (
        "Exact match winning chances of every pair of bearoff layouts at one score and cube value, for the player on "
        "roll who does not double now: optimal play and cube from there on, by a match equity table."
    )
    source = "Computed: backward recursion over all legal plays and cube actions, at every cube value still to come"
    columns = (
        Column("on_roll_index", "INTEGER", "", "Position index of the player on roll"),
        Column("opponent_index", "INTEGER", "", "Position index of the opponent"),
        Column("away", "INTEGER", "points", "Points that the player on roll still needs to win the match"),
        Column("opponent_away", "INTEGER", "points", "Points that the opponent still needs"),
        Column("is_crawford", "BOOLEAN", "", "Whether this is the Crawford game, in which neither side may double"),
        Column("cube_value", "INTEGER", "", "Value of the cube"),
        Column("met", "VARCHAR", "", "Name of the match equity table"),
        Column("cubeless_mwc", "FLOAT", "chance", "MWC if the cube is never turned again"),
        Column("owned_mwc", "FLOAT", "chance", "No-double MWC when the player on roll owns the cube; null at 1"),
        Column("centered_mwc", "FLOAT", "chance", "No-double MWC when the cube is in the middle; null above 1"),
        Column("opponent_owned_mwc", "FLOAT", "chance", "MWC when the opponent owns the cube; null at 1"),
        Column("taken_mwc", "FLOAT", "chance", "MWC after a double that is taken; null in the Crawford game"),
        Column("double_pass_mwc", "FLOAT", "chance", "MWC after winning the points on the cube, as by a pass"),
        Column("lost_mwc", "FLOAT", "chance", "MWC after losing the points on the cube"),
    )
    key = ("on_roll_index", "opponent_index")
    arrays = (
        FlatArray(
            "mwc",
            "float32",
            "on-roll index, opponent index, column",
            "MWC; in tables of more than 10 million pairs uint16 codes, mwc = code / 65535. Columns: cubeless; with a "
            "cube of 1 centered, above 1 owned and opponent's; and after a double that is taken, where one is allowed",
        ),
        FlatArray("results", "float64", "(won, lost), (this cube, twice the cube)", "MWC of the player after the game"),
    )
    parameters = MatchBearoffParameters
    defaults = (MatchBearoffParameters(), MatchBearoffParameters(away=3, opponent_away=5))
    smallest = MatchBearoffParameters(3, 3, 2, 3, met=MATCH_EQUITY.slug(MATCH_EQUITY.smallest))

    def slug(self, parameters: MatchBearoffParameters) -> str:
        crawford = "-crawford" if parameters.is_crawford else ""
        return (
            f"{parameters.points}x{parameters.checkers}-away-{parameters.away}-{parameters.opponent_away}{crawford}"
            f"-cube-{parameters.cube_value}-{parameters.met}"
        )

    def check_parameters(self, parameters: MatchBearoffParameters) -> None:
        check_size(parameters.points, parameters.checkers, MAX_CHECKERS)
        if not all(1 <= away <= MAX_AWAY for away in (parameters.away, parameters.opponent_away)):
            raise InvalidParameterError(
                f"expected 1 to {MAX_AWAY} points to go, got {parameters.away}-away {parameters.opponent_away}-away"
            )
        if not re.fullmatch(r"[a-z0-9-]+", parameters.met):
            raise InvalidParameterError(f"expected the name of a match equity table, got {parameters.met!r}")
        if not 1 <= parameters.cube_value < 4 * MAX_AWAY:
            raise InvalidParameterError(f"expected a cube value of 1 to {2 * MAX_AWAY}, got {parameters.cube_value}")
        try:
            start_states(parameters.score(), parameters.cube_value)
        except InvalidScoreError as error:
            raise InvalidParameterError(str(error)) from None
        self.inputs(parameters)

    def complete(self, parameters: MatchBearoffParameters, warehouse: Versions) -> MatchBearoffParameters:
        """Return the parameters with `met_source` and `met_recipe` filled in from the match equity table `met`. Raises
        MissingTableError if the warehouse does not contain it."""
        known = [MATCH_EQUITY.slug(each) for each in (*MATCH_EQUITY.defaults, MATCH_EQUITY.smallest)]
        if parameters.met_source or parameters.met in known:
            return parameters
        have = list(known)
        for name in KINDS:
            for table in warehouse.current(name):
                names = met_names(table.arrays())
                if parameters.met in names:
                    source, recipe = VersionRef(name, table.manifest.variant), variant_recipe(warehouse, table)
                    return replace(parameters, met_source=source, met_recipe=recipe)
                have += names
        raise MissingTableError(
            f"expected a match equity table among {', '.join(dict.fromkeys(have))}, got {parameters.met}"
        )

    def inputs(self, parameters: MatchBearoffParameters) -> Mapping[str, tuple[str, Parameters]]:
        source = parameters.source()
        kind = all_kinds().get(source.kind)
        if kind is None or source.kind not in KINDS:
            raise InvalidParameterError(f"expected a table of match equities, such as match_equity/NAME, got {source}")
        return {"met": variant_input(kind, source.variant, parameters.met_recipe)}

    def estimate(self, parameters: MatchBearoffParameters) -> Estimate:
        count = layout_count(parameters.points, parameters.checkers)
        columns = len(match_columns(parameters.score(), parameters.cube_value))
        most = max(parameters.away, parameters.opponent_away)
        states = 1 + sum(4 for level in range(8) if parameters.cube_value <= 2**level < most)
        item = 2 if is_rounded(parameters.points, parameters.checkers) else 4
        return Estimate(
            rows=count * count,
            disk_bytes=count * count * 2 * columns * item + count * count,
            memory_bytes=count * (count + 8) * 8 * (states + 4) + count * 21 * 6 * parameters.points * 8 + 2**28,
            checkpoint_bytes=count * (count + 8) * 8 * (states + 1),
        )


DATASET = BearoffMatch()
