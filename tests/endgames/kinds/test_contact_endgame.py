"""Contact endgames: against a separate solver in double precision, and against bearoff tables where the sides have
passed each other."""

from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.bearoff.index import position_index
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.bearoff.tables import TwoSidedTable
from bgdata.endgames.kinds import contact_endgame
from bgdata.endgames.kinds.contact_endgame import EndgameParameters, pairs_of
from bgdata.endgames.kinds.contact_endgame_compute import ERROR_BOUND, Successors
from bgdata.endgames.layouts import Layouts, all_layouts
from bgdata.endgames.solver import are_unfinished, is_possible, points_lost
from bgdata.errors import InvalidParameterError
from bgdata.kernel import threads
from bgdata.store import job
from bgdata.store.arrays import Array
from bgdata.store.progress import Silence
from bgdata.store.verify import Status, verify

KIND = "contact_endgame"
COLUMNS = ("cubeless", "owned", "centered", "opponent_owned", "centered_jacoby")


def solve_in_double_precision(layouts: Layouts, *, gammons: bool) -> Array:
    """float64[on roll, opponent, column]: equities by plain iteration over plays in double precision."""
    on_roll, opponent = np.nonzero(are_unfinished(layouts))
    followers = Successors(layouts, on_roll, opponent)
    lost = points_lost(layouts, gammons=gammons).astype(float)
    equities = np.zeros((len(layouts), len(layouts), len(COLUMNS)))
    equities[:, 0] = -lost[:, None]
    equities[:, 0, 4] = -1
    for _ in range(1000):
        e0, e1, e2, e3, e4 = np.moveaxis(equities[followers.on_roll, followers.opponent], 1, 0)
        twice = np.where(followers.opponent == 0, -np.inf, np.minimum(2 * e3, 1))  # finished games are not doubled
        values = e0, e3, np.maximum(e2, twice), np.maximum(e1, twice), np.maximum(e4, twice)
        new = np.stack([-followers.mean_of_lowest(worth) for worth in values], axis=1)
        change = np.abs(new - equities[on_roll, opponent]).max()
        equities[on_roll, opponent] = new
        if change < 1e-13:
            return equities
    raise AssertionError("the values never settled")


@pytest.mark.parametrize(("kind", "gammons"), [("contact_endgame", False), ("hypergammon", True)])
def test_one_checker_matches_double_precision(tmp_path: Path, kind: str, *, gammons: bool) -> None:
    layouts = all_layouts(1)
    expected = solve_in_double_precision(layouts, gammons=gammons)
    equities = bgdata.open_warehouse(tmp_path).build(kind, EndgameParameters(1)).array("equities")
    possible = is_possible(layouts)[1:, 1:]
    errors = np.abs(equities[1:, 1:] - expected[1:, 1:, : equities.shape[2]])
    assert errors[possible].max() < ERROR_BOUND
    assert np.isnan(equities[1:, 1:][~possible]).all()


def test_passed_sides_match_the_bearoff_table(tmp_path: Path) -> None:
    warehouse = bgdata.open_warehouse(tmp_path)
    two_sided = TwoSidedTable(warehouse.build("bearoff_two_sided", TwoSidedParameters(6, 2)))
    equities = warehouse.build(KIND, EndgameParameters(2)).array("equities")
    layouts = all_layouts(2)
    home = [index for index in range(1, len(layouts)) if not layouts.counts[index, 6:].any()]
    ranks = [position_index(layouts.counts[index, :6].tolist()) for index in home]
    expected = two_sided.decode(two_sided.stored[np.ix_(ranks, ranks)])
    assert np.abs(equities[np.ix_(home, home)] - expected).max() < 3e-6


def test_rows_are_pairs_without_a_common_point(tmp_path: Path) -> None:
    warehouse = bgdata.open_warehouse(tmp_path)
    table = warehouse.build(KIND, EndgameParameters(2))
    layouts = all_layouts(2)
    assert table.manifest.rows == pairs_of(2) == is_possible(layouts)[1:, 1:].sum()
    with warehouse.connect() as connection:
        (row,) = connection.sql("from contact_endgame where on_roll_index = 24 and opponent_index = 24").fetchall()
    assert row[-4:] == pytest.approx(table.array("equities")[24, 24].tolist())
    assert row[-4] == pytest.approx(2 * 0.60158 - 1, abs=1e-5)  # 24-point against 24-point, in gnubg's hyper1


def test_killed_build_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same digest, on one thread too."""
    expected = bgdata.open_warehouse(tmp_path / "uninterrupted").build(KIND, EndgameParameters(1)).manifest.digest
    monkeypatch.setattr(job, "CHECKPOINT_SECONDS", 0.0)
    original = job.Job._checkpoint
    checkpoints = []

    def interrupted_at_the_fourth(self: job.Job, done: int, state: dict[str, Array]) -> None:
        original(self, done, state)
        checkpoints.append(done)
        if len(checkpoints) == 4:
            raise KeyboardInterrupt

    warehouse = bgdata.open_warehouse(tmp_path / "killed")
    with monkeypatch.context() as patch:
        patch.setattr(job.Job, "_checkpoint", interrupted_at_the_fourth)
        with pytest.raises(KeyboardInterrupt):
            warehouse.build(KIND, EndgameParameters(1))
    with threads(1):
        assert warehouse.build(KIND, EndgameParameters(1)).manifest.digest == expected


def test_large_tables_have_no_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They have the same equities, no rows in SQL, and pass `verify`."""
    with_parquet = bgdata.open_warehouse(tmp_path / "small").build(KIND, EndgameParameters(1))
    monkeypatch.setattr(contact_endgame, "PARQUET_CHECKERS", 0)
    warehouse = bgdata.open_warehouse(tmp_path / "large")
    without_parquet = warehouse.build(KIND, EndgameParameters(1))
    assert with_parquet.parquet.exists()
    assert not without_parquet.parquet.exists()
    assert without_parquet.array("equities").tobytes() == with_parquet.array("equities").tobytes()
    assert without_parquet.manifest.rows == with_parquet.manifest.rows
    with warehouse.connect() as connection:
        assert connection.sql("select count(*) from contact_endgame").fetchall() == [(0,)]
    findings = verify(warehouse, [without_parquet], seed=1, progress=Silence())
    assert [finding for finding in findings if finding.status is Status.FAILED] == []


def test_four_checkers_fit_into_20_gib() -> None:
    estimate = contact_endgame.DATASET.estimate(EndgameParameters(4))
    assert estimate.rows == 339_136_154
    assert estimate.memory_bytes < 20 << 30
    assert estimate.disk_bytes == 23_751**2 * 16


@pytest.mark.parametrize("checkers", [0, 5, -1])
def test_invalid_number_of_checkers_is_refused(tmp_path: Path, checkers: int) -> None:
    with pytest.raises(InvalidParameterError, match=f"expected 1 to 4 checkers, got {checkers}"):
        bgdata.open_warehouse(tmp_path).build(KIND, EndgameParameters(checkers))
