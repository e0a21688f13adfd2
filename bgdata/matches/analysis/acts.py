"""What was done in a game, and how it was judged. Light to import: `judged` computes.

All worths are mwc, or points in money play, of the player who acts. With `start` and `end`, what it has before an act
if both sides go on as the analyst would, and after it,

    end - start = luck - play_loss - cube_loss + found

in every act, where `found` is what looking ahead found above the play that is best at 0-ply (nothing at 0-ply). Between
two acts the analyst looks at the same position one roll further, which changes `start` by the `drift`. So, seen by one
player, the result of a game less its worth at the beginning is net luck less net losses plus net drift, exactly. The
drift is 0 where worths are exact. The luck of a roll averages to zero exactly, so that the result less net luck, the
luck-adjusted result, has the mean of the result, however well the analyst evaluates (Douglas Zare, "Hedging toward
skill", GammonVillage 2000).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from bgdata.game.match import Stakes

if TYPE_CHECKING:
    from bgdata.game.codec import Boards


class ActKind(StrEnum):
    """What a player did; the strings are those of columns. A raccoon is another BEAVER."""

    ROLL = "roll"
    DOUBLE = "double"
    BEAVER = "beaver"
    TAKE = "take"
    PASS = "pass"


NO_DOUBLE = "no double"  # what was done with the cube where a player who could double rolled


class CubeWorths(NamedTuple):
    """What the cube actions are worth to the player on roll."""

    no_double: float
    double_take: float
    double_pass: float

    @property
    def answered(self) -> float:
        """What a double is worth if it is answered best, without a beaver."""
        return min(self.double_take, self.double_pass)

    @property
    def best_action(self) -> str:
        """What is best for the player on roll, with the answer to a double: `double, take`, `double, pass`, `no double`
        or `too good to double`."""
        answer = ActKind.TAKE if self.double_take < self.double_pass else ActKind.PASS
        if self.no_double > self.answered:
            return "too good to double" if answer is ActKind.PASS else NO_DOUBLE
        return f"double, {answer}"


@dataclass(frozen=True)
class Act:
    """One act. Board and stakes are seen by the player on roll, before the act; the stakes of an answer are those
    before the double."""

    kind: ActKind
    player: int  # who acts, 0 or 1
    on_roll: int
    board: Boards  # [26]
    stakes: Stakes
    dice: tuple[int, int] | None = None
    after_play: Boards | None = None  # [26] still seen by the player on roll; None or `board` where nothing was played


@dataclass(frozen=True)
class RecordedGame:
    """The acts of one game. `result` is the points that player 0 won, the cube included (negative: lost); None for a
    game that was not finished. `stakes` are those of player 0 before the first roll."""

    stakes: Stakes
    acts: Sequence[Act]
    result: int | None


@dataclass(frozen=True)
class Candidate:
    """A play and its worth to the player who rolled."""

    after_play: Boards  # [26] seen by that player
    worth: float


@dataclass(frozen=True)
class RollJudgement:
    """A roll and its play; worths of the player who rolled."""

    before: float  # mean over all rolls
    rolled: float  # of this roll: after the play that is best at 0-ply
    best: float  # after the best play found, which may be the one made
    after: float  # after the play made
    candidates: tuple[Candidate, ...]  # those of the deepest ply, the best first
    is_forced: bool  # whether there was one play at most, or none was made


@dataclass(frozen=True)
class Judged:
    """An act and what it was worth, see above; luck and losses are 0 where there is none."""

    act: Act
    point: float  # of worth that is one point of normalised equity, at the cube before the act
    start: float
    end: float
    drift: float
    roll: RollJudgement | None = None
    cube: CubeWorths | None = None  # seen by the player ON ROLL, where it could double or did
    cube_loss: float = 0.0
    best_answer: ActKind | None = None  # to a double or beaver
    is_cube_decision: bool = False  # a double, an answer, or a roll where doubling was close or right

    @property
    def luck(self) -> float:
        """The luck of the roll."""
        return self.roll.rolled - self.roll.before if self.roll else 0.0

    @property
    def play_loss(self) -> float:
        """What the play lost, 0 and up."""
        return self.roll.best - self.roll.after if self.roll else 0.0

    @property
    def found(self) -> float:
        """What looking ahead found above the play that is best at 0-ply."""
        return self.roll.best - self.roll.rolled if self.roll else 0.0

    @property
    def is_play_decision(self) -> bool:
        """Whether there was a choice of plays."""
        return self.roll is not None and not self.roll.is_forced


@dataclass(frozen=True)
class JudgedGame:
    """The acts of one game. `initial` and `result` are worths of player 0 before the first roll and after the game, and
    `settlement` is what the end settled: the result less the last `end`. The latter two are None for a game that was
    not finished."""

    acts: list[Judged]
    initial: float
    result: float | None
    settlement: float | None
