"""Reads the tables of an opening book, and compares them with players and published tables."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import hypot
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from bgdata.errors import UsageError, cite
from bgdata.evaluation.chances import Evaluator, turned_chances
from bgdata.game.position import Position
from bgdata.openings.candidates import SURE, Objective
from bgdata.openings.kinds.openings import DATASET
from bgdata.store.parquet import RowReader
from bgdata.store.table import Table
from bgdata.warehouse import Row

Decision: TypeAlias = list[Row]  # the candidates, best first
NAMES = ("first_roll", "first_play", "reply_roll")
FILE = Path(__file__).with_name("opening_plays.toml")


class PublishedEquity(NamedTuple):
    """A published cubeless equity of a play, and its standard error, in points."""

    roll: str
    play: str
    equity: float
    standard_error: float


@dataclass(frozen=True)
class PublishedOpenings:
    """What one source published about first rolls in money play: the best plays of each roll, with plays that are
    roughly equal, and the results of rollouts."""

    name: str
    source: str
    date: str
    place: str
    plays: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    equities: tuple[PublishedEquity, ...] = ()


def published_sources() -> list[PublishedOpenings]:
    """Return the sources in `opening_plays.toml`, in the order of the file."""
    found = []
    for record in tomllib.loads(FILE.read_text())["source"]:
        plays = {roll: tuple(plays) for roll, plays in record.pop("plays", {}).items()}
        equities = tuple(PublishedEquity(*row) for row in record.pop("equities", ()))
        found.append(PublishedOpenings(**record, plays=plays, equities=equities))
    return found


def decisions_of(tables: Iterable[Table]) -> list[Decision]:
    """Return all decisions in the tables of a book. A decision is a list of rows of `openings`, one for each
    candidate."""
    names = [column.name for column in DATASET.columns]
    found = []
    for table in tables:
        rows = RowReader(table.parquet).read(names, 0, table.manifest.rows).to_pylist()
        found += [list(group) for _, group in groupby(rows, key=lambda row: row["decision"])]
    return found


def first_rolls(decisions: Iterable[Decision]) -> list[Decision]:
    """Return the decisions that are first rolls."""
    return [decision for decision in decisions if decision[0]["reply_roll"] is None]


def find_first_roll(decisions: Iterable[Decision], roll: str) -> Decision:
    """Return the decision for the first roll `roll`. Raises UsageError if the book does not contain it."""
    firsts = {decision[0]["first_roll"]: decision for decision in first_rolls(decisions)}
    if roll not in firsts:
        raise UsageError(f"expected a first roll of this book ({', '.join(firsts)}), got {roll}")
    return firsts[roll]


def find_reply(decisions: Sequence[Decision], first_roll: str, play: str, roll: str) -> Decision:
    """Return the decision for a reply to a play of a first roll; if `play` is empty, to the best play. Raises
    UsageError if the book does not contain it."""
    candidates = find_first_roll(decisions, first_roll)
    place = {"first_roll": first_roll, "first_play": play or candidates[0]["play"]}
    replies = [each for each in decisions if each[0]["reply_roll"] and place.items() <= each[0].items()]
    if not replies:
        answered = {each[0]["first_play"] for each in decisions if each[0]["first_roll"] == first_roll} - {None}
        raise UsageError(
            f"expected a play of {first_roll} that this book answers ({', '.join(sorted(answered)) or 'none'}), "
            f"got {cite(place['first_play'])}"
        )
    return next(each for each in replies if each[0]["reply_roll"] == roll)


def published_differences(decisions: Iterable[Decision], published: PublishedOpenings) -> Iterator[Row]:
    """Yield the differences between a source and the book's first rolls: best plays that lose, and equities that
    differ, by more than SURE standard errors. If the book did not roll out a play, its difference is unknown."""
    for decision in first_rolls(decisions):
        roll = decision[0]["first_roll"]
        if roll in published.plays:
            yield from play_difference(decision, published.name, published.plays[roll])
        for equity in (each for each in published.equities if each.roll == roll):
            yield from equity_difference(decision, published.name, *equity[1:])


def evaluator_differences(decisions: Sequence[Decision], name: str, evaluator: Evaluator) -> Iterator[Row]:
    """Yield the decisions in which an evaluator prefers a candidate that loses more than SURE standard errors."""
    objective = Objective(decisions[0][0]["objective"])
    rows = [row for decision in decisions for row in decision]
    boards = np.array([Position(row["next_position_id"]).board for row in rows], np.int8)
    equities = iter(objective.equities(turned_chances(evaluator.evaluate_many(boards).chances).astype(np.float64)))
    for decision in decisions:
        preferred = int(np.argmax([next(equities) for _ in decision]))
        yield from play_difference(decision, name, [decision[preferred]["play"]])


def play_difference(decision: Decision, name: str, plays: Sequence[str]) -> Iterator[Row]:
    """Yield a row if the best of a source's `plays` is not a candidate of the book, or loses more than SURE standard
    errors."""
    found = next((row for row in decision if row["play"] in plays), None)
    if found is None:
        yield difference_row(decision, name, " or ".join(plays), "loss")
    elif found["loss"] > SURE * found["loss_standard_error"]:
        yield difference_row(decision, name, found["play"], "loss", found["loss"], found["loss_standard_error"])


def equity_difference(decision: Decision, name: str, play: str, equity: float, error: float) -> Iterator[Row]:
    """Yield a row if a source's equity of a play differs from the book's equity by more than SURE standard errors, or
    if the difference is unknown."""
    found = next((row for row in decision if row["play"] == play), None)
    if found is None:
        yield difference_row(decision, name, play, "equity")
        return
    difference, error = equity - found["equity"], hypot(error, found["standard_error"])
    if abs(difference) > SURE * error:
        yield difference_row(decision, name, play, "equity", difference, error)


def difference_row(
    decision: Decision, name: str, play: str, quantity: str, difference: float | None = None, error: float | None = None
) -> Row:
    """Return a row of the comparison of the book with a source: the decision, the source's name and play, and the
    difference; None if it is unknown."""
    best = decision[0]
    return {
        "source": name,
        **{column: best[column] for column in NAMES},
        "best_play": best["play"],
        "play": play,
        "quantity": quantity,
        "difference": difference,
        "standard_error": error,
    }
