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
    MAX_PLY,
    REVISION,
    EvaluationCache,
    PlayFilter,
    Ranking,
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

DECISIONS = 256  # decisions at a time: bounds the memory
MONEY = Stakes(Money(is_jacoby=False))


@dataclass(frozen=True)
class Evaluation:
    """The five cumulative chances of one side (0 to 1), its cubeless equity in points, and where they come from:
    source, ply and accuracy."""

    win: float
    win_gammon: float
    win_backgammon: float
    lose_gammon: float
    lose_backgammon: float
    cubeless_equity: float
    source: AnswerSource
    ply: int
    accuracy: str  # in words


@dataclass(frozen=True)
class RankedPlay:
    """A play and its evaluation, for the player who moves. If plays are ranked at given stakes, `cubeful_equity` is in
    points per unit cube, or in a match normalized to this game (-1 a lost single game, 1 a won one), and `mwc` is the
    match winning chance after the play."""

    play: Play
    evaluation: Evaluation
    loss: float  # points behind the best play at the same ply, 0 and up
    cubeful_equity: float | None = None
    mwc: float | None = None


class LookaheadPlayer:
    """Evaluates positions and chooses plays, `ply` rolls ahead, with any evaluator. Positions are for the player on
    roll, before the roll, in any notation that `Position` accepts. The same question always gets the same answer. A
    pickle contains only the settings and the paths of mapped files.

    The first table of `cubes` that covers a position answers cube decisions. Raises UsageError for a ply outside 0 to
    MAX_PLY, and for a player that only chooses plays.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        ply: int = 0,
        filters: Sequence[PlayFilter] = FILTERS,
        cubes: Sequence[ExactCube] | Callable[[], Sequence[ExactCube]] = (),
    ) -> None:
        if not hasattr(evaluator, "evaluate_many"):  # isinstance would compute its version from all its weights
            name = getattr(evaluator, "label", type(evaluator).__name__)
            raise UsageError(f"expected an evaluator of positions, got {name}, which only chooses plays")
        self.evaluator, self.ply, self.filters, self._given_cubes = evaluator, check_ply(ply), tuple(filters), cubes
        self._look = EvaluationCache(evaluator)

    def __repr__(self) -> str:
        return f"LookaheadPlayer({self.label})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.evaluator, self.ply, self.filters, self.cubes)

    @cached_property
    def cubes(self) -> tuple[ExactCube, ...]:
        """The exact tables for cube decisions, which open on first use."""
        return tuple(self._given_cubes() if callable(self._given_cubes) else self._given_cubes)

    @property
    def label(self) -> str:
        """The name and ply of the player, such as network-1ply."""
        return f"{self.evaluator.label}-{self.ply}ply"

    @cached_property
    def version(self) -> str:
        """A string that changes whenever the answers may have changed: the version of the evaluator. From ply 1 on it
        also contains the version of the lookahead, its filters, and which plays the evaluator skips when it looks
        ahead."""
        if self.ply == 0:
            return self.evaluator.version
        parts = [self.evaluator.version, REVISION, [tuple(each) for each in self.filters]]
        parts += [likely] if (likely := getattr(self.evaluator, "likely", 0)) else []
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:8]

    @property
    def accuracy(self) -> Mapping[AnswerSource, str]:
        """How accurate the static evaluations from each source are, in words."""
        return self.evaluator.accuracy

    def evaluate(self, position: PositionLike) -> Evaluation:
        """The five chances and cubeless equity of a position, for the player on roll before the roll. In a finished
        game, the chance of its result is 1. Raises InvalidPositionError if the position is invalid."""
        board = np.array([check_has_checkers(Position(position)).board], np.int8)
        chances, sources = self._evaluate(board)
        return self._evaluation(chances[0], int(sources[0]), self.ply)

    def evaluate_many(self, boards: BoardsLike) -> Evaluations:
        """Evaluate int8[n, 26] boards, or a list of positions in any notation: chances float32[n, 5] and sources
        int8[n]. Evaluations at ply 1 and above are cached. Raises InvalidPositionError for another shape or type, or an
        illegal board."""
        return self._evaluate(board_array(boards))

    def rank_plays(
        self, position: PositionLike, roll: RollLike, stakes: Stakes | None = None, rules: CubeRules = DEFAULT_RULES
    ) -> list[RankedPlay]:
        """List every legal play of a roll (at least one), those evaluated at the deepest ply first, and within a ply
        the best first.

        Plays are ranked by cubeless equity, or, if `stakes` of the player who moves are given, by cubeful equity from
        the model of `rules` (see `cube_lookahead`). Ties go to the higher cubeless equity. Plays that pass the filters
        are evaluated `ply` rolls ahead, and so is a forced play. Raises InvalidPositionError for an invalid position or
        a finished game, InvalidRollError for an invalid roll, and the errors of `cube_lookahead.kernel_stakes` if
        stakes are given."""
        from bgdata.evaluation.cube_lookahead import cubeful_figures, kernel_stakes

        position, roll = check_in_progress(Position(position)), to_roll(roll)
        own_stakes = kernel_stakes(stakes, rules) if stakes else None
        worth = self._worth(position, stakes, rules) if stakes else cubeless_worth
        ranked = self._rank(np.array([position.board], np.int8), np.array([(roll.high, roll.low)], np.int8), worth)
        if len(ranked.boards) == 1:
            found = self._evaluate(ranked.boards)
            values = worth(ranked.boards, found, self.ply).astype(np.float32)
            ranked = ranked._replace(
                chances=found.chances, sources=found.sources, plies=np.full(1, self.ply, np.int8), values=values
            )
        own, plays = turned_chances(ranked.chances), legal_plays(position, roll)
        cubeless = cubeless_equities(ranked.chances)
        return [
            RankedPlay(
                plays[row],
                self._evaluation(own[row], int(ranked.sources[row]), int(ranked.plies[row])),
                float(ranked.losses[row]),
                *(cubeful_figures(own_stakes, float(ranked.values[row])) if own_stakes else ()),
            )
            for row in np.lexsort((cubeless, ranked.losses, -ranked.plies)).tolist()
        ]

    def best_play(
        self, position: PositionLike, roll: RollLike, stakes: Stakes | None = None, rules: CubeRules = DEFAULT_RULES
    ) -> RankedPlay:
        """The best legal play of a roll: the first of `rank_plays`. Raises the same exceptions."""
        return self.rank_plays(position, roll, stakes, rules)[0]

    def decide_cube(
        self,
        position: PositionLike,
        stakes: Stakes = MONEY,
        rules: CubeRules = DEFAULT_RULES,
        chances: Sequence[float] | None = None,
    ) -> CubeDecision:
        """The right cube action of the player on roll before the roll, and the right answer to a double. The first
        table of `cubes` that covers the position answers; otherwise, or if `rules` ask for it, the model of `rules`
        from the five chances, which may be given if this player has evaluated the position before.

        >>> open_player("warehouse").decide_cube("4HPwATDgc/ABMA").action       # doctest: +SKIP
        <Action.NO_DOUBLE: 0>

        Raises InvalidPositionError for a finished game, and the errors of `equity.cube.decide_cube`.
        """
        position = check_in_progress(Position(position))
        stakes, rules = decision_rules(stakes, rules)
        if chances is None:
            chances = self._evaluate(np.array([position.board], np.int8)).chances[0].tolist()
        for table in () if rules.by_model else self.cubes:
            found = table.cube_equities(position, stakes, rules.met)
            if found is not None:
                return decide_cube(chances, stakes, rules, found, table.accuracy)
        return decide_cube(chances, stakes, rules)

    def choose_plays(self, boards: BoardsLike, rolls: RollsLike) -> Boards:
        """int8[n, 26]: the boards after the chosen plays, as `player.Player` returns them. Boards may also be a list of
        positions, and rolls a list such as ["31"]. Raises InvalidPositionError for an invalid position, and
        InvalidRollError for an invalid roll."""
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

    def _rank(self, boards: Boards, rolls: NDArray[np.int8], worth: Worth = cubeless_worth) -> Ranking:
        with threads_for(boards):
            return rank_all(self._look, boards, rolls, self.ply, self.filters, worth)

    def _worth(self, position: Position, stakes: Stakes, rules: CubeRules) -> Worth:
        """Make the function that values the plays from a position at these stakes. A play's value comes from the first
        of `cubes` that covers the position after it, unless the rules ask for the model; otherwise from the evaluator,
        whose exact tables answer in money play."""
        from bgdata.evaluation.cube_lookahead import kernel_stakes, play_equity, play_worth, turned_stakes

        own = kernel_stakes(stakes, rules)
        tables = NO_TABLES if rules.by_model else getattr(self.evaluator, "tables", NO_TABLES)
        modelled = play_worth(self._look, tables, turned_stakes(own))
        if rules.by_model or rules.has_beavers or own.unit == CUBELESS:
            return modelled
        exact_stakes, exact_rules = decision_rules(stakes, rules)
        if (
            self.exact_worth(position, exact_stakes, exact_rules) is None
        ):  # if covered, the positions after plays are covered too
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
        """The value of a position to the player on roll if both sides take their best cube actions, in points per unit
        cube or mwc, from the first of `cubes` that covers it. None if no table covers it, or if the game is over.
        Raises InvalidScoreError if the match equity table does not contain the score."""
        for table in self.cubes:
            found = table.cube_equities(position, stakes, rules.met)
            if found is not None:
                return best_equity(found)
        return None

    def _evaluation(self, chances: NDArray[np.float32], source: int, ply: int) -> Evaluation:
        """Make an `Evaluation` from the float32[5] chances of one player at a ply, and their `AnswerSource` number."""
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
    """A context that uses one thread if there is a single position: on busy cores, threads would wait for each other
    much longer than they compute."""
    return threads(1 if len(boards) == 1 else None)


def check_ply(ply: int) -> int:
    """The ply as a Python int. Raises UsageError if it is outside 0 to MAX_PLY."""
    with suppress(TypeError):
        (number,) = plain_integers([ply])
        if 0 <= number <= MAX_PLY:
            return number
    raise UsageError(f"expected a ply from 0 to {MAX_PLY}, got {ply!r}")


def decision_rules(stakes: Stakes, rules: CubeRules) -> tuple[Stakes, CubeRules]:
    """The stakes and rules by which a cube decision is made. If `rules` decide a match like money, these are the stakes
    and rules of money play, so that the same tables answer. Raises InvalidParameterError if rules and stakes do not
    fit."""
    check_rules(stakes, rules)
    if rules.as_money and isinstance(stakes.score, MatchScore) and not stakes.is_crawford:
        return Stakes(MONEY.score, stakes.cube), replace(rules, met=None, as_money=False)
    return stakes, rules
