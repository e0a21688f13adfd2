"""Sets of decisions: what players choose on them, and players compared on the same decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bgdata.errors import MissingTableError, UsageError
from bgdata.evaluation.player import open_named_player
from bgdata.imports.kinds.gnubg_benchmark import DATASET as IMPORTED
from bgdata.measures.kinds.benchmark_scores import DATASET as SCORES
from bgdata.measures.kinds.benchmark_scores import ROLLED_OUT, ScoreParameters, check_benchmark
from bgdata.store.progress import Progress
from bgdata.store.table import Table
from bgdata.warehouse import Row, Warehouse

RATES = """
select player, ply, player_version, benchmark, benchmark_version, decisions, error_rate, standard_error,
       unlisted_share, best_share
from benchmark_summary
where benchmark || '/' || benchmark_version in (select unnest($sets)) and decisions > 0
order by all
"""
DIFFERENCES = """
select player, ply, benchmark, other_player, other_ply, same_choices, difference,
       standard_error as difference_standard_error, rollout_standard_error
from benchmark_differences
where other_player = $player and other_ply = $ply
      and benchmark || '/' || benchmark_version in (select unnest($sets))
"""
Player = tuple[str, int]  # its name, and how far it looks ahead


def sets_there(warehouse: Warehouse) -> list[Table]:
    """The imported benchmarks and those made here. Raises MissingTableError if there are none."""
    found = [table for kind in (IMPORTED.name, ROLLED_OUT) for table in warehouse.current(kind)]
    if not found:
        raise MissingTableError(
            f"expected a benchmark in {warehouse.root}, found none; try: bgdata build, or "
            "bgdata import gnubg_benchmark contact.bm"
        )
    return found


def open_set(warehouse: Warehouse, text: str) -> Table:
    """The benchmark of this name: KIND/VARIANT, KIND/VARIANT/VERSION, or just the variant if it was imported.

    Raises InvalidParameterError for a table that is not a benchmark, and MissingTableError.
    """
    reference = text if "/" in text else f"{IMPORTED.name}/{text}"
    check_benchmark("/".join(reference.split("/")[:2]))
    return warehouse.open_reference(reference)


def chosen_sets(warehouse: Warehouse, names: Sequence[str], more: Sequence[Table] = ()) -> list[Table]:
    """The named benchmarks, and `more`; without either, all that are there. Raises what `open_set` and `sets_there`
    raise."""
    return [*(open_set(warehouse, name) for name in names), *more] or sets_there(warehouse)


def current_sets(warehouse: Warehouse, names: Sequence[str]) -> list[Table]:
    """The named benchmarks, or all, each once. Raises UsageError for a version that is not the current one, of which
    SQL sees no rows, and what `chosen_sets` raises."""
    found = {table.name: table for table in chosen_sets(warehouse, names)}
    for table in found.values():
        current = warehouse.open(table.manifest.dataset, table.manifest.variant)
        if current.name != table.name:
            raise UsageError(f"expected the current version {current.name}, got {table.name}; try: bgdata use")
    return list(found.values())


def build_benchmark_scores(
    warehouse: Warehouse, sets: Sequence[Table], name: str, ply: int, progress: Progress
) -> list[Table]:
    """What a player chooses on each benchmark, unless that is there. Raises what `open_named_player` and building
    raise."""
    version = open_named_player(name, ply, warehouse).version
    recipes = [ScoreParameters.on(benchmark, name, ply, version) for benchmark in sets]
    return [warehouse.build(SCORES.name, recipe, progress=progress) for recipe in recipes]


def compared_rows(warehouse: Warehouse, sets: Sequence[Table], wanted: Sequence[Player]) -> list[Row]:
    """Rows of `benchmark_summary`, set by set, for the wanted players on current versions of benchmarks, with figures
    of `benchmark_differences` from the first player.

    Without wanted players all that were scored, by their number of sets and their mean error rate on these.
    """
    names = [table.name for table in sets]
    rates = warehouse.rows(RATES, {"sets": names})
    players = list(wanted) or best_first(rates)
    if not players:
        return []
    player, ply = players[0]
    found = warehouse.rows(DIFFERENCES, {"sets": names, "player": player, "ply": ply})
    differences = {(row["benchmark"], row["player"], row["ply"]): row for row in found}
    order = {f"{row.manifest.dataset}/{row.manifest.variant}": place for place, row in enumerate(sets)}
    rows = [
        {**row, **differences.get((row["benchmark"], row["player"], row["ply"]), {})}
        for row in rates
        if player_of(row) in players
    ]
    return sorted(rows, key=lambda row: (order[row["benchmark"]], players.index(player_of(row))))


def player_of(row: Mapping[str, Any]) -> Player:
    """The player that a row is about."""
    return row["player"], row["ply"]


def best_first(rates: Sequence[Row]) -> list[Player]:
    """The players of rows: those with the most sets first, of these the one with the lowest mean error rate."""
    found: dict[Player, list[float]] = {}
    for row in rates:
        found.setdefault(player_of(row), []).append(row["error_rate"])
    return sorted(found, key=lambda player: (-len(found[player]), sum(found[player]) / len(found[player]), player))
