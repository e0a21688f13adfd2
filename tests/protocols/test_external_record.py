"""Matches against gnubg as its questions tell them: what is certain, what is not, and boards from nowhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bgdata.equity.cube import CubeRules
from bgdata.equity.match_equity import MatchEquity
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.formats.mat import format_mat, parse_mat
from bgdata.formats.matches import Game, Match, TurnKind
from bgdata.formats.replay import replay_file, replay_game
from bgdata.game.dice import parse_roll
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.plays import find_play, legal_plays
from bgdata.game.position import START, Position
from bgdata.protocols.external import Exchange, ExternalRecord, Question, QuestionKind
from tests.oracles import needs_gnubg_tool
from tests.protocols.gnubg_games import play_gnubg
from tests.protocols.test_external import Wild
from tests.protocols.test_fibs import Whims

OPEN_ROLLS = "rolls of root may have been others that lead to the same board"


def after(position: Position, *plays: tuple[str, str]) -> Position:
    """The position after rolls and their plays of both sides in turn."""
    for roll, play in plays:
        position = find_play(play, legal_plays(position, roll)).next_position
    return position


def asked(position: Position, roll: str = "", scores: tuple[int, int] = (0, 0), **others: object) -> Question:
    """A question to the player on roll, for the play of a roll or for a turn, in a match to 3 points."""
    what = QuestionKind.PLAY if roll else QuestionKind.TURN
    stakes = Stakes(MatchScore(3 - scores[0], 3 - scores[1]))
    question = Question(what, ("ann", "root"), 3, scores, position, stakes, parse_roll(roll) if roll else None)
    return replace(question, **others)  # type: ignore[arg-type]


def recorded(*exchanges: tuple[Question, str]) -> ExternalRecord:
    record = ExternalRecord()
    for question, reply in exchanges:
        record.add(Exchange("", reply, question))
    return record


def shown(match: Match) -> list[str]:
    """The turns of the last game, a word each, and its result."""
    game = match.games[-1]
    turns = [f"{turn.player} {''.join(map(str, turn.dice)) if turn.dice else turn.kind.value}" for turn in game.turns]
    return [*turns, *([f"{game.winner} wins {game.points}"] if game.points else [])]


def check_legal(match: Match) -> None:
    """The file that is written is read again as a match without a fault."""
    file = replay_file(parse_mat(b"".join(format_mat(match))))
    assert not file.ledger.quarantined
    assert len(file.matches[0].games) == len(match.games)


FIRST, SECOND = ("31", "8/5 6/5"), ("62", "24/18 13/11")


def test_rolls_are_read_from_boards() -> None:
    """gnubg has rolled 62 between these two; 13/8 is played by 41 and by 32."""
    there = after(START, FIRST, SECOND)
    run = after(there, ("21", "24/23 13/11"), ("41", "13/8"))
    record = recorded((asked(START, "31"), FIRST[1]), (asked(there, "21"), "24/23 13/11"), (asked(run), "roll"))
    (match,) = record.matches
    assert shown(match) == ["0 31", "1 62", "0 21", "1 32"]
    assert match.players == ("ann", "root")
    assert match.info == (("Note", f"game 1: 1 of 2 {OPEN_ROLLS}"),)
    check_legal(match)


def test_who_begins_shows_on_the_board() -> None:
    (match,) = recorded((asked(after(START, FIRST)), "roll")).matches
    assert shown(match) == ["1 31"]
    check_legal(match)


OPENED = (asked(START, "31"), FIRST[1])
THERE = after(START, FIRST, SECOND)


def test_a_double_that_gnubg_passes() -> None:
    record = recorded(OPENED, (asked(THERE), "double"), (asked(START, "31", (1, 0)), FIRST[1]))
    (match,) = record.matches
    first, second = match.games
    assert [turn.kind.value for turn in first.turns[-2:]] == ["double", "pass"]
    assert (first.winner, first.points, second.score, second.winner) == (0, 1, (1, 0), None)
    check_legal(match)


def test_a_double_that_gnubg_takes() -> None:
    cube = Stakes(MatchScore(3, 3), Cube(2, CubeOwner.OPPONENT))
    (match,) = recorded(OPENED, (asked(THERE), "double"), (asked(THERE, "31", stakes=cube), "24/20")).matches
    assert shown(match) == ["0 31", "1 62", "0 double", "1 take", "0 31"]
    check_legal(match)


@pytest.mark.parametrize(("reply", "end"), [("take", ["0 take"]), ("drop", ["0 pass", "1 wins 1"])])
def test_a_double_of_gnubg(reply: str, end: list[str]) -> None:
    doubled = asked(after(START, FIRST), kind=QuestionKind.ANSWER)
    record = recorded(OPENED)
    assert record.add(Exchange("", reply, doubled)) is (reply == "drop")
    assert shown(record.matches[0]) == ["0 31", "1 double", *end]
    check_legal(record.matches[0])


def test_a_game_that_gnubg_wins_while_nobody_is_asked() -> None:
    (match,) = recorded(OPENED, (asked(START, "31", (0, 2)), FIRST[1])).matches
    assert (match.games[0].winner, match.games[0].points, len(match.games)) == (1, 2, 2)
    check_legal(match)


def test_a_game_that_is_won_by_the_last_play() -> None:
    """It is known at once. Its beginning is not: the board is from nowhere."""
    last = Position([0, 1, *[0] * 22, -1, 0])
    (match,) = recorded((asked(last, "31"), "1/off")).matches
    assert shown(match) == ["0 31", "0 wins 1"]
    assert match.info == (("Note", "begun elsewhere: the first turns of game 1 are not here"),)


def test_questions_that_are_asked_again() -> None:
    """After an error, or when somebody went back: the last answer counts."""
    play = asked(THERE, "31")
    (match,) = recorded(OPENED, (play, "24/20"), (play, "8/5 6/5")).matches
    assert shown(match) == ["0 31", "1 62", "0 31"]
    assert [move[:2] for move in match.games[0].turns[-1].checker_moves] == [(8, 5), (6, 5)]
    doubled = asked(after(START, FIRST), kind=QuestionKind.ANSWER)
    (match,) = recorded(OPENED, (doubled, "drop"), (doubled, "take")).matches
    assert shown(match) == ["0 31", "1 double", "0 take"]
    (match,) = recorded(OPENED, (play, "24/20"), (asked(THERE), "roll")).matches
    assert shown(match) == ["0 31", "1 62"]


@pytest.mark.parametrize("again", [asked(START, "31"), replace(OPENED[0], length=5), asked(START, "42")])
def test_another_match(again: Question) -> None:
    """It begins anew where nothing has been won; of another length; and after one that has ended."""
    record = recorded(OPENED, (asked(THERE, "31"), "24/20"), (again, str(legal_plays(START, again.roll or "31")[0])))
    assert [[len(game.turns) for game in match.games] for match in record.matches] == [[3], [1]]
    for match in record.matches:
        check_legal(match)


def test_the_jacoby_rule_is_written() -> None:
    """gnubg does not say it; whoever listens knows."""
    for is_jacoby in (False, True):
        question = asked(START, "31", length=0, stakes=Stakes(Money(is_jacoby)))
        (match,) = recorded((question, FIRST[1])).matches
        assert match.is_jacoby == is_jacoby
        (read,) = parse_mat(b"".join(format_mat(match))).matches
        assert read.is_jacoby == is_jacoby


def test_scores_that_fall() -> None:
    record = recorded(OPENED, (asked(START, "31", (0, 2)), FIRST[1]), OPENED)
    assert [[game.score for game in match.games] for match in record.matches] == [[(0, 0), (0, 2)], [(0, 0)]]


def test_names_that_a_file_cannot_hold() -> None:
    """They come from another program: none of them may end the games."""
    for name in ("", ";", "a : 0", "x" * 400, "Wins 3 points"):
        (match,) = recorded((asked(START, "31", players=(name, name)), FIRST[1])).matches
        check_legal(match)


# real games


def acts(match: Match, game: Game, first: int = 0) -> list[tuple[int, TurnKind, str]]:
    """Who did what, and the board after it: rolls are not compared, nor takes that files leave out. `first` is the side
    that counts as 0."""
    return [
        (turn.turn.player ^ first, turn.turn.kind, (turn.play.next_position if turn.play else turn.position).id)
        for turn in replay_game(match, game).turns
        if turn.turn.kind in (TurnKind.PLAY, TurnKind.DOUBLE, TurnKind.BEAVER, TurnKind.PASS)
    ]


def check_same_games(ours: Match, theirs: Match, side: int) -> None:
    """gnubg's own record of its `side` has the same acts, and no more than one roll after them; and the same results,
    but the last may be missing."""
    check_legal(ours)
    assert len(ours.games) == len(theirs.games)
    for game, other in zip(ours.games, theirs.games, strict=True):
        found, expected = acts(ours, game), acts(theirs, other, side)
        assert found == expected[: len(found)]
        assert len(expected) - len(found) <= 1
        if game.winner is not None:
            assert (game.winner ^ side, game.points) == (other.winner, other.points)
    assert all(game.winner is not None for game in ours.games[:-1])


@needs_gnubg_tool("gnubg")
@pytest.mark.slow
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("length", [0, 5])
def test_gnubg_has_recorded_the_same(side: int, length: int, met: MatchEquity, tmp_path: Path) -> None:
    """With cubes of all kinds, and a player without sense, whose games are long and wild."""
    wild = Wild(LookaheadPlayer(Whims()), CubeRules(met=met))
    played = play_gnubg(wild, tmp_path, side=side, length=length, games=6, seed=3)
    record = ExternalRecord()
    for exchange in played.exchanges:
        record.add(exchange)
    (ours,) = record.matches
    check_same_games(ours, played.match, side)
