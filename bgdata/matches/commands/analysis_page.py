"""`bgdata analyze --page`: an analysis as one HTML file that needs nothing else, with a board for every error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from bgdata.cli.output import grid, page_head, section
from bgdata.game.board_svg import format_board_svg
from bgdata.game.dice import to_roll
from bgdata.matches.analysis.totals import error_mark
from bgdata.matches.commands.analysis_plot import format_analysis_svg
from bgdata.matches.commands.analysis_rows import Loss, MatchAnalysis, game_row
from bgdata.matches.commands.analysis_text import (
    AMOUNT,
    NOTE,
    SIGNS,
    headline,
    net_columns,
    player_table,
    shown_loss,
    shown_worth,
    worth_quantity,
)
from bgdata.rows import Column, table_cells
from bgdata.store.storage import write_file

CANDIDATES = 5  # plays listed beside a board
BOARD_WIDTH = 440  # pixels


def write_page(found: Sequence[MatchAnalysis], path: Path, most_errors: int) -> None:
    """Write the page. Raises StorageError."""
    write_file(path, format_page(found, most_errors).encode())


def format_page(found: Sequence[MatchAnalysis], most_errors: int) -> str:
    """The page as text: each match with its figures, its picture, its games, the worst errors and all turns."""
    title = " against ".join(found[0].players) if len(found) == 1 else f"{len(found)} matches"
    parts = [*page_head(title)]
    for analysis in found:
        parts += match_parts(analysis, most_errors)
    notes = "<br>".join(map(escape, NOTE.splitlines()))
    return "\n".join([*parts, f'<p class="soft">{notes}</p>', "</body></html>"]) + "\n"


def match_parts(analysis: MatchAnalysis, most_errors: int) -> Iterator[str]:
    """The parts of one match."""
    yield f"<p>{escape(headline(analysis))}</p>"
    yield from section("Players", table_cells(*player_table(analysis)))
    yield f"<h2>Luck and skill</h2>\n{format_analysis_svg(analysis)}"
    yield from section("Games", game_grid(analysis))
    shown = analysis.losses[:most_errors]
    if shown:
        yield f"<h2>Errors</h2>\n<p>{len(shown)} of {len(analysis.losses)} marked errors, the worst first</p>"
    for number, loss in enumerate(shown, 1):
        yield from error_parts(analysis, loss, f"match-{analysis.number}-error-{number}")
    yield f"<h2>Turns</h2>\n<details><summary>{len(analysis.turns)} turns</summary>"
    yield from grid([*turn_grid(analysis)])
    yield "</details>"


def game_grid(analysis: MatchAnalysis) -> list[list[str]]:
    """The games, seen by player 0."""
    game, net = Column("game_number", heading="game"), net_columns(worth_quantity(analysis), 0)
    rows = [game_row(analysis, each) for each in analysis.games]
    for row in rows:
        row["score"] = f"{row['score_0']}-{row['score_1']}"
        row["ratings"] = f"{row['performance_rating_0']:.1f} and {row['performance_rating_1']:.1f}"
    return table_cells([game, Column("score"), *net, Column("ratings")], rows)


def error_parts(analysis: MatchAnalysis, loss: Loss, name: str) -> Iterator[str]:
    """An error: what was done, the board with the best play, and what each choice was worth. Boards that are equal have
    equal identifiers, so `name` is put before them."""
    turn = loss.turn
    act = turn.judged.act
    where = f"game {turn.game.game.number}, turn {turn.number}: {turn.player}"
    yield f"<h3>{escape(where)} loses {loss.size:.3f} {SIGNS[error_mark(loss.size)]}</h3>"
    yield '<div class="charts"><div>'
    roll = to_roll(act.dice) if act.dice and not loss.is_cube else None
    play = None if loss.is_cube else turn.best_play
    board = format_board_svg(turn.position, roll=roll, play=play, stakes=act.stakes, width=BOARD_WIDTH)
    yield board.replace('"board-', f'"{name}-board-').replace(" board-", f" {name}-board-")
    yield "</div><div>"
    yield f"<p>{escape(loss.made)}; best: {escape(loss.best)}</p>"
    yield from grid([*(cube_grid(analysis, loss) if loss.is_cube else candidate_grid(analysis, loss))])
    yield "</div></div>"


def candidate_grid(analysis: MatchAnalysis, loss: Loss) -> Iterator[Sequence[str]]:
    """The best plays, and the one that was made."""
    turn, judged = loss.turn, loss.turn.judged
    assert judged.roll is not None
    yield ("play", "mwc" if analysis.length else "points", "loss")
    for place, each in enumerate(judged.roll.candidates):
        play = turn.plays[tuple(each.after_play.tolist())]
        is_made = play == turn.play
        if place < CANDIDATES or is_made:
            change = (judged.roll.best - each.worth) / judged.point
            worth = shown_worth(analysis, each.worth, is_change=False)
            yield (f"{play}{' (made)' * is_made}", worth, loss_text(change) or "0")


def loss_text(loss: float) -> str:
    """A loss with its mark; nothing for what rounds to 0."""
    found = shown_loss(loss)
    return f"{AMOUNT.text(loss)} {found['mark']}".rstrip() if found else ""


def cube_grid(analysis: MatchAnalysis, loss: Loss) -> Iterator[Sequence[str]]:
    """What the cube actions are worth to the player on roll."""
    cube = loss.turn.judged.cube
    assert cube is not None
    yield ("to the player on roll", "mwc" if analysis.length else "points")
    for name, worth in zip(("no double", "double, take", "double, pass"), cube, strict=True):
        yield (name, shown_worth(analysis, worth, is_change=False))


def turn_grid(analysis: MatchAnalysis) -> Iterator[Sequence[str]]:
    """All turns with their luck and losses."""
    yield ("game", "turn", "player", "act", "play", "before", "luck", "lost by the play", "lost by the cube", "best")
    for turn in analysis.turns:
        judged = turn.judged
        roll = "".join(map(str, judged.act.dice or ()))
        losses = [loss_text(value / judged.point) for value in (judged.play_loss, judged.cube_loss)]
        best = [text for text, value in ((turn.best_play, losses[0]), (turn.best_cube_action, losses[1])) if value]
        yield (
            *(str(turn.game.game.number), str(turn.number), turn.player, roll or str(judged.act.kind)),
            *(str(turn.play or ""), shown_worth(analysis, judged.start, is_change=False)),
            f"{judged.luck / judged.point:+.3f}" if judged.roll else "",
            *losses,
            "; ".join(map(str, best)),
        )
