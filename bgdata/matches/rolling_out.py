"""Rolls out a decision of a match: the play or cube action that was made, the one that an analysis prefers, and plays
that are almost as good."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from math import inf, nan, sqrt
from typing import NamedTuple

import numpy as np

from bgdata.equity.cube import CubeRules, worth_of_result
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.game.match import Money
from bgdata.game.xgid import Xgid, parse_xgid
from bgdata.matches.acts import NO_DOUBLE, ActKind
from bgdata.selfplay.cubeful_rollout import CubefulStart, decision_starts, play_starts, roll_out_with_cube
from bgdata.selfplay.rollout import Limits, RolloutSettings, Values

DIGITS = 9  # digits of values, because the last digits of sums differ between processors
PLAY, DOUBLE, ANSWER = SUBJECTS = ("play", "double", "answer")


class AnalysedDecision(NamedTuple):
    """A decision of an analysis: the XGID for the player on roll, what is decided, the choice that was made and the
    best choice."""

    xgid: str
    subject: str
    made: str
    best: str  # best choice by the analysis

    @property
    def seed(self) -> int:
        """The seed of the rollout's dice. It depends only on the position, the stakes, the roll and what is decided."""
        digest = hashlib.sha256(f"{self.subject} {self.xgid}".encode()).digest()
        return int.from_bytes(digest[:8], "big") >> 1


class RolledOutChoice(NamedTuple):
    """The result of rolling out one choice. Values are in points per unit cube, or mwc, to the player who decides.
    `loss` is in points of normalised equity, behind the best choice; `loss_mwc` is NaN in money play."""

    choice: str
    value: float
    standard_error: float
    loss: float
    loss_standard_error: float
    loss_mwc: float


@dataclass(frozen=True)
class DecisionRoller:
    """Rolls out decisions of matches. Both sides play by a network and handle the cube by `rules`. Plays within
    `within` points of the best at 0-ply are rolled out, at most `most_plays` of them, besides the two plays of the
    decision."""

    player: NetworkPlayer
    rules: CubeRules
    limits: Limits
    settings: RolloutSettings
    within: float
    most_plays: int

    def roll_out(self, decision: AnalysedDecision) -> tuple[list[RolledOutChoice], int]:
        """Roll out a decision. Returns its choices, best first, and the number of games of each. Raises the errors of
        `roll_out_with_cube`."""
        found = parse_xgid(decision.xgid)
        stakes = found.match.stakes
        starts = self._plays(decision, found) if decision.subject == PLAY else decision_starts(found.position, stakes)
        result = roll_out_with_cube(
            [*starts.values()], self.player.chooser, self.rules, self.limits, decision.seed, self.settings
        )
        is_money = isinstance(stakes.score, Money)
        blocks = dict(zip(starts, result.blocks, strict=True))
        if decision.subject != PLAY:
            won = worth_of_result(stakes.cube.value, stakes, self.rules) / (stakes.cube.value if is_money else 1)
            blocks = cube_blocks(decision.subject, result.blocks[0], result.blocks[1], won)
        if decision.subject != DOUBLE:  # before this line, values are the opponent's
            blocks = {name: -values if is_money else 1 - values for name, values in blocks.items()}
        return ranked_choices(blocks, result.point, is_money=is_money), int(result.trials[0])

    def _plays(self, decision: AnalysedDecision, found: Xgid) -> dict[str, CubefulStart]:
        """Return the positions after the plays to roll out, by name of the play."""
        assert found.match.roll is not None
        stakes, asked = found.match.stakes, (decision.made, decision.best)
        ranked = LookaheadPlayer(self.player).rank_plays(found.position, found.match.roll, stakes, self.rules)
        near = [row for row in ranked if row.loss <= self.within][: self.most_plays]
        chosen = [row for row in ranked if row in near or str(row.play) in asked]
        return play_starts(chosen, stakes, inf, len(chosen))


def cube_blocks(subject: str, no_double: Values, taken: Values, won: float) -> dict[str, Values]:
    """Return the values of a cube decision's choices to the player on roll, by name of the choice. `subject` says
    whether a double or an answer is decided; `taken` are the values after a double and take, `won` is the value of a
    pass."""
    passed = np.full_like(taken, won)
    if subject == ANSWER:
        return {ActKind.TAKE.value: taken, ActKind.PASS.value: passed}
    return {NO_DOUBLE: no_double, ActKind.DOUBLE.value: taken if taken.mean() < won else passed}


def ranked_choices(blocks: dict[str, Values], point: float, *, is_money: bool) -> list[RolledOutChoice]:
    """Return the choices with their values, best first, from blocks of values by name. `point` is the size of a point
    of normalised equity in the unit of values."""
    best = max(blocks, key=lambda name: float(blocks[name].mean()))
    rows = []
    for name, values in blocks.items():
        gaps = blocks[best] - values
        loss = float(blocks[best].mean()) - float(values.mean())
        figures = (
            float(values.mean()), standard_error(values), loss / point, standard_error(gaps) / point,
            nan if is_money else loss,
        )  # fmt: skip
        rows.append(RolledOutChoice(name, *(round(figure, DIGITS) for figure in figures)))
    return sorted(rows, key=lambda row: row.loss)


def standard_error(values: Values) -> float:
    """Return the standard error of the mean of float64[n] values."""
    return float(values.std(ddof=1)) / sqrt(len(values))
