"""The wheel alone: built, installed where bgdata is not, and used in an empty folder. No network."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from bgdata.datasets.bearoff_two_sided import DATASET
from bgdata.store.scripts import SQL

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow


def run(folder: Path, *command: str | Path) -> str:
    """What a program prints, run in a folder with no paths of this process."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "BGDATA"))}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with the wheel, and with what it needs from this environment's packages: a path
    in a `.pth` shows packages, but not the editable bgdata, which is a `.pth` itself."""
    wheels, folder = tmp_path_factory.mktemp("wheels"), tmp_path_factory.mktemp("environment")
    run(ROOT, sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", wheels)
    (wheel,) = wheels.glob("bgdata-*.whl")
    venv.create(folder)
    paths = {"base": str(folder), "platbase": str(folder)}
    packages = Path(sysconfig.get_path("purelib", "venv", paths))
    (packages / "needed.pth").write_text(sysconfig.get_path("purelib"))
    scripts = Path(sysconfig.get_path("scripts", "venv", paths))
    install = ("install", "--quiet", "--no-deps", "--no-index", "--ignore-installed", wheel)
    run(folder, sys.executable, "-m", "pip", "--python", scripts / "python", *install)
    return scripts


def test_the_wheel_has_the_sql_of_the_checkout(programs: Path, tmp_path: Path) -> None:
    code = "import bgdata.store.scripts as scripts; print(scripts.__file__, scripts.SQL, sep='\\n')"
    module, sql = map(Path, run(tmp_path, programs / "python", "-c", code).split())
    assert module.is_relative_to(programs.parent)
    assert sql.is_relative_to(programs.parent)
    files = {path.relative_to(SQL): path.read_bytes() for path in SQL.rglob("*.sql")}
    assert {path.relative_to(sql): path.read_bytes() for path in sql.rglob("*.sql")} == files != {}


def test_the_wheel_builds_verifies_and_queries(programs: Path, tmp_path: Path) -> None:
    size = ("--points", str(DATASET.smallest.points), "--checkers", str(DATASET.smallest.checkers))
    run(tmp_path, programs / "bgdata", "build", DATASET.name, *size)
    assert [path.name for path in tmp_path.iterdir()] == ["warehouse"]
    assert "9 checks passed, 0 skipped, 0 failed" in run(tmp_path, programs / "bgdata", "verify")
    # rows of the table, a macro, and a view
    query = (
        "select count(*) as pairs, epc(6) as epc, (select count(*) from versions) as versions from bearoff_two_sided"
    )
    found = run(tmp_path, programs / "bgdata", "query", query, "--format", "csv")
    assert found.split() == ["pairs,epc,versions", "400,49.0,1"]
