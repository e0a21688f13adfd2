"""Hypergammon against the files of gnubg's makehyper."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.endgames.kinds.contact_endgame import EndgameParameters
from bgdata.endgames.kinds.contact_endgame_compute import ERROR_BOUND
from bgdata.endgames.layouts import all_layouts
from bgdata.endgames.solver import are_unfinished
from bgdata.formats.gnubg_bearoff import HYPERGAMMON_EQUITIES, GnubgHypergammon, open_gnubg_bearoff, write_hypergammon
from bgdata.store.progress import Silence
from bgdata.store.verify import Status, verify

MAKEHYPER = shutil.which("makehyper") or shutil.which("makehyper", path="/usr/games")
SETTLED = 1e-5  # makehyper stops at changes this small


@pytest.mark.gnubg
@pytest.mark.skipif(MAKEHYPER is None, reason="gnubg's makehyper is not installed")
@pytest.mark.parametrize("checkers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_equities_match_makehyper(tmp_path: Path, checkers: int) -> None:
    """Cubeful equities are compared only for one checker, where nobody makes a point: makehyper does not swap the cube
    owners when a player dances, as its authors say."""
    path = tmp_path / "hyper.bd"
    command = [str(MAKEHYPER), "-c", str(checkers), "-f", path.name]  # long paths do not fit
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    gnubg = open_gnubg_bearoff(path)
    assert isinstance(gnubg, GnubgHypergammon)
    table = bgdata.open_warehouse(tmp_path / "warehouse").build("hypergammon", EndgameParameters(checkers))
    equities, chances = table.array("equities"), table.array("chances")
    pairs = np.random.default_rng(1).permutation(np.argwhere(are_unfinished(all_layouts(checkers))))[:20_000]
    equities, chances = equities[pairs[:, 0], pairs[:, 1]], chances[pairs[:, 0], pairs[:, 1]]
    of_gnubg = np.array([gnubg.probe(*pair) for pair in pairs.tolist()])
    win, win_gammon, win_backgammon, lose_gammon, lose_backgammon = of_gnubg[:, :5].T
    cubeless = 2 * win - 1 + win_gammon + win_backgammon - lose_gammon - lose_backgammon
    tolerance = SETTLED + ERROR_BOUND
    assert np.abs(cubeless - equities[:, 0]).max() < tolerance
    if checkers == 1:
        assert np.abs(of_gnubg[:, :5] - chances).max() < tolerance
        assert np.abs(of_gnubg[:, 5:] - equities[:, HYPERGAMMON_EQUITIES]).max() < tolerance


def test_values_follow_from_plays(tmp_path: Path) -> None:
    """`verify` computes them from plays that other code finds, including dances."""
    warehouse = bgdata.open_warehouse(tmp_path)
    table = warehouse.build("hypergammon", EndgameParameters(2))
    assert table.manifest.rows == 106_552
    findings = list(verify(warehouse, [table], sample_rows=20_000, seed=1, progress=Silence()))
    assert any("20,000 rows drawn of 106,552" in finding.text for finding in findings)
    assert [finding.problem for finding in findings if finding.status is not Status.PASSED] == []


def test_exported_file_is_read_back(tmp_path: Path) -> None:
    table = bgdata.open_warehouse(tmp_path).build("hypergammon", EndgameParameters(1))
    path = tmp_path / "hyper1.bd"
    write_hypergammon(path, 1, table.array("chances"), table.array("equities")[:, :, HYPERGAMMON_EQUITIES])
    assert path.stat().st_size == 18_968
    read = open_gnubg_bearoff(path)
    assert isinstance(read, GnubgHypergammon)
    values = read.probe(24, 24)
    assert values[:5] == pytest.approx(table.array("chances")[24, 24].tolist(), abs=1e-7)
    assert values[5:] == pytest.approx(table.array("equities")[24, 24, HYPERGAMMON_EQUITIES].tolist(), abs=4e-7)
