"""FIBS: matches against a small fake server, its messages, and its faults."""

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from bgdata.equity.cube import CubeRules
from bgdata.equity.match_equity import MatchEquity
from bgdata.errors import BgdataError, EngineRefusedError, ExternalProgramError, InvalidGameError
from bgdata.evaluation.chances import Evaluations
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.talk import Talk
from bgdata.formats.mat import format_mat, parse_mat
from bgdata.formats.matches import Match, TurnKind
from bgdata.formats.replay import replay_file
from bgdata.game.codec import Boards
from bgdata.game.dice import ROLLS
from bgdata.game.plays import legal_plays
from bgdata.game.position import START, Position
from bgdata.protocols.decisions import Decisions
from bgdata.protocols.fibs import Ending, FibsPlayer, MatchRequest, find_fibs_play, format_fibs_play, parse_message
from bgdata.protocols.session import Record
from tests.evaluation.sample_evaluators import Scrambled
from tests.protocols.fibs_server import OPPONENT, OWN_INFO, PASSWORD, USER, FibsServer
from tests.random_games import random_game_positions
from tests.subtests import each

PATIENCE = 60.0
pytestmark = pytest.mark.slow  # plays whole matches


class RandomEvaluator(Scrambled):
    """An evaluator with arbitrary but valid chances."""

    def evaluate_many(self, boards: Boards) -> Evaluations:
        """See chances.Evaluator."""
        evaluations = super().evaluate_many(boards)
        win, gammon_shares = evaluations.chances[:, :1], evaluations.chances[:, 1::2]
        gammons = np.hstack([win, 1 - win]) * gammon_shares
        won, lost = gammons[:, 0], gammons[:, 1]
        chances = np.stack([win[:, 0], won, won / 8, lost, lost / 8], axis=1)
        return evaluations._replace(chances=chances.astype(np.float32))


@pytest.fixture(scope="module")
def decisions(met: MatchEquity) -> Decisions:
    """A player whose decisions are arbitrary, so that games have acts of every kind."""
    return Decisions(LookaheadPlayer(RandomEvaluator()), CubeRules(met=met))


@contextmanager
def session(
    server: FibsServer, decisions: Decisions, record: Record | None = None, patience: float = PATIENCE
) -> Iterator[tuple[FibsPlayer, list[str]]]:
    """Connect a player to the server. Yields the player, and the lines that it reports."""
    reports: list[str] = []
    with socket.create_connection(("localhost", server.port)) as connection:
        talk = Talk(connection.fileno(), connection.fileno(), "the server")
        yield FibsPlayer(talk, decisions, USER, reports.append, patience, record), reports


def play_match(server: FibsServer, decisions: Decisions, request: MatchRequest) -> tuple[Record, list[str]]:
    """Play a match to its end. Returns its record, and the lines that the player reports."""
    with session(server, decisions) as (player, reports):
        player.log_in(PASSWORD)
        assert player.play(request) is Ending.PLAYED
        player.leave()
    assert player.record
    return player.record, reports


# whole matches


def check_record(server: FibsServer, record: Record) -> Match:
    """Check that the record contains the server's games, play by play, and is a legal match after it is read back."""
    file = replay_file(parse_mat(b"".join(format_mat(record.match))))
    assert not file.ledger.rejects
    (match,) = file.matches
    assert len(match.games) == len(record.games)
    plays = []
    for game in record.games:
        for turn in game.turns:
            if turn.dice:
                roll = "".join(sorted(map(str, turn.dice), reverse=True))
                plays.append((turn.player, roll, sorted(move[:2] for move in turn.checker_moves)))
    assert plays == list(map(tuple, server.plays))
    assert [(game.winner, game.points) for game in record.games] == server.results
    return match


@pytest.mark.parametrize(("length", "seed"), [(1, 1), (7, 4)])
def test_match_by_own_invitation(decisions: Decisions, length: int, seed: int) -> None:
    with FibsServer(seed) as server:
        record, reports = play_match(server, decisions, MatchRequest(OPPONENT, True, length))
    match = check_record(server, record)
    assert (match.length, match.players) == (length, (USER, OPPONENT))
    assert max(sum(points for winner, points in server.results if winner == side) for side in (0, 1)) >= length
    assert reports[0] == f"{length}-point match with {OPPONENT}"
    assert "wins the match" in reports[-1]
    assert server.heard[-1] == "bye"
    assert "toggle automove" in server.heard


