"""Compiled kernels: cached for the next process, never stale, and usable without a writable cache."""

import importlib
import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import numba
import numpy as np
import pytest
from llvmlite import ir
from numba import types
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic
from numpy.typing import NDArray

from bgdata import kernel, kernel_cache
from bgdata.kernel import config, in_threads, threads
from bgdata.kernel_cache import closure_fingerprint, import_closure, kernel_fingerprint, kernel_sources, module_cache
from bgdata.vectors import splat, unpack, vector_at
from tests.store import processes
from tests.subtests import Subtests, each

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
import json, os, sys
import numpy as np
import bgdata.kernel_cache
from bgdata.process import compilation

bgdata.kernel_cache.LARGE_BYTES = int(os.environ.get("LARGE_BYTES", bgdata.kernel_cache.LARGE_BYTES))

lines = []
compilation.tell = lines.append
from bgdata import outer

doubles = np.zeros((2, 5), np.int64)
outer.fill_doubles(np.arange(5), doubles[0])
outer.fill_doubles_in_parallel(np.arange(5), doubles[1])
kernels = (outer.fill_doubles, outer.fill_doubles_in_parallel)
counts = [[sum(kernel.stats.cache_hits.values()), sum(kernel.stats.cache_misses.values())] for kernel in kernels]
assert bgdata.kernel_cache.kernel_sources()[0].is_relative_to(sys.argv[1])
assert len(lines) == bool(compilation.seconds) == bool(counts[0][1] + counts[1][1]), (lines, compilation.seconds)
assert not lines or lines[0].startswith("compiling kernels, which takes a minute or two the first time; they are ")
assert not lines or lines[0].endswith(sys.argv[2]), lines
assert compilation.depth == 0
print(json.dumps([counts, doubles.tolist()]))
"""
DOUBLES = [[0, 2, 4, 6, 8]] * 2
TRIPLES = [[0, 3, 6, 9, 12]] * 2


def run(package: Path, cache: Path) -> tuple[list[list[int]], list[list[int]]]:
    """Run kernels of a package in a new process: (hits, misses) of these kernels in the cache, and their results. The
    process must print once that it compiles, if it does, and whether the result is kept."""
    variables = os.environ | {"BGDATA_CACHE": str(cache), "PYTHONPATH": str(package.parent)}
    place_of_cache = "a folder that can be written" if cache.is_file() else str(cache / "kernels")
    variables["PYTHONDONTWRITEBYTECODE"] = "1"  # stale bytecode would match a source of the same size and second
    result = subprocess.run(
        [sys.executable, "-c", RUN, str(package), place_of_cache],
        capture_output=True,
        text=True,
        timeout=600,
        env=variables,
        cwd=package.parent,
    )
    assert result.returncode == 0, result.stderr
    counts, doubles = json.loads(result.stdout)
    return counts, doubles


def compiled_files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.suffix in {".nbi", ".nbc"}}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of bgdata's source, used for fingerprints."""
    folder = tmp_path / "bgdata"
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(kernel_cache, "_PACKAGE", folder)
    return folder


@pytest.fixture
def calling(package: Path) -> Path:
    """The copy with a kernel that kernels of another file call."""
    (package / "inner.py").write_text(INNER.format(factor=2))
    (package / "outer.py").write_text(OUTER)
    return package


def fingerprint() -> str:
    """The fingerprint without its cache."""
    return kernel_fingerprint.__wrapped__()


COMPILED, FOUND = [[0, 1], [0, 1]], [[1, 0], [1, 0]]  # (hits, misses) of both kernels


