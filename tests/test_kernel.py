"""Compiled kernels: found by the next process, never stale, and done without where nothing can be written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata import kernel
from bgdata.kernel import kernel_cache, kernel_fingerprint, kernel_sources, threads

PACKAGE = Path(kernel.__file__).parent

INNER = """
from bgdata.kernel import kernel

@kernel()
def doubled(value):
    return {factor} * value
"""
OUTER = """
from bgdata.kernel import kernel, prange
from bgdata.inner import doubled

@kernel()
def fill_doubles(values, doubles):
    for n in range(len(values)):
        doubles[n] = doubled(values[n])

@kernel(parallel=True)
def fill_doubles_in_parallel(values, doubles):
    for n in prange(len(values)):
        doubles[n] = doubled(values[n])
"""
RUN = """
import json, sys
import numpy as np
import bgdata.kernel
from bgdata.process import compilation

lines = []
compilation.tell = lines.append
from bgdata import outer

doubles = np.zeros((2, 5), np.int64)
outer.fill_doubles(np.arange(5), doubles[0])
outer.fill_doubles_in_parallel(np.arange(5), doubles[1])
kernels = (outer.fill_doubles, outer.fill_doubles_in_parallel)
counts = [[sum(kernel.stats.cache_hits.values()), sum(kernel.stats.cache_misses.values())] for kernel in kernels]
assert bgdata.kernel.kernel_sources()[0].is_relative_to(sys.argv[1])
assert len(lines) == bool(compilation.seconds) == bool(counts[0][1] + counts[1][1]), (lines, compilation.seconds)
assert not lines or lines[0].startswith("compiling kernels, which takes a minute or two the first time; they are ")
assert not lines or lines[0].endswith(sys.argv[2]), lines
assert compilation.depth == 0
print(json.dumps([counts, doubles.tolist(), str(bgdata.kernel.kernel_cache())]))
"""
DOUBLES = [[0, 2, 4, 6, 8]] * 2
TRIPLES = [[0, 3, 6, 9, 12]] * 2


def run(package: Path, cache: Path) -> tuple[list[list[int]], list[list[int]], Path]:
    """Run kernels of a package in a new process: their (hits, misses) in the cache, their results, and its folder. It
    says that it compiles, once, where it does, and whether that is kept."""
    variables = os.environ | {"BGDATA_CACHE": str(cache), "PYTHONPATH": str(package.parent)}
    kept = "a folder that can be written" if cache.is_file() else "kernels-" + fingerprint()
    variables["PYTHONDONTWRITEBYTECODE"] = "1"  # it would be taken for that of a source of the same size and second
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(package), kept],
        capture_output=True,
        text=True,
        timeout=600,
        env=variables,
        cwd=package.parent,
    )
    assert done.returncode == 0, done.stderr
    counts, doubles, used = json.loads(done.stdout)
    return counts, doubles, Path(used)


def compiled_files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.suffix in {".nbi", ".nbc"}}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of bgdata's source, which the fingerprint is taken of."""
    folder = tmp_path / "bgdata"
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(kernel, "_PACKAGE", folder)
    return folder


@pytest.fixture
def calling(package: Path) -> Path:
    """The copy, with a kernel that kernels of another file call."""
    (package / "inner.py").write_text(INNER.format(factor=2))
    (package / "outer.py").write_text(OUTER)
    return package


def fingerprint() -> str:
    """Taken anew; a process takes it once."""
    return kernel_fingerprint.__wrapped__()


def test_the_next_process_finds_compiled_kernels(calling: Path, tmp_path: Path) -> None:
    first, doubles, cache = run(calling, tmp_path / "cache")
    assert (first, doubles) == ([[0, 1], [0, 1]], DOUBLES)
    files = compiled_files(tmp_path)
    assert files
    assert all(path.is_relative_to(cache) for path in files)
    assert run(calling, tmp_path / "cache") == ([[1, 0], [1, 0]], DOUBLES, cache)
    assert compiled_files(tmp_path) == files


def test_changed_kernels_are_compiled_anew_with_all_that_call_them(calling: Path, tmp_path: Path) -> None:
    """Numba alone would go on with the old one inside its callers, whose own files have not changed."""
    _, doubles, cache = run(calling, tmp_path / "cache")
    assert doubles == DOUBLES
    (calling / "inner.py").write_text(INNER.format(factor=3))
    counts, triples, other = run(calling, tmp_path / "cache")
    assert (counts, triples) == ([[0, 1], [0, 1]], TRIPLES)
    assert other != cache


