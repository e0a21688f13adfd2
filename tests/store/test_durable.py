"""Durability across a power cut: bytes are synced before a name refers to them."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from bgdata.store import storage
from bgdata.store.build import COMPUTED
from bgdata.store.storage import publish, write_file
from bgdata.warehouse import Warehouse
from tests.store.toy import Count

Events: TypeAlias = list[tuple[str, str]]


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> Events:
    """Syncs, renames and deletions, in order: (action, name of the file or folder)."""
    events: Events = []

    def recorded(action: str, name_of: Callable[..., str], function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            events.append((action, name_of(*arguments)))
            return function(*arguments, **options)

        return call

    monkeypatch.setattr(
        os, "fsync", recorded("sync", lambda handle: Path(f"/proc/self/fd/{handle}").readlink().name, os.fsync)
    )
    monkeypatch.setattr(Path, "replace", recorded("name", lambda _, target: Path(target).name, Path.replace))
    monkeypatch.setattr(Path, "rename", recorded("name", lambda _, target: Path(target).name, Path.rename))
    monkeypatch.setattr(storage, "remove_folder", recorded("delete", lambda path: path.name, storage.remove_folder))
    return events


def test_file_is_synced_before_and_after_renaming(tmp_path: Path, events: Events) -> None:
    write_file(tmp_path / "x", b"new")
    assert events == [("sync", f".x.{os.getpid()}.partial"), ("name", "x"), ("sync", tmp_path.name)]


def test_version_is_synced_before_and_after_renaming(tmp_path: Path, events: Events) -> None:
    staging = tmp_path / "staging"
    staging.mkdir()
    for name in ("z", "a"):
        (staging / name).touch()
    (tmp_path / "kind").mkdir()
    publish(staging, tmp_path / "kind" / "version")
    assert sorted(events[:2]) == [("sync", "a"), ("sync", "z")]
    assert events[2:] == [("sync", "staging"), ("name", "version"), ("sync", "kind")]


def test_files_of_an_older_version_are_replaced_in_the_order_of_writing(tmp_path: Path, events: Events) -> None:
    """The files of a version are replaced in the order in which they were written, the manifest last, so that the old
    one is valid until then."""
    target = tmp_path / "version"
    target.mkdir()
    (tmp_path / "staging").mkdir()
    for time, name in enumerate(("z", "a", "m")):
        path = tmp_path / "staging" / name
        path.touch()
        os.utime(path, (time, time))
    publish(tmp_path / "staging", target)
    assert events == [
        ("sync", "z"),
        ("sync", "a"),
        ("sync", "m"),
        ("sync", "staging"),
        ("name", "z"),
        ("name", "a"),
        ("name", "m"),
        ("sync", "version"),
        ("delete", "staging"),
        ("sync", tmp_path.name),
    ]


def test_arrays_are_synced_before_they_are_recorded(toys: Warehouse, events: Events) -> None:
    toys.build("squares", Count(10))
    assert events.index(("sync", "square.npy")) < events.index(("name", COMPUTED))
