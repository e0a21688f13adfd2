"""The simulation of a cluster against sums that are plain, and the page that shows it."""

from pathlib import Path

import pytest

from docs.cluster_model import LUCKY, PLAIN, Costs, hours, part_seconds, rows

PAGE = Path(__file__).parents[1] / "docs" / "how_to" / "run_on_a_cluster.md"
COSTS = Costs(1000, 2.0, 0.5, 1.0, 0)


def test_time_of_a_part_depends_on_the_workers() -> None:
    """One worker computes its shards one after the other. With many, each computes one shard, then all shards are
    received, then the part is written."""
    assert part_seconds(COSTS, 1, 4000) == 4 * 2.0 + 0.5 + 4 * 1.0
    assert part_seconds(COSTS, 2, 4000) == 2 * 2.0 + 2 * 0.5 + 4 * 1.0
    assert part_seconds(COSTS, 1000, 4000) == 2.0 + 4 * 0.5 + 4 * 1.0
    assert part_seconds(COSTS, 3, 500) == 2.0 + 0.5 + 0.5


def test_more_workers_never_take_longer() -> None:
    for costs in (PLAIN, LUCKY):
        hours_by_workers = [hours(costs, workers, games=300_000) for workers in (1, 2, 3, 10, 100, 1000)]
        assert hours_by_workers == sorted(hours_by_workers, reverse=True)
        assert hours_by_workers[-1] * 3600 > 300 * costs.write_seconds
        assert hours(costs, 100, 3, games=300_000) == pytest.approx(hours(costs, 34, games=100_000))


def test_page_shows_the_simulated_times() -> None:
    assert "\n".join(rows(PLAIN, LUCKY)) in PAGE.read_text()
