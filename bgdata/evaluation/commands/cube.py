"""`bgdata cube`: what to do with the cube before the roll, for money or in a match."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from bgdata.cli.options import (
    beavers_option,
    format_option,
    jacoby_option,
    model_options,
    player_options,
    score_options,
)
from bgdata.cli.output import say_left_out, show_rows
from bgdata.cli.own_tables import open_player
from bgdata.cli.stakes import chosen_rules
from bgdata.errors import UsageError
from bgdata.evaluation.commands.positions import describe_evaluation
from bgdata.evaluation.rows.cube import best_words, check_offer, cube_row, ends_of
from bgdata.evaluation.rows.stakes import chosen_stakes
from bgdata.game.board_text import format_board_text
from bgdata.game.identifiers import parse_identifier
from bgdata.game.match import CubeOwner, Stakes
from bgdata.game.outcome import check_in_progress
from bgdata.game.position import Position
from bgdata.rows import CHANCE, EQUITY, LOSS, PERCENT, Column, Quantity, table_lines
from bgdata.warehouse import Warehouse

if TYPE_CHECKING:
    from bgdata.equity.cube import CubeDecision, CubeRules
    from bgdata.equity.curves import Points
    from bgdata.evaluation.lookahead_player import LookaheadPlayer


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
    """Say what to do with the cube in a POSITION before the roll.

    It answers double or no double, take or pass, and how close the decision is. POSITION is a Position ID, gnubg ID,
    XGID, 20-letter key or 26 integers; score, cube and rules come from a gnubg ID or XGID unless options say otherwise.

    \b
      bgdata cube 4HPwATDgc/ABMA                                 money, cube in the middle
      bgdata cube 4HPwATDgc/ABMA --jacoby --beavers
      bgdata cube 4HPwATDgc/ABMA --cube 2                        a redouble
      bgdata cube 4HPwATDgc/ABMA --away 5-2                      a match: the player on roll needs 5 points
      bgdata cube 4HPwATDgc/ABMA --model jump --local            by jumps as they are here
      bgdata cube 4HPwATDgc/ABMA:cIkFAAAAAAAA                    score and cube of a gnubg ID

    Bearoff positions that an exact table covers are answered from it; other races of a few checkers are solved for
    their score and cube. All other positions are answered by a model of the cube, from the five chances that `bgdata
    eval` prints. Equities are points per unit cube; at a match score they are match winning chances (mwc).
    """
    player = open_player(warehouse, network, ply)
    board, match = parse_identifier(position)
    check_in_progress(board)
    check_offer(match, position)
    say_left_out(match, "score", "cube", "jacoby", "beavers", "offer")
    stakes = chosen_stakes(match, options)
    rules = chosen_rules(warehouse, stakes, options, has_beavers=match is not None and match.has_beavers)
    if options["local"]:
        rules = with_local_volatility(rules, player, board)
    decision, evaluation = player.decide_cube(board, stakes, rules), player.evaluate(board)
    lines = (
        format_board_text(board, stakes=stakes),
        "\n" + describe_decision(decision, stakes, rules),
        "\n" + describe_evaluation(evaluation),
    )
    show_rows([cube_row(board, decision, stakes, evaluation)], form, lines)


def with_local_volatility(rules: CubeRules, player: LookaheadPlayer, position: Position) -> CubeRules:
    """The rules with the volatility of this position, as far as the model can use it, for the present cube. Raises
    UsageError for another model."""
    from bgdata.equity.cube_models import JUMP, MODEL_NAMES
    from bgdata.equity.curves import MOST_VOLATILITY
    from bgdata.evaluation.volatility import local_volatility_by

    if rules.strategy.model != JUMP:
        name = MODEL_NAMES[rules.strategy.model]
        raise UsageError(f"expected --local with --model {MODEL_NAMES[JUMP]}, got it with {name}")
    local = min(local_volatility_by(player.evaluator, position), MOST_VOLATILITY)
    return replace(rules, strategy=rules.strategy._replace(local_volatility=local))


def describe_decision(decision: CubeDecision, stakes: Stakes, rules: CubeRules) -> str:
    """The best action, a table of all actions, what doubling and taking gain, the winning chances at which decisions
    change, and the source of the answer."""
    from bgdata.equity.cube import Method, Unit, describe_model

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
        lines.append(describe_points(decision.points, stakes))
    return "\n".join(textwrap.fill(line, 118, break_on_hyphens=False) if len(line) > 118 else line for line in lines)


def describe_table(decision: CubeDecision, stakes: Stakes, rules: CubeRules) -> list[str]:
    """One line for each action: its equity and what it loses; in a match its mwc, and the equity normalised to the
    current game."""
    from bgdata.equity.cube import Unit

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
    lose, win = ends_of(stakes, rules)
    for row in rows:
        row["equity"] = 2 * (row["worth"] - lose) / (win - lose) - 1
    change = Column("change", Quantity(2, 100, sign="+"), gap=1)
    return table_lines(
        [action, Column("worth", CHANCE, "mwc", width=7), change, Column("equity", EQUITY, width=9)], rows
    )


def describe_points(points: Points, stakes: Stakes) -> str:
    """The winning chances, in percent, at which decisions change."""
    from bgdata.equity.curves import NEVER

    named = {"take": points.take_point}
    if stakes.may_double:
        verb = "redouble" if stakes.cube.owner == CubeOwner.ON_ROLL else "double"
        named |= {verb: points.double_point, "cash": points.cash_point, "too good": points.too_good_point}
    words = [
        f"{name} {'never' if chance >= NEVER else f'from {PERCENT.text(chance)} %'}" for name, chance in named.items()
    ]
    return "winning chances: " + ", ".join(words)
