"""The opening trainer: it asks for the play of a first roll or a reply, the book answers, at four kinds of stakes."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from math import hypot
from typing import Any, NamedTuple

from starlette.requests import Request

from bgdata.equity.cube import CubeRules
from bgdata.equity.pages import met_of
from bgdata.errors import BgdataError, UsageError, cite
from bgdata.game.board_svg import format_board_svg
from bgdata.game.dice import parse_roll
from bgdata.game.match import MatchScore, Stakes
from bgdata.game.plays import parse_play
from bgdata.game.position import Position
from bgdata.rows import whole_rows
from bgdata.web.answer import Page, address, position_path
from bgdata.web.position_request import integer_parameter, stakes_query
from bgdata.web.site import Row, Site

MAX_QUESTIONS = 99_999
MOST_PLAYS = 5  # maximum number of answers of a question
SURE = 1.96  # half of a 95 % interval, in standard errors
RIGHT = 0.02  # points: an answer that loses less is right
ASK = ("first", "replies")  # what the trainer can ask
BOOK = """
select variant, decision, first_roll, first_play, coalesce(reply_roll, first_roll) as roll, position_id, play,
       next_position_id, win, win_gammon, lose_gammon, win_standard_error, win_gammon_standard_error,
       lose_gammon_standard_error, equity, standard_error, loss, loss_standard_error, trials, network
from openings where objective = $objective order by variant, decision, rank
"""


class Objective(NamedTuple):
    """What a question is played for: its title, the book that answers it, and the stakes (None for money without a
    cube). `weighed` gives the chances that count, with signs; if it is empty, the equities of the book count."""

    title: str
    book: str
    stakes: Stakes | None = None
    weighed: Mapping[str, int] = {}


OBJECTIVES: Mapping[str, Objective] = {
    "money": Objective("money", "money"),
    "double-match-point": Objective("double match point", "double-match-point", Stakes(MatchScore(1, 1))),
    # the player on roll needs 2 points: a plain win leads to double match point, a gammon wins the match
    "gammon-go": Objective(
        "gammon-go", "money", Stakes(MatchScore(2, 1, is_crawford=True)), {"win": 1, "win_gammon": 1}
    ),
    # the opponent needs 2 points: a plain loss leads to double match point, a gammon loses the match
    "gammon-save": Objective(
        "gammon-save", "money", Stakes(MatchScore(1, 2, is_crawford=True)), {"win": 1, "lose_gammon": -1}
    ),
}


class BookPlay(NamedTuple):
    """A play in the book: its value at the stakes in points, what it loses against the best play, and standard
    errors."""

    play: str
    position_id: str  # position after the play, for the opponent
    equity: float
    error: float
    loss: float
    loss_error: float
    trials: int

    @property
    def is_as_good(self) -> bool:
        """Whether the play may be as good as the best, within the standard errors of the book."""
        return self.loss <= SURE * self.loss_error


class BookDecision(NamedTuple):
    """A roll in the book with its plays, the best first."""

    key: str
    first_roll: str
    first_play: str | None
    roll: str
    position: Position
    plays: Sequence[BookPlay]
    network: str


def trainer(site: Site, request: Request) -> Page:
    """The page that asks for the play of a first roll or reply. After an answer it shows what the book says of each
    play, and whether the site's player agrees with the book."""
    given = request.query_params
    objective, asked = given.get("objective", "") or "money", given.get("ask", "") or ASK[0]
    for name, value, known in (("objective", objective, tuple(OBJECTIVES)), ("ask", asked, ASK)):
        if value not in known:
            raise UsageError(f"expected {', '.join(known)} as {name}, got {cite(value)}")
    roll = first_roll(given.get("roll", "").strip())
    number = integer_parameter(given, "number", 1, least=1, most=MAX_QUESTIONS)
    decisions = site.keep(("trainer", objective), lambda: read_decisions(site, objective))
    chosen = [
        each
        for each in decisions
        if (each.first_play is not None) == (asked == "replies") and roll in ("", each.first_roll)
    ]
    here = {"objective": objective, "ask": asked, "roll": roll}
    shown_: dict[str, Any] = {
        "given": here,
        "objectives": {name: each.title for name, each in OBJECTIVES.items()},
        "asks": {"first": "first rolls", "replies": "replies"},
        "count": len(chosen),
        "number": number,
        "book": OBJECTIVES[objective].book,
        "question": None,
    }
    if not chosen:
        return Page("trainer.html", shown_, answer_row(0, None, [], "", None))
    decision = chosen[(number - 1) % len(chosen)]
    choices = random.Random(decision.key).sample(decision.plays[:MOST_PLAYS], min(MOST_PLAYS, len(decision.plays)))
    answer = chosen_play(given.get("answer", "").strip(), choices)
    ours = players_choice(site, objective, decision) if answer else None
    verdict = verdict_text(answer) if answer else ""
    stakes = stakes_query(OBJECTIVES[objective].stakes)
    position = address(position_path(decision.position), {"roll": decision.roll, **stakes})
    more = {
        "question": decision,
        "words": question_text(decision, OBJECTIVES[objective]),
        "choices": [(each.play, address("/openings/train", here | {"number": number, "answer": each.play}))
                    for each in choices],
        "answer": answer,
        "verdict": verdict,
        "boards": boards_of(decision, answer, OBJECTIVES[objective].stakes),
        "ours": ours,
        "ours_in_book": next((each for each in decision.plays if ours and each.position_id == ours[1]), None),
        "is_weighed": bool(OBJECTIVES[objective].weighed),
        "position": position,
        "next": address("/openings/train", here | {"number": number % len(chosen) + 1}),
        "replies": address("/openings/train", here | {"ask": "replies", "roll": decision.first_roll}),
    }  # fmt: skip
    return Page("trainer.html", shown_ | more, answer_row(len(chosen), decision, choices, verdict, answer))


