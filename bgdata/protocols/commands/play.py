"""`bgdata play`: games in the terminal, to play against the program or to watch, with or without the cube.

Answers may come from a file or a pipe. They are echoed as if they were typed, and the end of the input leaves the game.
"""

from __future__ import annotations

import secrets
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bgdata.cli.completion import complete_players
from bgdata.cli.defaults import find_met_or_file, open_player
from bgdata.cli.options import (
    OUTPUT,
    beavers_option,
    jacoby_option,
    match_length_option,
    met_option,
    player_options,
    seed_option,
)
from bgdata.cli.output import ask
from bgdata.errors import UsageError, cite
from bgdata.evaluation.commands.positions import describe_decision, describe_plays
from bgdata.evaluation.rows import ranked_rows
from bgdata.game.board_text import format_board_text
from bgdata.game.match import MatchScore, Money
from bgdata.game.plays import judge_play, legal_plays
from bgdata.process import when_cut_off
from bgdata.protocols.commands.external import check_writable, save_matches, write_matches
from bgdata.protocols.commands.watch import Program, describe_ending, describe_score, leave_on_interrupt, watch_session
from bgdata.protocols.session import DecisionKind, Session
from bgdata.warehouse import Warehouse

if TYPE_CHECKING:
    from bgdata.equity.cube import CubeRules
    from bgdata.evaluation.lookahead_player import LookaheadPlayer


@click.command()
@click.option("--money", is_flag=True, help="Play a money game with the cube.")
@match_length_option("a single game without the cube")
@jacoby_option
@beavers_option
@met_option
@player_options
@seed_option(None, "another game each time")
@click.option(
    "--watch",
    metavar="PLAYER",
    shell_complete=complete_players,
    help="Watch PLAYER play your side: random, pubeval, an installed gnubg or bgsage, or a file NAME.onnx.",
)
@click.option(
    "--save",
    type=OUTPUT,
    metavar="FILE",
    help="Write what is played as a .mat file, for `bgdata analyze` and `bgdata luck`.",
)
@click.pass_obj
def play(
    warehouse: Warehouse,
    /,
    network: str,
    ply: int,
    seed: int | None,
    watch: str | None,
    save: Path | None,
    **options: Any,
) -> None:
    """Play a game in the terminal, or watch one.

    Type your play, such as "8/5 6/5", "bar/22 13/10" or "6/off(2)", or one of the commands hint, undo, board, help and
    quit. Money games and matches have the cube and also the commands double, take, pass, beaver and resign; the program
    then chooses plays and cube actions by cubeful equity at the score. A PLAYER watched with the cube must evaluate
    positions, which random and pubeval cannot do.

    \b
      bgdata play --ply 1
      bgdata play --match-length 5 --save match.mat
      bgdata play --money --jacoby --beavers
      bgdata play --watch pubeval --seed 3 --save game.mat
    """
    from bgdata.evaluation.player import open_named_player

    score = chosen_score(options)
    if save:
        check_writable(save)
    player = open_player(warehouse, network, ply)
    rules = rules_for(warehouse, score, options) if score else None
    program, other = Program.of(player, rules), Program.of(open_named_player(watch), rules) if watch else None
    names = other.label if other else "You", program.label
    chosen = secrets.randbelow(1 << 31) if seed is None else seed
    session = Session(chosen, names, score, has_beavers=bool(options["beavers"]))
    with save_at_end(session, save) as keep:
        if other:
            watch_session(session, (other, program), player, keep)
        else:
            Dialogue(session, program, player, ask).run(keep)


@contextmanager
def save_at_end(session: Session, path: Path | None) -> Iterator[Callable[[], object]]:
    """Save the session to a file when the `with` block ends, even by an exception. Yields a function that saves the
    session earlier. Raises StorageError if the file cannot be written."""
    if path is None:
        yield lambda: None
        return

    def write() -> None:
        write_matches(path, [session.record.match])

    with when_cut_off(write):
        try:
            yield lambda: save_matches(path, [session.record.match])
        finally:
            write()


def chosen_score(options: Mapping[str, Any]) -> MatchScore | Money | None:
    """Return the score of the match or money session that the options describe; None for a game without the cube.
    Raises UsageError for options that contradict each other."""
    is_money, length = options["money"], options["match_length"]
    if is_money and length:
        raise UsageError("expected one of --money and --match-length, got both")
    for name in (name for name in ("jacoby", "beavers") if options[name]):
        if length:
            raise UsageError(f"expected money play with --{name}, got a match to {length}")
        if not is_money:
            raise UsageError(f"expected --money with --{name}, got none")
    if options["met"] and not length:
        raise UsageError("expected --match-length with --met, got none")
    if length:
        return MatchScore(length, length)
    return Money(bool(options["jacoby"])) if is_money else None


