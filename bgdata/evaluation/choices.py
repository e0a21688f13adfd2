"""Players for kernels: a kind and its arrays, so that whole games run without returning to Python.

To add a kind, add a number, its arrays in `Chooser` (empty by default), and a branch in `choose`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import UsageError
from bgdata.evaluation.answers import Scratch, choose_by_chances, new_scratch
from bgdata.evaluation.bearoff_kernels import NO_TABLES, BearoffArrays
from bgdata.evaluation.networks.inference import (
    ACTIVATION,
    NO_NETWORKS,
    OUTPUTS,
    Activation,
    Networks,
    Sums,
    Units,
    layer_sizes,
)
from bgdata.evaluation.pubeval import NO_SCORES, ScoreTables, choose_pubeval
from bgdata.game.codec import Boards, check_legal_boards, flip_into
from bgdata.game.play_kernels import MOST_NOTES, MOST_PLAYS, check_rolls, fill_plays
from bgdata.game.random import low_below, random_bits, random_stream
from bgdata.kernel import in_threads, kernel, read_only

RANDOM, PUBEVAL, NETWORK = 0, 1, 2
_NEVER = -16  # the sum of an output that says never


class Chooser(NamedTuple):
    """Everything a kernel needs to choose plays; fields of other kinds keep their defaults."""

    kind: int
    seed: int = 0  # RANDOM
    pubeval: ScoreTables = NO_SCORES  # PUBEVAL: int32[2, 26, 32]
    # NETWORK: the fields of `Networks` and `BearoffArrays`, side by side
    shapes: NDArray[np.int64] = NO_NETWORKS.shapes
    weights: Units = NO_NETWORKS.weights
    biases: Sums = NO_NETWORKS.biases
    two_sided_points: int = 0
    two_sided_checkers: int = 0
    two_sided_layouts: int = 0
    two_sided_limit: float = 1.0
    equities: NDArray[np.float32] = NO_TABLES.equities
    codes: NDArray[np.uint16] = NO_TABLES.codes
    one_sided_points: int = 0
    one_sided_offsets: NDArray[np.uint32] = NO_TABLES.one_sided_offsets
    one_sided_first_roll: NDArray[np.uint8] = NO_TABLES.one_sided_first_roll
    one_sided_chances: NDArray[np.float32] = NO_TABLES.one_sided_chances
    gammon_points: int = 0
    gammon_first_index: int = 0
    gammon_offsets: NDArray[np.uint32] = NO_TABLES.gammon_offsets
    gammon_first_roll: NDArray[np.uint8] = NO_TABLES.gammon_first_roll
    gammon_chances: NDArray[np.float32] = NO_TABLES.gammon_chances
    endgame_checkers: int = 0
    endgame_layouts: int = 0
    endgames: NDArray[np.float32] = NO_TABLES.endgames


@runtime_checkable
class KernelPlayer(Protocol):
    """A `player.Player` whose choices kernels can make, too."""

    @property
    def chooser(self) -> Chooser:
        """Its kind and arrays; always of the same types, for any kind."""


def network_chooser(networks: Networks, tables: BearoffArrays) -> Chooser:
    """The `Chooser` of a player with networks and bearoff tables."""
    return Chooser(NETWORK, **networks._asdict(), **tables._asdict())


def require_networks(chooser: Chooser, purpose: str) -> None:
    """Raise UsageError unless a player has networks, for a purpose such as "to roll out"."""
    if chooser.kind != NETWORK:
        raise UsageError(f"expected a player with networks {purpose}, got one that only chooses plays")


@kernel(inline=True)
def networks_of(chooser: Chooser) -> Networks:
    """The networks in a `Chooser` of the kind NETWORK."""
    return Networks(chooser.shapes, chooser.weights, chooser.biases)


@kernel(inline=True)
def tables_of(chooser: Chooser) -> BearoffArrays:
    """The bearoff tables in a `Chooser` of the kind NETWORK."""
    return BearoffArrays(
        chooser.two_sided_points,
        chooser.two_sided_checkers,
        chooser.two_sided_layouts,
        chooser.two_sided_limit,
        chooser.equities,
        chooser.codes,
        chooser.one_sided_points,
        chooser.one_sided_offsets,
        chooser.one_sided_first_roll,
        chooser.one_sided_chances,
        chooser.gammon_points,
        chooser.gammon_first_index,
        chooser.gammon_offsets,
        chooser.gammon_first_roll,
        chooser.gammon_chances,
        chooser.endgame_checkers,
        chooser.endgame_layouts,
        chooser.endgames,
    )


def win_only(networks: Networks) -> Networks:
    """The same networks without gammons: their chances to win are the same, to the last bit."""
    weights, biases = networks.weights.copy(), networks.biases.copy()
    for row in networks.shapes.tolist():
        sizes = layer_sizes(row)
        place = row[2] + sum(below * units for below, units in pairwise([row[1], *sizes]))  # behind the last weight
        bias, below = row[3] + sum(sizes), sizes[-2]
        weights[place - (OUTPUTS - 1) * below : place] = 0
        biases[bias - (OUTPUTS - 1) : bias] = _NEVER * Activation(row[ACTIVATION]).later_sum
    return Networks(networks.shapes, read_only(weights), read_only(biases))


def win_only_chooser(chooser: Chooser) -> Chooser:
    """A player of the kind NETWORK that plays for wins alone."""
    networks = win_only(Networks(chooser.shapes, chooser.weights, chooser.biases))
    return chooser._replace(**networks._asdict(), gammon_points=0)


@kernel()
def choice_scratch(chooser: Chooser) -> Scratch:
    """Scratch that `choose` needs, for one thread."""
    return new_scratch(networks_of(chooser))


@kernel(borrows=True)
def choose(chooser: Chooser, board: Boards, after: Boards, n: int, game: int, turn: int, scratch: Scratch) -> int:
    """The row of after[0:n, slot], positions after each play from board[slot] still seen by the player who moved, that
    a player chooses. A random player decides by its seed, the game and the turn, other players by the board. `scratch`
    is from `choice_scratch`."""
    if n == 1:
        return 0
    if chooser.kind == PUBEVAL:
        return choose_pubeval(chooser.pubeval, board, after, n)
    if chooser.kind == NETWORK:
        best, _ = choose_by_chances(networks_of(chooser), tables_of(chooser), after, n, scratch)
        return best
    bits: Any = random_bits(random_stream(chooser.seed, game), turn)
    return np.int64(low_below(bits, n))  # type: ignore[return-value]  # unsigned otherwise


def chosen_boards(
    chooser: Chooser, boards: Boards, rolls: NDArray[np.integer], games: NDArray[np.int64] | None = None, turn: int = 0
) -> Boards:
    """int8[n, 26]: positions after the chosen plays, with the OPPONENT on roll, as `player.Player` returns them.

    Row i is turn `turn` of game games[i], int64[n] (by default the place in the batch); random choices depend on it.
    Raises as `batch_plays` does.
    """
    dice = check_rolls(rolls, len(check_legal_boards(boards)))
    chosen = np.empty((len(boards), 26), np.int8)
    numbers = np.arange(len(boards), dtype=np.int64) if games is None else games
    in_threads(fill_chosen, len(boards), chooser, np.ascontiguousarray(boards), dice, numbers, turn, chosen, least=64)
    return chosen


@kernel()
def fill_chosen(
    begin: int,
    end: int,
    chooser: Chooser,
    boards: Boards,
    dice: NDArray[np.int8],
    games: NDArray[np.int64],
    turn: int,
    chosen: Boards,
) -> None:
    """Fills chosen[row, slot], seen by the opponent, from boards[row, slot], dice[row, 0:2] and games[row], for rows
    begin:end."""
    after, notes = np.empty((MOST_PLAYS, 26), np.int8), np.empty(MOST_NOTES, np.int64)
    scratch = choice_scratch(chooser)
    for row in range(begin, end):
        n = fill_plays(boards[row], dice[row, 0], dice[row, 1], after, notes)
        flip_into(after[choose(chooser, boards[row], after, n, games[row], turn, scratch)], chosen[row])
