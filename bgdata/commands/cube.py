"""`bgdata cube`: what to do with the cube before the roll, for money or in a match."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

import click

from bgdata.commands.cube_exact import decide
from bgdata.commands.cube_options import chosen_rules, chosen_stakes
from bgdata.commands.evaluate import describe_evaluation
from bgdata.commands.rows import write_rows
from bgdata.equity.cube import CubeDecision, CubeRules, Method, Unit, describe_model
from bgdata.equity.curves import NEVER, Points
from bgdata.equity.doubling import Action
from bgdata.errors import UsageError
from bgdata.evaluation.lookahead_player import Evaluation, LookaheadPlayer
from bgdata.game.board_text import format_board_text
from bgdata.game.identifiers import closest_format, parse_identifier
from bgdata.game.match import CubeOwner, MatchScore, Money, Stakes
from bgdata.game.match_state import Offer
from bgdata.game.outcome import check_in_progress
from bgdata.game.xgid import parse_xgid
from bgdata.warehouse import Warehouse

_WORDS = {
    Action.NO_DOUBLE: "no double",
    Action.DOUBLE_TAKE: "double, take",
    Action.DOUBLE_PASS: "double, pass",
    Action.TOO_GOOD: "too good to double",
    Action.DOUBLE_BEAVER: "double, beaver",
}


def print_cube(player: LookaheadPlayer, warehouse: Warehouse, text: str, options: Mapping[str, Any], form: str) -> None:
    """Print a cube decision. Raises InvalidPositionError, and UsageError or InvalidScoreError for options that do not
    fit together or the identifier."""
    position, match = parse_identifier(text)
    check_in_progress(position)
    if match is not None and match.offer not in (Offer.NONE, Offer.DOUBLE):
        raise UsageError(f"expected a position before a double or its answer, got a {match.offer} in {text}")
    has_beavers = closest_format(text) == "xgid" and parse_xgid(text).has_beavers
    stakes = chosen_stakes(match, options)
    rules = chosen_rules(warehouse, stakes, options, has_beavers=has_beavers)
    decision, evaluation = decide(player, warehouse, position, stakes, rules), player.evaluate(position)
    if form != "table":
        write_rows([{"position_id": position.id} | as_row(decision, stakes) | chances_of(evaluation)], form)
        return
    click.echo(format_board_text(position, stakes=stakes))
    click.echo("\n" + describe_decision(decision, stakes, rules))
    click.echo("\n" + describe_evaluation(evaluation))


def describe_decision(decision: CubeDecision, stakes: Stakes, rules: CubeRules) -> str:
    """The best action, a table of all, what they gain, the winning chances at which they change, and who says so."""
    lines = [describe_best(decision, stakes), "", *describe_table(decision, stakes, rules), ""]
    if decision.may_double:
        lines.append(describe_gains(decision))
    lines.append(decision.accuracy)
    if decision.method == Method.EXACT:
        lines.append("winning chances are those of " + describe_model(rules))
    lines.append(describe_points(decision.points, stakes))
    return "\n".join(textwrap.fill(line, 118, break_on_hyphens=False) if len(line) > 118 else line for line in lines)


def describe_best(decision: CubeDecision, stakes: Stakes) -> str:
    """`double, take`, or all actions that are worth the same."""
    if not decision.may_double:
        return f"no cube decision: {decision.why_not}"
    words = " or ".join(_WORDS[action] for action in decision.best)
    return words.replace("double", "redouble") if stakes.cube.owner == CubeOwner.ON_ROLL else words


def describe_table(decision: CubeDecision, stakes: Stakes, rules: CubeRules) -> list[str]:
    """A line for each way to go on: equity and what it loses; in a match mwc, and equity in units of the game."""
    given = {
        "no double": decision.no_double,
        "double, take": decision.double_take,
        "double, beaver": decision.double_beaver,
        "double, pass": decision.double_pass,
    }
    rows = [(name, equity, equity - decision.equity) for name, equity in given.items() if equity is not None]
    if decision.unit == Unit.POINTS:
        lines = [f"{name:<16}{equity:+9.4f}{signed(change, '9.4f')}".rstrip() for name, equity, change in rows]
        return [f"{'':<16}{'equity':>9}{'change':>9}", *lines]
    lose, win = ends_of(stakes, rules)
    lines = [
        f"{name:<16}{100 * mwc:7.2f} %{signed(100 * change, '7.2f')}  {2 * (mwc - lose) / (win - lose) - 1:+9.4f}"
        for name, mwc, change in rows
    ]
    return [f"{'':<16}{'mwc':>9}{'change':>7}  {'equity':>9}", *lines]


def ends_of(stakes: Stakes, rules: CubeRules) -> tuple[float, float]:
    """mwc once the cube is lost, and won, as a single game: between them equity goes from -1 to 1."""
    assert isinstance(stakes.score, MatchScore)
    assert rules.met is not None
    lose, win = (rules.met.after(stakes.score, points * stakes.cube.value) for points in (-1, 1))
    return lose, win


def signed(change: float, form: str) -> str:
    """A change with its sign; blanks for none."""
    return format(change, f"+{form}") if change else " " * int(form.partition(".")[0])


def describe_gains(decision: CubeDecision) -> str:
    """What doubling and taking gain or cost, in a sentence."""
    scale, form = (100, "{:.2f} % mwc") if decision.unit == Unit.MWC else (1, "{:.4f}")
    sentences = []
    for what, gain in (("doubling", decision.double_gain), ("to the opponent, taking", decision.take_gain)):
        size = form.format(scale * abs(gain))
        sentences.append(f"{what} {'gains' if gain >= 0 else 'costs'} {size}")
    return "; ".join(sentences)


def describe_points(points: Points, stakes: Stakes) -> str:
    """The winning chances, in percent, from which decisions change."""
    named = {"take": points.take_point}
    if stakes.may_double:
        verb = "redouble" if stakes.cube.owner == CubeOwner.ON_ROLL else "double"
        named |= {verb: points.double_point, "cash": points.cash_point, "too good": points.too_good_point}
    words = [f"{name} {'never' if chance >= NEVER else f'from {100 * chance:.1f} %'}" for name, chance in named.items()]
    return "winning chances: " + ", ".join(words)


def chances_of(evaluation: Evaluation) -> dict[str, Any]:
    """The chances that a decision is from, and who says so, as columns."""
    own = {"source", "ply", "accuracy"}
    return {f"chances_{name}" if name in own else name: value for name, value in vars(evaluation).items()}


def as_row(decision: CubeDecision, stakes: Stakes) -> dict[str, Any]:
    """A decision as data."""
    score = stakes.score
    played_for = dict.fromkeys(("away", "opponent_away", "is_crawford", "is_jacoby")) | (
        {"is_jacoby": score.is_jacoby}
        if isinstance(score, Money)
        else {"away": score.away, "opponent_away": score.opponent_away, "is_crawford": score.is_crawford}
    )
    names = ("no_double", "double_take", "double_beaver", "double_pass", "unit", "method", "accuracy", "why_not")
    points = {name: None if chance >= NEVER else chance for name, chance in decision.points._asdict().items()}
    return (
        played_for
        | {"cube_value": stakes.cube.value, "cube_owner": stakes.cube.owner}
        | {"best": list(decision.best), "equity": decision.equity}
        | {"double_gain": decision.double_gain, "take_gain": decision.take_gain}
        | {name: getattr(decision, name) for name in names}
        | points
    )
