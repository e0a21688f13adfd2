"""Comparisons of a book with others: clearly worse plays, different equities, and plays that the book lacks."""

from typing import Any

import numpy as np
import pytest

from bgdata.errors import UsageError
from bgdata.evaluation.chances import Evaluations
from bgdata.game.codec import Boards
from bgdata.game.plays import legal_plays, parse_play
from bgdata.game.position import START
from bgdata.openings import steps
from bgdata.openings.kinds.openings import FIRST_ROLLS

PLAYS = ("24/23 13/8", "13/8 6/5", "13/7")


def decision(roll: str, plays: tuple[str, ...], *, objective: str = "money", **changes: Any) -> list[dict[str, Any]]:
    """A decision whose candidates lose 0.02 points more each, with standard errors of 0.005."""
    after = {str(play): play.next_position.id for play in legal_plays(START, roll)}
    return [
        {
            "first_roll": roll, "first_play": None, "reply_roll": None, "play": play, "rank": rank,
            "equity": 0.01 - 0.02 * rank, "standard_error": 0.002, "loss": 0.02 * rank,
            "loss_standard_error": 0.005 * bool(rank), "objective": objective, "next_position_id": after.get(play),
        } | changes
        for rank, play in enumerate(plays)
    ]  # fmt: skip


BOOK = [decision("51", PLAYS), decision("31", ("8/5 6/5", "24/23 13/10"))]
REPLY = decision("51", ("8/5 6/5",), first_play="13/8 6/5", reply_roll="31")


def published_openings(**content: Any) -> steps.PublishedOpenings:
    return steps.PublishedOpenings("somebody", "a book", "1999", "http://nowhere", **content)


@pytest.mark.parametrize(
    ("plays", "expected"),
    [
        (("24/23 13/8",), []),
        (("13/7", "24/23 13/8"), []),  # roughly equal by the source, and one of them is best
        (("13/8 6/5",), [("13/8 6/5", 0.02, 0.005)]),
        (("13/7",), [("13/7", 0.04, 0.005)]),
        (("24/18",), [("24/18", None, None)]),
    ],
)
def test_published_plays_that_lose_are_differences(plays: tuple[str, ...], expected: list[tuple[Any, ...]]) -> None:
    rows = list(steps.published_differences([*BOOK, REPLY], published_openings(plays={"51": plays})))
    assert [(row["play"], row["difference"], row["standard_error"]) for row in rows] == expected
    for row in rows:
        assert row["source"] == "somebody"
        assert row["best_play"] == PLAYS[0]
        assert row["quantity"] == "loss"


def test_loss_within_three_standard_errors_is_not_a_difference() -> None:
    near = [decision("51", PLAYS, loss_standard_error=0.0067)]
    assert list(steps.published_differences(near, published_openings(plays={"51": ("13/8 6/5",)}))) == []


def test_published_equities_that_differ_are_listed() -> None:
    """By more than three standard errors, or of a play that was not rolled out."""
    equities = (
        steps.PublishedEquity("51", "24/23 13/8", 0.0159, 0.0001),
        steps.PublishedEquity("51", "13/8 6/5", -0.025, 0.0001),
        steps.PublishedEquity("51", "13/7", 0.0, 0.013),
        steps.PublishedEquity("51", "24/18", 0.0, 0.001),
        steps.PublishedEquity("62", "24/16", 0.0, 0.001),  # a roll that the book lacks
    )
    differing, not_rolled_out = steps.published_differences(BOOK, published_openings(equities=equities))
    assert differing["play"] == "13/8 6/5"
    assert differing["difference"] == pytest.approx(-0.015)
    assert differing["standard_error"] == pytest.approx(np.hypot(0.002, 0.0001))
    assert not_rolled_out["play"] == "24/18"
    assert not_rolled_out["difference"] is None


class SampleEvaluator:
    """An evaluator with fixed chances of the opponent to win, and to win a gammon, after each play."""

    def __init__(self, *chances: tuple[float, float]) -> None:
        self.chances = chances

    def evaluate_many(self, boards: Boards) -> Evaluations:
        chances = np.zeros((len(boards), 5), np.float32)
        chances[:, [0, 1]] = self.chances
        return Evaluations(chances, np.zeros(len(boards), np.int8))


@pytest.mark.parametrize(("objective", "play"), [("money", "13/7"), ("double-match-point", "13/8 6/5")])
def test_evaluators_are_compared_by_the_objective(objective: str, play: str) -> None:
    book = [decision("51", PLAYS, objective=objective)]
    differs: Any = SampleEvaluator((0.5, 0.5), (0.4, 0.4), (0.45, 0.1))
    (row,) = steps.evaluator_differences(book, "somebody", differs)
    assert row["play"] == play
    assert row["best_play"] == PLAYS[0]
    assert row["first_roll"] == "51"
    assert row["reply_roll"] is None
    agrees: Any = SampleEvaluator((0.1, 0.1), (0.4, 0.4), (0.45, 0.1))
    assert list(steps.evaluator_differences(book, "somebody", agrees)) == []


def test_decisions_are_found_by_roll_and_reply() -> None:
    book = [*BOOK, REPLY]
    assert steps.first_rolls(book) == BOOK
    assert steps.find_first_roll(book, "31") == BOOK[1]
    assert steps.find_reply(book, "51", "13/8 6/5", "31") == REPLY


def test_decisions_that_a_book_lacks_are_refused() -> None:
    book = [*BOOK, REPLY]
    with pytest.raises(UsageError, match=r"expected a first roll of this book \(51, 31\), got 62"):
        steps.find_first_roll(book, "62")
    message = r"expected a play of 51 that this book answers \(13/8 6/5\), got '24/23 13/8'"
    with pytest.raises(UsageError, match=message):
        steps.find_reply(book, "51", "", "31")
    with pytest.raises(UsageError, match=r"expected a play of 31 that this book answers \(none\), got '13/9'"):
        steps.find_reply(book, "31", "13/9", "31")


def test_sources_are_named() -> None:
    sources = steps.published_sources()
    assert len({source.name for source in sources}) == len(sources) >= 3
    for source in sources:
        assert source.source
        assert source.place.startswith("http")
        assert source.plays or source.equities


@pytest.mark.parametrize("source", steps.published_sources(), ids=lambda source: source.name)
def test_published_plays_are_legal_and_in_our_notation(source: steps.PublishedOpenings) -> None:
    plays = [(roll, play) for roll, plays in source.plays.items() for play in plays]
    plays += [(row.roll, row.play) for row in source.equities]
    for roll, play in plays:
        assert roll in FIRST_ROLLS
        assert str(parse_play(play, START, roll)) == play


def test_published_equities_have_standard_errors() -> None:
    (stick,) = (source for source in steps.published_sources() if source.name == "Stick 2006")
    assert stick.equities[0] == steps.PublishedEquity("51", "24/23 13/8", 0.0069, 0.0007)
    for source in steps.published_sources():
        assert all(row.standard_error > 0 for row in source.equities)
