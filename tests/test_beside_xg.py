"""PR by our analysis against PR by the values that eXtreme Gammon wrote into its file."""

from pathlib import Path

import pytest

from tests.beside_xg import ratings


@pytest.mark.slow
def test_pr_agrees_with_a_file_of_extreme_gammon(tmp_path: Path) -> None:
    """One session of two players, with 42 and 28 decisions: the same decisions count, but for one."""
    pytest.importorskip("gvformat")
    by_player = ratings([Path(__file__).parent / "formats/binary/session.xg"], tmp_path)
    assert len(by_player) == 2
    for each in by_player.values():
        assert each.decisions > 20
        assert abs(each.own_decisions - each.decisions) <= 1
        assert abs(each.own_pr - each.pr) < 1.5
    assert abs(sum(each.own_pr - each.pr for each in by_player.values()) / len(by_player)) <= 0.5
