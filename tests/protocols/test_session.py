"""Sessions: dice, legal cube actions, undo, and records that are read back and replayed."""

from random import Random
from typing import Any

import numpy as np
import pytest

from bgdata.errors import InvalidScoreError
from bgdata.formats.mat import format_mat, parse_mat
from bgdata.formats.matches import Match, TurnKind
from bgdata.formats.replay import replay_game
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.plays import legal_plays
from bgdata.game.position import START, Position
from bgdata.protocols.session import DecisionKind, Ending, Moment, Session
from bgdata.selfplay.series import fill_dice
from tests.reference.games import dice

NAMES = ("ann", "bob")
MONEY = Money(is_jacoby=False)


def act_at_random(session: Session, random: Random) -> None:
    """Make a random legal act: a double in one turn of four, if it is allowed."""
    kind = session.now.kind
    if kind is DecisionKind.PLAY:
        session.make(random.choice(legal_plays(session.now.position, session.roll)))
    elif kind is DecisionKind.TURN:
        random.choice((session.double, *[session.roll_dice] * 3))()
    else:
        may_beaver = kind is DecisionKind.ANSWER and session.may_beaver
        random.choice((*[session.take] * 5, session.pass_double, *[session.beaver] * 6 * may_beaver))()


def play_out(session: Session, random: Random) -> None:
    """Play all games of a session with random acts and some resignations."""
    while True:
        while not session.ending:
            if random.random() < 0.002 and session.now.kind is DecisionKind.PLAY:
                session.resign(random.choice((1, 2, 3)))
            else:
                act_at_random(session, random)
        if session.is_over:
            return
        session.begin_next()


def check_replay(match: Match, session: Session) -> set[TurnKind]:
    """Check that a match contains the session's games, legal from the start position, with the same points. Returns the
    kinds of its turns."""
    assert (match.players, match.length) == (session.players, session.record.length)
    points = [0, 0]
    kinds = set[TurnKind]()
    for game, recorded in zip(match.games, session.record.games, strict=True):
        turns = [replayed.turn for replayed in replay_game(match, game).turns]
        for turn, expected in zip(turns, recorded.turns, strict=True):
            assert (turn.player, turn.kind) == (expected.player, expected.kind)
            assert (turn.dice, turn.cube_value) == (expected.dice, expected.cube_value)
            kinds.add(turn.kind)
        assert game.score == tuple(points)
        assert (game.winner, game.points) == (recorded.winner, recorded.points)
        if game.winner is not None:
            points[game.winner] += game.points or 0
    assert tuple(points) == session.points
    return kinds


@pytest.mark.parametrize("seed", range(8))
def test_dice_of_the_first_game_are_those_of_the_seed(seed: int) -> None:
    session = Session(seed, NAMES)
    for rolls in range(40):
        session.now = Moment(START, 0, rolls=rolls)
        assert session.dice() == dice(seed, 0, rolls)
        assert (session.roll.high, session.roll.low) == (max(session.dice()), min(session.dice()))


def test_either_side_may_begin() -> None:
    assert {Session(seed, NAMES).now.on_roll for seed in range(8)} == {0, 1}


def test_dice_of_later_games_are_those_of_a_series() -> None:
    session = Session(5, NAMES, MatchScore(9, 9))
    expected = np.empty((20, 2), np.int8)
    for game in range(3):
        fill_dice(5, np.zeros(20, np.int64), np.full(20, game), np.arange(20), expected)
        assert session.now.on_roll == int(expected[0, 0] < expected[0, 1])
        for number in range(20):
            session.now = Moment(START, 0, session.now.stakes, rolls=number)
            assert session.dice() == tuple(expected[number].tolist())
        session.resign(1)
        session.begin_next()


@pytest.mark.parametrize("score", [None, MONEY, Money(is_jacoby=True), MatchScore(5, 5), MatchScore(1, 1)], ids=str)
def test_records_round_trip_and_replay(score: MatchScore | Money | None) -> None:
    kinds: set[TurnKind] = set()
    for seed in range(6):
        session = Session(seed, NAMES, score, has_beavers=True)
        play_out(session, Random(seed))
        (match,) = parse_mat(b"".join(format_mat(session.record.match))).matches
        kinds |= check_replay(match, session)
        assert match.is_jacoby == (isinstance(score, Money) and score.is_jacoby)
        assert all(game.winner is not None for game in match.games)
        assert not match.length or max(session.points) >= match.length
    assert (TurnKind.DOUBLE in kinds) == (score not in (None, MatchScore(1, 1)))
    assert (TurnKind.BEAVER in kinds) == isinstance(score, Money)


def test_undo_takes_back_any_act() -> None:
    kinds = set()
    for seed in range(40):
        session = Session(seed, NAMES, MONEY, has_beavers=True)
        random = Random(seed)
        assert not session.undo()
        states: list[tuple[Any, ...]] = []
        while not session.ending and len(states) < 60:
            states.append((session.now, session.dice(), session.record.match))
            kinds.add(session.now.kind)
            session.keep()
            act_at_random(session, random)
        if session.ending:  # a finished game cannot be undone
            continue
        for state in reversed(states):
            assert session.undo()
            assert (session.now, session.dice(), session.record.match) == state
        assert not session.undo()
    assert kinds == set(DecisionKind)


