"""Positions of self-play labelled with the outcome of the game, or with exact chances from tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bgdata.bearoff.kinds.bearoff_one_sided import DATASET as ONE_SIDED
from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters, race_inputs
from bgdata.bearoff.kinds.bearoff_two_sided import DATASET as TWO_SIDED
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.imports.kinds.shared.imports import CHANCES_ARRAY, POSITION_ARRAYS
from bgdata.kinds import columns as col
from bgdata.selfplay.kinds.selfplay import DATASET as SELFPLAY
from bgdata.selfplay.kinds.selfplay import SelfPlayParameters
from bgdata.selfplay.kinds.shared.corpora import RowsOfGames
from bgdata.selfplay.kinds.shared.games import PART_GAMES
from bgdata.store.dataset import Column, Estimate, FlatArray
from bgdata.store.parameters import Parameters

if TYPE_CHECKING:
    from bgdata.store.table import Table


@dataclass(frozen=True)
class SelfPlayLabelParameters(SelfPlayParameters):
    """Parameters of `selfplay_labels`: a corpus, the size of the two-sided table, and the points of the one-sided and
    gammon tables. The latter are combined for positions beyond the two-sided table. With 0 points, only exact chances
    rescore games."""

    points: int = 6
    checkers: int = 9
    one_sided_points: int = 0


class SelfPlayLabels(RowsOfGames[SelfPlayLabelParameters]):
    """Kind `selfplay_labels`: positions of self-play with rescored outcomes. One row per turn, in the order of the
    games; see `selfplay_labels_compute`."""

    name = "selfplay_labels"
    revision = 1
    summary = (
        "Every turn of self-play labelled with how its game ended, or with the chances of tables once it got there."
    )
    source = "Computed: games rescored by bearoff tables, as Lc0 rescores its own by endgame tablebases"
    columns = (
        col.CORPUS_COLUMN,
        Column("game", "INTEGER", "", "Number of the game in its corpus, from 0"),
        col.TURN_COLUMN,
        *col.POSITION_COLUMNS,
        col.CLASS_COLUMN,
        *col.PIP_COLUMNS,
        Column("outcome", "TINYINT", "points", "Points that the player on roll won in the end, -3 to 3"),
        *col.CHANCE_COLUMNS,
        col.EQUITY_COLUMN,
        Column("label_source", "VARCHAR", "", "Where they are from: outcome, exact (two-sided table) or combined"),
        Column("turns_later", "INTEGER", "turns", "When the table covers the game, 0: here; null for the outcome"),
        Column("hedged_equity", "FLOAT", "points", "The label less the luck of the rolls up to it, null if unknown"),
        col.GAME_SPLIT_COLUMN,
    )
    joins = (col.JOINS_TURNS, col.JOINS_GAMES)
    key = ("game", "turn")
    arrays = (
        *POSITION_ARRAYS,
        CHANCES_ARRAY,
        *col.TURN_PLACE_ARRAYS,
        FlatArray("outcomes", "int8", "row", "Points that the player on roll won, -3 to 3"),
        FlatArray("sources", "uint8", "row", "Outcome, exact or combined: 0, 1 or 2"),
        FlatArray("turns_later", "int32", "row", "Turns until a table covers the game; -1: never"),
        FlatArray("hedged_equities", "float32", "row", "The label less the luck of the rolls up to it, NaN if unknown"),
        col.SPLITS_ARRAY,
    )
    parameters = SelfPlayLabelParameters
    defaults = tuple(SelfPlayLabelParameters(**vars(corpus)) for corpus in SELFPLAY.defaults)
    smallest = SelfPlayLabelParameters(**vars(SELFPLAY.smallest), points=6, checkers=6, one_sided_points=6)
    part_items = PART_GAMES

    def slug(self, parameters: SelfPlayLabelParameters) -> str:
        combined = f"-combined-{parameters.one_sided_points}" if parameters.one_sided_points else ""
        return f"{SELFPLAY.slug(parameters.corpus)}-{parameters.points}x{parameters.checkers}{combined}"

    def check_parameters(self, parameters: SelfPlayLabelParameters) -> None:
        SELFPLAY.check_parameters(parameters.corpus)
        TWO_SIDED.check_parameters(TwoSidedParameters(parameters.points, parameters.checkers))
        if parameters.one_sided_points:
            ONE_SIDED.check_parameters(RaceParameters(parameters.one_sided_points))

    def inputs(self, parameters: SelfPlayLabelParameters) -> Mapping[str, tuple[str, Parameters]]:
        found: dict[str, tuple[str, Parameters]] = {
            "games": (SELFPLAY.name, parameters.corpus),
            "two_sided": (TWO_SIDED.name, TwoSidedParameters(parameters.points, parameters.checkers)),
        }
        if parameters.one_sided_points:
            found |= race_inputs(parameters.one_sided_points)
        return found

    def item_count(self, parameters: SelfPlayLabelParameters, _inputs: Mapping[str, Table]) -> int:
        return parameters.games

    def estimate(self, parameters: SelfPlayLabelParameters) -> Estimate:
        turns = 120 if parameters.player == "random" else 55
        memory = 300 * turns * min(parameters.games, PART_GAMES)
        return Estimate(turns * parameters.games, 90 * turns * parameters.games, (1 << 28) + memory)


DATASET = SelfPlayLabels()
