"""Runs plans of parts, each of which is one command. A plan makes everything that comes with bgdata again, or a player
that was published."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bgdata.errors import CorruptFileError, ExternalProgramError, StorageError, UsageError, cite
from bgdata.store.arrays import Array
from bgdata.store.names import check_name
from bgdata.store.storage import storage_errors, write_file
from bgdata.store.table import Table
from bgdata.store.versions import newest
from bgdata.warehouse import Row, Warehouse

PLAN = Path(__file__).with_suffix(".toml")
STATE = "from-nothing.json"  # file in the warehouse with the version of each finished part, by its command
REFERENCE = re.compile(r"\{([a-z0-9-]+)(?:\.(version|player))?\}")
UNMADE = "r1-00000000"  # placeholder for a missing version, which commands parse
NO_PLAYER = "00000000"


@dataclass(frozen=True)
class Part:
    """A part of a plan: one command of bgdata, which makes one version.

    `command` is the command line after the word `bgdata`. In it, `{NAME}` stands for the KIND/VARIANT/VERSION that the
    part NAME has made, `{NAME.version}` for VERSION alone, and `{NAME.player}` for the version of the player in that
    version's manifest. `makes` is KIND or KIND/VARIANT of the version that the command makes. `minutes` are measured on
    two cores. `figures` is an SQL query with the columns figure, ours, standard_error and published, about the variant
    $variant that was made; empty if there are no published figures."""

    name: str
    makes: str
    minutes: float
    command: str
    needs: tuple[str, ...] = ()
    figures: str = ""

    @property
    def all_needs(self) -> list[str]:
        """The names of the parts that must be finished before this one, each once."""
        return list(dict.fromkeys([*self.needs, *(name for name, _ in REFERENCE.findall(self.command))]))


def plan_path(name: str) -> Path:
    """Return the path of the plan `name`: `from-nothing` and `player-33` come with bgdata; a name that ends in .toml is
    itself a path."""
    return Path(name) if name.endswith(".toml") else PLAN.with_name(f"{name.replace('-', '_')}.toml")


def read_plan(path: Path = PLAN) -> list[Part]:
    """Read the parts of a plan, in order: each comes after the parts that it needs. Raises CorruptFileError if a part
    is invalid; the error names it."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8")).get("part", [])
        parts = [Part(**{**each, "needs": tuple(each.get("needs", ()))}) for each in found]
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, TypeError, AttributeError) as error:
        raise CorruptFileError(f"expected a plan of parts in {path}, found: {cite(error)}") from error
    if not parts:
        raise CorruptFileError(f"expected a plan of parts in {path}, found none")
    done: set[str] = set()
    for part in parts:
        if part.name in done or not re.fullmatch(r"[a-z0-9-]+", part.name):
            raise CorruptFileError(
                f"expected parts of different names in {path}, got {cite(part.name)} twice, or amiss"
            )
        if missing := [name for name in part.all_needs if name not in done]:
            raise CorruptFileError(
                f"expected what {part.name} needs before it in {path}, found no {', '.join(missing)}"
            )
        check_name("kind", part.makes.partition("/")[0])
        done.add(part.name)
    return parts


def arguments(part: Part, made: Mapping[str, Table]) -> list[str]:
    """Return the words of a part's command, in which references to other parts are replaced by the versions that these
    parts have made. UNMADE stands for a version that is missing."""

    def version(found: re.Match[str]) -> str:
        name, what = found.groups()
        table = made.get(name)
        if what == "player":
            return str(table.manifest.parameters["version"]) if table else NO_PLAYER
        if what == "version":
            return table.folder.name if table else UNMADE
        return table.name if table else f"kind/{name}/{UNMADE}"

    return [REFERENCE.sub(version, word) for word in shlex.split(part.command)]


def missing_versions(warehouse: Warehouse, parts: Sequence[Part]) -> list[str]:
    """Return KIND/VARIANT of each version that comes with the package and that no part makes."""
    made = {part.makes for part in parts}
    shipped = (
        f"{kind.name}/{kind.slug(parameters)}"
        for kind in warehouse.kinds.values()
        for parameters in kind.defaults
        if kind.published_folder(parameters)
    )
    return [title for title in shipped if title not in made]


def read_record(warehouse: Warehouse) -> dict[str, str]:
    """Read which version each finished command has made, by command line. Raises CorruptFileError if the record is
    damaged."""
    path = warehouse.root / STATE
    with storage_errors("read", path):
        try:
            found = json.loads(path.read_text())
        except FileNotFoundError:
            return {}
        except ValueError:
            found = None
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found.values()):
        raise CorruptFileError(
            f"expected the versions of parts in {path}, found something else; delete it to begin anew"
        )
    return found


