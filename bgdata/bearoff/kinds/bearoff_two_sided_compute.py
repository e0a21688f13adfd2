"""Solves every pair of layouts backwards, by pip count of both sides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from hashlib import sha256

import numpy as np
import pyarrow as pa

from bgdata.bearoff.index import MAX_CHECKERS, layout_count
from bgdata.bearoff.kinds.bearoff_two_sided import (
    DATASET,
    ROW_HASHES,
    TwoSidedParameters,
    column_groups,
    is_large,
    is_rounded,
    keeps_parts,
    stored_type,
)
from bgdata.bearoff.kinds.shared.two_sided_parts import Parts, clear_parts
from bgdata.bearoff.kinds.shared.two_sided_repair import repair_rows
from bgdata.bearoff.layouts import all_layouts
from bgdata.bearoff.plays import Plays, all_plays
from bgdata.bearoff.race import NON_DOUBLES, ROLL_COUNT
from bgdata.bearoff.slots import Slots, all_slots
from bgdata.bearoff.tables import TwoSidedTable, equity_limit
from bgdata.bearoff.two_sided import COLUMNS, Window, release, solve_batch, start_window
from bgdata.bearoff.two_sided_rows import (
    LayersInMemory,
    Scale,
    finished_layers,
    first_row,
    layer_rows,
)
from bgdata.errors import CheckFailedError, CorruptFileError, DigestMismatchError
from bgdata.kinds.column_values import dictionary_column
from bgdata.store.arrays import Array, ArrayWriter, damaged_rows, map_array
from bgdata.store.dataset import Build, Computation, Computed, Recheck, drawn_text
from bgdata.store.job import Job
from bgdata.store.progress import Progress
from bgdata.store.table import Table

BATCH_PAIRS = 4096  # that a check recomputes at a time, with some hundred plays each
ROUNDED_GROUP_ROWS = 491_520  # of Parquet: each group has every value once, up to 65,536 of them


def equities_of_codes(checkers: int) -> Array:
    """float32[65536]: the equity of each 16-bit code, rounded once."""
    limit = equity_limit(checkers)
    equities: Array = (np.arange(1 << 16) * (limit / 32767.5) - limit).astype(np.float32)
    return equities


def error_bound(points: int, checkers: int) -> float:
    """Largest error of any stored equity: the recursion's rounding, and half a step of a 16-bit code.

    The first part is an upper envelope of the difference between the float32 recursion and the same one in float64,
    measured on every size up to 6x9 that the tests solve: it grows with the length of the game.
    """
    recursion = 1e-6 + 1e-8 * points * checkers
    return equity_limit(checkers) * (recursion + is_rounded(points, checkers) / 65535.0)


def write_rows(writers: Sequence[ArrayWriter], rows: Iterable[tuple[int, Array]]) -> None:
    """Write rows, and their SHA-256 to the second writer if there is one."""
    for index, row in rows:
        writers[0].write(index, row[None])
        for hashes in writers[1:]:
            hashes.write(index, np.frombuffer(sha256(row.data.cast("B")).digest(), np.uint8)[None])


def solve_in_memory(parameters: TwoSidedParameters, job: Job, scale: Scale, rows: Sequence[ArrayWriter]) -> None:
    """Solve all columns together. Nothing is kept of a build that is killed: it took less than a checkpoint's time."""
    window = start_window(parameters.points, parameters.checkers)
    layers = LayersInMemory(window, scale)
    write_rows(rows, [(0, first_row(window, scale))])
    batches = window.batches()
    job.progress.start(job.title, pairs_in(window.slots, batches), "pairs")
    for totals in batches:
        for solved in solve_batch(window, totals):
            layers.put(solved)
            job.progress.advance(len(solved.values) // len(COLUMNS))
        for layer in finished_layers(window.slots, totals):
            write_rows(rows, layer_rows(window, layer, [(0, layers.take(layer))], scale))
        release(window, totals.stop)


def solve_in_parts(parameters: TwoSidedParameters, job: Job, scale: Scale, rows: Sequence[ArrayWriter]) -> None:
    """Solve one group of columns after the other; what is solved goes to files while the next pairs are solved, and a
    killed build goes on after the last whole batch."""
    groups = column_groups(parameters)
    slots = all_slots(parameters.points, parameters.checkers)
    with Parts(job, scale, groups) as parts:
        done = parts.done()
        if not done:
            clear_parts(job)
        first = 0  # batch of a group
        for group, columns in enumerate(groups):
            window = start_window(parameters.points, parameters.checkers, columns, slots=slots)
            batches = window.batches()
            if group == 0:
                job.progress.start(job.title, pairs_in(slots, batches) * len(groups), "pairs")
                parts.write(write_rows, rows, [(0, first_row(window, scale))])
                if done:
                    job.progress.note(f"going on with {job.title} after step {done} of {len(batches) * len(groups)}")
            skipped = min(max(done - first, 0), len(batches))
            job.progress.advance(pairs_in(slots, batches[:skipped]))
            if 0 < skipped < len(batches):
                parts.restore(window, done, first)
            for n in range(skipped, len(batches)):
                totals = batches[n]
                for solved in solve_batch(window, totals):
                    parts.put(window, group, solved)
                    job.progress.advance(len(solved.values) // len(columns))
                finished = finished_layers(slots, totals) if group == len(groups) - 1 else range(0)
                for layer in finished:
                    parts.write(write_layer, parts, window, layer, groups, scale, rows)
                parts.seal(first + n + 1)
                parts.drop(finished)
                release(window, totals.stop)
            first += len(batches)
        parts.finish()


def write_layer(
    parts: Parts,
    window: Window,
    layer: int,
    groups: Sequence[tuple[int, ...]],
    scale: Scale,
    rows: Sequence[ArrayWriter],
) -> None:
    """Write the rows of a layer of which all pairs are solved."""
    found = [(columns[0], parts.take(window, group, layer)) for group, columns in enumerate(groups)]
    write_rows(rows, layer_rows(window, layer, found, scale))


def check_kept_rows(job: Job) -> None:
    """Raise DigestMismatchError, and keep nothing, where rows of a resumed build are not as they were written."""
    equities, hashes = (map_array(job.folder / f"{name}.npy") for name in ("equities", ROW_HASHES))
    wrong = damaged_rows(equities, hashes)
    if wrong:
        clear_parts(job)
        raise DigestMismatchError(
            f"expected the rows of {job.title} as they were written before the build went on, found {len(wrong):,} "
            "changed; the same command begins anew"
        )


def pairs_in(slots: Slots, batches: Sequence[range]) -> int:
    """Number of pairs with the totals of some batches."""
    return sum(slots.pairs_of(total) for totals in batches for total in totals)


def row_groups(equities: Array, begin: int, end: int) -> Iterator[Array]:
    """The players on roll from `begin` to before `end`, as int32 indexes, those of one row group at a time."""
    most = ROUNDED_GROUP_ROWS if equities.dtype == np.uint16 else DATASET.row_group_rows
    step = max(1, most // len(equities))
    for start in range(begin, end, step):
        yield np.arange(start, min(end, start + step), dtype=np.int32)


def equity_batch(equities: Array, rows: Array, shown: Array) -> pa.RecordBatch:
    """The columns of `table.parquet` for some players on roll in a row, each against everybody. `equities` are those of
    all, as they are stored: as they are, or codes, of which `shown` are the equities."""
    count, is_coded = len(equities), equities.dtype == np.uint16
    values = equities[rows[0] : rows[-1] + 1].reshape(-1, len(COLUMNS))
    found = [np.ascontiguousarray(values[:, n]) for n in range(len(COLUMNS))]
    columns = {
        name: dictionary_column(each, shown) if is_coded else each for name, each in zip(COLUMNS, found, strict=True)
    }
    opponents = np.arange(count, dtype=np.int32)
    return pa.record_batch(
        {"on_roll_index": np.repeat(rows, count), "opponent_index": np.tile(opponents, len(rows)), **columns}
    )


class BearoffTwoSidedComputation(Computation[TwoSidedParameters]):
    """Computation of `bearoff_two_sided`."""

    def compute(self, build: Build[TwoSidedParameters]) -> None:
        parameters, job = build.parameters, build.job
        scale = Scale(stored_type(parameters), equity_limit(parameters.checkers))
        count = layout_count(parameters.points, parameters.checkers)
        shape = (count, count, len(COLUMNS))
        is_resumed = job.keeps and any(job.folder.glob("checkpoint-*"))
        has_parts = job.keeps and (is_resumed or keeps_parts(parameters))
        with job.create("equities", scale.dtype, shape, keep=True) as writer, ExitStack() as stack:
            rows: list[ArrayWriter] = [writer]
            if is_large(parameters) or has_parts:
                rows.append(stack.enter_context(job.create(ROW_HASHES, np.uint8, (count, 32), keep=True)))
            if has_parts:
                try:
                    solve_in_parts(parameters, job, scale, rows)
                except (CorruptFileError, DigestMismatchError) as error:
                    job.progress.note(f"{error}; what was kept is damaged, and the build begins anew")
                    clear_parts(job)
                    solve_in_parts(parameters, job, scale, rows)
            else:
                solve_in_memory(parameters, job, scale, rows)
        if is_resumed:
            check_kept_rows(job)
        if has_parts and not is_large(parameters):  # no part of the version
            (job.folder / f"{ROW_HASHES}.npy").unlink()

    def batches(self, computed: Computed[TwoSidedParameters]) -> Iterator[pa.RecordBatch]:
        equities = computed.arrays["equities"]
        shown = equities_of_codes(computed.parameters.checkers)
        for rows in row_groups(equities, 0, len(equities)):
            yield equity_batch(equities, rows, shown)

    def statistics(self, computed: Computed[TwoSidedParameters]) -> Mapping[str, float]:
        parameters = computed.parameters
        bound = error_bound(parameters.points, parameters.checkers)
        return {"equity_limit": equity_limit(parameters.checkers)} | {f"{name}_error_bound": bound for name in COLUMNS}

    def repair(self, parameters: TwoSidedParameters, table: Table, progress: Progress) -> int | None:
        return repair_rows(parameters, table, progress) if is_large(parameters) else None

    def check_sample(self, recheck: Recheck[TwoSidedParameters]) -> str:
        rows = recheck.rows
        reader = TwoSidedTable(recheck.table)
        plays, layouts = all_plays(reader.points, reader.checkers), all_layouts(reader.points, reader.checkers)
        pairs = recheck.generator.integers(1, len(layouts), (rows, 2))
        # one opponent after the other: what plays lead to is in one row of the table
        for batch in np.array_split(pairs[np.argsort(pairs[:, 1], kind="stable")], -(-rows // BATCH_PAIRS)):
            check_pairs(reader, plays, layouts, batch)
        bound = 3 * error_bound(reader.points, reader.checkers)
        return f"{drawn_text(rows, recheck.table.manifest.rows)}, if its error is above {bound:.2g}"


def check_pairs(reader: TwoSidedTable, plays: Plays, layouts: Array, pairs: Array) -> None:
    """Recompute int64[n, 2] pairs (on roll, opponent) from the pairs that their plays lead to; raises CheckFailedError
    naming the worst.

    The value of doubling counts an error of the table twice, and the row itself has another error.
    """
    on_roll, opponent = pairs.T
    rolls = (on_roll[:, None] * ROLL_COUNT + np.arange(ROLL_COUNT)).ravel()
    counts = plays.start[rolls + 1] - plays.start[rolls]
    begins = np.cumsum(counts) - counts  # of the plays of each roll of each pair
    results = plays.results[np.repeat(plays.start[rolls] - begins, counts) + np.arange(counts.sum())]
    opponents = np.repeat(np.repeat(opponent, ROLL_COUNT), counts)
    theirs = reader.probe_many(opponents, results).astype(np.float32)
    over = np.flatnonzero(results == 0)
    is_gammon = (reader.limit == 2.0) & (layouts[opponents[over]].sum(axis=1) == MAX_CHECKERS)
    theirs[over] = np.where(is_gammon, -2.0, -1.0)[:, None]
    cubeless, owned, centered, opponent_owned = theirs.T
    doubled = np.minimum(2 * opponent_owned, 1)
    worth = [cubeless, opponent_owned, np.maximum(centered, doubled), np.maximum(owned, doubled)]
    weights = np.where(np.arange(ROLL_COUNT) < NON_DOUBLES, 2, 1) / 36
    totals = np.stack([-np.minimum.reduceat(each, begins).reshape(-1, ROLL_COUNT) @ weights for each in worth], axis=1)
    off_by = np.abs(totals - reader.probe_many(on_roll, opponent))
    bound = 3 * error_bound(reader.points, reader.checkers)
    if not off_by.max() <= bound:  # NaN neither
        worst, column = np.unravel_index(off_by.argmax(), off_by.shape)
        raise CheckFailedError(
            f"expected {COLUMNS[column]} of position {on_roll[worst]} against {opponent[worst]} in {reader.table.name} "
            f"to follow from its plays within {bound:.2g}, found it off by {off_by.max():.3g}"
        )


COMPUTATION = BearoffTwoSidedComputation