def play_first_roll(session: Session) -> Session:
    """Play the first roll of a session, and return the session."""
    session.make(legal_plays(session.now.position, session.roll)[0])
    return session


def test_why_no_double_gives_the_reason() -> None:
    session = Session(3, NAMES, MONEY)
    assert session.why_no_double == "the first roll of a game decides who begins"
    assert play_first_roll(session).now.kind is DecisionKind.TURN
    assert session.why_no_double == ""
    session.roll_dice()
    assert session.why_no_double == "the dice are rolled"
    play_first_roll(session).double()
    assert session.now.side != session.now.on_roll
    session.take()
    assert session.now.side == session.now.on_roll
    assert session.why_no_double == "the opponent owns the cube"
    assert play_first_roll(session).now.kind is DecisionKind.TURN
    session.roll_dice()
    assert play_first_roll(session).now.kind is DecisionKind.PLAY, "a side without the cube is not asked"


def test_no_double_in_the_crawford_game() -> None:
    session = Session(3, NAMES, MatchScore(3, 3))
    session.now = Moment(START, 0, session.now.stakes)
    session._end(0, 2)
    assert session.ending == Ending(0, 2, 2)
    session.begin_next()
    assert session.score == MatchScore(1, 3, is_crawford=True)
    assert play_first_roll(session).now.kind is DecisionKind.PLAY
    assert session.why_no_double == "nobody doubles in the crawford game"
    session.now = Moment(START, 1, session.now.stakes, rolls=1)
    session.resign(1)
    assert session.is_over
    assert session.points == (3, 0)


def test_no_double_with_a_dead_cube() -> None:
    session = play_first_roll(Session(3, NAMES, MatchScore(1, 1)))
    assert session.now.kind is DecisionKind.PLAY
    assert session.why_no_double == "at 1-away 1-away the cube is high enough to win the match"


def test_score_is_from_the_view_of_the_player_on_roll() -> None:
    session = Session(3, NAMES, MatchScore(5, 5))
    session.now = Moment(START, 1, session.now.stakes)
    session.resign(2)
    session.begin_next()
    assert session.score == MatchScore(3, 5)
    assert session.now.stakes == Stakes(MatchScore(*((5, 3) if session.now.on_roll else (3, 5))))


def beavered_session() -> Session:
    """A money session in which the first double was beavered."""
    session = play_first_roll(Session(3, NAMES, MONEY, has_beavers=True))
    doubler = session.now.on_roll
    session.double()
    session.beaver()
    assert (session.now.kind, session.now.side) == (DecisionKind.BEAVER, doubler)
    return session


def test_passed_beaver_costs_two_points() -> None:
    session = beavered_session()
    doubler = session.now.on_roll
    session.pass_double()
    assert session.ending == Ending(1 - doubler, 0, 2)


def test_taken_beaver_leaves_the_cube_at_four() -> None:
    session = beavered_session()
    doubler = session.now.on_roll
    session.take()
    assert session.now.stakes == Stakes(MONEY, Cube(4, CubeOwner.OPPONENT))
    session.resign(1)
    assert session.ending == Ending(1 - doubler, 1, 4)


def test_cube_goes_up_to_64() -> None:
    session = Session(3, NAMES, MONEY, has_beavers=True)
    for value, may_double, may_beaver in ((16, True, True), (32, True, False), (64, False, False)):
        session.now = Moment(START, 0, Stakes(MONEY, Cube(value, CubeOwner.OPPONENT)), rolls=3)
        play_first_roll(session)
        assert (session.now.kind is DecisionKind.TURN) == may_double
        if may_double:
            session.double()
            assert session.may_beaver == may_beaver
        else:
            assert session.why_no_double == "the cube shows 64"


@pytest.mark.parametrize(
    ("is_jacoby", "cube", "points"),
    [(True, Cube(), 1), (False, Cube(), 2), (True, Cube(2, CubeOwner.ON_ROLL), 4)],
    ids=["centered cube", "without the rule", "owned cube"],
)
def test_gammons_count_by_the_jacoby_rule(is_jacoby: bool, cube: Cube, points: int) -> None:
    """Under the Jacoby rule, a gammon is a single game while the cube is centered."""
    last_checker = Position([0, 1, *[0] * 22, -15, 0])
    session = Session(3, NAMES, Money(is_jacoby))
    session.now = Moment(last_checker, 0, Stakes(Money(is_jacoby), cube), rolls=5)
    play_first_roll(session)
    assert session.ending == Ending(0, 2, points)
    assert session.points == (points, 0)


def test_match_of_unequal_scores_is_refused() -> None:
    with pytest.raises(InvalidScoreError, match="expected a match from its beginning, got 3-away 5-away"):
        Session(1, NAMES, MatchScore(3, 5))
