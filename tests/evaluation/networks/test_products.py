"""Integer products as vectors against NumPy's in 64 bits, on processors with and without special instructions."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.evaluation.networks.products import (
    LANES,
    STEP,
    UNITS,
    add_products_1,
    add_products_6,
    add_rows,
    collect_changes,
    count_changes,
    gather_active,
    shift_down,
    weigh_points,
)
from bgdata.kernel import kernel

COUNTS = [1, STEP - 1, STEP, STEP + 1, 3 * STEP, 5 * STEP + 1, 1024, 1000]
Numbers = NDArray[np.int16]
Sums = NDArray[np.int32]


@kernel()
def call_add_rows(weights: Numbers, rows: Numbers, values: Numbers, n: int, before: Sums, sums: Sums) -> None:
    """`add_rows` callable from Python; the functions below do this for other intrinsics."""
    add_rows(weights, rows, values, n, before, sums)


@kernel()
def call_weigh_points(board: NDArray[np.int8], side: int, weights: Numbers, row: int) -> int:
    total: int = weigh_points(board, side, weights, row)
    return total


@kernel()
def call_count_changes(inputs: Numbers, row: int, other: int, begin: int, end: int) -> int:
    n: int = count_changes(inputs, row, other, begin, end)
    return n


@kernel()
def call_collect_changes(before: Numbers, after: Numbers, count: int, rows: Numbers, changes: Numbers) -> int:
    n: int = collect_changes(before, after, count, rows, changes)
    return n


@kernel()
def call_shift_down(numbers: Sums, shift: np.int32, most: np.int32, shifted: Numbers) -> None:
    shift_down(numbers, shift, most, shifted)


@kernel()
def call_gather_active(hidden: Numbers, count: int, active: Numbers, gathered: Numbers) -> int:
    n: int = gather_active(hidden, count, active, gathered)
    return n


@kernel()
def call_add_products(
    lanes: int, weights: Numbers, place: int, units: int, active: Numbers, gathered: Numbers, m: int, sums: Sums
) -> None:
    if lanes == 1:
        add_products_1(weights, place, units, active, gathered, m, sums)
    else:
        add_products_6(weights, place, units, active, gathered, m, sums)


def rounded_up(count: int) -> int:
    """The next multiple of STEP."""
    return -(-count // STEP) * STEP


def random_numbers(generator: np.random.Generator, *shape: int) -> Numbers:
    """Random int16 numbers, including the lowest."""
    numbers = generator.integers(-(1 << 15), 1 << 15, shape).astype(np.int16)
    numbers.flat[0] = -(1 << 15)
    return numbers


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("n", [0, 2, 6])
def test_add_rows_equals_numpy(count: int, n: int) -> None:
    """Modulo 2^32. Units after the last whole vector stay unchanged."""
    generator = np.random.default_rng(count)
    weights = random_numbers(generator, 9 * count)
    before = generator.integers(-1000, 1000, count + 3).astype(np.int32)
    rows = generator.integers(0, 9, n + 1).astype(np.int16)
    values = random_numbers(generator, n + 1)
    sums = np.full(count, 7, np.int32)
    call_add_rows(weights, rows, values, n, before, sums)
    expected = before[:count] + values[:n].astype(np.int64) @ weights.reshape(9, count)[rows[:n]].astype(np.int64)
    in_vectors = count - count % STEP
    assert sums[:in_vectors].tolist() == expected[:in_vectors].astype(np.int32).tolist()
    assert (sums[in_vectors:] == 7).all()


@pytest.mark.parametrize("count", [1, STEP - 1, STEP, 196, 260])
@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_collect_changes_finds_each_changed_item(count: int, share: float) -> None:
    """Once, in order, with its difference. A zero follows them; content beyond is ignored."""
    generator = np.random.default_rng(count)
    before = (random_numbers(generator, rounded_up(count)) // 2).astype(np.int16)
    after = np.where(
        generator.random(rounded_up(count)) < share, random_numbers(generator, rounded_up(count)) // 2, before
    )
    after = after.astype(np.int16)
    after[count:] += 1
    rows, changes = np.full(rounded_up(count) + STEP, 99, np.int16), np.full(rounded_up(count) + STEP, 99, np.int16)
    n = call_collect_changes(before, after, count, rows, changes)
    expected = np.flatnonzero((before != after)[:count])
    assert rows[:n].tolist() == expected.tolist()
    assert changes[:n].tolist() == (after - before)[expected].tolist()
    assert rows[n] == 0
    assert changes[n] == 0
    rows_of_inputs = np.stack([after, before, before + 1])
    for begin in {0, count - count % STEP}:
        assert call_count_changes(rows_of_inputs, 1, 0, begin, count) == (expected >= begin).sum()


def test_weigh_points_sums_over_checkers_of_a_side() -> None:
    """On points 1 to 24, without the bars, up to the largest 16-bit sum."""
    generator = np.random.default_rng(3)
    weights = generator.integers(-40, 40, (4, 25)).astype(np.int16)
    weights[3] = 32767 // 15
    for _ in range(50):
        board = generator.integers(-3, 4, 26).astype(np.int8)
        for side, row in ((1, 0), (-1, 1), (1, 2), (-1, 2)):
            expected = np.maximum(side * board[1:25].astype(int), 0) @ weights[row, 1:]
            assert call_weigh_points(board, side, weights, row) == expected
    board = np.zeros(26, np.int8)
    board[[0, 24, 25]] = -7, 15, 9
    assert call_weigh_points(board, 1, weights, 3) == 15 * (32767 // 15)
    assert call_weigh_points(board, -1, weights, 3) == 0


@pytest.mark.parametrize("shift", [9, 11])
def test_shift_down_rounds_to_the_nearest(shift: int) -> None:
    """Halves up, between 0 and a limit, even if adding half a unit exceeds 32 bits."""
    ends = [-(2**31), -257, -256, -1, 0, 255, 256, 767, 768, 2**21 - 257, 2**21 - 256, 2**31 - 257, 2**31 - 1]
    numbers = np.concatenate([ends, np.random.default_rng(1).integers(-(2**22), 2**24, 3 * STEP)]).astype(np.int32)
    shifted = np.full(len(numbers), -7, np.int16)
    call_shift_down(numbers, np.int32(shift), np.int32(4095), shifted)
    in_vectors = len(numbers) - len(numbers) % STEP
    expected = [min(max((number + (1 << shift - 1)) >> shift, 0), 4095) for number in numbers.tolist()]
    assert shifted[:in_vectors].tolist() == expected[:in_vectors]
    assert (shifted[in_vectors:] == -7).all()


@pytest.mark.parametrize("count", COUNTS)
def test_gather_active_collects_units_that_are_not_zero(count: int) -> None:
    """In some lane; once, in order, with its numbers. Zeros follow them."""
    generator = np.random.default_rng(count)
    hidden = random_numbers(generator, LANES, rounded_up(count))
    hidden[:, generator.random(rounded_up(count)) < 0.6] = 0
    hidden[1:, generator.random(rounded_up(count)) < 0.5] = 0
    active, gathered = (
        np.full(rounded_up(count) + STEP, 99, np.int16),
        np.full((LANES, rounded_up(count) + STEP), 99, np.int16),
    )
    n_active = call_gather_active(hidden, count, active, gathered)
    units = active[:n_active].tolist()
    assert units == sorted(set(units))
    assert set(np.flatnonzero(hidden[:, :count].any(axis=0)).tolist()) <= set(units) <= set(range(count))
    assert gathered[:, :n_active].tolist() == hidden[:, units].tolist()
    assert not active[n_active : n_active + STEP].any()
    assert not gathered[:, n_active : n_active + STEP].any()


@pytest.mark.parametrize("lanes", [1, LANES])
@pytest.mark.parametrize("units", [1, 5, 16, 17, 32, 46, 64, 65, 100])
def test_add_products_equals_numpy(lanes: int, units: int) -> None:
    """From an odd or even number of active units below, or none."""
    generator = np.random.default_rng(units)
    n_below, offset = 70, 7
    width = rounded_up(units)
    weights = random_numbers(generator, offset + n_below * width)
    packed = weights[offset:].reshape(n_below, width // STEP, STEP)
    in_order = np.empty_like(packed)
    in_order[:, :, UNITS] = packed
    sums = np.full((LANES, width), 3, np.int32)
    for active in (generator.permutation(n_below)[:41], np.arange(n_below), np.empty(0, np.int64)):
        n_active = len(active)
        padded, gathered = np.zeros(n_below + STEP, np.int16), np.zeros((LANES, n_below + STEP), np.int16)
        padded[:n_active] = active
        gathered[:, :n_active] = random_numbers(generator, LANES, n_active + 1)[:, :n_active]
        factors = in_order.reshape(n_below, width)[active].astype(np.int64)
        expected = sums.copy()
        expected[:lanes] += (gathered[:lanes, :n_active].astype(np.int64) @ factors).astype(np.int32)
        call_add_products(lanes, weights, offset, units, padded, gathered, n_active, sums)
        assert sums[:lanes, :units].tolist() == expected[:lanes, :units].tolist()
        assert sums[lanes:].tolist() == expected[lanes:].tolist()
        sums[:] = expected


@pytest.mark.parametrize("features", ["", "+sse2,+avx,+avx2", "+sse2,+avx,+avx2,+avx512f,+avx512bw"])
def test_tests_pass_in_code_for_older_processors(features: str) -> None:
    """Code that leaves out some instructions, if this processor can run it."""
    import llvmlite.binding

    host = llvmlite.binding.get_host_cpu_features()
    missing = [name for name in features.replace("+", "").split(",") if name and not host.get(name)]
    if missing or "NUMBA_CPU_FEATURES" in os.environ:
        pytest.skip(f"this processor has no {' '.join(missing)}" if missing else "already in this test")
    env = os.environ | {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": features}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", __file__]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
