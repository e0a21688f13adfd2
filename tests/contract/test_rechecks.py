"""Checks of every kind: `verify` accepts good versions and finds any corrupted value."""

import re
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.bearoff import two_sided
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.errors import DigestMismatchError
from bgdata.kinds import all_kinds
from bgdata.measures.kinds.judged_decisions_compute import Judge
from bgdata.store.build import write_tables
from bgdata.store.checks import run_sql_checks
from bgdata.store.dataset import Computed, Dataset
from bgdata.store.progress import Silence
from bgdata.store.table import Table
from bgdata.store.verify import (
    RECOMPUTED,
    Finding,
    Status,
    check_hashes,
    check_recomputed,
    check_values,
    finding_of,
    verify,
)
from tests.contract.kinds import Corrupted, corrupted_copy, each_kind, smallest_version, with_nan
from tests.rechecking import check_sample
from tests.subtests import Subtests, each

# networks are not retrained: their last games are replayed, which a single weight may not change, and of the curve only
# the last row follows from them
NOT_COMPUTED_AGAIN = {
    *("contact_parts.weights", "contact_parts.biases"),
    *("network.weights", "network.biases", "network.curve"),
    *("supervised_network.weights", "supervised_network.biases", "supervised_network.curve"),
}
SAMPLES = 2  # corrupted values of each array


def computed_kinds() -> dict[str, Dataset[Any]]:
    return {name: kind for name, kind in all_kinds().items() if not kind.takes_files}


