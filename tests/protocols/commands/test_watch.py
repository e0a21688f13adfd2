"""Games between programs to watch, with and without the cube, and their output."""

import re
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import bgdata
from bgdata.equity.cube import CubeRules, decide_cube
from bgdata.equity.match_equity import MatchEquity
from bgdata.errors import UsageError
from bgdata.evaluation.choices import chosen_boards
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.player import PubEval, RandomPlayer
from bgdata.formats.mat import format_mat, parse_mat
from bgdata.formats.matches import TurnKind
from bgdata.formats.replay import replay_game
from bgdata.game.codec import Boards
from bgdata.game.dice import roll_of
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.plays import legal_plays
from bgdata.game.position import START, Position
from bgdata.protocols.commands.watch import (
    Program,
    chosen_play,
    describe_ending,
    describe_leaving,
    describe_score,
    describe_worth,
    watch_session,
)
from bgdata.protocols.decisions import Decisions
from bgdata.protocols.session import DecisionKind, Moment, Session
from tests.command_line import output_of
from tests.protocols.test_external import WildDecisions
from tests.protocols.test_fibs import RandomEvaluator

ROW = re.compile(r" *(\d+)  (\S+) +(\d\d): (.*?) +([+-]\d\.\d{3})")


@pytest.fixture(scope="module")
def player(player_root: Path) -> LookaheadPlayer:
    return bgdata.open_player(player_root, "random")


class Engine(RandomEvaluator):
    """Another program, which evaluates positions and chooses plays arbitrarily."""

    label = "engine"

    def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
        """Arbitrary plays; see `player.Player`."""
        return RandomPlayer(3).choose_plays(boards, rolls)


# without the cube


@pytest.mark.parametrize("name", ["pubeval", "random"])
def test_watched_game_is_legal_and_repeatable(player_root: Path, player: LookaheadPlayer, name: str) -> None:
    arguments = ("play", "--network", "random", "--seed", "11", "--watch", name)
    output = output_of(player_root, *arguments)
    assert output_of(player_root, *arguments) == output
    heading, _, columns, *lines, empty, result = output.splitlines()
    assert heading == f"{name} is X, random-0ply is O; the dice are those of seed 11."
    assert columns.split() == ["play", "equity", "of", "random-0ply"]
    assert empty == ""
    session = Session(11, (name, "random-0ply"))
    for number, line in enumerate(lines, 1):
        row = ROW.fullmatch(line)
        assert row, line
        turn, side_name, roll, text, equity = row.groups()
        now = session.now
        assert (int(turn), side_name, roll) == (number, session.players[now.side], str(session.roll))
        play = next(play for play in legal_plays(now.position, session.roll) if str(play) == text)
        if now.side == 1:
            assert play == player.best_play(now.position, session.roll).play
        session.make(play)
        equity_on_roll = player.evaluate(session.now.position).cubeless_equity
        assert equity == f"{-equity_on_roll if now.side else equity_on_roll:+.3f}"
    assert session.ending
    assert result == describe_ending(session)
    assert float(equity) == session.ending.points * (1 if session.ending.winner else -1)


def test_random_plays_depend_on_game_and_turn() -> None:
    """Random choices in the same position with the same roll differ by game and turn, as in recorded games."""
    boards = np.array([START.board], np.int8)
    rolls = np.array([(3, 1)], np.int8)
    plays = set()
    for game, turn in product(range(1, 4), range(5)):
        play = chosen_play(RandomPlayer(), START, roll_of(3, 1), game, turn)
        (expected,) = chosen_boards(RandomPlayer().chooser, boards, rolls, np.array([game]), turn).tolist()
        assert list(play.next_position.board) == expected
        plays.add(str(play))
    assert len(plays) > 5
    session = Session(4, ("random", "random"))
    expected_play = chosen_play(RandomPlayer(), session.now.position, session.roll, 1, 0)
    assert Program.of(RandomPlayer(), None).play(session) == expected_play


def test_pubeval_chooses_its_own_play() -> None:
    (board,) = PubEval().choose_plays(np.array([START.board], np.int8), np.array([(3, 1)], np.int8)).tolist()
    assert chosen_play(PubEval(), START, roll_of(3, 1)).next_position == Position(board)


# with the cube


