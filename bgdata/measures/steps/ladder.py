"""Steps of the ladder: the games of every pairing of its players, stored in parts, and the ratings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import combinations
from typing import Any

from bgdata.errors import InvalidParameterError, MissingTableError, UnknownPlayerError, UsageError
from bgdata.evaluation.player import as_evaluator, open_named_player
from bgdata.kinds.column_values import text_column
from bgdata.measures.kinds.cubeful_scores import DATASET as CUBEFUL
from bgdata.measures.kinds.cubeful_scores import CubefulScoreParameters
from bgdata.measures.kinds.game_scores import DATASET as CUBELESS
from bgdata.measures.kinds.game_scores import GameParameters
from bgdata.measures.kinds.ladder import DATASET as LADDER
from bgdata.measures.kinds.ladder import Entrant, LadderParameters, match_length
from bgdata.measures.kinds.shared.players import player_slug
from bgdata.measures.steps.scores import full_name
from bgdata.measures.steps.sets import Player
from bgdata.store.dataset import Dataset
from bgdata.store.parameters import Parameters, VersionRef
from bgdata.store.progress import Progress
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse

ZERO = ("network", 0)  # the player that is rated 0
DEFAULT_PLAYERS: tuple[Player, ...] = (
    *(ZERO, ("network", 1)),
    *((f"network/{name}", 0) for name in ("taught-320", "contact-320", "contact-160")),
    *(("gnubg", 0), ("gnubg", 1), ("bgsage", 0), ("bgsage", 1)),  # if they are installed
    *(("pubeval", 0), ("random", 0)),
)
CUBELESS_GAMES, MONEY_GAMES, MATCHES = 60, 40, 10  # games or matches of a pairing in one version


def ladder_players(warehouse: Warehouse, play: str) -> list[Player]:
    """Return the players of the current ladder for a kind of play, best first; empty if there is no ladder."""
    try:
        arrays = warehouse.open(LADDER.name, play).arrays()
    except MissingTableError:
        return []
    return list(zip(text_column(arrays, "names").to_pylist(), arrays["plies"].tolist(), strict=True))


def build_ladder(
    warehouse: Warehouse, players: Sequence[Player], play: str, games: int | None, seed: int, progress: Progress
) -> tuple[Table, list[str]]:
    """Build the ladder of these players and of the player that is rated 0. Also returns lines of text about players
    that were left out.

    Missing games of each pairing are played first, one part if `games` is None. Raises InvalidParameterError for an
    invalid play or number of games, UnknownPlayerError for an unknown player, MissingTableError for a missing network,
    UsageError for fewer than two players, and the errors of `Warehouse.build`."""
    kind: Dataset[Any] = CUBELESS if play == "cubeless" else CUBEFUL
    part = MATCHES if match_length(play) else MONEY_GAMES if play == "money" else CUBELESS_GAMES
    games = part if games is None else games
    check_games(games, part)
    left_out: list[str] = []
    if len(set(entrants_of(warehouse, [ZERO, *players], play, left_out))) < 2:  # checked before anything is built
        raise UsageError("; ".join(["expected two players to rate, got one", *left_out]))
    # the match equity table and the inputs that measure luck come first: players may use their bearoff tables
    anybody = Entrant("pubeval", 0, "2")
    for needed in kind.inputs(series_of(anybody, anybody, play, part, 0)).values():
        warehouse.build(*needed, progress=progress)  # type: ignore[misc]  # recipes
    entrants = sorted(set(entrants_of(warehouse, [ZERO, *players], play, [])))
    found = []
    for first, second in combinations(entrants, 2):
        for number, start in enumerate(range(0, games, part)):
            dice = dice_seed(first, second, seed, number)
            recipe = series_of(first, second, play, min(part, games - start), dice)
            found.append(VersionRef.parse(warehouse.build(kind.name, recipe, progress=progress).name))
    sources = tuple(sorted(found, key=str))
    parameters = LadderParameters(play, full_name(ZERO[0]), ZERO[1], sources)
    return warehouse.build(LADDER.name, parameters, progress=progress), left_out


def dice_seed(first: Entrant, second: Entrant, seed: int, part: int) -> int:
    """Return the seed of the dice for one part of a pairing's games. Every part has dice of its own. With the same
    dice, results of similar players would depend on each other, but the intervals assume that they do not."""
    text = f"{seed} {part} {player_slug(*first[:2])} {player_slug(*second[:2])}"
    return int.from_bytes(sha256(text.encode()).digest()[:4])


def check_games(games: int, part: int) -> None:
    """Raise InvalidParameterError if `games` cannot be divided into parts of `part` games and a rest, each an even
    number of at least 4."""
    rest = games % part
    if games < 4 or rest % 2 or rest == 2:
        raise InvalidParameterError(f"expected an even number of at least 4 games, in parts of {part}, got {games}")


def entrants_of(warehouse: Warehouse, players: Sequence[Player], play: str, left_out: list[str]) -> Iterator[Entrant]:
    """Yield the players with the versions that they report. Default players are left out if they are not installed, or
    cannot evaluate positions to play with a cube; lines that say so are added to `left_out`."""
    for name, ply in dict.fromkeys((full_name(name), ply) for name, ply in players):
        try:
            player = open_named_player(name, ply, warehouse)
            if play != "cubeless":
                as_evaluator(name, player)
        except (UnknownPlayerError, UsageError) as error:
            if isinstance(error, UnknownPlayerError) and (name, ply) not in DEFAULT_PLAYERS:
                raise
            left_out.append(f"{name} ({ply}-ply): {error}")
            continue
        yield Entrant(name, ply, player.version)


def series_of(first: Entrant, second: Entrant, play: str, games: int, seed: int) -> Parameters:
    """Return the parameters of one part of a pairing's games."""
    if play == "cubeless":
        return GameParameters(*first, *second, games, seed, True)
    return CubefulScoreParameters(*first, *second, match_length(play), games, seed, True)