def test_next_process_finds_compiled_kernels(calling: Path, tmp_path: Path) -> None:
    """A copy of the package finds them too. Truncated files are recompiled, and so are changed kernels with all their
    callers, because Numba alone would keep the old code in callers, whose own files have not changed."""
    assert run(calling, tmp_path / "cache") == (COMPILED, DOUBLES)
    files = compiled_files(tmp_path)
    folders = {module_cache.__wrapped__(calling / name).name for name in ("inner.py", "outer.py")}
    assert {path.relative_to(tmp_path / "cache" / "kernels").parts[0] for path in files} == folders
    assert run(calling, tmp_path / "cache") == (FOUND, DOUBLES)
    assert compiled_files(tmp_path) == files
    assert run(Path(shutil.copytree(calling, tmp_path / "copy" / "bgdata")), tmp_path / "cache") == (FOUND, DOUBLES)
    for path in (tmp_path / "cache").rglob("*.nbc"):
        path.write_bytes(path.read_bytes()[:100])
    assert run(calling, tmp_path / "cache")[1] == DOUBLES
    assert run(calling, tmp_path / "cache") == (FOUND, DOUBLES)
    assert not list((tmp_path / "cache").rglob("*.lock"))
    (calling / "inner.py").write_text(INNER.format(factor=3))
    assert run(calling, tmp_path / "cache") == (COMPILED, TRIPLES)