def test_games_have_acts_of_every_kind(decisions: Decisions) -> None:
    """A match has doubles, takes and passes of both sides, refused and accepted resignations, and both directions of
    play."""
    with FibsServer(13) as server:
        record, _ = play_match(server, decisions, MatchRequest(OPPONENT, True, 11))
    check_record(server, record)
    kinds = {(turn.player, turn.kind) for game in record.games for turn in game.turns}
    for kind in (TurnKind.DOUBLE, TurnKind.TAKE, TurnKind.PASS):
        assert {(0, kind), (1, kind)} <= kinds
    assert {"accept", "reject", "double", "roll", "join"} <= set(server.heard)
    steps = [step for line in server.heard if line.startswith("move ") for step in line.split()[1:]]
    assert any(step.startswith("bar-") for step in steps)
    points = [tuple(map(int, step.split("-"))) for step in steps if re.fullmatch(r"\d+-\d+", step)]
    assert any(start > end for start, end in points)
    assert any(start < end for start, end in points)


def test_invitation_to_a_match_is_accepted(decisions: Decisions) -> None:
    with FibsServer(5, invites="3") as server:
        record, reports = play_match(server, decisions, MatchRequest())
    check_record(server, record)
    assert reports[0] == f"3-point match with {OPPONENT}"


def test_invitation_to_an_unlimited_match_is_accepted(decisions: Decisions) -> None:
    with FibsServer(6, invites="unlimited") as server:
        record, reports = play_match(server, decisions, MatchRequest(OPPONENT, games=3))
    assert check_record(server, record).length == 0
    assert len(server.results) == 3
    assert server.heard[-2:] == ["leave", "bye"]
    assert reports[0] == f"unlimited match with {OPPONENT}"


def test_other_invitations_are_ignored(decisions: Decisions) -> None:
    with FibsServer(7, invites="3") as server, session(server, decisions, patience=1) as (player, _):
        player.log_in(PASSWORD)
        with pytest.raises(ExternalProgramError, match="expected a line of the server within"):
            player.play(MatchRequest("bob"))
    assert not any(line.startswith("join") for line in server.heard)


# refusals and faults of servers


@each(
    ("answer", "length", "message"),
    [
        ("** There is no one called mary.", 3, r"the server refused: .*mary"),
        ("** mary is refusing games.", 3, r"the server refused: .*mary"),
        ("** mary is already playing with someone else.", 3, r"the server refused: .*mary"),
        ("", None, "There's no saved match with mary"),
    ],
)
def test_refused_invitation_raises(decisions: Decisions, answer: str, length: int | None, message: str) -> None:
    with FibsServer(1, refuses=answer) as server, session(server, decisions) as (player, _):
        player.log_in(PASSWORD)
        with pytest.raises(EngineRefusedError, match=message):
            player.play(MatchRequest(OPPONENT, True, length))


def test_wrong_password_is_refused(decisions: Decisions) -> None:
    with FibsServer(1) as server, session(server, decisions) as (player, _):
        with pytest.raises(EngineRefusedError, match="to let ann in, found a wrong name or password"):
            player.log_in("wrong")
        assert server.heard == ["login bgdata 1008 ann wrong"]


@pytest.mark.parametrize(
    ("own_info", "message"),
    [
        ("2 ann 1 0 0 1", r"expected 20 settings of ann, as CLIP 1008 has it, got 4: '2 ann 1 0 0 1'"),
        (f"{OWN_INFO} 1 1", r"expected 20 settings of ann, as CLIP 1008 has it, got 22: '2 ann 1 .*"),
        (
            OWN_INFO.replace("ann 1 0", "ann 1 yes"),
            "expected 0 or 1 as autoboard of ann, as CLIP 1008 has it, got 'yes'",
        ),
        (
            OWN_INFO.replace("ann", "bob"),
            "expected the server to begin with the settings of ann, as CLIP 1008 .* got none",
        ),
        ("Welcome to FIBS 2.0, ann", "expected the server to begin with the settings of ann, as CLIP 1008 .* got none"),
    ],
)
def test_server_with_another_protocol_is_refused(decisions: Decisions, own_info: str, message: str) -> None:
    """If the server speaks another protocol, the login fails, no setting is changed, and no one is invited."""
    with FibsServer(1, own_info=own_info) as server, session(server, decisions) as (player, _):
        with pytest.raises(EngineRefusedError, match=f"^{message}$") as raised:
            player.log_in(PASSWORD)
        assert len(str(raised.value)) < 400
        assert len(server.heard) == 1


