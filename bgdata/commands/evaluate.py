"""`bgdata eval` and `bgdata hint`: what the player thinks of a position, and of the plays of a roll."""

from __future__ import annotations

import json
from typing import Any

import click

from bgdata.errors import UsageError
from bgdata.evaluation.mapped_player import Evaluation, MappedPlayer, RankedPlay
from bgdata.formats.board_text import format_board_text
from bgdata.formats.identifiers import parse_identifier
from bgdata.game.dice import parse_roll


def print_evaluation(player: MappedPlayer, text: str, form: str) -> None:
    """Print a position's chances, equity, and who says so. Raises InvalidPositionError."""
    position, match = parse_identifier(text)
    evaluation = player.evaluate(position)
    if form == "json":
        click.echo(json.dumps({"position_id": position.id} | as_dictionary(evaluation)))
        return
    click.echo(format_board_text(position, stakes=match.stakes if match else None))
    click.echo("\n" + describe_evaluation(evaluation))


def describe_evaluation(evaluation: Evaluation) -> str:
    """Five lines: chances of winning and losing, the equity, and who says so with what accuracy."""
    rows = (
        ("win", evaluation.win, evaluation.win_gammon, evaluation.win_backgammon),
        ("lose", 1 - evaluation.win, evaluation.lose_gammon, evaluation.lose_backgammon),
    )
    lines = [
        f"{name:<5}{100 * any_:6.2f} %   with a gammon {100 * gammon:6.2f} %   backgammon {100 * backgammon:5.2f} %"
        for name, any_, gammon, backgammon in rows
    ]
    lines.append(f"cubeless equity {evaluation.cubeless_equity:+.4f}")
    lines.append(f"by the {describe_source(evaluation)}")
    return "\n".join([*lines, f"   {evaluation.accuracy}"] if evaluation.accuracy else lines)


def describe_source(evaluation: Evaluation) -> str:
    """`contact network, 2 plies`."""
    names = ("rules", "exact two-sided table", "one-sided tables combined")
    source = evaluation.source
    if source.is_final:
        return names[source]
    plies = "1 ply" if evaluation.ply == 1 else f"{evaluation.ply} plies"
    return f"{source.name.lower().replace('_', ' ')}, {plies}"


def print_hint(player: MappedPlayer, text: str, roll_text: str | None, count: int, form: str) -> None:
    """Print the best plays of a roll. Raises InvalidPositionError, InvalidRollError, or UsageError without a roll."""
    position, match = parse_identifier(text)
    roll = parse_roll(roll_text) if roll_text else match.roll if match else None
    if roll is None:
        raise UsageError(f"expected a roll after the position, such as: bgdata hint {text} 31")
    ranked = player.rank_plays(position, roll)
    if form == "json":
        rows = [as_dictionary(row.evaluation) | {"play": str(row.play), "loss": row.loss} for row in ranked[:count]]
        click.echo(json.dumps(rows))
        return
    click.echo(format_board_text(position, roll=roll, stakes=match.stakes if match else None))
    click.echo("\n" + describe_plays(ranked, count))
    if ranked[0].evaluation.accuracy:
        click.echo(f"\n{describe_source(ranked[0].evaluation)}; {ranked[0].evaluation.accuracy}")


def describe_plays(ranked: list[RankedPlay], count: int) -> str:
    """A table of the best plays: ply, play, equity, loss, and chances in percent as win, gammon, backgammon - lose, ..."""
    lines = [f"{'':>3} ply  {'play':<26}{'equity':>8}{'loss':>9}     win     g    bg  -  lose     g    bg"]
    for place, row in enumerate(ranked[:count], start=1):
        found = row.evaluation
        won = f"{100 * found.win:5.1f} {100 * found.win_gammon:5.1f} {100 * found.win_backgammon:5.1f}"
        lost = f"{100 * (1 - found.win):5.1f} {100 * found.lose_gammon:5.1f} {100 * found.lose_backgammon:5.1f}"
        loss = f"{-row.loss:+.4f}" if place > 1 else ""
        lines.append(
            f"{place:>3} {found.ply:>3}  {row.play!s:<26}{found.cubeless_equity:+8.4f}{loss:>9}   {won}  - {lost}"
        )
    if len(ranked) > count:
        lines.append(f"    and {len(ranked) - count} more")
    return "\n".join(lines)


def as_dictionary(evaluation: Evaluation) -> dict[str, Any]:
    """An evaluation for JSON."""
    return vars(evaluation) | {"source": evaluation.source.name.lower()}
