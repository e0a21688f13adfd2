"""Files written aside and renamed, folders published, locks across processes, and errors in one line."""

import errno
import hashlib
import os
import re
import resource
import time
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from bgdata.errors import CheckFailedError, StorageError
from bgdata.store import storage
from bgdata.store.arrays import ArrayWriter, save_array
from tests.store import processes
from tests.store.test_arrays import VALUES


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.ENOSPC, "the disk is full; free some space and try again, finished parts are kept"),
        (errno.EDQUOT, "the disk quota is used up; free some space and try again, finished parts are kept"),
        (errno.EROFS, "the file system is read-only; choose another place with --warehouse"),
        (errno.EACCES, "permission denied; choose another place with --warehouse"),
        (errno.ENOTDIR, "part of the path is a file"),
        (errno.EIO, "input/output error"),
    ],
)
def test_storage_errors_name_the_reason(number: int, reason: str) -> None:
    with pytest.raises(StorageError) as error, storage.storage_errors("write", Path("x/y")):
        raise OSError(number, os.strerror(number))
    assert str(error.value) == f"cannot write x/y: {reason}"


def test_storage_error_may_give_other_advice() -> None:
    with pytest.raises(StorageError) as error, storage.storage_errors("write", Path("x"), "choose another file"):
        raise OSError(errno.EACCES, "")
    assert str(error.value) == "cannot write x: permission denied; choose another file"


@pytest.mark.parametrize("error", [StorageError("first"), CheckFailedError("x"), ValueError("x"), OSError("no number")])
def test_other_errors_are_not_changed(error: Exception) -> None:
    with pytest.raises(type(error)) as raised, storage.storage_errors("write", Path("x")):
        raise error
    assert raised.value is error


def test_write_file_replaces_the_old_file(tmp_path: Path) -> None:
    storage.write_file(tmp_path / "x", b"long before")
    storage.write_file(tmp_path / "x", b"after")
    assert (tmp_path / "x").read_bytes() == b"after"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("step", ["fsync", "open"])
def test_full_disk_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    path = tmp_path / "x"
    storage.write_file(path, b"before")
    with monkeypatch.context() as patch:
        patch.setattr(os if step == "fsync" else Path, step, Mock(side_effect=OSError(errno.ENOSPC, "full")))
        with pytest.raises(StorageError, match=r"cannot write .*x: the disk is full"):
            storage.write_file(path, b"after")
    assert path.read_bytes() == b"before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["x"]


