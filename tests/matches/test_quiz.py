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
    old, failed, learned, small, great = (
        question(roll, loss) for roll, loss in (("21", 0.1), ("31", 0.2), ("41", 0.9), ("51", 0.1), ("61", 0.5))
    )
    results = Results(
        10, {old.key: Result(2, 3, 1, 5), failed.key: Result(1, 1, 1, 9), learned.key: Result(5, 5, 0, 9)}
    )
    asked = [small, great, learned, failed, old]
    assert choose_questions(asked, results, 9) == [failed, old, great, small]
    assert choose_questions(asked, results, 2) == [failed, old]
    assert choose_questions([small, small], results, 9) == [small]


def test_questions_are_filtered() -> None:
    """Questions are filtered by theme, phase, subject and loss."""
    play, double, end = question("31", 0.1), question("00", 0.2, subject="double"), question("21", 0.3, text=BEAR_OFF)
    every = [play, double, end]

    def kept(**options: object) -> list[Question]:
        return filter_questions(every, **({"theme": None, "phase": None, "is_cube": None, "least_loss": 0.0} | options))  # type: ignore[arg-type]

    assert kept() == every
    assert kept(theme="opening") == [play, double]
    assert kept(phase="race") == kept(theme="bear-off") == [end]
    assert kept(is_cube=True) == [double]
    assert kept(is_cube=False) == [play, end]
    assert kept(least_loss=0.2) == [double, end]


def test_key_is_that_of_the_decision() -> None:
    assert question("31", 0.1).key == Question(START.format("31"), "play", 0.5, "elsewhere", "8/5 6/5").key
    assert len({question("31", 0.1).key, question("13", 0.1, subject="double").key, question("32", 0.1).key}) == 3


def test_order_of_answers_depends_on_the_seed_alone() -> None:
    plays = tuple(Answer(str(number), 0.0, number / 10) for number in range(5))
    asked = Question(START.format("31"), "play", 0.1, "here", answers=plays)
    orders = {tuple(each.text for each in asked.shuffled_answers(seed)) for seed in range(20)}
    assert len(orders) > 10
    assert asked.shuffled_answers(3) == asked.shuffled_answers(3)
    assert sorted(asked.shuffled_answers(3), key=lambda each: each.text) == list(plays)


def test_cube_answers_are_ordered_by_value() -> None:
    values = {"no double": 0.75, "take": 0.875, "pass": 1.0}
    assert cube_answers("double", values) == (Answer("double", 0.875, 0.0), Answer("no double", 0.75, 0.125))
    assert cube_answers("answer", values) == (Answer("take", -0.875, 0.0), Answer("pass", -1.0, 0.125))
    too_good = cube_answers("double", {"no double": 1.2, "take": 1.5, "pass": 1.0})
    assert [(answer.text, answer.loss) for answer in too_good] == [("no double", 0), ("double", pytest.approx(0.2))]


def test_typed_answers_are_recognized() -> None:
    shown = [Answer("8/5 6/5", 0.1, 0.0), Answer("no double", 0.0, 0.1)]
    for text, place in (("1", 0), ("8/5  6/5", 0), (" 2 ", 1), ("n", 1), ("No Double", 1)):
        assert answer_of(text.strip(), shown) is shown[place]
    for text in ("0", "3", "", "8/5", "-1", "9" * 30):
        assert answer_of(text, shown) is None


def test_player_evaluates_answers() -> None:
    """The player's answers are the best plays and the one that was made; in a match, equities are normalised."""
    player = LookaheadPlayer(pips_player())
    money = with_answers(Question(START.format("31"), "play", 0.2, "here", made="24/20"), player, CubeRules())
    texts = [answer.text for answer in money.answers]
    assert len(texts) == MOST_PLAYS + ("24/20" not in texts[:MOST_PLAYS])
    assert "24/20" in texts
    losses = [answer.loss for answer in money.answers]
    assert losses == sorted(losses)
    assert losses[0] == 0
    assert money.judge == player.label
    match = Question("XGID=-b----E-C---eE---c-e----B-:1:1:1:00:2:0:0:5:10", "double", 0.2, "here")
    cube = with_answers(match, player, CubeRules(met=published_met()))
    assert {answer.text for answer in cube.answers} == {"no double", "double"}
    values = [float(text) for text in re.findall(r"[+-][0-9.]+", cube.detail)]
    assert values[2] == 1.0
    assert all(-3 < value < 3 for value in values)


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
