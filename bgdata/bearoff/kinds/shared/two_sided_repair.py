"""Damaged rows of a large two-sided table, made anew: only what they follow from is solved again."""

from __future__ import annotations

import os
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from bgdata.bearoff.kinds.bearoff_two_sided import (
    ROW_HASHES,
    TwoSidedParameters,
    column_groups,
    pair_count,
    stored_type,
)
from bgdata.bearoff.slots import all_slots
from bgdata.bearoff.tables import equity_limit
from bgdata.bearoff.two_sided import COLUMNS, release, solve_batch, start_window
from bgdata.bearoff.two_sided_rows import Scale, first_row
from bgdata.errors import DigestMismatchError
from bgdata.store.arrays import damaged_rows, map_array, values_digest
from bgdata.store.progress import Progress
from bgdata.store.storage import storage_errors
from bgdata.store.table import Table

MOST_ROWS = 1000  # of which more are damaged, the whole table is built again


def repair_rows(parameters: TwoSidedParameters, table: Table, progress: Progress) -> int | None:
    """Write the damaged rows of a version anew, in place; returns how many, or None where so much is damaged that the
    whole table has to be built again. Raises DigestMismatchError where a row comes out otherwise, and StorageError."""
    path = table.folder / "equities.npy"
    restore_size(table)
    hashes = map_array(table.folder / f"{ROW_HASHES}.npy")
    equities = map_array(path)
    if values_digest({"equities": equities, ROW_HASHES: hashes}) != table.manifest.digest:
        return None
    damaged = damaged_rows(equities, hashes)
    if len(damaged) > MOST_ROWS:
        return None
    start = path.stat().st_size - equities.nbytes
    rows = solved_rows(parameters, damaged, progress) if damaged else {}
    with storage_errors("write", path):
        path.chmod(0o644)
        with path.open("r+b") as file:
            for index, row in rows.items():
                data = row.tobytes()
                if sha256(data).digest() != hashes[index].tobytes():
                    raise DigestMismatchError(f"expected row {index} of {table.name} as its hash says, found another")
                file.seek(start + index * len(data))
                file.write(data)
            file.flush()
            os.fsync(file.fileno())
        path.chmod(0o444)
    return len(damaged)


def restore_size(table: Table) -> None:
    """Give a file of equities that was cut off its size again; what is missing are damaged rows."""
    path = table.folder / "equities.npy"
    (expected,) = (entry.bytes for entry in table.manifest.files if entry.name == path.name)
    if path.stat().st_size != expected:
        with storage_errors("write", path):
            path.chmod(0o644)
            os.truncate(path, expected)


def solved_rows(
    parameters: TwoSidedParameters, indexes: list[int], progress: Progress
) -> dict[int, NDArray[np.generic]]:
    """Stored values of some players on roll against everybody, by index: those pairs are solved that they depend on."""
    slots = all_slots(parameters.points, parameters.checkers)
    slot_of = np.empty_like(slots.order)
    slot_of[slots.order] = np.arange(len(slots.order))
    rows = {int(slot_of[index]): np.empty((len(slots.order), len(COLUMNS)), np.float32) for index in indexes}
    wanted = slots.reachable_from(np.array(list(rows)))
    pips = np.repeat(np.arange(slots.most_pips + 1), np.diff(slots.layer_start))
    highest = int(pips[max(rows)])
    start = slots.layer_start.tolist()
    groups = column_groups(parameters)
    scale = Scale(stored_type(parameters), equity_limit(parameters.checkers))
    progress.start("solving damaged rows", pair_count(parameters) * len(groups), "pairs")
    for columns in groups:
        window = start_window(parameters.points, parameters.checkers, columns, slots=slots)
        for totals in window.batches():
            if totals.start > highest + slots.most_pips:
                break
            for solved in solve_batch(window, totals, wanted):
                progress.advance(len(solved.values) // len(columns))
                for block in solved.blocks:
                    first, size = start[block.on_roll], start[block.opponent + 1] - start[block.opponent]
                    for slot in range(first, start[block.on_roll + 1]):
                        if slot in rows:
                            place = block.place + (slot - first) * size * len(columns)
                            values = solved.values[place : place + size * len(columns)].reshape(size, -1)
                            opponents = slots.order[start[block.opponent] : start[block.opponent + 1]]
                            rows[slot][opponents, columns[0] : columns[-1] + 1] = values
            release(window, totals.stop)
        for slot, row in rows.items():
            row[0] = -2.0 if window.is_full[slot] else -1.0
    found = {int(slots.order[slot]): scale.stored(row.ravel()).reshape(row.shape) for slot, row in rows.items()}
    if 0 in found:
        found[0] = first_row(window, scale)
    return found
