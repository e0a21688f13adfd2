"""The match equity table class: scores, results of games, take points, sides, and invalid tables."""

from typing import Any

import numpy as np
import pytest

from bgdata.equity.match_equity import GameMwc, MatchEquity
from bgdata.errors import InvalidParameterError, InvalidScoreError
from bgdata.game.match import MatchScore

# 1-away to 4-away: made up, and simple to work out by hand
BEFORE = np.array([[0.5, 0.7, 0.75, 0.8], [0.3, 0.5, 0.6, 0.7], [0.25, 0.4, 0.5, 0.6], [0.2, 0.3, 0.4, 0.5]])
POST = [0.5, 0.49, 0.32, 0.31]
MET = MatchEquity.of("hand", BEFORE, POST)
FAVOURITE = MatchEquity.of("favourite", BEFORE + 0.02, [0.51, 0.5, 0.34, 0.33], [0.49, 0.47, 0.3, 0.29])


def test_mwc_at_scores_is_looked_up() -> None:
    assert MET.length == 4
    assert MET.post_crawford_length == 4
    assert MET.mwc(2, 3) == 0.6
    assert MET.mwc(1, 3) == 0.75
    assert MET.mwc(3, 1, is_post_crawford=True) == 0.32
    assert MET.mwc(1, 3, is_post_crawford=True) == pytest.approx(0.68)
    assert MET.mwc(1, 1) == MET.mwc(1, 1, is_post_crawford=True) == 0.5
    assert repr(MET) == "MatchEquity(hand, to 4-away)"


@pytest.mark.parametrize("away", [0, -1, -8])
def test_side_without_points_to_go_has_won(away: int) -> None:
    assert MET.mwc(away, 2) == 1.0
    assert MET.mwc(2, away) == 0.0


def test_mwc_of_score_objects_is_the_same() -> None:
    assert MET.at(MatchScore(1, 3, is_crawford=True)) == 0.75
    assert MET.at(MatchScore(1, 3)) == pytest.approx(0.68)
    assert MET.at(MatchScore(2, 3)) == 0.6


@pytest.mark.parametrize(
    ("score", "points", "expected"),
    [
        (MatchScore(2, 3), 1, 0.75),  # the Crawford game is next
        (MatchScore(2, 3), -1, 0.5),
        (MatchScore(2, 3), -2, 0.3),
        (MatchScore(2, 3), 2, 1.0),
        (MatchScore(2, 3), -3, 0.0),
        (MatchScore(1, 3, is_crawford=True), -1, 0.51),  # after it
        (MatchScore(1, 3), -1, 0.51),
        (MatchScore(1, 3), -2, 0.5),
        (MatchScore(3, 1), 2, 0.5),
    ],
)
def test_mwc_after_a_game_depends_on_its_points(score: MatchScore, points: int, expected: float) -> None:
    assert MET.after(score, points) == expected


def test_game_values_follow_from_the_table() -> None:
    game = MET.game(MatchScore(4, 4))
    assert game == GameMwc((0.6, 0.7, 0.8), (0.4, 0.3, 0.2))
    assert game.gammon_value == pytest.approx(0.1 / 0.2)
    assert MET.game(MatchScore(4, 4), 4) == GameMwc((1.0, 1.0, 1.0), (0.0, 0.0, 0.0))
    assert MET.game(MatchScore(4, 4), 4).gammon_value == 0


def test_take_points_follow_from_the_table() -> None:
    score = MatchScore(4, 4)
    assert MET.take_point(score) == pytest.approx((0.4 - 0.3) / (0.7 - 0.3))
    assert MET.take_point(score, 2) == pytest.approx((0.3 - 0.0) / (1.0 - 0.0))
    after_loss = 0.8 * 0.3 + 0.2 * 0.0
    assert MET.take_point(score, lose_gammon_share=0.2) == pytest.approx((0.4 - after_loss) / (0.7 - after_loss))
    after_win = 0.8 * 0.7 + 0.2 * 1.0
    assert MET.take_point(score, win_gammon_share=0.2) == pytest.approx((0.4 - 0.3) / (after_win - 0.3))
    assert MET.take_point(MatchScore(4, 2), 2) == 0.0
    assert MET.take_point(MatchScore(2, 1)) == pytest.approx(0.0)


def test_asymmetry_is_how_much_a_table_favours_a_side() -> None:
    assert MET.asymmetry == pytest.approx(0, abs=1e-15)
    assert FAVOURITE.asymmetry == pytest.approx(0.04)


