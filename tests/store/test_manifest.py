"""Manifests: read back, sealed, and with any error in one line."""

import dataclasses
import hashlib
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bgdata.errors import ManifestFormatError, MissingTableError
from bgdata.store.manifest import SEAL, FileEntry, Manifest, RawFile, canonical_json, load_manifest, recipe_key

MANIFEST = Manifest(
    dataset="squares",
    variant="10",
    revision=3,
    parameters={"count": 10},
    recipe_key="ab" * 32,
    digest="cd" * 32,
    inputs={"terms": f"other/1@{'ef' * 32}"},
    raw_files=[RawFile("a.bm", 7, "02" * 32, "03" * 32)],
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
    """The path of a valid manifest."""
    MANIFEST.save(tmp_path)
    return tmp_path / "manifest.json"


def test_manifest_round_trips(path: Path) -> None:
    assert load_manifest(path.parent) == MANIFEST
    assert MANIFEST.version == "r3-cdcdcdcd"


def test_flipped_bit_in_any_byte_is_refused(path: Path) -> None:
    manifest = path.read_bytes()
    for index in range(len(manifest)):
        damaged = bytearray(manifest)
        damaged[index] ^= 1 << index % 8
        path.write_bytes(damaged)
        with pytest.raises(ManifestFormatError, match=r"manifest\.json"):
            load_manifest(path.parent)


def change_manifest(path: Path, function: Callable[[dict[str, Any]], object]) -> None:
    """Rewrite a manifest with a change and a valid seal."""
    data = json.loads(path.read_bytes())
    del data[SEAL]
    function(data)
    path.write_bytes(canonical_json({**data, SEAL: hashlib.sha256(canonical_json(data)).hexdigest()}, indent=2))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.pop("rows"), "differing: 'rows'"),
        (lambda data: data.update(colour=1, age=2), "differing: 'age, colour'"),
        (lambda data: data.pop("format"), "found no format number"),
        (lambda data: data.update(format="1"), "found no format number"),
        (lambda data: data.update(format=3), "format 2 or older .*, found format 3; upgrade bgdata"),
        (lambda data: data.update(format=3, colour=1), "found format 3; upgrade bgdata"),
        (lambda data: data.update(format=2), "fields of manifest format 2 .*, differing: 'parts'"),
        (lambda data: data.update(parts=[]), "fields of manifest format 1 .*, differing: 'parts'"),
        (lambda data: data["files"][0].pop("sha256"), "expected name, bytes and sha256 for each file"),
        (lambda data: data.update(files=5), "expected name, bytes and sha256 for each file"),
        (lambda data: data.update(files=data["files"] * 2), "expected name, bytes and sha256 for each file"),
        (lambda data: data.update(raw_files=[{"name": "x"}]), "expected the files that it was imported from"),
        (lambda data: data["files"][0].update(bytes=-1), "expected name, bytes and sha256 for each file"),
        (lambda data: data.update(rows=True), "expected a number as rows"),
        (lambda data: data.update(rows=1 << 63), "expected a number as rows"),
        (lambda data: data.update(seconds="1"), "expected a number as seconds"),
        (lambda data: data.update(revision=1.5), "expected a number as revision"),
        (lambda data: data.update(digest="CD" * 32), "expected 64 hex digits as digest"),
        (lambda data: data.update(parameters=[]), "expected values by name as parameters"),
        (lambda data: data.update(parameters={"count": [{"two words": 1}]}), "expected values by name as parameters"),
        (lambda data: data.update(parameters={"Count": 1}), "expected values by name as parameters"),
        (lambda data: data.update(inputs={"terms": "../evil/1@" + "0" * 64}), "expected kind/variant@digest by role"),
        (lambda data: data.update(statistics={"mean": "1"}), "expected numbers or null by text as statistics"),
        (lambda data: data.update(software=None), "expected texts by name as software"),
        (lambda data: data.update(warnings="text"), "expected texts as warnings"),
    ],
)
def test_invalid_fields_are_refused(path: Path, change: Callable[[dict[str, Any]], object], message: str) -> None:
    change_manifest(path, change)
    with pytest.raises(ManifestFormatError, match=message):
        load_manifest(path.parent)


# texts that a shell, SQL or a terminal could run, or paths outside the folder
HOSTILE = [
    "'; copy (select 1) to 'x'; --", '"); drop view x; --', "../../evil", "/etc/passwd", "$(id)", "\x1b]0;x\x07",
    "a\nb",
]  # fmt: skip
# fields that are used as names or numbers, and so may contain no such text
NAMES_AND_NUMBERS: list[tuple[str | int, ...]] = [
    ("dataset",), ("variant",), ("revision",), ("recipe_key",), ("digest",), ("rows",), ("seconds",),
    ("peak_memory_bytes",), ("parameters",), ("inputs",), ("raw_files",), ("warnings",), ("files",), ("statistics",),
    ("software",), ("inputs", "terms"), ("files", 0), ("files", 0, "name"), ("files", 0, "bytes"),
    ("files", 0, "sha256"), ("raw_files", 0), ("raw_files", 0, "bytes"), ("raw_files", 0, "sha256"),
    ("raw_files", 0, "content_sha256"), ("statistics", "error_bound"),
]  # fmt: skip


