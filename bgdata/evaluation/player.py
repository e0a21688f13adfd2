"""Players: they choose a play for a position and a roll."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import InvalidParameterError, UnknownPlayerError, UsageError
from bgdata.evaluation.callables import CallableEvaluator, added_player
from bgdata.evaluation.choices import RANDOM, Chooser
from bgdata.evaluation.evaluator import Evaluator
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.networks.named import open_network_player
from bgdata.evaluation.onnx_evaluator import OnnxEvaluator
from bgdata.evaluation.players import NETWORK, ONNX, PLAYERS, UBGI, is_callable, is_onnx
from bgdata.evaluation.ubgi_player import UbgiPlayer
from bgdata.game.board_arrays import board_array, dice_array
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.play_kernels import batch_plays
from bgdata.game.random import random_bits, random_stream
from bgdata.kernel import kernel, prange

if TYPE_CHECKING:
    from bgdata.store.versions import Versions

BATCH = 1 << 14  # decisions whose plays are held at a time: bounds the memory


class Player(Protocol):
    """Chooses plays by cubeless equity; the same question always has the same answer."""

    @property
    def label(self) -> str:
        """Name and settings, in letters, digits and `-`."""

    @property
    def version(self) -> str:
        """A text that changes whenever the choices may have changed."""

    def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
        """int8[n, 26]: the positions after the chosen plays, with the OPPONENT on roll, for int8[n, 26] boards of the
        player on roll and int8[n, 2] rolls."""


class RandomPlayer:
    """Chooses each distinct play of a roll with the same chance, decided by a seed and the place in the batch; in the
    games of `selfplay.games` by the seed, the game and the turn."""

    label = "random"
    version = "1"

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def __repr__(self) -> str:
        return f"RandomPlayer({self.seed})"

    @property
    def chooser(self) -> Chooser:
        """What kernels choose by: see `choices.KernelPlayer`."""
        return Chooser(RANDOM, self.seed)

    def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
        """The positions after plays chosen at random: see `Player`."""
        boards = board_array(boards)
        rolls = dice_array(rolls, len(boards))
        chosen = np.empty_like(boards)
        for start in range(0, len(boards), BATCH):
            rows = slice(start, min(len(boards), start + BATCH))
            offsets, after_play = batch_plays(boards[rows], rolls[rows])
            fill_random_choices(self.seed, start, offsets, after_play, chosen[rows])
        return flip_boards(chosen)


@kernel(parallel=True)
def fill_random_choices(seed: int, first: int, offsets: NDArray[np.int64], after_play: Boards, chosen: Boards) -> None:
    """Fills chosen[row] with one of after_play[offsets[row]:offsets[row + 1]], by (seed, first + row)."""
    for row in prange(len(chosen)):
        count = np.uint64(offsets[row + 1] - offsets[row])
        number: Any = random_bits(random_stream(seed, first + row), 0) >> np.uint64(33)
        chosen[row] = after_play[offsets[row] + np.int64(number % count)]


def open_named_player(name: str, ply: int = 0, warehouse: Versions | None = None, *, tables: bool = True) -> Player:
    """The player of this name: one of `players.PLAYERS`, an ONNX file, a file that starts an engine of UBGI, a Python
    callable `module:name`, or a player of another package. With a warehouse also `network` or `network/NAME`, which
    plays with the bearoff tables of the warehouse unless `tables` is false.

    Raises UnknownPlayerError, MissingTableError for a missing network, UsageError if `tables` is false for a player
    that is not a network, and what `OnnxEvaluator` raises.
    """
    if warehouse is not None and name.partition("/")[0] == NETWORK:
        return open_network_player(name, ply, warehouse, tables=tables)
    if not tables:
        raise UsageError(f"expected a network to play without tables, got {name}, which plays as it is")
    if is_onnx(name):
        return LookaheadPlayer(OnnxEvaluator(name), ply)
    if is_callable(name):
        return LookaheadPlayer(CallableEvaluator(name), ply)
    if name.endswith(UBGI):
        return UbgiPlayer(name, ply)
    if name not in PLAYERS:
        if place := added_player(name):
            return LookaheadPlayer(CallableEvaluator(place, name), ply)
        known = [*PLAYERS, *([NETWORK] if warehouse is not None else []), f"NAME{ONNX}", f"NAME{UBGI}"]
        raise UnknownPlayerError(f"expected a player among {', '.join(known)}, got {name}")
    opener, most_ply, _ = PLAYERS[name]
    if ply and not most_ply:
        raise UnknownPlayerError(f"expected --ply 0 for {name}, which does not look ahead, got {ply}")
    module, _, named = opener.partition(":")
    opened = getattr(import_module(module), named)
    player: Player = opened(ply) if most_ply else opened()
    return player


def open_player_of_version(
    name: str, ply: int, version: str, warehouse: Versions | None = None, *, tables: bool = True
) -> Player:
    """The player of this name that a recipe means. Raises InvalidParameterError where it reports another version, and
    what `open_named_player` raises."""
    player = open_named_player(name, ply, warehouse, tables=tables)
    if player.version != version:
        raise InvalidParameterError(
            f"expected version {player.version} of {name}, as it plays here, got {version or 'none'}"
        )
    return player


def open_named_evaluator(name: str, ply: int, warehouse: Versions, *, tables: bool = True) -> Evaluator:
    """The player of this name, which evaluates positions. Raises UsageError for a player that only chooses plays, and
    what `open_named_player` raises."""
    return as_evaluator(name, open_named_player(name, ply, warehouse, tables=tables))


def as_evaluator(name: str, player: Player | Evaluator) -> Evaluator:
    """A player of this name, which evaluates positions. Raises UsageError for one that only chooses plays."""
    if not hasattr(player, "evaluate_many"):  # isinstance would work out its version, from all its weights
        raise UsageError(f"expected a player that evaluates positions, got {name}, which only chooses plays")
    return cast("Evaluator", player)
