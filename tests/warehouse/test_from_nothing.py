"""Tests of the plan that makes the package's versions again: order, resuming and errors."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.errors import CorruptFileError, ExternalProgramError, UsageError
from bgdata.warehouse import from_nothing
from bgdata.warehouse.commands import plans
from tests.command_line import error_of, output_of, run

TINY = """
[[part]]
name = "games"
makes = "selfplay"
minutes = 1
command = "selfplay --player random --games 2 --seed 3"

[[part]]
name = "table"
makes = "bearoff_gammon"
minutes = 1
needs = ["games"]
command = "build bearoff_gammon --set points=2"

[[part]]
name = "sample"
makes = "play_sample"
minutes = 1
command = "build play_sample --set player=random --set version={games.player} --set games=2 --set seed=3 --set most=2"
"""


def write_plan(path: Path, text: str = TINY) -> Path:
    (path / "plan.toml").write_text(text)
    return path / "plan.toml"


def test_plan_makes_every_version_that_comes_with_the_package(tmp_path: Path) -> None:
    assert from_nothing.missing_versions(bgdata.open_warehouse(tmp_path), from_nothing.read_plan()) == []


def test_plan_needs_no_gpu_and_no_pytorch() -> None:
    for part in from_nothing.read_plan():
        assert not re.search(r"\.\.\.|cuda|torch", part.command), part.name


def test_a_version_that_no_part_makes_is_missing(tmp_path: Path) -> None:
    parts = [part for part in from_nothing.read_plan() if part.name != "race-150"]
    missing = from_nothing.missing_versions(bgdata.open_warehouse(tmp_path), parts)
    assert missing == ["rollout_decisions/race-150-of-network-10000-seed-1"]


@pytest.fixture
def commands_run(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commands that were run as processes, each its first word."""
    commands: list[str] = []
    original = subprocess.run

    def run_process(command: list[str], **options: Any) -> Any:
        commands.append(command[3])
        return original(command, **options)

    monkeypatch.setattr(subprocess, "run", run_process)
    return commands


def test_parts_run_once_in_order(tmp_path: Path, commands_run: list[str]) -> None:
    """A part that has finished is not run again; after a failed part the others wait."""
    warehouse = bgdata.open_warehouse(tmp_path / "made")
    warehouse.root.mkdir()
    games, table, sample = from_nothing.read_plan(write_plan(tmp_path))
    failing = from_nothing.Part("bad", "bearoff_gammon", 1, "build bearoff_gammon --set points=99")
    message = r"expected the part bad to be made, got exit code 2 of: bgdata build"
    with pytest.raises(ExternalProgramError, match=message):
        list(from_nothing.run_parts(warehouse, [games, failing, table]))
    assert commands_run == ["selfplay", "build"]
    tables = {part.name: table for part, table in from_nothing.run_parts(warehouse, [games, table])}
    assert commands_run == ["selfplay", "build", "build"]
    assert tables["games"].name.startswith("selfplay/random-2-seed-3/")
    assert tables["table"].name.startswith("bearoff_gammon/2x15/")
    tables_again = {part.name: table.name for part, table in from_nothing.run_parts(warehouse, [games, table])}
    assert tables_again == {name: table.name for name, table in tables.items()}
    assert len(commands_run) == 3
    arguments = from_nothing.arguments(sample, tables)
    assert f"version={tables['games'].manifest.parameters['version']}" in arguments
    with_other_command = replace(table, command="build bearoff_gammon --set points=3")
    assert list(from_nothing.finished_parts(warehouse, [games, with_other_command])) == ["games"]


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('name = "table"', 'name = "games"', "expected parts of different names in .*, got 'games' twice"),
        ('needs = ["games"]', 'needs = ["colour"]', "expected what table needs before it in .*, found no colour"),
        ("{games.player}", "{later.player}", "expected what sample needs before it in .*, found no later"),
        (
            '"build bearoff_gammon --set',
            '"biuld bearoff_gammon --set',
            "expected a command of bgdata as table, got 'biuld bearoff_gammon",
        ),
        ("--games 2 --seed 3", "--games two", "expected a command of bgdata as games, got 'selfplay"),
        ("minutes = 1", "hours = 1", "expected a plan of parts in .*, found: "),
        ("[[part]]", "[[parts]]", "expected a plan of parts in .*, found none"),
        ("[[part]]", "[[part", "expected a plan of parts in .*, found: "),
    ],
)
def test_damaged_plans_are_refused(tmp_path: Path, before: str, after: str, message: str) -> None:
    assert before in TINY
    with pytest.raises(CorruptFileError, match=message) as error:
        plans.load_plan(write_plan(tmp_path, TINY.replace(before, after)))
    assert "\n" not in str(error.value)


