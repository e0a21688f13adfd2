"""Tests of the acts of recorded matches: scores, the Crawford game, beavers, resignations and errors."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bgdata.equity.cube import CubeRules
from bgdata.errors import InvalidGameError, InvalidParameterError, UsageError
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.formats.mat import parse_mat
from bgdata.formats.matches import JACOBY, Game, Match
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.matches.acts import ActKind
from bgdata.matches.situations import replayed_situations, with_crawford
from bgdata.matches.steps import judge_all
from bgdata.store.progress import Silence
from tests.equity.samples import published_met
from tests.evaluation.sample_networks import pips_player
from tests.formats.sessions import MAT

CUT_RECORD = """\
 3 point match

 Game 1
 left : 0                   right : 2
  1) 31: 8/5 6/5                 65: 24/18 18/13
  2)  Doubles => 2                Takes
"""


def session() -> Match:
    """A session of eight money games."""
    return parse_mat(MAT.replace("$", "").encode()).matches[0]


def cut_match() -> Match:
    """A match to 3 at 0-1, whose record ends after a take."""
    (match,) = parse_mat(CUT_RECORD.replace("right : 2", "right : 1").encode()).matches
    return match


def test_acts_of_a_session_have_the_stakes_before_them() -> None:
    """Acts have the stakes before them: answers the cube before the double, also after beavers; rolls the current
    cube."""
    records = [situation.record for situation in replayed_situations([session()], "session")]
    assert [record.result for record in records][:6] == [8, -8, -2, 4, 8, -1]
    last_kinds = [act.kind for act in records[3].acts[-4:]]
    assert last_kinds == [ActKind.DOUBLE, ActKind.BEAVER, ActKind.BEAVER, ActKind.PASS]
    for record in records:
        assert record.stakes == Stakes(Money(is_jacoby=False))
        for act in record.acts:
            if act.kind is ActKind.DOUBLE:
                stakes_of_double = act.stakes
            elif act.kind is not ActKind.ROLL:
                assert act.stakes == stakes_of_double
    roll_after_beaver = records[0].acts[-2]
    assert roll_after_beaver.kind == ActKind.ROLL
    assert roll_after_beaver.stakes.cube == Cube(4, CubeOwner.ON_ROLL)


@pytest.mark.parametrize(
    ("is_recorded", "option", "is_jacoby"),
    [(False, None, False), (True, None, True), (True, False, False), (False, True, True)],
)
def test_jacoby_rule_is_that_of_the_record_or_the_option(
    is_recorded: bool, option: bool | None, is_jacoby: bool
) -> None:
    match = replace(session(), info=(JACOBY,) * is_recorded)
    for situation in replayed_situations([match], "session", is_jacoby=option):
        assert situation.record.stakes == Stakes(Money(is_jacoby))
        assert {act.stakes.score for act in situation.record.acts} == {Money(is_jacoby)}


def test_crawford_game_is_the_first_at_one_point() -> None:
    scores = [(0, 0), (4, 2), (4, 3), (4, 4)]
    match = Match(("a", "b"), 5, tuple(Game(number, score) for number, score in enumerate(scores, 1)))
    assert [game.is_crawford for game in with_crawford(match).games] == [False, True, False, False]
    recorded = replace(match, games=tuple(replace(game, is_crawford=False) for game in match.games))
    assert with_crawford(recorded) == recorded
    assert not any(game.is_crawford for game in with_crawford(replace(match, length=0)).games)


def test_game_with_a_double_is_not_the_crawford_game() -> None:
    """A game with a double is not the Crawford game, as a record may begin later; nor is the game after it."""
    (match,) = parse_mat(CUT_RECORD.encode()).matches
    assert replayed_situations([match], "cut")[0].record.stakes == Stakes(MatchScore(3, 1))
    next_game = replace(match.games[0], number=2, turns=match.games[0].turns[:2])
    games = with_crawford(replace(match, games=(*match.games, next_game))).games
    assert [game.is_crawford for game in games] == [False, False]


def test_double_in_a_recorded_crawford_game_is_refused() -> None:
    (match,) = parse_mat(CUT_RECORD.encode()).matches
    recorded = replace(match, games=(replace(match.games[0], is_crawford=True),))
    message = r"^expected no double in the Crawford game, in line 6: left double \(game 1 of cut\)$"
    with pytest.raises(InvalidGameError, match=message):
        replayed_situations([recorded], "cut")


def test_stakes_are_from_the_view_of_the_player_on_roll() -> None:
    first, second, double, take = replayed_situations([cut_match()], "cut")[0].record.acts
    assert first.stakes.score == MatchScore(3, 2)
    assert second.stakes.score == MatchScore(2, 3)
    assert double.kind == ActKind.DOUBLE
    assert take.kind == ActKind.TAKE
    assert take.player == 1
    assert take.on_roll == 0
    assert double.stakes == take.stakes == Stakes(MatchScore(3, 2))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("right : 2", "right : 3"), r"expected scores below the 3 points of the match, got 0-3 \(game 1 of cut\)"),
        (("8/5 6/5", "8/5 6/4"), r"expected .*, in line 5: left play \(game 1 of cut\)"),
        ((" Game 1", ""), "expected recorded games in cut, found none"),
    ],
)
def test_invalid_records_are_refused(change: tuple[str, str], message: str) -> None:
    with pytest.raises(InvalidGameError, match=f"^{message}$"):
        replayed_situations(list(parse_mat(CUT_RECORD.replace(*change).encode()).matches), "cut")


def test_match_is_judged_with_a_match_equity_table_of_its_length() -> None:
    player = LookaheadPlayer(pips_player())
    situations = replayed_situations([cut_match()], "cut")
    (game,) = judge_all(player, CubeRules(met=published_met()), situations, Silence())
    assert game.judged.result is None
    assert len(game.judged.acts) == 4
    with pytest.raises(InvalidParameterError, match=r"^expected a match equity table for a match, got none at "):
        judge_all(player, CubeRules(), situations, Silence())
    long_match = replayed_situations([replace(cut_match(), length=20)], "cut")
    with pytest.raises(UsageError, match=r"^expected a match equity table to 20-away, got "):
        judge_all(player, CubeRules(met=published_met()), long_match, Silence())
