"""Which module may import which, read from the source; and the modules that a player's process loads."""

from __future__ import annotations

import ast
import functools
import inspect
import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import bgdata
from bgdata import errors
from bgdata.errors import BgdataError
from tests.subtests import each

ROOT = Path(__file__).parents[1]
ROOMS = {"kinds", "commands", "pages"}
HEAVY = ("dask", "duckdb", "numba", "pandas", "prefect", "pyarrow")

CLASSES = inspect.getmembers(errors, inspect.isclass)
EXCEPTION_CLASSES = {name: value for name, value in CLASSES if issubclass(value, Exception)}
# by package of others: our modules that may import it
VECTORS = {  # modules that write LLVM code
    "bgdata.bearoff.lowest",
    "bgdata.endgames.vectors",
    "bgdata.evaluation.networks.products",
    "bgdata.vectors",
}
ONLY_IN = {
    "numba": {"bgdata.kernel", "bgdata.kernel_cache", *VECTORS},
    "llvmlite": VECTORS,
    "prefect": {"pipelines"},
    "pyarrow": {
        "bgdata.store.parquet",
        "bgdata.store.dataset",
        "bgdata.publishing",
        "bgdata.warehouse",
        "bgdata.web.query_process",
        "bgdata.kinds",
        "kinds",
        "commands",
    },
    "duckdb": {"bgdata.store", "bgdata.publishing", "bgdata.warehouse", "bgdata.web", "commands", "pages"},
    "click": {"bgdata.cli", "commands"},
    "fsspec": {"bgdata.store.places"},
    "jinja2": {"bgdata.web.answer"},
    "matplotlib": {"bgdata.cli", "commands"},
    "rich": {"bgdata.store.progress"},
    "starlette": {"bgdata.web", "pages"},
    "python_multipart": {"bgdata.warehouse.commands.serve"},
    "uvicorn": {"bgdata.warehouse.commands.serve", "bgdata.web.connections"},
    "psutil": {"bgdata.process", "bgdata.store", "bgdata.system"},
    "onnx": {"bgdata.formats.onnx.write"},
    "torch": {
        "bgdata.formats.onnx.torch_program",
        "bgdata.training.feed.torch",
        "bgdata.training.supervised.torch_trainer",
    },
}


def is_within(module: str, packages: set[str]) -> bool:
    """Whether a module is one of some packages or inside one; a room matches in every subject."""
    rooms = set(module.split(".")[2:3]) & ROOMS
    return any(module == package or module.startswith(f"{package}.") or package in rooms for package in packages)


def sources() -> Iterator[tuple[str, Path]]:
    """(module, file) of all installed sources."""
    for path in sorted([*(ROOT / "bgdata").rglob("*.py"), *(ROOT / "pipelines").rglob("*.py")]):
        yield ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"), path


