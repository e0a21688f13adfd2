"""Tests of the opening trainer: questions, verdicts within the errors of the book, and other stakes."""

from __future__ import annotations

from math import hypot
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from bgdata.openings.pages import trainer
from bgdata.openings.pages.trainer import BookPlay, verdict_text, weighed_plays
from tests.subtests import each
from tests.web.reading import read

if TYPE_CHECKING:
    from starlette.testclient import TestClient

BOOK = "objective=double-match-point"


def page_json(client: TestClient, query: str) -> dict[str, Any]:
    """The JSON of the trainer's page for this query."""
    answer = client.get(f"/openings/train.json?{query}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@each("ask", ["first", "replies"])
def test_answers_show_the_values_of_the_book(client: TestClient, ask: str) -> None:
    """Before an answer the page tells no values; after it, all plays as the book has them, the best first."""
    count = page_json(client, f"{BOOK}&ask={ask}")["questions"]
    seen = set[tuple[str, ...]]()
    for number in range(1, min(count, 12) + 1):
        question = page_json(client, f"{BOOK}&ask={ask}&number={number}")
        assert (question["verdict"], question["plays"]) == (None, [])
        assert (question["first_play"] is None) == (ask == "first")
        seen.add((question["first_roll"], str(question["first_play"]), question["roll"]))
        for choice in question["choices"]:
            told = page_json(client, f"{BOOK}&ask={ask}&number={number}&answer={quote(choice)}")
            losses = [row["loss"] for row in told["plays"]]
            assert losses == sorted(losses)
            assert losses[0] == 0
            (own,) = (row for row in told["plays"] if row["play"] == choice)
            assert (told["verdict"] == "Right") == (own["loss"] == 0)
            assert (told["verdict"] == "Wrong") == (
                own["loss"] >= 0.02 and own["loss"] > 1.96 * own["loss_standard_error"]
            )
        query = (
            f"select play, equity, loss from openings where objective = 'double-match-point' "
            f"and position_id = '{question['position_id']}' "
            f"and coalesce(reply_roll, first_roll) = '{question['roll']}' "
            f"and first_play {'is null' if ask == 'first' else 'is not null'} order by rank"
        )
        rows = client.get("/sql.json", params={"q": query}).json()
        assert [row["play"] for row in told["plays"]] == [row["play"] for row in rows][: len(told["plays"])]
    assert len(seen) == min(count, 12)


def test_page_compares_the_player_with_the_book(client: TestClient) -> None:
    """After any answer the page says once whether the site's player agrees with the book, and shows its best play."""
    question = page_json(client, BOOK)
    for choice in question["choices"]:
        where = f"/openings/train?{BOOK}&answer={quote(choice)}"
        page = read(client, where)
        said = [
            words
            for words in ("agrees:", "disagree within the errors", "beyond the errors", "has not rolled out")
            if words in page.text
        ]
        assert len(said) == 1, page.text
        (link,) = {link for link in page.links if link.startswith("/position/") and "&play=" not in link and
                   "away=1-1" in link}  # fmt: skip
        hint = client.get(link.replace("?", ".json?", 1)).json()["hint"]
        best = hint[0]["play"]
        assert best in page.text


def test_links_go_through_the_questions_and_to_replies(client: TestClient) -> None:
    page = read(client, f"/openings/train?{BOOK}")
    choices = page_json(client, BOOK)["choices"]
    assert len([link for link in page.links if "answer=" in link]) == len(choices)
    count = page_json(client, BOOK)["questions"]
    assert page_json(client, f"{BOOK}&number={count + 1}")["choices"] == choices, "after the last comes the first"
    told = read(client, f"/openings/train?{BOOK}&answer={quote(choices[0])}")
    (replies,) = (link for link in told.links if "ask=replies" in link and "roll=" in link)
    assert client.get(replies).status_code == 200
    assert f"/openings/train?{BOOK}" in read(client, f"/openings?{BOOK}").links


def row(play: str, win: float, win_gammon: float, lose_gammon: float) -> dict[str, Any]:
    """A row of the book with these chances, whose errors are 0.001, 0.002 and 0.003."""
    return {
        "play": play, "next_position_id": play, "win": win, "win_gammon": win_gammon, "lose_gammon": lose_gammon,
        "win_standard_error": 0.001, "win_gammon_standard_error": 0.002, "lose_gammon_standard_error": 0.003,
        "trials": 72,
    }  # fmt: skip


def test_chances_are_weighed_by_the_match() -> None:
    """Plays are valued by match winning chances: a gammon wins the match at gammon-go, a plain win half of it."""
    rows = [row("quiet", 0.52, 0.10, 0.10), row("bold", 0.50, 0.16, 0.18)]
    go, save = (trainer.OBJECTIVES[name].weighed for name in ("gammon-go", "gammon-save"))
    best, other = weighed_plays(rows, go)
    assert (best.play, other.play) == ("bold", "quiet")
    for play, given in ((best, rows[1]), (other, rows[0])):
        mwc = given["win_gammon"] + 0.5 * (given["win"] - given["win_gammon"])
        assert play.equity == pytest.approx(2 * mwc - 1)
        assert play.error == pytest.approx(hypot(0.001, 0.002))
    assert other.loss == pytest.approx(best.equity - other.equity)
    assert other.loss_error == pytest.approx(hypot(best.error, other.error))
    best, other = weighed_plays(rows, save)
    assert (best.play, other.play) == ("quiet", "bold")
    for play, given in ((best, rows[0]), (other, rows[1])):
        mwc = given["win"] + 0.5 * (1 - given["win"] - given["lose_gammon"])
        assert play.equity == pytest.approx(2 * mwc - 1)


@each(
    ("loss", "error", "verdict"),
    [(0.0, 0.0, "Right"), (0.03, 0.02, "Right within the errors"), (0.01, 0.001, "Nearly right"),
     (0.02, 0.001, "Wrong")],
)  # fmt: skip
def test_verdict_depends_on_loss_and_error(loss: float, error: float, verdict: str) -> None:
    assert verdict_text(BookPlay("8/5 6/5", "", 0.1, 0.001, loss, error, 72)) == verdict


@each(
    ("query", "words"),
    [("objective=x", "as objective, got"), ("ask=x", "as ask, got"), ("roll=33", "expected a first roll such as 31"),
     ("roll=<b>", "expected a first roll"), ("number=0", "from 1 to 99,999"), (f"{BOOK}&answer=<b>", "as answer, got")],
)  # fmt: skip
def test_wrong_values_are_refused(client: TestClient, query: str, words: str) -> None:
    answer = client.get(f"/openings/train.json?{query}")
    assert (answer.status_code, words in answer.json()["error"]) == (400, True), answer.text
    assert "<b>" not in client.get(f"/openings/train?{query}").text


def test_missing_book_and_roll_are_named(client: TestClient, empty: TestClient) -> None:
    assert "No such book here" in read(empty, "/openings/train").text
    assert page_json(empty, "objective=gammon-save")["questions"] == 0
    assert "The book has no such roll" in read(client, f"/openings/train?{BOOK}&roll=65").text
