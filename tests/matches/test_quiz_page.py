"""Tests of the page of a quiz: questions of every source, answers in the address, and wrong parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

from tests.subtests import each
from tests.web.reading import read

if TYPE_CHECKING:
    from starlette.testclient import TestClient


def page_json(client: TestClient, query: str = "") -> dict[str, Any]:
    """The JSON of the quiz page for this query."""
    answer = client.get(f"/quiz.json{query}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def source_query(row: dict[str, Any]) -> str:
    """The query that asks about one of the page's sources."""
    return f"?player={quote(row['player'])}&analysis={row['analysis']}" if row["player"] else f"?from={row['from']}"


def test_every_source_asks_and_answers(client: TestClient) -> None:
    """For every source, the page tells no values before an answer is chosen; the best answer is right."""
    sources = page_json(client)["sources"]
    assert {row["from"] for row in sources} == {"openings", "decisions", None}
    for row in sources:
        query = source_query(row)
        question = page_json(client, query)
        assert question["questions"] == row["questions"] or row["from"]  # decisions without a choice are not asked
        assert question["answers"] == []
        assert {question[name] for name in ("answer", "is_right", "made", "judge", "detail")} == {None}
        told = page_json(client, f"{query}&answer={quote(question['choices'][0])}")
        assert sorted(each["text"] for each in told["answers"]) == sorted(question["choices"])
        best = page_json(client, f"{query}&answer={quote(told['answers'][0]['text'])}")
        assert (best["is_right"], best["answers"][0]["loss"]) == (True, 0.0)


def test_wrong_answer_shows_both_boards(client: TestClient) -> None:
    """After an answer that is not the best, the page shows the best board and the chosen one."""
    choices = page_json(client, "?from=openings")["choices"]
    for choice in choices:
        where = f"/quiz?from=openings&answer={quote(choice)}"
        told = page_json(client, where.removeprefix("/quiz"))
        best = told["answers"][0]["text"]
        words = read(client, where).text
        assert f"{'Right' if told['is_right'] else 'Wrong'} : {choice}" in words
        assert f"Best: {best}" in words
        assert (f"Yours: {choice}" in words) == (choice != best)


def test_links_go_through_the_questions(client: TestClient) -> None:
    """Links lead to the next and previous question, to the answers, and from an answer to positions."""
    first = read(client, "/quiz?from=openings")
    count = page_json(client, "?from=openings")["questions"]
    assert "/quiz?from=openings&number=2" in first.links
    last = read(client, f"/quiz?from=openings&number={count}")
    assert f"/quiz?from=openings&number={count - 1}" in last.links
    assert f"/quiz?from=openings&number={count + 1}" in last.links
    answers = [link for link in first.links if "answer=" in link]
    assert len(answers) == len(page_json(client, "?from=openings")["choices"])
    places = [link for link in read(client, answers[0]).links if link.startswith("/position/XGID")]
    assert places
    assert client.get(places[0]).status_code == 200


def test_quiz_counts_what_is_left_and_ends(client: TestClient) -> None:
    """The address keeps the answers so far; an answer that is shown again counts once."""
    count = page_json(client, "?from=openings")["questions"]
    first = read(client, "/quiz?from=openings")
    assert f"Question 1 of {count}, {count - 1} left" in first.text
    assert "of 0 right" not in first.text
    best = page_json(client, f"?from=openings&answer={quote(page_json(client, '?from=openings')['choices'][0])}")[
        "answers"
    ][0]
    (link,) = {each for each in first.links if each.endswith(f"answer={quote_plus(best['text'])}")}
    answered = read(client, link)
    assert f"{count - 1} left, 1 of 1 right" in answered.text
    following = "/quiz?from=openings&number=2&answered=1&right=1"
    assert following in answered.links
    skipped = [each for each in read(client, following).links if each.endswith("number=3&answered=1&right=1")]
    assert len(skipped) == 1
    last = read(client, f"/quiz?from=openings&number={count}&answered=1&right=1")
    assert f"Question {count} of {count}, the last, 1 of 1 right" in last.text
    end = f"/quiz?from=openings&number={count + 1}&answered=1&right=1"
    assert end in last.links
    words = read(client, end).text
    assert "The quiz is over" in words
    assert f"1 of 1 right , {count - 1} questions without an answer." in words
    assert page_json(client, f"?from=openings&number={count + 1}")["key"] is None
    assert "No question was answered." in read(client, f"/quiz?from=openings&number={count + 1}").text


def test_filters_leave_fewer_questions(client: TestClient) -> None:
    every = page_json(client, "?from=openings")["questions"]
    assert page_json(client, "?from=openings&about=plays")["questions"] == every
    assert page_json(client, "?from=openings&about=cube")["questions"] == 0
    assert page_json(client, "?from=openings&loss=9")["questions"] == 0
    assert page_json(client, "?from=openings&phase=contact")["questions"] == every
    assert "No question is left" in read(client, "/quiz?from=openings&about=cube").text


@each(
    ("query", "status", "message"),
    [
        ("from=books", 400, "expected decisions or openings as from, got &#39;books&#39;"),
        ("theme=no-such", 400, "as theme, got"),
        ("phase=opening", 400, "expected contact, crashed or race as phase"),
        ("about=dice", 400, "expected plays or cube as about"),
        ("loss=nan", 400, "expected points from 0 to 9 as loss, got &#39;nan&#39;"),
        ("loss=much", 400, "expected points from 0 to 9 as loss"),
        ("number=0", 400, "expected a whole number from 1 to 99,999 as number"),
        ("from=openings&number=99999", 400, "as number, got 99,999"),
        ("answered=-1", 400, "expected a whole number from 0 to 99,999 as answered"),
        ("from=openings&answer=8/1", 400, "as answer, got &#39;8/1&#39;"),
        ("from=openings&player=eve", 400, "expected a player, or from with decisions or openings, got both"),
        ("player=eve", 404, "no errors of &#39;eve&#39; in this warehouse"),
    ],
)
def test_wrong_parameters_are_refused(client: TestClient, query: str, status: int, message: str) -> None:
    answer = client.get(f"/quiz?{query}")
    assert answer.status_code == status
    assert message in answer.text


def test_empty_warehouse_has_nothing_to_ask(empty: TestClient) -> None:
    assert "Nothing to ask about here" in read(empty, "/quiz").text
    assert page_json(empty)["sources"] == []
    assert empty.get("/quiz?from=openings").status_code == 404