def first_roll(text: str) -> str:
    """Return the first roll in `text`, the higher die first; empty for an empty text. Raises UsageError for any other
    text."""
    if text and not (len(text) == 2 and set(text) <= set("123456") and text[0] != text[1]):
        raise UsageError(f"expected a first roll such as 31, got {cite(text)}")
    return "".join(sorted(text, reverse=True))


def read_decisions(site: Site, name: str) -> list[BookDecision]:
    """Return the decisions of the book that answers the objective called `name`, in an order that depends on their keys
    alone. Decisions with a single play are left out."""
    objective = OBJECTIVES[name]
    rows = site.rows(BOOK, {"objective": objective.book})
    found = []
    for _, group in groupby(rows, key=lambda row: (row["variant"], row["decision"])):
        plays = list(group)
        if len(plays) > 1:
            found.append(decision_of(plays, objective))
    return sorted(found, key=lambda each: each.key)


def decision_of(rows: Sequence[Row], objective: Objective) -> BookDecision:
    """Return the decision whose plays are in these rows of the book."""
    first = rows[0]
    key = hashlib.sha256(f"{first['variant']} {first['decision']}".encode()).hexdigest()
    plays = weighed_plays(rows, objective.weighed) if objective.weighed else [
        BookPlay(row["play"], row["next_position_id"], row["equity"], row["standard_error"], row["loss"],
                 row["loss_standard_error"] or 0.0, row["trials"])
        for row in rows
    ]  # fmt: skip
    return BookDecision(
        key, first["first_roll"], first["first_play"], first["roll"], Position(first["position_id"]), plays,
        first["network"],
    )  # fmt: skip


