"""Distinct positions of self-play, so many of each class: what is worth a label, split by game."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bgdata.datasets.common.columns import CLASS_COLUMN, POSITION_COLUMNS, chosen_texts, class_column, position_columns
from bgdata.datasets.common.games import slices, turn_places
from bgdata.datasets.selfplay import DATASET as SELFPLAY
from bgdata.datasets.selfplay import SelfPlayParameters
from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.store.context import Build, Computed, Recheck
from bgdata.store.dataset import Dataset, Estimate, sampled
from bgdata.store.declaration import Column, FlatArray
from bgdata.store.parameters import Parameters

if TYPE_CHECKING:
    import pyarrow as pa

    from bgdata.store.arrays import Array


@dataclass(frozen=True)
class SampleParameters(SelfPlayParameters):
    """A corpus, and how many positions of each class are taken from it at most."""

    most: int = 2000


class PositionSample(Dataset[SampleParameters]):
    """One row a position, in the order of the games."""

    name = "position_sample"
    revision = 1
    summary = "Distinct positions of self-play, of each class as many, split into train, validation and test by game."
    source = "Computed: chosen from a version of selfplay by a hash of the position"
    columns = (
        Column("game", "INTEGER", "", "Number of the first game of the corpus that has the position"),
        Column("turn", "INTEGER", "", "Number of the turn in that game, from 0"),
        *POSITION_COLUMNS,
        CLASS_COLUMN,
        Column("split", "VARCHAR", "", "train, validation or test: the same for all positions of a game"),
    )
    key = ("game", "turn")
    arrays = (
        FlatArray("boards", "int8", "row, 26 integers", "Boards of the player on roll"),
        FlatArray("classes", "uint8", "row", "Class of the position, numbered as by gnubg"),
        FlatArray("games", "int32", "row", "Number of the game"),
        FlatArray("turns", "int32", "row", "Number of the turn in it"),
        FlatArray("splits", "uint8", "row", "Train, validation or test: 0, 1 or 2"),
    )
    parameters = SampleParameters
    defaults = (SampleParameters(),) if SELFPLAY.defaults else ()
    smallest = SampleParameters(**vars(SELFPLAY.smallest), most=40)

    def slug(self, parameters: SampleParameters) -> str:
        return f"{SELFPLAY.slug(corpus_of(parameters))}-most-{parameters.most}"

    def check_parameters(self, parameters: SampleParameters) -> None:
        SELFPLAY.check_parameters(corpus_of(parameters))
        if not 1 <= parameters.most < 1 << 31:
            raise InvalidParameterError(f"expected at least 1 position of each class, got {parameters.most}")

    def inputs(self, parameters: SampleParameters) -> Mapping[str, tuple[str, Parameters]]:
        return {"games": (SELFPLAY.name, corpus_of(parameters))}

    def estimate(self, parameters: SampleParameters) -> Estimate:
        rows = min(3 * parameters.most, 40 * parameters.games)
        return Estimate(rows, 80 * rows, (1 << 28) + 6000 * parameters.games)

    def compute(self, build: Build[SampleParameters]) -> None:
        from bgdata.play.splits import splits_of_games

        job = build.job
        corpus = build.inputs["games"]
        boards, classes = np.asarray(corpus.array("turn_boards")), np.asarray(corpus.array("turn_classes"))
        rows = chosen_rows(boards, classes, build.parameters.most)
        games, turns = turn_places(np.asarray(corpus.array("first_turns")), slice(0, len(boards)))
        job.save("boards", boards[rows])
        job.save("classes", classes[rows])
        job.save("games", games[rows].astype(np.int32))
        job.save("turns", turns[rows].astype(np.int32))
        job.save("splits", splits_of_games(build.parameters.seed, games[rows]))

    def batches(self, computed: Computed[SampleParameters]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        from bgdata.play.splits import SPLITS

        for rows in slices(len(computed.arrays["games"]), self.row_group_rows):
            found = {name: np.asarray(values[rows]) for name, values in computed.arrays.items()}
            yield pa.record_batch(
                {
                    "game": found["games"],
                    "turn": found["turns"],
                    **position_columns(found["boards"]),
                    "class": class_column(found["classes"]),
                    "split": chosen_texts(pa.array(SPLITS), found["splits"].astype(np.int32)),
                }
            )

    def statistics(self, computed: Computed[SampleParameters]) -> Mapping[str, float]:
        from bgdata.game.classes import PositionClass
        from bgdata.play.splits import SPLITS

        splits = np.bincount(computed.arrays["splits"], minlength=len(SPLITS))
        classes = file_classes(np.asarray(computed.arrays["classes"]))
        named = {name: float(count) for name, count in zip(SPLITS, splits, strict=True)}
        kinds = (PositionClass.CONTACT, PositionClass.CRASHED, PositionClass.RACE)
        return named | {kind.name.lower(): float((classes == kind).sum()) for kind in kinds}

    def check_sample(self, recheck: Recheck[SampleParameters]) -> str:
        """Every row is the position of its game and turn, and no earlier turn has the same."""
        from bgdata.play.splits import splits_of_games

        table = recheck.table
        corpus = recheck.inputs["games"]
        first_turns, boards = np.asarray(corpus.array("first_turns")), corpus.array("turn_boards")
        games, turns = np.asarray(table.array("games")), np.asarray(table.array("turns"))
        seed = self.parameters.from_manifest(table.manifest.parameters).seed
        chosen = recheck.generator.permutation(len(games))[: recheck.rows]
        places = first_turns[games[chosen]] + turns[chosen]
        expected = {
            "boards": boards[places],
            "classes": corpus.array("turn_classes")[places],
            "splits": splits_of_games(seed, games[chosen]),
        }
        for name, values in expected.items():
            found = np.asarray(table.array(name))[chosen]
            wrong = np.flatnonzero((found != values).reshape(len(chosen), -1).any(axis=1))
            if len(wrong):
                row = int(chosen[wrong[0]])
                raise CheckFailedError(f"expected {name} of the game's turn in row {row} of {table.name}, found others")
        return sampled(len(chosen), len(games))


def corpus_of(parameters: SelfPlayParameters) -> SelfPlayParameters:
    """The corpus that is sampled, by parameters that name more than it."""
    return SelfPlayParameters(**{name: getattr(parameters, name) for name in SelfPlayParameters.names()})


def file_classes(classes: Array) -> Array:
    """Classes as files of positions name them, as their numbers: all bearoffs are races."""
    from bgdata.game.classes import PositionClass

    table = np.zeros(max(PositionClass) + 1, np.uint8)
    for entry in PositionClass:
        table[entry] = entry.file_class
    return table[classes]


def chosen_rows(boards: Array, classes: Array, most: int) -> Array:
    """int64[n]: ascending rows of int8[rows, 26] boards, each the first of its position, at most `most` of each class.

    Of more positions those with the lowest hash are taken: a larger corpus keeps what is chosen from a smaller one,
    or finds lower ones.
    """
    _, first = np.unique(board_hashes(boards), return_index=True)
    found = file_classes(classes[first])
    chosen = [np.zeros(0, np.int64)]
    for number in np.unique(found):
        members = np.flatnonzero(found == number)
        chosen.append(first[members[:most]])  # hashes ascend
    return np.sort(np.concatenate(chosen))


def board_hashes(boards: Array) -> Array:
    """uint64[n]: hashes of int8[n, 26] boards that look random. Of a million positions two have the same with a chance
    of 1 in 40 million; then one of them is not chosen."""
    from bgdata.game.random import mixed

    padded = np.zeros((len(boards), 32), np.int8)
    padded[:, : boards.shape[1]] = boards
    hashes = np.zeros(len(boards), np.uint64)
    for word in padded.view("<u8").T:
        with np.errstate(over="ignore"):
            hashes = mixed(hashes + word.astype(np.uint64))
    return hashes


DATASET = PositionSample()
