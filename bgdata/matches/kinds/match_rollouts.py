"""Errors of analysed matches, rolled out: a second judgement beside that of `match_analysis`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf

from bgdata.equity.kinds.match_equity import DATASET as MATCH_EQUITY
from bgdata.equity.kinds.match_equity import PUBLISHED
from bgdata.errors import InvalidParameterError
from bgdata.kinds.columns import text_declarations
from bgdata.matches.kinds.match_analysis import DATASET as MATCH_ANALYSIS
from bgdata.matches.kinds.match_analysis import METS, OWN, PUBLISHED_MET
from bgdata.selfplay.kinds.shared.rollouts import NETWORK_ARRAY, NETWORK_COLUMN, RollerParameters, variant_input
from bgdata.store.dataset import Column, Dataset, Estimate, FlatArray, Input
from bgdata.store.parameters import NONE_GIVEN, VersionRef
from bgdata.store.versions import Versions

UNNAMED = VersionRef(MATCH_ANALYSIS.name, "unnamed")
VALUES = ("value", "value_standard_error", "loss", "loss_standard_error", "loss_mwc")


@dataclass(frozen=True)
class MatchRolloutParameters(RollerParameters):
    """Parameters of `match_rollouts`: the analysis, the smallest loss in points of decisions that are rolled out, the
    network and the settings of rollouts. The play made, the best play, and plays within `within` points are rolled out,
    at most `most_plays` of the last. The match equity table is named as in `match_analysis`; by default it is that of
    the analysis."""

    source: VersionRef = UNNAMED
    least_loss: float = 0.05
    within: float = 0.08
    most_plays: int = 3
    met: str = ""


class MatchRollouts(Dataset[MatchRolloutParameters]):
    """Kind `match_rollouts`: errors of analysed matches, rolled out with the cube. One row per choice of a decision.
    Decisions that another version has rolled out in the same way are copied from that version."""

    name = "match_rollouts"
    revision = 2
    summary = "Errors of analysed matches, rolled out with the cube: what was played, the best choice, and near plays."
    source = "Computed: rollouts with stratified rolls and variance reduction by luck (Zare 2000, Montgomery 2000)"
    columns = (
        Column("decision", "INTEGER", "", "Number of the decision, from 0, in the order of the analysis"),
        Column("choice", "SMALLINT", "", "Place of the choice, 0 for the best"),
        Column("xgid", "VARCHAR", "", "Position, score, cube and roll of the player on roll, as in match_analysis"),
        Column("subject", "VARCHAR", "", "play, double (or not), or answer (to a double)"),
        Column("action", "VARCHAR", "", "Play or cube action"),
        Column("is_made", "BOOLEAN", "", "Whether it was made in the match"),
        Column("is_best_by_analysis", "BOOLEAN", "", "Whether the analysis says that it is the best"),
        Column("value", "DOUBLE", "as unit says", "Value to the player who decides"),
        Column("unit", "VARCHAR", "", "points (per unit cube) or mwc"),
        Column("value_standard_error", "DOUBLE", "as unit says", "Standard error of value"),
        Column("loss", "DOUBLE", "points", "Loss behind the best choice in points of normalised equity"),
        Column("loss_standard_error", "DOUBLE", "points", "Standard error of loss"),
        Column("loss_mwc", "DOUBLE", "mwc", "Loss in match winning chances; null in money play"),
        Column("trials", "BIGINT", "games", "Games played"),
        Column("level", "VARCHAR", "", "How it was judged: rollout, and the number of games"),
        NETWORK_COLUMN,
    )
    key = ("decision", "choice")
    arrays = (
        *text_declarations("xgids", "decision", "Position, score, cube and roll"),
        FlatArray("subjects", "int8", "decision", "What is decided: 0 play, 1 double, 2 answer"),
        *text_declarations("asked", "decision x 2", "What was made, and what is best by the analysis"),
        FlatArray("trials", "int64", "decision", "Games of each choice"),
        FlatArray("choice_ends", "int64", "decision", "Choices up to the end of the decision"),
        *text_declarations("choices", "choice", "Plays and cube actions"),
        FlatArray("values", "float64", f"choice, ({', '.join(VALUES)})", "Values and losses; NaN: null"),
        NETWORK_ARRAY,
    )
    parameters = MatchRolloutParameters
    defaults = ()
    smallest = MatchRolloutParameters(
        "contact-160", "", 3, 3, 72, source=VersionRef("match_analysis", MATCH_ANALYSIS.slug(MATCH_ANALYSIS.smallest)),
        least_loss=0.001, most_plays=2, met=PUBLISHED_MET,
    )  # fmt: skip

    def slug(self, parameters: MatchRolloutParameters) -> str:
        met = "" if parameters.met == OWN else f"-{parameters.met}-met"
        least = re.sub(r"[^0-9]+", "-", str(parameters.least_loss)).strip("-")
        by = f"{parameters.network}{parameters.how_text}"
        return f"{parameters.source.variant}-from-{least}-by-{by}-{parameters.trials}{met}"

    def check_parameters(self, parameters: MatchRolloutParameters) -> None:
        parameters.check_roller(0)
        source = parameters.source
        if source.kind != MATCH_ANALYSIS.name:
            raise InvalidParameterError(f"expected an analysis of matches, such as match_analysis/NAME, got {source}")
        if not 0 < parameters.least_loss < inf:
            raise InvalidParameterError(f"expected a least loss above 0 points, got {parameters.least_loss}")
        if not (0 <= parameters.within < inf and parameters.most_plays >= 0):
            raise InvalidParameterError(
                f"expected 0 or more plays within 0 or more points, got {parameters.most_plays} and {parameters.within}"
            )
        if parameters.met not in METS:
            raise InvalidParameterError(f"expected own or published as met, got {parameters.met!r}")
        if (parameters.stop, parameters.turns) != ("exact", 0):
            raise InvalidParameterError(
                f"expected rollouts with the cube to end with the game, got stop={parameters.stop} and "
                f"turns={parameters.turns}; leave both out"
            )

    def complete(self, parameters: MatchRolloutParameters, warehouse: Versions) -> MatchRolloutParameters:
        """Return the parameters with the current version of the analysis and its match equity table added, unless they
        are given. Raises MissingTableError if there is no such analysis."""
        source = parameters.source
        if source.kind != MATCH_ANALYSIS.name or source == self.smallest.source:
            return parameters
        table = warehouse.open(source.kind, source.variant, source.version or None)
        met = parameters.met or str(table.manifest.parameters["met"])
        return replace(parameters, source=replace(source, version=table.folder.name), met=met)

    def inputs(self, parameters: MatchRolloutParameters) -> Mapping[str, Input]:
        source = parameters.source
        met = MATCH_EQUITY.defaults[0] if parameters.met == OWN else PUBLISHED
        return {
            "source": source if source.version else variant_input(MATCH_ANALYSIS, source.variant, NONE_GIVEN),
            **parameters.network_inputs(),
            "met": (MATCH_EQUITY.name, met),
        }

    def estimate(self, _parameters: MatchRolloutParameters) -> Estimate:
        return Estimate(0, 0, 1 << 28)  # the analysis decides the number of rows


DATASET = MatchRollouts()
