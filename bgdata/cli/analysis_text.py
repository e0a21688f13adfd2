"""What `bgdata analyze` found as text: turns, games, both players and the worst errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bgdata.cli.analysis_rows import Loss, MatchAnalysis, Turn, game_row
from bgdata.play.analysis.acts import NO_DOUBLE, ActKind
from bgdata.play.analysis.totals import Score, error_mark

if TYPE_CHECKING:
    from bgdata.steps.match_analysis import AnalysedGame

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
    lines += [*player_lines(analysis), ""]
    if analysis.losses and most_errors:
        lines += [*error_lines(analysis, most_errors), ""]
    return "\n".join([*lines, NOTE])


def headline(analysis: MatchAnalysis) -> str:
    """Who plays for what, and who judges."""
    money = "for money with the Jacoby rule" if analysis.is_jacoby else "for money"
    what = f"a match to {analysis.length}" if analysis.length else money
    return f"{analysis.players[0]} against {analysis.players[1]}, {what}; analysed by {analysis.analyst}"


def shown_worth(analysis: MatchAnalysis, worth: float | None, *, is_change: bool = True) -> str:
    """A worth with its unit: mwc in percent, or points."""
    if worth is None:
        return "-"
    sign = "+" if is_change or not analysis.length else ""
    return f"{100 * worth:{sign}.2f} %" if analysis.length else f"{worth:{sign}.3f}"


def turn_lines(analysis: MatchAnalysis, game: AnalysedGame) -> Iterator[str]:
    """The turns of one game; a cube action that was missed has a line of its own."""
    players, score = analysis.players, game.game.score
    width = max(map(len, players))
    for_points = f": {players[0]} {score[0]}, {players[1]} {score[1]}" if analysis.length else ""
    unit = "mwc" if analysis.length else "points"
    yield f"game {game.game.number}{for_points}"
    yield f"{'turn':>4}  {'':<{width}}  {'':<6}  {'play':<26}  {unit:>8}  {'luck':>6}  {'loss':>5}      best"
    for turn in analysis.turns:
        if turn.game is game:
            yield from (line.rstrip() for line in lines_of_turn(analysis, turn, width))


def lines_of_turn(analysis: MatchAnalysis, turn: Turn, width: int) -> Iterator[str]:
    """One turn, with the missed double before it if that was an error."""
    judged, act = turn.judged, turn.judged.act
    begin = f"{turn.number:>4}  {turn.player:<{width}}  "
    worth = shown_worth(analysis, judged.start, is_change=False)
    cube_loss, play_loss = judged.cube_loss / judged.point, judged.play_loss / judged.point
    if act.kind is not ActKind.ROLL:
        best = turn.best_cube_action if cube_loss else ""
        yield f"{begin}{act.kind:<6}  {'':<26}  {worth:>8}  {'':>6}  {loss_text(cube_loss)}  {best}"
        return
    if loss_text(cube_loss).strip():
        yield f"{begin}{'':<6}  {NO_DOUBLE:<26}  {worth:>8}  {'':>6}  {loss_text(cube_loss)}  {turn.best_cube_action}"
    roll, best = "".join(map(str, act.dice or ())), str(turn.best_play) if play_loss else ""
    luck = f"{judged.luck / judged.point:+.3f}"
    yield f"{begin}{roll:<6}  {turn.play or ''!s:<26}  {worth:>8}  {luck:>6}  {loss_text(play_loss)}  {best}"


def loss_text(loss: float) -> str:
    """A loss with its mark; blanks for what rounds to nothing."""
    return f"{loss:>5.3f} {SIGNS[error_mark(loss)]:<2}" if loss >= 5e-4 else " " * 8


def game_lines(analysis: MatchAnalysis) -> Iterator[str]:
    """The games as lines, seen by player 0, with their sum, and for money their mean and spread."""
    names = ("result", "net luck", "net skill", "net drift", "luck-adj.")
    heads = "".join(f"  {name:>10}" for name in names)
    yield f"{'game':>4}  {'turns':>5}{heads}  {'ratings':>13}  (to {analysis.players[0]})"
    columns = ("result", "net_luck", "net_skill", "net_drift", "luck_adjusted")
    rows = [game_row(analysis, game) for game in analysis.games]
    for row in rows:
        shown = "".join(f"  {shown_worth(analysis, row[name]):>10}" for name in columns)
        ratings = f"{row['performance_rating_0']:>6.1f} {row['performance_rating_1']:>6.1f}"
        yield f"{row['game_number']:>4}  {row['turns']:>5}{shown}  {ratings}"
    found = analysis.totals
    sums = (found.result, found.net_luck, found.net_skill, found.net_drift, found.luck_adjusted)
    if len(rows) > 1:
        yield f"{'sum':>4}  {'':>5}" + "".join(f"  {shown_worth(analysis, worth):>10}" for worth in sums)


def player_lines(analysis: MatchAnalysis) -> Iterator[str]:
    """Both players side by side."""
    first, second = (score_items(analysis, score) for score in analysis.totals.scores)
    widths = [
        max(len(text) for text in (name, *dict(items).values()))
        for name, items in zip(analysis.players, (first, second), strict=True)
    ]
    rows = [("", *analysis.players)] + [(*left, right) for left, (_, right) in zip(first, second, strict=True)]
    for name, left, right in rows:
        yield f"{name:<18}  {left:>{widths[0]}}  {right:>{widths[1]}}"


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
    width = max(len(loss.turn.player) for loss in shown)
    made = max(len(loss.made) for loss in shown)
    total = len(analysis.losses)
    yield f"the {len(shown)} worst of {total} marked errors" if len(shown) < total else f"{total} marked errors"
    for loss in shown:
        roll = "".join(map(str, loss.turn.judged.act.dice or ())) if not loss.is_cube else ""
        yield (
            f"{loss_text(loss.size)}  game {loss.turn.game.game.number} turn {loss.turn.number:<3}  "
            f"{loss.turn.player:<{width}}  {roll:<2}  {loss.made:<{made}}  best: {loss.best}"
        )