def imports(module: str, path: Path) -> Iterator[str]:
    """Full name of every import of a file at any depth, also for types only; `from a import b` gives a.b."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
            yield from (".".join([*above, *filter(None, [node.module]), alias.name]) for alias in node.names)


@functools.cache
def all_sources() -> dict[str, Path]:
    return dict(sources())


@functools.cache
def all_imports() -> list[tuple[str, str]]:
    """(module, name) of every import of our modules."""
    return sorted({(module, name) for module, path in all_sources().items() for name in imports(module, path)})


def test_every_form_of_import_is_read(tmp_path: Path) -> None:
    path = tmp_path / "example.py"
    path.write_text(
        "import a.b as c\nfrom d import e, f\n"
        "from . import g\nfrom .h import i\nfrom ..j import k\n"
        "if TYPE_CHECKING:\n    import l\n"
        "def late():\n    from m.n import o\n"
    )
    expected = {"a.b", "d.e", "d.f", "p.q.g", "p.q.h.i", "p.j.k", "l", "m.n.o"}
    assert set(imports("p.q.example", path)) == expected


def test_imports_follow_the_contract() -> None:
    from importlinter.cli import lint_imports

    assert lint_imports(config_filename=str(ROOT / "pyproject.toml"), cache_dir=None) == 0


AGAINST = [  # module, a forbidden import
    ("bgdata.store.table", "bgdata.bearoff.index"),
    ("bgdata.game.position", "bgdata.store.table"),
    ("bgdata.bearoff.tables", "bgdata.store.catalog"),
    ("bgdata.bearoff.tables", "bgdata.bearoff.kinds.bearoff_one_sided"),
    ("bgdata.openings.candidates", "bgdata.openings.steps"),
    ("bgdata.measures.steps.ladder", "bgdata.measures.commands.ladder"),
    ("bgdata.equity.match_equity", "bgdata.equity.commands"),
    ("bgdata.formats.gnubg_bearoff", "bgdata.selfplay.games"),
    ("bgdata.bearoff.kinds.bearoff_one_sided", "bgdata.cli"),
    ("bgdata.errors", "bgdata.kernel"),
    ("bgdata.evaluation.answers", "bgdata.warehouse"),
    ("bgdata.evaluation.commands.probe", "pipelines.build"),
]


def test_forbidden_imports_are_noticed(tmp_path: Path) -> None:
    for package in ("bgdata", "pipelines"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__", "*.npy"))
    for module, name in AGAINST:
        with (tmp_path / f"{module.replace('.', '/')}.py").open("a") as file:
            file.write(f"\n\ndef late():\n    import {name}\n")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    result = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports; exit(lint_imports(cache_dir=None))"],
        capture_output=True, text=True, timeout=600, cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert result.returncode == 1, result.stdout + result.stderr
    assert "BROKEN" in result.stdout
    unnoticed = [(module, name) for module, name in AGAINST if f" {module} -> {name} (l." not in result.stdout]
    assert unnoticed == [], result.stdout


def test_files_have_no_import_cycles() -> None:
    from docs import house

    assert house.circles() == []


def test_import_cycles_are_found() -> None:
    import grimp

    from docs import house

    graph = grimp.ImportGraph()
    for importer, imported in ("ab", "bc", "ca", "cd", "de"):
        graph.add_import(importer=importer, imported=imported)
    assert [sorted(group) for group in house.strongly_connected(graph) if len(group) > 1] == [["a", "b", "c"]]


@each(("package", "homes"), ONLY_IN.items())
def test_other_packages_are_imported_only_where_allowed(package: str, homes: set[str]) -> None:
    users = {module for module, name in all_imports() if is_within(name, {package})}
    assert users
    assert [module for module in sorted(users) if not is_within(module, homes)] == []


def test_store_imports_no_backgammon() -> None:
    words = re.compile(r"board|dice|checker|cube|bearoff|position", re.IGNORECASE)
    lines = [
        (path.name, line) for path in (ROOT / "bgdata/store").glob("*.py") for line in path.read_text().splitlines()
    ]
    assert len(lines) > 4000
    assert [(name, line) for name, line in lines if words.search(line)] == []


def test_pipelines_only_name_steps() -> None:
    """Pipelines contain no formulas, Parquet or column names."""
    used = {name.partition(".")[0] for module, name in all_imports() if is_within(module, {"pipelines"})}
    assert used <= {"bgdata", "pipelines", "prefect", *sys.stdlib_module_names}


def run_python(program: str) -> list[str]:
    """Run a program in a new process; returns the modules loaded at its end."""
    ending = "\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", program + ending], capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stderr
    loaded: list[str] = json.loads(result.stdout.splitlines()[-1])
    return loaded


def heavy(modules: list[str]) -> set[str]:
    """The packages among `modules` that are slow to import."""
    return {module.partition(".")[0] for module in modules} & {*HEAVY, "pipelines"}


PROGRAMS = {  # programs and what each loads besides NumPy; ROOT is a warehouse
    "tables that a player asks": (
        "import bgdata\n"
        "one_sided = bgdata.open_one_sided(ROOT, 3)\n"
        "assert abs(one_sided.probe_mean_rolls([0, 0, 1]) - 1.0) < 0.2\n"
        "assert abs(one_sided.probe_chances([0, 0, 1]).sum() - 1.0) < 1e-6\n"
        "assert bgdata.open_gammon(ROOT, 3).probe_mean_rolls([15, 0, 0]) == 1.0\n"
        "two_sided = bgdata.open_two_sided(ROOT, 3, 3)\n"
        "assert two_sided.probe([0, 0, 1], [1, 0, 0]).cubeless > 0\n"
        "assert two_sided.probe_many([1, 2], [1, 1]).shape == (2, 4)\n",
        set[str](),
    ),
    "an evaluator of mapped tables": (
        "import bgdata\n"
        "from bgdata.evaluation.bearoff import open_bearoff\n"
        "assert open_bearoff(bgdata.open_warehouse(ROOT)).two_sided\n",
        {"numba"},
    ),
    "batches": (
        "import bgdata\nnext(iter(bgdata.open_warehouse(ROOT).batches('bgsage_rollouts')))\n",
        {"numba"},
    ),
    "a connection": ("import bgdata\nbgdata.open_warehouse(ROOT).connect().close()", {"duckdb", "pyarrow"}),
    **{
        f"bgdata {words}": (
            "import contextlib\n"
            "from bgdata.cli import main\n"
            f"with contextlib.suppress(SystemExit):\n    main({words.split()})\n",
            set[str](),
        )
        for words in ("--help", "build --help", "--version")
    },
}


@each(("program", "expected"), PROGRAMS)
def test_programs_load_no_unneeded_heavy_packages(small_root: Path, program: str, expected: set[str]) -> None:
    loaded = run_python(f"ROOT = {str(small_root)!r}\n{program}")
    assert heavy(loaded) == expected


def test_importing_commands_loads_nothing_heavy() -> None:
    modules = [name for name in all_sources() if is_within(name, {"bgdata.cli", "commands"})]
    loaded = run_python(f"from importlib import import_module\nfor name in {modules}:\n    import_module(name)\n")
    assert heavy(loaded) == set()


@each(
    ("arguments", "expected"),
    {
        "eval": (["eval", "start"], {"numba"}),
        "hint": (["hint", "start", "31"], {"numba"}),
        "query": (["query", "select 1"], {"duckdb", "pyarrow"}),
        "show": (["show", "start"], set()),
    },
)
def test_commands_only_load_the_kinds_they_open(small_root: Path, arguments: list[str], expected: set[str]) -> None:
    bgdata.open_warehouse(small_root).connect().close()  # otherwise the first query writes the catalog
    loaded = run_python(
        "import contextlib\n"
        "from bgdata.cli import main\n"
        f"with contextlib.suppress(SystemExit):\n    main(['--warehouse', {str(small_root)!r}, *{arguments}])\n"
    )
    kinds = set(bgdata.all_kinds().modules.values())
    assert kinds & set(loaded) == set()
    assert heavy(loaded) == expected


def test_declarations_load_no_computation() -> None:
    """Listing kinds, their tables and variants needs no kernel and no library."""
    loaded = run_python(
        "import bgdata\n"
        "for kind in bgdata.all_kinds().values():\n"
        "    assert kind.slug(kind.smallest) and kind.tables and kind.estimate(kind.smallest)\n"
    )
    assert set(bgdata.all_kinds().modules.values()) <= set(loaded)
    assert [name for name in loaded if is_within(name, {"kinds"}) and name.endswith("_compute")] == []
    assert heavy(loaded) == set()


def test_computations_import_at_the_top() -> None:
    """Declarations are separate modules, so computations need no imports inside functions."""
    late = [
        f"{module}: {ast.unparse(node)}"
        for module, path in all_sources().items()
        if is_within(module, {"kinds"}) and module.endswith("_compute")
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert late == []


def test_exceptions_are_defined_in_one_file() -> None:
    names = [name for _, name, _ in pkgutil.walk_packages(bgdata.__path__, "bgdata.")]
    assert len(names) == len([name for name in all_sources() if name.startswith("bgdata.")])
    modules = [
        import_module(name) for name in names if name not in ONLY_IN["torch"] | ONLY_IN["onnx"]
    ]  # which need extras
    classes = {value for module in modules for value in vars(module).values() if inspect.isclass(value)}
    raised = {
        value for value in classes if issubclass(value, BaseException) and is_within(value.__module__, {"bgdata"})
    }
    assert raised == set(EXCEPTION_CLASSES.values())
    assert {value.__module__ for value in raised} == {errors.__name__}
    assert len(raised) >= 10


@each("name", sorted(set(EXCEPTION_CLASSES) - {"BgdataError"}))
def test_exceptions_have_a_built_in_base_and_a_docstring(name: str) -> None:
    error = EXCEPTION_CLASSES[name]
    assert issubclass(error, BgdataError)
    built_in = [base for base in error.__mro__ if base.__module__ == "builtins" and issubclass(base, Exception)]
    assert [base for base in built_in if base is not Exception], f"a lazy caller of {name} has nothing to catch"
    assert error.__doc__
    assert error.__doc__ != BgdataError.__doc__
    assert "\n" not in error.__doc__.strip()
    assert str(error("expected this, got that")) == "expected this, got that"
    assert str(error()) == ""


MAX_MODULES = 1700  # of other packages that all tests import; 1,469 when last counted
# packages that take longer to import than all tests together; tests import them where needed
SLOW = {
    *("datasets", "distributed", "matplotlib", "onnx", "onnxruntime"),
    *("pandas", "playwright", "polars", "prefect", "torch"),
}
COLLECT = """
import json, sys
opened = set()

