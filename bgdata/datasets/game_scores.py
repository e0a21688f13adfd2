"""Whole games of one player against another, game by game."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bgdata.datasets._players import check_player_name, player_slug
from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.store.dataset import Column, Dataset, Estimate, FlatArray, Parameters
from bgdata.store.warehouse import Warehouse

if TYPE_CHECKING:
    import pyarrow as pa

    from bgdata.evaluation.player import Player
    from bgdata.play.games import Games
    from bgdata.store.arrays import Array
    from bgdata.store.job import Job
    from bgdata.store.table import Table

STEP = 1000  # games played at a time, between which a killed run goes on
FEWEST = 4  # games: a standard error needs two pairs


@dataclass(frozen=True)
class GameParameters(Parameters):
    """Who plays whom, how far each looks ahead, the versions as they say them, and which games of which seed."""

    player: str = "pubeval"
    ply: int = 0
    version: str = "2"
    opponent: str = "random"
    opponent_ply: int = 0
    opponent_version: str = "1"
    games: int = 40
    seed: int = 2


class GameScores(Dataset[GameParameters]):
    """One row a game."""

    name = "game_scores"
    revision = 1
    summary = "Cubeless money games of a player against another, two with each sequence of dice, the sides swapped."
    source = "Computed: whole games, every choice by cubeless money equity"
    columns = (
        Column("number", "INTEGER", "", "Number of the game; 2k and 2k + 1 have the same dice"),
        Column("outcome", "TINYINT", "points", "Points to the player, -3 to 3"),
        Column("turns", "INTEGER", "turns", "Rolls of both sides"),
        Column("begins", "BOOLEAN", "", "Whether the player rolled first"),
    )
    key = ("number",)
    arrays = (
        FlatArray("outcomes", "int8", "game", "Points to the player, -3 to 3"),
        FlatArray("turns", "int32", "game", "Rolls of both sides"),
    )
    parameters = GameParameters
    defaults = ()
    smallest = GameParameters()

    def slug(self, parameters: GameParameters) -> str:
        player = player_slug(parameters.player, parameters.ply)
        opponent = player_slug(parameters.opponent, parameters.opponent_ply)
        return f"{player}-against-{opponent}-{parameters.games}-seed-{parameters.seed}"

    def check_parameters(self, parameters: GameParameters) -> None:
        check_player_name(parameters.player)
        check_player_name(parameters.opponent)
        if parameters.games < FEWEST or parameters.games % 2 or parameters.games >= 1 << 31:
            raise InvalidParameterError(f"expected an even number of at least {FEWEST} games, got {parameters.games}")
        if not 0 <= parameters.seed < 1 << 63:
            raise InvalidParameterError(f"expected a seed from 0 to 2^63 - 1, got {parameters.seed}")

    def estimate(self, parameters: GameParameters) -> Estimate:
        return Estimate(parameters.games, 12 * parameters.games, (1 << 28) + 8 * parameters.games)

    def compute(self, parameters: GameParameters, inputs: Mapping[str, Table], job: Job) -> None:  # noqa: ARG002
        from bgdata.play.games import play_games

        players = open_players(parameters, job.warehouse)
        count = parameters.games
        state: dict[str, Array] = {"outcomes": np.zeros(count, np.int8), "turns": np.zeros(count, np.int32)}
        starts = range(0, count, STEP)
        sizes = [min(STEP, count - start) for start in starts]
        for start in job.steps(f"{self.name}/{self.slug(parameters)}", "games", starts, sizes, state):
            games = play_games(*players, min(STEP, count - start), parameters.seed, start)
            for name, values in state.items():
                values[start : start + STEP] = getattr(games, name)
        for name, values in state.items():
            job.save(name, values)

    def batches(self, parameters: GameParameters, arrays: Mapping[str, Array]) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        import pyarrow as pa

        games = games_of(arrays)
        for start in range(0, len(games.numbers), self.row_group_rows):
            rows = slice(start, start + self.row_group_rows)
            yield pa.record_batch(
                {
                    "number": games.numbers[rows].astype(np.int32),
                    "outcome": games.outcomes[rows],
                    "turns": games.turns[rows],
                    "begins": games.begins[rows],
                }
            )

    def statistics(self, parameters: GameParameters, arrays: Mapping[str, Array]) -> Mapping[str, float]:  # noqa: ARG002
        from bgdata.play.series import result_of

        games = games_of(arrays)
        result = result_of(games)
        points = {"win_share": 1, "win_gammon_share": 2, "win_backgammon_share": 3}
        won = {name: float((games.outcomes >= least).mean()) for name, least in points.items()}
        points = {"lose_gammon_share": 2, "lose_backgammon_share": 3}
        lost = {name: float((games.outcomes <= -least).mean()) for name, least in points.items()}
        return {
            "points_per_game": result.points_per_game,
            "standard_error": result.standard_error,
            **won,
            **lost,
            "turns_per_game": result.mean_turns,
        }

    def check_sample(
        self,
        table: Table,
        inputs: Mapping[str, Table],  # noqa: ARG002
        rows: int,
        generator: np.random.Generator,
    ) -> None:
        """Play some games again, where both players are as they were and quick."""
        from bgdata.datasets import all_kinds
        from bgdata.evaluation.choices import KernelPlayer
        from bgdata.play.games import play_games

        parameters = GameParameters.from_manifest(table.manifest.parameters)
        try:
            players = open_players(parameters, Warehouse(table.folder.parents[2], all_kinds()))
        except InvalidParameterError:
            return  # another version plays by now
        if not all(isinstance(player, KernelPlayer) for player in players):
            return
        for number in generator.permutation(parameters.games)[:rows].tolist():
            games = play_games(*players, 1, parameters.seed, number)
            expected = int(games.outcomes[0]), int(games.turns[0])
            found = int(table.array("outcomes")[number]), int(table.array("turns")[number])
            if found != expected:
                raise CheckFailedError(
                    f"expected {expected[0]} points in {expected[1]} turns in game {number} of {table.name}, "
                    f"found {found[0]} in {found[1]}"
                )


def open_players(parameters: GameParameters, warehouse: Warehouse | None) -> tuple[Player, Player]:
    """The two players. Raises UnknownPlayerError, MissingTableError, and InvalidParameterError for another version."""
    from bgdata.evaluation.player import open_player

    player = open_player(parameters.player, parameters.ply, warehouse)
    opponent = open_player(parameters.opponent, parameters.opponent_ply, warehouse)
    for name, wanted, found in (
        (parameters.player, parameters.version, player.version),
        (parameters.opponent, parameters.opponent_version, opponent.version),
    ):
        if wanted != found:
            raise InvalidParameterError(f"expected version {found} of {name}, as it plays here, got {wanted}")
    return player, opponent


def games_of(arrays: Mapping[str, Array]) -> Games:
    """The games of a version."""
    from bgdata.play.games import Games

    numbers = np.arange(len(arrays["outcomes"]), dtype=np.int64)
    return Games(numbers, np.asarray(arrays["outcomes"]), np.asarray(arrays["turns"]), numbers % 2 == 0)


DATASET = GameScores()
