"""`bgdata benchmark`: error rates of a player on imported benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bgdata.commands.imports import import_files
from bgdata.commands.query import run_query
from bgdata.commands.report import progress_bars
from bgdata.datasets._imports import FILE_CLASSES, ClassParameters
from bgdata.datasets.benchmark_scores import ScoreParameters
from bgdata.datasets.gnubg_benchmark import DATASET as BENCHMARK
from bgdata.errors import MissingTableError
from bgdata.evaluation.player import open_player
from bgdata.store.catalog import quoted
from bgdata.store.warehouse import Warehouse

SUMMARY = """
select player, ply, class, decisions, round(error_rate, 6) as error_rate,
       round(error_rate_low, 3) as low, round(error_rate_high, 3) as high,
       round(100 * unlisted_share, 2) as percent_unlisted, round(100 * best_share, 2) as percent_best
from benchmark_summary where player = {player} and ply = {ply} and class in ({classes}) order by class
"""


def score_player(
    warehouse: Warehouse, name: str, ply: int, sets: Sequence[str], files: Sequence[Path], form: str
) -> None:
    """Import the files, score the player on each class and print one line for each.

    Raises UnknownPlayerError, MissingTableError for a class that was not imported, and what imports raise.
    """
    classes = list(sets)
    for path in files:
        parameters = BENCHMARK.parameters_of([path], {})
        import_files(warehouse, BENCHMARK.name, [path], {}, strict=False, force=False)
        classes.append(parameters.position_class)
    chosen = list(dict.fromkeys(classes)) or imported_classes(warehouse)
    player = open_player(name, ply)
    for entry in chosen:
        BENCHMARK.check_parameters(ClassParameters(entry))
        if warehouse.find(BENCHMARK, ClassParameters(entry)) is None:
            raise MissingTableError(
                f"expected gnubg_benchmark/{entry} in {warehouse.root}, found none; "
                f"try: bgdata import gnubg_benchmark {entry}.bm"
            )
    with progress_bars() as progress:
        for entry in chosen:
            warehouse.build("benchmark_scores", ScoreParameters(name, ply, entry, player.version), progress=progress)
    listed = ", ".join(map(quoted, chosen))
    run_query(warehouse, SUMMARY.format(player=quoted(name), ply=ply, classes=listed), form, None)


def imported_classes(warehouse: Warehouse) -> list[str]:
    """The classes whose benchmark was imported. Raises MissingTableError when none was."""
    found = [entry for entry in FILE_CLASSES if warehouse.find(BENCHMARK, ClassParameters(entry))]
    if not found:
        raise MissingTableError(
            f"expected a benchmark in {warehouse.root}, found none; try: bgdata import gnubg_benchmark contact.bm"
        )
    return found
