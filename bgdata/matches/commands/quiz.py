"""`bgdata quiz`: questions about decisions, in the terminal, as Anki deck, as page or as list."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bgdata.cli.defaults import open_player
from bgdata.cli.options import OUTPUT, met_option, network_option, ply_option, seed_option
from bgdata.cli.output import ask
from bgdata.errors import MissingTableError, UsageError, cite
from bgdata.game.board_text import format_board_text
from bgdata.game.match import MatchScore
from bgdata.matches.commands.analyze import page_option
from bgdata.matches.commands.library import analysis_option, chosen_analysis
from bgdata.matches.questions import KINDS, SOURCES, book_questions, error_questions, met_of
from bgdata.matches.quiz import (
    ANSWER,
    PHASES,
    RIGHT,
    Answer,
    Question,
    Results,
    answer_of,
    choose_questions,
    filter_questions,
    format_results,
    read_results,
    with_answers,
)
from bgdata.rows import EQUITY, LOSS, Column, table_lines
from bgdata.store.storage import write_file
from bgdata.warehouse import Warehouse

if TYPE_CHECKING:
    from bgdata.evaluation.lookahead_player import LookaheadPlayer

RESULTS = "quiz.json"
COLUMNS = (
    Column("number", heading="", width=3, is_right=True),
    Column("text", heading="", width=26),
    Column("equity", EQUITY),
    Column("loss", LOSS),
)


@click.command()
@click.argument("player", required=False)
@click.option(
    "--from", "source", type=click.Choice(SOURCES),
    help="Ask rolled-out decisions, or the opening book.  [default: errors of PLAYER]",
)  # fmt: skip
@click.option(
    "--questions", default=10, show_default=True, type=click.IntRange(1), metavar="N",
    help="Maximum number of questions.",
)  # fmt: skip
@click.option("--theme", metavar="NAME", help="Only positions of this theme, such as blitz.  [default: all]")
@click.option("--phase", type=click.Choice(PHASES), help="Only positions of this class.  [default: all]")
@click.option(
    "--about", type=click.Choice(["plays", "cube"]), help="Only plays, or only cube actions.  [default: both]"
)
@click.option(
    "--least-loss", default=0.0, type=click.FloatRange(0), metavar="POINTS",
    help="Only decisions that lost at least so much.  [default: all]",
)  # fmt: skip
@analysis_option
@network_option
@ply_option(3, default=1)
@met_option
@seed_option(0)
@click.option(
    "--results", type=OUTPUT, metavar="FILE", help=f"File of your results.  [default: {RESULTS} of the warehouse]"
)
@page_option
@click.option("--anki", type=OUTPUT, metavar="FILE", help="Write a deck for Anki, as .apkg.")
@click.option("--xgid", type=OUTPUT, metavar="FILE", help="Write a list of XGIDs, as text.")
@click.pass_obj
def quiz(
    warehouse: Warehouse, /, player: str | None, source: str | None, questions: int, theme: str | None,
    phase: str | None, about: str | None, least_loss: float, analysis: str | None, network: str, ply: int,
    met: str | None, seed: int, results: Path | None, page: Path | None, anki: Path | None, xgid: Path | None,
) -> None:  # fmt: skip
    """Ask decisions that you erred in, or that others rolled out.

    PLAYER is a name in the analysed matches: the questions are the errors of that player. Instead, --from asks
    decisions of the tables rollout_decisions or openings. Answers that lose less than 0.02 points are right. Questions
    answered wrongly come again in the next session, others after 1, 2, 4, 8 or 16 sessions; new ones come last, those
    with the greatest loss first. With --page, --anki or --xgid the same questions are written, and none is asked.

    \b
      bgdata quiz ann
      bgdata quiz ann --about cube --least-loss 0.08
      bgdata quiz --from openings --questions 20 --anki openings.apkg
    """
    check_source(player, source)
    check_theme(theme)
    path = results or warehouse.root / RESULTS
    kept = read_results(path)
    kept.sessions += 1
    if player is not None:
        variant = chosen_analysis(warehouse, analysis)
        found, met = error_questions(warehouse.rows, player, variant), met or met_of(warehouse, variant)
        if not found:
            raise MissingTableError(f"no errors of {cite(player)} in match_analysis/{variant}; try: bgdata matches")
    else:
        assert source is not None
        found = book_questions(warehouse.rows, source)
        if not found:
            raise MissingTableError(f"no {KINDS[source]} in {warehouse.root}; try: bgdata build {KINDS[source]}")
    is_cube = None if about is None else about == "cube"
    found = filter_questions(found, theme=theme, phase=phase, is_cube=is_cube, least_loss=least_loss)
    if not found:
        raise UsageError("expected decisions that the options leave, got none")
    chosen = choose_questions(found, kept, questions)
    answered = evaluate_questions(chosen, warehouse, open_player(warehouse, network, ply), met or "")
    if page or anki or xgid:
        write_files([*answered], player or str(source), seed, page=page, anki=anki, xgid=xgid)
        return
    if not chosen:
        click.echo("no question is due; try again tomorrow, or with other options")
    ask_questions(answered, len(chosen), kept, seed, ask, lambda: write_file(path, format_results(kept).encode()))


def evaluate_questions(
    questions: Sequence[Question], warehouse: Warehouse, player: LookaheadPlayer, met: str
) -> Iterator[Question]:
    """Yield the questions with answers evaluated by the player. A question that has answers is not changed."""
    from bgdata.cli.defaults import find_met_or_file
    from bgdata.equity.cube import CubeRules

    for question in questions:
        if question.answers:
            yield question
            continue
        is_match = isinstance(question.place.match.stakes.score, MatchScore)
        yield with_answers(question, player, CubeRules(met=find_met_or_file(warehouse, met) if is_match else None))


def check_source(player: str | None, source: str | None) -> None:
    """Raise UsageError unless exactly one of `player` and `source` is given."""
    if (player is None) == (source is None):
        both = "neither" if player is None else "both"
        raise UsageError(f"expected a PLAYER, or --from with {' or '.join(SOURCES)}, got {both}")


def check_theme(theme: str | None) -> None:
    """Raise UsageError if `theme` is not the name of a theme."""
    from bgdata.game.themes import Theme

    labels = [each.label for each in Theme]
    if theme not in (None, *labels):
        raise UsageError(f"expected {', '.join(labels[:-1])} or {labels[-1]} as theme, got {cite(theme)}")


def write_files(
    questions: Sequence[Question], title: str, seed: int, *, page: Path | None, anki: Path | None, xgid: Path | None
) -> None:
    """Write the questions to each of the given files: as a page, as an Anki deck, or as XGIDs."""
    from bgdata.matches.commands.quiz_files import format_quiz, write_deck

    if page:
        write_file(page, format_quiz(questions, title, seed).encode())
    if anki:
        write_deck(questions, title, seed, anki)
    if xgid:
        write_file(xgid, "".join(f"{question.xgid}\n" for question in questions).encode())
    for path in (page, anki, xgid):
        if path:
            click.echo(f"wrote {path}: {len(questions)} question{'s' * (len(questions) != 1)}")


def ask_questions(
    questions: Iterator[Question], count: int, results: Results, seed: int, ask: Callable[[str], str],
    save: Callable[[], None],
) -> None:  # fmt: skip
    """Ask the questions one by one in the terminal, until the user leaves. `ask` prints a prompt and returns what the
    user types."""
    n_right = n_asked = 0
    for number, question in enumerate(questions, 1):
        shown = question.shuffled_answers(seed)
        click.echo(f"question {number} of {count}: {question.origin if question.made == '' else question.theme}\n")
        click.echo(board_text(question) + "\n")
        for place, answer in enumerate(shown, 1):
            click.echo(f"{place:>3}  {answer.text}")
        click.echo(f"\n{question.words}")
        given = read_answer(shown, ask)
        if given is None:
            break
        n_asked, is_right = n_asked + 1, given.loss < RIGHT
        n_right += is_right
        found = results.add(question.key, is_right=is_right)
        save()
        click.echo("\n" + "\n".join(verdict_lines(question, given, shown)) + f"\nbox {found.box}\n")
    if n_asked:
        click.echo(f"{n_right} of {n_asked} right")


def board_text(question: Question) -> str:
    """Return the board as the player who decides sees it."""
    position, stakes, roll = question.view
    text = format_board_text(position, roll=roll, stakes=stakes, with_id=False)
    return text.replace("X on roll", "X to answer") if question.subject == ANSWER else text


def read_answer(shown: Sequence[Answer], ask: Callable[[str], str]) -> Answer | None:
    """Read the answer that the user types, and ask again until it is one of those `shown`. Returns None if the user
    leaves."""
    while True:
        text = ask(f"1 to {len(shown)}, or quit: ").strip()
        if text.lower() in ("quit", "q", "exit"):
            return None
        if found := answer_of(text, shown):
            return found
        click.echo(f"expected a number from 1 to {len(shown)}, or quit")


def verdict_lines(question: Question, given: Answer, shown: Sequence[Answer]) -> Iterator[str]:
    """Yield lines of text that say whether an answer is right, and the values of all answers."""
    best = question.answers[0]
    if given.loss >= RIGHT:
        yield f"wrong: {given.text} loses {given.loss:.3f}; best is {best.text}"
    else:
        yield f"right: {given.text}" + ("" if given is best else f", which loses {given.loss:.3f}")
    numbers = {answer: number for number, answer in enumerate(shown, 1)}
    rows = [
        {"number": numbers[each], "text": each.text, "equity": each.equity, "loss": each.loss or None}
        for each in question.answers
    ]
    yield from table_lines(COLUMNS, rows)
    if question.detail:
        yield question.detail
    yield f"by {question.judge}" + (f"; in {question.origin}, you chose {question.made}" if question.made else "")
    yield question.xgid
