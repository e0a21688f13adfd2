"""gnubg's external player: its lines, invalid lines, and real games play by play; records made from its questions, with
certain rolls, uncertain rolls, and unexpected boards."""

import os
import socket
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata import open_player
from bgdata.cli.defaults import find_met_or_file
from bgdata.equity.cube import CubeRules
from bgdata.equity.match_equity import MatchEquity
from bgdata.errors import ExternalProgramError
from bgdata.evaluation.chances import AnswerSource, Evaluations
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.talk import Talk
from bgdata.formats.mat import format_mat, parse_mat
from bgdata.formats.matches import Game, Match, TurnKind
from bgdata.formats.replay import replay_file, replay_game
from bgdata.game.codec import Boards
from bgdata.game.dice import parse_roll
from bgdata.game.fibs_board import parse_fibs_board
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.plays import find_play, legal_plays
from bgdata.game.position import START, Position
from bgdata.protocols import external
from bgdata.protocols.decisions import Answer, Decisions
from tests.beside_gnubg import MET
from tests.evaluation.sample_evaluators import Scrambled
from tests.oracles import needs_gnubg_tool
from tests.protocols.gnubg_games import Played, gnubg_acts, our_acts, play_gnubg
from tests.protocols.test_fibs import RandomEvaluator
from tests.subtests import each

# lines sent by gnubg 1.07
OPENING = (
    "board:gnubg:root:3:0:0:0:-2:0:0:0:0:5:0:3:0:0:0:-5:5:0:0:0:-3:0:-5:0:0:0:0:2:0:-1:4:1:4:1:1:1:1:0:1:"
    "-1:0:25:0:0:0:0:0:0:0:1"
)
DOUBLED = (
    "board:root:gnubg:7:1:0:0:-1:0:-1:0:0:5:-1:3:3:0:0:-4:3:-1:0:0:-2:0:-4:1:0:-1:0:0:0:1:0:0:0:0:2:1:0:1"
    ":1:-1:0:25:0:0:0:0:0:0:0:1"
)
ON_BAR = (
    "board:gnubg:root:3:0:0:-1:-2:0:0:0:0:5:0:3:3:0:0:-4:3:-1:0:0:-2:0:-4:1:0:-1:0:0:0:-1:6:3:6:3:1:1:1:0"
    ":1:-1:0:25:0:0:0:0:0:0:0:1"
)
AS_SIDE_1 = (
    "board:gnubg:root:3:0:0:0:-1:0:-1:0:0:5:1:2:0:0:0:-3:4:-1:0:-1:-3:0:-5:0:0:0:0:2:1:1:4:4:4:4:1:1:1:0:"
    "1:-1:0:25:0:0:0:0:0:0:0:1"
)
CRAWFORD = (
    "board:gnubg:root:3:0:2:-1:-2:0:0:0:0:5:0:3:0:0:0:-4:5:0:-1:0:-2:1:-5:0:0:0:1:0:0:-1:1:1:1:1:1:1:1:0:"
    "1:-1:0:25:0:0:0:0:0:0:0:0"
)


def parse_line(line: str, color: int | None = None, *, is_jacoby: bool = False) -> external.Question:
    """The question in a line of gnubg, to the side of this color if it is known."""
    board = parse_fibs_board(line)
    return external.parse_question(board, external.color_to_decide(board, color), is_jacoby=is_jacoby)


def test_opening_question_is_understood() -> None:
    question = parse_line(OPENING)
    assert (question.kind, question.position, str(question.roll)) == (external.QuestionKind.PLAY, START, "41")
    assert question.players == ("gnubg", "root")
    assert question.stakes == Stakes(MatchScore(3, 3))


