"""warehouse.lock: read back, in a stable order, and damaged ones refused."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from bgdata.errors import CorruptFileError, ManifestFormatError, MissingTableError
from bgdata.store.lockfile import LockEntry, PinnedFile, load_lock, load_pins, read_lock, save_lock, save_pin
from tests.store import processes
from tests.store.test_manifest import MANIFEST
from tests.together import each

OTHER = dataclasses.replace(MANIFEST, dataset="cubes")


def test_round_trip_in_order(tmp_path: Path) -> None:
    path = tmp_path / "warehouse.lock"
    save_lock(path, [MANIFEST, OTHER])
    expected = [LockEntry(name, "10", "ab" * 32, "cd" * 32) for name in ("cubes", "squares")]
    assert load_lock(path) == expected
    written = path.read_bytes()
    save_lock(path, [OTHER, MANIFEST])
    assert path.read_bytes() == written


def pin_some(path: Path, name: str, together: Any) -> None:
    """In another process: pin files one after the other, and lock a variant in between."""
    together.wait()
    for number in range(5):
        save_pin(path, PinnedFile(f"{name}-{number}", "https://example.org/", 5, "ab" * 32))
        save_lock(path, [MANIFEST])


def test_processes_that_pin_at_once_lose_nothing(memory_path: Path) -> None:
    path, together = memory_path / "warehouse.lock", processes.barrier(3)
    started = [processes.start(pin_some, path, name, together) for name in "abc"]
    for process in started:
        process.join(60)
    assert [process.exitcode for process in started] == [0, 0, 0]
    assert [pin.name for pin in load_pins(path)] == [f"{name}-{number}" for name in "abc" for number in range(5)]
    assert [found.name for found in memory_path.iterdir()] == [path.name]


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(MissingTableError, match=r"expected .*x\.lock, found no such file; try: bgdata lock"):
        load_lock(tmp_path / "x.lock")
    with pytest.raises(CorruptFileError, match=r"expected a regular file in .*, found a folder"):
        load_lock(tmp_path)


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "{}", '{"format": 1}', '{"format": "1", "entries": []}', '{"format": 1, "entries": [{}]}'],
)
def test_damaged(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.lock").write_text(content)
    with pytest.raises(ManifestFormatError, match=r"expected a lock file in .*x\.lock, found: .*; restore it from ver"):
        load_lock(tmp_path / "x.lock")


def test_newer(tmp_path: Path) -> None:
    (tmp_path / "x.lock").write_text(json.dumps({"format": 2, "things": []}))
    with pytest.raises(ManifestFormatError, match=r"expected a lock of format 1 .*, found 2; upgrade bgdata"):
        load_lock(tmp_path / "x.lock")


@each("hostile", ["'; drop view x; --", "../../evil", "/etc/passwd", "$(id)", "a\nb", 7, None, ["x"]])
@each("part", ["entries", "files"])
def test_every_field_refuses_what_could_be_run(tmp_path: Path, part: str, hostile: object) -> None:
    """What a pinned file is called and where it came from are texts that nothing opens."""
    path = tmp_path / "x.lock"
    save_lock(path, [MANIFEST])
    save_pin(path, PinnedFile("x.bz2", "https://example.org/x.bz2", 5, "ab" * 32))
    whole = json.loads(path.read_bytes())
    for name in whole[part][0]:
        if isinstance(hostile, str) and name in ("name", "address"):
            continue
        if hostile == 7 and name == "bytes":
            continue
        entry = {**whole[part][0], name: hostile}
        path.write_text(json.dumps({**whole, part: [entry]}))
        with pytest.raises(ManifestFormatError, match="expected a lock file") as error:
            read_lock(path)
        assert str(error.value).isprintable()