def test_flip_exchanges_the_sides() -> None:
    assert FAVOURITE.mwc(3, 1, is_post_crawford=True) == 0.34
    assert FAVOURITE.mwc(1, 3, is_post_crawford=True) == 0.7
    flipped = FAVOURITE.flip()
    assert flipped.mwc(2, 3) == pytest.approx(1 - 0.42)
    assert flipped.mwc(3, 1, is_post_crawford=True) == pytest.approx(0.3)
    assert flipped.mwc(0, 1) == 1.0
    assert flipped.mwc(1, 0) == 0.0
    assert np.allclose(flipped.flip().cells, FAVOURITE.cells, rtol=0, atol=1e-15, equal_nan=True)


def test_cells_have_the_layout_of_kernels() -> None:
    assert MET.cells.shape == (2, 5, 5)
    assert MET.cells.flags.c_contiguous
    with pytest.raises(ValueError, match="read-only"):
        MET.cells[0, 1, 1] = 0.4
    assert (MET.cells[:, 0, 1:] == 1).all()
    assert (MET.cells[:, 1:, 0] == 0).all()


@pytest.mark.parametrize(
    ("before", "post_crawford", "message"),
    [
        ([[0.5, 1.2], [-0.2, 0.5]], [0.5], r"expected chances from 0 to 1 in x, got 1\.2"),
        ([[np.nan]], [0.5], "expected chances from 0 to 1 in x, got nan"),
        ([[0.5, 0.7]], [0.5], "expected a square table of 1 to 64 points .* got x of 1x2"),
        ([0.5], [0.5], "expected a square table of 1 to 64 points to go, got x of 1$"),
        (np.full((65, 65), 0.5), [0.5], "expected a square table .*, got x of 65x65"),
        (BEFORE, [*POST, 0.2], "expected 1 to 4 post-crawford chances, .* got 5"),
        (BEFORE, [], "expected 1 to 4 post-crawford chances, as x has points to go, got 0"),
        (BEFORE, [0.6], r"expected chances at 1-away 1-away .* sum to 1, got 0\.6 and 0\.6"),
        (
            BEFORE + 0.02,
            POST,
            r"expected both sides to have the same chances, got .* at \d-away \d-away and .* the other way round",
        ),
    ],
)
def test_invalid_tables_are_refused(before: Any, post_crawford: list[float], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        MatchEquity.of("x", before, post_crawford)


def test_post_crawford_chances_of_a_symmetric_table_must_agree() -> None:
    with pytest.raises(
        InvalidParameterError,
        match=r"expected both sides to have the same chances, got 0\.52 at 1-away 2-away post-crawford and 0\.49",
    ):
        MatchEquity.of("x", BEFORE, POST, [0.5, 0.48], is_symmetric=True)


@pytest.mark.parametrize(
    ("away", "opponent_away", "is_post_crawford", "message"),
    [
        (5, 2, False, "expected at most 4 points to go, as hand has, got 5-away 2-away"),
        (2, 5, False, "expected at most 4 points to go, as hand has, got 2-away 5-away"),
        (2, 3, True, "expected a score that hand has, got 2-away 3-away post-crawford"),
        (0, 0, False, "expected one winner of the match, got 0-away 0-away"),
    ],
)
def test_invalid_scores_are_refused(away: int, opponent_away: int, is_post_crawford: bool, message: str) -> None:
    with pytest.raises(InvalidScoreError, match=message):
        MET.mwc(away, opponent_away, is_post_crawford=is_post_crawford)


def test_scores_beyond_a_short_row_are_refused() -> None:
    short = MatchEquity.of("short", BEFORE, POST[:3])
    assert short.post_crawford_length == 3
    assert short.mwc(3, 1, is_post_crawford=True) == 0.32
    for score in ((4, 1), (1, 4)):
        with pytest.raises(InvalidScoreError, match=r"expected a score that short has, got .* post-crawford"):
            short.mwc(*score, is_post_crawford=True)


@pytest.mark.parametrize("away", [1.0, 1.5, True, "1", None, [1]])
def test_points_to_go_must_be_integers(away: Any) -> None:
    met = MatchEquity.of("example", [[0.5, 0.7], [0.3, 0.5]], [0.5, 0.49])
    for score in ((away, 1), (1, away)):
        with pytest.raises(InvalidScoreError, match="expected points to go as integers, got"):
            met.mwc(*score)
    assert met.mwc(np.int8(1), np.int64(2)) == met.mwc(1, 2)  # type: ignore[arg-type]
