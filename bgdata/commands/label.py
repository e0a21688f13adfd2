"""`bgdata label`: positions of a table with the chances that an engine gives them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bgdata.commands.referee import table_size
from bgdata.commands.report import print_built, progress_bars
from bgdata.commands.rollout import label_positions as label_by_rollouts
from bgdata.commands.rollout import network_parameters
from bgdata.datasets.bearoff_labels import DATASET as BEAROFFS
from bgdata.datasets.bearoff_labels import BearoffParameters
from bgdata.datasets.common.sources import find_source
from bgdata.datasets.engine_labels import DATASET as ENGINES
from bgdata.datasets.engine_labels import EngineParameters
from bgdata.datasets.lookahead_labels import DATASET as LOOKAHEADS
from bgdata.datasets.lookahead_labels import LookaheadParameters
from bgdata.errors import UsageError, shown
from bgdata.evaluation.bearoff import SIZE
from bgdata.evaluation.lookahead import MOST_PLY
from bgdata.evaluation.player import open_player
from bgdata.store.dataset import Dataset
from bgdata.store.parameters import Parameters
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse

# options of the command line that an engine takes beside those that all take
OPTIONS = {
    "rollout": {"network", "trials", "until", "most_trials", "truncate", "stop", "no_luck", "seed"},
    "lookahead": {"network", "ply", "least_change"},
    "tables": {"pairs", "seed"},
    "gnubg": {"ply"},
    "bgsage": {"ply"},
}
ONE_SIDED = "bearoff_one_sided"


def label_positions(
    warehouse: Warehouse, source: str, engine: str, options: dict[str, Any], given: set[str], form: str
) -> None:
    """Build a table of labels and say what they are like; `given` names the options that are not defaults.

    Raises UsageError for options of another engine, InvalidParameterError, UnknownPlayerError for a program that is
    not installed, and MissingTableError for a source or a network that is not there.
    """
    check_options(engine, given)
    if engine == "rollout":
        label_by_rollouts(warehouse, source, options["network"], options, form)
    elif engine == "tables":
        label_by_tables(warehouse, source, options["pairs"], options["seed"], form)
    elif engine == "lookahead" and options["ply"] in (None, 1):
        label_by_lookahead(warehouse, source, options["network"], options["least_change"], form)
    else:
        label_by_engine(warehouse, source, engine, options, form)


def check_options(engine: str, given: set[str]) -> None:
    """Raise UsageError for an option that the engine does not take."""
    wrong = sorted(given - OPTIONS[engine])
    if wrong:
        known = ", ".join(f"--{name.replace('_', '-')}" for name in sorted(OPTIONS[engine]))
        raise UsageError(f"expected options of --engine {engine}: {known}, got --{wrong[0].replace('_', '-')}")


def label_by_lookahead(warehouse: Warehouse, source: str, network: str, least_change: float, form: str) -> None:
    """lookahead_labels."""
    place, recipe = find_source(warehouse, source)
    parameters = LookaheadParameters(
        source=place,
        **network_parameters(warehouse, network),
        source_recipe=recipe,
        least_change=least_change,
    )
    table = built(warehouse, LOOKAHEADS, parameters)
    found = table.manifest.statistics
    line = f"{table.manifest.rows:,} positions, {found['lookahead']:,.0f} of them looked into"
    if found["lookahead"]:
        line += (
            f": the equity changes by {found['mean_absolute_change']:.4f} on average, at most "
            f"{found['largest_absolute_change']:.4f}"
        )
    print_built(table, [line], form)


def label_by_engine(warehouse: Warehouse, source: str, engine: str, options: Mapping[str, Any], form: str) -> None:
    """engine_labels."""
    ply, (place, recipe) = options["ply"] or 0, find_source(warehouse, source)
    if engine == "lookahead":
        if options["least_change"]:
            raise UsageError(f"expected --least-change with --ply 1, got it with --ply {ply}")
        if ply > MOST_PLY:
            raise UsageError(f"expected --ply 0 to {MOST_PLY} for lookahead, got {ply}")
        network = network_parameters(warehouse, options["network"])
        parameters = EngineParameters(place, "network", ply, **network, source_recipe=recipe)
    else:
        version = open_player(engine, ply).version
        parameters = EngineParameters(place, engine, ply, version, source_recipe=recipe)
    table = built(warehouse, ENGINES, parameters)
    who = table.array("engine").tobytes().decode()
    print_built(table, [f"{table.manifest.rows:,} positions by {who}, {ply}-ply"], form)


def label_by_tables(warehouse: Warehouse, source: str, pairs: int, seed: int, form: str) -> None:
    """bearoff_labels."""
    kind, _, size = source.partition("/")
    named = SIZE.fullmatch(size)
    if kind != ONE_SIDED or not named:
        raise UsageError(f"expected a table of distributions, such as {ONE_SIDED}/10x15, got {shown(source)}")
    points, checkers = table_size(warehouse, "", "to label by")
    exact_pairs = (pairs or BearoffParameters.pairs) // 4
    parameters = BearoffParameters(int(named[1]), points, checkers, pairs, exact_pairs, seed)
    BEAROFFS.check_parameters(parameters)
    warehouse.open(ONE_SIDED, size)
    table = built(warehouse, BEAROFFS, parameters)
    found = table.manifest.statistics
    line = (
        f"{table.manifest.rows:,} positions: {found['exact']:,.0f} exact, {found['combined']:,.0f} combined; "
        f"{found['with_gammons']:,.0f} with gammons"
    )
    print_built(table, [line], form)


def built(warehouse: Warehouse, kind: Dataset[Any], parameters: Parameters) -> Table:
    """The version, with progress while it is built."""
    kind.check_parameters(parameters)
    with progress_bars() as progress:
        return warehouse.build(kind.name, parameters, progress=progress)
