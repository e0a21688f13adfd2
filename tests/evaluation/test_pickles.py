"""Players and tables that are sent to other processes: small, and the same when they are opened there."""

from __future__ import annotations

import multiprocessing
import pickle
import shutil
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

import bgdata
from bgdata.errors import MissingTableError
from bgdata.evaluation.lookahead_player import Evaluation, LookaheadPlayer
from bgdata.game.position import START
from tests.command_line import POSITION

MOST_BYTES = 4096
QUESTIONS = ("start", POSITION)


def answers(player: LookaheadPlayer) -> list[Evaluation]:
    """In a process of its own."""
    return [player.evaluate(position) for position in QUESTIONS]


@pytest.mark.parametrize("ply", [0, 1])
def test_a_player_is_sent_by_its_paths(small_root: Path, ply: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(small_root.parent)
    player = bgdata.open_player(small_root.name, ply=ply)
    expected = answers(player), player.decide_cube(POSITION), player.rank_plays(START, "31")
    sent = pickle.dumps(player)  # without what it remembers
    assert len(sent) < MOST_BYTES
    monkeypatch.chdir("/")
    found = pickle.loads(sent)
    assert (found.label, found.version, found.filters) == (player.label, player.version, player.filters)
    assert (answers(found), found.decide_cube(POSITION), found.rank_plays(START, "31")) == expected


# slow: a new process loads Numba
@pytest.mark.slow
def test_a_player_answers_in_a_spawned_process(small_root: Path) -> None:
    player = bgdata.open_player(small_root)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as executor:
        assert executor.submit(answers, player).result() == answers(player)


OPENERS: list[Callable[[Path], object]] = [
    lambda root: bgdata.open_two_sided(root, 3, 3),
    lambda root: bgdata.open_one_sided(root, 3),
    lambda root: bgdata.open_gammon(root, 3),
    bgdata.open_player,
]


@pytest.mark.parametrize("opened", OPENERS)
def test_missing_version_is_refused(small_root: Path, tmp_path: Path, opened: Callable[[Path], object]) -> None:
    root = tmp_path / "warehouse"
    shutil.copytree(small_root, root)
    sent = pickle.dumps(opened(root))
    assert len(sent) < MOST_BYTES
    assert type(pickle.loads(sent)) is type(opened(root))
    shutil.rmtree(root)
    with pytest.raises(MissingTableError, match=r"expected the version bearoff_.*/r.* found no such folder; try: bgd"):
        pickle.loads(sent)


def test_a_table_is_the_same_after_its_way(small_root: Path) -> None:
    two_sided, one_sided = bgdata.open_two_sided(small_root, 3, 3), bgdata.open_one_sided(small_root, 3)
    assert pickle.loads(pickle.dumps(two_sided)).probe(5, 7) == two_sided.probe(5, 7)
    assert pickle.loads(pickle.dumps(one_sided)).probe_chances(5).tolist() == one_sided.probe_chances(5).tolist()