def test_concurrent_compilations_for_other_types_are_both_kept(calling: Path, tmp_path: Path) -> None:
    """Numba's own cache numbers files in an index, in which processes could collide."""
    variables = os.environ | {"BGDATA_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(calling.parent)}
    script = (
        "import sys, numpy as np; from bgdata import outer; values = np.arange(5, dtype=sys.argv[1]); "
        "outer.fill_doubles(values, values); print(*values.tolist(), sum(outer.fill_doubles.stats.cache_hits.values()))"
    )

    def started(dtype: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", script, dtype], stdout=subprocess.PIPE, text=True, env=variables, cwd=calling.parent
        )

    dtypes = ("int8", "int16", "int32", "int64")
    for hits in (0, 1):
        for process in [started(dtype) for dtype in dtypes]:
            assert process.communicate(timeout=600)[0].split() == ["0", "2", "4", "6", "8", str(hits)]


def test_unreachable_change_recompiles_nothing(calling: Path, tmp_path: Path) -> None:
    assert run(calling, tmp_path / "cache") == (COMPILED, DOUBLES)
    for source in ("other.py", "errors.py", "game/dice.py"):
        with (calling / source).open("a") as file:
            file.write("from bgdata.kernel import kernel\n\n\n@kernel()\ndef added(value):\n    return value\n")
        assert run(calling, tmp_path / "cache") == (FOUND, DOUBLES)


def test_kernels_run_without_a_writable_cache(calling: Path, tmp_path: Path) -> None:
    """Kernels never run old code."""
    (tmp_path / "cache").write_text("a file in its place")
    assert run(calling, tmp_path / "cache")[1] == DOUBLES
    assert (tmp_path / "cache").read_text() == "a file in its place"
    (calling / "inner.py").write_text(INNER.format(factor=3))
    assert run(calling, tmp_path / "cache")[1] == TRIPLES


@pytest.fixture
def all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every kernel count as large, so that none contains another."""
    monkeypatch.setenv("LARGE_BYTES", "0")


def file_of(kernel: str, cache: Path) -> Path:
    (file,) = cache.rglob(f"{kernel}-*.nbc")
    return file


@pytest.mark.usefixtures("all_are_large")
def test_large_kernels_are_called_by_symbol(calling: Path, tmp_path: Path) -> None:
    """Callers are recompiled if a large kernel is missing or has another symbol, because Numba numbers functions in
    order of compilation, and a missing symbol would end the process."""
    cache = tmp_path / "cache"
    assert run(calling, cache) == (COMPILED, DOUBLES)
    assert run(calling, cache) == (FOUND, DOUBLES)
    needs = pickle.loads(file_of("fill_doubles", cache).read_bytes())
    assert list(needs) == [file_of("doubled", cache).relative_to(cache / "kernels").as_posix()]
    assert [len(symbols) for symbols in needs.values()] == [1]
    for is_gone in (True, False):
        file = file_of("doubled", cache)
        if is_gone:
            file.unlink()
        else:
            file.write_bytes(file.read_bytes()[:100])
        assert run(calling, cache)[1] == DOUBLES
        assert run(calling, cache) == (FOUND, DOUBLES)
    file_of("doubled", cache).unlink()
    script = (
        "import numba, bgdata.kernel_cache; bgdata.kernel_cache.LARGE_BYTES = 0; "
        "[numba.njit(lambda value: value + 1)(number) for number in range(9)]; "
        "from bgdata import inner; print(inner.doubled(4))"
    )
    variables = os.environ | {"BGDATA_CACHE": str(cache), "PYTHONPATH": str(calling.parent)}
    assert subprocess.check_output([sys.executable, "-c", script], env=variables, cwd=calling.parent) == b"8\n"
    assert run(calling, cache) == (COMPILED, DOUBLES)
    assert run(calling, cache) == (FOUND, DOUBLES)


def test_containing_a_caller_of_a_large_kernel_needs_the_kernel(calling: Path, tmp_path: Path) -> None:
    """An earlier process compiled the caller, and the last one loads only the outermost kernel."""
    (calling / "middle.py").write_text(OUTER.replace("fill_doubles", "fill_middle"))
    (calling / "outermost.py").write_text(
        "from bgdata.kernel import kernel\nfrom bgdata.middle import fill_middle\n\n\n"
        "@kernel()\ndef fill_all(values, doubles):\n    fill_middle(values, doubles)\n"
    )
    script = (
        "import numpy as np, bgdata.kernel_cache as cache; "
        "cache.KernelLibrary.is_large = lambda library: 'doubled' in library.name; "
        "from bgdata.{module} import {kernel}; doubles = np.zeros(5, np.int64); "
        "{kernel}(np.arange(5), doubles); print(doubles.tolist(), sum({kernel}.stats.cache_hits.values()))"
    )
    variables = os.environ | {"BGDATA_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(calling.parent)}
    for module, name, hits in (("middle", "fill_middle", 0), *(("outermost", "fill_all", hits) for hits in (0, 1))):
        command = [sys.executable, "-c", script.format(module=module, kernel=name)]
        stdout = subprocess.check_output(command, env=variables, cwd=calling.parent, text=True)
        assert stdout == f"{DOUBLES[0]} {hits}\n"
    needs = pickle.loads(file_of("fill_all", tmp_path / "cache").read_bytes())
    doubled = file_of("doubled", tmp_path / "cache").relative_to(tmp_path / "cache" / "kernels")
    assert list(needs) == [doubled.as_posix()]


def test_cache_has_a_folder_for_each_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BGDATA_CACHE", str(tmp_path))
    assert kernel_cache.kernel_cache() == tmp_path / "kernels"
    codec = PACKAGE / "game/codec.py"
    assert module_cache.__wrapped__(codec) == tmp_path / "kernels" / f"codec-{closure_fingerprint(codec)}"
    monkeypatch.delenv("BGDATA_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert kernel_cache.kernel_cache() == tmp_path / "bgdata" / "kernels"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert kernel_cache.kernel_cache() == tmp_path / "home" / ".cache" / "bgdata" / "kernels"


IMPORTS = """
import os
from bgdata import first, second as other  # comes from a package
from bgdata.inside import (
    third,  # one, two
    fourth as it,
)
import bgdata.fifth
if True:
    from bgdata import sixth
def late():
    from bgdata import seventh
text = "from bgdata import eighth"
"""


def test_import_closure_follows_top_level_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel's cache depends on the files that its module imports at its top level, directly or indirectly."""
    package = tmp_path / "bgdata"
    (package / "inside").mkdir(parents=True)
    monkeypatch.setattr(kernel_cache, "_PACKAGE", package)
    for name in ("__init__", "first", "second", "fifth", "sixth", "seventh", "eighth", "errors"):
        (package / f"{name}.py").write_text("")
    for name in ("__init__", "third", "fourth", "one", "unseen"):
        (package / "inside" / f"{name}.py").write_text("from bgdata.errors import BgdataError\n")
    (package / "inside" / "third.py").write_text("from bgdata.module import name\n")  # a cycle
    (package / "fifth.py").write_text("from bgdata.far import name\n")
    (package / "far.py").write_text("")
    (package / "module.py").write_text(IMPORTS)
    closure = [path.relative_to(package).as_posix() for path in import_closure(package / "module.py")]
    expected = "__init__ far fifth first inside/__init__ inside/fourth inside/third module second"
    assert closure == [f"{name}.py" for name in expected.split()]


def test_closure_contains_everything_a_kernel_can_reach() -> None:
    """Globals of kernels, and their origins, are in modules of the closure."""
    closures = {path: set(import_closure(path)) for path in kernel_sources()}
    n_imported_kernels = 0
    for path, closure in closures.items():
        name = ".".join(("bgdata", *path.relative_to(PACKAGE).with_suffix("").parts))
        for value in vars(importlib.import_module(name)).values():
            if isinstance(value, Dispatcher):
                home = Path(value.py_func.__code__.co_filename)
                n_imported_kernels += home != path
                assert home in closure, (path, home)
    assert n_imported_kernels > 100


def test_changed_kernel_changes_the_fingerprint(package: Path) -> None:
    """An added or moved kernel changes it too; copies have the same fingerprint, and other files do not matter."""
    assert {path.relative_to(package).as_posix() for path in kernel_sources()} >= {
        "kernel.py",  # its options
        "bearoff/race.py",
        "bearoff/two_sided.py",
        "game/codec.py",
    }
    before = fingerprint()
    assert before == kernel_fingerprint()
    with Subtests() as subtests:
        for path in kernel_sources():
            content = path.read_bytes()
            path.write_bytes(content + b"\n")
            with subtests.test(path.relative_to(package)):
                assert fingerprint() != before
            path.write_bytes(content)
    for source in ("cli.py", "bearoff/index.py", "studies/claims/definitions/A1.toml", "errors.py", "no_kernel.py"):
        with (package / source).open("a") as file:
            file.write("\n# changed\n")
        assert fingerprint() == before
    (package / "new.py").write_text("@kernel()\ndef nothing():\n    pass\n")
    added = fingerprint()
    (package / "new.py").rename(package / "renamed.py")
    assert len({kernel_fingerprint(), added, fingerprint()}) == 3


def run_kernels_and_load_scipy() -> None:
    """In another process: run kernels, and one that multiplies matrices."""
    from bgdata.game.board import START_BOARD
    from bgdata.game.codec import format_position_ids

    assert format_position_ids(np.array([START_BOARD], np.int8))[0].decode() == "4HPwATDgc/ABMA"
    assert "scipy.linalg" not in sys.modules
    square = numba.njit(lambda matrix: matrix @ matrix)
    assert np.array_equal(square(2 * np.eye(3)), 4 * np.eye(3))
    assert "scipy.linalg" in sys.modules


def test_kernels_load_no_scipy_unless_they_multiply_matrices() -> None:
    """SciPy takes long to load, and with little memory its OpenBLAS never ends."""
    pytest.importorskip("scipy")
    assert processes.run(run_kernels_and_load_scipy) == 0


def test_threads_are_limited_and_restored() -> None:
    most = numba.get_num_threads()
    with threads(1):
        assert numba.get_num_threads() == 1
        with threads(None):
            assert numba.get_num_threads() == 1
    assert numba.get_num_threads() == most
    with threads(10_000):
        assert numba.get_num_threads() == config.NUMBA_NUM_THREADS
    assert numba.get_num_threads() == most
    with threads(1), threads(2):
        assert numba.get_num_threads() == min(2, config.NUMBA_NUM_THREADS)
    with pytest.raises(ZeroDivisionError), threads(1):
        1 / 0  # noqa: B018
    assert numba.get_num_threads() == most
    with pytest.raises(ValueError, match="number of threads"), threads(-1):
        pass
    assert numba.get_num_threads() == most


def test_decorator_changes_no_other_numba_functions() -> None:
    before = config.CACHE_DIR

    @kernel.kernel()
    def one() -> int:
        return 1

    assert one() == 1
    assert before == config.CACHE_DIR


def test_kernel_is_compiled_once_for_all_integer_literals(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bool is compiled for each value, because bools choose branches."""
    monkeypatch.setattr(kernel, "can_cache", lambda: False)  # a cached caller compiles nothing

    @kernel.kernel()
    def shifted(value: int, step: int, is_down: bool) -> int:
        return value - step if is_down else value + step

    @kernel.kernel()
    def shifted_by_all(value: int) -> int:
        total = 0
        for step in range(1, 3):
            total += shifted(value, step, False) + 10 * shifted(value, 3, False)
            total += 100 * shifted(5, step=4, is_down=False)
        return total + 1000 * shifted(value, 0, True)

    assert shifted_by_all(7) == (8 + 9) + 20 * 10 + 200 * 9 + 1000 * 7
    compiled: Any = shifted
    signatures = [str(signature) for signature in compiled.overloads]
    assert sorted(signatures) == [f"(int64, int64, Literal[bool]({value}))" for value in (False, True)]


def test_borrowing_kernels_count_no_references(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel has a branch and loops, for which Numba normally emits reference counting. Borrowing kernels cannot
    allocate arrays."""
    monkeypatch.setattr(kernel, "can_cache", lambda: False)  # cached code cannot be inspected

    def total(values: NDArray[np.int64], is_doubled: bool) -> int:
        total_of_values = 0
        if is_doubled:
            for value in values:
                total_of_values += 2 * value
        else:
            for value in values:
                total_of_values += value
        return total_of_values

    counting = kernel.kernel()(total)
    borrowing = kernel.kernel(borrows=True)(total)
    for compiled, counts in ((counting, True), (borrowing, False)):
        assert [compiled(np.arange(5), is_doubled) for is_doubled in (False, True)] == [10, 20]
        (code,) = compiled.inspect_llvm().values()  # type: ignore[attr-defined]
        assert ("call void @NRT_incref" in code) == counts

    @kernel.kernel(borrows=True)
    def create(count: int) -> NDArray[np.int64]:
        return np.empty(count, np.int64)

    with pytest.raises(numba.core.errors.NumbaError):
        create(3)


class Pair(NamedTuple):
    """Results of a kernel made from its arguments."""

    first: NDArray[np.float64]
    second: NDArray[np.float64]


def test_counting_does_not_depend_on_the_first_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that returns arrays without counting would let other callers free arrays in use."""
    monkeypatch.setattr(kernel, "can_cache", lambda: False)  # cached code cannot be inspected

    @kernel.kernel()
    def pair_of(values: NDArray[np.float64]) -> Pair:
        return Pair(values, values)

    @kernel.kernel(borrows=True)
    def sum_of_ends(values: NDArray[np.float64]) -> float:
        pair = pair_of(values)
        return float(pair.first[0] + pair.second[-1])

    assert sum_of_ends(np.arange(3.0)) == 2.0
    compiled: Any = pair_of
    assert [text.count("NRT_incref") > 0 for text in compiled.inspect_llvm().values()] == [True]


def test_borrowing_kernels_call_no_kernel_that_returns_counted_arrays() -> None:
    """The caller would never free such arrays."""
    wrong_calls = []
    for module in map(importlib.import_module, map(module_name, kernel_sources())):
        for caller in [value for value in vars(module).values() if isinstance(value, Dispatcher)]:
            names = caller.py_func.__code__.co_names if not caller.targetoptions["_nrt"] else ()
            callees = [caller.py_func.__globals__.get(name) for name in names]
            wrong_calls += [
                (caller, each) for each in callees if isinstance(each, Dispatcher) and returns_counted_arrays(each)
            ]
    assert wrong_calls == []


def module_name(path: Path) -> str:
    return ".".join(("bgdata", *path.relative_to(PACKAGE).with_suffix("").parts))


def returns_counted_arrays(callee: Dispatcher) -> bool:
    """Whether a kernel returns arrays and counts them; inlined kernels do as their callers do."""
    if not callee.targetoptions["_nrt"] or callee.targetoptions.get("inline") == "always":
        return False
    returned = get_type_hints(callee.py_func)["return"]
    return "ndarray" in str([returned, *getattr(returned, "__annotations__", {}).values()])


@kernel.kernel(borrows=True)
def add_places(begin: int, end: int, places: NDArray[np.int64]) -> None:
    """Add row to places[row] for the rows begin:end."""
    for row in range(begin, end):
        places[row] += row


@pytest.mark.parametrize("least", [1, 7, 64])
@pytest.mark.parametrize("count", [0, 1, 5, 1000])
def test_threads_process_every_row_once(count: int, least: int) -> None:
    for n_threads in (1, 2):
        places = np.zeros(count, np.int64)
        with threads(n_threads):
            in_threads(add_places, count, places, least=least)
        assert places.tolist() == list(range(count))


class Ranges:
    """A fake kernel that records the ranges of its calls."""

    def __init__(self) -> None:
        self.found: list[tuple[int, int]] = []

    def compile(self, _: object) -> None:
        pass

    def __call__(self, begin: int, end: int) -> None:
        self.found.append((begin, end))


def test_ranges_end_at_the_last_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel would write out of bounds after it."""
    monkeypatch.setattr(kernel, "thread_count", lambda: 2)
    for count, least in ((1000, 1), (1000, 64), (17, 1)):
        work = Ranges()
        in_threads(work, count, least=least)
        begins, ends = zip(*sorted(work.found), strict=True)
        assert len(begins) > 1
        assert (*begins, count) == (0, *ends)


def test_errors_of_threads_are_raised() -> None:
    with threads(2), pytest.raises(numba.TypingError):
        in_threads(add_places, 1000, "no places")


def test_two_threads_may_call_parallel_kernels() -> None:
    """The process would abort with the threading layer workqueue, which users may set."""
    code = (
        "from concurrent.futures import ThreadPoolExecutor as Pool\n"
        "import numba\n"
        "from bgdata.bearoff.layouts import all_plays\n"
        "with Pool(4) as pool: print({len(plays.start) for plays in pool.map(lambda _: all_plays(6, 5), range(40))})\n"
        "print(numba.threading_layer())"
    )
    environment = os.environ | {"NUMBA_THREADING_LAYER": "workqueue", "NUMBA_NUM_THREADS": "2"}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    sizes, layer = result.stdout.split()
    assert sizes == f"{{{462 * 21 + 1}}}"
    assert layer != "workqueue"


LANES = 8  # lanes in the vectors of a sample instruction


@intrinsic
def _add_to_lanes(_context: Any, items: Any, _first: Any, _more: Any) -> Any:
    """Add `more` to items[first + lane] for all lanes."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        items_, first, more = unpack(context, builder, signature, arguments)
        wide = ir.VectorType(ir.IntType(32), LANES)
        address = vector_at(builder, items_, first, wide.element, LANES)
        builder.store(builder.add(builder.load(address, align=4), splat(builder, more, wide)), address, align=4)
        return context.get_dummy_value()

    return types.void(items, types.intp, types.int32), emit


add_to_lanes: Any = _add_to_lanes


@kernel.kernel()
def added(items: NDArray[np.int32], first: int, more: np.int32) -> None:
    """`_add_to_lanes` callable from Python."""
    add_to_lanes(items, first, more)


@each("first", [0, 1, 5, 12])
def test_vectors_may_begin_at_any_item(first: int) -> None:
    items = np.arange(20, dtype=np.int32)
    expected = items + 7 * ((items >= first) & (items < first + LANES))
    added(items, first, np.int32(7))
    assert items.tolist() == expected.tolist()
