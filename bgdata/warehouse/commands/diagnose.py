"""`bgdata diagnose`: a description of the installation for a report of a fault: versions, machine, warehouse, kernels.

Folders are named without the paths to them, since reports are public.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import click

from bgdata.cli.options import format_option
from bgdata.cli.output import show_rows
from bgdata.process import cache_folder, total_memory
from bgdata.rows import Column, Row, table_lines
from bgdata.store.lockfile import lock_verdicts
from bgdata.store.plan import folder_bytes, readable_bytes
from bgdata.version import DISTRIBUTION, __version__
from bgdata.warehouse import Warehouse

COLUMNS = (Column("about"), Column("name"), Column("value"))
LIBRARIES = ("numpy", "numba", "llvmlite", "pyarrow", "duckdb", "click", "rich", "psutil")  # always installed
EXTRAS = (
    "prefect", "starlette", "uvicorn", "jinja2", "matplotlib", "onnx", "onnxruntime", "torch", "distributed", "fsspec",
    "s3fs", "bgsage",
)  # fmt: skip
SETTINGS = ("NUMBA_NUM_THREADS", "NUMBA_THREADING_LAYER", "NUMBA_CPU_NAME", "NUMBA_DISABLE_JIT", "PYTHONPATH")
PROCESSOR = Path("/proc/cpuinfo")


@click.command()
@format_option
@click.pass_obj
def diagnose(warehouse: Warehouse, form: str) -> None:
    """Describe this installation, for a report of a fault.

    Versions of bgdata, Python and libraries, the processor, the operating system, what the warehouse holds in numbers,
    and the compiled kernels. No personal folder is named: the home folder is ~, and the warehouse is given by its name
    alone.
    """
    rows = diagnosis_rows(warehouse)
    show_rows(rows, form, table_lines(COLUMNS, rows))


def diagnosis_rows(warehouse: Warehouse) -> list[Row]:
    """Describe the installation as rows: `about` (which part of it), `name` and `value`. If a value cannot be
    determined, the row contains the name of the error's class instead."""
    parts: dict[str, Callable[[], Iterator[tuple[str, Any]]]] = {
        "bgdata": _package,
        "machine": _machine,
        "library": _libraries,
        "setting": _settings,
        "warehouse": lambda: _warehouse(warehouse),
        "kernels": _kernels,
    }
    rows: list[Row] = []
    for about, found in parts.items():
        try:
            rows += ({"about": about, "name": name, "value": value} for name, value in found())
        except Exception as error:  # the report describes what is broken; the message is left out: it may have paths
            rows.append({"about": about, "name": "error", "value": type(error).__name__})
    return rows


def short_path(path: Path) -> str:
    """Return the path of a folder without private parts, for a public report. A path below the home folder begins with
    ~; of any other path, only the name of the folder remains."""
    home = Path.home()
    path = path.absolute()
    return f"~/{path.relative_to(home).as_posix()}" if path.is_relative_to(home) else path.name


def _package() -> Iterator[tuple[str, Any]]:
    yield "version", __version__
    is_clone = (Path(__file__).parents[3] / "pyproject.toml").exists()
    yield "installed as", "clone" if is_clone else DISTRIBUTION
    yield "Python", f"{platform.python_version()} {platform.python_implementation()}"


def _machine() -> Iterator[tuple[str, Any]]:
    yield "system", f"{platform.system()} {platform.release()} {platform.machine()}"
    yield "C library", " ".join(platform.libc_ver()).strip() or None
    yield "processor", _processor()
    yield "cores", os.cpu_count()
    yield "cores for this process", len(os.sched_getaffinity(0)) if sys.platform == "linux" else None
    yield "memory", readable_bytes(total_memory())


def _processor() -> str:
    with suppress(OSError, StopIteration):
        lines = PROCESSOR.read_text(errors="replace").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return platform.processor()


def _libraries() -> Iterator[tuple[str, Any]]:
    for name in (*LIBRARIES, *EXTRAS):
        try:
            yield name, version(name)
        except PackageNotFoundError:
            if name in LIBRARIES:
                yield name, "missing"


def _settings() -> Iterator[tuple[str, Any]]:
    """Yield the environment variables that change how bgdata runs, with their values. If a variable may contain a path,
    the value only says whether it is set."""
    for name in sorted(os.environ):
        if name in SETTINGS or name.startswith("BGDATA_"):
            yield name, os.environ[name] if name.startswith("NUMBA_") else "set"


def _warehouse(warehouse: Warehouse) -> Iterator[tuple[str, Any]]:
    yield "name", warehouse.root.absolute().name
    if not warehouse.root.is_dir():
        yield "state", "missing"
        return
    found = list(warehouse.versions())
    yield "versions", len(found)
    yield "variants", len({table.name.rpartition("/")[0] for table in found})
    yield "kinds", len({table.name.partition("/")[0] for table in found})
    yield "size", readable_bytes(folder_bytes(warehouse.root))
    yield "unfinished builds", sum(1 for _ in warehouse.staging.iterdir()) if warehouse.staging.is_dir() else 0
    yield "catalog", ("moved" if warehouse.is_moved() else "there") if warehouse.catalog.exists() else "missing"
    if warehouse.lock.exists():
        verdicts = lock_verdicts(warehouse)
        yield "as in warehouse.lock", f"{sum(verdict.is_same for verdict in verdicts)} of {len(verdicts)}"


def _kernels() -> Iterator[tuple[str, Any]]:
    folder = cache_folder() / "kernels"
    files = list(folder.glob("*/*.nbc"))
    yield "folder", short_path(folder)
    yield "modules", len({file.parent for file in files})
    yield "compiled", len(files)
    yield "size", readable_bytes(folder_bytes(folder))
    place = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    yield "can be written", os.access(place, os.W_OK)
