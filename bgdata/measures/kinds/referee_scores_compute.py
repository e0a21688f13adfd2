"""An exact referee: what checker plays lose in bearoffs that a two-sided table has solved, or in solved endgames.

Bearoff decisions are from games that PubEval plays against itself, in the order in which they occur, so that common
positions count more. Every position that the table covers is a decision if its roll allows at least two different
plays. The loss of a choice is the cubeless equity after the best play minus the cubeless equity after the choice, both
from the table. Nothing is rolled out, so the only noise is the choice of decisions.

Games rarely reach contact with as few checkers as contact endgames have. Decisions of contact endgames are therefore
drawn at random. All pairs of layouts that have not passed each other are equally likely, and the roll must allow at
least two different plays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bgdata.bearoff.kinds.bearoff_two_sided_compute import error_bound
from bgdata.endgames.kinds.contact_endgame import POINTS as ANYWHERE
from bgdata.endgames.kinds.contact_endgame_compute import ERROR_BOUND
from bgdata.endgames.layouts import Layouts, all_layouts, boards_of, layout_indexes
from bgdata.endgames.plays import DICE, WEIGHTS
from bgdata.endgames.solver import is_possible
from bgdata.errors import InvalidPositionError, UsageError
from bgdata.evaluation.bearoff import map_tables
from bgdata.evaluation.bearoff_kernels import BearoffArrays, BearoffSource, exact_cell, exact_equity, fill_bearoff
from bgdata.evaluation.player import PubEval, open_player_of_version
from bgdata.evaluation.value_errors import clustered_standard_error
from bgdata.game.board_kernels import game_outcomes
from bgdata.game.classes import PASSED_PIPS
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.play_kernels import batch_plays, play_counts
from bgdata.kernel import Array, kernel, prange
from bgdata.kinds.column_values import position_columns
from bgdata.kinds.rechecking import check_rows
from bgdata.measures.kinds.referee_scores import RefereeParameters
from bgdata.selfplay.games import self_play
from bgdata.selfplay.kinds.shared.games_compute import slices
from bgdata.store.dataset import Build, Computation, Computed, Recheck, sample_text
from bgdata.store.table import Table

GAMES = 512  # games played at a time
DRAWN = 4096  # pairs of layouts and rolls drawn at a time
MAX_GAMES = 1000  # maximum number of games for each wanted decision, because games rarely reach a small table
QUANTILES = {"loss_of_worst_tenth": 0.9, "loss_of_worst_hundredth": 0.99, "loss_of_worst_thousandth": 0.999}


class Decisions(NamedTuple):
    """Positions and rolls in which a player's choice is judged, one row each. A position and roll may occur twice."""

    boards: Boards  # [n, 26] before the roll, for the player on roll
    rolls: NDArray[np.int8]  # [n, 2]
    games: NDArray[np.int64]  # [n] number of the game, because losses in one game are not independent


class RefereeScoresComputation(Computation[RefereeParameters]):
    """Computes `referee_scores`: draws decisions, and judges a player's plays by an exact table."""

    def compute(self, build: Build[RefereeParameters]) -> None:
        parameters, job = build.parameters, build.job
        player = open_player_of_version(
            parameters.player, parameters.ply, parameters.version, build.warehouse, tables=parameters.tables
        )
        decisions = decisions_of(build.inputs["table"], parameters)
        job.progress.start(job.title, len(decisions.boards), "decisions")
        chosen = player.choose_plays(decisions.boards, decisions.rolls)
        job.progress.advance(len(chosen))
        found = judge(build.inputs["table"], parameters, decisions, chosen)
        for name, values in {**decisions._asdict(), "chosen": chosen, **found}.items():
            job.save(name, values)

    def batches(self, computed: Computed[RefereeParameters]) -> Iterator[pa.RecordBatch]:
        for rows in slices(len(computed.arrays["losses"]), self.kind.row_group_rows):
            part = {name: np.asarray(values[rows]) for name, values in computed.arrays.items()}
            yield pa.record_batch(
                {
                    "decision": np.arange(rows.start, rows.stop, dtype=np.int32),
                    **position_columns(part["boards"]),
                    "die1": np.ascontiguousarray(part["rolls"][:, 0]),
                    "die2": np.ascontiguousarray(part["rolls"][:, 1]),
                    "n_plays": part["n_plays"],
                    "next_position_id": position_columns(part["chosen"])["position_id"],
                    "best_position_id": position_columns(part["best"])["position_id"],
                    "rank": part["ranks"],
                    "loss": part["losses"],
                }
            )

    def statistics(self, computed: Computed[RefereeParameters]) -> Mapping[str, float]:
        losses = np.asarray(computed.arrays["losses"])
        return {
            "mean_loss": float(losses.mean()),
            "standard_error": clustered_standard_error(losses, np.asarray(computed.arrays["games"])),
            "error_share": float((np.asarray(computed.arrays["ranks"]) > 0).mean()),
            **{name: float(np.quantile(losses, at, method="higher")) for name, at in QUANTILES.items()},
            "largest_loss": float(losses.max()),
            "loss_error_bound": tolerance(computed.parameters),
        }

    def check_sample(self, recheck: Recheck[RefereeParameters]) -> str:
        """Draw the decisions again, and judge the stored choices again."""
        table, parameters = recheck.table, recheck.parameters
        decisions = decisions_of(recheck.inputs["table"], parameters)
        found = judge(recheck.inputs["table"], parameters, decisions, np.asarray(table.array("chosen")))
        rows = recheck.generator.permutation(parameters.decisions)[: recheck.rows]
        check_rows(table, rows, {name: values[rows] for name, values in {**decisions._asdict(), **found}.items()})
        return sample_text(min(recheck.rows, parameters.decisions), parameters.decisions, "decisions")


