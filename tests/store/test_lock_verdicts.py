"""Whether a warehouse holds what its lock lists, and what only `bgdata build --all` builds may be missing."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from bgdata.store.lockfile import Verdict, advice, left_out, lock_verdicts, save_lock
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse
from tests.store.toy import Count, Squares


class Many(Squares):
    """Squares of which a default build leaves the longer variant out."""

    more = (Count(30),)


@pytest.fixture
def warehouse(memory_path: Path) -> Warehouse:
    return Warehouse(memory_path / "warehouse", {"squares": Many()})


@pytest.fixture
def tables(warehouse: Warehouse) -> list[Table]:
    """Both variants, and their lock."""
    found = [warehouse.build("squares", each) for each in Many.defaults]
    save_lock(warehouse.lock, [table.manifest for table in found])
    return found


def verdict(found: list[Verdict], variant: str) -> tuple[str, bool, bool]:
    (each,) = (each for each in found if each.entry.variant == variant)
    return each.text, each.is_same, each.is_right


def test_basic_variants_are_the_defaults_but_for_more() -> None:
    assert (Many().basic, Squares().basic) == ([Count(20)], [Count(20), Count(30)])


@pytest.mark.usefixtures("tables")
def test_all_is_there(warehouse: Warehouse) -> None:
    found = lock_verdicts(warehouse)
    assert [verdict(found, variant) for variant in ("20", "30")] == [("same", True, True)] * 2
    assert left_out(warehouse) == left_out(warehouse, "squares") == []


def test_only_optional_variants_may_be_missing(warehouse: Warehouse, tables: list[Table]) -> None:
    for table in tables:
        table.folder.rename(warehouse.root.parent / table.folder.name)
    found = lock_verdicts(warehouse)
    assert verdict(found, "20") == ("not built", False, False)
    assert verdict(found, "30") == ("not built; try: bgdata build squares", False, True)
    assert left_out(warehouse) == left_out(warehouse, "squares") == ["squares/30"]
    assert advice(["squares/30", "x/y"]) == "not built: squares/30, x/y; try: bgdata build --all"


def test_check_strict_on_existing_version(warehouse: Warehouse, tables: list[Table]) -> None:
    save_lock(warehouse.lock, [dataclasses.replace(table.manifest, digest="0" * 64) for table in tables])
    for each in lock_verdicts(warehouse):
        assert each.text.startswith("DIFFERS: current is ")
        assert not each.is_right
