"""Induced match equity tables compared with the published table, a slow reference, a diffusion, and other tables."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.equity.match_equity import MatchEquity
from bgdata.equity.met_induction import OpeningStates, crawford_row, induced_table, post_crawford_row, slopes
from bgdata.errors import InvalidParameterError
from bgdata.formats.lines import read_bytes
from bgdata.formats.met_files import parse_met
from tests.equity import published
from tests.reference.cube import MatchReference
from tests.reference.match_equity import described_post_crawford, described_table, diffusion_table

INSTALLED = Path("/usr/share/gnubg/met")  # tables of Debian's gnubg-data
ROW = (1 - np.array(published.POST_CRAWFORD)) / 2
RATE = 2 * published.GAMMON_CHANCE


@pytest.fixture(scope="module")
def table() -> MatchEquity:
    return induced_table("published", ROW, RATE)


def installed_cells(name: str) -> NDArray[np.float64]:
    """The mwc to 12-away before the Crawford game, from a table that is installed with gnubg. Skips the test if it is
    missing."""
    path = INSTALLED / name
    if not path.is_file():
        pytest.skip(f"no {path} (Debian package gnubg-data)")
    table = parse_met(read_bytes(path)).table
    assert table is not None
    assert table.before is not None
    return table.before[:12, :12]


def random_states(seed: int) -> OpeningStates:
    """States with chances similar to those of the opening."""
    generator = np.random.default_rng(seed)
    weights = generator.random(330)
    win = 0.5 + 0.06 * generator.standard_normal(330)
    gammons = np.abs(0.13 + 0.03 * generator.standard_normal((330, 2)))
    backgammons = gammons * 0.1 * generator.random((330, 2))
    chances = np.column_stack([win, gammons[:, 0], backgammons[:, 0], gammons[:, 1], backgammons[:, 1]])
    return OpeningStates(weights / weights.sum(), chances)


def test_cells_match_the_published_table(table: MatchEquity) -> None:
    differences = [
        abs(2 * table.mwc(away, opponent_away) - 1 - equity)
        for away, equities in enumerate(published.TABLE, start=1)
        for opponent_away, equity in enumerate(equities, start=away + 1)
    ]
    assert len(differences) == 12 * 11 / 2
    assert max(differences) < 0.0006
    assert [table.mwc(away, away) for away in range(1, 13)] == [0.5] * 12


def test_mwc_matches_the_published_chances(table: MatchEquity) -> None:
    """Mwc is within 0.05 of the published percentages, which are printed to 0.1; the published row is rounded too,
    which adds 0.0002 at 3-away 11-away."""
    for away, percents in enumerate(published.MWC_PERCENT, start=1):
        for opponent_away, percent in enumerate(percents, start=away + 1):
            assert abs(100 * table.mwc(away, opponent_away) - percent) < 0.0502
    for away, percent in enumerate(published.POST_CRAWFORD_MWC_PERCENT, start=1):
        assert abs(100 * table.mwc(away, 1, is_post_crawford=True) - percent) < 0.0501


def test_crawford_row_matches_the_publication() -> None:
    row = (1 - np.array(published.EARLIER_POST_CRAWFORD)) / 2
    equities = 2 * crawford_row(row, 2 * published.EARLIER_GAMMON_CHANCE) - 1
    assert np.abs(equities - published.EARLIER_CRAWFORD).max() < 0.0005


@pytest.mark.parametrize(
    ("name", "largest", "score"),
    [
        ("mec26.xml", 0.0051, (1, 3)),  # as the author states
        ("g11.xml", 0.0126, (4, 10)),  # of the table on the web
    ],
)
def test_differences_to_rollout_tables_are_as_published(
    table: MatchEquity, name: str, largest: float, score: tuple[int, int]
) -> None:
    differences = np.triu(np.abs(table.cells[0, 1:, 1:] - installed_cells(name)), 1)
    assert differences.max() == pytest.approx(largest, abs=5e-5)
    assert differences[score[0] - 1, score[1] - 1] == differences.max()


INDEXES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)


def distance(name: str, index: float) -> float:
    """The largest difference to 12-away between a table installed with gnubg and one induced from the published row
    with this cube life index."""
    return float(np.abs(induced_table("x", ROW, RATE, index).cells[0, 1:, 1:] - installed_cells(name)).max())


@pytest.mark.parametrize("name", ["Rockwell-Kazaross.xml", "Kazaross-XG2.xml"])
def test_index_of_0_8_is_closest_to_rollout_tables(name: str) -> None:
    assert min(INDEXES, key=lambda index: distance(name, index)) == 0.8
    assert distance(name, 0.8) < 0.006 < min(distance(name, index) for index in INDEXES if index != 0.8)


def test_published_table_was_induced_with_a_live_cube() -> None:
    """The table mec26, with a gammon rate of 26 %, is closest to the one induced with a live cube, and farther the
    lower the index."""
    live, *others = [distance("mec26.xml", index) for index in INDEXES]
    assert live == pytest.approx(0.0051, abs=5e-5)
    assert distance("mec26.xml", 0.8) == pytest.approx(0.0103, abs=5e-5)
    assert live <= min(others)
    assert others == sorted(others)


@pytest.mark.parametrize("rate", [0.0, 0.2, RATE, 0.6])
def test_tables_match_the_reference(rate: float) -> None:
    expected = described_table(published.POST_CRAWFORD, rate / 2)
    table = induced_table("x", ROW, rate)
    assert max(abs(2 * table.mwc(*score) - 1 - equity) for score, equity in expected.items()) < 1e-12
    assert len(expected) == 144


@pytest.mark.parametrize(("rate", "index"), [(RATE, 0.8), (0.0, 0.3), (1.0, 1.0), (0.6, 0.0)])
def test_cells_are_mixtures_of_live_and_dead_cubes(rate: float, index: float) -> None:
    table = induced_table("x", post_crawford_row(random_states(4).fair(), 14), rate, index)
    for away, opponent_away in product(range(2, 15), repeat=2):
        reference = MatchReference(
            lambda *score: table.mwc(*score[:2], is_post_crawford=score[2]), away, opponent_away, [rate, 0, rate, 0]
        )
        expected = index * reference.live(1, "centered", 0.5) + (1 - index) * reference.dead(1, 0.5)
        assert table.mwc(away, opponent_away) == pytest.approx(expected, abs=1e-9)


def test_tables_match_a_diffusion() -> None:
    """Tables differ from a diffusion by at most 0.0007 on a grid of 1/200, and twice that on a grid of 1/100."""
    table = induced_table("x", ROW[:7], RATE)

    def largest_error(grid: int) -> float:
        equities = diffusion_table(published.POST_CRAWFORD[:7], published.GAMMON_CHANCE, grid)
        return max(abs(2 * table.mwc(*score) - 1 - equity) for score, equity in equities.items())

    coarse, fine = largest_error(100), largest_error(200)
    assert fine < 0.0007
    assert coarse < 0.0015
    assert fine < coarse


@pytest.mark.parametrize("index", [0.0, 0.3, 0.8])
def test_mixtures_lie_between_dead_and_live_cubes(index: float) -> None:
    """Each mwc lies between those of a dead and of a live cube, and at 2-away 3-away, where only 1-away scores can
    follow, it is linear in the index."""
    mixed, dead, live = (induced_table("x", ROW, RATE, x).mwc(2, 3) for x in (index, 0.0, 1.0))
    assert mixed == pytest.approx(index * live + (1 - index) * dead, abs=1e-15)


def test_dead_cube_at_2_away_3_away_matches_hand_calculation() -> None:
    at_1_away_3_away, at_1_away_2_away = crawford_row(ROW, RATE)[[2, 1]]
    after_win = (1 - RATE) * at_1_away_3_away + RATE
    after_loss = (1 - RATE) * 0.5 + RATE * (1 - at_1_away_2_away)
    assert induced_table("x", ROW, RATE, 0.0).mwc(2, 3) == pytest.approx(0.5 * after_win + 0.5 * after_loss)
    assert 1 - at_1_away_2_away < 0.5


@pytest.mark.parametrize("seed", range(3))
def test_post_crawford_rows_match_the_reference(seed: int) -> None:
    states = random_states(seed)
    expected = described_post_crawford(states.weights.tolist(), states.chances.tolist(), 15)
    assert np.abs((1 - np.array(expected)) / 2 - post_crawford_row(states, 15)).max() < 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_fair_states_have_equal_players(seed: int) -> None:
    states = random_states(seed)
    win, win_gammon, win_backgammon, lose_gammon, lose_backgammon = states.fair().means
    assert win == pytest.approx(0.5, abs=1e-14)
    assert win_gammon == pytest.approx(lose_gammon, abs=1e-14)
    assert win_backgammon == pytest.approx(lose_backgammon, abs=1e-14)
    assert states.fair().gammon_rate == pytest.approx(states.gammon_rate)
    shifts = states.fair().chances[:, 0] - states.chances[:, 0]
    assert np.ptp(shifts) < 1e-14
    assert post_crawford_row(states.fair(), 3)[2] == pytest.approx((0.5 + states.gammon_rate / 2) / 2)


def test_gammon_rate_is_changed_without_changing_wins() -> None:
    states = random_states(1).fair()
    changed = states.with_gammon_rate(0.3)
    assert changed.gammon_rate == pytest.approx(0.3)
    assert (changed.chances[:, 0] == states.chances[:, 0]).all()
    without_gammons = OpeningStates(np.ones(1), np.array([[0.5, 0, 0, 0, 0]]))
    assert without_gammons.fair().with_gammon_rate(0.3).gammon_rate == 0


def test_cells_change_with_the_gammon_rate() -> None:
    """Slopes are the changes of mwc with the gammon rate. At 1-away 2-away a percentage point costs the leader a
    quarter of one, because half of the games are lost and each gammon costs 0.5."""

    def table(rate: float) -> MatchEquity:
        return induced_table("x", ROW, rate)

    change = 0.01 * slopes(table, RATE)
    assert change[0, 1, 2] == pytest.approx(-0.0025)
    assert change[0, 2, 1] == pytest.approx(0.0025)
    difference = table(RATE + 0.01).cells - table(RATE).cells
    assert np.nanmax(np.abs(difference - change)) < 2e-5
    assert np.nanmax(np.abs(change[1])) == 0  # the given row
    assert np.isfinite(slopes(table, 0.0)[0, 1:, 1:]).all()


def test_mwc_falls_with_points_to_go() -> None:
    row = post_crawford_row(random_states(2).fair(), 25)
    for index in (0.0, 0.5, 1.0):
        cells = induced_table("x", row, 0.26, index).cells[0, 1:, 1:]
        assert (np.diff(cells, axis=0) < 0).all()
        assert (np.diff(cells, axis=1) > 0).all()
        assert np.abs(cells + cells.T - 1).max() == 0


@pytest.mark.parametrize(
    ("row", "rate", "index", "message"),
    [
        (ROW, 1.2, 1.0, r"expected a gammon rate from 0 to 1, got 1\.2"),
        (ROW, float("nan"), 1.0, "expected a gammon rate from 0 to 1, got nan"),
        (ROW, RATE, -0.1, r"expected a cube life index from 0 to 1, got -0\.1"),
        (ROW, RATE, 1.1, r"expected a cube life index from 0 to 1, got 1\.1"),
        ([0.5, 1.5], RATE, 1.0, r"expected chances from 0 to 1 in x, got 1\.5"),
        ([0.4, 0.3], RATE, 1.0, "expected chances at 1-away 1-away post-crawford that sum to 1"),
        ([], RATE, 1.0, "expected a square table of 1 to 64 points to go, got x of 0x0"),
        (np.linspace(0.5, 0.01, 65), RATE, 1.0, "expected a square table of 1 to 64 .* 65x65"),
    ],
)
def test_invalid_arguments_are_refused(row: Any, rate: float, index: float, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        induced_table("x", row, rate, index)
