"""Published luck of each roll, as printed, so that SQL can sum it."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from bgdata.errors import InvalidParameterError
from bgdata.store.dataset import Column, Dataset, Estimate, FlatArray
from bgdata.store.parameters import Parameters

MATCH = "hedging-toward-skill"
FILE = Path(__file__).parents[1] / "claims" / "published" / "hedging_toward_skill.csv"
INTEGERS = ("round", "die1", "die2")
FIGURES = ("average", "evaluation", "printed_luck")


@dataclass(frozen=True)
class LuckParameters(Parameters):
    """Parameters of `published_luck`: the name of the match. There is only one match."""

    match: str = MATCH


class PublishedLuck(Dataset[LuckParameters]):
    """Kind `published_luck`: the luck of each roll of a match, as published. One row per roll, in order of play."""

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


@lru_cache(maxsize=1)
def published_rows() -> tuple[Mapping[str, str], ...]:
    """Return the rows of the package's file of published luck, by column."""
    with FILE.open(encoding="utf-8", newline="") as lines:
        return tuple(csv.DictReader(lines))


DATASET = PublishedLuck()
