"""Losses by the doubles, redoubles and takes of rules of thumb, in races that an exact table has solved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bgdata.bearoff.index import layout_count
from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters
from bgdata.bearoff.kinds.bearoff_two_sided import DATASET as TWO_SIDED
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.kinds.columns import text_declarations
from bgdata.selfplay.kinds.selfplay import DATASET as SELFPLAY
from bgdata.selfplay.kinds.selfplay import SelfPlayParameters
from bgdata.store.dataset import Column, Dataset, Estimate, FlatArray
from bgdata.store.parameters import Parameters

DECISIONS = ("double", "redouble", "take")
WEIGHTINGS = ("equal", "played", "longer")
LONGER_CHECKERS = 5  # minimum number of checkers of both sides: with fewer, players count rolls rather than pips
PARTS = ("all", "tested")
POINTS = "points per unit cube"


@dataclass(frozen=True)
class RaceRuleParameters(SelfPlayParameters):
    """Parameters of `race_rules`: a corpus, which gives the frequency of positions, and the size of the two-sided
    table."""

    points: int = 6
    checkers: int = 9


class RaceRules(Dataset[RaceRuleParameters]):
    """Kind `race_rules`: losses by rules of thumb for the cube in solved races. One row per rule, decision, weighting
    and part of the positions."""

    name = "race_rules"
    revision = 1
    summary = (
        "What rules of thumb for the cube lose in races against the exact decisions of a two-sided table: published "
        "rules, and the best that a search of their family finds on one half of the positions."
    )
    source = "Computed from bearoff_two_sided, bearoff_one_sided and selfplay; each rule has its own source"
    columns = (
        Column(
            "rule", "VARCHAR", "", "Name of the rule; those of the search are found-equal, found-played, found-longer"
        ),
        Column("cube_decision", "VARCHAR", "", f"What is decided: {', '.join(DECISIONS)}"),
        Column(
            "weighting",
            "VARCHAR",
            "",
            "equal: every pair of layouts once; played: as often as in the corpus; "
            f"longer: the same where both sides have {LONGER_CHECKERS} checkers or more",
        ),
        Column("part", "VARCHAR", "", "all positions, or those tested: the half that the search has not seen"),
        Column("positions", "BIGINT", "positions", "Different pairs of layouts"),
        Column("occurrences", "BIGINT", "positions", "How often they come up; with equal weights, as many"),
        Column("mean_loss_per_cube", "DOUBLE", POINTS, "Mean loss of the decision by the rule"),
        Column("error_share", "DOUBLE", "share", "How often the decision loses more than the table may be off"),
        Column("largest_loss", "DOUBLE", POINTS, "Largest loss of one decision"),
        Column("on_roll_index", "INTEGER", "", "Position index of the player on roll where that is; null: nowhere"),
        Column("opponent_index", "INTEGER", "", "Position index of the opponent there"),
        Column("source", "VARCHAR", "", "Where the rule was published, or how it counts"),
    )
    key = ("rule", "cube_decision", "weighting", "part")
    arrays = (
        *text_declarations("rules", "row", "Names"),
        *text_declarations("sources", "row", "Where the rules were published, or how they count"),
        FlatArray("kinds", "int8", "row, (cube decision, weighting, part)", "Numbers of each"),
        FlatArray(
            "sums",
            "int64",
            "row, (positions, occurrences, loss, errors, largest loss)",
            "Over all positions; losses in ten-millionths of a point",
        ),
        FlatArray("places", "int32", "row, (on roll, opponent)", "Position indexes of the largest loss, -1: none"),
    )
    parameters = RaceRuleParameters
    defaults = more = (RaceRuleParameters(),)
    smallest = RaceRuleParameters(**vars(SELFPLAY.smallest), checkers=6)  # so few games reach no smaller table

    def slug(self, parameters: RaceRuleParameters) -> str:
        return f"{parameters.points}x{parameters.checkers}-of-{SELFPLAY.slug(corpus_of(parameters))}"

    def check_parameters(self, parameters: RaceRuleParameters) -> None:
        SELFPLAY.check_parameters(corpus_of(parameters))
        TWO_SIDED.check_parameters(TwoSidedParameters(parameters.points, parameters.checkers))

    def inputs(self, parameters: RaceRuleParameters) -> Mapping[str, tuple[str, Parameters]]:
        return {
            "games": (SELFPLAY.name, corpus_of(parameters)),
            "one_sided": ("bearoff_one_sided", RaceParameters(parameters.points)),
            "two_sided": (TWO_SIDED.name, TwoSidedParameters(parameters.points, parameters.checkers)),
        }

    def estimate(self, parameters: RaceRuleParameters) -> Estimate:
        layouts = layout_count(parameters.points, parameters.checkers)
        return Estimate(300, 100_000, (1 << 29) + 10_000 * layouts)


def corpus_of(parameters: RaceRuleParameters) -> SelfPlayParameters:
    """Return the parameters of the corpus that says how often positions occur."""
    return SelfPlayParameters(**{name: getattr(parameters, name) for name in SelfPlayParameters.names()})


DATASET = RaceRules()
