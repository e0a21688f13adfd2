"""Positions on which players are measured. Equally many of every theme are taken from games of many sources, and rolled
out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bgdata.errors import InvalidParameterError, cite
from bgdata.evaluation.players import PLAIN_PLAYERS
from bgdata.imports.kinds.shared.imports import CHANCES_ARRAY, POSITION_ARRAYS
from bgdata.kinds.columns import (
    CHANCE_COLUMNS,
    CLASS_COLUMN,
    EQUITY_COLUMN,
    POSITION_COLUMNS,
    TURN_COLUMN,
    TURN_PLACE_ARRAYS,
)
from bgdata.selfplay.kinds.shared.games import check_count
from bgdata.selfplay.kinds.shared.rollouts import ERROR_COLUMNS, NETWORK_ARRAY, NETWORK_COLUMN, RollerParameters
from bgdata.selfplay.kinds.training_games import STARTS
from bgdata.store.dataset import Column, Dataset, Estimate, FlatArray
from bgdata.store.parameters import Parameters
from bgdata.store.table import published_folder, published_versions
from bgdata.store.versions import VERSION
from bgdata.training.feed import REFERENCE

PUBLISHED = Path(__file__).parents[1] / "references"  # <variant>/<version>/, see docs/ship.py

THEMES = (  # in the order of `game.themes.Theme`, which imports kernels
    *("opening", "middle-game", "blitz", "priming-battle", "mutual-holding", "ace-point-game", "back-game-on-roll"),
    *("back-game-against", "containment", "bear-in-against-contact", "bear-off-against-contact", "crashed", "race"),
    "bear-off",
)
MAX_POSITIONS = 1 << 20  # positions of each theme
NAMED_NETWORK = re.compile(rf"network/([a-z0-9-]+)/({VERSION.pattern})")


@dataclass(frozen=True)
class ReferenceParameters(RollerParameters):
    """Parameters of `reference_positions`: the network that rolls out, the settings of its rollouts, and how positions
    are chosen.

    `positions` is the number of positions for each theme, half of them for validation and half for test. `sources` name
    the players of the games: a player that plays itself, or two as in `network+pubeval`. A player is `network` (the
    network that rolls out), pubeval, random, or another network as network/NAME/VERSION. At most `most_games` games are
    searched."""

    until: float | None = 0.007
    most_trials: int = 46_656
    positions: int = 240
    seed: int = 0
    most_games: int = 50_000
    sources: tuple[str, ...] = ("network", "pubeval", "network+pubeval", "random")

    def players(self) -> tuple[tuple[str, str], ...]:
        """Return the names of the two players of each source."""
        names = [source.split("+") for source in self.sources]
        return tuple((each[0], each[-1]) for each in names)


def published_references() -> dict[ReferenceParameters, Path]:
    """Return the folders of the reference positions in the package, by parameters. Folders with a damaged manifest are
    left out."""
    return published_versions(PUBLISHED, ReferenceParameters)


class ReferencePositions(Dataset[ReferenceParameters]):
    """Kind `reference_positions`: rolled-out positions of every theme, to measure players by. One row per position,
    ordered by theme and game."""

    name = "reference_positions"
    revision = 2  # 2: likely plays measure luck in races too
    summary = "Positions to measure players by: equally many of each theme, from games of many sources, rolled out."
    source = "Computed: rollouts with stratified rolls and variance reduction by luck (Zare 2000, Montgomery 2000)"
    columns = (
        Column("row", "INTEGER", "", "Row, from 0"),
        Column("theme", "VARCHAR", "", f"What kind of game is played: {', '.join(THEMES)}"),
        Column("source", "VARCHAR", "", "Players of the game that it is from: one that plays itself, or two"),
        Column("start", "VARCHAR", "", f"Where the game began: {', '.join(STARTS)}"),
        Column("is_perturbed", "BOOLEAN", "", "Whether one or two checkers were moved to random points"),
        Column("game", "INTEGER", "", "Number of the game, from 0"),
        TURN_COLUMN,
        *POSITION_COLUMNS,
        CLASS_COLUMN,
        *CHANCE_COLUMNS,
        *ERROR_COLUMNS,
        EQUITY_COLUMN,
        Column("standard_error", "DOUBLE", "points", "Standard error of cubeless_equity"),
        Column("trials", "BIGINT", "games", "Games played"),
        Column("is_reached", "BOOLEAN", "", "Whether the standard error is as small as was wanted"),
        NETWORK_COLUMN,
        Column("split", "VARCHAR", "", "validation or test: the same for all positions of a game"),
    )
    key = ("row",)
    arrays = (
        *POSITION_ARRAYS,
        CHANCES_ARRAY,
        FlatArray("standard_errors", "float32", "row, chance", "Standard errors of `chances`"),
        FlatArray("equity_standard_errors", "float64", "row", "Standard errors of the cubeless equities"),
        FlatArray("trials", "int64", "row", "Games played"),
        FlatArray("themes", "uint8", "row", f"Theme: {', '.join(THEMES)} from 0 on"),
        FlatArray("sources", "uint8", "row", "Place of its source among the parameter `sources`"),
        FlatArray("starts", "uint8", "row", f"How the game began: {', '.join(STARTS)} from 0 on"),
        FlatArray("perturbed", "uint8", "row", "Whether checkers were moved to random points: 1, else 0"),
        *TURN_PLACE_ARRAYS,
        FlatArray("splits", "uint8", "row", "Validation or test: 1 or 2"),
        NETWORK_ARRAY,
    )
    tags = frozenset({REFERENCE})
    parameters = ReferenceParameters
    defaults = tuple(published_references())
    smallest = ReferenceParameters("tiny", "", 3, 3, 72, 0.0001, 144, turns=2, positions=2, seed=1, most_games=880)

    def slug(self, parameters: ReferenceParameters) -> str:
        return f"{parameters.positions}-by-{parameters.network}{parameters.how_text}-seed-{parameters.seed}"

    def check_parameters(self, parameters: ReferenceParameters) -> None:
        parameters.check_roller(parameters.seed)
        if not 2 <= parameters.positions <= MAX_POSITIONS or parameters.positions % 2:
            raise InvalidParameterError(
                f"expected an even number of positions of each theme, from 2 to {MAX_POSITIONS:,}, "
                f"got {parameters.positions}"
            )
        check_count(parameters.most_games)
        if not 1 <= len(set(parameters.sources)) == len(parameters.sources) <= 100:
            raise InvalidParameterError(
                f"expected 1 to 100 different sources, got {cite(' '.join(parameters.sources))}"
            )
        for source in parameters.sources:
            check_source(source)

    def inputs(self, parameters: ReferenceParameters) -> Mapping[str, tuple[str, Parameters]]:
        return parameters.network_inputs()

    def published_folder(self, parameters: ReferenceParameters) -> Path | None:
        return published_folder(PUBLISHED, parameters, self.slug(parameters))

    def estimate(self, parameters: ReferenceParameters) -> Estimate:
        rows = len(THEMES) * parameters.positions
        return Estimate(rows, 20_000 + 400 * rows, (1 << 28) + 1000 * rows, 20_000 + 60 * rows)


def check_source(source: str) -> None:
    """Raise InvalidParameterError unless `source` names one player, or two joined by `+`."""
    names = source.split("+")
    known = all(name in ("network", *PLAIN_PLAYERS) or NAMED_NETWORK.fullmatch(name) for name in names)
    if len(names) > 2 or not known:
        raise InvalidParameterError(
            "expected a source of one player or two (network, pubeval, random, network/NAME/VERSION), such as "
            f"network+pubeval, got {cite(source)}"
        )


DATASET = ReferencePositions()
