"""The cube-life atlas: the index that makes Janowski's cube model exact, for every pair of bearoff layouts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bgdata.bearoff.index import layout_count
from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters, check_size
from bgdata.store.dataset import Column, Dataset, Estimate, FlatArray
from bgdata.store.parameters import Parameters

MAX_CHECKERS = 14  # with 15 checkers gammons are possible, and the model would need their chance
POINTS = "points per unit cube"
ACTIONS = ("double", "redouble", "take")
LOSSES = tuple(f"{source}_{action}_loss" for source in ("janowski", "one_sided") for action in ACTIONS)


@dataclass(frozen=True)
class CubeLifeParameters(Parameters):
    """Parameters of `cube_life`: both sides have 1 to `checkers` checkers on points 1 to `points`."""

    size_names = ("points", "checkers")
    points: int = 6
    checkers: int = 6


class CubeLife(Dataset[CubeLifeParameters]):
    """Kind `cube_life`: the cube life index that makes Janowski's model exact. One row per ordered pair of non-empty
    layouts."""

    name = "cube_life"
    revision = 1
    summary = (
        "The cube life index that makes Janowski's model exact for every ordered pair of non-empty layouts, how far "
        "each cube decision is from its border, and what decisions by the model and by one-sided chances lose."
    )
    source = (
        "Computed from bearoff_two_sided and bearoff_one_sided; model: R. Janowski, Take-Points in Money Games (1993)"
    )
    columns = (
        Column("on_roll_index", "INTEGER", "", "Position index of the player on roll"),
        Column("opponent_index", "INTEGER", "", "Position index of the opponent"),
        Column("on_roll_pip_count", "SMALLINT", "pips", "Pips of the player on roll"),
        Column("opponent_pip_count", "SMALLINT", "pips", "Pips of the opponent"),
        Column("win_chance", "FLOAT", "chance", "Exact chance that the player on roll wins without a cube"),
        Column("one_sided_win_chance", "FLOAT", "chance", "The same from the two one-sided distributions"),
        Column(
            "centered_cube_life_index",
            "FLOAT",
            "index",
            "Index of a centered cube; null where none from 0 to 1 is exact",
        ),
        Column("owned_cube_life_index", "FLOAT", "index", "Index of a cube that the player on roll owns, or null"),
        Column("opponent_owned_cube_life_index", "FLOAT", "index", "Index of a cube that the opponent owns, or null"),
        Column("double_margin", "FLOAT", POINTS, "What doubling a centered cube gains; negative where it is wrong"),
        Column("redouble_margin", "FLOAT", POINTS, "What doubling an owned cube gains; negative where it is wrong"),
        Column("take_margin", "FLOAT", POINTS, "What taking gains over passing; negative where a pass is right"),
        Column("janowski_double_loss", "FLOAT", POINTS, "Loss of a double or none by the model at index 0.7"),
        Column("janowski_redouble_loss", "FLOAT", POINTS, "Loss of a redouble or none by the model at index 0.7"),
        Column("janowski_take_loss", "FLOAT", POINTS, "Loss of a take or pass by the model at index 0.7"),
        Column("one_sided_double_loss", "FLOAT", POINTS, "As janowski_double_loss, by one-sided chances"),
        Column("one_sided_redouble_loss", "FLOAT", POINTS, "As janowski_redouble_loss, by one-sided chances"),
        Column("one_sided_take_loss", "FLOAT", POINTS, "As janowski_take_loss, by one-sided chances"),
    )
    key = ("on_roll_index", "opponent_index")
    whole_rows = 10_000_000
    arrays = (
        FlatArray("chances", "float32", "on-roll index - 1, opponent index - 1, (exact, one-sided)", "Chances to win"),
        FlatArray(
            "indexes",
            "float32",
            "on-roll index - 1, opponent index - 1, (centered, owned, opponent's cube)",
            "Cube life indexes from 0 to 1; in place of one -1 where the cube is worth less than a dead one, 2 where "
            "it is worth more than a live one, 3 where the two are worth too nearly the same",
        ),
        FlatArray(
            "margins",
            "float32",
            "on-roll index - 1, opponent index - 1, (double, redouble, take)",
            "What the action gains",
        ),
        FlatArray(
            "losses",
            "float32",
            "on-roll index - 1, opponent index - 1, (double, redouble, take; the same by one-sided chances)",
            "What decisions by the model at index 0.7 lose",
        ),
    )
    parameters = CubeLifeParameters
    defaults = more = (CubeLifeParameters(6, 6),)
    smallest = CubeLifeParameters(3, 3)

    def slug(self, parameters: CubeLifeParameters) -> str:
        return f"{parameters.points}x{parameters.checkers}"

    def check_parameters(self, parameters: CubeLifeParameters) -> None:
        check_size(parameters.points, parameters.checkers, MAX_CHECKERS)

    def inputs(self, parameters: CubeLifeParameters) -> Mapping[str, tuple[str, Parameters]]:
        return {
            "one_sided": ("bearoff_one_sided", RaceParameters(parameters.points)),
            "two_sided": ("bearoff_two_sided", TwoSidedParameters(parameters.points, parameters.checkers)),
        }

    def estimate(self, parameters: CubeLifeParameters) -> Estimate:
        count = layout_count(parameters.points, parameters.checkers) - 1
        return Estimate(rows=count**2, disk_bytes=count**2 * 110, memory_bytes=count**2 * 120 + 2**28)


DATASET = CubeLife()
