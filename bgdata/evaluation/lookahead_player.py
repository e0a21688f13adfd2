"""The player: maps exact tables, one-sided tables and networks, and names the source and accuracy of each answer.

>>> player = open_player("warehouse")                               # doctest: +SKIP
>>> player.evaluate("4HPwATDgc/ABMA").win                           # doctest: +SKIP
>>> str(player.best_play("4HPwATDgc/ABMA", "31").play)              # doctest: +SKIP
'8/5 6/5'
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgdata.equity.cube import DEFAULT_RULES, CubeDecision, CubeRules, ExactCube, check_rules, decide_cube
from bgdata.equity.doubling import best_equity
from bgdata.errors import UsageError
from bgdata.evaluation.answers import CUBELESS
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.chances import AnswerSource, Evaluations, Evaluator, cubeless_equities, turned_chances
from bgdata.evaluation.lookahead import (
    FILTERS,
    MOST_PLY,
    REVISION,
    EvaluationCache,
    PlayFilter,
    Ranked,
    Worth,
    cubeless_worth,
    rank_all,
)
from bgdata.game.board_arrays import BoardsLike, RollsLike, board_array, dice_array
from bgdata.game.classes import check_has_checkers, check_in_progress
from bgdata.game.codec import Boards
from bgdata.game.dice import RollLike, to_roll
from bgdata.game.integers import plain_integers
from bgdata.game.match import MatchScore, Money, Stakes
from bgdata.game.plays import Play, legal_plays
from bgdata.game.position import Position, PositionLike
from bgdata.kernel import threads

DECISIONS = 256  # decisions looked into at a time: bounds the memory
MONEY = Stakes(Money(is_jacoby=False))


@dataclass(frozen=True)
class Evaluation:
    """Five cumulative chances of one side (0 to 1), its cubeless equity in points, and their source and accuracy."""

    win: float
    win_gammon: float
    win_backgammon: float
    lose_gammon: float
    lose_backgammon: float
    cubeless_equity: float
    source: AnswerSource
    ply: int
    accuracy: str  # how far to trust it, in words


@dataclass(frozen=True)
class RankedPlay:
    """A play and its evaluation, seen by the player who moves. Where plays are ranked for stakes, it has a value with
    the cube too: `cubeful_equity` in points per unit cube, or in a match as equity of this game, from -1 where a single
    game is lost to 1 where it is won; and in a match the `mwc` that this is."""

    play: Play
    evaluation: Evaluation
    loss: float  # points behind the best play at the ply of its evaluation, 0 and up
    cubeful_equity: float | None = None
    mwc: float | None = None


class LookaheadPlayer:
    """Evaluates positions and chooses plays, `ply` rolls ahead, with any evaluator. Positions are seen by the player on
    roll, before the roll, in any notation that `Position` takes. The same question always has the same answer. A
    pickled player is only its settings and the paths of what it maps.

    A cube decision is answered by the first table of `cubes` that covers it. Raises UsageError for a ply that is not 0
    to MOST_PLY, and for a player that only chooses plays.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        ply: int = 0,
        filters: Sequence[PlayFilter] = FILTERS,
        cubes: Sequence[ExactCube] | Callable[[], Sequence[ExactCube]] = (),
    ) -> None:
        if not hasattr(evaluator, "evaluate_many"):  # isinstance would work out its version, from all its weights
            name = getattr(evaluator, "label", type(evaluator).__name__)
            raise UsageError(f"expected an evaluator of positions, got {name}, which only chooses plays")
        self.evaluator, self.ply, self.filters, self._given_cubes = evaluator, checked_ply(ply), tuple(filters), cubes
        self._look = EvaluationCache(evaluator)

    def __repr__(self) -> str:
        return f"LookaheadPlayer({self.label})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.evaluator, self.ply, self.filters, self.cubes)

    @cached_property
    def cubes(self) -> tuple[ExactCube, ...]:
        """The tables that know cube decisions exactly, opened when a decision is first asked for."""
        return tuple(self._given_cubes() if callable(self._given_cubes) else self._given_cubes)

    @property
    def label(self) -> str:
        """Name and ply, such as network-1ply."""
        return f"{self.evaluator.label}-{self.ply}ply"

    @cached_property
    def version(self) -> str:
        """A text that changes whenever the answers may have changed: the version of the evaluator, and from ply 1 on
        that of looking ahead with these filters, and with what an evaluator that looks ahead by itself leaves out."""
        if self.ply == 0:
            return self.evaluator.version
        parts = [self.evaluator.version, REVISION, [tuple(each) for each in self.filters]]
        parts += [likely] if (likely := getattr(self.evaluator, "likely", 0)) else []
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:8]

    @property
    def accuracy(self) -> Mapping[AnswerSource, str]:
        """How accurate the static answers of each source are, in words."""
        return self.evaluator.accuracy

    def evaluate(self, position: PositionLike) -> Evaluation:
        """The five chances and the cubeless equity of a position, for the player on roll before the roll. A finished
        game has the chances of its result. Raises InvalidPositionError."""
        board = np.array([check_has_checkers(Position(position)).board], np.int8)
        chances, sources = self._evaluate(board)
        return self._evaluation(chances[0], int(sources[0]), self.ply)

    def evaluate_many(self, boards: BoardsLike) -> Evaluations:
        """Chances float32[n, 5] and sources int8[n] of boards int8[n, 26], or of a list of positions in any notation.
        Answers of ply 1 and up are cached.

        Raises InvalidPositionError for another shape or type, or an illegal board.
        """
        return self._evaluate(board_array(boards))

    def rank_plays(
        self, position: PositionLike, roll: RollLike, stakes: Stakes | None = None, rules: CubeRules = DEFAULT_RULES
    ) -> list[RankedPlay]:
        """Every legal play of a roll (at least one), the deepest ply first, and within a ply the best first: by
        cubeless equity, or with `stakes`, those of the player who moves, by its value with the cube and the model of
        `rules` (see `cube_lookahead`); of equal values by cubeless equity.

        Plays that pass the filters are evaluated `ply` rolls ahead, and so is an only play. Raises
        InvalidPositionError, also for a finished game, InvalidRollError, and for stakes what
        `cube_lookahead.kernel_stakes` raises.
        """
        from bgdata.evaluation.cube_lookahead import cubeful_figures, kernel_stakes

        position, roll = check_in_progress(Position(position)), to_roll(roll)
        own_stakes = kernel_stakes(stakes, rules) if stakes else None
        worth = self._worth(position, stakes, rules) if stakes else cubeless_worth
        ranked = self._rank(np.array([position.board], np.int8), np.array([(roll.high, roll.low)], np.int8), worth)
        if len(ranked.boards) == 1:
            found = self._evaluate(ranked.boards)
            worths = worth(ranked.boards, found, self.ply).astype(np.float32)
            ranked = ranked._replace(
                chances=found.chances, sources=found.sources, plies=np.full(1, self.ply, np.int8), worths=worths
            )
        own, plays = turned_chances(ranked.chances), legal_plays(position, roll)
        cubeless = cubeless_equities(ranked.chances)
        return [
            RankedPlay(
                plays[row],
                self._evaluation(own[row], int(ranked.sources[row]), int(ranked.plies[row])),
                float(ranked.losses[row]),
                *(cubeful_figures(own_stakes, float(ranked.worths[row])) if own_stakes else ()),
            )
            for row in np.lexsort((cubeless, ranked.losses, -ranked.plies)).tolist()
        ]

    def best_play(
        self, position: PositionLike, roll: RollLike, stakes: Stakes | None = None, rules: CubeRules = DEFAULT_RULES
    ) -> RankedPlay:
        """The best legal play of a roll: the first of `rank_plays`, which also says what is raised."""
        return self.rank_plays(position, roll, stakes, rules)[0]

    def decide_cube(
        self,
        position: PositionLike,
        stakes: Stakes = MONEY,
        rules: CubeRules = DEFAULT_RULES,
        chances: Sequence[float] | None = None,
    ) -> CubeDecision:
        """What the player on roll should do with the cube before the roll, and how the opponent should answer a double.
        The answer is from the first table of `cubes` that covers the position, else (or if `rules` say so) from the
        model of `rules` and the five chances, which are given where this player has evaluated the position before.

        >>> open_player("warehouse").decide_cube("4HPwATDgc/ABMA").action       # doctest: +SKIP
        <Action.NO_DOUBLE: 0>

        Raises InvalidPositionError for a finished game, and what `equity.cube.decide_cube` raises.
        """
        position = check_in_progress(Position(position))
        stakes, rules = as_decided(stakes, rules)
        if chances is None:
            chances = self._evaluate(np.array([position.board], np.int8)).chances[0].tolist()
        for table in () if rules.by_model else self.cubes:
            found = table.cube_equities(position, stakes, rules.met)
            if found is not None:
                return decide_cube(chances, stakes, rules, found, table.accuracy)
        return decide_cube(chances, stakes, rules)

    def choose_plays(self, boards: BoardsLike, rolls: RollsLike) -> Boards:
        """See `player.Player`; lists of positions, and of rolls such as "31", are taken as well. Raises
        InvalidPositionError or InvalidRollError."""
        legal = board_array(boards)
        dice = dice_array(rolls, len(legal))
        chosen = np.empty((len(legal), 26), np.int8)
        for start in range(0, len(legal), DECISIONS):
            rows = slice(start, start + DECISIONS)
            ranked = self._rank(legal[rows], dice[rows])
            chosen[rows] = ranked.boards[ranked.best()]
        return chosen

    def _evaluate(self, boards: Boards) -> Evaluations:
        with threads_for(boards):
            return self._look(boards, self.ply)

    def _rank(self, boards: Boards, rolls: NDArray[np.int8], worth: Worth = cubeless_worth) -> Ranked:
        with threads_for(boards):
            return rank_all(self._look, boards, rolls, self.ply, self.filters, worth)

    def _worth(self, position: Position, stakes: Stakes, rules: CubeRules) -> Worth:
        """What the plays from a position are worth by these stakes: by the first of `cubes` that knows a play, unless
        the rules say by the model; elsewhere by the evaluator, whose exact tables answer in money play."""
        from bgdata.evaluation.cube_lookahead import kernel_stakes, play_equity, play_worth, turned_stakes

        own = kernel_stakes(stakes, rules)
        tables = NO_TABLES if rules.by_model else getattr(self.evaluator, "tables", NO_TABLES)
        modelled = play_worth(self._look, tables, turned_stakes(own))
        if rules.by_model or rules.has_beavers or own.unit == CUBELESS:
            return modelled
        exact_stakes, exact_rules = as_decided(stakes, rules)
        if self.exact_worth(position, exact_stakes, exact_rules) is None:  # then what it leads to is known, too
            return modelled

        def worth(boards: Boards, found: Evaluations, ply: int) -> NDArray[np.floating[Any]]:
            values = modelled(boards, found, ply)
            for row, board in enumerate(boards.tolist()):
                theirs = self.exact_worth(Position(board), exact_stakes.flip(), exact_rules)
                if theirs is not None:
                    values[row] = play_equity(own, theirs)
            return values

        return worth

    def exact_worth(self, position: Position, stakes: Stakes, rules: CubeRules) -> float | None:
        """What a position is worth to the player on roll if both sides turn the cube best, by the first of `cubes` that
        knows it: points per unit cube, or mwc. None where none does, or the game is over. Raises InvalidScoreError."""
        for table in self.cubes:
            found = table.cube_equities(position, stakes, rules.met)
            if found is not None:
                return best_equity(found)
        return None

    def _evaluation(self, chances: NDArray[np.float32], source: int, ply: int) -> Evaluation:
        """An `Evaluation` of float32[5] chances of the player in question, evaluated at `ply`."""
        who = AnswerSource(source)
        win, win_gammon, win_backgammon, lose_gammon, lose_backgammon = map(float, chances)
        return Evaluation(
            win,
            win_gammon,
            win_backgammon,
            lose_gammon,
            lose_backgammon,
            cubeless_equity=float(cubeless_equities(chances[None])[0]),
            source=who,
            ply=0 if who.is_final else ply,
            accuracy="the game is over" if who is AnswerSource.OVER else self.accuracy.get(who, ""),
        )


def threads_for(boards: Boards) -> AbstractContextManager[None]:
    """One thread for a single position: while other work keeps the cores busy, threads would wait for one another much
    longer than they compute."""
    return threads(1 if len(boards) == 1 else None)


def checked_ply(ply: int) -> int:
    """How many rolls a player looks ahead, as Python's integer. Raises UsageError."""
    with suppress(TypeError):
        (number,) = plain_integers([ply])
        if 0 <= number <= MOST_PLY:
            return number
    raise UsageError(f"expected a ply from 0 to {MOST_PLY}, got {ply!r}")


def as_decided(stakes: Stakes, rules: CubeRules) -> tuple[Stakes, CubeRules]:
    """The stakes and rules by which a cube decision is made: those of money play for a match that is decided as if it
    were that, so that the same tables answer. Raises InvalidParameterError."""
    check_rules(stakes, rules)
    if rules.as_money and isinstance(stakes.score, MatchScore) and not stakes.is_crawford:
        return Stakes(MONEY.score, stakes.cube), replace(rules, met=None, as_money=False)
    return stakes, rules
