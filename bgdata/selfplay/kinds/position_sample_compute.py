"""Samples distinct positions of self-play by class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from bgdata.game.classes import PositionClass
from bgdata.game.random import mix_bits
from bgdata.kinds.column_values import chosen_texts, class_column, position_columns
from bgdata.kinds.rechecking import check_rows
from bgdata.selfplay.kinds.position_sample import SampleParameters
from bgdata.selfplay.kinds.shared.games_compute import slices, turn_places
from bgdata.selfplay.splits import SPLITS, splits_of_games
from bgdata.store.arrays import Array
from bgdata.store.context import Build, Computed, Recheck
from bgdata.store.dataset import Computation, sampled


class PositionSampleComputation(Computation[SampleParameters]):
    """Computation of `position_sample`."""

    def compute(self, build: Build[SampleParameters]) -> None:
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
        for rows in slices(len(computed.arrays["games"]), self.kind.row_group_rows):
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
        splits = np.bincount(computed.arrays["splits"], minlength=len(SPLITS))
        classes = file_classes(np.asarray(computed.arrays["classes"]))
        named = {name: float(count) for name, count in zip(SPLITS, splits, strict=True)}
        kinds = (PositionClass.CONTACT, PositionClass.CRASHED, PositionClass.RACE)
        return named | {kind.name.lower(): float((classes == kind).sum()) for kind in kinds}

    def check_sample(self, recheck: Recheck[SampleParameters]) -> str:
        """Every row is the position of its game and turn, and no earlier turn has the same."""
        table = recheck.table
        corpus = recheck.inputs["games"]
        first_turns, boards = np.asarray(corpus.array("first_turns")), corpus.array("turn_boards")
        games, turns = np.asarray(table.array("games")), np.asarray(table.array("turns"))
        seed = recheck.parameters.seed
        chosen = recheck.generator.permutation(len(games))[: recheck.rows]
        places = first_turns[games[chosen]] + turns[chosen]
        expected = {
            "boards": boards[places],
            "classes": corpus.array("turn_classes")[places],
            "splits": splits_of_games(seed, games[chosen]),
        }
        check_rows(table, chosen, expected)
        return sampled(len(chosen), len(games))


def file_classes(classes: Array) -> Array:
    """Classes as files of positions name them, as their numbers: all bearoffs are races."""
    table = np.zeros(max(PositionClass) + 1, np.uint8)
    for entry in PositionClass:
        table[entry] = entry.file_class
    return table[classes]


def chosen_rows(boards: Array, classes: Array, most: int) -> Array:
    """int64[n]: ascending rows of int8[rows, 26] boards, each the first of its position, at most `most` of each class.

    If there are more, those with the lowest hashes are taken, so a larger corpus keeps the choice from a smaller one,
    or finds lower hashes.
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
    padded = np.zeros((len(boards), 32), np.int8)
    padded[:, : boards.shape[1]] = boards
    hashes = np.zeros(len(boards), np.uint64)
    for word in padded.view("<u8").T:
        with np.errstate(over="ignore"):
            hashes = mix_bits(hashes + word.astype(np.uint64))
    return hashes


COMPUTATION = PositionSampleComputation
