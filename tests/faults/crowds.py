"""Several processes build equal and different variants at once while others read, without errors or blocking."""

import os
import random
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters
from bgdata.store.catalog import write_catalog
from bgdata.store.parameters import Parameters
from tests.faults.campaign import Campaign
from tests.faults.kills import Slow, check_well, hashes, warehouse_of
from tests.store import processes
from tests.store.toy import Count, whole_versions

MAX_BUILDERS = 4
READERS = 2
VARIANTS: list[tuple[str, Parameters]] = [
    ("squares", Count(24)),
    ("squares", Count(30)),
    ("square_sums", Count(24)),
    ("square_sums", Count(30)),
    ("bearoff_gammon", RaceParameters(3)),
]
TOTALS = {
    "squares": "sum(square)",
    "square_sums": "sum(total)",
    "bearoff_gammon": "sum(position_index)",
}


class Order(NamedTuple):
    """A variant that one builder builds."""

    variant: int
    force: bool


def build_with_others(root: Path, together: Any, orders: list[Order]) -> None:
    """In another process: build some variants in turn, starting at the same moment as others."""
    together.wait()
    for order in orders:
        warehouse_of(root).build(*VARIANTS[order.variant], progress=Slow(), force=order.force)


def read_meanwhile(root: Path, together: Any, expected: dict[tuple[str, str], Any], plain: bool, stop: Path) -> None:
    """In another process: read the totals of all tables until told to stop; each is complete or missing."""
    together.wait()
    asked = 0
    seen = set[tuple[str, str]]()
    while not (stop.exists() and asked):
        found = read_totals(root, plain)
        wrong = {name: total for name, total in found.items() if total != expected[name]}
        assert not wrong, f"expected {expected}, found {wrong}"
        assert seen <= found.keys(), f"expected {seen} still, found {found.keys()}"
        seen |= found.keys()
        asked += 1
        time.sleep(0.01)
    stop.with_name(f"asked-{os.getpid()}").write_text(str(asked))


def read_totals(root: Path, plain: bool) -> dict[tuple[str, str], Any]:
    """The total of each (table, variant), through bgdata or, if `plain`, by any DuckDB client."""
    warehouse = warehouse_of(root)
    with duckdb.connect(str(warehouse.catalog), read_only=True) if plain else warehouse.connect() as connection:
        return {
            (table, variant): total
            for table, query in TOTALS.items()
            for variant, total in connection.sql(f"select variant, {query} from {table} group by variant").fetchall()
        }


class Crowds(Campaign):
    """Each case is a warehouse with some builders, each with some orders, and two readers."""

    name = "crowds"
    small = 3
    full = 31

    def prepare(self) -> None:
        self.whole = warehouse_of(self.root / "whole")
        for kind, parameters in VARIANTS:
            self.whole.build(kind, parameters)
        self.expected = read_totals(self.whole.root, plain=False)

    def case(self, number: int, chance: random.Random, folder: Path) -> Iterable[str]:  # noqa: ARG002
        warehouse = warehouse_of(folder / "warehouse")
        stop = folder / "stop"
        warehouse.root.mkdir()
        write_catalog(warehouse)
        crowd = [
            [Order(chance.randrange(len(VARIANTS)), chance.random() < 0.4) for _ in range(chance.randint(1, 3))]
            for _ in range(chance.randint(2, MAX_BUILDERS))
        ]
        together = processes.barrier(len(crowd) + READERS)
        builders = [processes.start(build_with_others, warehouse.root, together, orders) for orders in crowd]
        readers = [
            processes.start(read_meanwhile, warehouse.root, together, self.expected, bool(reader), stop)
            for reader in range(READERS)
        ]
        for builder in builders:
            builder.join(300)
        stop.touch()
        for reader in readers:
            reader.join(300)
        codes = [process.exitcode for process in (*builders, *readers)]
        assert codes == [0] * len(codes), f"expected everybody to end well, found exit codes {codes}"
        self.check(warehouse.root, {order.variant for orders in crowd for order in orders})
        asked = sum(int(path.read_text()) for path in folder.glob("asked-*"))
        return ["builders"] * len(crowd) + ["builds"] * sum(map(len, crowd)) + ["answers to readers"] * asked

    def check(self, root: Path, variants: set[int]) -> None:
        """At the end: exactly the ordered variants and their inputs, byte for byte, and no other files."""
        wanted = set()
        for name, parameters in (VARIANTS[number] for number in variants):
            kind = self.whole.kind(name)
            inputs = self.whole.find_inputs(kind, parameters) or {}
            wanted |= {table.name for table in (self.whole.find(kind, parameters), *inputs.values()) if table}
        found = whole_versions(warehouse_of(root))
        assert set(found) == wanted, f"expected {wanted}, found {found}"
        files = hashes(self.whole.root)
        assert hashes(root).items() <= files.items(), "expected the same bytes as of builds one by one"
        left = list(warehouse_of(root).staging.iterdir())
        assert left == [], f"expected nothing left, found {left}"
        check_well(root)
