"""Malicious warehouses: nothing in them is executed, and nothing outside is read or written.

Payloads are sealed like real data: manifests have valid hashes, and folders the names in the manifests.
"""

import hashlib
import json
import os
import random
import shutil
import time
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import duckdb

from bgdata.store.lockfile import FILE_NAME as LOCK_NAME
from bgdata.store.manifest import FILE_NAME, SEAL, canonical_json
from bgdata.store.names import CURRENT
from bgdata.store.versions import CATALOG
from tests.faults.asking import ask
from tests.faults.campaign import Campaign, shuffled
from tests.faults.damage import QUERIES, copy_warehouse, make_warehouse

SECRET = "what-stands-in-another-file"
TEXTS = (
    "x'; copy (select 42) to 'canary'; --",
    "x\"; copy (select 42) to 'canary'; --",
    "x'); copy (select 42) to 'canary'; select ('",
    "x' as variant, content from read_text('{place}/secret') --",
    "x' union all select content from read_text('{place}/secret') --",
    "'{place}/secret'",
    "{place}/secret",
    "../../../../place/secret",
    "../../../place",
    "..",
    ".",
    "",
    "a/b",
    "A",
    "x\0y",
    "x\nerror: y",
    "x\u2028\x1b[2Jy",
    "\ud800",
    "٣",
    "$(touch canary)",
    "`touch canary`; touch canary | touch canary",
    "{{0.__class__}} %s %n",
    "-rf",
    "--help",
    "x" * 300,
    "x" * 100_000,
)
OTHERS: tuple[Any, ...] = (
    None, True, -1, 0, 10**18, 10**30, 1e308, float("nan"), float("inf"), [], {}, [[]], {"a": 1}, "deep",
)  # fmt: skip
PAYLOADS: tuple[Any, ...] = (*TEXTS, *OTHERS)
DEEP = "[" * 100_000 + "]" * 100_000
# parts of a manifest that say what the version is: with others `verify` fails; the rest is words and figures
IDENTITY = ("dataset", "variant", "revision", "parameters", "digest", "files")
SCRIPTS = (
    "create view {table} as select content as variant from read_text('{place}/secret')",
    "create view {table} as select * from read_csv('{place}/secret', header = false)",
    "create view {table} as select 42 as variant from glob('{place}/*')",
    "create view {table} as select getenv('HOME') as variant",
    "create macro epc(x) as (select content from read_text('{place}/secret')); create view {table} as select epc(1)",
    "create view {table} as select * from duckdb_secrets()",
    "create table {table} (n integer); create view versions as select content from read_text('{place}/secret')",
    "create view \"x'; copy (select 42) to 'canary'; --\" as select 1; create view {table} as select 1 as n",
)
COMMANDS = [
    ["verify", "--sample", "20"],
    *QUERIES.values(),
    ["query", "--format", "json", "select * from versions"],
    ["query", "--format", "csv", "select * from positions limit 3"],
    ["list"],
    ["diff"],
    ["catalog"],
    ["query", "--format", "json", "select * from bearoff_gammon limit 1"],
    ["lock"],
    ["gc", "--dry-run"],
    ["gc", "--yes"],
    ["verify", "--repair", "--sample", "0"],
]


class Hostile(Campaign):
    """Each case puts one payload into a manifest, the lock, the catalog, a pointer or a name of a small warehouse."""

    name = "hostile"
    small = 12
    full = 200

    def prepare(self) -> None:
        self.whole = make_warehouse(self.root)
        manifest = json.loads(manifests(self.whole)[0].read_text())
        lock = json.loads((self.whole / LOCK_NAME).read_text())
        places = [(FILE_NAME, place) for place in places_of(manifest) if place != (SEAL,)]
        places += [(LOCK_NAME, place) for place in places_of(lock)]
        names = ("folder of a kind", "folder of a variant", "folder of a version", "file", "part of a build", CURRENT)
        places += [(name, ()) for name in names]
        injections = shuffled(product(places, range(len(PAYLOADS))), self.seed)
        scripts = (((CATALOG, ()), number) for number in range(len(SCRIPTS)))
        self.cases = list[Any]()
        for number, injection in enumerate(injections):
            script = next(scripts, None) if number % 5 == 0 else None  # early, since there are few of them
            self.cases += [script, injection] if script else [injection]

    def case(self, number: int, chance: random.Random, folder: Path) -> Iterable[str]:
        (target, place), which = self.cases[number % len(self.cases)]
        root = folder / "warehouse"
        outside = folder / "place"
        copy_warehouse(self.whole, root)
        outside.mkdir()
        (outside / "secret").write_text(f"{SECRET}\n")
        payload = payload_text(SCRIPTS if target == CATALOG else PAYLOADS, which, outside)
        before = contents(outside)
        what = f"{payload!r:.60} in {target} {'/'.join(map(str, place))}"
        put_in(root, target, place, payload, chance)
        if target != CATALOG and chance.random() < 0.5:
            (root / CATALOG).unlink()
        try:
            verified, *others = ask(root, outside, COMMANDS)
        except AssertionError as error:
            error.add_note(f"with {what}")
            raise
        found = contents(outside)
        assert found == before, f"expected nothing to be written outside with {what}, found {found.keys()}"
        assert not list(root.rglob("canary*")), f"expected nothing to be run with {what}"
        output = "".join(answer.output + answer.error for answer in (verified, *others))
        assert SECRET not in output, f"expected no other file to be read with {what}, found its text"
        assert "\x1b[2J" not in output, f"expected no command to the terminal with {what}"
        if target == FILE_NAME and place[0] in IDENTITY:
            is_there = verified.output.startswith(f"{len(manifests(self.whole))} versions")  # else it is none any more
            assert verified.code == 1 or not is_there, f"expected verify to fail with {what}, found {verified.output}"
        return [f"in {target}"]