def test_double_has_the_view_of_the_doubling_side() -> None:
    """A board after a double shows names and scores from the other side, but not the checkers."""
    question = parse_line(DOUBLED)
    assert (question.kind, question.roll) == (external.QuestionKind.ANSWER, None)
    assert (question.players, question.scores) == (("gnubg", "root"), (0, 1))
    assert question.stakes == Stakes(MatchScore(6, 7), Cube(2, CubeOwner.ON_ROLL))
    assert (question.position.board[6], question.position.board[24]) == (5, 0)
    assert sum(count for count in question.position.board if count > 0) == 15


# sent by gnubg 1.07 as side 1: its beaver after a double by side 0, and its raccoon after our beaver
BEAVER = OPENING.replace("root:3:", "root:0:").replace(":4:1:4:1:1:1:1:0:", ":0:0:0:0:2:1:0:1:")
RACCOON = BEAVER.replace("gnubg:root", "root:gnubg").replace(":-1:0:0:0:0:2:1:0:", ":1:0:0:0:0:4:0:1:")


def test_beavers_and_raccoons_are_told_apart_by_earlier_lines() -> None:
    """In both, the opponent of the player on roll owns the cube."""
    beaver, raccoon = parse_line(BEAVER, -1), parse_line(RACCOON, -1)
    assert (beaver.is_beaver, beaver.players) == (True, ("gnubg", "root"))
    assert beaver.stakes.cube == Cube(2, CubeOwner.OPPONENT)
    assert (raccoon.is_beaver, raccoon.players) == (False, ("gnubg", "root"))
    assert raccoon.stakes.cube == Cube(4, CubeOwner.OPPONENT)


def test_refused_resignation_is_not_offered_again() -> None:
    """After gnubg refuses a resignation, the player, who needs two rolls against one, plays on."""
    points = [0, -1, *[0] * 23, 0]
    points[24] = 3
    line = "board:gnubg:root:0:0:0:" + ":".join(map(str, points)) + ":1:0:0:0:0:2:0:1:0:1:-1:0:25:12:14:0:0:0:0:0:1"
    player = external.ExternalPlayer(Decisions(LookaheadPlayer(LostEvaluator())))
    assert [player.exchange(line).reply for _ in range(3)] == ["resign 1", "roll", "roll"]


class LostEvaluator(Scrambled):
    """An evaluator by which the side on roll has lost a single game, as if from an exact table."""

    def evaluate_many(self, boards: Boards) -> Evaluations:
        """See chances.Evaluator."""
        return Evaluations(np.zeros((len(boards), 5), np.float32), np.full(len(boards), AnswerSource.EXACT, np.int8))


def test_checkers_on_both_bars_are_read() -> None:
    as_side_0 = parse_line(ON_BAR)
    assert (as_side_0.position.board[25], as_side_0.position.board[0]) == (1, 0)
    as_side_1 = parse_line(AS_SIDE_1)
    assert (as_side_1.position.board[25], as_side_1.position.board[6], as_side_1.position.board[24]) == (1, 5, 2)
    assert as_side_1.players == ("root", "gnubg")


def test_crawford_game_and_money_stakes_are_understood() -> None:
    assert parse_line(CRAWFORD).stakes == Stakes(MatchScore(3, 1, is_crawford=True))
    money = OPENING.replace("root:3:", "root:0:")
    assert parse_line(money, is_jacoby=True).stakes == Stakes(Money(is_jacoby=True))


