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
    page: dict[str, Any] = answer.json()
    return page


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
        if row["player"]:  # from a table, decisions without a choice are not asked
            assert question["questions"] == row["questions"]
        assert question["answers"] == []
        for name in ("answer", "is_right", "made", "judge", "detail"):
            assert question[name] is None
        answered = page_json(client, f"{query}&answer={quote(question['choices'][0])}")
        assert sorted(answer["text"] for answer in answered["answers"]) == sorted(question["choices"])
        best = answered["answers"][0]["text"]
        answered_best = page_json(client, f"{query}&answer={quote(best)}")
        assert answered_best["is_right"]
        assert answered_best["answers"][0]["loss"] == 0.0


def test_wrong_answer_shows_both_boards(client: TestClient) -> None:
    for choice in page_json(client, "?from=openings")["choices"]:
        query = f"?from=openings&answer={quote(choice)}"
        answered = page_json(client, query)
        best = answered["answers"][0]["text"]
        text = read(client, f"/quiz{query}").text
        assert f"{'Right' if answered['is_right'] else 'Wrong'} : {choice}" in text
        assert f"Best: {best}" in text
        assert (f"Yours: {choice}" in text) == (choice != best)


def test_links_go_through_the_questions(client: TestClient) -> None:
    first = read(client, "/quiz?from=openings")
    count = page_json(client, "?from=openings")["questions"]
    assert "/quiz?from=openings&number=2" in first.links
    last = read(client, f"/quiz?from=openings&number={count}")
    assert f"/quiz?from=openings&number={count - 1}" in last.links
    assert f"/quiz?from=openings&number={count + 1}" in last.links
    answers = [link for link in first.links if "answer=" in link]
    assert len(answers) == len(page_json(client, "?from=openings")["choices"])
    positions = [link for link in read(client, answers[0]).links if link.startswith("/position/XGID")]
    assert positions
    assert client.get(positions[0]).status_code == 200


def test_quiz_counts_answers_and_questions_left(client: TestClient) -> None:
    """The address keeps the answers so far; an answer that is shown again counts once."""
    page = page_json(client, "?from=openings")
    count = page["questions"]
    first = read(client, "/quiz?from=openings")
    assert f"Question 1 of {count}, {count - 1} left" in first.text
    assert "of 0 right" not in first.text
    best = page_json(client, f"?from=openings&answer={quote(page['choices'][0])}")["answers"][0]["text"]
    (link,) = {link for link in first.links if link.endswith(f"answer={quote_plus(best)}")}
    answered = read(client, link)
    assert f"{count - 1} left, 1 of 1 right" in answered.text
    second = "/quiz?from=openings&number=2&answered=1&right=1"
    assert second in answered.links
    skipping = [link for link in read(client, second).links if link.endswith("number=3&answered=1&right=1")]
    assert len(skipping) == 1


def test_quiz_ends_after_its_last_question(client: TestClient) -> None:
    count = page_json(client, "?from=openings")["questions"]
    last = read(client, f"/quiz?from=openings&number={count}&answered=1&right=1")
    assert f"Question {count} of {count}, the last, 1 of 1 right" in last.text
    end = f"/quiz?from=openings&number={count + 1}&answered=1&right=1"
    assert end in last.links
    text = read(client, end).text
    assert "The quiz is over" in text
    assert f"1 of 1 right , {count - 1} questions without an answer." in text
    assert page_json(client, f"?from=openings&number={count + 1}")["key"] is None
    assert "No question was answered." in read(client, f"/quiz?from=openings&number={count + 1}").text


def test_filters_leave_fewer_questions(client: TestClient) -> None:
    n_questions = page_json(client, "?from=openings")["questions"]
    assert page_json(client, "?from=openings&about=plays")["questions"] == n_questions
    assert page_json(client, "?from=openings&about=cube")["questions"] == 0
    assert page_json(client, "?from=openings&loss=9")["questions"] == 0
    assert page_json(client, "?from=openings&phase=contact")["questions"] == n_questions
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