def payload_text(payloads: tuple[Any, ...], which: int, outside: Path) -> Any:
    """A payload with the path of our folder filled in."""
    payload = payloads[which]
    if isinstance(payload, str):
        return payload.replace("{place}", str(outside)).replace("{table}", list(QUERIES)[which % len(QUERIES)])
    return payload


def manifests(root: Path) -> list[Path]:
    """Manifests of all versions: first a computed one, which has parameters, then imported ones, which have files."""
    return sorted(root.glob(f"*/*/*/{FILE_NAME}"))


def places_of(value: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The places of a JSON value where a payload fits: every key or index, and a new key of every object."""
    if place:
        yield place
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from places_of(inner, (*place, name))
        yield (*place, "NEW")
    elif isinstance(value, list) and value:
        yield from places_of(value[0], (*place, 0))


def put_in(root: Path, target: str, place: tuple[str | int, ...], payload: Any, chance: random.Random) -> None:
    """Put a payload into a warehouse, with valid hashes."""
    if target == CATALOG:
        (root / CATALOG).unlink()
        with duckdb.connect(str(root / CATALOG)) as connection:
            connection.execute(payload)
        os.utime(root / CATALOG, (time.time() + 86400, time.time() + 86400))
    elif target == LOCK_NAME:
        write(root / LOCK_NAME, with_payload(json.loads((root / LOCK_NAME).read_text()), place, payload))
    elif target == FILE_NAME:
        path = chance.choice([path for path in manifests(root) if place[0] != "inputs" or "bearoff" in str(path)])
        values = json.loads(path.read_text())
        del values[SEAL]
        values = with_payload(values, place, payload)
        values[SEAL] = hashlib.sha256(canonical_json(values)).hexdigest()
        write(path, values)
        rename_as_said(path.parent, values)
    elif target == CURRENT:
        text = payload if isinstance(payload, str) else json.dumps(payload)
        chance.choice(manifests(root)).parents[1].joinpath(CURRENT).write_text(text, errors="surrogateescape")
    else:
        name_folder(root, target, payload, chance)


def with_payload(values: Any, place: tuple[str | int, ...], payload: Any) -> Any:
    """A JSON value with the payload at a place, or as a new key."""
    inner = values
    for step in place[:-1]:
        if isinstance(inner, list) and not inner:  # an empty list of another kind
            return values
        inner = inner[step] if not isinstance(inner, dict) or step in inner else next(iter(inner.values()), {})
    if isinstance(inner, dict) and place[-1] == "NEW":
        inner[payload if isinstance(payload, str) else "x"] = payload
    elif isinstance(inner, dict) or (isinstance(inner, list) and inner):
        inner[place[-1]] = payload  # type: ignore[index]  # a number in a list: places lead through the value itself
    return values


def write(path: Path, values: Any) -> None:
    """Write JSON like bgdata; the text `deep` becomes nested lists."""
    path.write_bytes(canonical_json(values, indent=2).replace(b'"deep"', DEEP.encode()))


def rename_as_said(version: Path, values: dict[str, Any]) -> None:
    """Rename the folder of a version to the name in its manifest, if possible."""
    names = [values.get("dataset"), values.get("variant"), f"r{values.get('revision')}-{str(values.get('digest'))[:8]}"]
    if all(isinstance(name, str) and name not in ("", ".", "..") and not set(name) & {"/", "\0"} for name in names):
        target = version.parents[2].joinpath(*map(str, names))
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            version.rename(target)
        except (OSError, UnicodeEncodeError):  # too long a name, or none at all
            return


def name_folder(root: Path, target: str, payload: Any, chance: random.Random) -> None:
    """Give a folder or file the payload as its name, if the file system allows it."""
    version = chance.choice(manifests(root)).parent
    place = {"folder of a kind": version.parents[1], "folder of a variant": version.parent}.get(target, version)
    name = str(payload).replace("/", "_").replace("\0", "_")[:200]
    try:
        if target == "file":
            for ending in (".parquet", ".npy", ""):
                shutil.copyfile(version / "table.parquet", version / f"{name}{ending}")
        elif target == "part of a build":
            (root / ".staging").mkdir(exist_ok=True)
            (root / ".staging" / name).write_text("")
            (root / ".staging" / f"{name[:150]}-{'0' * 12}-{'f' * 12}").symlink_to(version)
        else:
            shutil.copytree(place, place.with_name(name if target != "folder of a version" else f"r1-{name}"))
    except (OSError, ValueError):
        return


def contents(folder: Path) -> dict[str, bytes]:
    """The content of every file in a folder."""
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in sorted(folder.rglob("*"))}
