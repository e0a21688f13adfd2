"""Manifests: read back, sealed, and with any error in one line."""

import dataclasses
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bgdata.errors import CorruptFileError, ManifestFormatError, MissingTableError
from bgdata.store.manifest import SEAL, FileEntry, Manifest, RawFile, canonical_json, load_manifest, recipe_key
from tests.subtests import each

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


def saved_folder(folder: Path) -> Path:
    MANIFEST.save(folder)
    return folder / "manifest.json"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return saved_folder(tmp_path)


def test_manifest_round_trips(path: Path) -> None:
    assert load_manifest(path.parent) == MANIFEST
    assert MANIFEST.version == "r3-cdcdcdcd"


def test_any_changed_byte_is_refused(path: Path) -> None:
    whole = path.read_bytes()
    for place in range(len(whole)):
        for change in (1, 4, 0x20):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ change]) + whole[place + 1 :])
            with pytest.raises(ManifestFormatError, match=r"manifest\.json"):
                load_manifest(path.parent)


def change_manifest(path: Path, function: Callable[[dict[str, Any]], object]) -> None:
    """Rewrite a manifest with a change and a valid seal."""
    data = json.loads(path.read_bytes())
    del data[SEAL]
    function(data)
    path.write_bytes(canonical_json({**data, SEAL: hashlib.sha256(canonical_json(data)).hexdigest()}, indent=2))


@each(
    ("function", "message"),
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
def test_invalid_fields_are_refused(tmp_path: Path, function: Callable[[dict[str, Any]], object], message: str) -> None:
    path = saved_folder(tmp_path)
    change_manifest(path, function)
    with pytest.raises(ManifestFormatError, match=message):
        load_manifest(path.parent)


# texts that a shell, SQL or a terminal could run, or paths outside the folder
HOSTILE = [
    "'; copy (select 1) to 'x'; --", '"); drop view x; --', "../../evil", "/etc/passwd", "$(id)", "\x1b]0;x\x07",
    "a\nb",
]  # fmt: skip
NAMES_AND_NUMBERS = (
    *("dataset", "variant", "revision", "recipe_key", "digest", "rows", "seconds", "peak_memory_bytes"),
    *("parameters", "inputs", "raw_files", "warnings", "files", "statistics", "software"),
    *(("inputs", "terms"), ("files", 0), ("raw_files", 0), ("statistics", "error_bound")),
    *(("files", 0, "name"), ("files", 0, "bytes"), ("files", 0, "sha256")),
    *(("raw_files", 0, "bytes"), ("raw_files", 0, "sha256"), ("raw_files", 0, "content_sha256")),
)


@each("hostile", HOSTILE)
@each("place", NAMES_AND_NUMBERS)
def test_hostile_text_is_refused_in_every_field(
    tmp_path: Path, place: str | tuple[str | int, ...], hostile: str
) -> None:
    """SQL, paths and control characters are refused in every field of a manifest that is used as a name or a number,
    even if the manifest has a valid hash."""
    path = saved_folder(tmp_path)
    *way, last = (place,) if isinstance(place, str) else place

    def inject(data: dict[str, Any]) -> None:
        for step in way:
            data = data[step]  # type: ignore[index]
        data[last] = hostile  # type: ignore[index]

    change_manifest(path, inject)
    with pytest.raises(ManifestFormatError, match=rf"as {(*way, last)[0]} in .*manifest\.json, found ") as error:
        load_manifest(path.parent)
    assert str(error.value).isprintable()


@each("hostile", HOSTILE)
@each("field", ["parameters", "inputs"])
def test_hostile_names_are_refused(tmp_path: Path, field: str, hostile: str) -> None:
    path = saved_folder(tmp_path)
    change_manifest(path, lambda data: data[field].update({hostile: next(iter(data[field].values()))}))
    with pytest.raises(ManifestFormatError, match=rf"as {field} in .*manifest\.json, found "):
        load_manifest(path.parent)


def test_json_has_only_finite_numbers() -> None:
    for value in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="JSON"):
            canonical_json({"a": [value]})


def without_seal(whole: bytes) -> bytes:
    data = json.loads(whole)
    del data[SEAL]
    return json.dumps(data).encode()


@each(
    ("change_bytes", "message"),
    [
        *((lambda whole, end=end: whole[:end], "expected") for end in (0, 1, 100, -2, -1)),
        *((lambda _, content=content: content, "expected") for content in (b"[]", b"5", b"{", b"\xff", b"null")),
        *(
            (lambda whole, word=word: whole.replace(b"1.1e-07", word), "expected JSON in")
            for word in (b"NaN", b"Infinity", b"-Infinity")
        ),
        (lambda _: b"[" * 100_000 + b"]" * 100_000, "values inside values without end"),
        # DuckDB refuses a lone surrogate
        (lambda _: dataclasses.replace(MANIFEST, source_commit="\ud800").to_bytes(), "surrogates not allowed"),
        (without_seal, f"differing: '{SEAL}'"),
    ],
)
def test_invalid_files_are_refused(tmp_path: Path, change_bytes: Callable[[bytes], bytes], message: str) -> None:
    path = saved_folder(tmp_path)
    path.write_bytes(change_bytes(path.read_bytes()))
    with pytest.raises(ManifestFormatError, match=message) as error:
        load_manifest(path.parent)
    assert "manifest.json" in str(error.value)


def test_too_large_file_is_refused(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(1 << 40)
    with pytest.raises(ManifestFormatError, match=r"expected at most 16,777,216 bytes in .*manifest\.json, found more"):
        load_manifest(path.parent)


@pytest.mark.parametrize("what", ["link", "pipe"])
def test_special_file_is_refused(path: Path, what: str) -> None:
    path.rename(path.with_name("other"))
    path.symlink_to(path.with_name("other")) if what == "link" else os.mkfifo(path)
    with pytest.raises(CorruptFileError, match=rf"expected a regular file in .*manifest\.json, found a {what}"):
        load_manifest(path.parent)


def test_missing_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingTableError, match=r"expected a manifest in .*, found none; try: bgdata verify"):
        load_manifest(tmp_path)


def test_recipe_key_depends_on_each_part() -> None:
    recipe: tuple[Any, ...] = ("squares", 1, {"count": 5, "step": 2}, {"terms": "x@1"})
    keys = {recipe_key(*recipe)}
    for place, other in enumerate(("cubes", 2, {"count": 6, "step": 2}, {"terms": "x@2"})):
        changed = (*recipe[:place], other, *recipe[place + 1 :])
        keys.add(recipe_key(*changed))
    assert len(keys) == 5
    assert recipe_key("squares", 1, {"step": 2, "count": 5}, {"terms": "x@1"}) in keys


def test_equal_manifests_are_equal_bytes() -> None:
    reordered = dataclasses.replace(MANIFEST, software=dict(reversed({"a": "1", "b": "2"}.items())))
    assert reordered.to_bytes() == dataclasses.replace(MANIFEST, software={"a": "1", "b": "2"}).to_bytes()
