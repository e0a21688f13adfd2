"""Evaluates each position at 1-ply, by a network and its tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from bgdata.errors import CheckFailedError
from bgdata.evaluation.chances import cubeless_equities, ordered_chances
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.kinds.column_values import chosen_texts
from bgdata.kinds.rechecking import check_arrays, check_rows
from bgdata.selfplay.kinds.lookahead_labels import LookaheadParameters
from bgdata.selfplay.kinds.shared.games_compute import (
    Places,
    RowsComputation,
    counts_of,
    places_of,
)
from bgdata.selfplay.kinds.shared.rollouts_compute import network_text, open_roller
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computed, Recheck, sampled

STEP = 4096  # positions evaluated at a time: a killed run resumes between them
LABEL_SOURCES = ("outcome", "exact", "combined", "lookahead")  # the first three numbered as `evaluator.AnswerSource`


class LookaheadLabelsComputation(RowsComputation[LookaheadParameters]):
    """Computation of `lookahead_labels`."""

    def compute(self, build: Build[LookaheadParameters]) -> None:
        parameters, inputs, job = build.parameters, build.inputs, build.job
        places = places_of(inputs["source"])
        player = open_roller(build)
        n = len(places.boards)
        state: dict[str, Array] = {
            "chances": np.zeros((n, 5), np.float32),
            "static_chances": np.zeros((n, 5), np.float32),
            "sources": np.zeros(n, np.uint8),
        }
        job.fill("positions", state, STEP, lambda rows: evaluate_both(player, places.boards[rows]))
        for name, values in label_arrays(parameters, places, state).items():
            job.save(name, values)
        job.save("network", network_text(parameters, inputs))

    def own_columns(self, found: Mapping[str, Array], _computed: Computed[LookaheadParameters]) -> dict[str, Any]:
        return {
            "static_equity": cubeless_equities(found["static_chances"]),
            "change": found["changes"],
            "label_source": chosen_texts(pa.array(LABEL_SOURCES), found["sources"].astype(np.int32)),
        }

    def statistics(self, computed: Computed[LookaheadParameters]) -> Mapping[str, float]:
        arrays = computed.arrays
        changes = np.asarray(arrays["changes"])[np.asarray(arrays["sources"]) == LABEL_SOURCES.index("lookahead")]
        found = counts_of(arrays["sources"], LABEL_SOURCES)
        if not len(changes):
            return found
        sizes = np.abs(changes.astype(np.float64))
        return found | {
            "mean_change": float(changes.mean(dtype=np.float64)),
            "mean_absolute_change": float(sizes.mean()),
            "largest_absolute_change": float(sizes.max()),
        }

    def check_sample(self, recheck: Recheck[LookaheadParameters]) -> str:
        """Look into some positions of the source again, and find their places."""
        table, inputs = recheck.table, recheck.inputs
        check_arrays(table, {"network": network_text(recheck.parameters, inputs)})
        player = open_roller(recheck)
        every = places_of(inputs["source"])
        places = every.chosen(np.sort(recheck.generator.permutation(len(every.rows))[: recheck.rows]))
        expected = label_arrays(recheck.parameters, places, evaluate_both(player, places.boards))
        where = np.flatnonzero(np.isin(table.array("rows"), places.rows))
        count = len(expected["rows"])
        if len(where) != count:
            raise CheckFailedError(
                f"expected {count} of {len(places.rows)} positions in {table.name}, found {len(where)}"
            )
        check_rows(table, where, expected)
        return sampled(len(places.rows), len(every.rows), "positions")


def evaluate_both(player: NetworkPlayer, boards: Array) -> dict[str, Array]:
    """Chances at 1-ply and at 0-ply of any boards, and the places of their sources in LABEL_SOURCES."""
    found, static = player.evaluate_ahead(boards, 1), player.evaluate_many(boards).chances
    sources = np.minimum(found.sources, LABEL_SOURCES.index("lookahead")).astype(np.uint8)
    return {"chances": ordered_chances(found.chances), "static_chances": static, "sources": sources}


def label_arrays(parameters: LookaheadParameters, places: Places, evaluated: Mapping[str, Array]) -> dict[str, Array]:
    """Every declared array but the network's name, of those positions whose equity changes by enough."""
    changes = cubeless_equities(evaluated["chances"]) - cubeless_equities(evaluated["static_chances"])
    which = np.abs(changes) >= parameters.least_change
    found = {**places._asdict(), **evaluated, "changes": changes}
    return {name: values[which] for name, values in found.items()}


COMPUTATION = LookaheadLabelsComputation
