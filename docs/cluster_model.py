"""How long 100 million games take on a cluster, by a simulation with measured costs: `python -m docs.cluster_model`.

The coordinator, which runs the command, does everything that is not played: it asks for shards, takes them in one by
one as they are finished, and writes a part of a version when all of its shards are there. Workers have nothing to do
meanwhile, because the next part begins when the last one is written.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import NamedTuple

GAMES = 100_000_000
PART_GAMES = 100_000
WORKERS = (1, 2, 4, 8, 100, 1000)


class Costs(NamedTuple):
    """Seconds of one core, and bytes, of shards of so many games or positions."""

    shard_items: int
    worker_seconds: float  # to compute a shard
    receive_seconds: float  # to receive a shard: its hash is checked, and it is written and read
    write_seconds: float  # to write 1,000 items of a part: arrays, hashes, Parquet, checks
    shard_bytes: int


def part_seconds(costs: Costs, workers: int, items: int) -> float:
    """From the first shard that is asked for until a part is written."""
    shards = -(-items // costs.shard_items)
    idle = [0.0] * min(workers, shards)  # when each worker has nothing to do, the next one first
    finished = []
    for _ in range(shards):
        end = heapq.heappop(idle) + costs.worker_seconds
        heapq.heappush(idle, end)
        finished.append(end)
    now = 0.0
    for end in sorted(finished):
        now = max(now, end) + costs.receive_seconds
    return now + costs.write_seconds * items / 1000


def hours(costs: Costs, workers: int, commands: int = 1, games: int = GAMES) -> float:
    """Of all games, in so many commands side by side that have as many workers each."""
    each = -(-games // commands)
    return -(-each // PART_GAMES) * part_seconds(costs, -(-workers // commands), min(each, PART_GAMES)) / 3600


def rows(plain: Costs, lucky: Costs) -> Iterator[str]:
    """The table of the page."""
    yield "| workers | without luck, one command | in 100 commands | with luck, one command | in 100 commands |"
    yield "| - | - | - | - | - |"
    for workers in WORKERS:
        found = [
            f"{hours(costs, workers, commands):,.2f} h" if workers >= commands else ""
            for costs in (plain, lucky)
            for commands in (1, 100)
        ]
        yield f"| {workers:,} | {' | '.join(found)} |"


PLAIN = Costs(1000, 0.92, 0.006, 0.15, 2_740_000)
LUCKY = Costs(50, 0.28, 0.001, 0.15, 137_000)

if __name__ == "__main__":
    print("\n".join(rows(PLAIN, LUCKY)))
