"""What `bgdata analyze` found as text: turns, games, both players and the worst errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bgdata.matches.analysis.acts import NO_DOUBLE, ActKind
from bgdata.matches.analysis.totals import Score, Totals, error_mark
from bgdata.matches.commands.analysis_rows import Loss, MatchAnalysis, Turn, game_row
from bgdata.rows import COUNT, Column, Quantity, table_lines

if TYPE_CHECKING:
    from bgdata.matches.steps import AnalysedGame

POINTS, AMOUNT = Quantity(3, sign="+"), Quantity(3)
SIGNS = {"doubtful": "?!", "bad": "?", "very bad": "??", "": ""}
NOTE = (
    "luck and losses in points of normalised equity: 1 is half of what lies between winning and losing the cube\n"
    "?! doubtful from 0.03, ? bad from 0.06, ?? very bad from 0.12; rating: thousandths lost a decision\n"
    "luck-adj. = result - net luck; drift: changed evaluations, and what a resignation settled"
)


def describe_match(analysis: MatchAnalysis, most_errors: int, *, with_turns: bool, with_games: bool) -> str:
    """The analysis of a match as text."""
    lines = [headline(analysis), ""]
    if with_turns:
        for game in analysis.games:
            lines += [*turn_lines(analysis, game), ""]
    if with_games:
        lines += [*game_lines(analysis), ""]
    lines += [*table_lines(*player_table(analysis)), ""]
    if analysis.losses and most_errors:
        lines += [*error_lines(analysis, most_errors), ""]
    return "\n".join([*lines, NOTE])


def headline(analysis: MatchAnalysis) -> str:
    """Who plays for what, and who judges."""
    money = "for money with the Jacoby rule" if analysis.is_jacoby else "for money"
    what = f"a match to {analysis.length}" if analysis.length else money
    return f"{analysis.players[0]} against {analysis.players[1]}, {what}; analysed by {analysis.analyst}"


def worth_quantity(analysis: MatchAnalysis, *, is_change: bool = True) -> Quantity:
    """How a worth is printed: mwc in percent, or points."""
    sign = "+" if is_change or not analysis.length else ""
    return Quantity(2, 100, sign, " %") if analysis.length else Quantity(3, sign=sign)


def shown_worth(analysis: MatchAnalysis, worth: float | None, *, is_change: bool = True) -> str:
    """A worth with its unit; `-` for None."""
    return "-" if worth is None else worth_quantity(analysis, is_change=is_change).text(worth)


def net_columns(quantity: Quantity, width: int) -> list[Column]:
    """The columns of games: the result to player 0, and what it is made of."""
    heads = {"result": "result", "net_luck": "net luck", "net_skill": "net skill", "net_drift": "net drift"}
    heads["luck_adjusted"] = "luck-adj."
    return [Column(name, quantity, head, width=width, missing="-") for name, head in heads.items()]


def net_row(totals: Totals) -> dict[str, Any]:
    """The figures of those columns."""
    return {column.name: getattr(totals, column.name) for column in net_columns(POINTS, 0)}


def turn_lines(analysis: MatchAnalysis, game: AnalysedGame) -> Iterator[str]:
    """The turns of one game; a cube action that was missed has a line of its own."""
    players, score = analysis.players, game.game.score
    for_points = f": {players[0]} {score[0]}, {players[1]} {score[1]}" if analysis.length else ""
    columns = (
        Column("turn", COUNT),
        Column("player", heading="", width=max(map(len, players))),
        Column("act", heading="", width=6),
        Column("play", width=26),
        Column("worth", worth_quantity(analysis, is_change=False), "mwc" if analysis.length else "points", width=8),
        Column("luck", POINTS, width=6),
        Column("loss", AMOUNT, width=5),
        Column("mark", heading="", width=2, gap=1),
        Column("best"),
    )
    yield f"game {game.game.number}{for_points}"
    turns = (turn for turn in analysis.turns if turn.game is game)
    yield from table_lines(columns, (row for turn in turns for row in shown_turn(turn)))


def shown_turn(turn: Turn) -> Iterator[dict[str, Any]]:
    """One turn, with the missed double before it if that was an error."""
    judged, act = turn.judged, turn.judged.act
    row = {"turn": turn.number, "player": turn.player, "worth": judged.start}
    cube_loss, play_loss = judged.cube_loss / judged.point, judged.play_loss / judged.point
    if act.kind is not ActKind.ROLL:
        yield row | {"act": act.kind, "best": turn.best_cube_action if cube_loss else "", **shown_loss(cube_loss)}
        return
    if shown_loss(cube_loss):
        yield row | {"play": NO_DOUBLE, "best": turn.best_cube_action, **shown_loss(cube_loss)}
    row |= {"act": "".join(map(str, act.dice or ())), "play": turn.play, "luck": judged.luck / judged.point}
    yield row | {"best": turn.best_play if play_loss else "", **shown_loss(play_loss)}


def shown_loss(loss: float) -> dict[str, Any]:
    """A loss with its mark; nothing for what rounds to 0."""
    return {"loss": loss, "mark": SIGNS[error_mark(loss)]} if loss >= 5e-4 else {}


def game_lines(analysis: MatchAnalysis) -> Iterator[str]:
    """The games as lines, seen by player 0, with their sum, and for money their mean and spread."""
    rows = [game_row(analysis, game) for game in analysis.games]
    for row in rows:
        row["ratings"] = " ".join(f"{row[f'performance_rating_{player}']:>6.1f}" for player in (0, 1))
    if len(rows) > 1:
        rows.append({"game_number": "sum", **net_row(analysis.totals)})
    columns = (
        Column("game_number", heading="game", is_right=True),
        Column("turns", COUNT),
        *net_columns(worth_quantity(analysis), 10),
        Column("ratings", width=13, is_right=True),
    )
    head, *lines = table_lines(columns, rows)
    yield f"{head}  (to {analysis.players[0]})"
    yield from lines


def player_table(analysis: MatchAnalysis) -> tuple[list[Column], list[dict[str, str]]]:
    """Both players side by side: columns and rows."""
    first, second = (score_items(analysis, score) for score in analysis.totals.scores)
    rows = [{"name": name, "0": left, "1": right} for (name, left), (_, right) in zip(first, second, strict=True)]
    players = (Column(str(n), heading=name, is_right=True) for n, name in enumerate(analysis.players))
    return [Column("name", heading="", width=18), *players], rows


def score_items(analysis: MatchAnalysis, score: Score) -> list[tuple[str, str]]:
    """The figures of a player, named."""
    return [
        ("rolls", str(score.rolls)),
        ("luck", both(analysis, score.normalised_luck, score.luck, sign="+")),
        ("unforced plays", str(score.unforced_plays)),
        ("lost by plays", both(analysis, score.normalised_play_loss, score.play_loss)),
        ("cube decisions", str(score.cube_decisions)),
        ("lost by the cube", both(analysis, score.normalised_cube_loss, score.cube_loss)),
        *((f"{mark} {SIGNS[mark]}", str(count)) for mark, count in score.marked.items()),
        ("rating of plays", f"{score.play_rating:.1f}"),
        ("rating of the cube", f"{score.cube_rating:.1f}"),
        ("performance rating", f"{score.performance_rating:.1f}"),
    ]


def both(analysis: MatchAnalysis, normalised: float, worth: float, sign: str = "") -> str:
    """A sum in normalised points and in mwc or points."""
    other = f"{100 * worth:{sign}.2f} % mwc" if analysis.length else f"{worth:{sign}.3f} points"
    return f"{normalised:{sign}.3f} ({other})"


def error_lines(analysis: MatchAnalysis, most: int) -> Iterator[str]:
    """The worst errors."""
    shown: Sequence[Loss] = analysis.losses[:most]
    total = len(analysis.losses)
    rows = (
        {
            **shown_loss(loss.size),
            "where": f"game {loss.turn.game.game.number} turn {loss.turn.number:<3}",
            "player": loss.turn.player,
            "roll": "" if loss.is_cube else "".join(map(str, loss.turn.judged.act.dice or ())),
            "made": loss.made,
            "best": f"best: {loss.best}",
        }
        for loss in shown
    )
    columns = (
        Column("loss", AMOUNT, ""),
        Column("mark", heading="", width=2, gap=1),
        *(Column(name, heading="", width=2) for name in ("where", "player", "roll", "made", "best")),
    )
    yield f"the {len(shown)} worst of {total} marked errors" if len(shown) < total else f"{total} marked errors"
    yield from table_lines(columns, rows)