def tolerance(parameters: RefereeParameters) -> float:
    """Return the error bound of a loss, in points: the sum of the error bounds of two equities."""
    is_contact = parameters.points == ANYWHERE
    return 2 * (ERROR_BOUND if is_contact else error_bound(parameters.points, parameters.checkers))


def decisions_of(table: Table, parameters: RefereeParameters) -> Decisions:
    """Return the decisions that the parameters choose, which the exact table covers. Raises the same exceptions as
    `exact_decisions`."""
    if parameters.points == ANYWHERE:
        return contact_decisions(all_layouts(parameters.checkers), parameters.decisions, parameters.seed)
    return exact_decisions(map_tables(table, None, None), parameters.decisions, parameters.seed)


def judge(table: Table, parameters: RefereeParameters, decisions: Decisions, chosen: Array) -> dict[str, Array]:
    """Judge the choices `chosen` by an exact table. Returns the arrays of `judge_choices`."""
    if parameters.points == ANYWHERE:
        return judge_choices(
            partial(contact_equities, table.array("equities")), decisions, chosen, tolerance(parameters)
        )
    equities = partial(bearoff_equities, map_tables(table, None, None))
    return judge_choices(equities, decisions, chosen, tolerance(parameters))


def exact_decisions(tables: BearoffArrays, count: int, seed: int) -> Decisions:
    """Return the first `count` decisions in games 0, 1, ... of a seed that the two-sided table covers. PubEval plays
    both sides. The result does not depend on the number of threads. Raises UsageError if `count` is below 1, if a
    number is beyond 2^63 - 1, and if MAX_GAMES games per decision do not reach enough positions of the table."""
    if count < 1:
        raise UsageError(f"expected at least 1 decision, got {count}")
    found: list[Decisions] = []
    missing, most = count, MAX_GAMES * count
    for first in range(0, most, GAMES):
        games = self_play(PubEval().chooser, min(GAMES, most - first), seed, first)
        sources = np.empty(len(games.boards), np.int8)
        fill_bearoff(tables, games.boards, np.empty((len(games.boards), 5), np.float32), sources)
        covered = np.flatnonzero(sources == BearoffSource.EXACT)
        rows = covered[play_counts(games.boards[covered], games.dice[covered]) > 1][:missing]
        numbers = first + np.searchsorted(games.offsets, rows, side="right") - 1
        found.append(Decisions(games.boards[rows], games.dice[rows], numbers))
        missing -= len(rows)
        if missing == 0:
            return Decisions(*map(np.concatenate, zip(*found, strict=True)))
    raise UsageError(
        f"expected a table that covers {count} decisions of {most} games, found one that covers {count - missing}"
    )


def is_in_contact(layouts: Layouts) -> NDArray[np.bool_]:
    """Return whether the two layouts of a pair can still hit or block each other, as bool[on roll, opponent]. The two
    layouts of such a pair share no point, and both have checkers."""
    rearmost = np.where(layouts.counts > 0, np.arange(1, layouts.counts.shape[1] + 1), 0).max(axis=1)
    found: NDArray[np.bool_] = is_possible(layouts) & (rearmost[:, None] + rearmost[None, :] > PASSED_PIPS)
    found[0], found[:, 0] = False, False
    return found


