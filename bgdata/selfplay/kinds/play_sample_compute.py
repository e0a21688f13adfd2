"""Samples the best plays of turns of self-play."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from bgdata.errors import InvalidParameterError
from bgdata.evaluation.choices import Chooser
from bgdata.game.board_kernels import position_classes
from bgdata.game.codec import flip_boards
from bgdata.game.play_kernels import batch_plays
from bgdata.kinds.rechecking import check_arrays, check_rows
from bgdata.selfplay.kinds.play_sample import PlaySampleParameters
from bgdata.selfplay.kinds.shared.games_compute import (
    RowsComputation,
    chosen_rows,
    counts_of,
    file_classes,
    turn_places,
)
from bgdata.selfplay.kinds.shared.rollouts_compute import open_roller
from bgdata.selfplay.rollout_decisions import Window, static_losses, within_window
from bgdata.selfplay.splits import SPLITS, splits_of_games
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computed, Recheck, sampled

STEP = 8192  # turns whose plays are evaluated at a time


class PlayRows(NamedTuple):
    """The plays of some turns: a row a play."""

    boards: Array  # int8[n, 26] after the play, of the opponent, who is on roll
    turns: Array  # int64[n] place of the turn among those given
    ranks: Array  # uint8[n] from 1, the best
    losses: Array  # float32[n] points at 0-ply


class PlaySampleComputation(RowsComputation[PlaySampleParameters]):
    """Computation of `play_sample`."""

    def compute(self, build: Build[PlaySampleParameters]) -> None:
        parameters, job = build.parameters, build.job
        corpus, chooser = build.inputs["games"], open_roller(build).chooser
        boards, dice = np.asarray(corpus.array("turn_boards")), np.asarray(corpus.array("dice"))
        classes = np.asarray(corpus.array("turn_classes"))
        rows = chosen_rows(boards, classes, parameters.most)
        rows = rows[np.isin(file_classes(classes[rows]), parameters.numbers())]
        if not len(rows):
            wanted = " ".join(parameters.classes)
            raise InvalidParameterError(f"expected turns of {wanted} in {corpus.name}, found none; try: more games")
        job.progress.start(job.title, len(rows), "turns")
        parts = []
        for start in range(0, len(rows), STEP):
            part = rows[start : start + STEP]
            found = plays_of(chooser, boards[part], dice[part], parameters.window())
            parts.append(found._replace(turns=part[found.turns]))
            job.progress.advance(len(part))
        found = PlayRows(*map(np.concatenate, zip(*parts, strict=True)))
        games, turns = turn_places(np.asarray(corpus.array("first_turns")), slice(0, len(boards)))
        job.save("boards", found.boards)
        job.save("classes", position_classes(found.boards).astype(np.uint8))
        job.save("games", games[found.turns].astype(np.int32))
        job.save("turns", turns[found.turns].astype(np.int32))
        job.save("ranks", found.ranks)
        job.save("losses", found.losses)
        job.save("splits", splits_of_games(parameters.seed, games[found.turns]))

    def own_columns(self, found: Mapping[str, Array], _computed: Computed[PlaySampleParameters]) -> dict[str, Any]:
        return {"rank": found["ranks"].astype(np.int16), "loss": found["losses"].astype(np.float64)}

    def statistics(self, computed: Computed[PlaySampleParameters]) -> Mapping[str, float]:
        turns = float((np.asarray(computed.arrays["ranks"]) == 1).sum())
        return {**counts_of(computed.arrays["splits"], SPLITS), "turns": turns}

    def check_sample(self, recheck: Recheck[PlaySampleParameters]) -> str:
        """Rank the plays of some turns again."""
        table = recheck.table
        corpus, chooser = recheck.inputs["games"], open_roller(recheck).chooser
        first_turns = np.asarray(corpus.array("first_turns"))
        begins = np.flatnonzero(np.asarray(table.array("ranks")) == 1)
        ends = np.append(begins[1:], len(table.array("ranks")))
        chosen = np.sort(recheck.generator.permutation(len(begins))[: recheck.rows])
        here = np.concatenate([np.arange(begins[turn], ends[turn]) for turn in chosen])
        first = begins[chosen]
        places = first_turns[np.asarray(table.array("games"))[first]] + np.asarray(table.array("turns"))[first]
        boards, dice = np.asarray(corpus.array("turn_boards"))[places], np.asarray(corpus.array("dice"))[places]
        expected = plays_of(chooser, boards, dice, recheck.parameters.window())
        turns = {name: np.asarray(table.array(name))[first][expected.turns] for name in ("games", "turns")}
        check_rows(table, here, {**expected._asdict(), **turns})
        games, after = np.asarray(table.array("games")), np.ascontiguousarray(table.array("boards"))
        splits = splits_of_games(recheck.parameters.seed, games)
        check_arrays(table, {"classes": position_classes(after).astype(np.uint8), "splits": splits})
        return sampled(len(chosen), len(begins), "turns")


def plays_of(chooser: Chooser, boards: Array, dice: Array, window: Window) -> PlayRows:
    """The best plays of int8[n, 26] boards with int8[n, 2] dice, by a network at 0-ply."""
    offsets, after_play = batch_plays(np.ascontiguousarray(boards), np.ascontiguousarray(dice))
    after = flip_boards(after_play)
    losses = static_losses(chooser, after, offsets)
    kept = within_window(losses, offsets, window)
    turns = np.searchsorted(offsets, kept, side="right") - 1
    order = np.lexsort((losses[kept], turns))  # stable: of equals the first
    kept, turns = kept[order], turns[order]
    first = np.searchsorted(turns, turns)
    return PlayRows(after[kept], turns, (np.arange(len(turns)) - first + 1).astype(np.uint8), losses[kept])


COMPUTATION = PlaySampleComputation
