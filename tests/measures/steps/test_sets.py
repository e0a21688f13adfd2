"""Tests of finding and scoring reference positions, and of measuring players' speed."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import bgdata
from bgdata.errors import MissingTableError, UsageError
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.game.plays import legal_plays
from bgdata.game.position import Position
from bgdata.kernel import thread_count, threads
from bgdata.measures.kinds.reference_positions import DATASET as REFERENCE
from bgdata.measures.steps import sets
from bgdata.measures.steps.sets import (
    available_references,
    build_reference_scores,
    find_references,
    positions_per_second,
    spread_evenly,
    workers_text,
)
from bgdata.store.progress import Silence
from bgdata.warehouse import Warehouse
from tests.evaluation.sample_evaluators import Scrambled

SMALLEST = REFERENCE.slug(REFERENCE.smallest)
BOARDS = np.zeros((28, 26), np.int8)


class Clock:
    """A fake evaluator that is also a clock: it takes some seconds to start, and some seconds for each position."""

    def __init__(self, start_seconds: float, position_seconds: float) -> None:
        self.start_seconds, self.position_seconds = start_seconds, position_seconds
        self.now = 0.0
        self.batch_sizes: list[int] = []

    def evaluate_many(self, boards: np.ndarray) -> None:
        """Advance the clock by the seconds that these boards take."""
        self.batch_sizes.append(len(boards))
        self.now += self.start_seconds + self.position_seconds * len(boards)


def measured_speed(clock: Clock, monkeypatch: pytest.MonkeyPatch, boards: np.ndarray = BOARDS) -> float:
    """The speed by the fake clock, in positions per second."""
    monkeypatch.setattr(sets, "perf_counter", lambda: clock.now)
    return positions_per_second(clock, boards)  # type: ignore[arg-type]


@pytest.mark.parametrize(("start_seconds", "position_seconds"), [(0.0, 1e-5), (0.001, 0.001), (1.0, 0.01)])
def test_speed_excludes_the_start(
    monkeypatch: pytest.MonkeyPatch, start_seconds: float, position_seconds: float
) -> None:
    clock = Clock(start_seconds, position_seconds)
    assert measured_speed(clock, monkeypatch) == pytest.approx(1 / position_seconds)
    assert clock.batch_sizes[-3] == clock.batch_sizes[-1] > 28


def test_speed_is_the_median(monkeypatch: pytest.MonkeyPatch) -> None:
    """One slow run, as on a busy machine, does not change the measured speed."""
    clock = Clock(0.0, 0.25)
    delays = iter([0.0] * 3 + [90.0, 0.0])  # two warm-up calls, then three runs
    ask = clock.evaluate_many

    def delayed(boards: np.ndarray) -> None:
        ask(boards)
        clock.now += next(delays)

    clock.evaluate_many = delayed  # type: ignore[method-assign]
    assert measured_speed(clock, monkeypatch) == pytest.approx(4.0)


def test_processes_are_started_before_the_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    """All processes are started before the measurement, which takes seconds and needs a call with several positions."""
    clock = Clock(0.0, 0.001)
    ask = clock.evaluate_many
    started = 0

    def starting(boards: np.ndarray) -> None:
        nonlocal started
        ask(boards)
        clock.now += 2.0 * max(0, min(thread_count(), len(boards)) - started)
        started = max(started, min(thread_count(), len(boards)))

    clock.evaluate_many = starting  # type: ignore[method-assign]
    assert measured_speed(clock, monkeypatch) == pytest.approx(1000)
    assert clock.batch_sizes[-1] > 100


def test_speed_excludes_cached_evaluations() -> None:
    """An evaluator that looks ahead evaluates every run anew, because its cache is cleared."""
    inner = Scrambled()
    player = LookaheadPlayer(inner, 1)
    boards = np.array([play.next_position.board for play in legal_plays(Position("start"), "31")], np.int8)
    sets.seconds_of(player, boards)
    evaluated = inner.n_evaluated
    inner.n_evaluated = 0
    sets.seconds_of(player, boards)
    assert inner.n_evaluated == evaluated
    assert evaluated > 50 * len(boards)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 28, 3024])
def test_spread_rows_are_even(n: int) -> None:
    """Each row occurs once, and any prefix contains a third of each third of the rows, within two."""
    rows = spread_evenly(np.arange(n))
    assert sorted(rows.tolist()) == list(range(n))
    for begin, end in ((0, n // 2), (n // 3, n), (n // 5, n // 4)):
        counts = np.bincount(rows[begin:end] * 3 // n, minlength=3)
        assert np.abs(counts - (end - begin) / 3).max() <= 2


def test_all_positions_are_evaluated_before_any_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """No position is evaluated again before all others were: a program that caches its answers would seem fast."""
    seen: list[int] = []
    clock = Clock(0.0, 0.05)

    def ask(boards: np.ndarray) -> None:
        seen.extend(boards[:, 0].tolist())
        Clock.evaluate_many(clock, boards)

    clock.evaluate_many = ask  # type: ignore[method-assign]
    measured_speed(clock, monkeypatch, np.repeat(np.arange(40, dtype=np.int8)[:, None], 26, axis=1))
    assert len(seen) > 20
    assert len(set(seen[:40])) == min(len(seen), 40)


def test_workers_text_by_player() -> None:
    with threads(1):
        assert workers_text("network/tiny") == "1 thread"
        assert workers_text("gnubg") == "1 process"
    assert workers_text("bgsage") == "threads of its own"


def test_default_references_are_the_largest_set() -> None:
    sizes = {"a": 28, "b": 56, "c": 56}
    tables = [SimpleNamespace(manifest=SimpleNamespace(variant=name, rows=rows)) for name, rows in sizes.items()]
    warehouse = SimpleNamespace(current=lambda _kind: iter(tables), open=lambda *place: place)
    assert find_references(warehouse).manifest.variant == "c"  # type: ignore[arg-type]
    for name in ("a", "reference_positions/a"):
        assert find_references(warehouse, name) == ("reference_positions", "a")  # type: ignore[arg-type]


def test_missing_references_raise(small_root: Path, memory_path: Path) -> None:
    assert [table.manifest.variant for table in available_references(bgdata.open_warehouse(small_root))] == [SMALLEST]
    with pytest.raises(MissingTableError, match=f"no {REFERENCE.name}/none in "):
        find_references(bgdata.open_warehouse(small_root), "none")
    empty = bgdata.open_warehouse(memory_path / "none")
    with pytest.raises(MissingTableError, match=r"expected reference positions in .*, found none; try: bgdata ref"):
        available_references(empty)


def test_reference_scores_are_built_once(warehouse: Warehouse) -> None:
    table = find_references(warehouse)
    built = [build_reference_scores(warehouse, table, "network/tiny", 0, Silence()) for _ in range(2)]
    assert built[0].folder == built[1].folder
    with pytest.raises(UsageError, match="got pubeval, which only chooses plays"):
        build_reference_scores(warehouse, table, "pubeval", 0, Silence())
