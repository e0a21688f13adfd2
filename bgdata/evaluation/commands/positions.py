"""`bgdata show`, `eval`, `hint` and `cube`: a position, its evaluation, the plays of a roll, and cube decisions."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bgdata.cli.defaults import open_player
from bgdata.cli.options import (
    OUTPUT,
    beavers_option,
    format_option,
    jacoby_option,
    model_options,
    player_options,
    plays_option,
    score_options,
)
from bgdata.cli.output import print_left_out, show_rows, write_rows
from bgdata.errors import UsageError, cite
from bgdata.evaluation.rows import (
    PLAY_CHANCES,
    best_words,
    check_offer,
    cube_row,
    evaluation_row,
    is_cubeful,
    play_rows,
    position_facts,
    position_rows,
    ranked_rows,
    source_words,
    stakes_from_options,
)
from bgdata.game.board_text import format_board_text
from bgdata.game.classes import check_has_checkers, check_in_progress
from bgdata.game.dice import parse_roll
from bgdata.game.identifiers import omission_note, parse_identifier
from bgdata.game.match import CubeOwner, Stakes
from bgdata.game.plays import legal_plays, parse_play
from bgdata.rows import CHANCE, COUNT, EQUITY, LOSS, PERCENT, Column, Quantity, Row, table_lines
from bgdata.store.storage import write_file
from bgdata.warehouse import Warehouse

if TYPE_CHECKING:
    from bgdata.equity.cube import CubeDecision, CubeRules
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
    check_has_checkers(board)
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
            click.echo(f"\nafter {chosen}, for the opponent: {chosen.next_position.id}")
        elif dice:
            click.echo(f"\n{len(plays)} plays of {dice}")
            for each in plays:
                click.echo(f"  {each!s:<24} {each.next_position.id}")
    if unsaid := omission_note(match):
        click.echo(unsaid, err=True)
    if svg:
        from bgdata.game.board_svg import format_board_svg

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
    print_left_out(match, step="; see: bgdata hint, bgdata cube")
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

    Plays are ranked by cubeless equity, or by cubeful equity if the position is an XGID or gnubg ID or an option sets
    score or cube. In a match, equity and loss are normalized to a single game at the score, and the mwc is shown. When
    looking ahead, both sides may double on the way.

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
        raise UsageError(f"expected a roll after the position, such as 31, got none with {cite(position)}")
    stakes = match.stakes if match else None
    print_left_out(match, "score", "cube", "jacoby", "roll")
    if stakes is None and not is_cubeful(options):
        ranked = player.rank_plays(board, dice)
    else:
        from bgdata.cli.defaults import rules_from_options

        stakes = stakes_from_options(match, options)
        ranked = player.rank_plays(
            board, dice, stakes, rules_from_options(warehouse, stakes, options, has_beavers=False)
        )
    rows = list(ranked_rows(board, dice, ranked[:plays]))
    lines = (
        format_board_text(board, roll=dice, stakes=stakes),
        "\n" + describe_plays(rows, len(ranked) - plays),
        "\n" + describe_source(ranked[0].evaluation),
    )
    show_rows(rows, form, lines)


def describe_evaluation(evaluation: Evaluation) -> str:
    """Return lines of text with winning and losing chances, equity, and the source of the evaluation with its
    accuracy."""
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
    """Name the source, ply and accuracy of an evaluation, such as `contact network, 2 plies: ...`, in wrapped lines."""
    who = source_words(evaluation)
    text = f"{who}: {evaluation.accuracy}" if evaluation.accuracy else who
    return textwrap.fill(text, 118, subsequent_indent="  ", break_on_hyphens=False)


def describe_plays(rows: Sequence[Row], more: int) -> str:
    """Return a text table of the best plays: ply, play, equity (cubeful if available), loss at that ply, mwc in a
    match, and chances in percent: win, gammon, backgammon - lose, gammon, backgammon. `more` is the number of plays
    that are left out."""
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


@click.command()
@click.argument("position")
@score_options
@jacoby_option
@beavers_option
@model_options
@click.option(
    "--local",
    is_flag=True,
    help="With --model jump: value the present cube by the jumps that the player expects in this position.",
)
@player_options
@format_option
@click.pass_obj
def cube(warehouse: Warehouse, /, position: str, network: str, ply: int, form: str, **options: Any) -> None:
    """Decide about the cube in a POSITION before the roll.

    The answer is double or no double, take or pass, and how close the decision is. POSITION is a Position ID, gnubg
    ID, XGID, 20-letter key or 26 integers; options override the score, cube and rules of a gnubg ID or XGID.

    \b
      bgdata cube 4HPwATDgc/ABMA                                 money, cube in the middle
      bgdata cube 4HPwATDgc/ABMA --jacoby --beavers
      bgdata cube 4HPwATDgc/ABMA --cube 2                        a redouble
      bgdata cube 4HPwATDgc/ABMA --away 5-2                      a match: the player on roll needs 5 points
      bgdata cube 4HPwATDgc/ABMA --model jump --local            by the jumps of this position
      bgdata cube 4HPwATDgc/ABMA:cIkFAAAAAAAA                    score and cube of a gnubg ID

    Exact tables answer for the bearoff positions that they cover, and other races of a few checkers are solved for
    their score and cube. A model of the cube answers for all other positions, from the five chances that `bgdata eval`
    prints. With --ply 1 or more, both sides may double on the way, and the model answers for the positions after it.
    Equities are points per unit cube; at a match score they are match winning chances (mwc).
    """
    from bgdata.cli.defaults import rules_from_options

    player = open_player(warehouse, network, ply)
    board, match = parse_identifier(position)
    check_in_progress(board)
    check_offer(match, position)
    print_left_out(match, "score", "cube", "jacoby", "beavers", "offer")
    stakes = stakes_from_options(match, options)
    rules = rules_from_options(warehouse, stakes, options, has_beavers=match is not None and match.has_beavers)
    if options["local"]:  # the volatility of this position, if the model can use it
        from bgdata.equity.cube_models import JUMP, MODEL_NAMES
        from bgdata.equity.curves import MAX_VOLATILITY
        from bgdata.evaluation.roll_values import local_volatility_by

        if rules.strategy.model != JUMP:
            name = MODEL_NAMES[rules.strategy.model]
            raise UsageError(f"expected --local with --model {MODEL_NAMES[JUMP]}, got it with {name}")
        local = min(local_volatility_by(player.evaluator, board), MAX_VOLATILITY)
        rules = replace(rules, strategy=rules.strategy._replace(local_volatility=local))
    decision, evaluation = player.decide_cube(board, stakes, rules), player.evaluate(board)
    lines = (
        format_board_text(board, stakes=stakes),
        "\n" + describe_decision(decision, stakes, rules),
        "\n" + describe_evaluation(evaluation),
    )
    show_rows([cube_row(board, decision, stakes, evaluation)], form, lines)


def describe_decision(decision: CubeDecision, stakes: Stakes, rules: CubeRules) -> str:
    """Return lines of text with the best cube action, a table of all actions, the gains from doubling and from taking,
    the winning chances at which decisions change, and the source."""
    from bgdata.equity.cube import Method, Unit, describe_model
    from bgdata.equity.curves import NEVER

    lines = [best_words(decision, stakes), "", *describe_table(decision, stakes, rules), ""]
    if decision.may_double:
        quantity = Quantity(2, 100, unit=" % mwc") if decision.unit == Unit.MWC else LOSS
        gains = {"doubling": decision.double_gain, "to the opponent, taking": decision.take_gain}
        verbs = {what: "gains" if gain >= 0 else "costs" for what, gain in gains.items()}
        lines.append("; ".join(f"{what} {verbs[what]} {quantity.text(abs(gain))}" for what, gain in gains.items()))
    lines.append(decision.accuracy)
    if decision.method == Method.EXACT:
        lines.append("winning chances are those of " + describe_model(rules))
    if not stakes.is_crawford:
        points, verb = decision.points, "redouble" if stakes.cube.owner == CubeOwner.ON_ROLL else "double"
        named = {"take": points.take_point}
        if stakes.may_double:
            named |= {verb: points.double_point, "cash": points.cash_point, "too good": points.too_good_point}
        words = [
            f"{name} {'never' if chance >= NEVER else f'from {PERCENT.text(chance)} %'}"
            for name, chance in named.items()
        ]
        lines.append("winning chances: " + ", ".join(words))
    return "\n".join(textwrap.fill(line, 118, break_on_hyphens=False) if len(line) > 118 else line for line in lines)


def describe_table(decision: CubeDecision, stakes: Stakes, rules: CubeRules) -> list[str]:
    """Return a heading, and one line for each cube action. The line contains the equity of the action, and its
    difference from the equity if both sides play best. In a match it contains the mwc, the difference in mwc, and the
    equity normalized to the current game."""
    from bgdata.equity.cube import Unit, normalised_equity

    given = {
        "no double": decision.no_double,
        "double, take": decision.double_take,
        "double, beaver": decision.double_beaver,
        "double, pass": decision.double_pass,
    }
    rows: list[dict[str, Any]] = [
        {"action": name, "worth": worth, "change": worth - decision.equity or None}
        for name, worth in given.items()
        if worth is not None
    ]
    action = Column("action", heading="", width=16)
    if decision.unit == Unit.POINTS:
        columns = [action, Column("worth", EQUITY, "equity", width=7), Column("change", EQUITY, width=7)]
        return table_lines(columns, rows)
    for row in rows:
        row["equity"] = normalised_equity(row["worth"], stakes, rules)
    change = Column("change", Quantity(2, 100, sign="+"), gap=1)
    return table_lines(
        [action, Column("worth", CHANCE, "mwc", width=7), change, Column("equity", EQUITY, width=9)], rows
    )
