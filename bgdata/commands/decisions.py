"""`bgdata decisions`: a benchmark of decisions from self-play whose plays are rolled out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bgdata.commands.report import print_built, progress_bars
from bgdata.commands.rescore import found_corpus
from bgdata.commands.rollout import describe_missed, roller_parameters
from bgdata.datasets.rollout_decisions import DATASET as DECISIONS
from bgdata.datasets.rollout_decisions import DecisionParameters
from bgdata.warehouse import Warehouse

UNTIL = 0.005  # points


def make_decisions(
    warehouse: Warehouse,
    corpus: str,
    position_class: str,
    count: int,
    network: str,
    options: Mapping[str, Any],
    form: str = "table",
) -> None:
    """Build a set of decisions and say how exact it is.

    Raises UsageError, and MissingTableError for a corpus or a network that is not there.
    """
    roller = roller_parameters(warehouse, network, {**options, "until": options["until"] or UNTIL})
    parameters = DecisionParameters(
        **vars(found_corpus(warehouse, corpus)),
        **roller,
        position_class=position_class,
        decisions=count,
        sample_seed=options["seed"],
        within=options["within"],
        most_plays=options["plays"],
    )
    DECISIONS.check_parameters(parameters)
    with progress_bars() as progress:
        table = warehouse.build(DECISIONS.name, parameters, progress=progress)
    print_built(table, [describe_decisions(table.manifest.rows, table.manifest.statistics, parameters)], form)


def describe_decisions(rows: int, found: Mapping[str, float], parameters: DecisionParameters) -> str:
    """How exact a set is, in a line or two."""
    plays = round(found["plays"])
    return (
        f"{rows:,} decisions, {plays:,} plays, {found['games']:,.0f} games: standard errors of "
        f"{found['mean_standard_error']:.4f} on average, at most {found['largest_standard_error']:.4f}"
    ) + describe_missed(plays, "plays", found, parameters)
