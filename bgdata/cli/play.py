"""`bgdata play`: a game in the terminal, against the player or to watch.

Answers may come from a file or a pipe: they are echoed as if they had been typed, and the game is left at their end.
"""

from __future__ import annotations

import secrets
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from bgdata.cli.completion import complete_players
from bgdata.cli.options import OUTPUT, player_options, seed_option
from bgdata.cli.own_tables import open_player
from bgdata.cli.positions import describe_plays
from bgdata.formats import matches
from bgdata.formats.lines import write_bytes
from bgdata.formats.mat import format_mat
from bgdata.game.board_text import format_board_text
from bgdata.game.dice import Roll, roll_of
from bgdata.game.outcome import game_outcome
from bgdata.game.plays import Play, Verdict, judge_play, legal_plays
from bgdata.game.position import START, Position
from bgdata.process import go_on
from bgdata.warehouse import Warehouse

if TYPE_CHECKING:
    from bgdata.evaluation.lookahead_player import LookaheadPlayer
    from bgdata.evaluation.player import Player


@click.command()
@player_options
@seed_option(None, "another game each time")
@click.option(
    "--watch",
    metavar="PLAYER",
    shell_complete=complete_players,
    help="Watch PLAYER play your side: random, pubeval, an installed gnubg or bgsage, or a file NAME.onnx.",
)
@click.option("--save", type=OUTPUT, metavar="FILE", help="Write the game as a .mat file, for `bgdata luck`.")
@click.pass_obj
def play(warehouse: Warehouse, network: str, ply: int, seed: int | None, watch: str | None, save: Path | None) -> None:
    """Play a game in the terminal, or watch one.

    Type your play as in "8/5 6/5", "bar/22 13/10" or "6/off(2)", or one of the commands hint, undo, board, help and
    quit.

    \b
      bgdata play --ply 1
      bgdata play --watch pubeval --seed 3 --save game.mat
    """
    from bgdata.evaluation.player import open_named_player

    player = open_player(warehouse, network, ply)
    chosen = secrets.randbelow(1 << 31) if seed is None else seed
    if watch:
        other = open_named_player(watch)
        game, name = watch_game(player, other, chosen), other.label
    else:
        game, name = play_game(player, chosen), "You"
    if save:
        save_game(game, name, player.label, save)


HELP = """\
  8/5 6/5   your play; moves in any order, bar/22, 6/off, 13/7(2)
  hint      the best plays        undo   back to your last decision
  board     the board again       quit   leave the game"""
_KINDS = ("", "a single game", "a gammon", "a backgammon")


@dataclass
class InteractiveGame:
    """A game from its first roll. Turn t always has the dice of (seed, t), so undoing a play does not change the
    dice."""

    seed: int
    position: Position = START  # seen by who is on roll
    turn: int = 0
    yours: bool = True  # whether you are on roll
    decisions: list[tuple[Position, int]] = field(default_factory=list)  # of yours, to go back to
    plays: list[Play] = field(default_factory=list)  # of every turn so far
    is_left: bool = False  # whether you went away

    def __post_init__(self) -> None:
        first, second = self.dice()
        self.yours = first > second

    def dice(self) -> tuple[int, int]:
        """The dice of this turn, as rolled. Those of turn 0 are one of each side, yours first, and differ."""
        from bgdata.game.random import random_stream
        from bgdata.play.games import dice_at

        return dice_at(np.uint64(random_stream(self.seed, 0)), self.turn)

    @property
    def roll(self) -> Roll:
        """The roll of this turn."""
        return roll_of(*self.dice())

    def make(self, play: Play) -> None:
        """Make a play, and turn the board to the other side."""
        self.plays.append(play)
        self.position, self.turn, self.yours = play.next_position, self.turn + 1, not self.yours

    def undo(self) -> bool:
        """Go back to your previous decision, if there is one."""
        if self.decisions:
            self.position, self.turn = self.decisions.pop()
            del self.plays[self.turn :]
            self.yours = True
            return True
        return False

    @property
    def points(self) -> int:
        """Points that you have won, negative if you have lost; 0 while the game goes on."""
        outcome = game_outcome(self.position)
        return outcome if self.yours else -outcome


def ask(prompt: str) -> str:
    """What the user answers; `quit` at the end of the input."""
    if sys.stdin.isatty():
        try:
            return input(prompt)
        except EOFError:
            click.echo()
            return "quit"
    answer = sys.stdin.readline()
    click.echo(prompt + (answer.rstrip("\n") if answer else "quit"))
    return answer or "quit"


def play_game(player: LookaheadPlayer, seed: int, ask: Callable[[str], str] = ask) -> InteractiveGame:
    """A game between the user, whose answers `ask` returns, and the player."""
    game = InteractiveGame(seed)
    click.echo(f"You are X, {player.label} is O; the dice are those of seed {seed}.\n{HELP}\n")
    try:
        while not game.points and not game.is_left:
            if game.yours:
                take_turn(game, player, ask)
            else:
                play = player.best_play(game.position, game.roll).play
                click.echo(f"{player.label} rolls {game.roll}: {play}")
                game.make(play)
    except KeyboardInterrupt:
        go_on()
        game.is_left = True
        click.echo()
    if game.is_left:
        rolls = f"{game.turn} roll{'s' * (game.turn != 1)}"
        click.echo(f"left after {rolls}; the same dice again: bgdata play --seed {seed}")
    else:
        click.echo("\n" + describe_result(game.points, "You", player.label))
    return game


