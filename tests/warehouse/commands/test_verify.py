"""Tests of `bgdata verify`, `lock` and `rebuild`."""

import dataclasses
import inspect
import json
import re
import shutil
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

import bgdata
from bgdata.kernel_cache import closure_fingerprint
from bgdata.store.lockfile import save_lock
from bgdata.training.kinds import network
from bgdata.warehouse import Warehouse
from bgdata.warehouse.commands.build import COMPUTED
from bgdata.warehouse.commands.verify import duration_text, verify_warehouse
from tests.command_line import error_of, output_of, run
from tests.contract.kinds import small_variants
from tests.kept import own
from tests.store.test_current import Seeded, open_powers_warehouse

pytestmark = pytest.mark.catalog


def test_verify_checks_every_version(warehouse: Warehouse) -> None:
    result = run(warehouse.root, "verify", "--sample", "20", "--seed", "3")
    assert result.exit_code == 0
    n_versions = len(list(warehouse.versions()))
    n_imported = sum(kind.takes_files for kind in warehouse.kinds.values())
    n_passed = 8 * n_versions - n_imported + 1  # 8 checks a version, and that of the catalog
    assert result.stdout.splitlines() == [
        f"{n_versions} versions: {n_passed} checks passed, {n_imported} skipped, 0 failed",
        f"made by this code: {n_versions - 1}; by other code, recomputed here: 1",  # network/contact-160
    ]
    assert result.stderr.count("ok     ") == n_versions
    assert result.stderr.count(": recomputing skipped: nothing that ") == n_imported
    sampled = r"ok     bearoff_two_sided/3x3/\S+: 20 rows drawn of 400: finds 1 bad one in 4 with 99%, if"
    assert re.search(sampled, result.stderr)


def test_verify_of_a_kind_checks_all_rows_or_none(warehouse: Warehouse) -> None:
    without_rows = output_of(warehouse.root, "verify", "bearoff_gammon", "--sample", "0")
    assert without_rows == "2 versions: 14 checks passed, 2 skipped, 0 failed\nmade by this code: 2\n"
    result = run(warehouse.root, "verify", "bearoff_gammon")
    assert len(re.findall(r"ok     bearoff_gammon/\S+: all [0-9,]+ rows", result.stderr)) == 2


