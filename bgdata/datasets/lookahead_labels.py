"""Positions with the chances that a network sees when it looks ahead: cheap labels, better than its own at a glance."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bgdata.datasets.common.columns import CHANCE_COLUMNS, chance_columns, chosen_texts
from bgdata.datasets.common.games import slices
from bgdata.datasets.common.imports import CHANCES_ARRAY
from bgdata.datasets.common.rollouts import NetworkChoice, network_text, open_roller
from bgdata.datasets.common.sources import (
    PLACE_ARRAYS,
    PLACE_COLUMNS,
    SPLIT_COLUMN,
    SPLITS_ARRAY,
    UNNAMED,
    Places,
    place_columns,
    places_of,
    source_input,
    split_column,
)
from bgdata.datasets.position_sample import DATASET as SAMPLE
from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.store.context import Build, Computed, Recheck
from bgdata.store.dataset import Dataset, Estimate, Input, sampled
from bgdata.store.declaration import Column, FlatArray
from bgdata.store.parameters import NONE_GIVEN, Given, VersionRef, number_text

if TYPE_CHECKING:
    import pyarrow as pa

    from bgdata.evaluation.networks.player import NetworkPlayer
    from bgdata.store.arrays import Array

STEP = 4096  # positions looked into at a time, between which a killed run goes on
LABEL_SOURCES = ("outcome", "exact", "combined", "lookahead")  # the first three numbered as `evaluator.Source`


@dataclass(frozen=True)
class LookaheadParameters(NetworkChoice):
    """Whose positions, and which network looks at them.

    `source_recipe` is what `_sources.source_input` needs to know of the source. Positions whose equity changes by less
    than `least_change` points, a number as text, are left out; empty keeps all.
    """

    source: VersionRef = UNNAMED
    source_recipe: Given = NONE_GIVEN
    least_change: float = 0.0


class LookaheadLabels(Dataset[LookaheadParameters]):
    """One row a position, in the order of the source."""

    name = "lookahead_labels"
    revision = 1
    summary = "Positions that a network looked into one roll ahead: five chances, and how far they are from its first."
    source = "Computed: the mean over the 21 rolls of the chances after the best play of each"
    columns = (
        *PLACE_COLUMNS,
        *CHANCE_COLUMNS,
        Column("cubeless_equity", "FLOAT", "points", "What the five chances are worth to the player on roll"),
        Column("static_equity", "FLOAT", "points", "What the network says at a glance"),
        Column("change", "FLOAT", "points", "cubeless_equity less static_equity: what looking ahead was worth"),
        Column("label_source", "VARCHAR", "", "Who says so: lookahead, exact or combined (tables), or outcome"),
        Column("network", "VARCHAR", "", "Network that played both sides, and its version"),
        SPLIT_COLUMN,
    )
    key = ("row",)
    arrays = (
        *PLACE_ARRAYS,
        CHANCES_ARRAY,
        FlatArray("static_chances", "float32", "row, chance", "Cumulative chances at a glance"),
        FlatArray("changes", "float32", "row", "Cubeless equity of `chances` less that of `static_chances`"),
        FlatArray("sources", "uint8", "row", "Outcome, exact, combined or lookahead: 0, 1, 2 or 3"),
        SPLITS_ARRAY,
        FlatArray("network", "uint8", "byte", "Network that played both sides, and its version: UTF-8"),
    )
    parameters = LookaheadParameters
    defaults = ()
    smallest = LookaheadParameters("tiny", "", 3, 3, VersionRef(SAMPLE.name, SAMPLE.slug(SAMPLE.smallest)))

    def slug(self, parameters: LookaheadParameters) -> str:
        change = number_text(parameters.least_change) if parameters.least_change else ""
        source, change = (re.sub(r"[^a-z0-9]+", "-", text) for text in (str(parameters.source), change))
        return f"{source}-by-{parameters.network}-1ply" + (f"-change-{change}" if change else "")

    def check_parameters(self, parameters: LookaheadParameters) -> None:
        parameters.check_network()
        if not 0 <= parameters.least_change <= 6:
            raise InvalidParameterError(f"expected a least change of 0 to 6 points, got {parameters.least_change}")
        source_input(parameters.source, parameters.source_recipe)

    def inputs(self, parameters: LookaheadParameters) -> Mapping[str, Input]:
        source = source_input(parameters.source, parameters.source_recipe)
        return {**parameters.network_inputs(), "source": source}

    def estimate(self, _parameters: LookaheadParameters) -> Estimate:
        return Estimate(0, 0, 1 << 28)  # as many rows as the source has positions

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
        starts = range(0, n, STEP)
        sizes = [min(STEP, n - start) for start in starts]
        for start in job.steps(f"{self.name}/{self.slug(parameters)}", "positions", starts, sizes, state):
            for name, values in looked_into(player, places.boards[start : start + STEP]).items():
                state[name][start : start + STEP] = values
        for name, values in labelled(parameters, places, state).items():
            job.save(name, values)
        job.save("network", network_text(parameters, inputs))

    def batches(self, computed: Computed[LookaheadParameters]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        from bgdata.evaluation.chances import cubeless_equities

        arrays = computed.arrays
        network = pa.array([np.asarray(arrays["network"]).tobytes().decode()])
        for rows in slices(len(arrays["rows"]), self.row_group_rows):
            found = {name: np.asarray(values[rows]) for name, values in arrays.items() if name != "network"}
            yield pa.record_batch(
                {
                    **place_columns(found),
                    **chance_columns(found["chances"]),
                    "cubeless_equity": cubeless_equities(found["chances"]),
                    "static_equity": cubeless_equities(found["static_chances"]),
                    "change": found["changes"],
                    "label_source": chosen_texts(pa.array(LABEL_SOURCES), found["sources"].astype(np.int32)),
                    "network": pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(found["rows"]), np.int8)), network),
                    "split": split_column(found["splits"]),
                }
            )

    def statistics(self, computed: Computed[LookaheadParameters]) -> Mapping[str, float]:
        arrays = computed.arrays
        counts = np.bincount(arrays["sources"], minlength=len(LABEL_SOURCES))
        changes = np.asarray(arrays["changes"])[np.asarray(arrays["sources"]) == LABEL_SOURCES.index("lookahead")]
        found = {name: float(count) for name, count in zip(LABEL_SOURCES, counts, strict=True)}
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
        player = open_roller(recheck)
        places = places_of(inputs["source"])
        places = places.chosen(np.sort(recheck.generator.permutation(len(places.rows))[: recheck.rows]))
        expected = labelled(recheck.parameters, places, looked_into(player, places.boards))
        where = np.flatnonzero(np.isin(table.array("rows"), places.rows))
        for name, values in expected.items():
            found = np.asarray(table.array(name))[where]
            if len(found) != len(values):
                raise CheckFailedError(
                    f"expected {len(values)} of {len(places.rows)} positions in {table.name}, found {len(found)}"
                )
            wrong = np.flatnonzero((found != values).reshape(len(values), -1).any(axis=1))
            if len(wrong):
                raise CheckFailedError(
                    f"expected {name} of {values[wrong[0]].tolist()} in row {where[wrong[0]]} of {table.name}, "
                    f"found {found[wrong[0]].tolist()}"
                )
        return sampled(len(places.rows), len(inputs["source"].array("boards")), "positions")


def looked_into(player: NetworkPlayer, boards: Array) -> dict[str, Array]:
    """Chances a roll ahead and at a glance, and the places of their sources in LABEL_SOURCES, of any boards."""
    from bgdata.play.luck.roll_means import roll_means

    found = roll_means(player.networks, player.tables, boards)
    sources = np.minimum(found.sources, LABEL_SOURCES.index("lookahead")).astype(np.uint8)
    return {"chances": found.chances, "static_chances": found.static_chances, "sources": sources}


def labelled(parameters: LookaheadParameters, places: Places, looked: Mapping[str, Array]) -> dict[str, Array]:
    """Every declared array but the network's name, of those positions whose equity changes by enough."""
    from bgdata.evaluation.chances import cubeless_equities

    changes = cubeless_equities(looked["chances"]) - cubeless_equities(looked["static_chances"])
    which = np.abs(changes) >= parameters.least_change
    found = {**places._asdict(), **looked, "changes": changes}
    return {name: values[which] for name, values in found.items()}


DATASET = LookaheadLabels()