@pytest.mark.parametrize("field", NAMES_AND_NUMBERS, ids=str)
def test_hostile_text_is_refused_in_every_field(path: Path, field: tuple[str | int, ...]) -> None:
    """Even if the manifest has a valid hash."""

    def write_into_field(data: Any, text: str) -> None:
        for key in field[:-1]:
            data = data[key]
        data[field[-1]] = text

    for hostile in HOSTILE:
        change_manifest(path, partial(write_into_field, text=hostile))
        with pytest.raises(ManifestFormatError, match=rf"as {field[0]} in .*manifest\.json, found ") as error:
            load_manifest(path.parent)
        assert str(error.value).isprintable()


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("field", ["parameters", "inputs"])
def test_hostile_keys_are_refused(path: Path, field: str, hostile: str) -> None:
    change_manifest(path, lambda data: data[field].update({hostile: next(iter(data[field].values()))}))
    with pytest.raises(ManifestFormatError, match=rf"as {field} in .*manifest\.json, found "):
        load_manifest(path.parent)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_json_has_only_finite_numbers(value: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        canonical_json({"a": [value]})


@pytest.mark.parametrize("end", [0, 1, 100, -2, -1])
def test_truncated_file_is_refused(path: Path, end: int) -> None:
    path.write_bytes(path.read_bytes()[:end])
    with pytest.raises(ManifestFormatError, match=r"expected.*manifest\.json"):
        load_manifest(path.parent)


@pytest.mark.parametrize("word", [b"NaN", b"Infinity", b"-Infinity"])
def test_file_with_a_number_that_is_not_finite_is_refused(path: Path, word: bytes) -> None:
    path.write_bytes(path.read_bytes().replace(b"1.1e-07", word))
    with pytest.raises(ManifestFormatError, match=r"expected JSON in .*manifest\.json"):
        load_manifest(path.parent)


UNSEALED = {name: value for name, value in json.loads(MANIFEST.to_bytes()).items() if name != SEAL}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[]", "expected"),
        (b"5", "expected"),
        (b"{", "expected"),
        (b"\xff", "expected"),
        (b"null", "expected"),
        (b"[" * 100_000 + b"]" * 100_000, "values inside values without end"),
        # DuckDB refuses a lone surrogate
        (dataclasses.replace(MANIFEST, source_commit="\ud800").to_bytes(), "surrogates not allowed"),
        (json.dumps(UNSEALED).encode(), f"differing: '{SEAL}'"),
    ],
    ids=["list", "number", "half an object", "no text", "null", "deep list", "surrogate", "no seal"],
)
def test_file_that_is_no_manifest_is_refused(path: Path, content: bytes, message: str) -> None:
    path.write_bytes(content)
    with pytest.raises(ManifestFormatError, match=message) as error:
        load_manifest(path.parent)
    assert "manifest.json" in str(error.value)


def test_too_large_file_is_refused(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(1 << 40)
    with pytest.raises(ManifestFormatError, match=r"expected at most 16,777,216 bytes in .*manifest\.json, found more"):
        load_manifest(path.parent)


def test_missing_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingTableError, match=r"expected a manifest in .*, found none; try: bgdata verify"):
        load_manifest(tmp_path)


def test_recipe_key_depends_on_each_part() -> None:
    key = recipe_key("squares", 1, {"count": 5, "step": 2}, {"terms": "x@1"})
    assert recipe_key("squares", 1, {"step": 2, "count": 5}, {"terms": "x@1"}) == key
    assert recipe_key("cubes", 1, {"count": 5, "step": 2}, {"terms": "x@1"}) != key
    assert recipe_key("squares", 2, {"count": 5, "step": 2}, {"terms": "x@1"}) != key
    assert recipe_key("squares", 1, {"count": 6, "step": 2}, {"terms": "x@1"}) != key
    assert recipe_key("squares", 1, {"count": 5, "step": 2}, {"terms": "x@2"}) != key


def test_equal_manifests_are_equal_bytes() -> None:
    manifest = dataclasses.replace(MANIFEST, software={"a": "1", "b": "2"})
    reordered = dataclasses.replace(MANIFEST, software={"b": "2", "a": "1"})
    assert reordered.to_bytes() == manifest.to_bytes()
