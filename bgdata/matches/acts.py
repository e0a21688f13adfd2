"""The acts of a game, their judgements, and the sums of a player's luck and losses. Cheap to import: `judging`
computes.

All values are mwc, or points in money play, of the player who acts. `start` is the value before an act if both sides
continue as the analyst would, `end` the value after it. For every act

    end - start = luck - play_loss - cube_loss + found

where `found` is what looking ahead gains over the play that is best at 0-ply (0 at 0-ply). Between two acts the analyst
sees the same position one roll further, which changes `start` by the `drift`. So, for one player, the result of a game
minus its value at the beginning is exactly net luck minus net losses plus net drift. The drift is 0 if values are
exact. The luck of a roll averages to zero exactly. So the luck-adjusted result (the result minus net luck) has the same
mean as the result, however well the analyst evaluates (Douglas Zare, "Hedging toward skill", GammonVillage 2000).

The performance rating is the mean loss per decision in thousandths of a normalised point: 1000 times the loss of plays
and cube actions, over unforced plays plus close or taken cube decisions (`judging.CLOSE`). The rating is gnubg's
overall error rate except for the sign; a Snowie error rate divides by all turns of both players.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from bgdata.game.match import Stakes

if TYPE_CHECKING:  # `codec` imports kernels
    from bgdata.game.codec import Boards

# thresholds of marks for errors and luck, in normalised points: the defaults of gnubg 1.07
ERROR_MARKS = ((0.12, "very bad"), (0.06, "bad"), (0.03, "doubtful"))
LUCK_MARKS = ((0.6, "very "), (0.3, ""))
NO_DOUBLE = "no double"  # cube action of a player who could double but rolled


class ActKind(StrEnum):
    """The kinds of acts in a game, as strings in columns. A raccoon is a second BEAVER."""

    ROLL = "roll"
    DOUBLE = "double"
    BEAVER = "beaver"
    TAKE = "take"
    PASS = "pass"


class CubeValues(NamedTuple):
    """The values of the cube actions to the player on roll."""

    no_double: float
    double_take: float
    double_pass: float

    @property
    def double_worth(self) -> float:
        """The value of a double after the opponent's best answer, take or pass, without a beaver."""
        return min(self.double_take, self.double_pass)

    @property
    def best_action(self) -> str:
        """The best cube action: `double, take`, `double, pass`, `no double` or `too good to double`."""
        answer = ActKind.TAKE if self.double_take < self.double_pass else ActKind.PASS
        if self.no_double > self.double_worth:
            return "too good to double" if answer is ActKind.PASS else NO_DOUBLE
        return f"double, {answer}"


@dataclass(frozen=True)
class Act:
    """One act of a player: a roll with its play, or a cube action. `board` and `stakes` are before the act, or, for an
    answer, before the double; both are for the player on roll."""

    kind: ActKind
    player: int  # 0 or 1, the player who acts
    on_roll: int
    board: Boards  # [26]
    stakes: Stakes
    dice: tuple[int, int] | None = None
    after_play: Boards | None = None  # [26] for the same player; None or `board` if no play was made


@dataclass(frozen=True)
class RecordedGame:
    """The acts of one game. `result` is the points that player 0 won, cube included: negative if player 0 lost, None
    for an unfinished game. `stakes` are the stakes of player 0 before the first roll."""

    stakes: Stakes
    acts: Sequence[Act]
    result: int | None


@dataclass(frozen=True)
class Candidate:
    """A legal play, and its value to the player who rolled."""

    after_play: Boards  # [26] for that player
    worth: float


@dataclass(frozen=True)
class RollJudgement:
    """A roll and its play, with values for the player who rolled."""

    before: float  # value before the roll, the mean over all rolls
    rolled: float  # value of this roll, after the play that is best at 0-ply
    best: float  # value after the best play found, which may be the play made
    after: float  # value after the play made
    candidates: tuple[Candidate, ...]  # at the deepest ply, best first
    is_forced: bool  # whether there was at most one play, or none was made


@dataclass(frozen=True)
class JudgedAct:
    """An act with its values, luck and losses (0 if they do not apply), in mwc or points of the player who acts."""

    act: Act
    point: float  # value of one point of normalised equity, at the cube before the act
    start: float
    end: float
    drift: float
    roll: RollJudgement | None = None
    cube: CubeValues | None = None  # for the player ON ROLL, if it could double
    cube_loss: float = 0.0
    best_answer: ActKind | None = None  # best answer to a double or beaver
    is_cube_decision: bool = False  # a double, an answer, or a roll where doubling was close or right

    @property
    def luck(self) -> float:
        """The luck of the roll, in mwc or points; 0 if there was no roll."""
        return self.roll.rolled - self.roll.before if self.roll else 0.0

    @property
    def play_loss(self) -> float:
        """What the play loses against the best play, in mwc or points: never negative, 0 if there was no roll."""
        return self.roll.best - self.roll.after if self.roll else 0.0

    @property
    def correction(self) -> float:
        """How much the best play found by looking ahead gains over the play that is best at 0-ply, in mwc or points."""
        return self.roll.best - self.roll.rolled if self.roll else 0.0

    @property
    def is_play_decision(self) -> bool:
        """Whether the player had a choice of plays."""
        return self.roll is not None and not self.roll.is_forced