def watch(event, arguments):
    if event == "open" and str(arguments[0]).endswith((".npy", ".parquet", ".duckdb", ".nbc")):
        opened.add(str(arguments[0]))

sys.addaudithook(watch)
import pytest
code = pytest.main(["--collect-only", "-qq", "-p", "no:xdist", "-p", "no:cacheprovider"])
modules = {name for name in sys.modules if "." not in name}
packages = [name for name in sys.modules if name.partition(".")[0] not in ("bgdata", "tests", "docs", "pipelines")]
print(json.dumps([int(code), len(packages), sorted(opened), sorted(modules)]))
"""


def collected(cache: Path) -> tuple[int, list[str], set[str]]:
    """Collect all tests in a new process: (number of modules, opened data files, imported packages)."""
    variables = {**os.environ, "BGDATA_CACHE": str(cache)}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    result = subprocess.run(
        [sys.executable, "-c", COLLECT], capture_output=True, text=True, cwd=ROOT, check=True, env=variables
    )
    found: list[Any] = json.loads(result.stdout.splitlines()[-1])
    code, count, opened, modules = found
    assert code == 0, result.stdout[:2000]
    return count, opened, set(modules)


def test_collection_computes_nothing(tmp_path: Path) -> None:
    """Collection imports no slow package and few modules in all, so that it takes seconds."""
    count, opened, modules = collected(tmp_path)
    assert opened == [], "tests opened tables, networks or kernels when they were imported"
    assert SLOW & modules == set()
    assert not list(tmp_path.rglob("*.nbc")), "tests compiled kernels when they were imported"
    assert 1000 < count < MAX_MODULES
