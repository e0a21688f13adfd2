"""`bgdata show`, `bgdata eval` and `bgdata hint`: a position, its evaluation, and the plays of a roll."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bgdata.cli.options import (
    OUTPUT,
    format_option,
    jacoby_option,
    model_options,
    player_options,
    plays_option,
    score_options,
)
from bgdata.cli.output import say_left_out, show_rows, write_rows
from bgdata.cli.own_tables import open_player
from bgdata.cli.stakes import chosen_rules
from bgdata.errors import UsageError, shown
from bgdata.evaluation.rows.positions import (
    PLAY_CHANCES,
    evaluation_row,
    play_rows,
    position_facts,
    position_rows,
    ranked_rows,
    source_words,
)
from bgdata.evaluation.rows.stakes import chosen_stakes, is_cubeful
from bgdata.game.board_svg import format_board_svg
from bgdata.game.board_text import format_board_text
from bgdata.game.dice import parse_roll
from bgdata.game.identifiers import parse_identifier, unsaid_words
from bgdata.game.outcome import check_in_progress, check_occurs
from bgdata.game.plays import legal_plays, parse_play
from bgdata.rows import CHANCE, COUNT, EQUITY, LOSS, Column, Row, table_lines
from bgdata.store.storage import write_file
from bgdata.warehouse import Warehouse

if TYPE_CHECKING:
    from bgdata.evaluation.lookahead_player import Evaluation


@click.command()
@click.argument("position")
@click.option("--roll", metavar="DICE", help="A roll such as 31, to list its plays.  [default: that of the position]")
@click.option(
    "--play", metavar="MOVES", help="A play such as '8/5 6/5': show the position after it, and arrows in the SVG."
)
@click.option("--svg", type=OUTPUT, metavar="FILE", help="Draw the board as an SVG file.")
@format_option
def show(position: str, roll: str | None, play: str | None, svg: Path | None, form: str) -> None:
    """Draw a POSITION and name it in every format.

    POSITION is a Position ID, gnubg ID, XGID, 20-letter key, 26 integers or start.

    \b
      bgdata show 4HPwATDgc/ABMA
      bgdata show 4HPwATDgc/ABMA --roll 31 --svg opening.svg
    """
    board, match = parse_identifier(position)
    check_occurs(board)
    dice = parse_roll(roll) if roll else match.roll if match else None
    chosen = parse_play(play, board, dice) if play else None
    stakes = match.stakes if match else None
    plays = [chosen] if chosen else legal_plays(board, dice) if dice else []
    if form != "table":
        write_rows(position_rows(board, match, dice, plays), form)
    else:
        click.echo(format_board_text(board, roll=dice, stakes=stakes, with_id=False) + "\n")
        for name, value in position_facts(board, match).items():
            click.echo(f"{name:<12} {value.replace('_', ' ') if name == 'class' else value}")
        if chosen:
            click.echo(f"\nafter {chosen}, seen by the opponent: {chosen.next_position.id}")
        elif dice:
            click.echo(f"\n{len(plays)} plays of {dice}")
            for each in plays:
                click.echo(f"  {each!s:<24} {each.next_position.id}")
    if unsaid := unsaid_words(match):
        click.echo(unsaid, err=True)
    if svg:
        write_file(svg, format_board_svg(board, roll=dice, play=chosen, stakes=stakes).encode())
        click.echo(f"wrote {svg}", err=True)


@click.command(name="eval")
@click.argument("position")
@player_options
@format_option
@click.pass_obj
def eval_(warehouse: Warehouse, position: str, network: str, ply: int, form: str) -> None:
    """Evaluate a POSITION: chances, equity, and their source.

    POSITION is a Position ID, gnubg ID, XGID, 20-letter key, 26 integers or start, and the player on roll is about to
    roll. A position that a bearoff table covers is looked up in it; any other is evaluated by the network for its
    class.

    \b
      bgdata eval 4HPwATDgc/ABMA
      bgdata eval CgAAEAEAAAAAAA --format json
    """
    player = open_player(warehouse, network, ply)
    board, match = parse_identifier(position)
    evaluation = player.evaluate(board)
    say_left_out(match, step="; see: bgdata hint, bgdata cube")
    text = format_board_text(board, stakes=match.stakes if match else None)
    show_rows([evaluation_row(board, evaluation)], form, [text, "\n" + describe_evaluation(evaluation)])


@click.command()
@click.argument("position")
@click.argument("roll", required=False)
@score_options
@jacoby_option
@model_options
@player_options
@plays_option()
@format_option
@click.pass_obj
def hint(
    warehouse: Warehouse,
    /,
    position: str,
    roll: str | None,
    network: str,
    ply: int,
    plays: int,
    form: str,
    **options: Any,
) -> None:
    """Rank the plays of a ROLL in a POSITION, best first.

    POSITION is a Position ID, gnubg ID, XGID, 20-letter key, 26 integers or start; ROLL is two dice such as 31, which
    an XGID or gnubg ID may contain. Only the better plays are evaluated at the ply of --ply. Each line names its ply;
    its loss is relative to the best play at that ply.

    Plays are ranked by cubeless equity, or by their value with the cube where the position is an XGID or gnubg ID or
    an option says what is played for: then equity and loss are those of the game with the cube, in a match as a single
    game counts at its score, and the mwc is shown. Looking ahead, both sides may turn the cube on the way.

    \b
      bgdata hint 4HPwATDgc/ABMA 31
      bgdata hint 4HPwATDgc/ABMA 31 --ply 2 --plays 4
      bgdata hint 4HPwATDgc/ABMA 21 --cube 2 --owner opponent
      bgdata hint 4HPwATDgc/ABMA 21 --away 2-4
    """
    player = open_player(warehouse, network, ply)
    board, match = parse_identifier(position)
    check_in_progress(board)
    dice = parse_roll(roll) if roll else match.roll if match else None
    if dice is None:
        raise UsageError(f"expected a roll after the position, such as 31, got none with {shown(position)}")
    stakes = match.stakes if match else None
    say_left_out(match, "score", "cube", "jacoby", "roll")
    if stakes is None and not is_cubeful(options):
        ranked = player.rank_plays(board, dice)
    else:
        stakes = chosen_stakes(match, options)
        ranked = player.rank_plays(board, dice, stakes, chosen_rules(warehouse, stakes, options, has_beavers=False))
    rows = list(ranked_rows(board, dice, ranked[:plays]))
    lines = (
        format_board_text(board, roll=dice, stakes=stakes),
        "\n" + describe_plays(rows, len(ranked) - plays),
        "\n" + describe_source(ranked[0].evaluation),
    )
    show_rows(rows, form, lines)


def describe_evaluation(evaluation: Evaluation) -> str:
    """The chances of winning and losing, the equity, and its source with its accuracy, as lines of text."""
    rows = (
        ("win", evaluation.win, evaluation.win_gammon, evaluation.win_backgammon),
        ("lose", 1 - evaluation.win, evaluation.lose_gammon, evaluation.lose_backgammon),
    )
    lines = []
    for name, *chances in rows:
        any_, gammon, backgammon = map(CHANCE.text, chances)
        lines.append(f"{name:<5}{any_:>8}   with a gammon {gammon:>8}   backgammon {backgammon:>7}")
    lines.append(f"cubeless equity {EQUITY.text(evaluation.cubeless_equity)}\n")
    return "\n".join([*lines, describe_source(evaluation)])


def describe_source(evaluation: Evaluation) -> str:
    """`contact network, 2 plies: ...`, wrapped: the source of an evaluation, its ply, and how accurate it is."""
    who = source_words(evaluation)
    said = f"{who}: {evaluation.accuracy}" if evaluation.accuracy else who
    return textwrap.fill(said, 118, subsequent_indent="  ", break_on_hyphens=False)


def describe_plays(rows: Sequence[Row], more: int) -> str:
    """A table of the best plays: ply, play, equity (with the cube, where there is one), loss at that ply, in a match
    mwc, and chances in percent: win, gammon, backgammon - lose, gammon, backgammon."""
    has_cube, has_mwc = (rows[0][name] is not None for name in ("cubeful_equity", "mwc"))
    columns = (
        Column("rank", heading="", width=3, is_right=True),
        Column("ply", COUNT, gap=1),
        Column("play", width=26),
        Column("cubeful_equity" if has_cube else "cubeless_equity", EQUITY, "equity", width=7, gap=1),
        Column("loss", LOSS, width=7),
        *([Column("mwc", CHANCE, width=7)] if has_mwc else []),
        *PLAY_CHANCES,
    )
    lines = table_lines(columns, play_rows(rows))
    return "\n".join([*lines, f"    and {more} more"] if more > 0 else lines)
