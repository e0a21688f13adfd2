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
from bgdata.game.plays import legal_plays
from bgdata.store.storage import write_file


def show_position(text: str, roll_text: str | None, svg: Path | None, form: str = "table") -> None:
    """Print a position, its identifiers and class, and the legal plays where a roll is given; draw it into a file.

    As data it is one row, or with a roll a row a play. Raises InvalidPositionError, InvalidRollError or StorageError.
    """
    position, match = parse_identifier(text)
    roll = parse_roll(roll_text) if roll_text else match.roll if match else None
    stakes = match.stakes if match else None
    plays = legal_plays(position, roll) if roll else []
    facts = {"class": position_class(position).name.lower(), **identify(position, match)}
    if form == "table":
        click.echo(format_board_text(position, roll=roll, stakes=stakes, with_id=False) + "\n")
        for name, value in facts.items():
            click.echo(f"{name:<12} {value.replace('_', ' ') if name == 'class' else value}")
        if roll:
            click.echo(f"\n{len(plays)} plays of {roll}")
            for play in plays:
                click.echo(f"  {play!s:<24} {play.next_position.id}")
    else:
        facts_and_pips: dict[str, object] = facts | {"pip_count": position.pip_count}
        rows = ({"roll": str(roll), "play": str(play), "next_position_id": play.next_position.id} for play in plays)
        write_rows([facts_and_pips | row for row in rows] or [facts_and_pips], form)
    if svg:
        write_file(svg, format_board_svg(position, roll=roll, stakes=stakes).encode())
        click.echo(f"wrote {svg}", err=True)
