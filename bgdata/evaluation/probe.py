"""The values of the bearoff tables of a warehouse for a position, as rows of data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from math import isclose
from typing import Any

import numpy as np

from bgdata.bearoff.index import MAX_CHECKERS
from bgdata.bearoff.remote import open_pairs
from bgdata.bearoff.tables import Equities, RaceTable, TwoSidedTable, mean_excess
from bgdata.endgames.tables import EndgameTable
from bgdata.errors import BgdataError, InvalidPositionError, NotCoveredError
from bgdata.game.classes import check_in_progress
from bgdata.game.position import Position
from bgdata.store.table import Table
from bgdata.store.versions import Versions

COLUMNS = (  # columns of a probe as data
    *("position_id", "source", "method", "error_bound", "win", "win_gammon", "lose_gammon"),
    *("cubeless", "corrected", "owned", "centered", "opponent_owned", "cube_action"),
    *("mean_rolls", "sd_rolls", "opponent_mean_rolls", "opponent_sd_rolls"),
)

MIN_CORRECTED = 5  # checkers of a side: with fewer, combining without correction is more accurate

ProbeRow = dict[str, Any]
Tables = Callable[[str], Sequence[Table]]  # from a kind to its tables, smallest first: see `current_tables`


def checker_rows(position: Position) -> tuple[list[int], list[int]]:
    """Count the checkers of the player on roll and of the opponent on points 1 to 24 and the bar. Raises
    InvalidPositionError if the position is invalid."""
    opponent, on_roll = (list(row) for row in check_in_progress(position).rows)
    return on_roll, opponent


def current_tables(warehouse: Versions, kind: str) -> list[Table]:
    """The current tables of a kind in the warehouse, those with the fewest rows first."""
    return sorted(warehouse.current(kind), key=lambda table: table.manifest.rows)


def exact_rows(tables: Tables, on_roll: list[int], opponent: list[int]) -> Iterator[ProbeRow]:
    """Look up a position in each two-sided and contact endgame table that covers it, the smallest first. Yields rows
    with equities and the right cube action. `on_roll` and `opponent` are counts by point, from `checker_rows`."""
    bearoffs = map(open_pairs, tables("bearoff_two_sided"))
    endgames = map(EndgameTable, tables("contact_endgame"))
    for reader in chain[TwoSidedTable | EndgameTable](bearoffs, endgames):
        try:
            equities = reader.probe(on_roll, opponent)
        except (NotCoveredError, InvalidPositionError):
            continue
        has_gammons = isinstance(reader, TwoSidedTable) and reader.limit > 1
        yield {
            "source": reader.table.name,
            "method": "exact",
            "error_bound": reader.table.manifest.statistics["cubeless_error_bound"],
            "win": None if has_gammons else (equities.cubeless + 1) / 2,
            **equities._asdict(),
            "cube_action": cube_action(equities.centered, equities).partition(":")[0],
            "equities": equities,
        }


def one_sided_rows(tables: Tables, on_roll: list[int], opponent: list[int]) -> Iterator[ProbeRow]:
    """Look up a position in each one-sided table that covers both sides, the smallest first. Yields rows with the rolls
    that each side needs, and the combined chances."""
    for table in tables("bearoff_one_sided"):
        reader = RaceTable(table)
        try:
            chances = [reader.probe_chances(row) for row in (on_roll, opponent)]
        except (NotCoveredError, InvalidPositionError):
            continue
        means = [float(reader.probe_mean_rolls(row)) for row in (on_roll, opponent)]
        sds = [float(reader.probe_sd_rolls(row)) for row in (on_roll, opponent)]
        win = off_first(*chances)
        gammons = gammon_chances(tables, on_roll, opponent, *chances)
        more = gammons.get("win_gammon", 0.0) - gammons.get("lose_gammon", 0.0)
        raced = 2 * win - 1
        equities = {"cubeless": raced + more}
        if max(sum(on_roll), sum(opponent)) >= MIN_CORRECTED:  # subtract the mean excess of the leader
            excess = mean_excess(raced, reader.probe_wastage(on_roll), reader.probe_wastage(opponent))
            equities["corrected"] = raced - excess + more
        yield {
            "source": table.name,
            "method": "combined",
            **dict(zip(("mean_rolls", "opponent_mean_rolls"), means, strict=True)),
            **dict(zip(("sd_rolls", "opponent_sd_rolls"), sds, strict=True)),
            "win": win,
            **equities,
            **gammons,
        }


def gammon_chances(
    tables: Tables, on_roll: list[int], opponent: list[int], ours: np.ndarray, theirs: np.ndarray
) -> ProbeRow:
    """Compute the approximate gammon chances against each side that still has all 15 checkers, and return them with the
    name of the gammon table. `ours` and `theirs` are the chances that each side needs 0, 1, ... rolls to bear off."""
    if MAX_CHECKERS not in (sum(on_roll), sum(opponent)):
        return {}
    for table in tables("bearoff_gammon"):
        reader, found = RaceTable(table), ProbeRow()
        try:
            if sum(opponent) == MAX_CHECKERS:
                found["win_gammon"] = off_first(ours, reader.probe_chances(opponent))
            if sum(on_roll) == MAX_CHECKERS:
                found["lose_gammon"] = 1 - off_first(reader.probe_chances(on_roll), theirs)
        except (NotCoveredError, BgdataError):
            continue
        return found | {"gammon_source": table.name}
    return {}


def cube_action(no_double: float, equities: Equities, verb: str = "double") -> str:
    """Return the right cube action, with the equity after a double. `no_double` is the equity without a double, and
    `verb` is "double" or "redouble". If two actions have equal equities, the player doubles, as in gnubg."""
    doubled = min(2 * equities.opponent_owned, 1.0)
    if doubled < no_double and not isclose(doubled, no_double, abs_tol=1e-9):
        return "too good to double" if no_double > 1 else f"no {verb}"
    return f"{verb}, {'pass' if 2 * equities.opponent_owned >= 1 else 'take'}: {doubled:+.6f}"


def off_first(first: np.ndarray, second: np.ndarray) -> float:
    """The chance that the side that rolls first needs no more rolls than the other side. `first` and `second` are the
    chances that each side needs 0, 1, ... rolls."""
    tail = second[::-1].cumsum()[::-1]
    length = min(len(first), len(tail))
    return min(float(first[:length] @ tail[:length]), 1.0)  # limited because tables contain rounded chances


def probe_rows(position: Position, found: Iterable[ProbeRow]) -> Iterator[ProbeRow]:
    """Give all rows `found` about a position the columns COLUMNS, with None for missing values."""
    first = {"position_id": position.id}
    return ({name: (row | first).get(name) for name in COLUMNS} for row in found)
