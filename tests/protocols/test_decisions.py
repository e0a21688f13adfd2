"""Accepted resignations, which are worth at least what playing on would win; rolled-out decisions."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.equity.cube import DEFAULT_RULES, CubeRules
from bgdata.equity.match_equity import MatchEquity
from bgdata.evaluation.chances import AnswerSource, Evaluations
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.game.codec import Boards
from bgdata.game.dice import parse_roll
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.position import START
from bgdata.protocols.decisions import Decisions
from bgdata.selfplay.cubeful_rollout import play_starts, roll_out_with_cube
from bgdata.selfplay.rollout import Limits
from tests.evaluation.sample_evaluators import Scrambled

MONEY = Stakes(Money(is_jacoby=False), Cube(2, CubeOwner.OPPONENT))


class SureEvaluator(Scrambled):
    """An evaluator that gives the same five chances for every unfinished game."""

    def __init__(self, *chances: float) -> None:
        super().__init__()
        self.chances = chances

    def evaluate_many(self, boards: Boards) -> Evaluations:
        """See chances.Evaluator."""
        chances = np.tile(np.array(self.chances, np.float32), (len(boards), 1))
        return Evaluations(chances, np.full(len(boards), AnswerSource.CONTACT_NETWORK, np.int8))


def losing_player(gammons: float, rules: CubeRules = DEFAULT_RULES) -> Decisions:
    """A player that expects the side on roll to lose always, with this share of gammons."""
    return Decisions(LookaheadPlayer(SureEvaluator(0, 0, 0, gammons, 0)), rules)


@pytest.mark.parametrize(("gammons", "least"), [(0.0, 1), (0.00005, 1), (0.5, 2), (1.0, 2)])
def test_resignation_depends_on_lost_gammons(gammons: float, least: int) -> None:
    decisions = losing_player(gammons)
    assert [decisions.accepts(START, MONEY, size) for size in (1, 2, 3)] == [size >= least for size in (1, 2, 3)]


def test_resignation_in_a_match(met: MatchEquity) -> None:
    """In a match, points beyond its end are worth nothing, and a single game is too little where a gammon is lost."""
    decisions = losing_player(1.0, CubeRules(met=met))
    for away, least in ((1, 1), (2, 2), (4, 2)):
        stakes = Stakes(MatchScore(4, away))
        assert [decisions.accepts(START, stakes, size) for size in (1, 2, 3)] == [size >= least for size in (1, 2, 3)]


def test_resignation_after_the_roll_depends_on_its_plays() -> None:
    """A resignation after the roll is judged by the best play: if the side on roll always wins a gammon, that is the
    resigning side before the roll, the other side after it."""
    decisions = Decisions(LookaheadPlayer(SureEvaluator(1, 1, 0, 0, 0)))
    assert decisions.accepts(START, MONEY, 1)
    assert not decisions.accepts(START, MONEY, 1, parse_roll("31"))
    assert decisions.accepts(START, MONEY, 2, parse_roll("31"))


def test_resignation_follows_the_jacoby_rule() -> None:
    assert losing_player(1.0).accepts(START, Stakes(Money(is_jacoby=True)), 1)
    assert not losing_player(1.0).accepts(START, Stakes(Money(is_jacoby=False)), 1)


def test_rolled_out_plays_keep_their_values(player_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plays that are rolled out need not follow each other in the ranking: not all plays are searched to the same
    depth."""
    player = bgdata.open_player(player_root, "random")
    assert isinstance(player.evaluator, NetworkPlayer)
    roll = parse_roll("31")
    best, second, third, *_, worst = player.rank_plays(START, roll, MONEY)
    ranking = [replace(best, loss=0.0), replace(second, loss=0.01), replace(worst, loss=0.2), replace(third, loss=0.1)]
    monkeypatch.setattr(LookaheadPlayer, "rank_plays", lambda *_, **__: ranking)
    rows = Decisions(player, trials=72).rank(START, roll, MONEY)
    values = {row.play: row.worth.value for row in rows}
    starts = list(play_starts(ranking, MONEY, 0.16, 5).values())  # without the worst play, which loses more than 0.16
    rollouts = roll_out_with_cube(starts, player.evaluator.chooser, CubeRules(), Limits(72))
    assert values.keys() == {best.play, second.play, third.play}
    assert [values[row.play] for row in (best, second, third)] == (-rollouts.values).tolist()
