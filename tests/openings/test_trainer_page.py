"""The opening trainer: questions, verdicts within the errors of the book, and other stakes."""

from __future__ import annotations

from math import hypot
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from bgdata.openings.pages import trainer
from bgdata.openings.pages.trainer import BookPlay, verdict_text, weighed_plays
from tests.web.reading import read

if TYPE_CHECKING:
    from starlette.testclient import TestClient

BOOK = "objective=double-match-point"


def page_json(client: TestClient, query: str) -> Any:
    answer = client.get(f"/openings/train.json?{query}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def question_queries(client: TestClient, ask: str) -> list[str]:
    """The queries of the first questions, at most 12."""
    n_questions = page_json(client, f"{BOOK}&ask={ask}")["questions"]
    return [f"{BOOK}&ask={ask}&number={number}" for number in range(1, min(n_questions, 12) + 1)]


@pytest.mark.parametrize("ask", ["first", "replies"])
def test_page_has_no_values_before_an_answer(client: TestClient, ask: str) -> None:
    questions = [page_json(client, query) for query in question_queries(client, ask)]
    for question in questions:
        assert question["verdict"] is None
        assert question["plays"] == []
        assert (question["first_play"] is None) == (ask == "first")
    different = {(question["first_roll"], question["first_play"], question["roll"]) for question in questions}
    assert len(different) == len(questions)


@pytest.mark.parametrize("ask", ["first", "replies"])
def test_answer_is_judged_by_its_loss(client: TestClient, ask: str) -> None:
    for query in question_queries(client, ask):
        for choice in page_json(client, query)["choices"]:
            answered = page_json(client, f"{query}&answer={quote(choice)}")
            (play,) = (row for row in answered["plays"] if row["play"] == choice)
            is_clear = play["loss"] > 1.96 * play["loss_standard_error"]
            assert (answered["verdict"] == "Right") == (play["loss"] == 0)
            assert (answered["verdict"] == "Wrong") == (play["loss"] >= 0.02 and is_clear)


@pytest.mark.parametrize("ask", ["first", "replies"])
def test_plays_after_an_answer_are_those_of_the_book(client: TestClient, ask: str) -> None:
    for query in question_queries(client, ask):
        question = page_json(client, query)
        plays = page_json(client, f"{query}&answer={quote(question['choices'][0])}")["plays"]
        losses = [row["loss"] for row in plays]
        assert losses == sorted(losses)
        assert losses[0] == 0
        sql = (
            f"select play from openings where objective = 'double-match-point' "
            f"and position_id = '{question['position_id']}' "
            f"and coalesce(reply_roll, first_roll) = '{question['roll']}' "
            f"and first_play {'is null' if ask == 'first' else 'is not null'} order by rank"
        )
        rows = client.get("/sql.json", params={"q": sql}).json()
        assert [row["play"] for row in plays] == [row["play"] for row in rows][: len(plays)]


def test_page_compares_the_player_with_the_book(client: TestClient) -> None:
    verdicts = ("agrees:", "disagree within the errors", "beyond the errors", "has not rolled out")
    for choice in page_json(client, BOOK)["choices"]:
        page = read(client, f"/openings/train?{BOOK}&answer={quote(choice)}")
        assert sum(verdict in page.text for verdict in verdicts) == 1, page.text
        positions = {link for link in page.links if link.startswith("/position/") and "away=1-1" in link}
        (position,) = {link for link in positions if "&play=" not in link}
        best, *_ = client.get(position.replace("?", ".json?", 1)).json()["hint"]
        assert best["play"] in page.text


def test_last_question_is_followed_by_the_first(client: TestClient) -> None:
    first = page_json(client, BOOK)
    assert page_json(client, f"{BOOK}&number={first['questions'] + 1}")["choices"] == first["choices"]


def test_page_links_to_answers_and_replies(client: TestClient) -> None:
    choices = page_json(client, BOOK)["choices"]
    page = read(client, f"/openings/train?{BOOK}")
    assert len([link for link in page.links if "answer=" in link]) == len(choices)
    answered = read(client, f"/openings/train?{BOOK}&answer={quote(choices[0])}")
    (replies,) = (link for link in answered.links if "ask=replies" in link and "roll=" in link)
    assert client.get(replies).status_code == 200
    assert f"/openings/train?{BOOK}" in read(client, f"/openings?{BOOK}").links


def book_row(play: str, win: float, win_gammon: float, lose_gammon: float) -> dict[str, Any]:
    """A row of the book with these chances, whose standard errors are 0.001, 0.002 and 0.003."""
    return {
        "play": play, "next_position_id": play, "win": win, "win_gammon": win_gammon, "lose_gammon": lose_gammon,
        "win_standard_error": 0.001, "win_gammon_standard_error": 0.002, "lose_gammon_standard_error": 0.003,
        "trials": 72,
    }  # fmt: skip


QUIET, BOLD = book_row("quiet", 0.52, 0.10, 0.10), book_row("bold", 0.50, 0.16, 0.18)


def test_gammon_wins_the_match_at_gammon_go() -> None:
    """A plain win has an mwc of a half."""
    best, second = weighed_plays([QUIET, BOLD], trainer.OBJECTIVES["gammon-go"].weighed)
    for play, row in ((best, BOLD), (second, QUIET)):
        assert play.play == row["play"]
        mwc = row["win_gammon"] + 0.5 * (row["win"] - row["win_gammon"])
        assert play.equity == pytest.approx(2 * mwc - 1)
        assert play.error == pytest.approx(hypot(0.001, 0.002))
    assert second.loss == pytest.approx(best.equity - second.equity)
    assert second.loss_error == pytest.approx(hypot(best.error, second.error))


def test_gammon_loses_the_match_at_gammon_save() -> None:
    """A plain loss has an mwc of a half."""
    best, second = weighed_plays([QUIET, BOLD], trainer.OBJECTIVES["gammon-save"].weighed)
    for play, row in ((best, QUIET), (second, BOLD)):
        assert play.play == row["play"]
        mwc = row["win"] + 0.5 * (1 - row["win"] - row["lose_gammon"])
        assert play.equity == pytest.approx(2 * mwc - 1)


@pytest.mark.parametrize(
    ("loss", "error", "verdict"),
    [(0.0, 0.0, "Right"), (0.03, 0.02, "Right within the errors"), (0.01, 0.001, "Nearly right"),
     (0.02, 0.001, "Wrong")],
)  # fmt: skip
def test_verdict_depends_on_loss_and_error(loss: float, error: float, verdict: str) -> None:
    assert verdict_text(BookPlay("8/5 6/5", "", 0.1, 0.001, loss, error, 72)) == verdict


@pytest.mark.parametrize(
    ("query", "message"),
    [("objective=x", "as objective, got"), ("ask=x", "as ask, got"), ("roll=33", "expected a first roll such as 31"),
     ("roll=<b>", "expected a first roll"), ("number=0", "from 1 to 99,999"), (f"{BOOK}&answer=<b>", "as answer, got")],
)  # fmt: skip
def test_wrong_values_are_refused(client: TestClient, query: str, message: str) -> None:
    answer = client.get(f"/openings/train.json?{query}")
    assert answer.status_code == 400
    assert message in answer.json()["error"]
    assert "<b>" not in client.get(f"/openings/train?{query}").text


def test_missing_book_and_roll_are_named(client: TestClient, empty: TestClient) -> None:
    assert "No such book here" in read(empty, "/openings/train").text
    assert page_json(empty, "objective=gammon-save")["questions"] == 0
    assert "The book has no such roll" in read(client, f"/openings/train?{BOOK}&roll=65").text