def take_turn(game: InteractiveGame, player: LookaheadPlayer, ask: Callable[[str], str]) -> None:
    """One turn of the user, up to a play, an undo, or quitting."""
    roll, turn = game.roll, game.turn
    plays = legal_plays(game.position, roll)
    click.echo("\n" + format_board_text(game.position, roll=roll) + "\n")
    if len(plays) == 1:
        click.echo(f"You roll {roll}: {plays[0]}" + (" is the only play" if plays[0].moves else ""))
        game.make(plays[0])
    while game.turn == turn and not game.is_left:
        answer_to(ask(f"You roll {roll}: ").strip().lower(), game, player)


def answer_to(answer: str, game: InteractiveGame, player: LookaheadPlayer) -> None:
    """Carry out what the user typed: one of the plays of this turn, or a command."""
    if answer in ("quit", "q", "exit"):
        game.is_left = True
    elif answer in ("hint", "h"):
        click.echo(describe_plays(player.rank_plays(game.position, game.roll), 5))
    elif answer in ("board", "b"):
        click.echo(format_board_text(game.position, roll=game.roll))
    elif answer in ("undo", "u"):
        if not game.undo():
            click.echo("nothing to take back yet")
    elif answer in ("help", "?", ""):
        click.echo(HELP)
    else:
        verdict = judge_play(answer, game.position, game.roll)
        if verdict.play is None:
            click.echo(describe_illegal(verdict, game.roll))
            return
        game.decisions.append((game.position, game.turn))
        game.make(verdict.play)


def describe_illegal(verdict: Verdict, roll: Roll) -> str:
    """What is wrong with a play, and all that could be played, as lines of text."""
    plays = [str(play).replace(" ", "\N{NO-BREAK SPACE}") for play in verdict.legal_plays]  # lines end between plays
    listed = f"{len(plays)} legal plays of {roll}: {', '.join(plays)}"
    lines = textwrap.fill(listed, 100, subsequent_indent="  ", break_on_hyphens=False)
    return f"{verdict}\n{lines}".replace("\N{NO-BREAK SPACE}", " ")


def watch_game(player: LookaheadPlayer, other: Player, seed: int) -> InteractiveGame:
    """A whole game of the player (O) against another one (X): prints every play, and the equity of the player after
    it."""
    game = InteractiveGame(seed)
    click.echo(f"{other.label} is X, {player.label} is O; the dice are those of seed {seed}.\n")
    click.echo(f"{'':>4} {'':<18}{'':<4}{'play':<26}equity of {player.label}")
    while not game.points:
        side = other if game.yours else player
        play = chosen_play(side, game.position, game.roll)
        value = player.evaluate(play.next_position).cubeless_equity
        equity = value if game.yours else -value
        click.echo(f"{game.turn + 1:>3}  {side.label:<18}{game.roll}: {play!s:<26}{equity:+.3f}")
        game.make(play)
    click.echo("\n" + describe_result(game.points, other.label, player.label))
    return game


def save_game(game: InteractiveGame, you: str, other: str, output: Path) -> None:
    """Write a game as a .mat file, with your plays in the left column; a game that was left has no result. Raises
    StorageError."""
    from bgdata.game.random import random_stream
    from bgdata.play.games import dice_at

    first = int(game.yours != (game.turn % 2 == 0))  # 1 where the other side began
    turns = tuple(
        matches.Turn(
            (first + turn) % 2,
            matches.TurnKind.PLAY,
            dice_at(np.uint64(random_stream(game.seed, 0)), turn),
            tuple(matches.RecordedMove(*move) for move in play.moves),
        )
        for turn, play in enumerate(game.plays)
    )
    points = game.points
    winner = None if not points else int(points < 0)
    recorded = matches.Game(1, (0, 0), turns, winner, abs(points) or None)
    write_bytes(output, format_mat(matches.Match((you, other), 0, (recorded,))))


def chosen_play(player: Player, position: Position, roll: Roll) -> Play:
    """The play that a player chooses for a roll."""
    from bgdata.kernel import threads

    boards, rolls = np.array([position.board], np.int8), np.array([(roll.high, roll.low)], np.int8)
    with threads(1):  # as in `mapped_player.threads_for`
        chosen = tuple(player.choose_plays(boards, rolls)[0].tolist())
    return next(play for play in legal_plays(position, roll) if play.next_position.board == chosen)


def describe_result(points: int, you: str, other: str) -> str:
    """`You win a gammon, 2 points`."""
    winner, verb = (you, "win" if you == "You" else "wins") if points > 0 else (other, "wins")
    return f"{winner} {verb} {_KINDS[abs(points)]}, {abs(points)} point{'s' * (abs(points) > 1)}"