def test_only_different_settings_are_toggled(decisions: Decisions) -> None:
    right_settings = f"2 {USER} 1 1 0 0 0 0 1 1 2396 0 1 0 1 3457.85 0 1 0 0 0 UTC"
    with FibsServer(1, own_info=right_settings) as server, session(server, decisions) as (player, _):
        player.log_in(PASSWORD)
        player.leave()
        while player.talk.read_line(PATIENCE) is not None:  # until the server has read all lines and hung up
            pass
    assert server.heard[1:] == ["set boardstyle 3", "bye"]


def test_record_is_passed_on_after_every_game(decisions: Decisions) -> None:
    matches: list[Match] = []
    with FibsServer(2) as server, session(server, decisions) as (player, _):
        player.keep = lambda record: matches.append(record.match)
        player.log_in(PASSWORD)
        player.play(MatchRequest(OPPONENT, True, 5))
    assert [len(match.games) for match in matches] == list(range(1, len(server.results) + 1))
    assert [(match.games[-1].winner, match.games[-1].points) for match in matches] == server.results


@pytest.mark.parametrize("fault", ["binary", "long"])
def test_invalid_lines_are_skipped(decisions: Decisions, fault: str) -> None:
    with FibsServer(8, faults={9: fault}) as server:
        record, reports = play_match(server, decisions, MatchRequest(OPPONENT, True, 3))
    check_record(server, record)
    (skipped,) = (line for line in reports if line.startswith("skipped: expected "))
    assert len(skipped) < 300
    assert not server.faults


@pytest.mark.parametrize("fault", ["chatter", "nothing"])
def test_server_that_only_chats_counts_as_hanging(decisions: Decisions, fault: str) -> None:
    """Lines without meaning for the game do not extend the wait for the server."""
    with FibsServer(8, faults={9: fault}) as server, session(server, decisions, patience=1) as (player, _):
        player.log_in(PASSWORD)
        with pytest.raises(ExternalProgramError, match=r"expected .*the server .*within 1 s, got"):
            player.play(MatchRequest(OPPONENT, True, 3))


@each(
    ("lines", "message"),
    {
        "understood": (b"bob wants to play a 5 point match with you.\r\n" * 20, "got 1000 lines in a row"),
        "loaded again": (b"mary has joined you. Your running match was loaded.\r\n" * 20, "got 1000 lines in a row"),
        "no text": (b"\xff\r\n" * 50 + b"13 bob is anybody here?\r\n", "to go on within 1 s, got lines that do not"),
    },
)
def test_flood_of_lines_ends_the_session_and_logs_little(decisions: Decisions, lines: bytes, message: str) -> None:
    with (
        FibsServer(8, faults={9: "flood"}, flood=lambda: lines) as server,
        session(server, decisions, patience=1) as (player, reports),
    ):
        player.log_in(PASSWORD)
        with pytest.raises(ExternalProgramError, match=message):
            player.play(MatchRequest(OPPONENT, True, 3))
    assert len([line for line in reports if not line.startswith(("  ", "the match"))]) < 30


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("extra checker", "expected .*checkers"),
        ("other board", "expected the board .* after the last play, the server sent 4HPwATDgc/ABMA"),
        ("illegal play", "expected a legal play .*, got '.*', in a line of the server: 'mary moves 24-1"),
    ],
)
def test_cheating_server_ends_the_session(decisions: Decisions, fault: str, message: str) -> None:
    with FibsServer(9, faults={12: fault}) as server, session(server, decisions) as (player, _):
        player.log_in(PASSWORD)
        with pytest.raises(InvalidGameError, match=message) as raised:
            player.play(MatchRequest(OPPONENT, True, 3))
    assert len(str(raised.value)) < 400
    assert player.record
    game = player.record.games[-1]
    assert len(game.turns) > 3
    assert game.winner is None
    assert not replay_file(parse_mat(b"".join(format_mat(player.record.match)))).ledger.rejects


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("die", "found it closed"),
        ("half", "expected the server to end its last line, found it gone after 'board:You:mary"),
        ("hang", "expected a line of the server within"),
    ],
)
def test_lost_connection_is_resumed(decisions: Decisions, fault: str, message: str) -> None:
    with FibsServer(10, faults={15: fault}) as server:
        with session(server, decisions, patience=3 if fault == "hang" else PATIENCE) as (player, _):
            player.log_in(PASSWORD)
            with pytest.raises(ExternalProgramError, match=message):
                player.play(MatchRequest(OPPONENT, True, 5))
        record = player.record
        assert record
        with session(server, decisions, record) as (resuming_player, reports):
            resuming_player.log_in(PASSWORD)
            assert resuming_player.play(MatchRequest(OPPONENT, True)) is Ending.PLAYED
            resuming_player.leave()
        assert resuming_player.record is record
        assert reports[0] == "the match with mary goes on"
    check_record(server, record)
    assert not record.info


