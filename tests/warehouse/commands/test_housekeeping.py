"""Tests of `bgdata use`, `rm` and `gc`, and of the current version in other commands."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

import bgdata
from bgdata.cli import main
from bgdata.store.catalog import is_stale
from bgdata.store.names import CURRENT
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse
from bgdata.warehouse.commands import housekeeping
from tests.command_line import error_of, output_of, run
from tests.kept import own
from tests.subtests import each

TRAIN_SMALL = [
    *("train", "td", "small", "--games", "40", "--round-games", "20", "--row-games", "20", "--test-games", "4"),
    *("--hidden", "4", "--crashed-hidden", "4", "--race-hidden", "4", "--no-tables"),
]
START = "4HPwATDgc/ABMA"


def train_network(root: Path, seed: int) -> Table:
    """Train network/small with a seed by the command line."""
    output = output_of(root, *TRAIN_SMALL, "--seed", str(seed))
    return Table(Path(output.splitlines()[0]))


def evaluating_version(root: Path, *arguments: str) -> str:
    """The version that evaluates."""
    return json.loads(output_of(root, "eval", START, "--format", "json", *arguments))[0]["accuracy"]


@pytest.fixture
def two_networks(memory_path: Path) -> tuple[Warehouse, Table, Table]:
    """A warehouse with two versions of network/small; the second was trained last."""
    return bgdata.open_warehouse(memory_path), train_network(memory_path, 1), train_network(memory_path, 2)


def test_last_built_version_is_current(two_networks: tuple[Warehouse, Table, Table]) -> None:
    """A build makes a version current even if it only finds it, as for seeds 1, 2, 1."""
    warehouse, first, second = two_networks
    assert first.folder != second.folder
    assert second.name in evaluating_version(warehouse.root, "--network", "small")
    assert train_network(warehouse.root, 1).folder == first.folder
    assert first.name in evaluating_version(warehouse.root, "--network", "small")
    assert second.name in evaluating_version(warehouse.root, "--network", f"small/{second.folder.name}")


@pytest.mark.catalog
def test_used_version_is_current_everywhere(two_networks: tuple[Warehouse, Table, Table]) -> None:
    """Players, `list`, SQL and the catalog agree."""
    warehouse, first, second = two_networks
    assert output_of(warehouse.root, "use", first.name) == f"{first.name} is current now\n"
    assert not is_stale(warehouse), "other clients open the catalog unchanged"
    assert output_of(warehouse.root, "use", first.name) == f"{first.name} is current already\n"
    assert first.name in evaluating_version(warehouse.root, "--network", "small")
    marks = re.findall(r"^  (.) small +(r1-\w+)", output_of(warehouse.root, "list"), re.MULTILINE)
    assert sorted(marks) == sorted([("*", first.folder.name), (" ", second.folder.name)])
    sql = "select version from versions where dataset = 'network' and is_current"
    sheet = output_of(warehouse.root, "query", sql, "--format", "csv")
    assert sheet.splitlines()[1:] == [first.folder.name]


def test_damaged_version_cannot_become_current(two_networks: tuple[Warehouse, Table, Table]) -> None:
    """`list` and queries name the damage."""
    warehouse, first, second = two_networks
    path = first.folder / "table.parquet"
    path.chmod(0o644)
    path.write_bytes(b"")
    assert error_of(run(warehouse.root, "use", first.name), 1).startswith("expected ")
    assert warehouse.open("network", "small").folder == second.folder
    assert f"    {first.name} is damaged: expected " in output_of(warehouse.root, "list")
    warehouse.use(first)
    error = error_of(run(warehouse.root, "query", "select count(*) from learning_curve"), 1)
    assert error.startswith(f"{first.name} is damaged: expected ")


@pytest.mark.parametrize("command", ["use", "rm"])
def test_invalid_versions_are_refused(warehouse: Warehouse, command: str) -> None:
    for name in ("network/tiny", "network", "a/b/c/d"):
        error = error_of(run(warehouse.root, command, name), 2)
        assert error == f"expected KIND/VARIANT/VERSION, got {name!r}; see: bgdata list"
    error = error_of(run(warehouse.root, command, "network/tiny/r1-00000000"), 1)
    assert error.startswith("no network/tiny/r1-00000000 in ")
    error = error_of(run(warehouse.root, command, "nothing/x/r1-00000000"), 2)
    assert error.startswith("expected a kind of dataset, got ")
    assert error_of(run(warehouse.root, command, "a/b/c\x1b[2J"), 2).isprintable()


def test_rm_deletes_a_version_without_dependents(two_networks: tuple[Warehouse, Table, Table]) -> None:
    warehouse, first, second = two_networks
    output = output_of(warehouse.root, "rm", second.name)
    assert output == f"deleted {second.name}\n{first.name} is current now\n"
    assert first.name in evaluating_version(warehouse.root, "--network", "small")
    inputs = first.manifest.inputs["two_sided"].partition("@")[0]
    needed = warehouse.open_reference(inputs)
    error = error_of(run(warehouse.root, "rm", needed.name), 1)
    assert error == f"expected a version that nothing depends on, got {needed.name}, needed by {first.name}"
    assert output_of(warehouse.root, "rm", first.name) == f"deleted {first.name}\n"
    assert not first.folder.parent.exists()
    assert output_of(warehouse.root, "rm", needed.name) == f"deleted {needed.name}\n"


def test_gc_deletes_versions_that_nothing_needs(two_networks: tuple[Warehouse, Table, Table]) -> None:
    warehouse, first, second = two_networks
    output = output_of(warehouse.root, "gc", "--dry-run")
    assert re.fullmatch(rf" *[\d.]+ kB  {first.name}: nothing needs it\n[\d.]+ kB would be freed\n", output)
    assert first.folder.exists()
    assert output_of(warehouse.root, "gc").endswith(" freed\n")
    assert not first.folder.exists()
    assert second.name in evaluating_version(warehouse.root, "--network", "small")
    assert output_of(warehouse.root, "gc") == "nothing to delete\n"


def test_gc_keeps_damaged_versions_by_default(warehouse: Warehouse) -> None:
    table = warehouse.open("bearoff_gammon", "3x15")
    own(table.parquet).write_bytes(b"junk")
    assert run(warehouse.root, "verify", "bearoff_gammon", "--sample", "0", "--repair").exit_code == 0
    assert output_of(warehouse.root, "gc", "--dry-run") == "nothing to delete\n"
    name = f".staging/damaged-bearoff_gammon-3x15-{table.folder.name}"
    assert f"  {name}: a repair has set it aside\n" in output_of(warehouse.root, "gc", "--damaged")
    assert list(warehouse.staging.iterdir()) == []


@pytest.mark.usefixtures("small_defaults")
def test_lock_needs_the_default_version_to_be_current(warehouse: Warehouse) -> None:
    """Otherwise the lock would contain digests that views do not show."""
    output_of(warehouse.root, "lock")
    table = warehouse.open("bearoff_gammon", "3x15")
    assert "DIFFERS" not in run(warehouse.root, "diff").stdout
    own(table.folder.parent / CURRENT).write_text("r9-00000000\n")
    assert error_of(run(warehouse.root, "lock"), 1).startswith("no current version bearoff_gammon/3x15/r9-00000000 in ")
    assert output_of(warehouse.root, "use", table.name) == f"{table.name} is current now\n"
    output_of(warehouse.root, "lock")


@each(
    ("answer", "options", "is_deleted"),
    {"no": ("n", [], False), "yes": ("y", [], True), "--yes": ("", ["--yes"], True)},
)
def test_rm_asks_first(
    memory_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, options: list[str], is_deleted: bool
) -> None:
    output_of(memory_path, "build", "bearoff_gammon", "--points", "1")
    (table,) = bgdata.open_warehouse(memory_path).versions()
    monkeypatch.setattr(housekeeping, "sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True)))
    result = CliRunner().invoke(main, ["--warehouse", str(memory_path), "rm", table.name, *options], input=answer)
    assert (result.exit_code, table.folder.exists()) == (0 if is_deleted else 1, not is_deleted)
    assert (f"delete {table.name}, " in result.stderr) == (not options)


def test_gc_removes_control_characters_from_names(memory_path: Path) -> None:
    (memory_path / ".staging").mkdir()
    (memory_path / ".staging" / "x\x1b[2Jy").write_text("")
    output = output_of(memory_path, "gc", "--dry-run")
    assert "x\\x1b[2Jy" in output
    assert "\x1b" not in output