def test_verify_reports_the_code_that_made_a_version(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A version was made by this code, or by other code and recomputed here, or only its hashes were checked."""
    powers = open_powers_warehouse(memory_path / "warehouse")
    table = powers.build("powers", Seeded(10, 0))
    sources = table.manifest.software["sources"]
    assert sources == closure_fingerprint(Path(inspect.getfile(type(powers.kind("powers").computation))))

    def summary(sample: int) -> str:
        rows = StringIO()
        with redirect_stdout(rows):
            assert verify_warehouse(powers, "powers", sample, 0, repair=False)
        return rows.getvalue().splitlines()[1]

    assert summary(0) == summary(5) == "made by this code: 1"
    monkeypatch.setattr("bgdata.store.verify.source_fingerprint", lambda _kind: "0123456789ab")
    assert summary(5) == "by other code, recomputed here: 1"
    assert summary(0) == "copied, hashes only: 1"


@pytest.mark.slow
def test_verify_names_the_damage_and_repairs_it(warehouse: Warehouse) -> None:
    gammon = warehouse.open("bearoff_gammon", "3x15")
    two_sided = warehouse.open("bearoff_two_sided", "3x3")
    damaged_files = {gammon.name: gammon.folder / "chances.npy", two_sided.name: two_sided.parquet}
    digests = [table.manifest.digest for table in warehouse.versions()]
    for path in damaged_files.values():
        data = bytearray(path.read_bytes())
        data[-5] ^= 1
        own(path).write_bytes(data)
    result = run(warehouse.root, "verify", "--sample", "5")
    assert result.exit_code == 1
    n_versions = len(digests)
    n_skipped = sum(kind.takes_files for kind in warehouse.kinds.values())
    for table in warehouse.versions():  # those made from damaged versions are not recomputed
        inputs = {needed.name for needed in warehouse.made_from(table).values()}
        n_skipped += not inputs.isdisjoint(damaged_files)
    n_passed = 8 * n_versions - n_skipped - 2 * 6 + 1  # 6 checks are left out after the hashes of a damaged version
    assert result.stdout.splitlines() == [
        f"{n_versions} versions: {n_passed} checks passed, {n_skipped} skipped, 2 failed",
        f"made by this code: {n_versions - 3}; by other code, recomputed here: 1",
    ]
    for name, path in damaged_files.items():
        assert re.search(rf"FAILED {name}: file hashes: expected SHA-256 .* of {path}", result.stderr)
    result = run(warehouse.root, "verify", "--sample", "5", "--repair")
    assert result.exit_code == 0, result.output
    assert len(re.findall(r"repaired bearoff_\w+/\w+/r\d-\w+; the damaged files are in ", result.stderr)) == 2
    assert " 0 failed" in output_of(warehouse.root, "verify", "--sample", "5")
    assert [table.manifest.digest for table in warehouse.versions()] == digests


def test_imported_versions_cannot_be_repaired(warehouse: Warehouse) -> None:
    """Imported versions stay unchanged; other versions are repaired first."""
    imported = warehouse.open("positions", warehouse.variants("positions")[0])
    computed = warehouse.open("bearoff_gammon", "3x15")
    for table in (imported, computed):
        own(table.parquet).write_bytes(b"junk")
    result = run(warehouse.root, "verify", "--sample", "0", "--repair")
    assert result.exit_code == 1
    assert f"error: expected the files that {imported.name} was imported from; delete " in result.stderr
    assert imported.parquet.read_bytes() == b"junk"
    assert "2 versions: 14 checks passed" in output_of(warehouse.root, "verify", "bearoff_gammon", "--sample", "0")


@pytest.mark.parametrize("has_current_file", [True, False])
def test_repair_keeps_the_current_version(memory_path: Path, has_current_file: bool) -> None:
    powers = open_powers_warehouse(memory_path / "warehouse")
    older = powers.build("powers", Seeded(10, 1))
    newer = powers.build("powers", Seeded(10, 2))
    if not has_current_file:
        (newer.folder.parent / "current").unlink()
    for damaged in ([older], [newer], [older, newer]):
        for table in damaged:
            own(table.parquet).write_bytes(b"junk")
        assert verify_warehouse(powers, "powers", 0, 0, repair=True)
        assert verify_warehouse(powers, "powers", 0, 0, repair=False)
        assert powers.open("powers", "10").name == newer.name


def test_failures_after_a_repair_are_reported(memory_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A version that differs from the lock still differs after the repair."""
    powers = open_powers_warehouse(memory_path / "warehouse")
    table = powers.build("powers", Seeded(10, 1))
    save_lock(powers.lock, [dataclasses.replace(table.manifest, digest="0" * 64)])
    assert not verify_warehouse(powers, "powers", 0, 0, repair=True)
    assert f"FAILED {table.name}: lock: " in capsys.readouterr().err.partition("repaired")[2]


def test_repair_of_one_kind_does_not_check_the_catalog(memory_path: Path) -> None:
    powers = open_powers_warehouse(memory_path / "warehouse")
    own(powers.build("powers", Seeded(10, 1)).parquet).write_bytes(b"junk")
    powers.catalog.write_bytes(b"junk")
    assert verify_warehouse(powers, "powers", 0, 0, repair=True)


def test_repaired_version_replaces_a_missing_current_one(memory_path: Path) -> None:
    powers = open_powers_warehouse(memory_path / "warehouse")
    older = powers.build("powers", Seeded(10, 1))
    newer = powers.build("powers", Seeded(10, 2))
    newer.folder.rename(memory_path / "gone")
    older.parquet.write_bytes(b"junk")
    verify_warehouse(powers, "powers", 0, 0, repair=True)
    assert powers.open("powers", "10").name == older.name


@pytest.mark.slow
@pytest.mark.usefixtures("small_defaults")
def test_unchanged_warehouse_equals_its_lock_and_a_rebuild(warehouse: Warehouse) -> None:
    root = warehouse.root
    locked = len([variant for kind in COMPUTED for variant in kind.defaults])
    assert output_of(root, "lock") == f"wrote {warehouse.lock}: {locked} variants\n"
    assert output_of(root, "diff").count(", same\n") == locked
    times = {path: path.stat().st_mtime_ns for path in root.rglob("*.*") if path != warehouse.staging}
    assert output_of(root, "rebuild", "--check").count("same   ") == len(COMPUTED)
    assert {path: path.stat().st_mtime_ns for path in times} == times
    assert list(warehouse.staging.iterdir()) == []


@pytest.mark.slow
@pytest.mark.usefixtures("small_defaults")
def test_another_digest_in_the_lock_is_reported(warehouse: Warehouse) -> None:
    output_of(warehouse.root, "lock")
    lock = json.loads(warehouse.lock.read_text())
    (entry,) = (entry for entry in lock["entries"] if entry["dataset"] == "bearoff_gammon")
    entry["digest"] = "0" * 64
    warehouse.lock.write_text(json.dumps(lock))
    for arguments, message in (
        (["diff"], r"bearoff_gammon/3x15: locked 0{16}, DIFFERS: current is \w+"),
        (["rebuild", "bearoff_gammon", "--check"], r"DIFFERS bearoff_gammon/3x15: locked 0{16}, rebuilt \w+"),
        (["verify", "bearoff_gammon", "--sample", "0"], r"lock: expected the digest 0{16}\.\.\."),
    ):
        result = run(warehouse.root, *arguments)
        assert result.exit_code == 1
        assert re.search(message, result.stdout + result.stderr)
    assert "FAILED bearoff_gammon/3x15/" not in run(warehouse.root, "verify", "bearoff_error", "--sample", "0").stderr


@pytest.mark.usefixtures("one_more")
def test_variants_outside_a_default_build_may_be_missing(memory_path: Path) -> None:
    """Only `lock` needs them; other commands report that they are missing."""
    missing = "not built: bearoff_gammon/2x15; try: bgdata build --all"
    output_of(memory_path, "build")
    message = f"expected bearoff_gammon/2x15 in {memory_path}, found none; try: bgdata build --all"
    assert error_of(run(memory_path, "lock"), 1) == message
    assert run(memory_path, "verify").stderr.splitlines()[-1] == missing
    assert missing not in run(memory_path, "verify", "bearoff_gammon").stderr
    rebuilt = run(memory_path, "rebuild").stderr
    assert re.fullmatch(rf"bearoff_gammon/1x15: built .*\n{missing}\n", rebuilt)
    output_of(memory_path, "rebuild", "bearoff_gammon")
    assert output_of(memory_path, "lock").endswith("warehouse.lock: 2 variants\n")
    assert run(memory_path, "verify").stderr.splitlines()[-1] != missing


@pytest.mark.usefixtures("one_more")
def test_locked_variant_that_is_missing_is_reported(memory_path: Path) -> None:
    """The larger variant may be missing from a comparison, but not that of the default build."""
    output_of(memory_path, "build", "--all")
    output_of(memory_path, "lock")
    small, large = bgdata.open_warehouse(memory_path).versions("bearoff_gammon")
    shutil.rmtree(large.folder.parent)
    last_line = output_of(memory_path, "diff").splitlines()[-1]
    assert last_line.startswith(f"bearoff_gammon/2x15: locked {large.folder.name.partition('-')[2]}")
    assert last_line.endswith(", not built; try: bgdata build bearoff_gammon")
    assert output_of(memory_path, "rebuild", "--check").count("same   ") == 2
    shutil.rmtree(small.folder.parent)
    assert run(memory_path, "diff").exit_code == 1


@pytest.mark.usefixtures("small_defaults")
def test_rebuild_in_place_prints_rows(warehouse: Warehouse) -> None:
    table = warehouse.open("bearoff_gammon", "3x15")
    manifest = table.manifest
    (row,) = json.loads(output_of(warehouse.root, "rebuild", "bearoff_gammon", "--format", "json"))
    assert row == {
        "dataset": "bearoff_gammon", "variant": "3x15", "version": table.folder.name, "rows": manifest.rows,
        "digest": manifest.digest, "is_rebuilt": True,
    }  # fmt: skip
    sheet = output_of(warehouse.root, "rebuild", "bearoff_gammon", "--format", "csv")
    assert sheet.splitlines()[0] == ",".join(row)
    assert output_of(warehouse.root, "rebuild", "bearoff_gammon", "--threads", "1") == ""
    rebuilt = warehouse.open("bearoff_gammon", "3x15").manifest
    assert rebuilt.digest == manifest.digest
    assert rebuilt.created > manifest.created


@pytest.mark.slow
@pytest.mark.usefixtures("small_defaults")
def test_published_versions_are_computed_only_with_all(
    warehouse: Warehouse, memory_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Versions that come with the package are copied when they are rebuilt or repaired; only `--all` computes them. All
    of `network` would train contact-160 for an hour."""
    table = warehouse.open("network", "tiny")
    monkeypatch.setattr(network, "SHIPPED", memory_path)
    shutil.copytree(table.folder, memory_path / "tiny" / table.folder.name)
    output_of(warehouse.root, "lock")
    digest = table.manifest.digest[:16]
    copied, not_computed = output_of(warehouse.root, "rebuild", "network/tiny", "--check").splitlines()[:2]
    assert copied == f"copied network/tiny: locked {digest}, copied from the package, has {digest}"
    assert re.fullmatch(r" +not computed again, which took \d+ (seconds|minutes); --all does it", not_computed)
    computed = output_of(warehouse.root, "rebuild", "network/tiny", "--check", "--all")
    assert computed == f"same   network/tiny: locked {digest}, rebuilt {digest}\n"
    result = run(warehouse.root, "rebuild", "network/tiny", "--format", "json")
    assert result.stderr.splitlines()[-1] == f"network/tiny: already built ({table.folder.name})"
    assert [row["is_rebuilt"] for row in json.loads(result.stdout)] == [False]
    assert "network/tiny: built r1-" in run(warehouse.root, "rebuild", "network/tiny", "--all").stderr
    own(table.parquet).write_bytes(b"junk")
    result = run(warehouse.root, "verify", "network/tiny", "--sample", "0", "--repair")
    assert f"network/tiny: comes with the package ({table.folder.name})" in result.stderr
    assert " 0 failed" in output_of(warehouse.root, "verify", "network/tiny", "--sample", "1")


def test_duration_is_given_in_one_unit() -> None:
    assert [duration_text(seconds) for seconds in (3, 200, 9000)] == ["3 seconds", "3 minutes", "2 hours"]


def test_rebuild_of_unknown_variants_is_refused(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        for kind in COMPUTED:
            patch.setattr(type(kind), "defaults", small_variants(kind))
        output_of(warehouse.root, "lock")
    message = error_of(run(warehouse.root, "rebuild", "bearoff_gammon", "--check"), 1)
    assert message == "expected a default variant of bearoff_gammon: 6x15, 10x15, got 3x15"


def test_one_variant_or_version_is_verified(warehouse: Warehouse) -> None:
    table = warehouse.open("bearoff_gammon", "3x15")
    own(warehouse.open("bearoff_gammon", "6x15").parquet).write_bytes(b"junk")
    for scope in ("bearoff_gammon/3x15", table.name):
        summary = output_of(warehouse.root, "verify", scope, "--sample", "0")
        assert summary == "1 versions: 7 checks passed, 1 skipped, 0 failed\nmade by this code: 1\n"
    for scope in ("bearoff_gammon/6x15", "bearoff_gammon"):
        assert run(warehouse.root, "verify", scope, "--sample", "0").exit_code == 1


def test_verify_of_an_empty_warehouse_is_refused(tmp_path: Path) -> None:
    assert "expected at least one version in" in error_of(run(tmp_path, "verify"), 1)


def test_one_variant_is_rebuilt(warehouse: Warehouse) -> None:
    """The variant is rebuilt with its own parameters if it is not a default."""
    created_before = {table.name: table.manifest.created for table in warehouse.versions("bearoff_gammon")}
    (row,) = json.loads(output_of(warehouse.root, "rebuild", "bearoff_gammon/3x15", "--format", "json"))
    assert (row["variant"], row["is_rebuilt"]) == ("3x15", True)
    is_new = [table.manifest.created > created_before[table.name] for table in warehouse.versions("bearoff_gammon")]
    assert is_new == [True, False]


def test_one_variant_is_compared_with_the_lock(warehouse: Warehouse) -> None:
    manifests = [table.manifest for table in warehouse.versions("bearoff_gammon")]
    save_lock(warehouse.lock, [manifests[0], dataclasses.replace(manifests[1], digest="0" * 64)])
    assert output_of(warehouse.root, "diff", "bearoff_gammon/3x15").endswith(", same\n")
    for scope in ("bearoff_gammon", "bearoff_gammon/6x15"):
        result = run(warehouse.root, "diff", scope)
        assert result.exit_code == 1
        assert "DIFFERS" in result.stdout
    assert "expected bearoff_error in" in error_of(run(warehouse.root, "diff", "bearoff_error"), 1)