def test_opponent_leaves_and_match_is_resumed_elsewhere(decisions: Decisions) -> None:
    with FibsServer(12, faults={20: "saved"}) as server:
        with session(server, decisions) as (player, reports):
            player.log_in(PASSWORD)
            assert player.play(MatchRequest(OPPONENT, True, 3)) is Ending.SAVED
        assert reports[-1] == "the server has saved the game"
        server.invites = "3"
        record, _ = play_match(server, decisions, MatchRequest())
    assert record.info == [("Note", "begun elsewhere: the first turns of game 1 are not here")]
    assert sum(len(game.turns) for game in record.games) > 3


# lines


@each(
    ("line", "kind", "words"),
    [
        ("mary wants to play a 5 point match with you.", "invited", {"who": "mary", "length": "5"}),
        ("mary wants to play an unlimited match with you.", "invited", {"length": "unlimited"}),
        ("** You are now playing a 7 point match with mary.", "begun", {"who": "mary", "length": "7"}),
        ("** Player mary has joined you for an unlimited match.", "begun", {"who": "mary"}),
        ("You are now playing with mary. Your running match was loaded.", "resumed", {"who": "mary"}),
        ("mary rolls 6 and 3.", "rolls", {"who": "mary", "die": "6", "other": "3"}),
        ("mary moves bar-22 13-8* .", None, {}),
        ("mary moves bar-22 13-8 .", "moves", {"who": "mary", "moves": "bar-22 13-8 "}),
        ("mary moves 3-off 2-off 1-off .", "moves", {}),
        ("mary gives up. You win 1 point.", "passes", {"who": "You", "points": "1"}),
        ("You give up. mary wins 2 points.", "passes", {"who": "mary"}),
        ("mary wants to resign. You will win 2 points. Type 'accept' or 'reject'.", "resigns", {"points": "2"}),
        ("You win the 3 point match 3-1 .", "match_won", {"who": "You", "score": "3-1"}),
        ("mary drops connection. The game was saved.", "saved", {}),
        ("13 bob mary rolls 6 and 3.", None, {}),
        ("12 mary You win the 3 point match 3-1 .", None, {}),
        ("", None, {}),
    ],
)
def test_messages_are_parsed(line: str, kind: str | None, words: dict[str, str]) -> None:
    message = parse_message(line)
    assert (message.kind if message else None) == kind
    assert message is None or words.items() <= message.words.items()


@pytest.mark.parametrize("is_up", [False, True])
def test_fibs_plays_round_trip(is_up: bool) -> None:
    assert format_fibs_play(legal_plays(START, "31")[0], is_up=False).count("-") == 2
    for board in random_game_positions(3, seed=5).boards[::18].tolist():
        for roll in ROLLS[::4]:  # some of the rolls, doubles included
            plays = [play for play in legal_plays(Position(board), roll) if play.moves]
            for play in plays:
                text = format_fibs_play(play, is_up=is_up)
                assert find_fibs_play(text, plays, is_up=is_up).after_play == play.after_play


def test_game_messages_before_a_match_are_refused(decisions: Decisions) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        player = FibsPlayer(Talk(ours.fileno(), ours.fileno(), "the server"), decisions, USER, print, PATIENCE)
        for line in ("mary doubles. Type 'accept' or 'reject'.", "board:1:2", "mary moves 8-7 ."):
            theirs.sendall(line.encode() + b"\r\n")
            with pytest.raises(BgdataError, match=r"^expected "):
                player.play(MatchRequest())