def simple_player() -> external.ExternalPlayer:
    return external.ExternalPlayer(Decisions(LookaheadPlayer(Scrambled())))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("hello", "expected a line that begins with 'board:', got 'hello'"),
        ("board:a:b", "expected 52 fields in a board line, got 2"),
        (OPENING.replace(":-5:5:", ":-5:x:"), "expected a number as field 19 of a board line, got 'x'"),
        (OPENING.replace(":-1:4:1:", ":7:4:1:"), "expected a turn of 1 or -1 in a board line, got 7"),
        (OPENING.replace(":-1:4:1:", ":0:4:1:"), "expected a turn of 1 or -1 in a game in progress, got 0"),
        (OPENING.replace(":4:1:4:1:", ":4:9:4:9:"), "expected two dice from 1 to 6"),
        (OPENING.replace(":5:0:3:", ":9:0:9:"), "expected at most 15 checkers"),
        (OPENING.replace("root:3:0:0", "root:3:3:0"), "expected scores from 0 to 2, got 3 and 0"),
        (OPENING.replace(":1:1:1:0:1:", ":3:1:1:0:1:"), "expected a power of two as cube value, got 3"),
        (OPENING[:-1] + "9" * 500, "expected a line that begins with 'board:'"),
        (
            OPENING.replace("root:3:0:0", "root:0:0:0").replace(":4:1:4:1:", ":5:5:5:5:").replace(":-1:5", ":0:5"),
            "expected a turn",
        ),
    ],
)
def test_invalid_lines_get_an_error(line: str, reason: str) -> None:
    exchange = simple_player().exchange(line)
    assert exchange.reply.startswith(external.REFUSED + reason)
    assert exchange.question is None


@pytest.fixture
def pair() -> tuple[socket.socket, Talk]:
    ours, theirs = socket.socketpair()
    theirs.settimeout(30)
    talk = Talk(ours.fileno(), ours.fileno(), "gnubg")
    talk.socket = ours  # type: ignore[attr-defined]  # keeps it open
    return theirs, talk


def replies_to(player: external.ExternalPlayer, data: bytes, pair: tuple[socket.socket, Talk]) -> tuple[list[str], str]:
    """Send bytes and close the connection. Returns the replies, and the error that ended the conversation."""
    theirs, talk = pair

    def send() -> None:
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)

    sender = threading.Thread(target=send)
    sender.start()
    replies = []
    error = ""
    try:
        replies = [exchange.reply for exchange in player.exchanges(talk, 30)]
    except ExternalProgramError as raised:
        error = str(raised)
    sender.join()
    return replies, error


VALID_LINE = OPENING.replace("root:3:", "root:0:").encode() + b"\n\0"


def test_invalid_lines_do_not_end_a_game(pair: tuple[socket.socket, Talk]) -> None:
    binary_line = os.urandom(500).replace(b"\n", b"").replace(b"\r", b"") + b"\n"
    long_line = b"9" * 100_000_000 + b"\n"
    data = VALID_LINE + binary_line + long_line + b"\n\0" + VALID_LINE
    replies, error = replies_to(simple_player(), data, pair)
    assert error == ""
    first, of_binary, of_long, last = replies
    assert not first.startswith(external.REFUSED)
    assert of_binary.startswith(external.REFUSED)
    assert of_long == external.REFUSED + "expected lines of at most 4096 bytes, got a longer one"
    assert last == first


@pytest.mark.parametrize(
    ("data", "ending", "reason"),
    [
        (b"board:half", "silent", r"expected a line of gnubg within 0.05 s, got none, only 'board:half'"),
        (
            VALID_LINE + b"board:gnubg:ro",
            "no more lines",
            "expected gnubg to end its last line, found it gone after 'board:gnubg:ro'",
        ),
        (VALID_LINE, "closed", "expected gnubg to listen, found it gone"),
    ],
    ids=["silent", "within a line", "before the reply"],
)
def test_silent_or_gone_programs_end_the_connection(data: bytes, ending: str, reason: str) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(data)
        if ending == "no more lines":
            theirs.shutdown(socket.SHUT_WR)
        elif ending == "closed":
            theirs.close()
        patience = 0.05 if ending == "silent" else 30
        with pytest.raises(ExternalProgramError, match=reason):
            list(simple_player().exchanges(Talk(ours.fileno(), ours.fileno(), "gnubg"), patience))