def test_chosen_part_includes_its_needs(tmp_path: Path) -> None:
    parts = from_nothing.read_plan(write_plan(tmp_path))
    assert [part.name for part in from_nothing.select_parts(parts, ["sample"])] == ["games", "sample"]
    with pytest.raises(UsageError, match="expected a part among games, table, sample, got 'colour'"):
        from_nothing.select_parts(parts, ["colour"])


def test_damaged_record_is_refused(tmp_path: Path) -> None:
    warehouse = bgdata.open_warehouse(tmp_path)
    parts = from_nothing.read_plan(write_plan(tmp_path))
    assert from_nothing.finished_parts(warehouse, parts) == {}
    for text in ("[]", "{", '{"selfplay": []}'):
        (tmp_path / from_nothing.STATE).write_text(text)
        with pytest.raises(CorruptFileError, match=r"expected the versions of parts in .*; delete it to begin anew"):
            from_nothing.finished_parts(warehouse, parts)
    (tmp_path / from_nothing.STATE).write_text(json.dumps({parts[0].command: "selfplay/gone/r1-00000000"}))
    assert from_nothing.finished_parts(warehouse, parts) == {}


def test_dry_run_prints_the_plan(tmp_path: Path) -> None:
    result = run(tmp_path, "rebuild", "--from-nothing", "--dry-run")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[1].split()[:3] == ["contact-160", "76", "network/contact-160"]


def test_plan_that_lacks_versions_of_the_package_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "PLAN", write_plan(tmp_path))
    result = run(tmp_path / "made", "rebuild", "--from-nothing", "--dry-run")
    assert result.exit_code == 1
    assert "no part makes " in result.stderr


def test_dry_run_prints_a_part_and_its_needs(tmp_path: Path) -> None:
    rows = output_of(tmp_path, "rebuild", "--from-nothing", "--dry-run", "--part", "taught-320", "--format", "json")
    assert json.loads(rows)[-1]["part"] == "taught-320"
    text = output_of(tmp_path, "rebuild", "--plan", "player-33", "--dry-run", "--part", "sl")
    _, *lines, _ = text.splitlines()
    assert [line.split()[0] for line in lines] == ["td", "games", "positions", "labels", "sl"]


@pytest.mark.parametrize(
    "options",
    [
        "--dry-run",
        "--part games",
        "--from-nothing --check",
        "--from-nothing network",
        "--plan player-33 --all",
        "--plan player-33 --from-nothing",
    ],
)
def test_contradicting_options_are_refused(tmp_path: Path, options: str) -> None:
    assert error_of(run(tmp_path, "rebuild", *options.split()), 2).startswith("expected --")


def test_command_runs_a_part_and_its_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "PLAN", write_plan(tmp_path))
    output = output_of(tmp_path / "made", "rebuild", "--from-nothing", "--part", "table")
    assert output.splitlines()[-1] == "2 parts, 0.0 hours of two cores"
    assert (tmp_path / "made" / from_nothing.STATE).exists()


def test_published_figures_are_numbers(tmp_path: Path) -> None:
    query = (
        "select 'rows' as figure, count(*) as ours, null as standard_error, 0.079 as published "
        "from bearoff_gammon where variant = $variant"
    )
    warehouse = bgdata.open_warehouse(tmp_path / "made")
    part = from_nothing.read_plan(write_plan(tmp_path))[1]
    table = warehouse.build("bearoff_gammon", warehouse.kind("bearoff_gammon").smallest)
    (row,) = from_nothing.figures_of(warehouse, replace(part, figures=query), table)
    assert row == {"part": "table", "figure": "rows", "ours": table.manifest.rows, "standard_error": None,
                   "published": 0.079}  # fmt: skip
    assert json.loads(json.dumps(row)) == row
    assert from_nothing.figures_of(warehouse, part, table) == []