def weighed_plays(rows: Sequence[Row], weighed: Mapping[str, int]) -> list[BookPlay]:
    """Return plays valued by their chances: 1 for a won match, -1 for a lost one, 0 at double match point. `weighed`
    gives the columns of chances that count, with signs. Errors of chances and of plays are added as if they were
    independent, which is an upper bound for games with the same dice."""
    base = -1.0 if "win_gammon" in weighed else 0.0
    values = [
        (base + sum(sign * row[name] for name, sign in weighed.items()),
         hypot(*(row[f"{name}_standard_error"] for name in weighed)), row)
        for row in rows
    ]  # fmt: skip
    values.sort(key=lambda each: -each[0])
    best, best_error, _ = values[0]
    return [
        BookPlay(row["play"], row["next_position_id"], value, error, best - value,
                 hypot(error, best_error) if place else 0.0, row["trials"])
        for place, (value, error, row) in enumerate(values)
    ]  # fmt: skip


def chosen_play(text: str, choices: Sequence[BookPlay]) -> BookPlay | None:
    """Return the play that an answer names; None if `text` is empty. Raises UsageError if it is not among the
    choices."""
    found = next((each for each in choices if each.play == text), None)
    if text and found is None:
        raise UsageError(f"expected {', '.join(each.play for each in choices)} as answer, got {cite(text)}")
    return found


def verdict_text(answer: BookPlay) -> str:
    """Return the verdict on an answer, such as "Right" or "Nearly right"."""
    if not answer.loss:
        return "Right"
    if answer.is_as_good:
        return "Right within the errors"
    return "Nearly right" if answer.loss < RIGHT else "Wrong"


def players_choice(site: Site, name: str, decision: BookDecision) -> tuple[str, str] | None:
    """Return the play that the site's player prefers, and the Position ID after it; None if the player cannot evaluate
    the stakes. Raises TooBusyError if the player stays busy."""

    def choose() -> tuple[str, str] | None:
        stakes = OBJECTIVES[name].stakes
        try:
            rules = CubeRules(met=met_of(site, "")) if stakes else CubeRules()
            with site.player() as player:
                best = player.rank_plays(decision.position, decision.roll, stakes, rules)[0].play
        except BgdataError:
            return None
        return str(best), best.next_position.id

    return site.keep(("trainer choice", name, decision.key), choose)


def question_text(decision: BookDecision, objective: Objective) -> str:
    """Return the text of the question, such as "First roll 31, money: how do you play?", for the page."""
    if decision.first_play is None:
        return f"First roll {decision.roll}, {objective.title}: how do you play?"
    return f"{decision.first_roll} was played {decision.first_play}. You rolled {decision.roll}, {objective.title}."


def boards_of(decision: BookDecision, answer: BookPlay | None, stakes: Stakes | None) -> list[tuple[str, str]]:
    """Return titles and pictures of boards: the position, or, after an answer, the best play and, if another play was
    chosen, that play."""
    roll = parse_roll(decision.roll)
    draw: Callable[..., str] = format_board_svg
    if answer is None:
        return [("", draw(decision.position, roll=roll, stakes=stakes))]
    titles = {decision.plays[0].play: "Best"}
    if answer.play not in titles:
        titles[answer.play] = "Yours"
    return [
        (f"{title}: {text}", draw(decision.position, roll=roll, play=parse_play(text, decision.position, roll),
                                  stakes=stakes, prefix=title))
        for text, title in titles.items()
    ]  # fmt: skip


def answer_row(
    count: int, decision: BookDecision | None, choices: Sequence[BookPlay], verdict: str, answer: BookPlay | None
) -> Row:
    """Return the JSON form of the page. Without an answer, the fields that would give it away are empty."""
    plays = [
        {"play": each.play, "equity": each.equity, "standard_error": each.error, "loss": each.loss,
         "loss_standard_error": each.loss_error, "games": each.trials}
        for each in (decision.plays if decision and answer else ())
    ]  # fmt: skip
    return {
        "questions": count,
        "first_roll": decision and decision.first_roll,
        "first_play": decision and decision.first_play,
        "roll": decision and decision.roll,
        "position_id": decision and decision.position.id,
        "choices": [each.play for each in choices],
        "verdict": verdict or None,
        "plays": whole_rows(plays),
    }