@pytest.mark.parametrize("chooser", [PubEval(), RandomPlayer()], ids=lambda player: player.label)
def test_player_without_evaluations_cannot_handle_the_cube(chooser: PubEval | RandomPlayer) -> None:
    message = f"expected a player that evaluates positions, got {chooser.label}, which only chooses plays"
    with pytest.raises(UsageError, match=message):
        Program.of(chooser, CubeRules())
    assert Program.of(chooser, None).decisions is None


def test_each_program_decides_by_its_own_chances(player: LookaheadPlayer, met: MatchEquity) -> None:
    """A network chooses plays by cubeful equity, another program by its own method; each turns the cube by its own
    chances."""
    rules = CubeRules(met=met)
    stakes = Stakes(MatchScore(2, 4))
    network, engine = Program.of(player, rules), Program.of(Engine(), rules)
    assert network.decisions == Decisions(player, rules)
    assert engine.decisions is not None
    chances = Engine().evaluate_many(np.array([START.board], np.int8)).chances[0].tolist()
    assert engine.decisions.player.decide_cube(START, stakes, rules) == decide_cube(chances, stakes, rules)
    differ = 0
    for seed in range(12):
        session = Session(seed, ("a", "b"), MatchScore(2, 2))
        session.now = Moment(START, 0, stakes)
        assert engine.play(session) == chosen_play(Engine(), START, session.roll)
        assert network.play(session) == player.best_play(START, session.roll, stakes, rules).play
        differ += network.play(session) != player.best_play(START, session.roll).play
    assert differ


def test_acts_are_executed_and_printed(player: LookaheadPlayer) -> None:
    wild = WildDecisions(player, CubeRules(has_beavers=True))
    programs = Program(player, wild), Program(player, wild)
    cube_actions = set()
    for seed in range(30):
        session = Session(seed, ("a", "b"), Money(is_jacoby=False), has_beavers=True)
        while not session.ending and session.now.rolls < 20:
            before = session.now
            printed = programs[before.side].act(session)
            if not printed:  # no double: the roll comes next
                assert before.kind is DecisionKind.TURN
                assert session.now.kind is DecisionKind.PLAY
            elif before.kind is DecisionKind.PLAY:
                assert re.fullmatch(r"rolls \d\d: .+", printed)
            else:
                assert before.stakes
                value = before.stakes.cube.value
                cube_actions.add(printed.split()[0])
                last = session.record.games[0].turns[-1]
                assert printed in (f"doubles to {2 * value}", f"beavers to {4 * value}", "takes")
                if "to" in printed:
                    assert int(printed.split()[-1]) == last.cube_value
    assert cube_actions == {"doubles", "beavers", "takes"}


@pytest.mark.parametrize("score", [Money(is_jacoby=True), MatchScore(3, 3)], ids=str)
def test_output_of_a_watched_session_matches_its_record(
    player: LookaheadPlayer, met: MatchEquity, score: Money | MatchScore, capsys: pytest.CaptureFixture[str]
) -> None:
    kinds = set()
    rules = CubeRules(met=met)
    for seed in range(3):
        programs = Program.of(Engine(), rules), Program.of(player, rules)
        session = Session(seed, ("engine", player.label), score)
        keeps: list[int] = []
        watch_session(session, programs, player, partial(keeps.append, 1))
        headings = r"^ +play +(?:equity|mwc) of random-0ply\n"
        first_lines, *games = re.split(headings, capsys.readouterr().out, flags=re.MULTILINE)
        assert first_lines.startswith(f"engine is X, random-0ply is O; the dice are those of seed {seed}.\n")
        match = session.record.match
        assert len(games) == len(match.games) == len(keeps) + 1
        for text, game in zip(games, match.games, strict=True):
            lines = text.split("\n\n")[0].splitlines()
            for line, turn in zip(lines, game.turns, strict=True):
                kinds.add(turn.kind)
                assert match.players[turn.player] in line
                if turn.kind is TurnKind.DOUBLE:
                    assert line.endswith(f" doubles to {turn.cube_value}")
                elif turn.kind is TurnKind.TAKE:
                    assert line.endswith(" takes")
                elif turn.kind is TurnKind.PASS:
                    assert line.endswith(" passes")
                else:
                    assert re.search(r" [+-]\d\.\d{3}$| \d+\.\d\d %$", line)
        (parsed,) = parse_mat(b"".join(format_mat(match))).matches
        for game in parsed.games:
            assert replay_game(parsed, game).turns
    assert {TurnKind.DOUBLE, TurnKind.TAKE} <= kinds


