"""`bgdata push` and `bgdata pull`: their output, and their one-line errors."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem

import bgdata
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.store.versions import Versions
from tests.command_line import error_of, output_of, run
from tests.subtests import each

STORE = "memory://shop/ware"


@pytest.fixture(name="root")
def _root(memory_path: Path) -> Iterator[Path]:
    """A warehouse with two small tables, beside an empty store in memory."""
    warehouse = bgdata.open_warehouse(memory_path / "warehouse")
    for checkers in (2, 3):
        warehouse.build("bearoff_two_sided", TwoSidedParameters(2, checkers))
    MemoryFileSystem.store.clear()
    yield warehouse.root
    MemoryFileSystem.store.clear()


def test_dry_run_pushes_nothing(root: Path) -> None:
    assert output_of(root, "push", STORE, "--dry-run").splitlines()[-1].startswith("would push 2 versions, 4 files, ")
    assert MemoryFileSystem.store == {}


def test_pushed_versions_can_be_pulled(root: Path, memory_path: Path) -> None:
    first, second = (table.name for table in bgdata.open_warehouse(root).versions())
    lines = output_of(root, "push", STORE, "bearoff_two_sided/2x2").splitlines()
    assert [line.split()[-1] for line in lines[:-1]] == [first]
    assert lines[-1].startswith("pushed 1 version, 2 files, ")
    assert lines[-1].endswith(" kB; 0 were there")
    result = run(root, "push", STORE, "--format", "json", "--jobs", "1")
    assert result.stderr.startswith("pushed 1 version, 2 files, ")
    assert result.stderr.endswith("1 was there\n")
    rows = json.loads(result.stdout)
    assert [(row["variant"], row["state"], row["files"]) for row in rows] == [("2x2", "there", 0), ("2x3", "pushed", 2)]
    assert rows[1]["bytes"] > rows[0]["bytes"] == 0
    copy = memory_path / "copy"
    lines = output_of(copy, "pull", STORE).splitlines()
    assert [line.split()[-1] for line in lines[:-1]] == [first, second]
    assert output_of(copy, "list", "bearoff_two_sided") == output_of(root, "list", "bearoff_two_sided")
    assert "0 failed" in output_of(copy, "verify")
    assert output_of(copy, "pull", STORE) == "pulled 0 versions, 0 files, 0 B; 2 were there\n"
    assert output_of(root, "pull", f"file://{copy}", "bearoff_two_sided").endswith("; 2 were there\n")


@pytest.mark.catalog
def test_catalog_is_written_once(root: Path, memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bgdata.store import catalog

    output_of(root, "push", STORE)
    roots: list[Path] = []
    original = catalog.refresh_catalog

    def refresh_catalog(warehouse: Versions, **options: Any) -> None:
        roots.append(warehouse.root)
        original(warehouse, **options)

    monkeypatch.setattr(catalog, "refresh_catalog", refresh_catalog)
    output_of(memory_path / "copy", "pull", STORE)
    assert roots == [memory_path / "copy"]
    assert not catalog.is_stale(bgdata.open_warehouse(memory_path / "copy"))


@each(
    ("words", "code", "message"),
    [
        (["pull", STORE], 1, f"expected versions in {STORE}, found none"),
        (["push", "nope://user:secret@x"], 2, "expected an address of a scheme that is known"),
        (["push", "https://user:secret@host/x"], 2, "expected a folder or a store to push to, got https://host/x, "),
        (["pull", "http://user:secret@127.0.0.1:1/x"], 1, "cannot read http://127.0.0.1:1/x/index.json: "),
        (["push", STORE, "openings"], 1, "no openings in {root} (have: bearoff_two_sided)"),
        (["push", STORE, "opening"], 2, "expected a kind of dataset, got 'opening'; do you mean openings?"),
        (["push", STORE, "--jobs", "0"], 2, "invalid value for '--jobs'"),
        (["push"], 2, "missing argument 'ADDRESS'"),
    ],
)
def test_errors_are_reported_in_one_line(root: Path, words: list[str], code: int, message: str) -> None:
    """Invalid addresses and names give errors of one line without the password in the address."""
    error = error_of(run(root, *words), code)
    assert error.startswith(message.replace("{root}", str(root)))
    assert "secret" not in error


def test_push_from_a_missing_warehouse_is_refused(tmp_path: Path) -> None:
    assert error_of(run(tmp_path / "none", "push", STORE), 1).startswith("expected a warehouse in ")
