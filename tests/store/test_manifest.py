"""Manifests: read back, sealed, and whatever is wrong with one said in a line."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bgdata.errors import ManifestFormatError, MissingTableError
from bgdata.store.manifest import SEAL, FileEntry, Manifest, canonical_json, load_manifest, recipe_key

MANIFEST = Manifest(
    dataset="squares",
    variant="10",
    revision=3,
    parameters={"count": 10},
    recipe_key="ab" * 32,
    digest="cd" * 32,
    inputs={"terms": "other/1@ef"},
    raw_files=[],
    warnings=[],
    rows=10,
    files=[FileEntry("table.parquet", 123, "01" * 32)],
    statistics={"error_bound": 1.1e-7},
    licence="CC0-1.0",
    source="Zürich",
    kernel_fingerprint="23",
    software={"python": "3.11"},
    source_commit="",
    created="2026-01-01T00:00:00+00:00",
    seconds=0.1,
    peak_memory_bytes=5,
    machine="Linux",
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    MANIFEST.save(tmp_path)
    return tmp_path / "manifest.json"


def test_round_trip(path: Path) -> None:
    assert load_manifest(path.parent) == MANIFEST
    assert MANIFEST.version == "r3-cdcdcdcd"


def test_any_changed_byte_is_noticed(path: Path) -> None:
    whole = path.read_bytes()
    for place in range(len(whole)):
        for change in (1, 4, 0x20):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ change]) + whole[place + 1 :])
            with pytest.raises(ManifestFormatError, match=r"manifest\.json"):
                load_manifest(path.parent)


@pytest.mark.parametrize("end", [0, 1, 100, -2, -1])
def test_truncated(path: Path, end: int) -> None:
    path.write_bytes(path.read_bytes()[:end])
    with pytest.raises(ManifestFormatError):
        load_manifest(path.parent)


def change(path: Path, function: Callable[[dict[str, Any]], object]) -> None:
    """Rewrite a manifest with a change and the seal that would go with it."""
    data = json.loads(path.read_bytes())
    del data[SEAL]
    function(data)
    path.write_bytes(canonical_json({**data, SEAL: hashlib.sha256(canonical_json(data)).hexdigest()}, indent=2))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda data: data.pop("rows"), "differing: rows"),
        (lambda data: data.update(colour=1, age=2), "differing: age, colour"),
        (lambda data: data.pop("format"), "found no format number"),
        (lambda data: data.update(format="1"), "found no format number"),
        (lambda data: data.update(format=2), "format 1 or older .*, found format 2; upgrade bgdata"),
        (lambda data: data.update(format=2, colour=1), "found format 2; upgrade bgdata"),
        (lambda data: data["files"][0].pop("sha256"), "expected name, bytes and sha256 for each file"),
        (lambda data: data.update(files=5), "expected name, bytes and sha256 for each file"),
    ],
)
def test_other_fields(path: Path, function: Callable[[dict[str, Any]], object], message: str) -> None:
    change(path, function)
    with pytest.raises(ManifestFormatError, match=message):
        load_manifest(path.parent)


@pytest.mark.parametrize("content", ["", "[]", "5", "{", "\xff", "null"])
def test_no_manifest_at_all(path: Path, content: str) -> None:
    path.write_text(content, "latin-1")
    with pytest.raises(ManifestFormatError, match=r"manifest\.json"):
        load_manifest(path.parent)


def test_one_without_a_seal_is_refused(path: Path) -> None:
    data = json.loads(path.read_bytes())
    del data[SEAL]
    path.write_bytes(json.dumps(data).encode())
    with pytest.raises(ManifestFormatError, match=f"differing: {SEAL}"):
        load_manifest(path.parent)


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(MissingTableError, match=r"expected a manifest in .*, found none; try: bgdata verify"):
        load_manifest(tmp_path)


def test_recipe_key_depends_on_each_part() -> None:
    recipe: tuple[Any, ...] = ("squares", 1, {"count": 5, "step": 2}, {"terms": "x@1"})
    keys = {recipe_key(*recipe)}
    for place, other in enumerate(("cubes", 2, {"count": 6, "step": 2}, {"terms": "x@2"})):
        keys.add(recipe_key(*recipe[:place], other, *recipe[place + 1 :]))
    assert len(keys) == 5
    assert recipe_key("squares", 1, {"step": 2, "count": 5}, {"terms": "x@1"}) in keys


def test_equal_manifests_are_equal_bytes() -> None:
    reordered = dataclasses.replace(MANIFEST, software=dict(reversed({"a": "1", "b": "2"}.items())))
    assert reordered.to_bytes() == dataclasses.replace(MANIFEST, software={"a": "1", "b": "2"}).to_bytes()