def test_value_of_a_position_is_to_side_1(player: LookaheadPlayer, met: MatchEquity) -> None:
    """The printed value is for side 1, whichever side is on roll."""
    rules = CubeRules(met=met)
    stakes = Stakes(MatchScore(2, 4), Cube(2, CubeOwner.ON_ROLL))
    money = Stakes(Money(is_jacoby=False), Cube(2, CubeOwner.OPPONENT))
    for side in (0, 1):
        mwc = player.decide_cube(START, stakes, rules).equity
        assert describe_worth(Moment(START, side, stakes), player, rules) == f"{100 * (mwc if side else 1 - mwc):.2f} %"
        equity = player.decide_cube(START, money, rules).equity
        assert describe_worth(Moment(START, side, money), player, rules) == f"{equity if side else -equity:+.3f}"
    lost = Position([0, 1, *[0] * 24])  # the opponent has borne off all checkers
    assert describe_worth(Moment(lost, 1, money), player, rules) == "-1.000"
    assert describe_worth(Moment(lost, 0, stakes), player, rules) == f"{100 * met.mwc(2, 2):.2f} %"


def test_scores_and_results_of_a_match_are_described() -> None:
    session = Session(3, ("You", "it"), MatchScore(4, 4))
    assert describe_score(session) == "game 1 to 4 points: You 0, it 0"
    session.now = Moment(START, 1, session.now.stakes)
    session.resign(3)
    assert describe_ending(session) == "You win a backgammon, 3 points"
    session.begin_next()
    assert describe_score(session) == "game 2 to 4 points: You 3, it 0, Crawford game"
    session.now = Moment(START, 0, session.now.stakes)
    session.resign(1)
    assert describe_ending(session) == "it wins a single game, 1 point"
    session.begin_next()
    assert describe_score(session) == "game 3 to 4 points: You 3, it 1"
    session.now = Moment(START, 0, session.now.stakes, DecisionKind.TURN, rolls=2)
    session.double()
    session.pass_double()
    assert describe_ending(session) == "You win 1 point\nYou win the match 4-1"


@pytest.mark.parametrize(
    ("size", "result"), [(1, "a single game, 1 point"), (2, "a gammon, 2 points"), (3, "a backgammon, 3 points")]
)
@pytest.mark.parametrize(
    ("name", "loser", "winner_text"),
    [("You", 1, "You win"), ("You", 0, "it wins"), ("pubeval", 1, "pubeval wins"), ("pubeval", 0, "it wins")],
)
def test_results_are_described_for_users_and_programs(
    size: int, result: str, name: str, loser: int, winner_text: str
) -> None:
    session = Session(3, (name, "it"))
    session.now = Moment(START, loser)
    session.resign(size)
    assert describe_ending(session) == f"{winner_text} {result}"


@pytest.mark.parametrize(
    ("score", "has_beavers", "options"),
    [
        (None, False, ""),
        (Money(is_jacoby=False), False, " --money"),
        (Money(is_jacoby=True), True, " --money --jacoby --beavers"),
        (MatchScore(5, 5), False, " --match-length 5"),
    ],
)
def test_command_for_the_same_dice_has_the_rules(
    score: MatchScore | Money | None, has_beavers: bool, options: str
) -> None:
    session = Session(3, ("You", "program"), score, has_beavers=has_beavers)
    assert describe_leaving(session).endswith(f"; the same dice again: bgdata play{options} --seed 3")


def test_watched_game_can_be_interrupted(player: LookaheadPlayer, capsys: pytest.CaptureFixture[str]) -> None:
    class InterruptedEngine(Engine):
        def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:  # noqa: ARG002
            raise KeyboardInterrupt

    session = Session(3, ("engine", player.label), Money(is_jacoby=False))
    programs = Program.of(InterruptedEngine(), CubeRules()), Program.of(player, CubeRules())
    watch_session(session, programs, player, lambda: None)
    text = "\nleft after 1 roll; the same dice again: bgdata play --money --seed 3\n"
    assert capsys.readouterr().out.endswith(text)
    assert session.is_left
    assert len(session.record.games[0].turns) == 1
