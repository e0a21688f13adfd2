"""How good a network is, as measured: by scores in the warehouse, and by those that come with the package.

The figures of training are those of its last, short test; scores over 40,000 games are far more accurate.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from bgdata.errors import BgdataError, CorruptFileError
from bgdata.evaluation.networks.shipped import SHIPPED
from bgdata.store.table import Table
from bgdata.store.versions import Versions

FILE = "scores.json"  # beside the networks of the package; written by `python -m docs.ship`
GAMES, DECISIONS = "game_scores", "benchmark_scores"  # kinds that measure
PUBEVAL = "pubeval"


class NetworkScore(NamedTuple):
    """A figure of a network at 0-ply, with its standard error and the size of its sample."""

    measure: str  # points_per_game, or error_rate in thousandths of a point a decision
    against: str  # pubeval, or the benchmark KIND/VARIANT
    value: float
    value_error: float
    sample_size: int  # games or decisions
    source_version: str


def best_scores(table: Table, player_version: str, warehouse: Versions | None) -> list[NetworkScore]:
    """The most accurate figure for each opponent and benchmark of a version of a network: measured in the warehouse, or
    shipped with the package. `player_version` is the version of the player, which also depends on its tables."""
    found = shipped_scores(table)
    if warehouse is not None:
        found += scores_in(warehouse, table.folder.parent.name, player_version)
    surest: dict[tuple[str, str], NetworkScore] = {}
    for score in found:
        key = score.measure, score.against
        if key not in surest or score.value_error < surest[key].value_error:
            surest[key] = score
    return list(surest.values())


def scores_in(warehouse: Versions, network: str, player_version: str) -> list[NetworkScore]:
    """The figures of `network/NAME` at 0-ply in a warehouse, on benchmarks as they are now. Damaged versions are
    skipped here; `verify` reports them."""
    found: list[NetworkScore] = []
    for kind in (GAMES, DECISIONS):
        for table in warehouse.versions(kind) if kind in warehouse.kinds else ():
            with suppress(BgdataError, KeyError):
                recipe = table.manifest.parameters
                if (recipe["player"], recipe["ply"], recipe["version"]) == (f"network/{network}", 0, player_version):
                    score = score_of(warehouse, kind, table)
                    found += [score] if score else []
    return found


def score_of(warehouse: Versions, kind: str, table: Table) -> NetworkScore | None:
    """The figure of a version of a kind that measures. None for another opponent than PubEval at 0-ply, for games with
    luck subtracted, and for a benchmark of which there is another current version by now."""
    recipe, figures, rows = table.manifest.parameters, table.manifest.statistics, table.manifest.rows
    if kind == GAMES:
        if (recipe["opponent"], recipe["opponent_ply"]) != (PUBEVAL, 0) or recipe["luck"]:
            return None
        measure, against = "points_per_game", PUBEVAL
    else:
        benchmark = recipe["benchmark"]
        current = warehouse.pointer(benchmark["kind"], benchmark["variant"])
        if current not in (None, benchmark["version"]):
            return None
        measure, against = "error_rate", f"{benchmark['kind']}/{benchmark['variant']}"
    return NetworkScore(measure, against, figures[measure], figures["standard_error"], rows, table.name)


def shipped_scores(table: Table, folder: Path = SHIPPED) -> list[NetworkScore]:
    """The figures that come with the package for this version of a network; empty for any other version."""
    return [NetworkScore(**each) for each in read_file(folder).get(recorded_name(table), ())]


def recorded_name(table: Table) -> str:
    """`KIND/VARIANT/VERSION`, also of a version in the package. Raises ManifestFormatError."""
    return "/".join((table.manifest.dataset, *table.folder.parts[-2:]))


def read_file(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Scores by version `KIND/VARIANT/VERSION`; empty if there is no file. Raises CorruptFileError."""
    path = folder / FILE
    if not path.is_file():
        return {}
    with suppress(ValueError, AttributeError, TypeError):  # UnicodeDecodeError is a ValueError
        found: dict[str, list[dict[str, Any]]] = json.loads(path.read_text())
        if all(set(score) == set(NetworkScore._fields) for scores in found.values() for score in scores):
            return found
    raise CorruptFileError(f"expected scores of networks in {path}, found other content; try: install bgdata again")


def write_file(folder: Path, scores: Mapping[str, Iterable[NetworkScore]]) -> None:
    """Write the file, or delete it if there are no scores."""
    listed = {name: [each._asdict() for each in found] for name, found in sorted(scores.items())}
    kept = {name: found for name, found in listed.items() if found}
    if kept:
        (folder / FILE).write_text(json.dumps(kept, indent=1) + "\n")
    else:
        (folder / FILE).unlink(missing_ok=True)


def accuracy_text(table: Table, scores: Iterable[NetworkScore], name: str) -> str:
    """In one line, how accurate a network is on positions of this class (contact, crashed, race): by its best measured
    scores, or by the figures of its training. Raises ManifestFormatError."""
    games = [score for score in scores if score.measure == "points_per_game"]
    if games:
        (_, _, points, error, size, _), *_ = games
        figure, note = f"{points:+.4f} +/- {error:.4f}", f"({size:,} games, 0-ply)"
    else:
        found = table.manifest.statistics
        figure, note = f"{found['points_per_game']:+.3f} +/- {found['standard_error']:.3f}", "in training"
    text = f"{recorded_name(table)}: {figure} points per game against PubEval {note}"
    # a benchmark is named after its class: rollout_decisions/contact-..., gnubg_benchmark/contact
    classes = [(each, each.against.partition("/")[2].partition("-")[0]) for each in scores]
    rates = [score for score, of_class in classes if score.measure == "error_rate" and of_class == name]
    if rates:
        rate = max(rates, key=lambda each: each.sample_size)
        text += f", error rate {rate.value:.1f} +/- {rate.value_error:.1f} in {rate.sample_size:,} {name} decisions"
    return text
