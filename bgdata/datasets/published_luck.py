"""Luck that somebody published roll by roll: the figures as printed, so that their sums are questions in SQL."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bgdata.datasets.common.columns import chosen_texts
from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.store.context import Build, Computed, Recheck
from bgdata.store.dataset import Dataset, Estimate, sampled
from bgdata.store.declaration import Column, FlatArray
from bgdata.store.parameters import Parameters

if TYPE_CHECKING:
    import pyarrow as pa

    from bgdata.store.arrays import Array

MATCH = "hedging-toward-skill"
FILE = Path(__file__).parents[1] / "claims" / "published" / "hedging_toward_skill.csv"
PROGRAMS = ("jellyfish", "snowie")
INTEGERS = ("round", "die1", "die2")
FIGURES = ("average", "evaluation", "printed_luck")


@dataclass(frozen=True)
class LuckParameters(Parameters):
    """Which match: there is one."""

    match: str = MATCH


class PublishedLuck(Dataset[LuckParameters]):
    """One row a roll of the match, in order of play."""

    name = "published_luck"
    revision = 1
    summary = "The example match of D. Zare's Hedging Toward Skill: what each roll was worth, and its luck as printed."
    source = (
        "Douglas Zare, Hedging Toward Skill, GammonVillage 2000 (Backgammon Galore): a one-point match of Jellyfish 3 "
        "against Snowie 3, its figures by Snowie 3 at 1-ply"
    )
    columns = (
        Column("round", "INTEGER", "", "Number in the source, from 1: a roll of each, Jellyfish first"),
        Column("program", "VARCHAR", "", "Who rolled: jellyfish or snowie"),
        Column("die1", "TINYINT", "", "The larger die"),
        Column("die2", "TINYINT", "", "The smaller die"),
        Column(
            "average", "DOUBLE", "match equity", "What the position was worth to Jellyfish before the roll, -1 to 1"
        ),
        Column("evaluation", "DOUBLE", "match equity", "What it was worth to Jellyfish after the play, -1 to 1"),
        Column(
            "printed_luck", "DOUBLE", "match equity", "Luck of the roll for Jellyfish, as printed: two signs are wrong"
        ),
    )
    key = ("round", "program")
    arrays = (
        *(FlatArray(f"{name}s", "int8", "roll", f"As the column {name}") for name in INTEGERS),
        FlatArray("programs", "uint8", "roll", "Who rolled, jellyfish or snowie: 0 or 1"),
        *(FlatArray(f"{name}s", "float64", "roll", f"As the column {name}") for name in FIGURES),
    )
    parameters = LuckParameters
    defaults = (LuckParameters(),)
    smallest = LuckParameters()

    def slug(self, parameters: LuckParameters) -> str:
        return parameters.match

    def check_parameters(self, parameters: LuckParameters) -> None:
        if parameters.match != MATCH:
            raise InvalidParameterError(f"expected the match {MATCH}, got {parameters.match!r}")

    def estimate(self, _parameters: LuckParameters) -> Estimate:
        return Estimate(rows=len(published_rows()), disk_bytes=40 * len(published_rows()), memory_bytes=1 << 20)

    def compute(self, build: Build[LuckParameters]) -> None:
        for name, values in published_arrays().items():
            build.job.save(name, values)

    def batches(self, computed: Computed[LuckParameters]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        columns: dict[str, Any] = {name: np.asarray(computed.arrays[f"{name}s"]) for name in (*INTEGERS, *FIGURES)}
        columns["round"] = columns["round"].astype(np.int32)
        columns["program"] = chosen_texts(pa.array(PROGRAMS), np.asarray(computed.arrays["programs"]).astype(np.int32))
        yield pa.record_batch({column.name: columns[column.name] for column in self.columns})

    def check_sample(self, recheck: Recheck[LuckParameters]) -> str:
        """Compare every row with the file that comes with the package."""
        for name, values in published_arrays().items():
            if not np.array_equal(recheck.table.array(name), values):
                raise CheckFailedError(
                    f"expected the {name} of {recheck.table.name} as they were published, found others"
                )
        return sampled(len(published_rows()), len(published_rows()), "rolls")


@lru_cache(maxsize=1)
def published_rows() -> tuple[Mapping[str, str], ...]:
    """The rows of the file, by column."""
    with FILE.open(encoding="utf-8", newline="") as lines:
        return tuple(csv.DictReader(lines))


def published_arrays() -> dict[str, Array]:
    """Every declared array."""
    rows = published_rows()
    arrays: dict[str, Array] = {f"{name}s": np.array([int(row[name]) for row in rows], np.int8) for name in INTEGERS}
    arrays["programs"] = np.array([PROGRAMS.index(row["program"]) for row in rows], np.uint8)
    return arrays | {f"{name}s": np.array([float(row[name]) for row in rows]) for name in FIGURES}


DATASET = PublishedLuck()
