"""Nothing happens when test modules are imported: what they need is made by the first test that asks for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
MOST_SECONDS = 6.0  # of a processor, to import all tests with what they import
# what takes longer to import than all tests together, and is imported by the tests that use it
HEAVY = {
    "datasets",
    "distributed",
    "matplotlib",
    "onnx",
    "onnxruntime",
    "pandas",
    "playwright",
    "polars",
    "prefect",
    "torch",
}
COLLECT = """
import json, sys, time
opened = set()

def watch(event, arguments):
    if event == "open" and str(arguments[0]).endswith((".npy", ".parquet", ".duckdb", ".nbc")):
        opened.add(str(arguments[0]))

sys.addaudithook(watch)
import pytest
code = pytest.main(["--collect-only", "-qq", "-p", "no:xdist", "-p", "no:cacheprovider"])
modules = {name for name in sys.modules if "." not in name}
print(json.dumps([int(code), time.process_time(), sorted(opened), sorted(modules)]))
"""


def collected(cache: Path) -> tuple[float, list[str], set[str]]:
    """Collect all tests in a new process: seconds of a processor, files of data that it opened, modules it imported."""
    variables = {**os.environ, "BGDATA_CACHE": str(cache), "PYTHONPYCACHEPREFIX": str(cache / "bytecode")}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-c", COLLECT], capture_output=True, text=True, cwd=ROOT, check=True, env=variables
    )
    found: list[Any] = json.loads(done.stdout.splitlines()[-1])
    code, seconds, opened, modules = found
    assert code == 0, done.stdout[:2000]
    return seconds, opened, set(modules)


def test_collecting_computes_nothing(tmp_path: Path) -> None:
    """Within some seconds of a processor once the bytecode is there: up to three tries, as a busy machine is slower."""
    collected(tmp_path)
    seconds, opened, modules = collected(tmp_path)
    assert opened == [], "tests opened tables, networks or kernels when they were imported"
    assert HEAVY & modules == set()
    assert not list(tmp_path.rglob("*.nbc")), "tests compiled kernels when they were imported"
    tries = [seconds]
    while min(tries) > MOST_SECONDS and len(tries) < 3:
        tries.append(collected(tmp_path)[0])
    assert min(tries) <= MOST_SECONDS
