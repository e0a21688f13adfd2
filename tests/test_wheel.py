"""The wheel: built, installed in an environment with only its declared dependencies, and used in an empty folder,
without a network."""

import os
import re
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterable, Iterator
from email import message_from_bytes
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bgdata.bearoff.kinds.bearoff_two_sided import DATASET
from bgdata.kinds import SQL
from bgdata.version import DISTRIBUTION
from tests.subtests import Subtests

ROOT = Path(__file__).parents[1]
BEAROFF = "CgAAEAEAAAAAAA"
TOO_MANY_BYTES = 10_000_000
FLOWS = [path for path in sorted((ROOT / "pipelines").glob("*.py")) if "__main__" in path.read_text()]
pytestmark = pytest.mark.slow


def run(folder: Path, *command: str | Path) -> str:
    """The output of a program, run in a folder without paths of this process."""
    return run_with_errors(folder, *command)[0]


def run_with_errors(folder: Path, *command: str | Path, code: int = 0) -> tuple[str, str]:
    """(output, error output) of a program; user data is in `folder` too."""
    foreign = ("PYTHON", "BGDATA", "PREFECT")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    environment["XDG_DATA_HOME"] = str(folder.parent / "data")
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert result.returncode == code, result.stderr
    return result.stdout, result.stderr


def needed(lines: Iterable[str], extras: Iterable[str]) -> set[str]:
    """Distributions that metadata lines require with these extras, directly or not, as an installer finds them."""
    requirements: set[tuple[str, str]] = set()  # (distribution, extra or empty)
    new = {pair for extra in ("", *extras) for pair in requirements_of(lines, extra)}
    while new:
        requirements |= new
        new = {
            pair for name, extra in new for pair in requirements_of(distribution(name).requires or [], extra)
        } - requirements
    return {name for name, _ in requirements}


def requirements_of(lines: Iterable[str], extra: str) -> Iterator[tuple[str, str]]:
    """Requirements of metadata lines on this system with one extra or none."""
    for requirement in map(Requirement, lines):
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            yield from ((canonicalize_name(requirement.name), each) for each in ("", *requirement.extras))


def show_packages(names: Iterable[str], folder: Path) -> None:
    """Link the files of these distributions into a folder."""
    for name in names:
        package = distribution(name)
        for top in {file.parts[0] for file in package.files or [] if file.parts[0] not in ("..", "__pycache__")}:
            if not (folder / top).exists():
                (folder / top).symlink_to(Path(str(package.locate_file(top))))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as built by `make wheel`."""
    folder = tmp_path_factory.mktemp("wheels")
    run(ROOT, "make", "--silent", "wheel", f"DIST={folder}", f"BUILD_PYTHON={sys.executable}")
    (path,) = folder.glob("bgdata_backgammon-*.whl")
    return path


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with only the wheel."""
    return install(wheel, tmp_path_factory.mktemp("environment"))


def requirements(wheel: Path) -> list[str]:
    """The requirements in the metadata of the wheel, including extras."""
    with ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_bytes(archive.read(metadata)).get_all("Requires-Dist", [])


def install(wheel: Path, folder: Path, *extras: str) -> Path:
    """Make an environment with the wheel and links to the packages that its metadata require with these extras, without
    packages for tests and checks. Returns the folder of its programs."""
    venv.create(folder)
    paths = {"base": str(folder), "platbase": str(folder)}
    packages = Path(sysconfig.get_path("purelib", "venv", paths))
    show_packages(needed(requirements(wheel), extras), packages)
    scripts = Path(sysconfig.get_path("scripts", "venv", paths))
    words = ("install", "--quiet", "--no-deps", "--no-index", "--ignore-installed", wheel)
    run(folder, sys.executable, "-m", "pip", "--python", scripts / "python", *words)
    return scripts


def test_wheel_is_small(wheel: Path) -> None:
    assert 1_000_000 < wheel.stat().st_size < TOO_MANY_BYTES


def test_wheel_has_one_package(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.partition("/")[0] for name in names} == {"bgdata", f"{'-'.join(wheel.name.split('-')[:2])}.dist-info"}
    flows = {f"bgdata/pipelines/{path.name}" for path in (ROOT / "pipelines").glob("*.py")}
    assert {name for name in names if name.startswith("bgdata/pipelines/")} == flows != set()
    scripts = {f"bgdata/publishing/scripts/{path.name}" for path in (ROOT / "docs" / "scripts").glob("*.py")}
    assert {name for name in names if name.startswith("bgdata/publishing/scripts/")} == scripts != set()


