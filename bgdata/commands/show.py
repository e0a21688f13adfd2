"""`bgdata show`: a position drawn, named in every format, and with the plays of a roll."""

from __future__ import annotations

from pathlib import Path

import click

from bgdata.commands.rows import write_rows
from bgdata.game.board_svg import format_board_svg
from bgdata.game.board_text import format_board_text
from bgdata.game.classes import position_class
from bgdata.game.dice import parse_roll
from bgdata.game.identifiers import identify, parse_identifier
from bgdata.game.outcome import check_occurs
from bgdata.game.plays import legal_plays, parse_play
from bgdata.store.storage import write_file


def show_position(
    text: str, roll_text: str | None, play_text: str | None, svg: Path | None, form: str = "table"
) -> None:
    """Print a position, its identifiers and class, and the legal plays where a roll is given; draw it into a file, a
    play with arrows.

    As data it is one row, or with a roll a row a play, that of a play given alone. Raises InvalidPositionError,
    InvalidRollError, IllegalPlayError or StorageError.
    """
    position, match = parse_identifier(text)
    check_occurs(position)
    roll = parse_roll(roll_text) if roll_text else match.roll if match else None
    play = parse_play(play_text, position, roll) if play_text else None
    stakes = match.stakes if match else None
    plays = [play] if play else legal_plays(position, roll) if roll else []
    facts = {"class": position_class(position).name.lower(), **identify(position, match)}
    if form == "table":
        click.echo(format_board_text(position, roll=roll, stakes=stakes, with_id=False) + "\n")
        for name, value in facts.items():
            click.echo(f"{name:<12} {value.replace('_', ' ') if name == 'class' else value}")
        if play:
            click.echo(f"\nafter {play}, seen by the opponent: {play.next_position.id}")
        elif roll:
            click.echo(f"\n{len(plays)} plays of {roll}")
            for each in plays:
                click.echo(f"  {each!s:<24} {each.next_position.id}")
    else:
        facts_and_pips: dict[str, object] = facts | {"pip_count": position.pip_count}
        rows = ({"roll": str(roll), "play": str(each), "next_position_id": each.next_position.id} for each in plays)
        write_rows([facts_and_pips | row for row in rows] or [facts_and_pips], form)
    if svg:
        write_file(svg, format_board_svg(position, roll=roll, play=play, stakes=stakes).encode())
        click.echo(f"wrote {svg}", err=True)
