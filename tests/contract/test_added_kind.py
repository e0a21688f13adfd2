"""What a new kind costs: its declaration and its computation, in one file or two, an SQL check, and a corruption that
it finds."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import bgdata
from bgdata import computations, datasets
from bgdata.errors import CheckFailedError
from bgdata.store.dataset import Dataset
from bgdata.store.progress import Silence
from bgdata.store.table import Table
from bgdata.store.verify import Status, verify
from tests.contract.kinds import Corrupted
from tests.rechecking import check_sample
from tests.sql.corruptions.corruption import changed

DECLARATION = '''
"""How often two dice have a sum."""

from dataclasses import dataclass

from bgdata.store.dataset import Dataset, Estimate, SmallDataset
from bgdata.store.declaration import Column, FlatArray
from bgdata.store.parameters import Parameters


@dataclass(frozen=True)
class DiceParameters(Parameters):
    """How many sides each die has."""

    sides: int = 6


class DiceSums(Dataset[DiceParameters]):
    """One row a sum."""

    name = "dice_sums"
    revision = 1
    summary = "How often two dice have a sum, of all their rolls."
    source = "Computed: counted over all rolls"
    columns = (
        Column("pip_count", "INTEGER", "pips", "Sum of both dice"),
        Column("rolls", "INTEGER", "rolls", "Rolls with this sum"),
    )
    key = ("pip_count",)
    arrays = (FlatArray("rolls", "int32", "sum from 2", "Rolls with this sum"),)
    parameters = DiceParameters
    defaults = ()
    smallest = DiceParameters(3)

    def slug(self, parameters):
        return f"{parameters.sides}-sides"

    def estimate(self, parameters):
        return Estimate(2 * parameters.sides - 1, 10_000, 1 << 20)
'''
COMPUTATION_IMPORTS = """
import numpy as np
import pyarrow as pa

from bgdata.errors import CheckFailedError
from bgdata.store.dataset import sampled
"""
METHODS = '''
    def compute(self, build):
        build.job.save("rolls", counts(build.parameters.sides))

    def batches(self, computed):
        rolls = np.asarray(computed.arrays["rolls"])
        yield pa.record_batch({"pip_count": np.arange(2, len(rolls) + 2, dtype=np.int32), "rolls": rolls})

    def check_sample(self, recheck):
        if not np.array_equal(recheck.table.array("rolls"), counts(recheck.parameters.sides)):
            raise CheckFailedError(f"expected the rolls of {recheck.table.name} as they are counted, found others")
        return sampled(recheck.table.manifest.rows, recheck.table.manifest.rows)


def counts(sides):
    """int32[2 * sides - 1]: rolls with each sum from 2."""
    return np.bincount(np.add.outer(np.arange(sides), np.arange(sides)).ravel()).astype(np.int32)
'''
COMPUTATION = f'''
"""Counts the rolls."""
{COMPUTATION_IMPORTS}
from bgdata.store.dataset import Computation


class DiceSumsComputation(Computation):
    """Computation of `dice_sums`."""
{METHODS}

COMPUTATION = DiceSumsComputation
'''
END = "\n\nDATASET = DiceSums()\n"
SMALL = DECLARATION.replace("(Dataset[", "(SmallDataset[")
FORMS = {  # in which a kind may be written: files by folder
    "one file": {"datasets": COMPUTATION_IMPORTS + SMALL + METHODS + END},
    "a declaration and a computation": {"datasets": DECLARATION + END, "computations": COMPUTATION},
}
CHECK = """select variant, pip_count, rolls from dice_sums where rolls < 1 or rolls > pip_count - 1"""
CORRUPTION = changed("dice_sums", "rolls = 9", pip_count=4)


@pytest.fixture(params=FORMS)
def kind(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Dataset[Any]]:
    """The kind beside those of the package, in folders of the test's own."""
    for package in (datasets, computations):
        folder = tmp_path / package.__name__
        folder.mkdir()
        text = FORMS[request.param].get(package.__name__.removeprefix("bgdata."))
        if text:
            (folder / "dice_sums.py").write_text(text)
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
        monkeypatch.delitem(sys.modules, f"{package.__name__}.dice_sums", raising=False)
    (tmp_path / "sql" / "checks").mkdir(parents=True)
    (tmp_path / "sql" / "checks" / "dice_sums__counts_in_range.sql").write_text(CHECK)
    monkeypatch.setattr(datasets, "SQL", tmp_path / "sql")  # instead of ours: it needs none of it
    datasets.all_kinds.cache_clear()
    yield bgdata.all_kinds()["dice_sums"]
    datasets.all_kinds.cache_clear()
    for package in (datasets, computations):
        sys.modules.pop(f"{package.__name__}.dice_sums", None)


def test_a_kind_is_a_file_or_two(kind: Dataset[Any], tmp_path: Path) -> None:
    """It is built, verified, and shown in SQL with its comments."""
    warehouse = bgdata.open_warehouse(tmp_path / "warehouse")
    table = warehouse.build(kind.name, kind.smallest)
    findings = list(verify(warehouse, [table], seed=0, progress=Silence()))
    assert {finding.check for finding in findings if finding.status is Status.PASSED} >= {
        "SQL checks",
        "rows recomputed",
    }
    assert [finding.text for finding in findings if finding.problem] == []
    with warehouse.connect() as connection:
        rows = connection.sql("select variant, pip_count, rolls from dice_sums").fetchall()
        comments = connection.sql(
            "select comment from duckdb_columns() where table_name = 'dice_sums' and column_name = 'rolls'"
        ).fetchall()
    assert rows == [("3-sides", *row) for row in ((2, 1), (3, 2), (4, 3), (5, 2), (6, 1))]
    assert comments == [("Rolls with this sum [rolls]",)]
    check_sql_finds_its_corruption(table)
    check_its_array_is_computed_again(kind, table)


def check_sql_finds_its_corruption(table: Table) -> None:
    ((_, query),) = bgdata.all_kinds().sql.checks(table.manifest.dataset)
    with duckdb.connect() as connection:
        connection.execute(f"create table dice_sums as select '3-sides' as variant, * from '{table.parquet}'")
        assert connection.sql(query).fetchall() == []
        connection.execute(CORRUPTION.damage)
        assert connection.sql(query).fetchall() == [("3-sides", 4, 9)]


def check_its_array_is_computed_again(kind: Dataset[Any], table: Table) -> None:
    corrupted = Corrupted(table, "rolls", np.array([1, 2, 4, 2, 1], np.int32))
    assert check_sample(kind, table, {}, 5, np.random.default_rng(0)) == "all 5 rows"
    with pytest.raises(CheckFailedError, match=r"expected the rolls of dice_sums/3-sides/.* as they are counted"):
        check_sample(kind, corrupted, {}, 5, np.random.default_rng(0))
