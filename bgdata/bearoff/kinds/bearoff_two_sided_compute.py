"""Solves every pair of layouts backwards, by the pip count of both sides."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from hashlib import sha256

import numpy as np
import pyarrow as pa

from bgdata.bearoff import two_sided
from bgdata.bearoff.index import MAX_CHECKERS, layout_count
from bgdata.bearoff.kinds.bearoff_two_sided import COLUMNS, DATASET, ROW_HASHES, TwoSidedParameters, is_rounded
from bgdata.bearoff.kinds.shared.two_sided_parts import Parts, clear_parts
from bgdata.bearoff.layouts import NON_DOUBLES, ROLL_COUNT, Plays, all_layouts, all_plays, all_slots
from bgdata.bearoff.tables import TwoSidedTable, equity_limit
from bgdata.errors import CheckFailedError, CorruptFileError, DigestMismatchError
from bgdata.kinds.column_values import dictionary_column
from bgdata.store.arrays import Array, ArrayWriter, damaged_rows, map_array, values_digest
from bgdata.store.dataset import Build, Computation, Computed, Recheck, drawn_sample_text
from bgdata.store.job import Job
from bgdata.store.progress import Progress
from bgdata.store.storage import storage_errors
from bgdata.store.table import Table

BATCH_PAIRS = 4096  # pairs that a check recomputes at a time, with some hundred plays each
MAX_ROWS = 1000  # if more rows are damaged, the whole table is rebuilt
ROUNDED_GROUP_ROWS = 491_520  # in Parquet: a row group stores each distinct value once, up to 65,536


def error_bound(points: int, checkers: int) -> float:
    """Return the largest error of a stored equity: the error of the recursion, and half a step of a 16-bit code.

    The error of the recursion is the difference between float32 and float64. Its bound is above the difference measured
    for all sizes up to 6x9 that the tests solve, and grows with the length of the game."""
    recursion = 1e-6 + 1e-8 * points * checkers
    return equity_limit(checkers) * (recursion + is_rounded(points, checkers) / 65535.0)


def write_rows(writers: Sequence[ArrayWriter], rows: Iterable[tuple[int, Array]]) -> None:
    """Write rows to the first writer, and their SHA-256 to the second if there is one."""
    for index, row in rows:
        writers[0].write(index, row[None])
        for hashes in writers[1:]:
            hashes.write(index, np.frombuffer(sha256(row.data.cast("B")).digest(), np.uint8)[None])


def solve_in_parts(
    parameters: TwoSidedParameters, job: Job, scale: two_sided.Scale, rows: Sequence[ArrayWriter]
) -> None:
    """Solve a table, one group of columns after another. Values are written to files while the next pairs are solved. A
    build that was killed resumes after its last complete batch."""
    groups = parameters.column_groups
    slots = all_slots(parameters.points, parameters.checkers)
    with closing(Parts(job, scale, groups)) as parts:
        done = parts.count_done()
        if not done:
            clear_parts(job)
        first = 0  # number of the group's first batch
        for group, columns in enumerate(groups):
            window = two_sided.start_window(parameters.points, parameters.checkers, columns, slots=slots)
            batches = window.batches()
            sizes = [sum(map(slots.pairs_of, totals)) for totals in batches]
            if group == 0:
                job.progress.start(job.title, sum(sizes) * len(groups), "pairs")
                parts.write(write_rows, rows, [(0, two_sided.first_row(window, scale))])
                if done:
                    job.progress.note(f"going on with {job.title} after step {done} of {len(batches) * len(groups)}")
            skipped = min(max(done - first, 0), len(batches))
            job.progress.advance(sum(sizes[:skipped]))
            if 0 < skipped < len(batches):
                parts.restore(window, done, first)
            for n in range(skipped, len(batches)):
                totals = batches[n]
                for solved in two_sided.solve_batch(window, totals):
                    parts.write(parts.put, window, group, solved)
                    job.progress.advance(len(solved.values) // len(columns))
                finished = two_sided.finished_layers(slots, totals) if group == len(groups) - 1 else range(0)
                for layer in finished:
                    parts.write(write_rows, rows, parts.rows(window, layer))
                parts.write(parts.seal, first + n + 1)
                parts.write(parts.drop, finished)
                two_sided.release(window, totals.stop)
            first += len(batches)
        parts.finish()


def pair_groups(
    count: int, most: int, ends: tuple[int, int], first: int = 0
) -> Iterator[tuple[Array, dict[str, Array]]]:
    """Yield some players on roll, as int32 numbers, and the two index columns of their pairs with all `count` layouts.
    Together they are the players ends[0] to ends[1] - 1, with up to `most` pairs at a time. `first` is the position
    index of player 0."""
    step, opponents = max(1, most // count), np.arange(first, first + count, dtype=np.int32)
    for start in range(ends[0], ends[1], step):
        rows = np.arange(start, min(ends[1], start + step), dtype=np.int32)
        indexes = {"on_roll_index": np.repeat(rows + np.int32(first), count)}
        yield rows, indexes | {"opponent_index": np.tile(opponents, len(rows))}


def equity_batches(equities: Array, checkers: int, begin: int, end: int) -> Iterator[tuple[Array, pa.RecordBatch]]:
    """Yield the rows of the players on roll begin to end - 1, one row group at a time: the numbers of its players, and
    the columns of `table.parquet`. `equities` are the stored values of all players."""
    is_coded = equities.dtype == np.uint16
    limit = equity_limit(checkers)
    shown = (np.arange(1 << 16) * (limit / 32767.5) - limit).astype(np.float32)  # equity of each code
    most = ROUNDED_GROUP_ROWS if is_coded else DATASET.row_group_rows
    for rows, indexes in pair_groups(len(equities), most, (begin, end)):
        values = equities[rows[0] : rows[-1] + 1].reshape(-1, len(COLUMNS))
        found = {name: np.ascontiguousarray(values[:, n]) for n, name in enumerate(COLUMNS)}
        columns = {name: dictionary_column(each, shown) if is_coded else each for name, each in found.items()}
        yield rows, pa.record_batch({**indexes, **columns})


class BearoffTwoSidedComputation(Computation[TwoSidedParameters]):
    """Computes datasets of the kind `bearoff_two_sided`."""

    def compute(self, build: Build[TwoSidedParameters]) -> None:
        parameters, job = build.parameters, build.job
        scale = two_sided.Scale(parameters.stored_type, equity_limit(parameters.checkers))
        count = layout_count(parameters.points, parameters.checkers)
        shape = (count, count, len(COLUMNS))
        is_resumed = job.keeps and any(job.folder.glob("checkpoint-*"))
        has_parts = job.keeps and (is_resumed or parameters.keeps_parts)
        with job.create("equities", scale.dtype, shape, keep=True) as writer, ExitStack() as stack:
            rows: list[ArrayWriter] = [writer]
            if parameters.is_large or has_parts:
                rows.append(stack.enter_context(job.create(ROW_HASHES, np.uint8, (count, 32), keep=True)))
            if has_parts:
                try:
                    solve_in_parts(parameters, job, scale, rows)
                except (CorruptFileError, DigestMismatchError) as error:
                    job.progress.note(f"{error}; the checkpoint is damaged, and the build starts over")
                    clear_parts(job)
                    solve_in_parts(parameters, job, scale, rows)
            else:  # too short for a checkpoint: after a kill the build starts again
                job.progress.start(job.title, (count - 1) ** 2, "pairs")
                write_rows(rows, two_sided.equity_rows(
                    parameters.points, parameters.checkers, equity_limit(parameters.checkers), scale.dtype,
                    advance=job.progress.advance,
                ))  # fmt: skip
        if is_resumed:
            wrong = damaged_rows(*(map_array(job.folder / f"{name}.npy") for name in ("equities", ROW_HASHES)))
            if wrong:
                clear_parts(job)
                raise DigestMismatchError(
                    f"expected the rows of {job.title} as written before the build resumed, found "
                    f"{len(wrong):,} changed; run the same command to start over"
                )
        if has_parts and not parameters.is_large:  # the parts are not a part of the version
            (job.folder / f"{ROW_HASHES}.npy").unlink()

    def batches(self, computed: Computed[TwoSidedParameters]) -> Iterator[pa.RecordBatch]:
        equities = computed.arrays["equities"]
        for _, batch in equity_batches(equities, computed.parameters.checkers, 0, len(equities)):
            yield batch

    def statistics(self, computed: Computed[TwoSidedParameters]) -> Mapping[str, float]:
        parameters = computed.parameters
        bound = error_bound(parameters.points, parameters.checkers)
        return {"equity_limit": equity_limit(parameters.checkers)} | {f"{name}_error_bound": bound for name in COLUMNS}

    def repair(self, parameters: TwoSidedParameters, table: Table, progress: Progress) -> int | None:
        return repair_rows(parameters, table, progress) if parameters.is_large else None

    def check_sample(self, recheck: Recheck[TwoSidedParameters]) -> str:
        rows = recheck.rows
        reader = TwoSidedTable(recheck.table)
        plays, layouts = all_plays(reader.points, reader.checkers), all_layouts(reader.points, reader.checkers)
        pairs = recheck.generator.integers(1, len(layouts), (rows, 2))
        # sorted by opponent, because the pairs after plays are then in one row of the table
        for batch in np.array_split(pairs[np.argsort(pairs[:, 1], kind="stable")], -(-rows // BATCH_PAIRS)):
            check_pairs(reader, plays, layouts, batch)
        bound = 3 * error_bound(reader.points, reader.checkers)
        return f"{drawn_sample_text(rows, recheck.table.manifest.rows)}, if its error is above {bound:.2g}"


def check_pairs(reader: TwoSidedTable, plays: Plays, layouts: Array, pairs: Array) -> None:
    """Check stored pairs of layouts by recomputing them from the pairs to which their plays lead. `pairs` are position
    indexes (on roll, opponent), int64[n, 2]. Raises CheckFailedError, which names the worst pair, for a difference
    above three times the error bound: doubling counts an error of the table twice, and the checked row has an error
    too."""
    on_roll, opponent = pairs.T
    rolls = (on_roll[:, None] * ROLL_COUNT + np.arange(ROLL_COUNT)).ravel()
    counts = plays.start[rolls + 1] - plays.start[rolls]
    begins = np.cumsum(counts) - counts  # first play of each roll of each pair
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
    if not off_by.max() <= bound:  # also raises for NaN
        worst, column = np.unravel_index(off_by.argmax(), off_by.shape)
        raise CheckFailedError(
            f"expected {COLUMNS[column]} of position {on_roll[worst]} against {opponent[worst]} in {reader.table.name} "
            f"to follow from its plays within {bound:.2g}, found it off by {off_by.max():.3g}"
        )


def repair_rows(parameters: TwoSidedParameters, table: Table, progress: Progress) -> int | None:
    """Rewrite the damaged rows of a version in place. Returns how many rows were damaged, or None if the damage is so
    large that the table must be rebuilt. Raises DigestMismatchError if a new row does not match its hash, and
    StorageError if a file cannot be read or written."""
    path = table.folder / "equities.npy"
    (expected,) = (entry.bytes for entry in table.manifest.files if entry.name == path.name)
    if path.stat().st_size != expected:  # truncated: the missing bytes become damaged rows
        with storage_errors("write", path):
            path.chmod(0o644)
            os.truncate(path, expected)
    hashes = map_array(table.folder / f"{ROW_HASHES}.npy")
    equities = map_array(path)
    if values_digest({"equities": equities, ROW_HASHES: hashes}) != table.manifest.digest:
        return None
    damaged = damaged_rows(equities, hashes)
    if len(damaged) > MAX_ROWS:
        return None
    start = path.stat().st_size - equities.nbytes
    rows = solve_rows(parameters, damaged, progress) if damaged else {}
    with storage_errors("write", path):
        path.chmod(0o644)
        with path.open("r+b") as file:
            for index, row in rows.items():
                data = row.tobytes()
                if sha256(data).digest() != hashes[index].tobytes():
                    raise DigestMismatchError(
                        f"expected row {index} of {table.name} to match its hash, found a different row"
                    )
                file.seek(start + index * len(data))
                file.write(data)
            file.flush()
            os.fsync(file.fileno())
        path.chmod(0o444)
    return len(damaged)


def solve_rows(parameters: TwoSidedParameters, indexes: list[int], progress: Progress) -> dict[int, Array]:
    """Solve the rows of the players on roll with these position indexes, and return them as they are stored. Only the
    pairs that these rows depend on are solved."""
    slots = all_slots(parameters.points, parameters.checkers)
    slot_of = np.argsort(slots.order)
    rows = {int(slot_of[index]): np.empty((len(slots.order), len(COLUMNS)), np.float32) for index in indexes}
    wanted = slots.reachable_from(np.array(list(rows)))
    pips = np.repeat(np.arange(slots.most_pips + 1), np.diff(slots.layer_start))
    highest = int(pips[max(rows)])
    start = slots.layer_start.tolist()
    groups = parameters.column_groups
    scale = two_sided.Scale(parameters.stored_type, equity_limit(parameters.checkers))
    progress.start("solving damaged rows", parameters.pairs * len(groups), "pairs")
    for columns in groups:
        window = two_sided.start_window(parameters.points, parameters.checkers, columns, slots=slots)
        for totals in window.batches():
            if totals.start > highest + slots.most_pips:
                break
            for solved in two_sided.solve_batch(window, totals, wanted):
                progress.advance(len(solved.values) // len(columns))
                for block in solved.blocks:
                    first, size = start[block.on_roll], start[block.opponent + 1] - start[block.opponent]
                    for slot in range(first, start[block.on_roll + 1]):
                        if slot in rows:
                            place = block.place + (slot - first) * size * len(columns)
                            values = solved.values[place : place + size * len(columns)].reshape(size, -1)
                            opponents = slots.order[start[block.opponent] : start[block.opponent + 1]]
                            rows[slot][opponents, columns[0] : columns[-1] + 1] = values
            two_sided.release(window, totals.stop)
        for slot, row in rows.items():
            row[0] = -2.0 if window.is_full[slot] else -1.0
    found = {int(slots.order[slot]): scale.encode(row.ravel()).reshape(row.shape) for slot, row in rows.items()}
    if 0 in found:
        found[0] = two_sided.first_row(window, scale)
    return found


COMPUTATION = BearoffTwoSidedComputation
