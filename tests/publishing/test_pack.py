"""The pack: one command publishes it, and the scripts of the documentation need nothing else."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from itertools import combinations_with_replacement
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import bgdata
from bgdata import Position
from bgdata.bearoff.layouts import fill_layouts
from bgdata.game.dice import roll_of
from bgdata.game.plays import legal_plays
from bgdata.publishing import pack, publish
from bgdata.publishing.contents import read_contents
from bgdata.publishing.pack import ABOUT, SCRIPTS, TITLE, pack_plan, publish_pack
from bgdata.store.housekeeping import remove
from bgdata.store.parameters import Parameters
from bgdata.warehouse import Warehouse
from tests.command_line import error_of, output_of, run
from tests.kept import link
from tests.random_games import random_game_positions


def small_plan() -> list[tuple[str, Parameters]]:
    """The kinds of the pack with their smallest parameters."""
    kinds = bgdata.all_kinds()
    return [(name, kinds[name].smallest) for name in dict.fromkeys(kind for kind, _ in pack_plan())]


@pytest.fixture(scope="module")
def small_pack(small_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small pack."""
    home = tmp_path_factory.mktemp("pack")
    warehouse = bgdata.open_warehouse(link(small_root, home / "warehouse"))
    publish_pack(warehouse, home / "pack", plan=small_plan())
    return home / "pack"


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleType, ModuleType]:
    """The two scripts as modules."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module("score_an_engine"), importlib.import_module("train_a_player")


def run_script(path: Path, folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a script where bgdata cannot be imported, in a folder that becomes its own."""
    fake = folder / "without" / "bgdata"
    fake.mkdir(parents=True)
    (fake / "__init__.py").write_text("raise ImportError('bgdata is not here')")
    return subprocess.run(
        [sys.executable, path, *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(fake.parent)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_plan_names_existing_kinds_and_parameters() -> None:
    kinds = bgdata.all_kinds()
    plan = list(pack_plan())
    for kind, parameters in plan:
        kinds[kind].check_parameters(parameters)
    names = [f"{kind}/{kinds[kind].slug(parameters)}" for kind, parameters in plan]
    assert "bearoff_two_sided/6x6" in names
    assert "bearoff_two_sided/6x8" in names
    assert "contact_endgame/2" in names
    assert len(set(names)) == len(names)


def test_pack_says_how_to_read_it(small_pack: Path) -> None:
    contents = read_contents(small_pack)
    assert {version.name.partition("/")[0] for version in contents.versions} == {kind for kind, _ in small_plan()}
    assert contents.left_out == {}
    card = (small_pack / "README.md").read_text()
    assert f"# {TITLE}\n" in card
    assert ABOUT in card
    scripts = {path.name: path.read_bytes() for path in (small_pack / "scripts").iterdir()}
    assert scripts == {path.name: path.read_bytes() for path in SCRIPTS.glob("*.py")}
    assert "scripts/score_an_engine.py\n" in (small_pack / "SHA256SUMS").read_text()


def test_scripts_of_a_pack_are_removed_with_it(small_pack: Path, small_root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    shutil.copytree(small_pack, folder)
    publish(bgdata.open_warehouse(small_root), folder, ["match_equity"])
    assert not (folder / "scripts").exists()
    assert "scripts/" not in (folder / "SHA256SUMS").read_text()


@pytest.mark.parametrize(("point_count", "checkers"), [(6, 8), (25, 2)])
def test_layouts_are_numbered_as_the_card_says(point_count: int, checkers: int) -> None:
    """By the number of checkers, then by the points of the checkers, in ascending order."""
    points = range(1, point_count + 1)
    expected: list[tuple[int, ...]] = []
    for count in range(checkers + 1):
        expected += combinations_with_replacement(points, count)
    layouts = np.zeros((len(expected), point_count), np.int8)
    fill_layouts(layouts)
    assert [tuple(np.repeat(points, layout).tolist()) for layout in layouts] == expected


def test_pack_builds_what_is_missing(warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = bgdata.all_kinds()
    plan = [(name, kinds[name].smallest) for name in ("contact_endgame", "match_equity")]
    remove(warehouse, warehouse.open("contact_endgame", "1"))
    monkeypatch.setattr(pack, "pack_plan", lambda: plan)
    result = run(warehouse.root, "publish", tmp_path / "pack", "--pack")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[1].startswith("contact_endgame-")
    assert "published 2 versions into" in result.stderr
    assert read_contents(tmp_path / "pack").title == TITLE
    output_of(warehouse.root, "publish", tmp_path / "pack", "--pack", "--title", "Mine")
    assert read_contents(tmp_path / "pack").title == "Mine"


def test_pack_of_a_kind_is_refused(warehouse: Warehouse, tmp_path: Path) -> None:
    message = error_of(run(warehouse.root, "publish", tmp_path / "pack", "selfplay", "--pack"), 2)
    assert message == "expected no KIND with --pack, got 'selfplay'"
    assert not (tmp_path / "pack").exists()


def test_script_scores_an_engine_without_bgdata(small_pack: Path, tmp_path: Path) -> None:
    result = run_script(small_pack / "scripts" / "score_an_engine.py", tmp_path, small_pack)
    assert result.returncode == 0, result.stderr
    name, figures = result.stdout.strip().split(": loses ")
    assert name.startswith("contact-3-of-")
    assert float(figures.split()[0]) >= 0


def test_script_refuses_another_folder(tmp_path: Path) -> None:
    result = run_script(SCRIPTS / "score_an_engine.py", tmp_path / "script", tmp_path)
    assert result.returncode == 1
    assert result.stderr == f"expected a folder of `bgdata publish FOLDER --pack`, got {tmp_path}\n"


def test_script_trains_a_player_without_bgdata(small_pack: Path, tmp_path: Path) -> None:
    result = run_script(small_pack / "scripts" / "train_a_player.py", tmp_path, small_pack, 1, 2)
    assert result.returncode == 0, result.stderr
    first_line, *_, last_line = result.stdout.splitlines()
    assert first_line.startswith("test ")
    assert last_line.endswith("points a game against the racer")
    with np.load(tmp_path / "player.npz") as net:
        assert [net[name].shape for name in net.files] == [(202, 128), (128,), (128, 5), (5,)]


def test_script_scores_the_best_and_the_worst_engine(scripts: tuple[ModuleType, ModuleType]) -> None:
    """An engine that knows the table loses nothing, its opposite loses the most, and one that likes all plays equally
    loses the mean of a decision's plays. The plays of the second decision are not in order."""
    score, _ = scripts
    boards = np.arange(5 * 26, dtype=np.int8).reshape(5, 26)
    losses = [0.0, 0.25, 0.5, 0.125, 0.0]
    board_column = pa.FixedSizeListArray.from_arrays(pa.array(boards.reshape(-1)), 26)
    plays = pa.table({"decision": [0, 0, 0, 1, 1], "loss": losses, "board": board_column})
    loss_by_first_number = dict(zip(boards[:, 0].tolist(), losses, strict=True))

    def best_engine(boards: Any) -> Any:
        """The opponent's equity after each play."""
        return np.array([loss_by_first_number[int(board[0])] for board in boards])

    def worst_engine(boards: Any) -> Any:
        return -best_engine(boards)

    def indifferent_engine(boards: Any) -> Any:
        return np.zeros(len(boards))

    assert score.losses(plays, best_engine).tolist() == [0.0, 0.0]
    assert score.losses(plays, worst_engine).tolist() == [0.5, 0.125]
    assert score.losses(plays, indifferent_engine).tolist() == [0.25, 0.0625]


@pytest.mark.parametrize("position_id", ["4HPwATDgc/ABMA", "sGfDAUiw18EBJA", "zO1MBgDGnsQALA"])
def test_score_script_estimates_equity_from_pip_counts(
    scripts: tuple[ModuleType, ModuleType], position_id: str
) -> None:
    score, _ = scripts
    position = Position(position_id)
    pips = sum(count * point for point, count in enumerate(position.board) if count > 0)
    opponent_pips = sum(count * point for point, count in enumerate(position.flip().board) if count > 0)
    (equity,) = score.equities(np.array([position.board], np.int64))
    assert equity == pytest.approx((opponent_pips - pips) / 100)


def test_plays_of_the_script_are_the_legal_ones(scripts: tuple[ModuleType, ModuleType]) -> None:
    _, train = scripts
    positions = random_game_positions(3, seed=1)
    for board, roll in zip(positions.boards, positions.rolls, strict=True):
        boards = train.flip(np.stack(train.plays(board, roll.tolist())))
        legal = [play.next_position.board for play in legal_plays(Position(board.tolist()), roll_of(*roll.tolist()))]
        assert sorted(map(tuple, boards.tolist())) == sorted(legal), (board, roll)


@pytest.mark.parametrize(
    ("opponent_checkers", "points"),
    [
        pytest.param({20: -14}, 1, id="one borne off"),
        pytest.param({20: -15}, 2, id="gammon"),
        pytest.param({20: -14, 3: -1}, 3, id="backgammon"),
        pytest.param({20: -14, 0: 1}, 3, id="backgammon on the bar"),
    ],
)
def test_games_of_the_script_end_with_their_points(
    scripts: tuple[ModuleType, ModuleType],
    monkeypatch: pytest.MonkeyPatch,
    opponent_checkers: dict[int, int],
    points: int,
) -> None:
    """The player on roll bears off the last checker."""
    score, train = scripts
    board = np.zeros(26, np.int64)
    board[1] = 1
    for point, number in opponent_checkers.items():
        board[point] = number
    monkeypatch.setattr(train, "START", board)
    results = {train.play_game(score.equities, score.equities, np.random.default_rng(seed)) for seed in range(8)}
    assert results == {points, -points}, "each of the two begins in some games"