def test_only_declared_packages_are_available(wheel: Path, programs: Path, tmp_path: Path) -> None:
    assert len(needed(requirements(wheel), ())) <= 12
    names = ("numba", "pipelines", "pytest", "onnx", "matplotlib", "prefect", "starlette", "distributed")
    code = f"import importlib.util as u; print(*(name for name in {names} if u.find_spec(name)))"
    assert run(tmp_path, programs / "python", "-c", code).split() == ["numba"]


def test_flows_name_the_missing_extra(programs: Path, tmp_path: Path) -> None:
    with Subtests() as subtests:
        for path in FLOWS:
            with subtests.test(path.stem):
                command = (programs / "python", "-m", f"bgdata.pipelines.{path.stem}")
                _, stderr = run_with_errors(tmp_path, *command, code=1)
                install_it = f'{programs / "python"} -m pip install "{DISTRIBUTION}[flows]"'
                assert stderr == f"error: expected prefect to run a flow, found none; try: {install_it}\n"


@pytest.mark.prefect
def test_flows_run_from_the_wheel(wheel: Path, tmp_path: Path) -> None:
    """Separate processes find the tasks."""
    python = install(wheel, tmp_path / "environment", "flows") / "python"
    folder = tmp_path / "empty"
    folder.mkdir()
    (folder / "openings.csv").write_text("position_id\n4HPwATDgc/ABMA\n")
    words = ("--warehouse", "tables", "positions:openings.csv")
    version, *_ = run(folder, python, "-m", "bgdata.pipelines.imports", *words).splitlines()
    assert re.fullmatch(r"positions/openings/r\d+-\w+", version)
    assert (folder / "tables" / version).is_dir()


def test_wheel_works_without_a_warehouse(programs: Path, tmp_path: Path) -> None:
    """Home and working folder are empty, and there is no clone or make."""
    folder = tmp_path / "empty"
    folder.mkdir()
    output, stderr = run_with_errors(folder, programs / "bgdata", "probe", BEAROFF)
    assert stderr.splitlines()[0].endswith(f"; kept in {tmp_path / 'data/bgdata/warehouse'}")
    assert "exact, bearoff_two_sided/6x6/" in output
    assert "cubeless equity           +0.342250  (win chance 0.671125)" in output
    opening, stderr = run_with_errors(folder, programs / "bgdata", "hint", "4HPwATDgc/ABMA", "31", "--format", "csv")
    assert opening.splitlines()[1].split(",")[:4] == ["4HPwATDgc/ABMA", "31", "1", "8/5 6/5"]
    assert stderr == ""
    evaluation = run(folder, programs / "bgdata", "eval", BEAROFF)
    assert "exact, bearoff_two_sided/6x6" in evaluation
    match, stderr = run_with_errors(folder, programs / "bgdata", "cube", "4HPwATDgc/ABMA", "--away", "3-5")
    assert stderr.startswith("building match_equity/")
    assert "mwc" in match
    assert not list(folder.iterdir())
    *_, verdict, origin = run(folder, programs / "bgdata", "verify").splitlines()
    assert verdict.endswith(" 0 failed")
    assert origin.startswith("made by this code: ")


def test_wheel_has_the_sql_of_the_checkout(programs: Path, tmp_path: Path) -> None:
    code = "import bgdata.kinds as datasets; print(datasets.__file__, datasets.SQL, sep='\\n')"
    module, sql = map(Path, run(tmp_path, programs / "python", "-c", code).split())
    assert module.is_relative_to(programs.parent)
    assert sql.is_relative_to(programs.parent)
    files = {path.relative_to(SQL): path.read_bytes() for path in SQL.rglob("*.sql")}
    assert {path.relative_to(sql): path.read_bytes() for path in sql.rglob("*.sql")} == files != {}


def test_wheel_builds_verifies_and_queries(programs: Path, tmp_path: Path) -> None:
    size = ("--points", str(DATASET.smallest.points), "--checkers", str(DATASET.smallest.checkers))
    (tmp_path / "warehouse").mkdir()
    run(tmp_path, programs / "bgdata", "build", DATASET.name, *size)
    assert list(tmp_path.iterdir()) == [tmp_path / "warehouse"]
    assert "9 checks passed, 0 skipped, 0 failed" in run(tmp_path, programs / "bgdata", "verify")
    # rows of the table, a macro, and a view
    query = (
        "select count(*) as pairs, epc(6) as epc, (select count(*) from versions) as versions from bearoff_two_sided"
    )
    output = run(tmp_path, programs / "bgdata", "query", query, "--format", "csv")
    assert output.split() == ["pairs,epc,versions", "400,49.0,1"]
