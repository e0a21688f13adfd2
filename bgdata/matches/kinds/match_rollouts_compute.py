"""Rolls out errors of analysed matches, and copies decisions that another version has rolled out in the same way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from bgdata.equity.cube import CubeRules
from bgdata.errors import CheckFailedError
from bgdata.kinds.column_values import constant, numbers_or_null, select_texts, text_arrays, text_column
from bgdata.matches.acts import ActKind
from bgdata.matches.kinds.match_analysis import NUMBERS
from bgdata.matches.kinds.match_rollouts import DATASET, VALUES, MatchRolloutParameters
from bgdata.matches.rolling_out import DOUBLE, SUBJECTS, AnalysedDecision, DecisionRoller, RolledOutChoice
from bgdata.selfplay.kinds.shared.rollouts_compute import (
    SAMPLE_ROWS,
    first_met,
    network_text,
    network_versions,
    open_roller,
)
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Context, Recheck, sample_text
from bgdata.store.shards import compute_shards, context_of, opened_once, runs, work_of
from bgdata.store.worker_inputs import Settings

STEP = 4  # decisions in a shard, which takes some seconds


class RolledOut(NamedTuple):
    """A decision with its rolled-out choices, best first, and the number of games of each."""

    decision: AnalysedDecision
    choices: list[RolledOutChoice]
    trials: int


class MatchRolloutsComputation(Computation[MatchRolloutParameters]):
    """Computes `match_rollouts`: rolls out errors of analysed matches, and copies decisions that were rolled out
    before."""

    def compute(self, build: Build[MatchRolloutParameters]) -> None:
        decisions = decisions_of(build)
        known = known_decisions(build)
        todo = [place for place, decision in enumerate(decisions) if decision not in known]
        if len(todo) < len(decisions):
            build.job.progress.note(
                f"{len(decisions) - len(todo):,} of {len(decisions):,} decisions were rolled out before"
            )
        work = work_of(build, f"{__name__}:roll_out_decisions", network_versions(build))
        for shard in compute_shards(build.job, "decisions", work, runs(todo, STEP)):
            known.update({each.decision: each for each in read_decisions(shard)})
        arrays = arrays_of([known[decision] for decision in decisions])
        arrays["network"] = network_text(build.parameters, build.inputs)
        for name, values in arrays.items():
            build.job.save(name, values)

    def batches(self, computed: Computed[MatchRolloutParameters]) -> Iterator[pa.RecordBatch]:
        arrays = computed.arrays
        found, values = read_decisions(arrays), np.asarray(arrays["values"])
        rows = [(number, *row) for number, each in enumerate(found) for row in choice_rows(each)]
        decisions = [each.decision for each in found]
        index = np.array([row[0] for row in rows], np.int32)
        trials = np.asarray(arrays["trials"])[index]
        network = np.asarray(arrays["network"]).tobytes().decode()
        yield pa.record_batch(
            {
                "decision": pa.array(index),
                "choice": pa.array([row[1] for row in rows], pa.int16()),
                "xgid": select_texts(pa.array([each.xgid for each in decisions], pa.string()), index),
                "subject": select_texts(pa.array(SUBJECTS), np.asarray(arrays["subjects"])[index].astype(np.int32)),
                "action": text_column(arrays, "choices"),
                "is_made": pa.array([row[2] for row in rows], pa.bool_()),
                "is_best_by_analysis": pa.array([row[3] for row in rows], pa.bool_()),
                "value": numbers_or_null(values[:, 0]),
                "unit": pa.array(np.where(np.isnan(values[:, VALUES.index("loss_mwc")]), "points", "mwc").tolist()),
                **{name: numbers_or_null(values[:, number]) for number, name in enumerate(VALUES) if number},
                "trials": pa.array(trials),
                "level": pa.array([f"rollout, {count:,} games" for count in trials.tolist()], pa.string()),
                "network": constant(network, "VARCHAR", len(rows)),
            }
        )

    def statistics(self, computed: Computed[MatchRolloutParameters]) -> Mapping[str, float]:
        found = read_decisions(computed.arrays)
        confirmed = sum(is_best(each.decision, each.choices[0].choice) for each in found)
        return {"decisions": len(found), "confirmed_best": confirmed}

    def check_sample(self, recheck: Recheck[MatchRolloutParameters]) -> str:
        """Roll out a random sample of the decisions again and compare them, and list the decisions of the analysis
        again."""
        decisions, table = decisions_of(recheck), recheck.table
        found = read_decisions(table.arrays())
        if [each.decision for each in found] != decisions:
            raise CheckFailedError(f"expected the decisions of the analysis in {table.name}, found others")
        if not np.array_equal(table.array("network"), network_text(recheck.parameters, recheck.inputs)):
            raise CheckFailedError(f"expected the network of the recipe in {table.name}, found another")
        if not all(map(is_consistent, found)) or (
            found and table.array("choice_ends")[-1] != len(table.array("values"))
        ):
            raise CheckFailedError(f"expected the choices of each decision in {table.name}, found others")
        count = min(SAMPLE_ROWS, recheck.rows)
        roller = open_decision_roller(recheck)
        for place in recheck.generator.permutation(len(found))[:count].tolist():
            again = arrays_of([roll_out(roller, decisions[place])])
            kept = arrays_of([found[place]])
            if not all(np.array_equal(kept[name], again[name], equal_nan=name == "values") for name in again):
                raise CheckFailedError(f"expected the same rollout of decision {place} in {table.name}, found another")
        return sample_text(min(count, len(found)), len(found), "decisions")


def decisions_of(context: Context[MatchRolloutParameters]) -> list[AnalysedDecision]:
    """Return the decisions of the analysis that lose enough to be rolled out, each once. Matches with beavers are left
    out, because rollouts have no beavers."""
    arrays, least = context.inputs["source"].arrays(), context.parameters.least_loss
    numbers, losses = np.asarray(arrays["numbers"]), np.asarray(arrays["values"])[:, 0]
    choices, xgids = (text_column(arrays, name).to_pylist() for name in ("choices", "xgids"))
    subjects, games = numbers[:, NUMBERS.index("subject")], numbers[:, NUMBERS.index("game")]
    matches = np.asarray(arrays["game_places"])[games, 0]
    has_beaver = np.array([made == ActKind.BEAVER for made in choices[::2]], bool)
    is_wanted = (losses >= least) & ~np.isin(matches, matches[has_beaver])
    rows = np.flatnonzero(is_wanted).tolist()
    found = (
        AnalysedDecision(xgids[row], SUBJECTS[subjects[row]], choices[2 * row], choices[2 * row + 1]) for row in rows
    )
    return list(dict.fromkeys(found))


def known_decisions(build: Build[MatchRolloutParameters]) -> dict[AnalysedDecision, RolledOut]:
    """Return the decisions that other versions have rolled out by the same network, tables and settings, with their
    results."""
    found: dict[AnalysedDecision, RolledOut] = {}
    mine = {role: table.folder.name for role, table in build.inputs.items() if role != "source"}
    wanted = build.parameters
    for table in build.warehouse.versions(DATASET.name):
        parameters = MatchRolloutParameters.from_manifest(table.manifest.parameters)
        made_from = build.warehouse.made_from(table)
        theirs = {role: each.folder.name for role, each in made_from.items() if role != "source"}
        is_same = replace(parameters, source=wanted.source, least_loss=wanted.least_loss) == wanted
        if mine == theirs and is_same and table.manifest.revision == DATASET.revision:
            found |= {each.decision: each for each in read_decisions(table.arrays())}
    return found


def roll_out_decisions(settings: Settings, begin: int, end: int) -> dict[str, Array]:
    """Roll out the decisions from `begin` to before `end` of the analysis, and return their arrays."""
    roller, decisions = opened_once(open_rolling_out, settings)
    return arrays_of([roll_out(roller, decision) for decision in decisions[begin:end]])


def open_rolling_out(settings: Settings) -> tuple[DecisionRoller, list[AnalysedDecision]]:
    """Open what `roll_out_decisions` needs, from its settings. Returns the roller and the decisions."""
    context = context_of(settings, MatchRolloutParameters)
    return open_decision_roller(context), decisions_of(context)


def open_decision_roller(context: Context[MatchRolloutParameters]) -> DecisionRoller:
    """Open a roller with the network, the rules and the settings that the parameters name."""
    chosen, rules = context.parameters, CubeRules(met=first_met(context.inputs["met"].arrays()))
    return DecisionRoller(open_roller(context), rules, chosen.limits(), chosen.how(), chosen.within, chosen.most_plays)


def roll_out(roller: DecisionRoller, decision: AnalysedDecision) -> RolledOut:
    """Roll out the choices of a decision."""
    return RolledOut(decision, *roller.roll_out(decision))


def is_best(decision: AnalysedDecision, choice: str) -> bool:
    """Return whether the analysis says that `choice` is the best. The analysis names a double together with its answer,
    and says `too good to double` where a choice says `no double`."""
    if decision.subject != DOUBLE:
        return decision.best == choice
    return decision.best.startswith(DOUBLE) == (choice == DOUBLE)


def is_consistent(rolled: RolledOut) -> bool:
    """Return whether the choices of a decision are in order of their losses, and include the choice that was made."""
    losses, names = [each.loss for each in rolled.choices], [each.choice for each in rolled.choices]
    return losses[:1] == [0] and losses == sorted(losses) and names.count(rolled.decision.made) == 1


def choice_rows(rolled: RolledOut) -> Iterator[tuple[int, bool, bool]]:
    """Yield for each choice its index, whether it was made, and whether the analysis says that it is the best."""
    for place, each in enumerate(rolled.choices):
        yield place, each.choice == rolled.decision.made, is_best(rolled.decision, each.choice)


def arrays_of(decisions: Sequence[RolledOut]) -> dict[str, Array]:
    """Return the arrays of rolled-out decisions in order, except the array `network`."""
    choices = [choice for each in decisions for choice in each.choices]
    return {
        **text_arrays("xgids", [each.decision.xgid for each in decisions]),
        "subjects": np.array([SUBJECTS.index(each.decision.subject) for each in decisions], np.int8),
        **text_arrays("asked", [text for each in decisions for text in (each.decision.made, each.decision.best)]),
        "trials": np.array([each.trials for each in decisions], np.int64),
        "choice_ends": np.cumsum([len(each.choices) for each in decisions], dtype=np.int64),
        **text_arrays("choices", [choice.choice for choice in choices]),
        "values": np.array([choice[1:] for choice in choices], np.float64).reshape(-1, len(VALUES)),
    }


def read_decisions(arrays: Mapping[str, Array]) -> list[RolledOut]:
    """Return the rolled-out decisions in arrays of `arrays_of`."""
    xgids, asked, choices = (text_column(arrays, name).to_pylist() for name in ("xgids", "asked", "choices"))
    subjects, trials = np.asarray(arrays["subjects"]).tolist(), np.asarray(arrays["trials"]).tolist()
    ends, values = np.asarray(arrays["choice_ends"]).tolist(), np.asarray(arrays["values"]).tolist()
    rows = [RolledOutChoice(choice, *row) for choice, row in zip(choices, values, strict=True)]
    return [
        RolledOut(
            AnalysedDecision(xgid, SUBJECTS[subjects[place]], *asked[2 * place : 2 * place + 2]),
            rows[begin:end],
            trials[place],
        )
        for place, (xgid, begin, end) in enumerate(zip(xgids, [0, *ends][:-1], ends, strict=True))
    ]


COMPUTATION = MatchRolloutsComputation