@pytest.fixture
def table_with_damaged_cells(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> Table:
    """A two-sided table in which some cells are wrong, and all others follow correctly from them, as after a damaged
    checkpoint."""
    solve = two_sided.solve_batch

    def solve_with_damage(window: two_sided.Window, totals: range) -> Iterator[two_sided.SolvedBlocks]:
        for solved in solve(window, totals):
            if 20 in totals:
                solved.values[:240] += np.float32(0.05)
                two_sided.restore(window, solved)
            yield solved

    with monkeypatch.context() as patch:
        patch.setattr(two_sided, "solve_batch", solve_with_damage)
        return bgdata.open_warehouse(memory_path).build("bearoff_two_sided", TwoSidedParameters(4, 5))


@pytest.mark.parametrize("rows", [None, 40_000], ids=["all", "sample"])
def test_table_made_from_damaged_cells_is_found(
    table_with_damaged_cells: Table, memory_path: Path, rows: int | None
) -> None:
    """By recomputing rows, and by nothing else."""
    table = table_with_damaged_cells
    warehouse = bgdata.open_warehouse(memory_path)
    findings = verify(warehouse, [table], sample_rows=rows, seed=0, progress=Silence())
    (failure,) = (finding for finding in findings if finding.problem)
    assert failure.check == RECOMPUTED
    assert f" {table.name}" in failure.problem
    undamaged = warehouse.build("bearoff_two_sided", TwoSidedParameters(4, 5), force=True)
    findings = verify(warehouse, [undamaged], sample_rows=rows, seed=0, progress=Silence())
    assert [finding.problem for finding in findings if finding.problem] == []


@pytest.mark.slow
@each_kind
def test_verify_names_the_recomputed_rows_or_a_reason(small_root: Path, kind: Dataset[Any]) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    table = smallest_version(small_root, kind)
    for rows in (None, 2, 0):
        finding = finding_of(table.name, RECOMPUTED, partial(check_recomputed, warehouse, table, rows, 0, Silence()))
        assert finding.text
        has_too_few_games = kind.name == "cube_studies" and rows == 2  # only whole arms can be replayed
        is_skipped = rows == 0 or kind.takes_files or has_too_few_games
        assert finding.status is (Status.SKIPPED if is_skipped else Status.PASSED)


@pytest.mark.parametrize(
    "name", ["bearoff_error", "bearoff_gammon", "bearoff_one_sided", "bearoff_two_sided", "cube_life"]
)
def test_drawn_rows_are_not_reported_as_all(small_root: Path, name: str) -> None:
    """A sample that may repeat rows is never reported as all rows, even if it is as large as the table."""
    warehouse = bgdata.open_warehouse(small_root)
    table = smallest_version(small_root, warehouse.kind(name))
    total = table.manifest.rows
    for rows in (3, total):
        text = check_recomputed(warehouse, table, rows, 0, Silence())
        assert text.startswith(f"{rows:,} rows drawn of {total:,}: finds 1 bad one in")


def test_endgames_that_are_all_recomputed_are_reported_as_all(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    table = smallest_version(small_root, warehouse.kind("contact_endgame"))
    total = table.manifest.rows
    assert check_recomputed(warehouse, table, total, 0, Silence()).startswith(f"all {total:,} rows")
    assert check_recomputed(warehouse, table, 3, 0, Silence()).startswith(f"3 rows drawn of {total:,}: finds 1 bad one")


@each_kind
def test_good_version_passes(small_root: Path, kind: Dataset[Any]) -> None:
    """The smallest version of every kind passes all checks, with all rows recomputed."""
    warehouse = bgdata.open_warehouse(small_root)
    table = smallest_version(small_root, kind)
    findings = list(verify(warehouse, [table], sample_rows=8 * table.manifest.rows, seed=0, progress=Silence()))
    assert [finding.text for finding in findings if finding.problem] == []
    skipped = {finding.check for finding in findings if finding.status is Status.SKIPPED}
    assert skipped == ({RECOMPUTED} if kind.takes_files else set())


@each_kind
def test_changed_byte_of_any_file_is_found(small_root: Path, memory_path: Path, kind: Dataset[Any]) -> None:
    """A changed byte in any file of any kind gives an error that names the file."""
    original = smallest_version(small_root, kind).folder
    table = Table(memory_path / original.relative_to(small_root))
    shutil.copytree(original, table.folder)
    check_hashes(table)
    for entry in table.manifest.files:
        path = table.folder / entry.name
        data = path.read_bytes()
        path.chmod(0o644)
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        with pytest.raises(DigestMismatchError, match=f"^expected SHA-256 .* of {re.escape(str(path))}, found "):
            check_hashes(table)
        path.write_bytes(data)


@each_kind
def test_corrupted_value_of_any_array_is_found_by_the_digest(small_root: Path, kind: Dataset[Any]) -> None:
    """So it is found even if the hash of the file was made to fit."""
    table = smallest_version(small_root, kind)
    for array in kind.arrays:
        values = table.array(array.name)
        if values.size:
            corrupted = Corrupted(table, array.name, corrupted_copy(values, np.random.default_rng(5)))
            with pytest.raises(DigestMismatchError, match="expected the value digest"):
                check_values(corrupted)


@pytest.fixture
def _plays_rolled_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the rollouts of a judge, which take seconds and do not depend on the corrupted table."""
    kept: dict[int, dict[str, Any]] = {}
    roll_out = Judge.plays_of

    def plays_of(judge: Judge, row: int) -> dict[str, Any]:
        if row not in kept:
            kept[row] = roll_out(judge, row)
        return kept[row]

    monkeypatch.setattr(Judge, "plays_of", plays_of)


@pytest.mark.slow
@pytest.mark.usefixtures("_plays_rolled_out_once")
@each("kind", computed_kinds)
def test_corrupted_value_of_any_computed_array_is_found(small_root: Path, tmp_path: Path, kind: Dataset[Any]) -> None:
    """A changed value in any computed array of any kind is found by recomputing rows or by SQL checks, even if all
    hashes were made to fit. One of the values is NaN, which comparisons with bounds would let pass."""
    table = smallest_version(small_root, kind)
    with Subtests() as subtests:
        for array in kind.arrays:
            with subtests.test(f"{kind.name}.{array.name}"):
                generator = np.random.default_rng(5)
                values = table.array(array.name)
                is_unknown = f"{kind.name}.{array.name}" in NOT_COMPUTED_AGAIN
                count = (1 if is_unknown else SAMPLES) if values.size else 0
                corruptions = [corrupted_copy(values, generator) for _ in range(count)]
                values_with_nan = with_nan(values, generator)
                if values_with_nan is not None:
                    corruptions.append(values_with_nan)
                for corruption in corruptions:
                    corrupted = Corrupted(table, array.name, corruption)
                    findings = check_everything(small_root, corrupted, generator, tmp_path)
                    assert all(finding.status is not Status.SKIPPED for finding in findings)
                    assert findings[-1].problem or is_unknown


def check_everything(root: Path, table: Table, generator: np.random.Generator, folder: Path) -> list[Finding]:
    """Recompute the rows, and if all are equal, run the SQL checks."""
    name = table.manifest.dataset
    findings = [finding_of(name, "recomputed", partial(check_all_rows, root, table, generator))]
    if not findings[0].problem:
        findings.append(finding_of(name, "SQL checks", partial(check_sql_of, table, folder)))
    return findings


def check_all_rows(root: Path, table: Table, generator: np.random.Generator) -> None:
    """Recompute every row."""
    kind = all_kinds()[table.manifest.dataset]
    inputs = bgdata.open_warehouse(root).find_inputs(kind, kind.smallest) or {}
    check_sample(kind, table, inputs, 8 * table.manifest.rows, generator)


def check_sql_of(table: Table, folder: Path) -> None:
    """Run the SQL checks on Parquet files made from the arrays."""
    kind = all_kinds()[table.manifest.dataset]
    computed = Computed(kind.smallest, table.arrays())
    write_tables(kind, computed, folder, Silence(), version="r1-00000000", digest="0" * 64, recipe_key="")
    files = {shape: [folder / shape.file] for shape in kind.tables_of(kind.smallest)}
    run_sql_checks(all_kinds().sql, kind, kind.smallest, files)