@dataclass(frozen=True)
class JudgedGame:
    """The judged acts of one game. `initial` and `result` are the values of player 0 before the first roll and after
    the game; `settlement` is the result minus the value after the last act. `result` and `settlement` are None for an
    unfinished game."""

    acts: list[JudgedAct]
    initial: float
    result: float | None
    settlement: float | None


@dataclass(frozen=True)
class Score:
    """The sums over one player's acts: luck and losses in mwc or points, `normalised_*` in points of normalised equity.
    Losses are not negative."""

    rolls: int
    unforced_plays: int
    cube_decisions: int  # number of close or taken cube decisions
    doubles: int
    takes: int
    passes: int
    luck: float
    play_loss: float
    cube_loss: float
    normalised_luck: float
    normalised_play_loss: float
    normalised_cube_loss: float
    marked: dict[str, int]  # number of errors by mark, mildest first

    @property
    def loss(self) -> float:
        """The loss of all plays and cube actions, in mwc or points."""
        return self.play_loss + self.cube_loss

    @property
    def performance_rating(self) -> float:
        """The loss per decision in thousandths of a point of normalised equity; 0 if there are no decisions."""
        return rating(self.normalised_play_loss + self.normalised_cube_loss, self.unforced_plays + self.cube_decisions)

    @property
    def play_rating(self) -> float:
        """The loss per unforced play in thousandths of a point of normalised equity."""
        return rating(self.normalised_play_loss, self.unforced_plays)

    @property
    def cube_rating(self) -> float:
        """The loss per cube decision in thousandths of a point of normalised equity."""
        return rating(self.normalised_cube_loss, self.cube_decisions)


@dataclass(frozen=True)
class Totals:
    """The sums over one or several games, in mwc or points of player 0; None if a game is unfinished."""

    scores: tuple[Score, Score]
    net_luck: float
    net_skill: float  # loss of player 1 minus loss of player 0
    net_drift: float | None  # the rest: changed evaluations and settlements
    result: float | None  # value at the end minus value at the beginning
    luck_adjusted: float | None  # result minus net luck


def rating(loss: float, decisions: int) -> float:
    """Return the loss per decision in thousandths of a point; 0 if there are no decisions."""
    return 1000 * loss / decisions if decisions else 0.0


def error_mark(loss: float) -> str:
    """Return the mark of a loss in points of normalised equity: `doubtful`, `bad` or `very bad`; empty for a small
    loss."""
    return next((mark for least, mark in ERROR_MARKS if loss >= least), "")


def luck_mark(luck: float) -> str:
    """Return the mark of a roll's luck in points of normalised equity, such as `lucky` or `very unlucky`; empty if
    there was little luck."""
    found = next((mark for least, mark in LUCK_MARKS if abs(luck) >= least), None)
    return "" if found is None else found + ("lucky" if luck > 0 else "unlucky")


def score_of(acts: Iterable[JudgedAct], player: int) -> Score:
    """Add up the luck, losses and decisions in the acts of one player."""
    own = [each for each in acts if each.act.player == player]
    kinds = [each.act.kind for each in own]
    losses = [loss / each.point for each in own for loss in (each.play_loss, each.cube_loss)]
    marks = [error_mark(loss) for loss in losses]
    return Score(
        rolls=kinds.count(ActKind.ROLL),
        unforced_plays=sum(each.is_play_decision for each in own),
        cube_decisions=sum(each.is_cube_decision for each in own),
        doubles=kinds.count(ActKind.DOUBLE),
        takes=kinds.count(ActKind.TAKE) + kinds.count(ActKind.BEAVER),
        passes=kinds.count(ActKind.PASS),
        luck=sum(each.luck for each in own),
        play_loss=sum(each.play_loss for each in own),
        cube_loss=sum(each.cube_loss for each in own),
        normalised_luck=sum(each.luck / each.point for each in own),
        normalised_play_loss=sum(each.play_loss / each.point for each in own),
        normalised_cube_loss=sum(each.cube_loss / each.point for each in own),
        marked={mark: marks.count(mark) for _, mark in reversed(ERROR_MARKS)},
    )


def totals_of(games: Sequence[JudgedGame]) -> Totals:
    """Add up the luck, losses and results of consecutive games."""
    acts = [act for game in games for act in game.acts]
    first, second = scores = score_of(acts, 0), score_of(acts, 1)
    net_luck, net_skill = first.luck - second.luck, second.loss - first.loss
    gains = [game.result - game.initial for game in games if game.result is not None]
    if len(gains) < len(games):
        return Totals(scores, net_luck, net_skill, None, None, None)
    result, settled = sum(gains), sum(game.settlement or 0.0 for game in games)
    drift = sum((each.drift + each.correction) * (1 - 2 * each.act.player) for each in acts) + settled
    return Totals(scores, net_luck, net_skill, drift, result, result - net_luck)
