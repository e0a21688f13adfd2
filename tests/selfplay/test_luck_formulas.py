"""Zare's figures of luck and hedging, published and computed again (reference: claims A12)."""

from __future__ import annotations

import re
from fractions import Fraction
from math import comb

import pytest

from bgdata.errors import UsageError
from bgdata.selfplay.luck_formulas import coins_within, rating_gap, win_share, wins_chance
from bgdata.studies.kinds.published_luck import published_rows
from tests.formats.samples import shared_file
from tests.together import each

GAMES, CHANCE, EXPECTED = 25, 0.6, 15

OURS = [0.1538, 0.1536, 0.3073, 352.2, 820.3, -69.5, 209.5, 499.8, 0.8811, 0.0675]


def figures() -> list[tuple[str, float, float, float]]:
    """What is said, the figure as published, ours, and how far they may be apart."""
    return [
        ("15 % of the time at most 12 wins", 0.15, wins_chance(GAMES, CHANCE, 0, 12), 0.005),
        ("15 % of the time 18 wins or more", 0.15, wins_chance(GAMES, CHANCE, 18, GAMES), 0.005),
        ("almost 1/3: off by more than 12 %", 1 / 3, 1 - wins_chance(GAMES, CHANCE, 13, 17), 0.03),
        ("350 rating points ahead", 350, rating_gap(CHANCE), 2.5),
        ("825 points ahead", 825, rating_gap(18 / GAMES), 5),
        ("65 points behind", -65, rating_gap(12 / GAMES), 5),
        ("luck-adjusted, as if 14 wins: 215 points ahead", 215, rating_gap(14 / GAMES), 6),
        ("luck-adjusted, as if 16 wins: 505 points ahead", 505, rating_gap(16 / GAMES), 6),
        ("88 % of the time 14 to 16", 0.88, coins_within(2 * GAMES, 10), 0.005),
        ("net skill of +0.135 = 6.8 % of a match", 0.068, (1 - 0.865) / 2, 0.0006),
    ]


@each(("said", "published", "ours", "apart"), figures)
def test_published_figures(said: str, published: float, ours: float, apart: float) -> None:
    assert ours == pytest.approx(published, abs=apart), said


def test_our_figures() -> None:
    assert [row[2] for row in figures()] == pytest.approx(OURS, rel=5e-4)


def test_figures_that_are_bounds() -> None:
    assert coins_within(2 * GAMES, 20) == pytest.approx(0.9974, abs=5e-5)  # "over 99 % of the time between 13 and 17"
    # "more than 10 times as many matches": the variance of raw results, and of two coins of 0.1 wins
    assert pytest.approx(12) == CHANCE * (1 - CHANCE) / (2 * 0.1**2)


ROW = re.compile(r"^(?:A/E/L:|Average/Evaluation/Luck:\n)? ?(-?[\d.]+) / (-?[\d.]+) / ([^\d.]*)([\d.]+)$", re.MULTILINE)


def test_the_example_match() -> None:
    """57 rolls: the luck printed is evaluation less average but for two signs; its sum has a third one turned."""
    text = shared_file("..", "seed", "004_3e9704b165f92b66.txt").read_text()
    found = ROW.findall(text.replace("&minus", "-").replace("−", "-"))
    assert len(found) == 57
    recomputed = [float(evaluation) - float(average) for average, evaluation, _, _ in found]
    printed = [(-1 if "-" in sign else 1) * float(luck) for _, _, sign, luck in found]
    wrong = [row for row in range(57) if abs(printed[row] - recomputed[row]) > 0.0005]
    assert [(found[row][0], found[row][1], printed[row]) for row in wrong] == [
        ("0.707", "0.634", 0.073), ("0.432", "0.386", 0.046),
    ]  # fmt: skip
    assert [printed[row] for row in wrong] == pytest.approx([-recomputed[row] for row in wrong])
    assert sum(printed) == pytest.approx(0.947)
    assert sum(recomputed) == pytest.approx(0.709)
    one_corrected = [sum(printed) - 2 * printed[row] for row in wrong]
    assert one_corrected == pytest.approx([0.801, 0.855])
    assert min(abs(total - 0.865) for total in (0.947, 0.709, *one_corrected)) > 0.009
    turned = [row for row in range(57) if sum(printed) - 2 * printed[row] == pytest.approx(0.865)]
    assert [found[row][:2] for row in turned] == [("0.548", "0.589")]  # Snowie's roll of move 22, added as -.041
    stored = [(float(row["average"]), float(row["evaluation"]), float(row["printed_luck"])) for row in published_rows()]
    assert stored == list(zip(*([float(row[n]) for row in found] for n in (0, 1)), printed, strict=True))
    assert (1 - sum(recomputed)) / 2 == pytest.approx(0.1455)  # net skill, as a share of a match


def test_chances_of_wins() -> None:
    assert wins_chance(4, 0.5, 0, 4) == 1
    assert [wins_chance(4, 0.5, n, n) * 16 for n in range(5)] == [comb(4, n) for n in range(5)]
    assert wins_chance(4, 0.25, 3, 99) == pytest.approx((4 * 3 + 1) / 256)
    assert (wins_chance(0, 0.3, 0, 0), wins_chance(5, 1, 5, 5), wins_chance(5, 0.5, 4, 3)) == (1, 1, 0)
    assert coins_within(2, 0) == 0.5
    assert coins_within(1, 0.5) == 0
    assert coins_within(3, 1) == 0.75


def test_ratings_and_shares_turn_around() -> None:
    assert win_share(0) == 0.5
    assert rating_gap(0.5, 7) == 0
    assert rating_gap(10 / 11) == pytest.approx(2000)
    assert rating_gap(10 / 11, 4) == pytest.approx(1000)
    for gap in (-400, -1, 0, 30, 777):
        for length in (1, 7, 25):
            assert rating_gap(win_share(gap, length), length) == pytest.approx(gap, abs=1e-9)


def test_wrong_inputs() -> None:
    for games, chance in ((-1, 0.5), (3, -0.1), (3, 1.1)):
        with pytest.raises(UsageError, match=f"expected 0 games or more with a chance from 0 to 1, got {games} with"):
            wins_chance(games, chance, 0, 1)
    for share, length in ((0, 1), (1, 1), (0.5, 0)):
        with pytest.raises(
            UsageError, match=f"expected a share between 0 and 1 of matches .*, got {share} to {length}"
        ):
            rating_gap(share, length)


def test_thousands_of_games() -> None:
    """The exact sums are of fractions."""
    for games, fewest, most in ((2000, 900, 1100), (50, 0, 50), (12, 3, 5)):
        exact = sum(Fraction(comb(games, won), 2**games) for won in range(fewest, most + 1))
        assert wins_chance(games, 0.5, fewest, most) == pytest.approx(float(exact), rel=1e-10)
    assert (wins_chance(5, 0.0, 0, 2), wins_chance(5, 1.0, 0, 4), wins_chance(5, 1.0, 5, 9)) == (1, 0, 1)
    assert (wins_chance(3000, 1.0, 0, 2999), wins_chance(3000, 0.0, 0, 2999)) == (0, 1)
    assert 0.2 < coins_within(1100, 10) < 0.3
