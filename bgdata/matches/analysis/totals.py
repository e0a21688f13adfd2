"""What a player's luck and losses come to: sums over games, marks of single errors, and the performance rating.

The rating is the mean loss of a decision in thousandths of a normalised point: 1000 times what plays and cube actions
lost, over plays that were not forced plus cube decisions that were close or taken (`judged.CLOSE`). That is gnubg's
overall error rate but for the sign; a Snowie error rate divides by all turns of both players.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bgdata.matches.analysis.acts import ActKind, Judged, JudgedGame

# losses from which an error is marked, and luck either way, in normalised points: the defaults of gnubg 1.07
ERROR_MARKS = ((0.12, "very bad"), (0.06, "bad"), (0.03, "doubtful"))
LUCK_MARKS = ((0.6, "very "), (0.3, ""))


@dataclass(frozen=True)
class Score:
    """What one player's acts come to; luck and losses in mwc or points, `normalised_*` in points of normalised equity.
    Losses are 0 and up."""

    rolls: int
    unforced_plays: int
    cube_decisions: int  # close or taken
    doubles: int
    takes: int
    passes: int
    luck: float
    play_loss: float
    cube_loss: float
    normalised_luck: float
    normalised_play_loss: float
    normalised_cube_loss: float
    marked: dict[str, int]  # errors by their mark, the mildest first

    @property
    def loss(self) -> float:
        """What plays and cube actions lost."""
        return self.play_loss + self.cube_loss

    @property
    def performance_rating(self) -> float:
        """Thousandths of a normalised point lost a decision; 0 without decisions."""
        return rating(self.normalised_play_loss + self.normalised_cube_loss, self.unforced_plays + self.cube_decisions)

    @property
    def play_rating(self) -> float:
        """Thousandths of a normalised point lost an unforced play."""
        return rating(self.normalised_play_loss, self.unforced_plays)

    @property
    def cube_rating(self) -> float:
        """Thousandths of a normalised point lost a cube decision."""
        return rating(self.normalised_cube_loss, self.cube_decisions)


@dataclass(frozen=True)
class Totals:
    """One game or several, in mwc or points of player 0; None where a game was not finished."""

    scores: tuple[Score, Score]
    net_luck: float
    net_skill: float  # what player 1 lost less what player 0 did
    net_drift: float | None  # the rest: change of evaluations, and what the end settled
    result: float | None  # what the game gained: its worth at the end less that at the beginning
    luck_adjusted: float | None  # result less net luck


def rating(loss: float, decisions: int) -> float:
    """Thousandths of a point a decision; 0 without decisions."""
    return 1000 * loss / decisions if decisions else 0.0


def error_mark(loss: float) -> str:
    """`doubtful`, `bad` or `very bad` for what a decision lost in normalised points, else empty."""
    return next((mark for least, mark in ERROR_MARKS if loss >= least), "")


def luck_mark(luck: float) -> str:
    """`lucky`, `very unlucky` and so on for the luck of a roll in normalised points, else empty."""
    found = next((mark for least, mark in LUCK_MARKS if abs(luck) >= least), None)
    return "" if found is None else found + ("lucky" if luck > 0 else "unlucky")


def score_of(acts: Iterable[Judged], player: int) -> Score:
    """The sums over the acts of one player."""
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
    """The sums over games that follow one another."""
    acts = [act for game in games for act in game.acts]
    first, second = scores = score_of(acts, 0), score_of(acts, 1)
    net_luck, net_skill = first.luck - second.luck, second.loss - first.loss
    gains = [game.result - game.initial for game in games if game.result is not None]
    if len(gains) < len(games):
        return Totals(scores, net_luck, net_skill, None, None, None)
    result, settled = sum(gains), sum(game.settlement or 0.0 for game in games)
    drift = sum((each.drift + each.found) * (1 - 2 * each.act.player) for each in acts) + settled
    return Totals(scores, net_luck, net_skill, drift, result, result - net_luck)
