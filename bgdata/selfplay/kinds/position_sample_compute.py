"""Samples distinct positions of self-play by class."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bgdata.game.classes import PositionClass
from bgdata.kinds.rechecking import check_rows
from bgdata.selfplay.kinds.position_sample import SampleParameters
from bgdata.selfplay.kinds.shared.games_compute import (
    RowsComputation,
    chosen_rows,
    counts_of,
    file_classes,
    turn_places,
)
from bgdata.selfplay.splits import SPLITS, splits_of_games
from bgdata.store.dataset import Build, Computed, Recheck, sampled


class PositionSampleComputation(RowsComputation[SampleParameters]):
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

    def statistics(self, computed: Computed[SampleParameters]) -> Mapping[str, float]:
        classes = file_classes(np.asarray(computed.arrays["classes"]))
        kinds = (PositionClass.CONTACT, PositionClass.CRASHED, PositionClass.RACE)
        return counts_of(computed.arrays["splits"], SPLITS) | {
            kind.name.lower(): float((classes == kind).sum()) for kind in kinds
        }

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


COMPUTATION = PositionSampleComputation