def finished_parts(warehouse: Warehouse, parts: Sequence[Part]) -> dict[str, Table]:
    """Return the versions of the finished parts, by name of the part. A part is finished if its command was run with
    exactly these words, versions of other parts included, and the version that it made still exists."""
    record, tables = read_record(warehouse), {table.name: table for table in warehouse.versions()}
    made: dict[str, Table] = {}
    for part in parts:
        name = record.get(shlex.join(arguments(part, made)))
        if name in tables:
            made[part.name] = tables[name]
    return made


def select_parts(parts: Sequence[Part], names: Sequence[str]) -> list[Part]:
    """Return the parts with these names, and all parts that they need, in the order of the plan; all parts if no names
    are given. Raises UsageError if no part has one of the names."""
    by_name = {part.name: part for part in parts}
    for name in names:
        if name not in by_name:
            raise UsageError(f"expected a part among {', '.join(by_name)}, got {cite(name)}")
    wanted = list(names or by_name)
    for name in wanted:  # the list grows in the loop
        wanted += [other for other in by_name[name].all_needs if other not in wanted]
    return [part for part in parts if part.name in wanted]


def run_parts(warehouse: Warehouse, parts: Sequence[Part]) -> Iterator[tuple[Part, Table]]:
    """Run each part that is not finished, in order, and yield every part with its version. A command that was
    interrupted before resumes."""
    made = finished_parts(warehouse, parts)
    for part in parts:
        if part.name not in made:
            made[part.name] = make_part(warehouse, part, made)
        yield part, made[part.name]


def make_part(warehouse: Warehouse, part: Part, made: Mapping[str, Table]) -> Table:
    """Run a part, and record which version it made. `made` contains the versions of the parts that it needs. Raises
    ExternalProgramError if the command fails."""
    table, command = run_part(warehouse, part, made), shlex.join(arguments(part, made))
    record = read_record(warehouse) | {command: table.name}
    write_file(warehouse.root / STATE, (json.dumps(record, indent=2) + "\n").encode())
    return table


def run_part(warehouse: Warehouse, part: Part, made: Mapping[str, Table]) -> Table:
    """Run the command of a part, and return the version that it made. The progress of the command goes to standard
    error. Raises ExternalProgramError if the command fails."""
    is_shipped = published_version(warehouse, part) is not None
    words = [*arguments(part, made), "--warehouse", str(warehouse.root), *(["--force"] if is_shipped else [])]
    before = {table.name for table in warehouse.versions(part.makes.partition("/")[0])}
    ended = subprocess.run([sys.executable, "-m", "bgdata", *words], stdout=subprocess.DEVNULL, check=False)
    if ended.returncode:
        raise ExternalProgramError(
            f"expected the part {part.name} to be made, got exit code {ended.returncode} of: bgdata {shlex.join(words)}"
        )
    kind, _, variant = part.makes.partition("/")
    found = list(warehouse.versions(kind, variant or None))
    if not found:
        raise StorageError(f"expected a version of {part.makes} in {warehouse.root}, found none after {part.name}")
    return newest([table for table in found if table.name not in before] or found)


def published_version(warehouse: Warehouse, part: Part) -> Path | None:
    """Return the folder, in the package, of the version that corresponds to the one a part makes; None if the package
    has none."""
    kind, _, variant = part.makes.partition("/")
    declared = warehouse.kind(kind)
    found = (parameters for parameters in declared.defaults if variant and declared.slug(parameters) == variant)
    return next((declared.published_folder(parameters) for parameters in found), None)


def compare(warehouse: Warehouse, part: Part, table: Table) -> str:
    """Compare the version that a part made with the version in the package. Returns `same`, or DIFFERS with the names
    of the arrays that differ, and the largest difference of each; empty if the package has no such version."""
    folder = published_version(warehouse, part)
    if folder is None:
        return ""
    shipped = Table(folder)
    if shipped.manifest.digest == table.manifest.digest:
        return "same"
    ours, theirs = table.arrays(), shipped.arrays()
    texts = [
        name + difference_text(ours.get(name), each)
        for name, each in theirs.items()
        if name not in ours or not np.array_equal(ours[name], each)
    ]
    return f"DIFFERS in {', '.join(texts)}"


def difference_text(ours: Array | None, theirs: Array) -> str:
    """Return ` by VALUE` for the largest absolute difference of two arrays of floating-point numbers; empty for arrays
    of other types or different shapes."""
    if ours is None or ours.shape != theirs.shape or theirs.dtype.kind != "f":
        return ""
    return f" by {np.abs(ours - theirs).max():.0e}"


def figures_of(warehouse: Warehouse, part: Part, table: Table) -> list[Row]:
    """Return the published figures about the version that a part made, each beside ours; empty if there are none."""
    if not part.figures:
        return []
    found = warehouse.rows(part.figures, {"variant": table.manifest.variant})
    numbers = ("ours", "standard_error", "published")  # SQL returns decimals for the numbers in the plan
    return [
        {"part": part.name, "figure": row["figure"]}
        | {name: None if row[name] is None else float(row[name]) for name in numbers}
        for row in found
    ]
