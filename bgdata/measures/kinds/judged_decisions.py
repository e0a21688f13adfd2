"""Decisions of `rollout_decisions` whose plays a judge rolled out again: a network, gnubg or bgsage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bgdata.errors import InvalidParameterError, UnknownPlayerError, UsageError
from bgdata.evaluation.players import NETWORK, PROGRAMS
from bgdata.kinds.columns import text_declarations
from bgdata.measures.kinds.rollout_decisions import DATASET as ROLLED_OUT
from bgdata.measures.kinds.shared.benchmarks import DECISIONS, PLAYS
from bgdata.measures.kinds.shared.players import check_player_name, player_slug, source_input
from bgdata.store.dataset import BY_PLAYERS, Dataset, Estimate, Input, TableShape
from bgdata.store.parameters import Parameters, VersionRef
from bgdata.store.versions import Versions

if TYPE_CHECKING:
    from bgdata.selfplay.rollout import Limits

SMALLEST = VersionRef(ROLLED_OUT.name, ROLLED_OUT.slug(ROLLED_OUT.smallest))
CONTACT = VersionRef(ROLLED_OUT.name, "contact-500-of-network-10000-seed-1")


@dataclass(frozen=True)
class JudgementParameters(Parameters):
    """Parameters of `judged_decisions`: the judge, the decisions, and the number of games.

    `judge` plays both sides at `ply` and reports a version; it is a network, gnubg or bgsage. If `tables` is false, a
    network plays without bearoff tables. `decisions` is a version of `rollout_decisions`. The games come in rounds of
    `trials`. A play gets no more games once it has `most_trials` games or a standard error of `until` points, or once
    it is `settled_at` standard errors behind the best play."""

    judge: str = NETWORK
    ply: int = 0
    version: str = ""
    tables: bool = True
    decisions: VersionRef = CONTACT
    trials: int = 72
    until: float = 0.005
    most_trials: int = 288
    settled_at: float = 2.5

    def limits(self) -> Limits:
        """Return the limits on the number of games."""
        from bgdata.selfplay.rollout import Limits

        return Limits(self.trials, self.until, self.most_trials)

    @property
    def player(self) -> tuple[str, int]:
        """The judge as a player, by name and ply. A network is opened at 0-ply, because its rollouts look ahead by
        themselves."""
        return self.judge, self.ply if self.judge in PROGRAMS else 0


class JudgedDecisions(Dataset[JudgementParameters]):
    """Kind `judged_decisions`: the decisions of a set, with the values of a judge. One row per decision, in the order
    of the set; the plays are ordered by the judge's values. `network` names the judge, a network or a program, and
    `loss_standard_error` comes from the standard errors of both equities."""

    name = "judged_decisions"
    made_again = BY_PLAYERS
    revision = 1
    summary = "Checker decisions of a set of rollout_decisions whose plays a judge rolled out again."
    source = "Computed: cubeless rollouts to the end of the game, with variance reduction by luck, by the named judge"
    columns = DECISIONS.columns
    key = DECISIONS.key
    arrays = (
        *(array for array in ROLLED_OUT.arrays if array.name not in ("network", "plays_chances")),
        *text_declarations("judge", "text", "Network or program, and its version", is_shared=True),
    )
    parameters = JudgementParameters
    defaults = ()
    smallest = JudgementParameters("network/tiny", 0, "b49ded87", False, SMALLEST, trials=72, most_trials=72)

    @property
    def tables(self) -> tuple[TableShape, ...]:
        return DECISIONS, PLAYS

    def slug(self, parameters: JudgementParameters) -> str:
        judge = player_slug(parameters.judge, parameters.ply) + ("" if parameters.tables else "-without-tables")
        return f"{parameters.decisions.variant}-by-{judge}-{parameters.most_trials or parameters.trials}"

    def check_parameters(self, parameters: JudgementParameters) -> None:
        from bgdata.selfplay.rollout import RolloutSettings

        check_player_name(parameters.judge)
        check_judge(parameters.judge)
        if not parameters.settled_at > 0:
            raise InvalidParameterError(
                f"expected plays settled at more than 0 standard errors, got {parameters.settled_at}"
            )
        try:
            parameters.limits().check()
            if parameters.judge not in PROGRAMS:
                RolloutSettings(play_ply=parameters.ply).for_kernels(0)
        except UsageError as error:
            raise InvalidParameterError(str(error)) from None
        self.inputs(parameters)

    def complete(self, parameters: JudgementParameters, warehouse: Versions) -> JudgementParameters:
        """Return the parameters with the full name and version of the judge, and the current version of the decisions.
        Raises UnknownPlayerError if the judge is not installed, and MissingTableError if the decisions are missing."""
        from bgdata.evaluation.networks.player import network_name
        from bgdata.evaluation.player import open_named_player

        check_judge(parameters.judge)
        if not parameters.version:
            name, ply = parameters.player
            name = name if name in PROGRAMS else network_name(name)
            found = open_named_player(name, ply, warehouse, tables=parameters.tables)
            parameters = replace(parameters, judge=name, version=found.version)
        if parameters.decisions.kind != ROLLED_OUT.name or parameters.decisions == SMALLEST:
            return parameters
        table = warehouse.open_reference(parameters.decisions)
        return replace(parameters, decisions=VersionRef.parse(table.name))

    def inputs(self, parameters: JudgementParameters) -> Mapping[str, Input]:
        if parameters.decisions.kind != ROLLED_OUT.name:
            raise InvalidParameterError(f"expected a version of {ROLLED_OUT.name}, got {parameters.decisions}")
        return {"decisions": source_input(parameters.decisions)}

    def estimate(self, _parameters: JudgementParameters) -> Estimate:
        return Estimate(0, 0, 1 << 28)  # a row for each decision


def check_judge(name: str) -> None:
    """Raise UnknownPlayerError unless a judge is a network or a program."""
    if name.partition("/")[0] not in (NETWORK, *PROGRAMS):
        raise UnknownPlayerError(f"expected a judge among {NETWORK}, {NETWORK}/NAME, {', '.join(PROGRAMS)}, got {name}")


DATASET = JudgedDecisions()
