"""Samples distinct positions of self-play by class, and the positions after the best plays of turns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from bgdata.errors import InvalidParameterError
from bgdata.evaluation.choices import Chooser
from bgdata.game.board_kernels import position_classes
from bgdata.game.classes import PositionClass
from bgdata.game.codec import flip_boards
from bgdata.game.play_kernels import batch_plays
from bgdata.kinds.rechecking import check_arrays, check_rows
from bgdata.selfplay.kinds.play_sample import PlaySampleParameters
from bgdata.selfplay.kinds.position_sample import SampleParameters
from bgdata.selfplay.kinds.shared.games_compute import (
    RowsComputation,
    counts_of,
    file_classes,
    sample_rows,
    slices,
)
from bgdata.selfplay.kinds.shared.rollouts_compute import open_roller
from bgdata.selfplay.rollout_decisions import Window, static_losses, within_window
from bgdata.selfplay.splits import SPLITS, splits_of_games
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computed, Recheck, sample_text
from bgdata.store.table import Table

STEP = 8192  # turns whose plays are evaluated at a time


def game_arrays(corpus: Table, rows: Array, seed: int) -> dict[str, Array]:
    """Return the arrays `games`, `turns` and `splits` for these turn rows of a corpus. `seed` is the seed of the games,
    which decides their splits."""
    first_turns = np.asarray(corpus.array("first_turns"))
    games = np.searchsorted(first_turns, rows, side="right") - 1
    turns = rows - first_turns[games]
    return {
        "games": games.astype(np.int32), "turns": turns.astype(np.int32), "splits": splits_of_games(seed, games)
    }  # fmt: skip


class PositionSampleComputation(RowsComputation[SampleParameters]):
    """Computes `position_sample`: chooses distinct positions of each class from a corpus."""

    def compute(self, build: Build[SampleParameters]) -> None:
        corpus, job = build.inputs["games"], build.job
        boards, classes = corpus.array("turn_boards"), corpus.array("turn_classes")
        rows = sample_rows(build, build.parameters.most)
        with job.create("boards", np.int8, (len(rows), 26)) as writer:
            for block in slices(len(rows), STEP**2):
                writer.write(block.start, boards[rows[block]])
        for name, values in {"classes": classes[rows], **game_arrays(corpus, rows, build.parameters.seed)}.items():
            job.save(name, values)

    def statistics(self, computed: Computed[SampleParameters]) -> Mapping[str, float]:
        classes = file_classes(np.asarray(computed.arrays["classes"]))
        kinds = (PositionClass.CONTACT, PositionClass.CRASHED, PositionClass.RACE)
        return counts_of(computed.arrays["splits"], SPLITS) | {
            kind.name.lower(): float((classes == kind).sum()) for kind in kinds
        }

    def check_sample(self, recheck: Recheck[SampleParameters]) -> str:
        """Check that each row is the position of its game and turn in the corpus."""
        table, corpus = recheck.table, recheck.inputs["games"]
        games, turns = np.asarray(table.array("games")), np.asarray(table.array("turns"))
        chosen = recheck.generator.permutation(len(games))[: recheck.rows]
        places = np.asarray(corpus.array("first_turns"))[games[chosen]] + turns[chosen]
        expected = {
            "boards": corpus.array("turn_boards")[places],
            "classes": corpus.array("turn_classes")[places],
            "splits": splits_of_games(recheck.parameters.seed, games[chosen]),
        }
        check_rows(table, chosen, expected)
        return sample_text(len(chosen), len(games))


class PlayRows(NamedTuple):
    """The chosen plays of several turns, one row for each play."""

    boards: Array  # int8[n, 26] after the play, for the opponent, who is on roll
    turns: Array  # int64[n] index of the turn in the input
    ranks: Array  # uint8[n] rank of the play, from 1 for the best
    losses: Array  # float32[n] loss against the best play, in points at 0-ply


class PlaySampleComputation(RowsComputation[PlaySampleParameters]):
    """Computes `play_sample`: ranks the plays of sampled turns, and stores the positions after the best plays."""

    def compute(self, build: Build[PlaySampleParameters]) -> None:
        parameters, job = build.parameters, build.job
        corpus, chooser = build.inputs["games"], open_roller(build).chooser
        boards, dice, classes = (corpus.array(name) for name in ("turn_boards", "dice", "turn_classes"))
        rows = sample_rows(build, parameters.most)
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
        own = {"classes": position_classes(found.boards).astype(np.uint8)}
        for name, values in {**found._asdict(), **own, **game_arrays(corpus, found.turns, parameters.seed)}.items():
            job.save(name, values)

    def own_columns(self, found: Mapping[str, Array], _computed: Computed[PlaySampleParameters]) -> dict[str, Any]:
        return {"rank": found["ranks"].astype(np.int16), "loss": found["losses"].astype(np.float64)}

    def statistics(self, computed: Computed[PlaySampleParameters]) -> Mapping[str, float]:
        turns = float((np.asarray(computed.arrays["ranks"]) == 1).sum())
        return {**counts_of(computed.arrays["splits"], SPLITS), "turns": turns}

    def check_sample(self, recheck: Recheck[PlaySampleParameters]) -> str:
        """Rank the plays of a random sample of turns again, and compare them with the stored rows."""
        table, corpus, chooser = recheck.table, recheck.inputs["games"], open_roller(recheck).chooser
        games, turns, ranks = (np.asarray(table.array(name)) for name in ("games", "turns", "ranks"))
        begins = np.flatnonzero(ranks == 1)
        ends = np.append(begins[1:], len(ranks))
        chosen = np.sort(recheck.generator.permutation(len(begins))[: recheck.rows])
        here = np.concatenate([np.arange(begins[turn], ends[turn]) for turn in chosen])
        first = begins[chosen]
        places = np.asarray(corpus.array("first_turns"))[games[first]] + turns[first]
        boards, dice = corpus.array("turn_boards")[places], corpus.array("dice")[places]
        expected = plays_of(chooser, boards, dice, recheck.parameters.window())
        of_turn = {"games": games[first][expected.turns], "turns": turns[first][expected.turns]}
        check_rows(table, here, {**expected._asdict(), **of_turn})
        classes = position_classes(np.ascontiguousarray(table.array("boards"))).astype(np.uint8)
        check_arrays(table, {"classes": classes, "splits": splits_of_games(recheck.parameters.seed, games)})
        return sample_text(len(chosen), len(begins), "turns")


def plays_of(chooser: Chooser, boards: Array, dice: Array, window: Window) -> PlayRows:
    """Return the best plays of int8[n, 26] boards with int8[n, 2] dice, by a network at 0-ply. `window` says how many
    plays are included."""
    offsets, after_play = batch_plays(np.ascontiguousarray(boards), np.ascontiguousarray(dice))
    after = flip_boards(after_play)
    losses = static_losses(chooser, after, offsets)
    kept = within_window(losses, offsets, window)
    turns = np.searchsorted(offsets, kept, side="right") - 1
    order = np.lexsort((losses[kept], turns))  # stable, so equal plays stay in order
    kept, turns = kept[order], turns[order]
    first = np.searchsorted(turns, turns)
    return PlayRows(after[kept], turns, (np.arange(len(turns)) - first + 1).astype(np.uint8), losses[kept])


COMPUTATION = {"position_sample": PositionSampleComputation, "play_sample": PlaySampleComputation}
