"""`bgdata play`: a game in the terminal, against the player or to watch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import click
import numpy as np

from bgdata.commands.evaluate import describe_plays
from bgdata.errors import BgdataError
from bgdata.evaluation.mapped_player import MappedPlayer
from bgdata.evaluation.player import Player
from bgdata.formats.board_text import format_board_text
from bgdata.game.dice import Roll, roll_of
from bgdata.game.outcome import game_outcome
from bgdata.game.plays import Play, find_play, legal_plays
from bgdata.game.position import START, Position
from bgdata.game.random import random_stream
from bgdata.play.games import dice_at

HELP = """\
  8/5 6/5   your play; moves in any order, bar/22, 6/off, 13/7(2)
  hint      the best plays        undo   back to your last decision
  board     the board again       quit   leave the game"""
_KINDS = ("", "a single game", "a gammon", "a backgammon")


class Quit(Exception):
    """The person leaves the game."""


@dataclass
class Game:
    """A game from the first roll on; turn t has the dice of (seed, t), so undoing a play does not change them."""

    seed: int
    position: Position = START  # seen by who is on roll
    turn: int = 0
    yours: bool = True  # whether you are on roll
    decisions: list[tuple[Position, int]] = field(default_factory=list)  # of yours, to go back to

    def __post_init__(self) -> None:
        first, second = self.dice()
        self.yours = first > second

    def dice(self) -> tuple[int, int]:
        """The dice of this turn, as rolled; those of turn 0 are one of each side, yours first, and differ."""
        return dice_at(np.uint64(random_stream(self.seed, 0)), self.turn)

    @property
    def roll(self) -> Roll:
        """The roll of this turn."""
        return roll_of(*self.dice())

    def make(self, play: Play) -> None:
        """Play, and turn the board to the other side."""
        self.position, self.turn, self.yours = play.next_position, self.turn + 1, not self.yours

    def undo(self) -> bool:
        """Go back to your last decision before this one, if there is one."""
        if self.decisions:
            self.position, self.turn = self.decisions.pop()
            self.yours = True
            return True
        return False

    @property
    def points(self) -> int:
        """Points that you have won, or lost below 0; 0 while the game goes on."""
        outcome = game_outcome(self.position)
        return outcome if self.yours else -outcome


def play_game(player: MappedPlayer, seed: int, ask: Callable[[str], str]) -> None:
    """A game of a person, whose answers `ask` gets, against the player."""
    game = Game(seed)
    click.echo(f"You are X; {player.label} is O. The game has seed {seed}.\n{HELP}\n")
    try:
        while not game.points:
            if game.yours:
                take_turn(game, player, ask)
            else:
                roll, play = game.roll, player.best_play(game.position, game.roll).play
                click.echo(f"{player.label} rolls {roll}: {play}")
                game.make(play)
    except Quit:
        click.echo(f"left after {game.turn} rolls; the same game again: bgdata play --seed {seed}")
        return
    click.echo(describe_result(game.points, "You", player.label))


def take_turn(game: Game, player: MappedPlayer, ask: Callable[[str], str]) -> None:
    """One turn of the person: until he plays, or goes back."""
    roll = game.roll
    plays = legal_plays(game.position, roll)
    click.echo("\n" + format_board_text(game.position, roll=roll))
    if len(plays) == 1:
        click.echo(f"You roll {roll}: {plays[0]} is the only play")
        game.make(plays[0])
        return
    while True:
        answer = ask(f"You roll {roll}: ").strip().lower()
        if answer in ("quit", "q", "exit"):
            raise Quit
        if answer in ("hint", "h"):
            click.echo(describe_plays(player.rank_plays(game.position, roll), 5))
        elif answer in ("board", "b"):
            click.echo(format_board_text(game.position, roll=roll))
        elif answer in ("undo", "u"):
            if game.undo():
                return
            click.echo("nothing to take back yet")
        elif answer in ("help", "?", ""):
            click.echo(HELP)
        else:
            try:
                play = find_play(answer, plays)
            except BgdataError as error:
                click.echo(f"{error}")
                continue
            game.decisions.append((game.position, game.turn))
            game.make(play)
            return


def watch_game(player: MappedPlayer, other: Player, seed: int) -> None:
    """A whole game of the player (O) against another one (X), every play on a line."""
    game = Game(seed)
    names = {True: other.label, False: player.label}
    while not game.points:
        name, roll = names[game.yours], game.roll
        side = other if game.yours else player
        board = np.array([game.position.board], np.int8)
        chosen = side.choose_plays(board, np.array([(roll.high, roll.low)], np.int8))[0]
        play = next(p for p in legal_plays(game.position, roll) if p.next_position.board == tuple(chosen.tolist()))
        value = player.evaluate(play.next_position).cubeless_equity
        equity = value if game.yours else -value  # of the player, whoever moved
        click.echo(f"{game.turn + 1:>3}  {name:<18}{roll}: {play!s:<26}{player.label} {equity:+.3f}")
        game.make(play)
    click.echo(describe_result(game.points, other.label, player.label))


def describe_result(points: int, you: str, other: str) -> str:
    """`You win a gammon, 2 points`."""
    winner, verb = (you, "win" if you == "You" else "wins") if points > 0 else (other, "wins")
    return f"{winner} {verb} {_KINDS[abs(points)]}, {abs(points)} point{'s' * (abs(points) > 1)}"
