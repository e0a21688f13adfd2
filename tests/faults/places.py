"""Moved or incomplete warehouses: missing parts, copies, odd folder names, foreign links, and too little memory.

No query loses rows or reads another warehouse, and nothing is written outside.
"""

import random
import re
import resource
import shutil
from collections.abc import Iterable
from pathlib import Path

import duckdb
import pytest

import bgdata
from bgdata.process import data_segment_bytes
from bgdata.store.storage import remove_folder
from bgdata.store.versions import CATALOG
from tests.faults.asking import HANG_SECONDS, Answer, ask, run_commands
from tests.faults.campaign import Campaign
from tests.faults.damage import QUERIES, copy_warehouse, make_warehouse
from tests.store import processes
from tests.store.toy import GONE, whole_versions

VERIFY = ["verify", "--sample", "0"]
READ = [*QUERIES.values(), ["list"], VERIFY]
HIVE = ["variant", "dataset", "position_id", "class", "board", "chances", "line", "source", "run", "points"]
WRITE = [
    ["build", "bearoff_gammon", "--points", "2"],
    ["build", "bearoff_gammon", "--points", "1"],
    ["rebuild", "bearoff_gammon/2x15"],
    ["verify", "--repair", "--sample", "0"],
    ["gc", "--yes", "--damaged"],
    ["catalog"],
    ["lock"],
]


class Places(Campaign):
    """Each case is one such warehouse, with the sorts in turn."""

    name = "places"
    small = 12
    full = 120

    def prepare(self) -> None:
        self.whole = make_warehouse(self.root)
        place = self.root / "place"
        place.mkdir()
        answers = ask(self.whole, place, READ)
        assert [answer.code for answer in answers] == [0] * len(READ), f"expected no error, found {answers}"
        self.counts = [answer.output for answer in answers[: len(QUERIES)]]

    def case(self, number: int, chance: random.Random, folder: Path) -> Iterable[str]:
        sorts = (self.missing, self.moved, self.hive, self.links, self.memory)
        sort = sorts[number % len(sorts)]
        (folder / "place").mkdir()
        sort(chance, folder)
        return [f"{sort.__name__} cases"]

    def missing(self, chance: random.Random, folder: Path) -> None:
        """A version, or a variant on another disk, is missing: errors name it, and no query loses rows."""
        root = copy_warehouse(self.whole, folder / "warehouse")
        ask(root, folder / "place", [["catalog"]])
        version = chance.choice(sorted(root.glob("*/*/r*-*")))
        how = chance.choice(list(GONE))
        GONE[how](version)
        *counted, listed, verified = ask(root, folder / "place", READ)
        name = "/".join(version.parts[-3:-1])
        for table, answer, count in zip(QUERIES, counted, self.counts, strict=True):
            check_count(answer, count, name, is_read=table in read_of(version))
        for answer in (listed, verified):
            assert name in answer.output + answer.error, f"expected {answer.arguments} to name {name}, {how}"
        assert verified.code == 1, f"expected verify to fail with {name} {how}, found {verified.output}"

    def moved(self, chance: random.Random, folder: Path) -> None:
        """A copied or moved warehouse: a plain client gets an error, and bgdata works."""
        original = copy_warehouse(self.whole, folder / "original")
        ask(original, folder / "place", [["catalog"]])
        root = folder / "copy"
        (shutil.move if chance.random() < 0.5 else shutil.copytree)(original, root)
        if original.exists():
            remove_folder(root / "positions")  # so that both would answer, and not the same
            with duckdb.connect() as client:
                client.execute(f"attach '{root / CATALOG}' as copy (read_only)")
                check_refused(client, "copy.positions", root)
        else:
            with duckdb.connect(str(root / CATALOG), read_only=True) as client:
                check_refused(client, "positions", original)
        if (root / "positions").exists():
            check_counts(ask(root, folder / "place", READ[: len(QUERIES)]), self.counts)

    def hive(self, chance: random.Random, folder: Path) -> None:
        """Parent folders have names of Hive partitions, which must not become columns."""
        parts = [f"{chance.choice(HIVE)}={chance.choice(['7', 'race', 'true', '2020-01-01', ''])}" for _ in range(2)]
        root = copy_warehouse(self.whole, folder.joinpath(*parts, "warehouse"))
        *counted, _, verified = ask(root, folder / "place", READ)
        check_counts(counted, self.counts)
        assert verified.code == 0, f"expected verify to pass in {parts}, found {verified.error}"
        columns = "select * from {} order by all limit 5"
        for table in QUERIES:
            with bgdata.open_warehouse(root).connect() as one, bgdata.open_warehouse(self.whole).connect() as other:
                found, expected = (each.sql(columns.format(table)).fetchall() for each in (one, other))
            assert found == expected, f"expected the same rows of {table} in {parts}"

    def links(self, chance: random.Random, folder: Path) -> None:
        """A foreign warehouse with links to files outside: nothing is written or deleted there."""
        owned = copy_warehouse(self.whole, folder / "owned")
        root = copy_warehouse(self.whole, folder / "warehouse")
        level = chance.choice(["bearoff_gammon", "bearoff_gammon/2x15", "bearoff_gammon/2x15/*", ".staging", "build"])
        if level == "build":
            name = f"bearoff_gammon-2x15-{chance.randbytes(6).hex()}-{chance.randbytes(6).hex()}"
            target = owned / f".{name}"
            target.mkdir()
            (target / "key").write_text("")
            (root / ".staging" / name).symlink_to(target)
        else:
            target = next(iter(sorted(owned.glob(level)))) if level != ".staging" else owned / "positions"
            link = root / (target.relative_to(owned) if level != ".staging" else level)
            remove_folder(link)
            link.symlink_to(target)
        before = state_of(owned)
        ask(root, folder / "place", [*READ, *WRITE])
        after = state_of(owned)
        assert after == before, f"expected nothing to be written by a link {level}, found {set(before) ^ set(after)}"

    def memory(self, chance: random.Random, folder: Path) -> None:
        """A repair with too little memory: every version stays valid, even if it fails."""
        root = copy_warehouse(self.whole, folder / "warehouse")
        names = whole_versions(bgdata.open_warehouse(root))
        answers_file = folder / "answers"
        command = [["verify", "--repair", "--sample", "0"]]
        process = processes.start(starve, root, folder / "place", command, answers_file, chance.randrange(1, 400) << 20)
        process.join(HANG_SECONDS)
        assert process.exitcode is not None, "expected an end, found that it hangs"
        assert whole_versions(bgdata.open_warehouse(root)) == names, "expected all versions to be where they were"
        assert not list(root.glob(".staging/damaged-*")), "expected nothing to be set aside"
        check_counts(ask(root, folder / "place", READ[: len(QUERIES)]), self.counts)


