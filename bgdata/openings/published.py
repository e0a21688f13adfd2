"""How others say that first rolls are best played: `opening_plays.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).with_name("opening_plays.toml")


class PublishedEquity(NamedTuple):
    """The equity of a play without a cube, and its standard error, in points."""

    roll: str
    play: str
    equity: float
    standard_error: float


@dataclass(frozen=True)
class PublishedOpenings:
    """What one source says of first rolls in money play: the best plays of a roll, about equal ones together, and
    rollouts."""

    name: str
    source: str
    date: str
    place: str
    plays: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    equities: tuple[PublishedEquity, ...] = ()


def published_openings() -> tuple[PublishedOpenings, ...]:
    """All sources, in the order of the file."""
    records = tomllib.loads(FILE.read_text())["source"]
    return tuple(
        PublishedOpenings(
            record["name"],
            record["source"],
            record["date"],
            record["place"],
            {roll: tuple(plays) for roll, plays in record.get("plays", {}).items()},
            tuple(PublishedEquity(*row) for row in record.get("equities", ())),
        )
        for record in records
    )
