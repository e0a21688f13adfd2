"""Players for kernels, as a number (the kind of player) and arrays. So whole games are played without returning to
Python.

A new kind needs a number, its arrays in `Chooser` (empty by default), and a branch in `choose`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import UsageError
from bgdata.evaluation.answers import Scratch, choose_by_chances, new_scratch
from bgdata.evaluation.bearoff_kernels import NO_TABLES, BearoffArrays
from bgdata.evaluation.networks.inference import ACTIVATION, NO_NETWORKS, OUTPUTS, Activation, Networks, layer_sizes
from bgdata.evaluation.pubeval import NO_SCORES, ScoreTables, choose_pubeval
from bgdata.game.codec import Boards, check_legal_boards, flip_into
from bgdata.game.play_kernels import MAX_NOTES, MAX_PLAYS, check_rolls, fill_plays
from bgdata.game.random import low_below, random_bits, random_stream
from bgdata.kernel import in_threads, kernel, read_only

RANDOM, PUBEVAL, NETWORK = 0, 1, 2
_NEVER = -16  # a sum whose output is nearly 0


class Chooser(NamedTuple):
    """The kind of a player, and all data with which a kernel chooses plays for it. Fields that this kind does not use
    keep their defaults."""

    kind: int
    seed: int = 0  # RANDOM
    pubeval: ScoreTables = NO_SCORES  # PUBEVAL: int32[2, 26, 32]
    networks: Networks = NO_NETWORKS  # NETWORK
    tables: BearoffArrays = NO_TABLES  # NETWORK


@runtime_checkable
class KernelPlayer(Protocol):
    """A `player.Player` whose plays kernels can choose too."""

    @property
    def chooser(self) -> Chooser:
        """The kind and arrays of the player; the arrays have the same types for every kind."""


def network_chooser(networks: Networks, tables: BearoffArrays) -> Chooser:
    """Make the `Chooser` of a player with networks and bearoff tables."""
    return Chooser(NETWORK, networks=networks, tables=tables)


def require_networks(chooser: Chooser, purpose: str) -> None:
    """Raise UsageError unless a player has networks. `purpose` completes the error message, such as "to roll out"."""
    if chooser.kind != NETWORK:
        raise UsageError(f"expected a player with networks {purpose}, got one that only chooses plays")


def win_only(networks: Networks) -> Networks:
    """Copy the networks and remove their gammon chances; the winning chances stay the same, bit for bit.

    The four gammon outputs of every network become nearly 0 (below a millionth). So the play with the highest equity is
    the one with the highest winning chance, and kernels need no change. But finished games still count gammons, which
    can matter near the end of a game if plays are chosen one roll ahead."""
    weights, biases = networks.weights.copy(), networks.biases.copy()
    for row in networks.shapes.tolist():
        sizes = layer_sizes(row)
        place = row[2] + sum(below * units for below, units in pairwise([row[1], *sizes]))  # after the last weight
        bias, below = row[3] + sum(sizes), sizes[-2]
        weights[place - (OUTPUTS - 1) * below : place] = 0
        biases[bias - (OUTPUTS - 1) : bias] = _NEVER * Activation(row[ACTIVATION]).later_sum
    return Networks(networks.shapes, read_only(weights), read_only(biases))


def win_only_chooser(chooser: Chooser) -> Chooser:
    """Make a `Chooser` that maximizes wins, as at double match point, from a `Chooser` with networks. Bearoff tables
    answer only if no gammon is possible; the networks answer for other races."""
    return chooser._replace(networks=win_only(chooser.networks), tables=chooser.tables._replace(gammon_points=0))


@kernel()
def choice_scratch(chooser: Chooser) -> Scratch:
    """Allocate scratch memory for `choose`, for one thread."""
    return new_scratch(chooser.networks)


@kernel(borrows=True)
def choose(chooser: Chooser, board: Boards, after: Boards, n: int, game: int, turn: int, scratch: Scratch) -> int:
    """Choose a play, and return its row in after[0:n], the boards after each legal play for the player who moved.
    `board` is the position before the play. The choice of a random player depends on its seed, the game and the turn;
    that of any other player on the board alone. `scratch` is a result of `choice_scratch`."""
    if n == 1:
        return 0
    if chooser.kind == PUBEVAL:
        return choose_pubeval(chooser.pubeval, board, after, n)
    if chooser.kind == NETWORK:
        best, _ = choose_by_chances(chooser.networks, chooser.tables, after, n, scratch)
        return best
    bits: Any = random_bits(random_stream(chooser.seed, game), turn)
    return np.int64(low_below(bits, n))  # type: ignore[return-value]  # otherwise unsigned


def chosen_boards(
    chooser: Chooser, boards: Boards, rolls: NDArray[np.integer], games: NDArray[np.int64] | None = None, turn: int = 0
) -> Boards:
    """Return the positions after the chosen plays, with the OPPONENT on roll, as int8[n, 26]. Random choices depend on
    the numbers of the game and of the turn: row i is turn `turn` of game games[i], int64[n], or of game i without
    `games`. Raises InvalidPositionError for illegal boards and InvalidRollError for invalid dice, as `batch_plays`
    does."""
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
    """Fill chosen[row] with the board after the chosen play, with the opponent on roll, from boards[row], dice[row,
    0:2] and games[row], for the rows begin to end - 1."""
    after, notes = np.empty((MAX_PLAYS, 26), np.int8), np.empty(MAX_NOTES, np.int64)
    scratch = choice_scratch(chooser)
    for row in range(begin, end):
        n = fill_plays(boards[row], dice[row, 0], dice[row, 1], after, notes)
        flip_into(after[choose(chooser, boards[row], after, n, games[row], turn, scratch)], chosen[row])
