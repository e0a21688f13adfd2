"""Players, which choose a play for a position and a roll, opened by name."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import ExternalProgramError, InvalidParameterError, PluginError, UnknownPlayerError, UsageError, cite
from bgdata.evaluation.chances import CHANCES, AnswerSource, Chances, Evaluator
from bgdata.evaluation.choices import PUBEVAL, RANDOM, Chooser, chosen_boards
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.networks.player import open_network_player
from bgdata.evaluation.onnx_evaluator import OnnxEvaluator
from bgdata.evaluation.players import NETWORK, ONNX, PLAYERS, UBGI, is_callable
from bgdata.evaluation.programs import ProgramEvaluator
from bgdata.evaluation.pubeval import published_tables
from bgdata.evaluation.ubgi_player import UbgiPlayer
from bgdata.game.board_arrays import BoardsLike, RollsLike, board_array, dice_array
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.play_kernels import batch_plays
from bgdata.game.random import random_bits, random_stream
from bgdata.kernel import kernel, prange

if TYPE_CHECKING:
    from bgdata.store.versions import Versions

GROUP = "bgdata.players"


class CallableEvaluator(ProgramEvaluator):
    """Evaluates positions with a Python callable, named `module:name` or by an entry point `bgdata.players` of a
    package. The rules evaluate finished games. A pickle contains only the names.

    The callable takes int8[n, 26] boards of the player on roll, before the roll, and returns float32[n, 5] chances in
    the order of `chances.CHANCES`. The same board must always have the same answer. Its attribute `version` is a text
    that must change whenever answers may have changed. A callable without this attribute is never called, because the
    parameters of other people's tables may name any function of this machine.

    Raises PluginError for a callable that cannot be imported or called, or has no `version`."""

    def __init__(self, place: str, name: str = "") -> None:
        name = name or place
        super().__init__(re.sub("[^A-Za-z0-9]+", "-", name).strip("-"), name)
        self.place, self._call = place, load_callable(place)
        self.version: str = self._call.version
        self.accuracy = {AnswerSource.PROGRAM: f"{name}, version {self.version}"}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.place, self.name)

    def chances(self, boards: Boards) -> Chances:
        if not len(boards):
            return np.empty((0, len(CHANCES)), np.float32)
        try:
            chances = np.asarray(self._call(boards.copy()), np.float32)
        except Exception as error:  # foreign code may raise anything
            reason = f"{type(error).__name__}: {cite(str(error))}"
            raise ExternalProgramError(f"expected chances of {self.name}, got {reason}") from error
        if chances.shape != (len(boards), len(CHANCES)):
            raise ExternalProgramError(
                f"expected float32[{len(boards)}, {len(CHANCES)}] of {self.name}, got an array of shape {chances.shape}"
            )
        return chances


def load_callable(place: str) -> Any:
    """Import the callable that `place`, `module:name`, names. Raises PluginError if it cannot be imported."""
    module, _, name = place.partition(":")
    try:
        found: Callable[[Boards], Chances] | None = getattr(import_module(module), name, None)
    except Exception as error:  # foreign code may raise anything
        reason = f"{type(error).__name__}: {cite(str(error))}"
        raise PluginError(
            f"expected a module of Python for the player {cite(place)}, got {reason}; try: PYTHONPATH=its folder"
        ) from error
    if found is None:
        raise PluginError(f"expected a function {cite(name)} in the module {cite(module)}, found no such name")
    version = getattr(found, "version", None)
    if not callable(found) or not isinstance(version, str) or not version:
        raise PluginError(
            f"expected a function with an attribute version, a text that changes with its answers, as the player "
            f'{cite(place)}, got {cite(type(found).__name__)}; try: {name}.version = "1"'
        )
    return found


BATCH = 1 << 14  # number of decisions at a time, to limit memory


class Player(Protocol):
    """Chooses plays by cubeless equity. The same position and roll always get the same play."""

    @property
    def label(self) -> str:
        """The name and settings of the player, in letters, digits and `-`."""

    @property
    def version(self) -> str:
        """A text that changes whenever the chosen plays may have changed."""

    def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
        """Choose a play of each of int8[n, 2] rolls, from int8[n, 26] boards of the player on roll. Returns the boards
        after the plays, with the OPPONENT on roll, as int8[n, 26]."""


class RandomPlayer:
    """A player that chooses each distinct play of a roll with the same chance. The choice depends on a seed and on the
    index in the batch. In the games of `selfplay.games` it depends on the seed, the game and the turn."""

    label = "random"
    version = "1"

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def __repr__(self) -> str:
        return f"RandomPlayer({self.seed})"

    @property
    def chooser(self) -> Chooser:
        """The data with which kernels choose plays for this player: see `choices.KernelPlayer`."""
        return Chooser(RANDOM, self.seed)

    def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
        """The boards after random plays: see `Player`."""
        boards = board_array(boards)
        rolls = dice_array(rolls, len(boards))
        chosen = np.empty_like(boards)
        for start in range(0, len(boards), BATCH):
            rows = slice(start, min(len(boards), start + BATCH))
            offsets, after_play = batch_plays(boards[rows], rolls[rows])
            fill_random_choices(self.seed, start, offsets, after_play, chosen[rows])
        return flip_boards(chosen)


class PubEval:
    """A player that chooses the play with the highest PubEval score, the first of equal plays. The position before the
    play selects the weights, for contact or for races."""

    label = "pubeval"
    version = "2"  # exact scores; version 1 decided a few ties in a million by rounding

    def __repr__(self) -> str:
        return "PubEval()"

    @property
    def chooser(self) -> Chooser:
        """The data with which kernels choose plays for this player: see `choices.KernelPlayer`."""
        return Chooser(PUBEVAL, pubeval=published_tables())

    def choose_plays(self, boards: BoardsLike, rolls: RollsLike) -> Boards:
        """The boards after the chosen plays: see `player.Player`."""
        legal = board_array(boards)
        return chosen_boards(self.chooser, legal, dice_array(rolls, len(legal)))


@kernel(parallel=True)
def fill_random_choices(seed: int, first: int, offsets: NDArray[np.int64], after_play: Boards, chosen: Boards) -> None:
    """Fill chosen[row] with a random one of the boards after_play[offsets[row]:offsets[row + 1]], chosen by (seed,
    first + row)."""
    for row in prange(len(chosen)):
        count = np.uint64(offsets[row + 1] - offsets[row])
        number: Any = random_bits(random_stream(seed, first + row), 0) >> np.uint64(33)
        chosen[row] = after_play[offsets[row] + np.int64(number % count)]


def open_named_player(name: str, ply: int = 0, warehouse: Versions | None = None, *, tables: bool = True) -> Player:
    """Open the player with a name: one of `players.PLAYERS`, an ONNX file, a file that starts a UBGI engine, a Python
    callable `module:name`, or a player of another package. With a warehouse, `network` and `network/NAME` are names
    too. Such a player uses the bearoff tables of the warehouse unless `tables` is false.

    Raises UnknownPlayerError for an unknown name or a program that is not installed, MissingTableError for a missing
    network, UsageError if `tables` is false for a player other than a network, and the errors of `OnnxEvaluator`."""
    if warehouse is not None and name.partition("/")[0] == NETWORK:
        return open_network_player(name, ply, warehouse, tables=tables)
    if not tables:
        raise UsageError(f"expected a network to play without tables, got {name}, which plays as it is")
    if name.endswith(ONNX):
        return LookaheadPlayer(OnnxEvaluator(name), ply)
    if is_callable(name):
        return LookaheadPlayer(CallableEvaluator(name), ply)
    if name.endswith(UBGI):
        return UbgiPlayer(name, ply)
    if name not in PLAYERS:
        from importlib.metadata import entry_points

        for added in entry_points(group=GROUP, name=name):  # players from another package
            if is_callable(added.value):
                return LookaheadPlayer(CallableEvaluator(added.value, name), ply)
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
    """Open the player that the parameters of a dataset name, with its ply and version. Raises InvalidParameterError if
    the player that is opened has another version, and the errors of `open_named_player`."""
    player = open_named_player(name, ply, warehouse, tables=tables)
    if player.version != version:
        raise InvalidParameterError(
            f"expected version {player.version} of {name}, as it plays here, got {version or 'none'}"
        )
    return player


def open_named_evaluator(name: str, ply: int, warehouse: Versions, *, tables: bool = True) -> Evaluator:
    """Open the evaluator with a name. Raises UsageError for a player that only chooses plays, and the errors of
    `open_named_player`."""
    return as_evaluator(name, open_named_player(name, ply, warehouse, tables=tables))


def as_evaluator(name: str, player: Player | Evaluator) -> Evaluator:
    """Return the player if it is an evaluator too. Raises UsageError, with this name, if it only chooses plays."""
    if not hasattr(player, "evaluate_many"):  # isinstance would compute its version from all its weights
        raise UsageError(f"expected a player that evaluates positions, got {name}, which only chooses plays")
    return cast("Evaluator", player)