def rules_for(warehouse: Warehouse, score: MatchScore | Money, options: Mapping[str, Any]) -> CubeRules:
    """Return the cube rules for this score, from a command's options. Raises UsageError if the match equity table is
    too short for the match, and the errors of `defaults.find_met_or_file`."""
    from bgdata.equity.cube import CubeRules
    from bgdata.selfplay.series import CubefulRules

    if isinstance(score, Money):
        return CubeRules(has_beavers=bool(options["beavers"]))
    met = find_met_or_file(warehouse, options["met"])
    CubefulRules(score.away, met=met).check_met()
    return CubeRules(met=met)


HELP = """\
  8/5 6/5   your play; moves in any order, bar/22, 6/off, 13/7(2)
  hint      the best plays        undo   back to your last decision
  board     the board again       quit   leave the game"""
CUBE_HELP = """\
  double    offer the cube        roll   roll the dice, as Enter does
  take      take a double         pass   give it up"""
BEAVER_HELP = "  beaver    turn a double back at once, and keep the cube"
RESIGN_HELP = "  resign    a single game; resign gammon, resign backgammon"
_SIZES = {"resign": 1, "resign single": 1, "resign gammon": 2, "resign backgammon": 3}


@dataclass
class Dialogue:
    """A session in the terminal between the user and a program. `ask` returns what the user types; the program's player
    also gives hints."""

    session: Session
    program: Program
    player: LookaheadPlayer
    ask: Callable[[str], str]
    seen: tuple[int, int] | None = None  # game and number of rolls when the board was last shown

    def run(self, keep: Callable[[], object] = lambda: None) -> None:
        """Play until the session ends or the user leaves. `keep` is called between games."""
        session = self.session
        click.echo(f"You are X, {self.program.label} is O; the dice are those of seed {session.seed}.\n{self.help}\n")
        with leave_on_interrupt(session):
            while self.play_game() and not session.is_over:
                click.echo()
                keep()
                session.begin_next()

    def play_game(self) -> bool:
        """Play one game. Returns False if the user left it."""
        session = self.session
        if session.record.length:
            click.echo(describe_score(session))
        while not session.ending and not session.is_left:
            if session.now.side == 0:
                self.take_turn()
            elif text := self.program.act(session):
                click.echo(f"{self.program.label} {text}")
        if session.ending:
            click.echo("\n" + describe_ending(session))
        return not session.is_left

    @property
    def help(self) -> str:
        """A list of the commands that the user can type."""
        if self.session.score is None:
            return HELP
        return "\n".join([HELP, CUBE_HELP, *[BEAVER_HELP] * self.session.has_beavers, RESIGN_HELP])

    @property
    def board(self) -> str:
        """A picture of the board in text, as the user sees it."""
        now = self.session.now
        if now.kind is not DecisionKind.ANSWER or now.stakes is None:
            roll = self.session.roll if now.kind is DecisionKind.PLAY else None
            return format_board_text(now.position, roll=roll, stakes=now.stakes)
        text = format_board_text(now.position.flip(), stakes=now.stakes.flip(), with_id=False)
        return text.replace("X on roll", "X to answer")

    @property
    def prompt(self) -> str:
        """The prompt for the user's next decision."""
        kind = self.session.now.kind
        if kind is DecisionKind.TURN:
            return "Enter to roll, or double: "
        if kind is DecisionKind.PLAY:
            return f"You roll {self.session.roll}: "
        return "Take, pass or beaver: " if self.may_beaver else "Take or pass: "

    @property
    def may_beaver(self) -> bool:
        """Whether the user may beaver now."""
        return self.session.now.kind is DecisionKind.ANSWER and self.session.may_beaver

    def take_turn(self) -> None:
        """Ask the user for a decision, and show the board once per turn. If only one play is legal, make it."""
        session, now = self.session, self.session.now
        if self.seen != (session.game, now.rolls):
            self.seen = (session.game, now.rolls)
            click.echo("\n" + self.board + "\n")
        if now.kind is DecisionKind.PLAY:
            roll = session.roll
            plays = legal_plays(now.position, roll)
            if len(plays) == 1:
                click.echo(f"You roll {roll}: {plays[0]}" + (" is the only play" if plays[0].moves else ""))
                session.make(plays[0])
                return
        self.answer(self.ask(self.prompt).strip().lower())

    def answer(self, text: str) -> None:
        """Execute what the user typed: a command or a play."""
        session = self.session
        if text in ("quit", "q", "exit"):
            session.is_left = True
        elif text in ("hint", "h"):
            click.echo(self.hint())
        elif text in ("board", "b"):
            click.echo(self.board)
        elif text in ("undo", "u"):
            if not session.undo():
                click.echo("nothing to undo yet")
        elif text in ("help", "?") or (not text and session.now.kind is not DecisionKind.TURN):
            click.echo(self.help)
        elif session.score and text.startswith("resign"):
            self.resign(text)
        elif session.now.kind is DecisionKind.PLAY:
            self.make(text)
        elif not self.turn_cube(text):
            wanted = "take or pass" if session.now.kind is not DecisionKind.TURN else "roll or double"
            click.echo(f"expected {wanted}, got {cite(text)}; help lists the commands")

    def make(self, text: str) -> None:
        """Make the play that the user typed, or print why it is illegal."""
        session = self.session
        if session.score and text in ("double", "d"):
            click.echo(f"no double: {session.why_no_double}")
            return
        verdict = judge_play(text, session.now.position, session.roll)
        if verdict.play is None:
            plays = [
                str(play).replace(" ", "\N{NO-BREAK SPACE}") for play in verdict.legal_plays
            ]  # no line breaks inside plays
            listed = f"{len(plays)} legal plays of {session.roll}: {', '.join(plays)}"
            lines = textwrap.fill(listed, 100, subsequent_indent="  ", break_on_hyphens=False)
            click.echo(f"{verdict}\n{lines}".replace("\N{NO-BREAK SPACE}", " "))
            return
        session.keep()
        session.make(verdict.play)

    def turn_cube(self, text: str) -> bool:
        """Execute a cube action or a roll that the user typed. Returns False if it is not possible now."""
        session = self.session
        if session.now.kind is DecisionKind.TURN:
            acts = {"": session.roll_dice, "roll": session.roll_dice, "r": session.roll_dice}
            acts |= {"double": session.double, "d": session.double}
        else:
            acts = {"take": session.take, "t": session.take, "pass": session.pass_double, "p": session.pass_double}
            acts |= {"beaver": session.beaver} if self.may_beaver else {}
        if text not in acts:
            return False
        session.keep()
        acts[text]()
        return True

    def resign(self, text: str) -> None:
        """Offer to resign for the user; the program accepts or refuses."""
        session, now, size = self.session, self.session.now, _SIZES.get(" ".join(text.split()))
        if size is None:
            click.echo(f"expected resign, resign gammon or resign backgammon, got {cite(text)}")
            return
        if now.kind not in (DecisionKind.TURN, DecisionKind.PLAY):
            click.echo("expected take or pass, got resign; pass gives the game up")
            return
        assert self.program.decisions
        assert now.stakes
        roll = session.roll if now.kind is DecisionKind.PLAY else None
        is_accepted = self.program.decisions.accepts(now.position, now.stakes, size, roll)
        click.echo(f"{self.program.label} {'accepts' if is_accepted else 'refuses'}")
        if is_accepted:
            session.resign(size)

    def hint(self) -> str:
        """Return lines of text for the player on roll: the best plays of the roll, or the values of the cube
        actions."""
        now, decisions = self.session.now, self.program.decisions
        if now.stakes is None or decisions is None:
            return self.best_plays()
        rules = decisions.rules_for(now.stakes)
        if now.kind is DecisionKind.PLAY:
            return self.best_plays(now.stakes, rules)
        decision = self.player.decide_cube(now.position, now.stakes, rules)
        if now.kind is DecisionKind.BEAVER:
            value = now.stakes.cube.value
            return f"take {2 * value * decision.no_double:+.4f}, pass {-value:+.4f}, in points"
        return describe_decision(decision, now.stakes, rules)

    def best_plays(self, *stakes_and_rules: Any) -> str:
        """Return lines of text with the five best plays of the roll."""
        position, roll = self.session.now.position, self.session.roll
        ranked = self.player.rank_plays(position, roll, *stakes_and_rules)
        return describe_plays([*ranked_rows(position, roll, ranked[:5])], len(ranked) - 5)
