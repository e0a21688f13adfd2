"""Players as kernels see them: a kind and its arrays, so that whole games run without returning to Python.

Another kind is a number, its arrays in `Brain` (empty by default), and a branch in `choose`.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.answers import Work, choose_by_chances, new_work
from bgdata.evaluation.bearoff_kernels import NO_TABLES, BearoffArrays
from bgdata.evaluation.networks.inference import NO_NETWORKS, Networks, Sums, Units
from bgdata.evaluation.pubeval_kernels import NO_SCORES, ScoreTables, choose_pubeval
from bgdata.game.codec import Boards, check_legal_boards, flip_into
from bgdata.game.play_kernels import MOST_NOTES, MOST_PLAYS, check_rolls, fill_plays
from bgdata.game.random import low_below, random_bits, random_stream
from bgdata.kernel import kernel, prange

RANDOM, PUBEVAL, NETWORK = 0, 1, 2


class Brain(NamedTuple):
    """All that a kernel needs to choose plays; fields of other kinds keep their defaults."""

    kind: int
    seed: int = 0  # RANDOM
    pubeval: ScoreTables = NO_SCORES  # PUBEVAL: int32[2, 26, 32]
    # NETWORK: the fields of `Networks` and `BearoffArrays`, flat since parallel kernels take no tuples of tuples
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


@runtime_checkable
class KernelPlayer(Protocol):
    """A `player.Player` whose choices a kernel can make as well."""

    @property
    def brain(self) -> Brain:
        """Its kind and arrays; always of the same types, for any kind."""


@kernel()
def networks_of(brain: Brain) -> Networks:
    """The networks of a NETWORK player."""
    return Networks(brain.shapes, brain.weights, brain.biases)


@kernel()
def tables_of(brain: Brain) -> BearoffArrays:
    """The bearoff tables of a NETWORK player."""
    return BearoffArrays(
        brain.two_sided_points,
        brain.two_sided_checkers,
        brain.two_sided_layouts,
        brain.two_sided_limit,
        brain.equities,
        brain.codes,
        brain.one_sided_points,
        brain.one_sided_offsets,
        brain.one_sided_first_roll,
        brain.one_sided_chances,
        brain.gammon_points,
        brain.gammon_first_index,
        brain.gammon_offsets,
        brain.gammon_first_roll,
        brain.gammon_chances,
    )


@kernel()
def thinking_room(brain: Brain) -> Work:
    """Scratch that `choose` needs, for one thread."""
    return new_work(networks_of(brain))


@kernel()
def choose(brain: Brain, board: Boards, after: Boards, n: int, game: int, turn: int, work: Work) -> int:
    """The row of after[0:n, slot], positions after each play from board[slot] still seen by the player who moved, that
    a player chooses. One that plays at random is decided by its seed, the game and the turn, others by the board.
    `work` is `thinking_room`."""
    if n == 1:
        return 0
    if brain.kind == PUBEVAL:
        return choose_pubeval(brain.pubeval, board, after, n)
    if brain.kind == NETWORK:
        best, _ = choose_by_chances(networks_of(brain), tables_of(brain), board, after, n, work)
        return best
    bits: Any = random_bits(random_stream(brain.seed, game), turn)
    return np.int64(low_below(bits, n))  # type: ignore[return-value]  # unsigned otherwise


def chosen_boards(
    brain: Brain, boards: Boards, rolls: NDArray[np.integer], games: NDArray[np.int64] | None = None, turn: int = 0
) -> Boards:
    """int8[n, 26]: positions after the chosen plays, with the OPPONENT on roll, as `player.Player` gives them.

    Row i is turn `turn` of game games[i], int64[n] (their place in the batch if not given), which decides random
    choices. Raises as `batch_plays` does.
    """
    dice = check_rolls(rolls, len(check_legal_boards(boards)))
    chosen = np.empty((len(boards), 26), np.int8)
    numbers = np.arange(len(boards), dtype=np.int64) if games is None else games
    fill_chosen(brain, np.ascontiguousarray(boards), dice, numbers, turn, chosen)
    return chosen


@kernel(parallel=True)
def fill_chosen(
    brain: Brain, boards: Boards, dice: NDArray[np.int8], games: NDArray[np.int64], turn: int, chosen: Boards
) -> None:
    """Fills chosen[row, slot], seen by the opponent, from boards[row, slot], dice[row, 0:2] and games[row]."""
    block = 64  # rows that share scratch arrays
    for part in prange((len(boards) + block - 1) // block):
        after, notes = np.empty((MOST_PLAYS, 26), np.int8), np.empty(MOST_NOTES, np.int64)
        work = thinking_room(brain)
        for row in range(part * block, min(len(boards), (part + 1) * block)):
            n = fill_plays(boards[row], dice[row, 0], dice[row, 1], after, notes)
            flip_into(after[choose(brain, boards[row], after, n, games[row], turn, work)], chosen[row])
