"""Labels positions of self-play with the outcomes of games, rescored by exact tables.

A label consists of the five chances of a position that a network learns. Without rescoring, each chance is 0 or 1 by
the outcome of the game. A position that a table covers gets the chances of the table. An earlier position gets the
chances of the first covered position that its game reached, seen from the side on roll; this removes the luck of all
later rolls. Games that reach no covered position keep their outcome. (Lc0 rescores its self-play games in this way with
endgame tablebases.)

A luck-adjusted label subtracts luck instead. The value of a position is, on average, the value one turn later minus the
luck of the roll in between, because luck is 0 on average for any evaluation. Going backwards from the end of a game, or
from its first covered position, this gives every position an unbiased label without most of the noise of later rolls.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from bgdata.bearoff.kinds.bearoff_two_sided_compute import error_bound
from bgdata.errors import CorruptFileError
from bgdata.evaluation.bearoff import BearoffEvaluator
from bgdata.evaluation.bearoff_kernels import BearoffArrays, BearoffSource, bearoff_source, fill_bearoff_chances
from bgdata.evaluation.chances import cubeless_equities, fill_outcome_chances, fill_turned
from bgdata.kernel import kernel, prange
from bgdata.kinds.column_values import select_texts
from bgdata.kinds.rechecking import check_rows
from bgdata.selfplay.kinds.selfplay_labels import SelfPlayLabelParameters
from bgdata.selfplay.kinds.shared.games_compute import RowsComputation
from bgdata.selfplay.splits import splits_of_games
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computed, Context, Recheck, sample_text
from bgdata.store.shards import compute_shards, context_of, opened_once, ranges, work_of
from bgdata.store.table import Table
from bgdata.store.worker_inputs import Settings

SHARD_GAMES = 2000  # games of one shard of 7 MB
SOURCES = ("outcome", "exact", "combined")  # in the order of `BearoffSource`
_EXACT, _NONE = int(BearoffSource.EXACT), int(BearoffSource.NONE)


class SelfPlayLabelsComputation(RowsComputation[SelfPlayLabelParameters]):
    """Computes `selfplay_labels`: labels every turn of a corpus with its rescored outcome."""

    weighed_by = {"mean_square_change_covered": "covered"}  # noqa: RUF012 (never changed)

    def compute(self, build: Build[SelfPlayLabelParameters]) -> None:
        parts = ranges(build.items(build.parameters.games), SHARD_GAMES)
        work = work_of(build, f"{__name__}:label_shard", build.inputs)
        shards = list(compute_shards(build.job, "games", work, parts))
        for name in shards[0]:
            build.job.save(name, np.concatenate([shard[name] for shard in shards]))

    def own_columns(self, found: Mapping[str, Array], _computed: Computed[SelfPlayLabelParameters]) -> dict[str, Any]:
        return {
            "outcome": found["outcomes"],
            "label_source": select_texts(pa.array(SOURCES), found["sources"].astype(np.int32)),
            "turns_later": pa.array(found["turns_later"], mask=found["turns_later"] < 0),
            "hedged_equity": pa.array(found["hedged_equities"], from_pandas=True),
        }

    def statistics(self, computed: Computed[SelfPlayLabelParameters]) -> Mapping[str, float]:
        parameters, arrays = computed.parameters, computed.arrays
        before = np.asarray(arrays["outcomes"]).astype(np.float64)
        found = rescoring_figures(before, np.asarray(arrays["chances"]), np.asarray(arrays["turns_later"]))
        if parameters.luck:
            found["variance_hedged"] = float(np.asarray(arrays["hedged_equities"]).astype(np.float64).var())
        return found | {"exact_equity_error_bound": error_bound(parameters.points, parameters.checkers)}

    def check_sample(self, recheck: Recheck[SelfPlayLabelParameters]) -> str:
        """Label the turns of a random sample of games again, and compare them with the stored rows."""
        parameters = recheck.parameters
        games = recheck.items(parameters.games)
        check_corpus(recheck.inputs["games"])
        chosen = games.start + np.sort(recheck.generator.permutation(len(games))[: recheck.rows])
        places = np.flatnonzero(np.isin(recheck.table.array("games"), chosen))
        check_rows(recheck.table, places, label_games(parameters, recheck.inputs, chosen))
        return sample_text(len(chosen), len(games), "games")


def label_shard(settings: Settings, begin: int, end: int) -> dict[str, Array]:
    """Return all declared arrays for the turns of the games from `begin` to before `end` of the corpus."""
    context = opened_once(open_labelling, settings)
    return label_games(context.parameters, context.inputs, np.arange(begin, end))


def open_labelling(settings: Settings) -> Context[SelfPlayLabelParameters]:
    """Open what `label_shard` needs, from its settings: the parameters and the input tables. Raises CorruptFileError if
    a table is damaged."""
    context = context_of(settings, SelfPlayLabelParameters)
    check_corpus(context.inputs["games"])
    return context


def label_games(parameters: SelfPlayLabelParameters, inputs: Mapping[str, Table], games: Array) -> dict[str, Array]:
    """Return all declared arrays for the turns of the corpus games whose ascending numbers are `games`. `check_corpus`
    must have accepted the corpus."""
    corpus, tables = inputs["games"], {role: table for role, table in inputs.items() if role != "games"}
    bearoff = BearoffEvaluator(**tables)
    first_turns = np.asarray(corpus.array("first_turns"))
    n_turns = first_turns[games + 1] - first_turns[games]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(n_turns)])
    numbers, turns = np.repeat(games, n_turns), np.arange(offsets[-1]) - np.repeat(offsets[:-1], n_turns)
    rows = first_turns[numbers] + turns
    boards = np.ascontiguousarray(corpus.array("turn_boards")[rows])
    played = corpus.array("outcomes")[games], corpus.array("begins")[games], offsets
    labels = rescored_labels(bearoff.arrays, *played, boards, combined="one_sided" in tables)
    is_solved = labels.solved >= 0
    return {
        "boards": boards,
        "classes": np.asarray(corpus.array("turn_classes")[rows]),
        "chances": labels.chances,
        "games": numbers.astype(np.int32),
        "turns": turns.astype(np.int32),
        "outcomes": labels.points,
        "sources": np.where(is_solved, sources_of(bearoff, boards, labels.solved), 0).astype(np.uint8),
        "turns_later": np.where(is_solved, labels.solved - np.arange(len(rows)), -1).astype(np.int32),
        "hedged_equities": luck_adjusted_equities(labels, offsets, np.asarray(corpus.array("lucks")[rows])),
        "splits": splits_of_games(parameters.seed, numbers),
    }


def check_corpus(corpus: Table) -> None:
    """Raise CorruptFileError if games and turns of a corpus disagree, because kernels would read out of bounds."""
    first_turns, turns = np.asarray(corpus.array("first_turns")), len(corpus.array("turn_boards"))
    sizes = {name: len(corpus.array(name)) for name in ("outcomes", "begins", "turn_classes", "lucks")}
    games = len(first_turns) - 1
    expected = {"outcomes": games, "begins": games, "turn_classes": turns, "lucks": turns}
    if sizes != expected or first_turns[0] != 0 or first_turns[-1] != turns or (np.diff(first_turns) < 1).any():
        raise CorruptFileError(f"expected whole games in {corpus.name}, found turns of none; try: bgdata verify")


def sources_of(bearoff: BearoffEvaluator, boards: Array, solved: Array) -> Array:
    """Return which table gave the chances of `solved[row]`, the board with which a row was rescored, as int8[n]. Rows
    that were not rescored have undefined values."""
    covered = np.flatnonzero(solved == np.arange(len(solved)))
    sources = np.zeros(len(boards), np.int8)
    sources[covered] = bearoff.evaluate_many(boards[covered]).sources
    return sources[solved]


class Labels(NamedTuple):
    """Labels of turns, one row each, for the player on roll before the roll."""

    points: Array  # int8[n] won at the end of the game, -3 to 3
    chances: Array  # float32[n, 5] rescored
    solved: Array  # int64[n] row of the covered position that gave the label, -1 if the outcome did


def rescored_labels(
    tables: BearoffArrays, outcomes: Array, begins: Array, offsets: Array, boards: Array, *, combined: bool = False
) -> Labels:
    """Label int8[n, 26] boards before the roll with rescored outcomes. Rows belong to games as in `games.Corpus`. A
    game is rescored at a position that the two-sided table contains. If `combined` is true, it is also rescored where
    two one-sided distributions can be combined, which is an approximation. Labels are the same on any number of
    threads."""
    n = len(boards)
    labels = Labels(np.empty(n, np.int8), np.empty((n, 5), np.float32), np.empty(n, np.int64))
    fill_labels(tables, combined, outcomes, begins, offsets, boards, *labels)
    return labels


def rescoring_figures(before: Array, chances: Array, turns_later: Array) -> dict[str, float]:
    """Return how much variance rescoring removes from labels, in squared points of cubeless equity, as statistics.
    `before` contains the float64[n] outcomes, `chances` the chances after rescoring, and `turns_later` the turns until
    a table covers the game (-1 for never)."""
    after = cubeless_equities(chances).astype(np.float64)
    squares, is_covered = (after - before) ** 2, turns_later == 0
    found = {
        "positions": float(len(before)),
        "rescored": float((turns_later >= 0).sum()),
        "covered": float(is_covered.sum()),
        "variance_before": float(before.var()),
        "variance_after": float(after.var()),
        "mean_square_change": float(squares.mean()),  # the removed noise
    }
    if is_covered.any():
        found["mean_square_change_covered"] = float(squares[is_covered].mean())
    share = 1 - found["variance_after"] / found["variance_before"] if found["variance_before"] else 0.0
    return found | {"removed_share": share}


def luck_adjusted_equities(labels: Labels, offsets: Array, lucks: Array) -> Array:
    """Return the luck-adjusted cubeless equity of the player on roll before each roll, in points, as float32[n]: the
    label minus the luck of the rolls that led to it. Rows offsets[g]:offsets[g + 1] belong to game g. The equity is
    exact where a table covers the position, and NaN where the luck of the roll is unknown.

    The value after the last turn of a game is the outcome. Games are summed separately, so a game is the same in any
    corpus."""
    is_covered = labels.solved == np.arange(len(labels.solved))
    rescored = cubeless_equities(labels.chances).astype(np.float64)
    adjusted = np.empty(len(lucks))
    ends, lengths = offsets[1:], np.diff(offsets)
    alive = np.flatnonzero(lengths)
    later = -labels.points[ends[alive] - 1].astype(np.float64)  # from the side of the player who would roll next
    for step in range(1, int(lengths.max(initial=0)) + 1):
        is_left = lengths[alive] >= step
        alive, later = alive[is_left], later[is_left]
        rows = ends[alive] - step
        later = np.where(is_covered[rows], rescored[rows], -later - lucks[rows])
        adjusted[rows] = later
    adjusted[np.isnan(lucks)] = np.nan
    return adjusted.astype(np.float32)


@kernel(parallel=True)
def fill_labels(
    tables: BearoffArrays,
    combined: bool,
    outcomes: Array,
    begins: Array,
    offsets: Array,
    boards: Array,
    points: Array,
    chances: Array,
    solved: Array,
) -> None:
    """Label the turns offsets[game]:offsets[game + 1] of boards[turn, slot], from last to first. Fills points[turn],
    chances[turn, 0:5] and solved[turn]."""
    for game in prange(len(outcomes)):
        begin, end = offsets[game], offsets[game + 1]
        for turn in range(end - 1, begin - 1, -1):
            is_player_0 = (turn - begin + begins[game]) % 2 == 0
            won = outcomes[game] if is_player_0 else -outcomes[game]
            points[turn] = won
            source = bearoff_source(tables, boards[turn])
            if source == _EXACT or (combined and source != _NONE):
                fill_bearoff_chances(tables, boards[turn], chances[turn])
                solved[turn] = turn
            elif turn + 1 < end:
                fill_turned(chances[turn + 1], chances[turn])
                solved[turn] = solved[turn + 1]
            else:
                fill_outcome_chances(won, chances[turn])
                solved[turn] = -1


COMPUTATION = SelfPlayLabelsComputation