def test_kernels_run_where_no_folder_can_be_written(calling: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file in its place")
    assert run(calling, tmp_path / "cache")[1] == DOUBLES
    assert (tmp_path / "cache").read_text() == "a file in its place"


def test_without_a_cache_no_stale_kernel_runs(calling: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file in its place")
    assert run(calling, tmp_path / "cache")[1] == DOUBLES
    (calling / "inner.py").write_text(INNER.format(factor=3))
    assert run(calling, tmp_path / "cache")[1] == TRIPLES


def test_the_cache_is_named_by_the_fingerprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"kernels-{kernel_fingerprint()}"
    monkeypatch.setenv("BGDATA_CACHE", str(tmp_path))
    assert kernel_cache() == tmp_path / name
    monkeypatch.delenv("BGDATA_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert kernel_cache() == tmp_path / "bgdata" / name
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert kernel_cache() == tmp_path / "home" / ".cache" / "bgdata" / name


def test_a_copy_has_the_same_fingerprint(package: Path) -> None:
    assert {path.relative_to(package).as_posix() for path in kernel_sources()} >= {
        "kernel.py",  # its options
        "bearoff/race.py",
        "bearoff/two_sided.py",
        "game/codec.py",
    }
    assert fingerprint() == kernel_fingerprint()


@pytest.mark.parametrize("source", [path.relative_to(PACKAGE).as_posix() for path in kernel_sources()])
def test_a_changed_kernel_changes_the_fingerprint(package: Path, source: str) -> None:
    with (package / source).open("a") as file:
        file.write("\n")
    assert fingerprint() != kernel_fingerprint()


def test_a_moved_or_added_kernel_changes_the_fingerprint(package: Path) -> None:
    (package / "new.py").write_text("@kernel()\ndef nothing():\n    pass\n")
    added = fingerprint()
    (package / "new.py").rename(package / "renamed.py")
    assert len({kernel_fingerprint(), added, fingerprint()}) == 3


@pytest.mark.parametrize("source", ["cli.py", "bearoff/index.py", "sql/macros/bearoff.sql", "errors.py", "new.py"])
def test_other_files_do_not_change_the_fingerprint(package: Path, source: str) -> None:
    with (package / source).open("a") as file:
        file.write("\n# changed\n")
    assert fingerprint() == kernel_fingerprint()


def test_threads_are_limited_and_restored() -> None:
    most = numba.get_num_threads()
    with threads(1):
        assert numba.get_num_threads() == 1
        with threads(None):
            assert numba.get_num_threads() == 1
    assert numba.get_num_threads() == most
    with threads(10_000):
        assert numba.get_num_threads() == numba.config.NUMBA_NUM_THREADS
    assert numba.get_num_threads() == most


def test_threads_are_restored_after_an_error() -> None:
    most = numba.get_num_threads()
    with pytest.raises(ZeroDivisionError), threads(1):
        1 / 0  # noqa: B018
    assert numba.get_num_threads() == most


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="needs two cores")
def test_a_limit_may_be_raised_again_inside() -> None:
    with threads(1), threads(2):
        assert numba.get_num_threads() == 2


def test_impossible_thread_counts_are_refused() -> None:
    most = numba.get_num_threads()
    with pytest.raises(ValueError, match="number of threads"), threads(-1):
        pass
    assert numba.get_num_threads() == most


def test_decorating_leaves_other_users_of_numba_alone() -> None:
    before = numba.config.CACHE_DIR

    @kernel.kernel()
    def one() -> int:
        return 1

    assert one() == 1
    assert before == numba.config.CACHE_DIR


def test_borrowing_kernels_count_no_references(monkeypatch: pytest.MonkeyPatch) -> None:
    """A branch and loops in it, where Numba would count; and they cannot create an array."""
    monkeypatch.setattr(kernel, "can_cache", lambda: False)  # code from the cache cannot be inspected

    def total(values: NDArray[np.int64], is_doubled: bool) -> int:
        found = 0
        if is_doubled:
            for value in values:
                found += 2 * value
        else:
            for value in values:
                found += value
        return found

    counting, borrowing = kernel.kernel()(total), kernel.kernel(borrows=True)(total)
    for compiled, counts in ((counting, True), (borrowing, False)):
        assert [compiled(np.arange(5), is_doubled) for is_doubled in (False, True)] == [10, 20]
        (code,) = compiled.inspect_llvm().values()  # type: ignore[attr-defined]
        assert ("call void @NRT_incref" in code) == counts

    @kernel.kernel(borrows=True)
    def create(count: int) -> NDArray[np.int64]:
        return np.empty(count, np.int64)

    with pytest.raises(numba.core.errors.NumbaError):
        create(3)
