"""The decisions of a player in a game: plays, doubles, answers to doubles, resignations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from bgdata.equity.cube import DEFAULT_RULES, CubeRules
from bgdata.equity.doubling import Action, CubeEquities, best_action, best_equity
from bgdata.errors import UsageError
from bgdata.evaluation.lookahead_player import LookaheadPlayer, RankedPlay
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.game.dice import Roll
from bgdata.game.match import CubeOwner, MatchScore, Money, Stakes
from bgdata.game.plays import Play, legal_plays
from bgdata.game.position import Position
from bgdata.selfplay.cubeful_rollout import CubefulStart, decision_starts, play_starts, roll_out_with_cube
from bgdata.selfplay.rollout import Limits

DOUBLES = (Action.DOUBLE_TAKE, Action.DOUBLE_PASS, Action.DOUBLE_BEAVER)
WITHIN, MAX_PLAYS = 0.16, 5  # limits of the plays that are rolled out, as in `bgdata rollout`
CERTAIN = 1e-4  # chances from tables count as certain if they are this close to 0 or 1


class Answer(StrEnum):
    """An answer to a double."""

    TAKE = "take"
    PASS = "pass"
    BEAVER = "beaver"


class Worth(NamedTuple):
    """The value of a play or cube action to the player who takes it: points per unit cube, or mwc in a match."""

    value: float
    standard_error: float = 0.0  # standard error of a rollout, else 0


class RankedAction(NamedTuple):
    """A play with its value."""

    play: Play
    worth: Worth


@dataclass(frozen=True)
class Decisions:
    """The decisions of a player who handles the cube by `rules`. For matches the rules need a match equity table;
    beavers are only for money play. If `trials`, a multiple of 36, is given, the player rolls out its decisions with
    the dice of `seed`, which only players with networks can do. Positions and stakes are from the point of view of the
    player on roll.

    Raises the errors of `LookaheadPlayer.rank_plays`, `decide_cube` and `roll_out_with_cube`."""

    player: LookaheadPlayer
    rules: CubeRules = DEFAULT_RULES
    trials: int = 0
    seed: int = 0

    def play(self, position: Position, roll: Roll, stakes: Stakes) -> Play:
        """Return the play that the player makes: the best one by cubeful equity."""
        plays = legal_plays(position, roll)
        return plays[0] if len(plays) == 1 else self.rank(position, roll, stakes)[0].play

    def rank(self, position: Position, roll: Roll, stakes: Stakes) -> list[RankedAction]:
        """Return the plays of a roll with their values, best first. With rollouts, only the plays that were rolled out
        are returned."""
        rules = self.rules_for(stakes)
        ranked = self.player.rank_plays(position, roll, stakes, rules)
        if not self.trials:
            return [RankedAction(each.play, Worth(_worth(each))) for each in ranked]
        starts = play_starts(ranked, stakes, WITHIN, MAX_PLAYS)
        found = self._rollout_values(list(starts.values()), rules)
        plays, is_match = {str(each.play): each.play for each in ranked}, isinstance(stakes.score, MatchScore)
        rolled = [
            RankedAction(plays[name], Worth(1 - value if is_match else -value, error))
            for name, (value, error) in zip(starts, found, strict=True)
        ]
        return sorted(rolled, key=lambda action: -action.worth.value)

    def equities(self, position: Position, stakes: Stakes) -> tuple[CubeEquities, float]:
        """Return the value of each cube action of the player on roll (NOT_ALLOWED for impossible ones), and the largest
        standard error."""
        rules = self.rules_for(stakes)
        decision = self.player.decide_cube(position, stakes, rules)
        if not self.trials:
            return decision.equities, 0.0
        found = self._rollout_values(list(decision_starts(position, stakes).values()), rules)
        error = max(each.standard_error for each in found)
        if not decision.may_double:
            return decision.equities._replace(no_double=found[0].value), error
        no_double, taken = (each.value for each in found)
        beaver = 2 * taken if rules.has_beavers else taken
        return CubeEquities(no_double, taken, beaver, decision.equities.double_pass), error

    def doubles(self, position: Position, stakes: Stakes) -> bool:
        """Return whether the player on roll doubles."""
        return stakes.may_double and Action(best_action(self.equities(position, stakes)[0])) in DOUBLES

    def answer(self, position: Position, stakes: Stakes, *, by_roller: bool = False) -> Answer:
        """Return the opponent's answer to a double of the player on roll. If the opponent owns the cube already, the
        double is a redoubled beaver. If `by_roller` is true, the player on roll answers a beaver."""
        found, _ = self.equities(position, stakes)
        if stakes.cube.owner == CubeOwner.OPPONENT:
            return Answer.TAKE if (-2 if by_roller else 2) * found.no_double <= 1 else Answer.PASS
        if found.double_pass < min(found.double_take, found.double_beaver):
            return Answer.PASS
        return Answer.BEAVER if found.double_beaver < found.double_take else Answer.TAKE

    def resignation(self, position: Position, stakes: Stakes) -> int:
        """Return the resignation of the player on roll: 0 for none, or 1 to 3 for a single game, gammon or backgammon.
        The player resigns only what is certainly lost according to bearoff tables."""
        found = self.player.evaluate(position)
        chances = (found.win, found.lose_gammon, found.lose_backgammon)
        if not found.source.is_final or found.win > CERTAIN or any(CERTAIN < each < 1 - CERTAIN for each in chances):
            return 0
        size = 1 + round(found.lose_gammon) + round(found.lose_backgammon)
        return min(size, abs(stakes.points(-size)) // stakes.cube.value)

    def accepts(self, position: Position, stakes: Stakes, size: int, roll: Roll | None = None) -> bool:
        """Return whether the opponent accepts a resignation of the player on roll, of size 1 to 3 for a single game,
        gammon or backgammon, before the roll or after `roll`. The opponent accepts if playing on is not worth more."""
        if roll is None:
            kept = best_equity(self.equities(position, stakes)[0])
        else:
            kept = self.rank(position, roll, stakes)[0].worth.value
        points = stakes.points(-size)
        if isinstance(stakes.score, Money):
            return points / stakes.cube.value <= kept + CERTAIN
        assert self.rules.met is not None  # matches need a match equity table
        return self.rules.met.after(stakes.score, points) <= kept + CERTAIN

    def rules_for(self, stakes: Stakes) -> CubeRules:
        """Return the cube rules that apply with these stakes."""
        return replace(self.rules, has_beavers=self.rules.has_beavers and isinstance(stakes.score, Money))

    def _rollout_values(self, starts: list[CubefulStart], rules: CubeRules) -> list[Worth]:
        """Return the values of these positions to their players on roll, by rollouts with the same dice and without
        beavers."""
        evaluator = self.player.evaluator
        if not isinstance(evaluator, NetworkPlayer):
            raise UsageError(f"expected a player with networks to roll out, got {evaluator.label}")
        played = replace(rules, has_beavers=False)
        found = roll_out_with_cube(starts, evaluator.chooser, played, Limits(self.trials), self.seed)
        return [Worth(*row) for row in zip(found.values.tolist(), found.standard_errors.tolist(), strict=True)]


def _worth(ranked: RankedPlay) -> float:
    """Return the value of a ranked play, in mwc in a match, else in points."""
    assert ranked.cubeful_equity is not None  # plays are ranked for stakes
    return ranked.cubeful_equity if ranked.mwc is None else ranked.mwc