def read_of(version: Path) -> set[str]:
    """The tables with rows of a version; imports have a quarantine too."""
    kind = version.parts[-3]
    return {kind, "quarantine"} if bgdata.all_kinds()[kind].takes_files else {kind}


def check_count(answer: Answer, count: str, name: str, *, is_read: bool) -> None:
    """Check for all rows, or, if the table has rows of the missing version, an error that names it."""
    assert (answer.code != 0) == is_read, f"expected an error where {name} is read alone, found {answer}"
    assert answer.output == count if not is_read else name in answer.error, f"expected {name} named, found {answer}"


def check_counts(answers: Iterable[Answer], counts: Iterable[str]) -> None:
    """Check that answers have the same counts as in the complete warehouse."""
    for answer, count in zip(answers, counts, strict=True):
        assert (answer.code, answer.output) == (0, count), f"expected {count}, found {answer}"


def check_refused(client: duckdb.DuckDBPyConnection, table: str, place: Path) -> None:
    """Check that a plain client gets an error that names a folder."""
    with pytest.raises(duckdb.Error, match=re.escape(str(place))):
        client.sql(f"select count(*) from {table}").fetchall()


def state_of(root: Path) -> dict[str, tuple[int, int, bytes]]:
    """(mode, time of change, content) of every file below a folder."""
    return {
        str(path): (path.lstat().st_mode, path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in root.rglob("*")
    }


def starve(root: Path, place: Path, commands: list[list[str]], answers_file: Path, more: int) -> None:
    """In another process: run commands with `more` bytes of additional memory."""
    most = data_segment_bytes() + more
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    run_commands(root, place, commands, answers_file)
