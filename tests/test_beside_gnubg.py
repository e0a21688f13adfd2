"""Our analysis of matches against gnubg's."""

from pathlib import Path

import pytest

import bgdata
from bgdata.evaluation.gnubg import find_gnubg_tool
from bgdata.evaluation.networks.player import map_player
from tests.beside_gnubg import MET, compare_figures, gnubg_stats, noisy_matches, our_scores

pytestmark = [
    pytest.mark.gnubg,
    pytest.mark.slow,
    pytest.mark.skipif(find_gnubg_tool("gnubg") is None or not Path(MET).exists(), reason="gnubg is not installed"),
]


def test_luck_and_errors_equal_gnubgs(tmp_path: Path, network_root: Path) -> None:
    """Both programs analyse six matches at 0-ply: by the same definitions, but with different evaluations. The bounds
    come from the 24 matches of docs/how_to/analyze_a_match.md."""
    matches = noisy_matches(6, 5, tmp_path)
    player = map_player(bgdata.open_warehouse(network_root))
    figures = compare_figures(
        our_scores(player, matches, bgdata.open_warehouse(network_root)), gnubg_stats(matches, 0, tmp_path)
    )
    assert figures["unforced plays"]["largest"] == 0, "the same plays are forced"
    for name in ("luck, mwc", "luck, points", "lost by plays, mwc", "lost by plays, points", "performance rating"):
        assert figures[name]["correlation"] > 0.93, name
    assert figures["luck, mwc"]["rms"] < 0.08
    assert figures["lost by plays, mwc"]["rms"] < 0.12
    assert figures["lost by the cube, mwc"]["rms"] < 0.06
    assert abs(figures["cube decisions"]["ours"] - figures["cube decisions"]["gnubg"]) < 3
