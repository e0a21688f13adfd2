"""Programs as sides of a session, and sessions to watch between two programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click
import numpy as np

from bgdata.game.classes import game_outcome
from bgdata.game.dice import Roll
from bgdata.game.match import MatchScore
from bgdata.game.plays import Play, legal_plays
from bgdata.game.position import Position
from bgdata.process import continue_after_signal
from bgdata.protocols.session import DecisionKind, Moment, Session

if TYPE_CHECKING:
    from bgdata.equity.cube import CubeRules
    from bgdata.evaluation.lookahead_player import LookaheadPlayer
    from bgdata.evaluation.player import Player
    from bgdata.protocols.decisions import Decisions

_KINDS = ("", " a single game,", " a gammon,", " a backgammon,")


@dataclass(frozen=True)
class Program:
    """A player that plays one side of a session. It decides about the cube by its own chances; networks and ONNX files
    also choose plays by cubeful equity."""

    player: Player
    decisions: Decisions | None = None  # decisions about the cube; None without the cube

    @staticmethod
    def of(player: Player, rules: CubeRules | None) -> Program:
        """Return a program that plays by `player`, with cube decisions if `rules` are given. Raises UsageError if the
        player cannot evaluate positions, which cube decisions need."""
        from bgdata.evaluation.lookahead_player import LookaheadPlayer
        from bgdata.evaluation.player import as_evaluator
        from bgdata.protocols.decisions import Decisions

        if rules is None:
            return Program(player)
        judge = player if isinstance(player, LookaheadPlayer) else LookaheadPlayer(as_evaluator(player.label, player))
        return Program(player, Decisions(judge, rules))

    @property
    def label(self) -> str:
        """The name of the player."""
        return self.player.label

    def play(self, session: Session) -> Play:
        """Return the play that the program chooses for the session's roll."""
        now = session.now
        if self.decisions and now.stakes and self.decisions.player is self.player:
            return self.decisions.play(now.position, session.roll, now.stakes)
        return chosen_play(self.player, now.position, session.roll, session.game, now.rolls)

    def act(self, session: Session) -> str:
        """Make the program's next decision in a session. Returns the line to print, empty if the program rolls without
        doubling."""
        now = session.now
        if now.kind is DecisionKind.PLAY:
            roll, play = session.roll, self.play(session)
            session.make(play)
            return f"rolls {roll}: {play}"
        assert self.decisions
        assert now.stakes
        if now.kind is DecisionKind.TURN:
            if not self.decisions.doubles(now.position, now.stakes):
                session.roll_dice()
                return ""
            session.double()
            return f"doubles to {2 * now.stakes.cube.value}"
        answer = self.decisions.answer(now.position, now.stakes, by_roller=now.kind is DecisionKind.BEAVER)
        if answer == "pass":
            session.pass_double()
            return "passes"
        if answer == "beaver" and session.may_beaver:
            session.beaver()
            return f"beavers to {4 * now.stakes.cube.value}"
        session.take()
        return "takes"


def watch_session(
    session: Session, programs: tuple[Program, Program], player: LookaheadPlayer, keep: Callable[[], object]
) -> None:
    """Play a session between two programs to its end, and print every act. After each play, print the value of the
    position to the second program, which plays O. `keep` is called between games."""
    other, own = programs
    unit = "mwc" if session.record.length else "equity"
    click.echo(f"{other.label} is X, {own.label} is O; the dice are those of seed {session.seed}.\n")
    with leave_on_interrupt(session):
        while True:
            if session.record.length:
                click.echo(describe_score(session))
            click.echo(f"{'':>4} {'':<18}{'':<4}{'play':<26}{unit} of {own.label}")
            while not session.ending:
                program, number = programs[session.now.side], session.now.rolls + 1
                if session.now.kind is not DecisionKind.PLAY:
                    if text := program.act(session):
                        click.echo(f"{'':>3}  {program.label:<18}{text}")
                    continue
                roll, play = session.roll, program.play(session)
                session.make(play)
                worth = describe_worth(session.now, player, program.decisions.rules if program.decisions else None)
                click.echo(f"{number:>3}  {program.label:<18}{roll}: {play!s:<26}{worth}")
            click.echo("\n" + describe_ending(session))
            if session.is_over:
                return
            click.echo()
            keep()
            session.begin_next()


@contextmanager
def leave_on_interrupt(session: Session) -> Iterator[None]:
    """Catch Ctrl-C in the `with` block, and print where the session was left."""
    try:
        yield
    except KeyboardInterrupt:
        continue_after_signal()
        session.is_left = True
        click.echo()
    if session.is_left:
        click.echo(describe_leaving(session))


def describe_worth(now: Moment, player: LookaheadPlayer, rules: CubeRules | None) -> str:
    """Return the value of the position to side 1 as text, by the chances of a player: points per unit cube, or mwc in a
    match."""
    stakes, sign = now.stakes, 1 if now.on_roll else -1
    if stakes is None or rules is None:
        return f"{sign * player.evaluate(now.position).cubeless_equity:+.3f}"
    outcome = game_outcome(now.position)
    if not outcome:
        value = player.decide_cube(now.position, stakes, rules).equity
    elif isinstance(stakes.score, MatchScore):
        assert rules.met
        value = rules.met.after(stakes.score, stakes.points(outcome))
    else:
        value = stakes.points(outcome) / stakes.cube.value
    if isinstance(stakes.score, MatchScore):
        return f"{100 * (value if now.on_roll else 1 - value):.2f} %"
    return f"{sign * value:+.3f}"


def chosen_play(player: Player, position: Position, roll: Roll, game: int = 0, turn: int = 0) -> Play:
    """Return the play that a player chooses for a roll. The choices of a random player also depend on game and turn."""
    from bgdata.kernel import threads
    from bgdata.selfplay.games import checked_choices

    boards, rolls = np.array([position.board], np.int8), np.array([(roll.high, roll.low)], np.int8)
    with threads(1):  # as `lookahead_player.threads_for` does
        chosen = tuple(checked_choices(player, boards, rolls, np.array([game]), turn)[0].tolist())
    return next(play for play in legal_plays(position, roll) if play.next_position.board == chosen)


def describe_score(session: Session) -> str:
    """Return the number of the game and the score as text, such as `game 2: You 1, network-0ply 2, Crawford game`."""
    scores = ", ".join(f"{name} {points}" for name, points in zip(session.players, session.points, strict=True))
    is_crawford = isinstance(session.score, MatchScore) and session.score.is_crawford
    return f"game {session.game} to {session.record.length} points: {scores}" + ", Crawford game" * is_crawford


def describe_ending(session: Session) -> str:
    """Return how the game ended, as text, such as `You win a gammon, 2 points`, and the winner of the match if it is
    over."""
    assert session.ending
    winner, size, points = session.ending
    who = session.players[winner]
    verb = "win" if who == "You" else "wins"
    text = f"{who} {verb}{_KINDS[size]} {points} point{'s' * (points != 1)}"
    if session.is_over and session.record.length:
        text += f"\n{who} {verb} the match {session.points[winner]}-{session.points[1 - winner]}"
    return text


def describe_leaving(session: Session) -> str:
    """Return a line of text that says where a session was left, and which command gives the same dice."""
    count, length = session.now.rolls, session.record.length
    where = f"left game {session.game} after" if length else "left after"
    option = f" --match-length {length}" if length else " --money" if session.score else ""
    option += " --jacoby" * session.record.match.is_jacoby + " --beavers" * session.has_beavers
    rolls = f"{count} roll{'s' * (count != 1)}"
    return f"{where} {rolls}; the same dice again: bgdata play{option} --seed {session.seed}"
