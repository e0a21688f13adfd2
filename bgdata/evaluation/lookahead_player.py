"""The player that looks ahead with any evaluator, and names the source and accuracy of each answer.

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

from bgdata.equity.cube import (
    DEFAULT_RULES,
    CubeDecision,
    CubeRules,
    ExactCube,
    Method,
    check_rules,
    decide_cube,
    describe_model,
)
from bgdata.equity.curves import OPPONENT
from bgdata.equity.doubling import NOT_ALLOWED, CubeEquities, best_equity
from bgdata.errors import UsageError
from bgdata.evaluation.answers import CUBELESS, MATCH
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

DECISIONS = 256  # number of decisions at a time, to limit memory
MONEY = Stakes(Money(is_jacoby=False))


@dataclass(frozen=True)
class Evaluation:
    """The evaluation of a position for one side: its five cumulative chances (0 to 1) and its cubeless equity in
    points, with their source, ply and accuracy."""

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
    points per unit cube, or in a match normalized to this game (-1 is a lost and 1 a won single game). In a match,
    `mwc` is the match winning chance after the play."""

    play: Play
    evaluation: Evaluation
    loss: float  # how much worse than the best play at the same ply, in points
    cubeful_equity: float | None = None
    mwc: float | None = None


class LookaheadPlayer:
    """Evaluates positions and chooses plays, `ply` rolls ahead, with any evaluator. Positions are for the player on
    roll, before the roll, in any notation that `Position` accepts. The same position always gets the same answer. A
    pickle contains only the settings and the paths of mapped files.

    Cube decisions come from the first table of `cubes` that covers the position. Raises UsageError for a ply outside 0
    to MAX_PLY, and for a player that only chooses plays.
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
        """A string that changes whenever the answers may have changed: the version of the evaluator. From ply 1 on, the
        string also contains the version of the lookahead, its filters, and which plays the evaluator leaves out when it
        looks ahead."""
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
        """Evaluate a position: its five chances and cubeless equity, for the player on roll before the roll. In a
        finished game, the chance of its result is 1. Raises InvalidPositionError if the position is invalid."""
        board = np.array([check_has_checkers(Position(position)).board], np.int8)
        chances, sources = self._evaluate(board)
        return self._evaluation(chances[0], int(sources[0]), self.ply)

    def evaluate_many(self, boards: BoardsLike) -> Evaluations:
        """Evaluate int8[n, 26] boards, or a list of positions in any notation. Returns chances float32[n, 5] and
        sources int8[n]. Evaluations at ply 1 and above are cached. Raises InvalidPositionError for another shape or
        type, or an illegal board."""
        return self._evaluate(board_array(boards))

    def rank_plays(
        self, position: PositionLike, roll: RollLike, stakes: Stakes | None = None, rules: CubeRules = DEFAULT_RULES
    ) -> list[RankedPlay]:
        """List every legal play of a roll, at least one. Plays that were evaluated at the deepest ply come first, and
        the best plays of a ply first.

        Plays are ranked by cubeless equity, or, if `stakes` of the player who moves are given, by cubeful equity from
        the model of `rules` (see `cube_lookahead`). Equal plays are ranked by cubeless equity. Plays that pass the
        filters are evaluated `ply` rolls ahead, and so is a forced play. Raises InvalidPositionError for an invalid
        position or a finished game, and InvalidRollError for an invalid roll. If stakes are given, raises
        InvalidParameterError for rules that do not fit them, and InvalidScoreError for a score outside the match equity
        table."""
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
        """Return the best legal play of a roll: the first of `rank_plays`, which raises the same exceptions."""
        return self.rank_plays(position, roll, stakes, rules)[0]

    def decide_cube(
        self,
        position: PositionLike,
        stakes: Stakes = MONEY,
        rules: CubeRules = DEFAULT_RULES,
        chances: Sequence[float] | None = None,
    ) -> CubeDecision:
        """Decide about the cube before the roll: the right action of the player on roll, and the right answer to a
        double.

        The decision comes from the first table of `cubes` that covers the position. If there is none, and the player
        looks ahead, both sides may double during the rolls that it looks ahead, and the model of `rules` values the
        positions after them. At 0-ply, or if `rules` ask for it, the decision comes from the model and the five
        chances. `chances` may be given if this player has evaluated the position before.

        >>> open_player("warehouse").decide_cube("4HPwATDgc/ABMA").action       # doctest: +SKIP
        <Action.NO_DOUBLE: 0>

        Raises InvalidPositionError for a finished game, and InvalidParameterError and InvalidScoreError as
        `equity.cube.decide_cube` does.
        """
        position = check_in_progress(Position(position))
        stakes, rules = decision_rules(stakes, rules)
        if chances is None:
            chances = self._evaluate(np.array([position.board], np.int8)).chances[0].tolist()
        for table in () if rules.by_model else self.cubes:
            found = table.cube_equities(position, stakes, rules.met)
            if found is not None:
                return decide_cube(chances, stakes, rules, found, table.accuracy)
        if not self._looks_ahead_with_cube(stakes, rules):
            return decide_cube(chances, stakes, rules)
        rolls = "1 roll" if self.ply == 1 else f"{self.ply} rolls"
        accuracy = f"{rolls} ahead, in which both sides may double; then {describe_model(rules)}"
        return decide_cube(
            chances, stakes, rules, self._equities_ahead(position, stakes, rules), accuracy, Method.LOOKAHEAD
        )

    def _looks_ahead_with_cube(self, stakes: Stakes, rules: CubeRules) -> bool:
        """Whether cube decisions at these stakes are made by looking ahead. A local volatility is that of the position
        itself, and says nothing about positions after it."""
        is_local = rules.strategy.local_volatility != rules.strategy.volatility
        return self.ply > 0 and not (rules.by_model or is_local or stakes.is_crawford)

    def _equities_ahead(self, position: Position, stakes: Stakes, rules: CubeRules) -> CubeEquities:
        """Compute the equities of the cube actions by looking ahead with the cube. Without a gain from doubling, the
        equity of a take is NOT_ALLOWED."""
        from bgdata.evaluation.cube_lookahead import kernel_stakes, single_games, values_ahead

        own, board = kernel_stakes(stakes, rules), np.array([position.board], np.int8)
        tables = getattr(self.evaluator, "tables", NO_TABLES)
        with threads_for(board):
            values = values_ahead(self._look, tables, own, board, self.ply)[0]
        taken = NOT_ALLOWED
        if own.unit != MATCH:
            taken = 2 * float(values[0, OPPONENT])
        elif len(values) > 1:  # a doubled cube matters
            taken = float(values[1, OPPONENT])
        return CubeEquities(float(values[0, own.owner]), taken, taken, single_games(own)[1])

    def choose_plays(self, boards: BoardsLike, rolls: RollsLike) -> Boards:
        """Return the boards after the chosen plays, as int8[n, 26]: see `player.Player`. `boards` may also be a list of
        positions, and `rolls` a list such as ["31"]. Raises InvalidPositionError for an invalid position, and
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
        """Make the function that computes the values of plays from a position at these stakes. The value of a play
        comes from the first of `cubes` that covers the position after it, unless the rules ask for the model. Otherwise
        it comes from the evaluator, whose exact tables answer in money play."""
        from bgdata.evaluation.cube_lookahead import kernel_stakes, play_equity, play_worth, turned_stakes

        own = kernel_stakes(stakes, rules)
        tables = NO_TABLES if rules.by_model else getattr(self.evaluator, "tables", NO_TABLES)
        modelled = play_worth(self._look, tables, turned_stakes(own))
        if rules.by_model or rules.has_beavers or own.unit == CUBELESS:
            return modelled
        exact_stakes, exact_rules = decision_rules(stakes, rules)
        if (
            self.exact_worth(position, exact_stakes, exact_rules) is None
        ):  # if the position is covered, so are those after plays
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
        """Return the value of a position for the player on roll if both sides choose their best cube actions, in points
        per unit cube or mwc. It comes from the first of `cubes` that covers the position. Returns None if no table
        covers the position, or if the game is over. Raises InvalidScoreError if the match equity table does not contain
        the score."""
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
    """Inside the `with` block, use one thread if there is a single position. On busy cores, several threads would wait
    for each other much longer than they compute."""
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