@each("lines", [b"nonsense\n", b"\n", b"\xff\n\0"])
def test_endless_lines_without_questions_end_the_connection(lines: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, theirs.makefile("rb") as replies:
        reader = threading.Thread(target=replies.readlines)  # otherwise our writes would block
        reader.start()
        theirs.sendall(VALID_LINE + lines * 500)
        with pytest.raises(ExternalProgramError, match=r"^expected boards of gnubg, got 100 other lines in a row$"):
            list(simple_player().exchanges(Talk(ours.fileno(), ours.fileno(), "gnubg"), 30))
        ours.shutdown(socket.SHUT_WR)
        reader.join()


# games


@pytest.fixture(scope="module")
def decisions(player_root: Path) -> Decisions:
    """A player with a published network, small bearoff tables and gnubg's match equity table."""
    met = find_met_or_file(bgdata.open_warehouse(player_root), MET)
    return Decisions(open_player(player_root), CubeRules(met=met))


@pytest.fixture(scope="module")
def quick_decisions(decisions: Decisions) -> Decisions:
    """The same player without exact tables of the cube, which take longer to solve than the games."""
    return Decisions(decisions.player, replace(decisions.rules, by_model=True))


def check_same(played: Played, side: int, *, has_refusals: bool = False) -> None:
    """Check that gnubg has recorded exactly our replies, act by act, except those that it refuses."""
    recorded, replied = list(gnubg_acts(played.match, side)), list(our_acts(played.exchanges))
    if has_refusals:
        recorded = [act for act in recorded if act.done != "resign"]
        replied = [act for act in replied if act.done != "resign"]
    assert len(replied) > 10
    assert recorded == replied


@needs_gnubg_tool("gnubg")
@pytest.mark.parametrize("side", [0, 1])
def test_gnubg_match_play_by_play(decisions: Decisions, side: int, tmp_path: Path) -> None:
    check_same(play_gnubg(decisions, tmp_path, side=side, length=3, seed=5 + side), side)


@needs_gnubg_tool("gnubg")
@pytest.mark.parametrize("side", [0, 1])
def test_gnubg_money_games_play_by_play(decisions: Decisions, side: int, tmp_path: Path) -> None:
    played = play_gnubg(decisions, tmp_path, side=side, games=4, seed=11 + side)
    assert len(played.match.games) == 4
    check_same(played, side)


class WildDecisions(Decisions):
    """A player that mostly doubles whenever it may, beavers half of the doubles, and resigns games that are not
    lost."""

    def doubles(self, position: Position, stakes: Stakes) -> bool:
        """Doubles in two of three positions, up to a cube of 8, because gnubg stops games at 128."""
        return stakes.may_double and stakes.cube.value < 8 and position.pip_count % 3 > 0

    def answer(self, position: Position, stakes: Stakes, *, by_roller: bool = False) -> Answer:  # noqa: ARG002
        """Beavers half the doubles in money play, and takes otherwise."""
        may_beaver = isinstance(stakes.score, Money) and stakes.cube.owner != CubeOwner.OPPONENT
        return Answer.BEAVER if may_beaver and position.pip_count % 2 else Answer.TAKE

    def resignation(self, position: Position, stakes: Stakes) -> int:  # noqa: ARG002
        """A single game in one position of five."""
        return int(position.pip_count % 5 == 0)


@needs_gnubg_tool("gnubg")
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("length", [0, 4])
def test_gnubg_cube_actions_play_by_play(quick_decisions: Decisions, side: int, length: int, tmp_path: Path) -> None:
    """Games with redoubles, beavers, raccoons and resignations, which gnubg accepts or refuses, are recorded alike by
    both programs."""
    wild = WildDecisions(quick_decisions.player, quick_decisions.rules)
    played = play_gnubg(wild, tmp_path, side=side, length=length, games=16, seed=3)
    replies = [each.reply for each in played.exchanges if each.question]
    check_same(played, side, has_refusals=True)
    assert "double" in replies
    if not length:
        assert "beaver" in replies
        assert any(each.question and each.question.is_beaver for each in played.exchanges)


@needs_gnubg_tool("gnubg")
@pytest.mark.slow
@pytest.mark.parametrize("side", [0, 1])
def test_seven_point_matches_play_by_play(quick_decisions: Decisions, side: int, tmp_path: Path) -> None:
    crawford = post_crawford = 0
    for seed in range(10):
        folder = tmp_path / str(seed)
        folder.mkdir()
        played = play_gnubg(quick_decisions, folder, side=side, length=7, seed=seed)
        check_same(played, side)
        scores = [each.question.stakes.score for each in played.exchanges if each.question]
        crawford += any(score.is_crawford for score in scores if isinstance(score, MatchScore))
        post_crawford += any(score.is_post_crawford for score in scores if isinstance(score, MatchScore))
    assert crawford
    assert post_crawford


@needs_gnubg_tool("gnubg")
@pytest.mark.slow
def test_hundred_money_games_are_recorded_like_gnubg(quick_decisions: Decisions, tmp_path: Path) -> None:
    """gnubg plays with noise and redoubles."""
    played = play_gnubg(quick_decisions, tmp_path, games=100, seed=7, noise=0.05)
    assert len(played.match.games) == 100
    check_same(played, 0)
    replies = {exchange.reply for exchange in played.exchanges}
    cube_values = {exchange.question.stakes.cube.value for exchange in played.exchanges if exchange.question}
    assert {"double", "take", "drop", "roll"} < replies
    assert {1, 2, 4} <= cube_values


# records

OPEN_ROLLS = "rolls of root may have been others that lead to the same board"


def position_after(position: Position, *plays: tuple[str, str]) -> Position:
    """The position after these rolls and plays of both sides in turn."""
    for roll, play in plays:
        position = find_play(play, legal_plays(position, roll)).next_position
    return position


def make_question(
    position: Position, roll: str = "", scores: tuple[int, int] = (0, 0), **changes: object
) -> external.Question:
    """A question about a play, or about a turn if there is no roll, to the player on roll in a match to 3 points."""
    kind = external.QuestionKind.PLAY if roll else external.QuestionKind.TURN
    stakes = Stakes(MatchScore(3 - scores[0], 3 - scores[1]))
    question = external.Question(kind, ("ann", "root"), 3, scores, position, stakes, parse_roll(roll) if roll else None)
    return replace(question, **changes)  # type: ignore[arg-type]


def make_record(*exchanges: tuple[external.Question, str]) -> external.ExternalRecord:
    """The record of these questions and replies."""
    record = external.ExternalRecord()
    for question, reply in exchanges:
        record.add(external.Exchange("", reply, question))
    return record


def turn_texts(match: Match) -> list[str]:
    """The turns of the last game as text, one string each, and its result."""
    game = match.games[-1]
    texts = [f"{turn.player} {''.join(map(str, turn.dice)) if turn.dice else turn.kind.value}" for turn in game.turns]
    return [*texts, f"{game.winner} wins {game.points}"] if game.points else texts


def check_legal(match: Match) -> None:
    """Check that a match is legal after it is written to a file and read back."""
    file = replay_file(parse_mat(b"".join(format_mat(match))))
    assert not file.ledger.rejects
    assert len(file.matches[0].games) == len(match.games)


FIRST, SECOND = ("31", "8/5 6/5"), ("62", "24/18 13/11")  # roll and play of each side
AFTER_TWO_PLAYS = position_after(START, FIRST, SECOND)
OPENING_EXCHANGE = (make_question(START, "31"), FIRST[1])
DOUBLE_OF_GNUBG = make_question(position_after(START, FIRST), kind=external.QuestionKind.ANSWER)


def test_rolls_are_inferred_from_boards() -> None:
    """gnubg's roll is inferred from two boards; if several rolls allow the play, as 41 and 32 do for 13/8, the record
    says so."""
    after_four_plays = position_after(AFTER_TWO_PLAYS, ("21", "24/23 13/11"), ("41", "13/8"))
    (match,) = make_record(
        OPENING_EXCHANGE,
        (make_question(AFTER_TWO_PLAYS, "21"), "24/23 13/11"),
        (make_question(after_four_plays), "roll"),
    ).matches
    assert turn_texts(match) == ["0 31", "1 62", "0 21", "1 32"]
    assert match.players == ("ann", "root")
    assert match.info == (("Note", f"game 1: 1 of 2 {OPEN_ROLLS}"),)
    check_legal(match)


def test_first_player_is_inferred_from_the_board() -> None:
    (match,) = make_record((make_question(position_after(START, FIRST)), "roll")).matches
    assert turn_texts(match) == ["1 31"]
    check_legal(match)


def test_gnubg_passes_a_double() -> None:
    """If a new game begins after our double with a point for us, gnubg has passed."""
    (match,) = make_record(
        OPENING_EXCHANGE, (make_question(AFTER_TWO_PLAYS), "double"), (make_question(START, "31", (1, 0)), FIRST[1])
    ).matches
    first, second = match.games
    assert [turn.kind.value for turn in first.turns[-2:]] == ["double", "pass"]
    assert (first.winner, first.points) == (0, 1)
    assert (second.score, second.winner) == ((1, 0), None)
    check_legal(match)


def test_gnubg_takes_a_double() -> None:
    cube = Stakes(MatchScore(3, 3), Cube(2, CubeOwner.OPPONENT))
    (match,) = make_record(
        OPENING_EXCHANGE,
        (make_question(AFTER_TWO_PLAYS), "double"),
        (make_question(AFTER_TWO_PLAYS, "31", stakes=cube), "24/20"),
    ).matches
    assert turn_texts(match) == ["0 31", "1 62", "0 double", "1 take", "0 31"]
    check_legal(match)


@pytest.mark.parametrize(("reply", "end"), [("take", ["0 take"]), ("drop", ["0 pass", "1 wins 1"])])
def test_gnubg_doubles(reply: str, end: list[str]) -> None:
    record = make_record(OPENING_EXCHANGE)
    assert record.add(external.Exchange("", reply, DOUBLE_OF_GNUBG)) is (reply == "drop")
    assert turn_texts(record.matches[0]) == ["0 31", "1 double", *end]
    check_legal(record.matches[0])


def test_game_won_by_gnubg_between_questions() -> None:
    (match,) = make_record(OPENING_EXCHANGE, (make_question(START, "31", (0, 2)), FIRST[1])).matches
    assert (match.games[0].winner, match.games[0].points, len(match.games)) == (1, 2, 2)
    check_legal(match)


def test_game_won_by_the_last_play() -> None:
    """The result of a game that a play wins is known at once. A game whose first board is in mid-game lacks its
    beginning."""
    last = Position([0, 1, *[0] * 22, -1, 0])
    (match,) = make_record((make_question(last, "31"), "1/off")).matches
    assert turn_texts(match) == ["0 31", "0 wins 1"]
    assert match.info == (("Note", "begun elsewhere: the first turns of game 1 are not here"),)


@pytest.mark.parametrize(
    ("first", "last", "turns"),
    [
        ((make_question(AFTER_TWO_PLAYS, "31"), "24/20"), (make_question(AFTER_TWO_PLAYS, "31"), "8/5 6/5"),
         ["0 31", "1 62", "0 31"]),
        ((DOUBLE_OF_GNUBG, "drop"), (DOUBLE_OF_GNUBG, "take"), ["0 31", "1 double", "0 take"]),
        ((make_question(AFTER_TWO_PLAYS, "31"), "24/20"), (make_question(AFTER_TWO_PLAYS), "roll"), ["0 31", "1 62"]),
    ],
    ids=["play", "answer", "turn"],
)  # fmt: skip
def test_repeated_question_keeps_the_last_answer(
    first: tuple[external.Question, str], last: tuple[external.Question, str], turns: list[str]
) -> None:
    """If gnubg repeats a question, after an error or when its user goes back, only the last answer is recorded."""
    (match,) = make_record(OPENING_EXCHANGE, first, last).matches
    assert turn_texts(match) == turns
    if last[1] == "8/5 6/5":
        assert [move[:2] for move in match.games[0].turns[-1].checker_moves] == [(8, 5), (6, 5)]


@pytest.mark.parametrize(
    "question",
    [make_question(START, "31"), replace(OPENING_EXCHANGE[0], length=5), make_question(START, "42")],
    ids=["score of 0-0", "other length", "other roll"],
)
def test_another_match_is_recognized(question: external.Question) -> None:
    """A new match begins if the score is 0-0 again, if the length changes, and after the end of a match."""
    reply = str(legal_plays(START, question.roll or "31")[0])
    record = make_record(OPENING_EXCHANGE, (make_question(AFTER_TWO_PLAYS, "31"), "24/20"), (question, reply))
    assert [[len(game.turns) for game in match.games] for match in record.matches] == [[3], [1]]
    for match in record.matches:
        check_legal(match)


@pytest.mark.parametrize("is_jacoby", [False, True])
def test_jacoby_rule_is_recorded(is_jacoby: bool) -> None:
    """The Jacoby rule, which gnubg does not send, is recorded as the command's option says."""
    question = make_question(START, "31", length=0, stakes=Stakes(Money(is_jacoby)))
    (match,) = make_record((question, FIRST[1])).matches
    assert match.is_jacoby == is_jacoby
    (parsed,) = parse_mat(b"".join(format_mat(match))).matches
    assert parsed.is_jacoby == is_jacoby


def test_falling_score_begins_a_match() -> None:
    record = make_record(OPENING_EXCHANGE, (make_question(START, "31", (0, 2)), FIRST[1]), OPENING_EXCHANGE)
    assert [[game.score for game in match.games] for match in record.matches] == [[(0, 0), (0, 2)], [(0, 0)]]


def test_names_are_made_valid_for_a_file() -> None:
    for name in ("", ";", "a : 0", "x" * 400, "Wins 3 points"):
        (match,) = make_record((make_question(START, "31", players=(name, name)), FIRST[1])).matches
        check_legal(match)


# real games


def recorded_acts(match: Match, game: Game, first: int = 0) -> list[tuple[int, TurnKind, str]]:
    """(side, kind, board after) of each act, where side `first` is 0. Rolls, and takes that files leave out, are not
    among them."""
    return [
        (turn.turn.player ^ first, turn.turn.kind, (turn.play.next_position if turn.play else turn.position).id)
        for turn in replay_game(match, game).turns
        if turn.turn.kind in (TurnKind.PLAY, TurnKind.DOUBLE, TurnKind.BEAVER, TurnKind.PASS)
    ]


def check_same_games(ours: Match, theirs: Match, side: int) -> None:
    """Check that our record has the acts and results of gnubg's own record of its `side`, at most one roll less; our
    last result may be missing."""
    check_legal(ours)
    for our_game, their_game in zip(ours.games, theirs.games, strict=True):
        our_acts, their_acts = recorded_acts(ours, our_game), recorded_acts(theirs, their_game, side)
        assert our_acts == their_acts[: len(our_acts)]
        assert len(their_acts) - len(our_acts) <= 1
        if our_game.winner is not None:
            assert our_game.winner ^ side == their_game.winner
            assert our_game.points == their_game.points
        else:
            assert our_game is ours.games[-1]


@needs_gnubg_tool("gnubg")
@pytest.mark.slow
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("length", [0, 5])
def test_gnubg_recorded_the_same_games(side: int, length: int, met: MatchEquity, tmp_path: Path) -> None:
    """Long, wild games with all cube actions and a random player are recorded alike by both programs."""
    wild = WildDecisions(LookaheadPlayer(RandomEvaluator()), CubeRules(met=met))
    played = play_gnubg(wild, tmp_path, side=side, length=length, games=6, seed=3)
    record = external.ExternalRecord()
    for exchange in played.exchanges:
        record.add(exchange)
    (ours,) = record.matches
    check_same_games(ours, played.match, side)
