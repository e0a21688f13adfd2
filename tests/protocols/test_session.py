"""Sessions: dice, legal cube actions, undo, and records that are read back and replayed."""

from random import Random

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


def act(session: Session, random: Random) -> None:
    """Make a random legal act: a double in one turn of four, if it is allowed."""
    asked = session.now.kind
    if asked is DecisionKind.PLAY:
        session.make(random.choice(legal_plays(session.now.position, session.roll)))
    elif asked is DecisionKind.TURN:
        random.choice((session.double, *[session.roll_dice] * 3))()
    else:
        may_beaver = asked is DecisionKind.ANSWER and session.may_beaver
        random.choice((*[session.take] * 5, session.pass_double, *[session.beaver] * 6 * may_beaver))()


def play_out(session: Session, random: Random) -> None:
    """Play all games of a session with random acts and some resignations."""
    while True:
        while not session.ending:
            if random.random() < 0.002 and session.now.kind is DecisionKind.PLAY:
                session.resign(random.choice((1, 2, 3)))
            else:
                act(session, random)
        if session.is_over:
            return
        session.begin_next()


def check_replay(match: Match, session: Session) -> set[TurnKind]:
    """Check that a match contains the session's games, legal from the start position, with the same points. Returns the
    kinds of its turns."""
    assert (match.players, match.length) == (session.players, session.record.length)
    points = [0, 0]
    kinds = set[TurnKind]()
    for game, kept in zip(match.games, session.record.games, strict=True):
        replayed = replay_game(match, game).turns
        assert [(each.turn.player, each.turn.kind, each.turn.dice, each.turn.cube_value) for each in replayed] == [
            (turn.player, turn.kind, turn.dice, turn.cube_value) for turn in kept.turns
        ]
        assert (game.score, game.winner, game.points) == (tuple(points), kept.winner, kept.points)
        if game.winner is not None:
            points[game.winner] += game.points or 0
        kinds.update(each.turn.kind for each in replayed)
    assert tuple(points) == session.points
    return kinds


def test_dice_equal_match_0_of_the_seed() -> None:
    """A session has the dice of match 0 of its seed; game 0 also has those of the cubeless game."""
    for seed in range(8):
        session = Session(seed, NAMES)
        for rolls in range(40):
            session.now = Moment(START, 0, rolls=rolls)
            assert session.dice() == dice(seed, 0, rolls)
            assert (session.roll.high, session.roll.low) == (max(session.dice()), min(session.dice()))
    assert {Session(seed, NAMES).now.on_roll for seed in range(8)} == {0, 1}
    session = Session(5, NAMES, MatchScore(9, 9))
    found = np.empty((20, 2), np.int8)
    numbers = np.arange(20)
    for game in range(3):
        fill_dice(5, np.zeros(20, np.int64), np.full(20, game), numbers, found)
        assert session.now.on_roll == int(found[0, 0] < found[0, 1])
        for number in range(20):
            session.now = Moment(START, 0, session.now.stakes, rolls=number)
            assert session.dice() == tuple(found[number].tolist())
        session.resign(1)
        session.begin_next()


@pytest.mark.parametrize("score", [None, MONEY, Money(is_jacoby=True), MatchScore(5, 5), MatchScore(1, 1)], ids=str)
def test_records_round_trip_and_replay(score: MatchScore | Money | None) -> None:
    """The record of a random session is written and read back with legal acts and the same result."""
    seen: set[TurnKind] = set()
    for seed in range(6):
        session = Session(seed, NAMES, score, has_beavers=True)
        play_out(session, Random(seed))
        (match,) = parse_mat(b"".join(format_mat(session.record.match))).matches
        seen |= check_replay(match, session)
        assert match.is_jacoby == (isinstance(score, Money) and score.is_jacoby)
        assert all(game.winner is not None for game in match.games)
        assert not match.length or max(session.points) >= match.length
    assert (TurnKind.DOUBLE in seen) == (score not in (None, MatchScore(1, 1)))
    assert (TurnKind.BEAVER in seen) == isinstance(score, Money)


def test_undo_takes_back_any_act() -> None:
    """Undo takes back any act, also in the record, and keeps the dice."""
    kinds = set()
    for seed in range(40):
        session = Session(seed, NAMES, MONEY, has_beavers=True)
        random = Random(seed)
        assert not session.undo()
        kept = []
        for _ in range(60):
            if session.ending:
                break
            kept.append((session.now, session.dice(), session.record.match))
            kinds.add(session.now.kind)
            session.keep()
            act(session, random)
        if session.ending:  # a finished game cannot be undone
            continue
        for now, rolled, match in reversed(kept):
            assert session.undo()
            assert (session.now, session.dice(), session.record.match) == (now, rolled, match)
        assert not session.undo()
    assert kinds == set(DecisionKind)


def play_first_roll(session: Session) -> Session:
    """Play the first roll of a session, and return the session."""
    session.make(legal_plays(session.now.position, session.roll)[0])
    return session


def test_why_no_double_gives_the_reason() -> None:
    """The reason why a side may not double is given at each moment of a money game."""
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


def test_no_double_in_the_crawford_game_or_with_a_dead_cube() -> None:
    """No side may double in the Crawford game, or at a score where the cube already wins the match."""
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


def test_passed_beaver_costs_twice_the_cube_and_taken_one_four_times() -> None:
    """A passed beaver ends the game for two points; a taken one leaves the cube at four."""
    for is_taken in (False, True):
        session = play_first_roll(Session(3, NAMES, MONEY, has_beavers=True))
        doubler = session.now.on_roll
        session.double()
        session.beaver()
        assert (session.now.kind, session.now.side) == (DecisionKind.BEAVER, doubler)
        if is_taken:
            session.take()
            assert session.now.stakes == Stakes(MONEY, Cube(4, CubeOwner.OPPONENT))
            session.resign(1)
        else:
            session.pass_double()
        assert session.ending == Ending(1 - doubler, int(is_taken), 4 if is_taken else 2)


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


def test_gammons_count_by_the_jacoby_rule() -> None:
    """Under the Jacoby rule, a resigned gammon is a single game while the cube is centered."""
    last = Position([0, 1, *[0] * 22, -15, 0])
    for is_jacoby, cube, points in ((True, Cube(), 1), (False, Cube(), 2), (True, Cube(2, CubeOwner.ON_ROLL), 4)):
        session = Session(3, NAMES, Money(is_jacoby))
        session.now = Moment(last, 0, Stakes(Money(is_jacoby), cube), rolls=5)
        play_first_roll(session)
        assert session.ending == Ending(0, 2, points)
        assert session.points == (points, 0)


def test_match_of_unequal_scores_is_refused() -> None:
    with pytest.raises(InvalidScoreError, match="expected a match from its beginning, got 3-away 5-away"):
        Session(1, NAMES, MatchScore(3, 5))
