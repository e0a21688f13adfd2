"""Folders that tests read but do not change: filled once, kept between runs, and verified in each run.

They are in `.bgdata/tests/<fingerprint>`; the fingerprint covers everything that determines their values: kernels,
kinds, store, SQL, and the libraries that write files. Workers of a run share them: the first one that needs a missing
folder fills it, and the others wait. Tests hard-link the files, and copy only those they damage.
"""

import functools
import hashlib
import os
import shutil
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from filelock import FileLock

import bgdata
from bgdata.errors import BgdataError
from bgdata.kernel_cache import import_closure
from bgdata.store.catalog import write_catalog
from bgdata.store.verify import check_hashes

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "bgdata"
HOME = ROOT / ".bgdata" / "tests"
SOURCES = ("store/*.py", "kinds/*.py", "*/kinds/**/*.py")  # package files that determine the content of versions
KEPT_SECONDS = 24 * 3600
LIBRARIES = ("duckdb", "numba", "numpy", "pyarrow")  # that compute values or write files


@functools.cache
def fingerprint() -> str:
    """Twelve hex digits that change with everything that may change a kept folder."""
    digest = hashlib.sha256(repr([sys.version_info[:2], *map(version, LIBRARIES)]).encode())
    modules = {path for pattern in SOURCES for path in PACKAGE.glob(pattern)}
    modules.update(*map(import_closure, sorted(modules)))
    # files of the package become versions too, and tests write the imported samples
    data = {path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix not in {".py", ".pyc"}}
    for path in sorted({*modules, *data, *(ROOT / "sql").rglob("*.sql"), Path(__file__).with_name("conftest.py")}):
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def kept_folder(name: str, fill: Callable[[Path], object], *, goes_on: bool = False) -> Path:
    """The folder of this name, filled on first use and verified on first use in a run. `fill` gets an empty folder, or
    with `goes_on` one that other workers have begun to fill."""
    home = kept_home()
    folder = home / name
    done = home / f"{name}.done"
    proven = home / f"{name}.proven"
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    with FileLock(home / f"{name}.lock"):
        if done.exists() and not (proven.exists() and proven.read_text() == run) and not is_whole(folder):
            done.unlink()
            shutil.rmtree(folder)
        if not done.exists():
            if not goes_on:
                shutil.rmtree(folder, ignore_errors=True)  # remains of a failed worker
            folder.mkdir(exist_ok=True)
            fill(folder)
            write_catalog(bgdata.open_warehouse(folder / "warehouse"))
            done.touch()
        proven.write_text(run)
    return folder


def kept_home() -> Path:
    """The folder of all kept folders for the current sources."""
    home = HOME / fingerprint()
    home.mkdir(parents=True, exist_ok=True)
    return home


def is_whole(folder: Path) -> bool:
    """Whether every file of every version in a kept folder's warehouse has the hash of its manifest."""
    try:
        for table in bgdata.open_warehouse(folder / "warehouse").versions():
            check_hashes(table)
    except (BgdataError, OSError):
        return False
    return True


def forget_others() -> None:
    """Delete the folders of other sources, unless used by a run within a day, which may still be running."""
    os.utime(kept_home())
    for folder in HOME.glob("*"):
        if time.time() - folder.stat().st_mtime > KEPT_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)


def protect() -> None:
    """From now on, let this process fail if it writes to a warehouse file with several hard links."""
    sys.addaudithook(refuse_shared)


def refuse_shared(event: str, arguments: tuple[object, ...]) -> None:
    """Raise AssertionError if a file with several hard links is opened for writing."""
    if event == "open" and isinstance(arguments[0], str | Path) and isinstance(arguments[2], int):
        writes = arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if writes and "warehouse" in str(arguments[0]) and is_shared(arguments[0]):
            raise AssertionError(f"{arguments[0]} is shared by all tests: write to a copy, see tests.kept.own")


def is_shared(path: str | Path) -> bool:
    """Whether the file at `path` has several hard links."""
    try:
        return Path(path).is_file() and Path(path).stat().st_nlink > 1  # folders count their subfolders
    except OSError:
        return False


def link(source: Path, target: Path) -> Path:
    """Link a folder: new folders with hard links to the files. Returns the target."""
    shutil.copytree(source, target, copy_function=_link_or_copy)
    for path in (target, *target.rglob("*")):
        if path.is_dir():
            path.chmod(0o755)
    return target


def _link_or_copy(source: str, target: str) -> None:
    """Hard-link a file, or copy it if the paths are on different disks."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def own(path: Path) -> Path:
    """Replace a file, or all files of a folder, by copies that a test may write to; returns the path."""
    for file in [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]:
        content = file.read_bytes()
        file.unlink()
        file.write_bytes(content)
    return path
