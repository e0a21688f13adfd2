"""Tests of quizzes: which questions are asked when, and what counts as right."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bgdata.equity.cube import CubeRules
from bgdata.errors import CorruptFileError, StorageError
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.matches.quiz import (
    BOXES,
    MOST_PLAYS,
    Answer,
    Question,
    Result,
    Results,
    answer_of,
    choose_questions,
    cube_answers,
    filter_questions,
    format_results,
    read_results,
    with_answers,
)
from tests.equity.samples import published_met
from tests.evaluation.sample_networks import pips_player
from tests.subtests import each

START = "XGID=-b----E-C---eE---c-e----B-:0:0:1:{}:0:0:0:0:10"
BEAR_OFF = "XGID=-BB--------------------bb-:0:0:1:{}:0:0:0:0:10"


def question(roll: str, loss: float, *, text: str = START, subject: str = "play") -> Question:
    return Question(text.format(roll), subject, loss, "here")


def test_right_answers_move_up_and_wrong_ones_to_the_first_box() -> None:
    results = Results()
    boxes = []
    for is_right in (True, True, False, True, True, True, True, True):
        results.sessions += 1
        boxes.append(results.add("a", is_right=is_right).box)
    assert boxes == [1, 2, 1, 2, 3, 4, 5, 5]
    assert results.by_key["a"] == Result(BOXES, 8, 1, 8)


@each(("box", "pause"), [(1, 1), (2, 2), (3, 4), (4, 8), (5, 16)])
def test_boxes_are_asked_after_longer_and_longer_pauses(box: int, pause: int) -> None:
    results = Results(100, {"a": Result(box, 1, 0, 100)})
    due = []
    for session in range(101, 120):
        results.sessions = session
        due.append(results.is_due("a"))
    assert due == [number >= pause for number in range(1, 20)]


def test_due_questions_come_first() -> None:
    """Due questions of low boxes come first, then new ones, the greatest loss first; those that are not due are left
    out."""
    due, failed, learned = question("21", 0.1), question("31", 0.2), question("41", 0.9)
    small_loss, great_loss = question("51", 0.1), question("61", 0.5)
    results = Results(
        10, {due.key: Result(2, 3, 1, 5), failed.key: Result(1, 1, 1, 9), learned.key: Result(5, 5, 0, 9)}
    )
    questions = [small_loss, great_loss, learned, failed, due]
    assert choose_questions(questions, results, 9) == [failed, due, great_loss, small_loss]
    assert choose_questions(questions, results, 2) == [failed, due]
    assert choose_questions([small_loss, small_loss], results, 9) == [small_loss]


def test_questions_are_filtered() -> None:
    play, double, bearoff = (
        question("31", 0.1),
        question("00", 0.2, subject="double"),
        question("21", 0.3, text=BEAR_OFF),
    )

    def filtered(
        theme: str | None = None, phase: str | None = None, is_cube: bool | None = None, least_loss: float = 0.0
    ) -> list[Question]:
        questions = [play, double, bearoff]
        return filter_questions(questions, theme=theme, phase=phase, is_cube=is_cube, least_loss=least_loss)

    assert filtered() == [play, double, bearoff]
    assert filtered(theme="opening") == [play, double]
    assert filtered(theme="bear-off") == [bearoff]
    assert filtered(phase="race") == [bearoff]
    assert filtered(is_cube=True) == [double]
    assert filtered(is_cube=False) == [play, bearoff]
    assert filtered(least_loss=0.2) == [double, bearoff]


def test_key_depends_on_the_decision_alone() -> None:
    play = question("31", 0.1)
    assert play.key == Question(START.format("31"), "play", 0.5, "elsewhere", "8/5 6/5").key
    assert play.key != question("13", 0.1, subject="double").key
    assert play.key != question("32", 0.1).key


def test_order_of_answers_depends_on_the_seed_alone() -> None:
    answers = tuple(Answer(str(number), 0.0, number / 10) for number in range(5))
    play = Question(START.format("31"), "play", 0.1, "here", answers=answers)
    assert play.shuffled_answers(3) == play.shuffled_answers(3)
    assert set(play.shuffled_answers(3)) == set(answers)
    orders = {tuple(play.shuffled_answers(seed)) for seed in range(20)}
    assert len(orders) > 10


def test_cube_answers_are_ordered_by_value() -> None:
    values = {"no double": 0.75, "take": 0.875, "pass": 1.0}
    assert cube_answers("double", values) == (Answer("double", 0.875, 0.0), Answer("no double", 0.75, 0.125))
    assert cube_answers("answer", values) == (Answer("take", -0.875, 0.0), Answer("pass", -1.0, 0.125))
    too_good = cube_answers("double", {"no double": 1.2, "take": 1.5, "pass": 1.0})
    assert [(answer.text, answer.loss) for answer in too_good] == [("no double", 0), ("double", pytest.approx(0.2))]


@each(
    ("typed", "index"),
    [("1", 0), ("8/5  6/5", 0), ("2", 1), ("n", 1), ("No Double", 1),
     ("0", None), ("3", None), ("", None), ("8/5", None), ("-1", None), ("9" * 30, None)],
)  # fmt: skip
def test_typed_answers_are_recognized(typed: str, index: int | None) -> None:
    """An answer is its number, its text or the beginning of a cube action."""
    answers = [Answer("8/5 6/5", 0.1, 0.0), Answer("no double", 0.0, 0.1)]
    assert answer_of(typed, answers) is (None if index is None else answers[index])


def test_answers_are_the_best_plays_and_the_one_made() -> None:
    player = LookaheadPlayer(pips_player())
    play = with_answers(Question(START.format("31"), "play", 0.2, "here", made="24/20"), player, CubeRules())
    texts = [answer.text for answer in play.answers]
    assert "24/20" in texts
    assert len(texts) == MOST_PLAYS + ("24/20" not in texts[:MOST_PLAYS])
    losses = [answer.loss for answer in play.answers]
    assert losses == sorted(losses)
    assert losses[0] == 0
    assert play.judge == player.label


def test_equities_of_a_match_are_normalised() -> None:
    double = Question("XGID=-b----E-C---eE---c-e----B-:1:1:1:00:2:0:0:5:10", "double", 0.2, "here")
    judged = with_answers(double, LookaheadPlayer(pips_player()), CubeRules(met=published_met()))
    assert {answer.text for answer in judged.answers} == {"no double", "double"}
    equities = [float(text) for text in re.findall(r"[+-][0-9.]+", judged.detail)]
    assert equities[2] == 1.0  # of a pass
    assert max(map(abs, equities)) < 3


def test_results_are_read_again(tmp_path: Path) -> None:
    path = tmp_path / "quiz.json"
    assert read_results(path) == Results()
    results = Results(3, {"b": Result(1, 2, 1, 3), "a": Result(2, 1, 0, 1)})
    path.write_text(format_results(results))
    assert read_results(path) == results
    assert list(json.loads(path.read_text())["questions"]) == ["a", "b"]


@each(
    "content",
    [
        "", "[]", "{}", '{"sessions": 1}', '{"sessions": -1, "questions": {}}', '{"sessions": 1, "questions": []}',
        '{"sessions": 1, "questions": {"a": {"box": 6, "asked": 1, "wrong": 0, "session": 1}}}',
        '{"sessions": 1, "questions": {"a": {"box": 1, "asked": 1, "wrong": 0.5, "session": 1}}}',
        '{"sessions": 1, "questions": {"a": {"box": 1}}}', "\x00",
    ],
)  # fmt: skip
def test_damaged_results_are_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "quiz.json"
    path.write_text(content)
    with pytest.raises(CorruptFileError, match=r"expected results of a quiz in .*; to begin anew, delete it"):
        read_results(path)


def test_folder_as_results_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="expected results of a quiz"):
        read_results(tmp_path)
