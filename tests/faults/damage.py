"""Damages every file of a warehouse in every way: `verify` names it, no query loses rows, nothing hangs."""

import filecmp
import os
import random
import shutil
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path

import bgdata
from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters
from bgdata.store.lockfile import FILE_NAME as LOCK_NAME
from bgdata.store.lockfile import save_lock
from bgdata.store.names import CURRENT
from bgdata.store.versions import CATALOG, STAGING
from tests.faults.asking import Answer, ask
from tests.faults.campaign import Campaign, shuffled
from tests.faults.kills import check_end, finish, perform, warehouse_of, whole_of
from tests.imports.importing import Imports
from tests.store import processes
from tests.store.test_resume import wait_for_checkpoint

WORK = "two-sided"
POSITIONS = b"4HPwATDgc/ABMA\nv90EAIC3BgAAAA\n"


def flipped(path: Path, other: Path, chance: random.Random) -> None:  # noqa: ARG001
    """Flip one bit."""
    data = bytearray(path.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def cut(path: Path, other: Path, chance: random.Random) -> None:  # noqa: ARG001
    """Cut off the end."""
    os.truncate(path, chance.randrange(1, path.stat().st_size))


def longer(path: Path, other: Path, chance: random.Random) -> None:  # noqa: ARG001
    """Append bytes."""
    with path.open("ab") as file:
        file.write(chance.randbytes(chance.randint(1, 100)))


def emptied(path: Path, other: Path, chance: random.Random) -> None:  # noqa: ARG001
    """Make the file empty."""
    path.write_bytes(b"")


def removed(path: Path, other: Path, chance: random.Random) -> None:  # noqa: ARG001
    """Delete the file."""
    path.unlink()


def linked(path: Path, other: Path, chance: random.Random) -> None:
    """Replace it by a symbolic link to itself, a missing file, an endless device, or a similar file elsewhere."""
    path.unlink()
    path.symlink_to(chance.choice([path, path.with_name("nothing"), Path("/dev/zero"), other]))


def piped(path: Path, other: Path, chance: random.Random) -> None:  # noqa: ARG001
    """Replace it by a pipe without a writer."""
    path.unlink()
    os.mkfifo(path)


def folder(path: Path, other: Path, chance: random.Random) -> None:  # noqa: ARG001
    """Replace it by a folder."""
    path.unlink()
    path.mkdir()


def swapped(path: Path, other: Path, chance: random.Random) -> None:  # noqa: ARG001
    """Replace it by the file of another version."""
    shutil.copyfile(other, path)


DAMAGES: dict[str, Callable[[Path, Path, random.Random], None]] = {
    damage.__name__: damage for damage in (flipped, cut, longer, emptied, removed, linked, piped, folder, swapped)
}
SAME_SIZE = {"flipped"}
QUERIES = {
    table: ["query", "--format", "json", f"select count(*) as n from {table}"]
    for table in ("bearoff_gammon", "positions", "quarantine")
}
COMMANDS = [["verify", "--sample", "20"], *QUERIES.values(), ["list"], ["diff"]]


class Damage(Campaign):
    """Each case is one damage to one file of a small warehouse."""

    name = "damage"
    small = 12
    full = 200

    def prepare(self) -> None:
        self.whole = make_warehouse(self.root)
        place = self.root / "place"
        place.mkdir()
        answers = ask(self.whole, place, COMMANDS)
        assert [answer.code for answer in answers[:-1]] == [0] * (len(COMMANDS) - 1), (
            f"expected no error, found {answers}"
        )
        self.counts = {table: answer.output for table, answer in zip(QUERIES, answers[1:], strict=False)}
        paths = [path.relative_to(self.whole) for path in self.whole.rglob("*") if path.is_file()]
        self.cases = shuffled(product([Path(STAGING), *sorted(paths)], DAMAGES), self.seed)
        self.unhurt = whole_of(WORK, self.root / "unhurt")

    def case(self, number: int, chance: random.Random, folder: Path) -> Iterable[str]:
        file, name = self.cases[number % len(self.cases)]
        root = folder / "warehouse"
        place = folder / "place"
        if file.name == STAGING:
            self.damage_checkpoint(root, name, chance)
            return [f"{name} parts of builds"]
        place.mkdir()
        copy_warehouse(self.whole, root)
        other = other_version(file, self.whole)
        if name == "swapped" and filecmp.cmp(root / file, other, shallow=False):
            return ["files that are the same in other versions"]
        DAMAGES[name](root / file, other, chance)
        if chance.random() < 0.5 and file.name != CATALOG:
            (root / CATALOG).unlink()
        verified, *counted = ask(root, place, COMMANDS[: 1 + len(QUERIES)])
        self.check_verify(verified, file, name)
        for table, answer in zip(QUERIES, counted, strict=True):
            self.check_count(answer, table, file, name)
        ask(root, place, COMMANDS[1 + len(QUERIES) :])
        return [f"{name} files"]

    def damage_checkpoint(self, root: Path, name: str, chance: random.Random) -> None:
        """Damage a file of a killed build: the build must ignore it, and give the same values."""
        process = processes.start(perform, WORK, root, root.with_name("begun"), None, root.with_name("report"))
        wait_for_checkpoint(process.is_alive, warehouse_of(root), chance.randrange(5))
        process.kill()
        process.join()
        parts = [path for path in warehouse_of(root).staging.rglob("*") if path.is_file() and path.suffix != ".lock"]
        part = chance.choice(sorted(parts))
        DAMAGES[name](part, chance.choice(parts), chance)
        code = finish(WORK, root, root.with_name("report"))
        assert code == 0, f"expected the build to end with {part} {name}, found exit code {code}"
        check_end(root, self.unhurt)

    def check_verify(self, answer: Answer, file: Path, damage: str) -> None:
        """Verify must fail and name the file or its version, unless the file is optional and missing."""
        if damage == "removed" and file.name in (CATALOG, LOCK_NAME, CURRENT):
            return
        output = answer.output + answer.error
        assert answer.code == 1, f"expected verify to fail with {file} {damage}, got exit code {answer.code}: {output}"
        names = (str(file), "/".join(file.parts[:3]), file.name if len(file.parts) == 1 else str(file))
        assert any(name in output for name in names), f"expected verify to name {file} {damage}, found {output}"

    def check_count(self, answer: Answer, table: str, file: Path, damage: str) -> None:
        """The query must give all rows, or an error that names the damaged version."""
        output = answer.output + answer.error
        if answer.code == 0:
            assert answer.output == self.counts[table], f"expected all rows of {table}, {file} {damage}; found {output}"
        else:
            named = file.parts[0] if len(file.parts) == 1 else "/".join(file.parts[:2])
            assert named in output, f"expected {file} {damage} to be named by a query of {table}, found {output}"
        if file.name == f"{'table' if table != 'quarantine' else table}.parquet" and damage not in SAME_SIZE:
            is_read = table in (file.parts[0], "quarantine")
            assert (answer.code != 0) == is_read, f"expected {table} alone to fail with {file} {damage}, found {output}"


def make_warehouse(folder: Path) -> Path:
    """Make a warehouse with two variants of a computed and of an imported kind, and a lock; return its folder."""
    warehouse = bgdata.open_warehouse(folder / "whole")
    for points in (2, 3):
        warehouse.build("bearoff_gammon", RaceParameters(points))
    imports = Imports(folder / "imports")
    imports.warehouse = warehouse
    for name in ("one", "two"):
        imports.text("positions", POSITIONS + name.encode() + b"\n", f"{name}.txt")
    save_lock(warehouse.lock, [table.manifest for table in warehouse.versions()])
    return warehouse.root


def copy_warehouse(whole: Path, root: Path) -> Path:
    """A writable copy of a warehouse."""
    shutil.copytree(whole, root, symlinks=True)
    for path in root.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return root


def other_version(file: Path, root: Path) -> Path:
    """The same file of another version of the kind, if any; for the lock the catalog, and the reverse."""
    if len(file.parts) == 1:
        return root / (LOCK_NAME if file.name == CATALOG else CATALOG)
    pattern = "/".join([file.parts[0], *"*" * (len(file.parts) - 2), file.name])
    others = [path for path in root.glob(pattern) if path != root / file]
    return others[0] if others else root / file
