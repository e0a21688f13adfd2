"""Positions of games with the cube, rolled out with the cube, beside the values of Janowski's model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bgdata.equity.cube_models import DEFAULT_INDEX
from bgdata.kinds.columns import CHANCE_COLUMNS, CLASS_COLUMN, POSITION_COLUMNS, TURN_COLUMN
from bgdata.matches.kinds.match_analysis import PUBLISHED_MET
from bgdata.measures.kinds.reference_positions import THEMES
from bgdata.measures.kinds.shared.cube_corpora import CorporaParameters
from bgdata.selfplay.kinds.shared.rollouts import NETWORK_ARRAY, NETWORK_COLUMN
from bgdata.store.dataset import Column, Dataset, Estimate, FlatArray
from bgdata.store.parameters import Parameters

MODEL_INDEXES = (0.0, 1.0, DEFAULT_INDEX)  # cube life indexes of the columns dead, live and model


@dataclass(frozen=True)
class CubefulEquitiesParameters(CorporaParameters):
    """Parameters of `cubeful_equities`: the corpora, the number of positions, half of them from money games, and the
    settings of the rollouts: `trials` games each, in rounds until the standard error is at most `until`."""

    trials: int = 72
    positions: int = 20_000


class CubefulEquities(Dataset[CubefulEquitiesParameters]):
    """Kind `cubeful_equities`: positions before the roll, with their value without a double, rolled out and by
    Janowski's model. One row per position, ordered by a hash."""

    name = "cubeful_equities"
    revision = 1
    summary = "Positions of games with the cube, rolled out with the cube, beside the values of Janowski's model."
    source = "Computed: rollouts to the end of the game, with variance reduction by luck; models by Janowski (1993)"
    columns = (
        Column("row", "INTEGER", "", "Number of the position, from 0"),
        Column("xgid", "VARCHAR", "", "Position, score and cube of the player on roll"),
        *POSITION_COLUMNS,
        CLASS_COLUMN,
        Column("theme", "VARCHAR", "", f"What kind of game is played: {', '.join(THEMES)}"),
        Column("away", "INTEGER", "points", "Points that the player on roll needs; null in money play"),
        Column("opponent_away", "INTEGER", "points", "Points that the opponent needs; null in money play"),
        Column("cube_value", "INTEGER", "", "Cube before the roll"),
        Column("cube_owner", "VARCHAR", "", "centered, on_roll or opponent"),
        *CHANCE_COLUMNS,
        Column("dead", "DOUBLE", "points", "Value by Janowski's model at index 0: nobody ever turns the cube"),
        Column("live", "DOUBLE", "points", "Value by Janowski's model at index 1: all doubles come at the best moment"),
        Column("model", "DOUBLE", "points", f"Value by Janowski's model at its default index, {DEFAULT_INDEX:g}"),
        Column("measured", "DOUBLE", "points", "Value rolled out: normalised equity, without a double before the roll"),
        Column(
            "standard_error",
            "DOUBLE",
            "points",
            "Standard error of measured by its blocks of 36 games, uncertain if they are two; 0 where a table knows it",
        ),
        Column("trials", "BIGINT", "games", "Games of the rollout"),
        NETWORK_COLUMN,
        Column("game", "INTEGER", "", "Number of the game in the money games or matches, from 0"),
        TURN_COLUMN,
    )
    key = ("row",)
    arrays = (
        FlatArray("seeds", "int64", "position", "Seed of the dice of its rollout; ascends"),
        FlatArray("boards", "int8", "position, 26 integers", "Board of the player on roll"),
        FlatArray("classes", "uint8", "position", "Class of the position, numbered as by gnubg"),
        FlatArray("themes", "uint8", "position", f"Theme: {', '.join(THEMES)} from 0 on"),
        FlatArray("away", "int32", "position, (player on roll, opponent)", "Points needed; 0 in money play"),
        FlatArray("cubes", "int32", "position, (value, owner)", "Cube; owner 0 centered, 1 on_roll, 2 opponent"),
        FlatArray("games", "int32", "position", "Number of the game"),
        FlatArray("turns", "int32", "position", "Number of the turn in it"),
        FlatArray("chances", "float32", "position, 5 chances", "Static chances of the network"),
        FlatArray("models", "float64", "position, (dead, live, model)", "Normalised equities by Janowski's model"),
        FlatArray("measured", "float64", "position", "Normalised equities of the rollouts"),
        FlatArray("standard_errors", "float64", "position", "Standard errors"),
        FlatArray("trials", "int64", "position", "Games of each rollout"),
        NETWORK_ARRAY,
    )
    parameters = CubefulEquitiesParameters
    defaults = ()
    smallest = CubefulEquitiesParameters(
        "contact-160", "", 3, 3, 72, money_games=30, matches=6, length=5, positions=12, met=PUBLISHED_MET
    )

    def slug(self, parameters: CubefulEquitiesParameters) -> str:
        rollouts = f"{parameters.most_trials or parameters.trials}{parameters.how_text}{parameters.met_text}"
        return f"{parameters.positions}-of-{parameters.corpora_text}-by-{rollouts}"

    def check_parameters(self, parameters: CubefulEquitiesParameters) -> None:
        parameters.check_corpora(parameters.positions, "positions")

    def inputs(self, parameters: CubefulEquitiesParameters) -> Mapping[str, tuple[str, Parameters]]:
        return parameters.cube_inputs()

    def estimate(self, parameters: CubefulEquitiesParameters) -> Estimate:
        turns = 60 * (parameters.money_games + 8 * parameters.matches)
        return Estimate(parameters.positions, 50_000 + 400 * parameters.positions, (1 << 28) + 300 * turns)


DATASET = CubefulEquities()
