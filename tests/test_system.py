"""Calls that operating systems have in different forms: both forms of each, those of Windows over stand-ins here."""

import errno
import fcntl
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from bgdata import system

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "bgdata" / "system.py"


def lock_region(handle: int, mode: int, length: int) -> None:
    """`msvcrt.locking` with LK_NBLCK: fails at once where somebody else has the lock."""
    assert (mode, length) == (2, 1)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise PermissionError(errno.EACCES, "Permission denied") from error


def windows_form(patch: pytest.MonkeyPatch) -> ModuleType:
    """The module as Windows loads it, with stand-ins for what this machine lacks."""
    patch.setitem(sys.modules, "msvcrt", SimpleNamespace(locking=lock_region, LK_NBLCK=2))
    for name in ("O_BINARY", "O_NOINHERIT"):
        patch.setattr(os, name, 0, raising=False)
    spec = importlib.util.spec_from_file_location("bgdata.system", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as loading:
        loading.setattr(sys, "platform", "win32")
        spec.loader.exec_module(module)
    return module


@pytest.fixture(params=["this system", "Windows"])
def calls(request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    """The module in each of its forms."""
    with pytest.MonkeyPatch.context() as patch:
        yield system if request.param == "this system" else windows_form(patch)


def test_both_forms_have_the_same_names() -> None:
    with pytest.MonkeyPatch.context() as patch:
        windows = {name for name in vars(windows_form(patch)) if name.islower() and not name.startswith("_")}
    here = {name for name in vars(system) if name.islower() and not name.startswith("_")}
    assert here - windows == {"fcntl", "resource"}
    assert windows - here == {"msvcrt", "time"}


def test_lock_is_for_one_process(calls: ModuleType, tmp_path: Path) -> None:
    """A lock that is held is refused to a second holder. After unlocking, its file is gone and others can lock."""
    path = tmp_path / "build.lock"
    first, second = (os.open(path, os.O_RDWR | os.O_CREAT) for _ in range(2))
    calls.lock(first, wait=False)
    with pytest.raises(BlockingIOError):
        calls.lock(second, wait=False)
    calls.unlock(first, path)
    assert not path.exists()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(first)
    calls.lock(second, wait=True)
    os.close(second)


def test_opening_a_link_is_refused(calls: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"values")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    handle = calls.open_unfollowed(tmp_path / "file")
    assert os.read(handle, 9) == b"values"
    os.close(handle)
    with pytest.raises(OSError, match="symbolic links") as caught:
        calls.open_unfollowed(tmp_path / "link")
    assert caught.value.errno == errno.ELOOP


@pytest.mark.parametrize("is_random", [True, False])
def test_mapped_file_cannot_be_written(calls: ModuleType, tmp_path: Path, is_random: bool) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(range(256)) * 64)
    with path.open("rb") as file:
        view = calls.map_bytes(file.fileno(), 256 * 64, is_random=is_random)
    assert bytes(view) == path.read_bytes()
    assert view.readonly
    calls.release_map(view.obj)
    assert bytes(view[300:301]) == bytes([44])


def test_memory_is_zero_until_written(calls: ModuleType) -> None:
    memory = calls.private_memory(1 << 20)
    calls.use_large_pages(memory)
    assert memory[:] == bytes(1 << 20)
    memory[5] = 7
    calls.give_back(memory, 1 << 16, 1 << 16)
    assert memory[5] == 7


def test_bytes_are_written_at_an_offset(calls: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"........")
    handle = os.open(path, os.O_RDWR)
    assert calls.write_at(handle, memoryview(b"ab"), 3) == 2
    os.close(handle)
    assert path.read_bytes() == b"...ab..."


def test_files_and_folders_are_synced(calls: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"values")
    calls.sync(tmp_path / "file")
    calls.sync(tmp_path)
    with pytest.raises(FileNotFoundError):
        calls.sync(tmp_path / "missing")


def test_limits_are_numbers_or_none(calls: ModuleType) -> None:
    assert all(limit is None or limit > 0 for limit in map(calls.limit, ("RLIMIT_AS", "RLIMIT_NOFILE")))


def test_holes_of_a_file_use_no_disk(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 24)
    assert system.used_bytes((tmp_path / "sparse").stat()) < 1 << 20


WITHOUT_POSIX = """
import multiprocessing, os, psutil, signal, subprocess, sys, tempfile
import pytest
from tests.test_system import windows_form
with pytest.MonkeyPatch.context() as patch:
    system = windows_form(patch)
os.O_BINARY = os.O_NOINHERIT = 0
system.peak_memory_bytes = lambda: 1 << 20  # psutil has it on Windows alone
system.set_nonblocking = lambda handle: os.set_blocking(handle, False)  # which Windows does not need
import bgdata
sys.modules["bgdata.system"] = bgdata.system = system
sys.modules.update(dict.fromkeys(("fcntl", "resource")))  # importing them fails
for module, names in ((os, "pwrite O_NONBLOCK O_NOFOLLOW O_CLOEXEC"), (signal, "SIGHUP SIGPIPE pthread_sigmask")):
    for name in names.split():
        delattr(module, name)
from bgdata.__main__ import main
main()
"""


@pytest.mark.slow  # may compile
def test_tables_are_built_and_verified_without_posix(tmp_path: Path) -> None:
    """Building, querying and verifying tables uses nothing else that Windows lacks."""
    digests = []
    for program in (["-c", WITHOUT_POSIX], ["-m", "bgdata"]):
        root = tmp_path / program[0]
        words = ("--warehouse", str(root))
        for command in (("build", "bearoff_two_sided", "--points", "3", "--checkers", "3"), ("verify",)):
            result = subprocess.run(
                [sys.executable, *program, *command, *words], cwd=ROOT, capture_output=True, text=True, timeout=600
            )
            assert result.returncode == 0, result.stderr
        (folder,) = (root / "bearoff_two_sided" / "3x3").glob("r*")
        digests.append(folder.name)
    assert digests[0] == digests[1]


def test_lock_waits_for_its_holder(tmp_path: Path) -> None:
    """The lock in the form for Windows waits until its holder unlocks."""
    with pytest.MonkeyPatch.context() as patch:
        windows = windows_form(patch)
        path = tmp_path / "build.lock"
        holder, waiting = (os.open(path, os.O_RDWR | os.O_CREAT) for _ in range(2))
        windows.lock(holder, wait=False)
        patch.setattr("time.sleep", lambda _: windows.unlock(holder, path))
        windows.lock(waiting, wait=True)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.close(holder)
    with suppress(OSError):
        os.close(waiting)
