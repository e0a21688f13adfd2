"""How good a player is: the versions that measure it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bgdata.bearoff.index import layout_count
from bgdata.errors import MissingTableError, UnknownPlayerError, UsageError, shown
from bgdata.evaluation.bearoff import SIZE, sizes
from bgdata.evaluation.networks.player import network_name
from bgdata.evaluation.player import as_evaluator, open_named_player
from bgdata.evaluation.players import NETWORK, PLAYERS, PROGRAMS, is_callable
from bgdata.measures.kinds.benchmark_scores import DATASET as BENCHMARKS
from bgdata.measures.kinds.benchmark_scores import ScoreParameters
from bgdata.measures.kinds.game_scores import DATASET as GAMES
from bgdata.measures.kinds.game_scores import GameParameters
from bgdata.measures.kinds.referee_scores import DATASET as REFEREE
from bgdata.measures.kinds.referee_scores import RefereeParameters
from bgdata.measures.kinds.reference_scores import DATASET as REFERENCE_SCORES
from bgdata.measures.kinds.reference_scores import ReferenceScoreParameters
from bgdata.measures.kinds.scores import DATASET as SCORES
from bgdata.measures.kinds.scores import ScoresParameters
from bgdata.measures.steps.benchmarks import Player, build_benchmark_scores, sets_there
from bgdata.measures.steps.references import references_there
from bgdata.selfplay.kinds.selfplay import DATASET as SELF_PLAY
from bgdata.selfplay.kinds.selfplay import PLAYERS as SELF_PLAYERS
from bgdata.selfplay.kinds.selfplay import SelfPlayParameters
from bgdata.store.parameters import Parameters, VersionRef
from bgdata.store.progress import Progress
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse

TWO_SIDED = "bearoff_two_sided"
PUBEVAL = ("pubeval", 0)
SHIPPED = (NETWORK, 0)
OUR_PLAYERS = {NETWORK, *PLAYERS}  # with a ply after a colon, and no name
SEEDS = {"games": 2, "self-play": 1, "decisions": 1}  # as those commands have them, so that versions are shared


class Amount(NamedTuple):
    """How much is measured. 0 leaves out games, or luck-adjusted games."""

    games: int = 4000  # against each opponent, and against itself
    luck_adjusted_games: int = 1000
    decisions: int = 10_000  # in bearoffs


QUICK = Amount(400, 40, 1000)


def opponent_of(text: str) -> Player:
    """A player and how far it looks ahead, such as gnubg, gnubg:2 or module:name:2. Raises UsageError."""
    name, _, ply = text.rpartition(":")
    if re.fullmatch("[0-9]{1,3}", ply) and name and (":" not in name or is_callable(name)):
        return name, int(ply)
    if ":" not in text or (is_callable(text) and name not in OUR_PLAYERS):
        return text, 0
    raise UsageError(f"expected a player such as gnubg or gnubg:2, got {shown(text)}")


def build_scores(
    warehouse: Warehouse,
    player: Player,
    opponents: Sequence[Player],
    amount: Amount,
    progress: Progress,
    *,
    programs: bool = True,
) -> tuple[Table, list[str]]:
    """The version of `scores` of a player, after building each of its sources that is missing, and lines about what
    could not be measured here.

    Raises UnknownPlayerError, InvalidParameterError for impossible amounts, MissingTableError for a missing network,
    and what building raises.
    """
    player, left_out = (full_name(player[0]), player[1]), list[str]()
    check_amount(amount)
    open_named_player(*player, warehouse)
    wanted = list(all_opponents(warehouse, player, opponents, left_out, programs=programs))
    found = []
    for luck, games in (
        (True, amount.luck_adjusted_games),
        (False, amount.games),
    ):  # the network that judges luck is built first
        for each in wanted if games else ():
            series = series_parameters(warehouse, player, each, games, SEEDS["games"], progress, with_luck=luck)
            found.append(warehouse.build(GAMES.name, series, progress=progress))
    for kind, parameters in other_recipes(warehouse, player, amount, left_out):
        found.append(warehouse.build(kind, parameters, progress=progress))
    sources = tuple(sorted((VersionRef.parse(table.name) for table in found), key=str))
    version = open_named_player(*player, warehouse).version
    return warehouse.build(SCORES.name, ScoresParameters(*player, version, sources), progress=progress), left_out


def build_rivals(
    warehouse: Warehouse, player: Player, opponents: Sequence[Player], progress: Progress, *, programs: bool = True
) -> list[Player]:
    """Those that a player is compared with on the same decisions: the network that comes with bgdata, and its opponents
    of `build_scores`, each of which now has chosen on every benchmark; nobody where there are no benchmarks. Raises
    what `build_scores` raises."""
    player = full_name(player[0]), player[1]
    try:
        sets = sets_there(warehouse)
    except MissingTableError:
        return []
    found = list(all_opponents(warehouse, player, [SHIPPED, *opponents], [], programs=programs))
    for each in found:
        build_benchmark_scores(warehouse, sets, *each, progress)
    return found


def check_amount(amount: Amount) -> None:
    """Raise InvalidParameterError for an impossible amount, before anything is built."""
    for games in {amount.games, amount.luck_adjusted_games} - {0}:
        GAMES.check_parameters(GameParameters(games=games))
    REFEREE.check_parameters(RefereeParameters(decisions=amount.decisions))


def all_opponents(
    warehouse: Warehouse, player: Player, given: Sequence[Player], left_out: list[str], *, programs: bool
) -> Iterator[Player]:
    """The given opponents except the player itself, each once, and the programs that are installed."""
    named = dict.fromkeys((full_name(name), ply) for name, ply in given)
    for opponent in [*named, *((name, 0) for name in PROGRAMS if programs and (name, 0) not in named)]:
        try:
            open_named_player(*opponent, warehouse)
        except UnknownPlayerError as error:
            if opponent in named:
                raise
            left_out.append(f"games against {opponent[0]}: {error}")
            continue
        if opponent != player:
            yield opponent


def other_recipes(
    warehouse: Warehouse, player: Player, amount: Amount, left_out: list[str]
) -> Iterator[tuple[str, Parameters]]:
    """(kind, parameters) of every measurement without an opponent whose inputs are there."""
    name, ply = player
    version = open_named_player(name, ply, warehouse).version
    if ply or not SELF_PLAYERS.fullmatch(name):
        left_out.append(f"self-play: expected network, pubeval or random without looking ahead, got {name} ({ply}-ply)")
    elif amount.games:
        yield SELF_PLAY.name, SelfPlayParameters(name, version, amount.games, SEEDS["self-play"])
    try:
        for entry in sets_there(warehouse):
            yield BENCHMARKS.name, ScoreParameters.on(entry, name, ply, version)
    except MissingTableError as error:
        left_out.append(f"error rates: {error}")
    yield from reference_recipes(warehouse, player, left_out)
    try:
        size = table_size(warehouse, "", "to judge bearoffs by")
    except MissingTableError as error:
        left_out.append(f"bearoffs: {error}")
        return
    for tables in (True, False) if name.partition("/")[0] == NETWORK else (True,):
        said = open_named_player(name, ply, warehouse, tables=tables).version
        yield REFEREE.name, RefereeParameters(name, ply, said, tables, *size, amount.decisions, SEEDS["decisions"])


def reference_recipes(
    warehouse: Warehouse, player: Player, left_out: list[str]
) -> Iterator[tuple[str, ReferenceScoreParameters]]:
    """(kind, parameters) of what an evaluator says of each set of reference positions."""
    name, ply = player
    try:
        version = as_evaluator(name, open_named_player(name, ply, warehouse)).version
        for entry in references_there(warehouse):
            yield REFERENCE_SCORES.name, ReferenceScoreParameters.on(entry, name, ply, version)
    except (UsageError, MissingTableError) as error:
        left_out.append(f"values by theme: {error}")


def series_parameters(
    warehouse: Warehouse,
    player: tuple[str, int],
    opponent: tuple[str, int],
    games: int,
    seed: int,
    progress: Progress,
    *,
    with_luck: bool,
) -> GameParameters:
    """The recipe of games between two players. The network that judges luck is built first, since players may use its
    bearoff tables. Raises UnknownPlayerError, InvalidParameterError, and MissingTableError for a missing network."""
    GAMES.check_parameters(GameParameters(games=games, seed=seed))
    for kind, needed in GAMES.inputs(GameParameters(luck=with_luck)).values():
        warehouse.build(kind, needed, progress=progress)
    names = [full_name(name) for name, _ in (player, opponent)]
    plies = player[1], opponent[1]
    versions = [open_named_player(*each, warehouse).version for each in zip(names, plies, strict=True)]
    first, second = (names[0], player[1], versions[0]), (names[1], opponent[1], versions[1])
    return GameParameters(*first, *second, games, seed, with_luck)


def full_name(name: str) -> str:
    """The name under which scores of a player are kept; for `network` it is the name of that network."""
    return network_name(name) if name.partition("/")[0] == NETWORK else name


def table_size(warehouse: Warehouse, name: str, purpose: str) -> tuple[int, int]:
    """(points, checkers) of the two-sided table of this name, or of the one with the most positions. Raises UsageError
    for a name that is no size, and MissingTableError, whose message says what the table is needed for."""
    size = SIZE.fullmatch(name)
    if name and not size:
        raise UsageError(f"expected a size such as 6x9, got {shown(name)}")
    have = sizes(warehouse, TWO_SIDED)
    wanted = (int(size[1]), int(size[2])) if size else max(have, key=lambda each: layout_count(*each), default=(6, 9))
    if wanted not in have:
        found = ", ".join(f"{points}x{checkers}" for points, checkers in sorted(have)) or "none"
        raise MissingTableError(
            f"expected {TWO_SIDED}/{wanted[0]}x{wanted[1]} in {warehouse.root} {purpose} (have: {found}); "
            f"try: bgdata build {TWO_SIDED} --points {wanted[0]} --checkers {wanted[1]}"
        )
    return wanted