def write_too_much(folder: Path, writer: str) -> None:
    """In another process with files of at most 64 bytes: write, and exit with 7 for our error."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
    values = VALUES.repeat(10_000)
    try:
        if writer == "file":
            storage.write_file(folder / "x", values.tobytes())
        elif writer == "array":
            save_array(folder / "x.npy", values)
        else:
            with ArrayWriter(folder / "x.npy", values.dtype, values.shape) as rows:
                rows.write(0, values)
    except StorageError as error:
        assert "the file would be larger than allowed here" in str(error) or "the disk is full" in str(error)  # noqa: PT017
        os._exit(7)


@pytest.mark.parametrize("writer", ["file", "array", "rows"])
def test_file_size_limit_is_reported(tmp_path: Path, writer: str) -> None:
    assert processes.run(write_too_much, tmp_path, writer) == 7
    assert not (tmp_path / "x").exists()


def staged_version(tmp_path: Path, **files: str) -> Path:
    """A staging folder with the given files and texts."""
    folder = tmp_path / "staging"
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def test_missing_permission_of_a_folder_is_reported(tmp_path: Path) -> None:
    staging = staged_version(tmp_path, a="1")
    tmp_path.chmod(0o555)
    try:
        with processes.bare_thread() as thread:
            with pytest.raises(StorageError, match=r"cannot write .*: permission denied"):
                thread.submit(storage.write_file, tmp_path / "x", b"").result()
            with pytest.raises(StorageError, match=r"cannot write .*: permission denied"):
                thread.submit(save_array, tmp_path / "x.npy", VALUES).result()
            with pytest.raises(StorageError, match=r"cannot publish .*: permission denied"):
                thread.submit(storage.publish, staging, tmp_path / "x").result()
    finally:
        tmp_path.chmod(0o755)


def test_publish_renames_and_protects(tmp_path: Path) -> None:
    target = tmp_path / "kind" / "variant" / "r1-00000000"
    staging = staged_version(tmp_path, a="1", b="2")
    storage.publish(staging, target)
    assert not staging.exists()
    assert {path.name: path.read_text() for path in target.iterdir()} == {"a": "1", "b": "2"}
    assert {path.stat().st_mode & 0o777 for path in target.iterdir()} == {0o444}


def test_protected_folder_is_removed(tmp_path: Path) -> None:
    storage.publish(staged_version(tmp_path, a="1"), tmp_path / "version")
    for _ in range(2):  # a second time there is nothing to remove
        storage.remove_folder(tmp_path / "version")
        assert list(tmp_path.iterdir()) == []


def test_publish_replaces_files_that_are_open(tmp_path: Path) -> None:
    target = tmp_path / "target"
    storage.publish(staged_version(tmp_path, a="before"), target)
    with (target / "a").open() as reader:
        storage.publish(staged_version(tmp_path, a="after", b="new"), target)
        assert reader.read() == "before"
    assert {path.name: path.read_text() for path in target.iterdir()} == {"a": "after", "b": "new"}
    assert [path.name for path in tmp_path.iterdir()] == ["target"]


def test_sha256_of_a_file_is_computed(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc" * 1000)
    assert storage.sha256_file(tmp_path / "x") == hashlib.sha256(b"abc" * 1000).hexdigest()
    with pytest.raises(StorageError, match=r"cannot read .*y: no such file or directory"):
        storage.sha256_file(tmp_path / "y")


def count_under_lock(folder: Path, barrier: Any, rounds: int) -> None:
    """In another process: increment the number in a file, each time under the lock."""
    barrier.wait()
    for _ in range(rounds):
        with storage.hold_lock(folder / "lock"):
            number = int((folder / "number").read_text())
            time.sleep(0.001)
            (folder / "number").write_text(str(number + 1))


def test_lock_excludes_other_processes(tmp_path: Path) -> None:
    """Only one process at a time holds a lock, although each holder deletes the lock file while others wait for it."""
    (tmp_path / "number").write_text("0")
    barrier = processes.barrier(4)
    processes.run_all([(count_under_lock, tmp_path, barrier, 25)] * 4)
    assert (tmp_path / "number").read_text() == str(4 * 25)
    assert not (tmp_path / "lock").exists()


def hold_and_die(path: Path) -> None:
    with storage.hold_lock(path):
        os._exit(3)


def test_killed_holder_releases_the_lock(tmp_path: Path) -> None:
    assert processes.run(hold_and_die, tmp_path / "lock") == 3
    assert (tmp_path / "lock").exists()
    on_wait = Mock()
    with storage.hold_lock(tmp_path / "lock", on_wait):
        on_wait.assert_not_called()


def test_only_free_locks_are_removed(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with storage.hold_lock(lock):
        assert storage.is_locked(lock, remove=True)
        assert lock.exists()
    lock.touch()
    assert not storage.is_locked(lock, remove=True)
    assert not lock.exists()
    assert not storage.is_locked(lock, remove=True)


def test_waiting_is_reported(tmp_path: Path) -> None:
    holder = storage.hold_lock(tmp_path / "lock")
    holder.__enter__()
    release = Mock(side_effect=lambda: holder.__exit__(None, None, None))
    with storage.hold_lock(tmp_path / "lock", release):
        release.assert_called_once()


def test_lock_in_a_missing_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(StorageError, match=r"cannot lock .*: (part of the path is a file|file exists)"),
        storage.hold_lock(tmp_path / "file" / "lock"),
    ):
        pass


CHECKSUMS = {"b c.txt": "0" * 64, "a.txt": "f" * 64}


def test_checksums_round_trip() -> None:
    assert storage.parse_checksums(storage.checksum_bytes(CHECKSUMS)) == sorted(CHECKSUMS.items())
    assert storage.parse_checksums(b"") == []


@pytest.mark.parametrize("line", [b"a.txt", b"0" * 63 + b"  a", b"0" * 64 + b" a", b"0" * 64 + b"  ", b"\xff"])
def test_invalid_checksum_lines_are_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match=re.escape(line.decode(errors="replace"))):
        storage.parse_checksums(storage.checksum_bytes(CHECKSUMS) + line + b"\n")