# (size in the plan, size here), in order
TINY_PLAYER = (
    ("--games 5000000", "--games 400 --round-games 100 --test-games 20"),
    ("--row-games 100000", "--row-games 400"),
    ("hidden 120", "hidden 8"),
    ("--games 100000", "--games 20"),
    ("--games 40000", "--games 20"),
    ("games=40000", "games=20"),
    ("most=100000", "most=40"),
    ("--epochs 200", "--epochs 2 --test-games 20"),
    ("--epochs 100", "--epochs 2 --test-games 20"),
    ("--no-programs", "--no-programs --decisions 100"),
    ("--engine tables", "--engine tables --pairs 2000"),
    ("--ply 2", "--ply 0"),
)


@pytest.mark.slow
def test_plan_of_the_player_of_2012_runs_in_small(tmp_path: Path) -> None:
    text = from_nothing.plan_path("player-33").read_text(encoding="utf-8")
    for size, tiny in TINY_PLAYER:
        assert size in text
        text = text.replace(size, tiny)
    warehouse = bgdata.open_warehouse(tmp_path / "made")
    parts = from_nothing.read_plan(write_plan(tmp_path, text))
    warehouse.root.mkdir()
    figures = []
    for part, table in from_nothing.run_parts(warehouse, parts):
        kind, _, variant = part.makes.partition("/")
        assert table.name.startswith(f"{kind}/{variant}")
        figures += from_nothing.figures_of(warehouse, part, table)
    assert {row["part"] for row in figures} == {part.name for part in parts if part.figures}
    assert all(row["ours"] is not None and row["published"] is not None for row in figures)
    assert len(figures) == 5 + 6 + 1 + 12 * 5 + 3 * 5 + 11 + 4 + 4 * 5  # measures by cube life indexes


def test_different_digests_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`bgdata rebuild --from-nothing` exits with 1 if a part has made another digest than that in the package."""
    monkeypatch.setattr(plans, "PLAN", write_plan(tmp_path))
    monkeypatch.setattr(plans, "compare", lambda *_: "DIFFERS in boards")
    assert run(tmp_path / "made", "rebuild", "--from-nothing", "--part", "games").exit_code == 1


def test_size_of_a_difference_is_given_for_floats_of_one_shape() -> None:
    floats = np.array([1.0, 2.0])
    assert from_nothing.difference_text(floats, np.array([1.0, 2.5])) == " by 5e-01"
    assert from_nothing.difference_text(floats, np.ones(3)) == ""
    assert from_nothing.difference_text(None, floats) == ""
    assert from_nothing.difference_text(np.array([1]), np.array([2])) == ""


@pytest.mark.prefect
def test_flow_continues_what_the_command_began(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, root = write_plan(tmp_path), tmp_path / "made"
    monkeypatch.setattr(plans, "PLAN", path)
    assert run(root, "rebuild", "--from-nothing", "--part", "games").exit_code == 0
    (games,) = bgdata.open_warehouse(root).versions()
    result = run_flow("--warehouse", str(root), "--plan", str(path), "table")
    assert result.returncode == 0, result.stderr
    first_line, second_line = result.stdout.splitlines()
    assert first_line.strip() == games.name
    assert second_line.startswith("bearoff_gammon/2x15/")
    assert games.folder in [table.folder for table in bgdata.open_warehouse(root).versions()]
    assert "selfplay" not in result.stderr


@pytest.mark.prefect
def test_unknown_part_of_a_flow_is_refused(tmp_path: Path) -> None:
    result = run_flow("--warehouse", str(tmp_path / "made"), "--plan", str(write_plan(tmp_path)), "colour")
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == "error: expected a part among games, table, sample, got 'colour'"


def run_flow(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pipelines.rebuild", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
