"""Labels positions of self-play with the outcomes of games, rescored by exact tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from bgdata.bearoff.kinds.bearoff_two_sided_compute import error_bound
from bgdata.errors import CorruptFileError
from bgdata.evaluation.bearoff import BearoffEvaluator
from bgdata.evaluation.chances import cubeless_equities
from bgdata.kinds.column_values import chosen_texts
from bgdata.kinds.rechecking import check_rows
from bgdata.selfplay.kinds.selfplay_labels import SelfPlayLabelParameters
from bgdata.selfplay.kinds.shared.games_compute import RowsComputation
from bgdata.selfplay.rescoring import (
    GameOutcomes,
    Labels,
    luck_adjusted_equities,
    rescored_labels,
    rescoring_report,
)
from bgdata.selfplay.splits import splits_of_games
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computed, Recheck, sampled
from bgdata.store.table import Table

SOURCES = ("outcome", "exact", "combined")  # numbered as `BearoffSource`


class SelfPlayLabelsComputation(RowsComputation[SelfPlayLabelParameters]):
    """Computation of `selfplay_labels`."""

    def compute(self, build: Build[SelfPlayLabelParameters]) -> None:
        games = np.arange(build.parameters.games)
        for name, values in label_games(build.parameters, build.inputs, games).items():
            build.job.save(name, values)

    def own_columns(self, found: Mapping[str, Array], _computed: Computed[SelfPlayLabelParameters]) -> dict[str, Any]:
        return {
            "outcome": found["outcomes"],
            "label_source": chosen_texts(pa.array(SOURCES), found["sources"].astype(np.int32)),
            "turns_later": pa.array(found["turns_later"], mask=found["turns_later"] < 0),
            "hedged_equity": pa.array(found["hedged_equities"], from_pandas=True),
        }

    def statistics(self, computed: Computed[SelfPlayLabelParameters]) -> Mapping[str, float]:
        parameters, arrays = computed.parameters, computed.arrays
        chances, turns_later = np.asarray(arrays["chances"]), np.asarray(arrays["turns_later"])
        solved = np.where(turns_later < 0, -1, np.arange(len(turns_later)) + turns_later)
        report = rescoring_report(Labels(outcome_chances(np.asarray(arrays["outcomes"])), chances, solved))
        found = {name: float(value) for name, value in report._asdict().items() if value == value}
        found["removed_share"] = 1 - report.variance_after / report.variance_before if report.variance_before else 0.0
        hedged = np.asarray(arrays["hedged_equities"]).astype(np.float64)
        if parameters.luck:
            found["variance_hedged"] = float(hedged.var())
        return found | {"exact_equity_error_bound": error_bound(parameters.points, parameters.checkers)}

    def check_sample(self, recheck: Recheck[SelfPlayLabelParameters]) -> str:
        """Label some games again, alone."""
        parameters = recheck.parameters
        n_turns = np.diff(recheck.inputs["games"].array("first_turns"))
        chosen = np.sort(recheck.generator.permutation(parameters.games)[: recheck.rows])
        places = np.flatnonzero(np.isin(np.repeat(np.arange(parameters.games), n_turns), chosen))
        check_rows(recheck.table, places, label_games(parameters, recheck.inputs, chosen))
        return sampled(len(chosen), parameters.games, "games")


def label_games(parameters: SelfPlayLabelParameters, inputs: Mapping[str, Table], games: Array) -> dict[str, Array]:
    """Every declared array for the turns of ascending games. Raises CorruptFileError."""
    corpus, tables = inputs["games"], {role: table for role, table in inputs.items() if role != "games"}
    check_corpus(corpus)
    bearoff = BearoffEvaluator(**tables)
    first_turns = np.asarray(corpus.array("first_turns"))
    n_turns = (first_turns[1:] - first_turns[:-1])[games]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(n_turns)])
    numbers, turns = np.repeat(games, n_turns), np.arange(offsets[-1]) - np.repeat(offsets[:-1], n_turns)
    rows = first_turns[numbers] + turns
    boards = np.ascontiguousarray(corpus.array("turn_boards")[rows])
    outcomes = GameOutcomes(corpus.array("outcomes")[games], corpus.array("begins")[games], offsets)
    labels = rescored_labels(bearoff.arrays, outcomes, boards, combined="one_sided" in tables)
    is_solved = labels.solved >= 0
    return {
        "boards": boards,
        "classes": np.asarray(corpus.array("turn_classes")[rows]),
        "chances": labels.rescored,
        "games": numbers.astype(np.int32),
        "turns": turns.astype(np.int32),
        "outcomes": points_of(labels.outcomes),
        "sources": np.where(is_solved, sources_of(bearoff, boards, labels.solved), 0).astype(np.uint8),
        "turns_later": np.where(is_solved, labels.solved - np.arange(len(rows)), -1).astype(np.int32),
        "hedged_equities": luck_adjusted_equities(labels, offsets, np.asarray(corpus.array("lucks")[rows])),
        "splits": splits_of_games(parameters.seed, numbers),
    }


def check_corpus(corpus: Table) -> None:
    """Raise CorruptFileError for a corpus whose games and turns do not agree: kernels would read beyond its ends."""
    first_turns, turns = np.asarray(corpus.array("first_turns")), len(corpus.array("turn_boards"))
    sizes = {name: len(corpus.array(name)) for name in ("outcomes", "begins", "turn_classes", "lucks")}
    games = len(first_turns) - 1
    expected = {"outcomes": games, "begins": games, "turn_classes": turns, "lucks": turns}
    if sizes != expected or first_turns[0] != 0 or first_turns[-1] != turns or (np.diff(first_turns) < 1).any():
        raise CorruptFileError(f"expected whole games in {corpus.name}, found turns of none; try: bgdata verify")


def sources_of(bearoff: BearoffEvaluator, boards: Array, solved: Array) -> Array:
    """int8[n]: the source of the chances of the solved board of each row; undefined where there is none."""
    covered = np.flatnonzero(solved == np.arange(len(solved)))
    sources = np.zeros(len(boards), np.int8)
    sources[covered] = bearoff.evaluate_many(boards[covered]).sources
    return sources[solved]


def points_of(chances: Array) -> Array:
    """int8[n]: -3 to 3 points to the player whose chances, all 0 or 1, are given; `outcome_chances` turned around."""
    return cubeless_equities(chances).astype(np.int8)


def outcome_chances(points: Array) -> Array:
    """float32[n, 5]: the chances of finished games, worth so many points to the player."""
    reached = [points > 0, points > 1, points > 2, points < -1, points < -2]
    return np.stack(reached, axis=1).astype(np.float32)


COMPUTATION = SelfPlayLabelsComputation
