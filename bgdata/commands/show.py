"""`bgdata show`: a position drawn, named in every format, and with the plays of a roll."""

from __future__ import annotations

from pathlib import Path

import click

from bgdata.game.board_svg import format_board_svg
from bgdata.game.board_text import format_board_text
from bgdata.game.classes import position_class
from bgdata.game.dice import parse_roll
from bgdata.game.identifiers import identify, parse_identifier
from bgdata.game.outcome import check_occurs
from bgdata.game.plays import legal_plays, parse_play
from bgdata.store.storage import write_file


def show_position(text: str, roll_text: str | None, play_text: str | None, svg: Path | None) -> None:
    """Print a position, its identifiers and class, and the legal plays where a roll is given; draw it into a file, a
    play with arrows.

    Raises InvalidPositionError, InvalidRollError, IllegalPlayError or StorageError.
    """
    position, match = parse_identifier(text)
    check_occurs(position)
    roll = parse_roll(roll_text) if roll_text else match.roll if match else None
    play = parse_play(play_text, position, roll) if play_text else None
    stakes = match.stakes if match else None
    click.echo(format_board_text(position, roll=roll, stakes=stakes, with_id=False))
    click.echo(f"\n{'class':<12} {position_class(position).name.lower().replace('_', ' ')}")
    for name, identifier in identify(position, match).items():
        click.echo(f"{name:<12} {identifier}")
    if play:
        click.echo(f"\nafter {play}, seen by the opponent: {play.next_position.id}")
    elif roll:
        plays = legal_plays(position, roll)
        click.echo(f"\n{len(plays)} plays of {roll}")
        for play in plays:
            click.echo(f"  {play!s:<24} {play.next_position.id}")
    if svg:
        write_file(svg, format_board_svg(position, roll=roll, play=play, stakes=stakes).encode())
        click.echo(f"\nwrote {svg}")