def contact_decisions(layouts: Layouts, count: int, seed: int) -> Decisions:
    """Draw `count` random contact positions and rolls by a seed, each counted as a game of its own. Rolls have their
    natural chances. Raises UsageError if `count` is below 1."""
    if count < 1:
        raise UsageError(f"expected at least 1 decision, got {count}")
    pairs = np.argwhere(is_in_contact(layouts))
    generator, found, missing = np.random.default_rng(seed), list[tuple[Boards, Boards]](), count
    while missing > 0:
        chosen = pairs[generator.integers(0, len(pairs), DRAWN)]
        rolls = DICE[generator.choice(len(DICE), DRAWN, p=WEIGHTS / WEIGHTS.sum())].astype(np.int8)
        boards = boards_of(layouts.counts[chosen[:, 0]], layouts.counts[chosen[:, 1]])
        rows = np.flatnonzero(play_counts(boards, rolls) > 1)[:missing]
        found.append((boards[rows], rolls[rows]))
        missing -= len(rows)
    boards, rolls = map(np.concatenate, zip(*found, strict=True))
    return Decisions(boards, rolls, np.arange(count))


def judge_choices(
    equities: Callable[[Boards], Array], decisions: Decisions, chosen: Boards, tolerance: float
) -> dict[str, Array]:
    """Judge each choice: how much it loses, and which play is best.

    `chosen` int8[n, 26] are positions after the play, the OPPONENT on roll. `equities` takes int8[m, 26] boards and
    returns float64[m], for the player on roll. The arrays by decision are `losses`, float64 in points; `ranks`, int16,
    the number of plays that are better by more than `tolerance` points, the rounding of a table; `n_plays`, int16, the
    number of legal plays; and `best`, int8[n, 26] after the first of the best plays, the OPPONENT on roll. Raises
    InvalidPositionError if no legal play leads to a choice."""
    offsets, after = batch_plays(decisions.boards, decisions.rolls)
    turned, counts = flip_boards(after), np.diff(offsets)
    values = -equities(turned)
    best = np.maximum.reduceat(values, offsets[:-1])
    first = np.flatnonzero(values == np.repeat(best, counts))
    tops = first[np.searchsorted(first, offsets[:-1])]
    same = np.flatnonzero((turned == np.repeat(chosen, counts, axis=0)).all(axis=1))
    choices = np.append(same, len(values))[np.searchsorted(same, offsets[:-1])]
    for row in np.flatnonzero(choices >= offsets[1:])[:1].tolist():
        raise InvalidPositionError(
            f"expected a legal play of {decisions.rolls[row].tolist()} from {decisions.boards[row].tolist()}, "
            f"got {chosen[row].tolist()}"
        )
    is_better = values > np.repeat(values[choices], counts) + tolerance
    return {
        "losses": values[tops] - values[choices],
        "ranks": np.add.reduceat(is_better.astype(np.int16), offsets[:-1]).astype(np.int16),
        "n_plays": counts.astype(np.int16),
        "best": turned[tops],
    }


def contact_equities(equities: Array, boards: Boards) -> Array:
    """Return the cubeless equities of int8[n, 26] boards for the player on roll, as float64[n], looked up in a contact
    endgame table's equities[on roll, opponent, column]."""
    return np.asarray(equities[(*layout_indexes(boards), 0)], np.float64)


def bearoff_equities(tables: BearoffArrays, boards: Boards) -> Array:
    """Return the cubeless equities of int8[n, 26] boards for the player on roll, as float64[n]. Each board is finished
    or in the two-sided table."""
    outcomes, equities = game_outcomes(boards), np.empty(len(boards), np.float64)
    fill_exact_equities(tables, boards, equities)
    return np.where(outcomes != 0, outcomes, equities)


@kernel(parallel=True)
def fill_exact_equities(tables: BearoffArrays, boards: Boards, equities: NDArray[np.float64]) -> None:
    """Fill equities[row] with the equity of boards[row] from the exact table that covers it. Either side may have borne
    off all checkers."""
    for row in prange(len(boards)):
        equities[row] = exact_equity(tables, exact_cell(tables, boards[row]))


COMPUTATION = RefereeScoresComputation
