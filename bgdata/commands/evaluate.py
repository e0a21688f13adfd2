"""`bgdata eval` and `bgdata hint`: what the player thinks of a position, and of the plays of a roll."""

from __future__ import annotations

import textwrap

import click

from bgdata.commands.rows import write_rows
from bgdata.errors import UsageError, shown
from bgdata.evaluation.evaluator import Source
from bgdata.evaluation.lookahead_player import Evaluation, LookaheadPlayer, RankedPlay
from bgdata.game.board_text import format_board_text
from bgdata.game.dice import parse_roll
from bgdata.game.identifiers import parse_identifier
from bgdata.game.outcome import check_in_progress

_SOURCES = {
    Source.OVER: "the rules",
    Source.EXACT: "two-sided table",
    Source.COMBINED: "one-sided tables combined",
    Source.RACE_NETWORK: "race network",
    Source.CRASHED_NETWORK: "crashed network",
    Source.CONTACT_NETWORK: "contact network",
    Source.PROGRAM: "another program",
}


def print_evaluation(player: LookaheadPlayer, text: str, form: str) -> None:
    """Print a position's chances, equity, and who says so. Raises InvalidPositionError."""
    position, match = parse_identifier(text)
    evaluation = player.evaluate(position)
    if form != "table":
        write_rows([{"position_id": position.id} | vars(evaluation)], form)
        return
    click.echo(format_board_text(position, stakes=match.stakes if match else None))
    click.echo("\n" + describe_evaluation(evaluation))


def describe_evaluation(evaluation: Evaluation) -> str:
    """Chances of winning and losing, the equity, and who says so with what accuracy."""
    rows = (
        ("win", evaluation.win, evaluation.win_gammon, evaluation.win_backgammon),
        ("lose", 1 - evaluation.win, evaluation.lose_gammon, evaluation.lose_backgammon),
    )
    lines = [
        f"{name:<5}{100 * any_:6.2f} %   with a gammon {100 * gammon:6.2f} %   backgammon {100 * backgammon:5.2f} %"
        for name, any_, gammon, backgammon in rows
    ]
    lines.append(f"cubeless equity {evaluation.cubeless_equity:+.4f}\n")
    return "\n".join([*lines, describe_source(evaluation)])


def describe_source(evaluation: Evaluation) -> str:
    """`contact network, 2 plies: ...`, in lines of text: who answered, how far it looked, and how far to trust it."""
    who = _SOURCES[evaluation.source]
    if not evaluation.source.is_final:
        who += ", " + (
            "static" if evaluation.ply == 0 else "1 ply" if evaluation.ply == 1 else f"{evaluation.ply} plies"
        )
    said = f"{who}: {evaluation.accuracy}" if evaluation.accuracy else who
    return textwrap.fill(said, 118, subsequent_indent="  ", break_on_hyphens=False)


def print_hint(player: LookaheadPlayer, text: str, roll_text: str | None, count: int, form: str) -> None:
    """Print the best plays of a roll. Raises InvalidPositionError, InvalidRollError, or UsageError without a roll."""
    position, match = parse_identifier(text)
    check_in_progress(position)
    roll = parse_roll(roll_text) if roll_text else match.roll if match else None
    if roll is None:
        raise UsageError(f"expected a roll after the position, such as 31, got none with {shown(text)}")
    ranked = player.rank_plays(position, roll)
    if form != "table":
        first = {"position_id": position.id, "roll": str(roll)}
        places = enumerate(ranked[:count], start=1)
        write_rows(
            (
                first | {"rank": rank, "play": str(row.play), "loss": row.loss} | vars(row.evaluation)
                for rank, row in places
            ),
            form,
        )
        return
    click.echo(format_board_text(position, roll=roll, stakes=match.stakes if match else None))
    click.echo("\n" + describe_plays(ranked, count))
    click.echo("\n" + describe_source(ranked[0].evaluation))


def describe_plays(ranked: list[RankedPlay], count: int) -> str:
    """A table of the best plays: ply, play, equity, loss at that ply, and chances in percent: win, gammon, backgammon -
    lose, gammon, backgammon."""
    lines = [f"{'':>3} ply  {'play':<26}{'equity':>8}{'loss':>9}     win     g    bg  -  lose     g    bg"]
    for place, row in enumerate(ranked[:count], start=1):
        found = row.evaluation
        won = f"{100 * found.win:5.1f} {100 * found.win_gammon:5.1f} {100 * found.win_backgammon:5.1f}"
        lost = f"{100 * (1 - found.win):5.1f} {100 * found.lose_gammon:5.1f} {100 * found.lose_backgammon:5.1f}"
        loss = f"{row.loss:.4f}" if place > 1 else ""
        lines.append(
            f"{place:>3} {found.ply:>3}  {row.play!s:<26}{found.cubeless_equity:+8.4f}{loss:>9}   {won}  - {lost}"
        )
    if len(ranked) > count:
        lines.append(f"    and {len(ranked) - count} more")
    return "\n".join(lines)
