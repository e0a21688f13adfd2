"""Solves every pair of layouts of a few checkers, in rounds, until bounds prove the values. `hypergammon` uses it
too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from bgdata.endgames import solver
from bgdata.endgames.kinds.contact_endgame import EndgameParameters
from bgdata.endgames.layouts import Layouts, all_layouts, boards_of, layout_indexes
from bgdata.endgames.plays import DICE, WEIGHTS
from bgdata.endgames.solver import COLUMNS
from bgdata.errors import CheckFailedError
from bgdata.game.codec import flip_boards
from bgdata.game.play_kernels import batch_plays
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Recheck, drawn_sample_text, sample_text
from bgdata.store.job import Job

KEPT = COLUMNS[:4]  # no gammon, no Jacoby rule
SETTLED = 5e-7  # change in a round below which values are settled: a few roundings
STEADY_ROUNDS = 5  # rounds between extrapolations
MAX_RATIO = 0.9  # largest credible ratio of the changes of two rounds
WIDTH = 5e-6  # largest distance from a value to its bound
UNITS = 200  # WIDTH in units of slack
EXPECTED_ROUNDS = {1: 27, 2: 34, 3: 43, 4: 51}  # for the progress bar only
MAX_ROUNDS = 1000
GROUP_ROWS = 491_520  # rows of a Parquet row group
ERROR_BOUND = WIDTH + 2e-6  # width of bounds plus rounding (measured, see tests/endgames)


class ContactEndgameComputation(Computation[EndgameParameters]):
    """Computes datasets of the kind `contact_endgame`."""

    def compute(self, build: Build[EndgameParameters]) -> None:
        bounds = proven_values(build.job, build.parameters, gammons=False)
        layouts = bounds.layouts
        equities = np.empty((len(layouts), len(layouts), len(KEPT)), np.float32)
        solver.fill_equities(bounds, equities, range(len(KEPT)), solver.points_lost(layouts, gammons=False))
        build.job.save("equities", equities)

    def batches(self, computed: Computed[EndgameParameters]) -> Iterator[pa.RecordBatch]:
        return pair_batches(computed.parameters.checkers, [(computed.arrays["equities"], KEPT)])

    def statistics(self, computed: Computed[EndgameParameters]) -> Mapping[str, float]:  # noqa: ARG002
        return {f"{name}_error_bound": ERROR_BOUND for name in KEPT}

    def check_sample(self, recheck: Recheck[EndgameParameters]) -> str:
        check_pairs(recheck, KEPT)
        return checked_text(recheck)


def proven_values(job: Job, parameters: EndgameParameters, *, gammons: bool) -> solver.Bounds:
    """Compute the values of all pairs, and prove them. Rounds are repeated until the values settle. Then the values get
    bounds, and rounds are repeated until no bound grows, which proves the values. A build that was killed resumes after
    its last checkpoint."""
    values = solver.start_values(all_layouts(parameters.checkers), gammons=gammons)
    before = np.zeros_like(values.cube_values)  # cube values of an earlier round; later the memory of the bounds
    slack, has_bounds = before.view(np.uint8)[: 2 * len(before)], np.zeros(1, np.uint8)
    bounds = values._replace(slack=slack, unit=np.float32(WIDTH / UNITS))
    moves = np.ones(2)  # largest change in the last round, and in the round before
    state: dict[str, Array] = {"worths": values.cube_values, "slack": slack, "has_bounds": has_bounds, "moves": moves}
    sizes = [1] * EXPECTED_ROUNDS[parameters.checkers] + [0] * MAX_ROUNDS
    for number in job.steps("rounds", range(1, MAX_ROUNDS + 1), sizes[:MAX_ROUNDS], state):
        if has_bounds[0]:
            if solver.solve_round(bounds) <= 0 and slack.max() <= UNITS:
                return values
            continue
        is_steady = number % STEADY_ROUNDS == 0
        if is_steady:
            before[...] = values.cube_values
        moves[:] = solver.solve_round(values), moves[0]
        if moves[0] <= SETTLED:
            solver.add_bounds(bounds)
            has_bounds[0] = 1
        elif is_steady:
            solver.extrapolate(values, before, min(moves[0] / moves[1], MAX_RATIO))
    raise CheckFailedError(f"expected values of {job.title} that settle in {MAX_ROUNDS} rounds, found none")


def pair_batches(checkers: int, arrays: Sequence[tuple[Array, Sequence[str]]]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the pairs in which the sides share no point, and both have checkers. `arrays` contains arrays
    [on roll, opponent, column], each with the names of its columns."""
    layouts = all_layouts(checkers)
    wanted = solver.are_unfinished(layouts)
    step = max(1, GROUP_ROWS // len(layouts))
    for start in range(0, len(layouts), step):
        on_roll, opponent = (found.astype(np.int32) for found in np.nonzero(wanted[start : start + step]))
        columns = {"on_roll_index": on_roll + np.int32(start), "opponent_index": opponent}
        for values, names in arrays:
            found = np.asarray(values[start : start + step])[on_roll, opponent]
            columns |= {name: np.ascontiguousarray(found[:, n]) for n, name in enumerate(names)}
        if len(on_roll):
            yield pa.record_batch(columns)


class Successors:
    """All positions after the legal plays of some pairs, listed by the rules of the game without the solver."""

    def __init__(self, layouts: Layouts, on_roll: Array, opponent: Array) -> None:
        boards = boards_of(layouts.counts[on_roll], layouts.counts[opponent])
        self.offsets, after = batch_plays(np.repeat(boards, len(DICE), axis=0), np.tile(DICE, (len(boards), 1)))
        self.on_roll, self.opponent = layout_indexes(flip_boards(after))

    def lowest(self, values: Array) -> Array:
        """Return the lowest of `values` after any play of a roll, as float64[pairs, rolls]."""
        found: Array = np.minimum.reduceat(np.asarray(values, np.float64), self.offsets[:-1])
        return found.reshape(-1, len(DICE))

    def mean_of_lowest(self, values: Array) -> Array:
        """Return the mean over all rolls of the lowest of `values` after any play of the roll, as float64[pairs]."""
        return self.lowest(values) @ WEIGHTS / 36


def check_pairs(recheck: Recheck[EndgameParameters], columns: Sequence[str]) -> Array:
    """Check random pairs of a version by recomputing them from the positions after their legal plays. Returns these
    pairs, int64[n, 2]. Raises CheckFailedError, which names the worst pair, if a difference is too large. The limit
    allows for doubling, which counts an error of the table twice, and for the error of the checked row."""
    layouts, table = all_layouts(recheck.parameters.checkers), recheck.table
    equities, bound = table.array("equities"), 3 * ERROR_BOUND
    if recheck.rows < table.manifest.rows:
        drawn = recheck.generator.integers(0, len(layouts), (recheck.rows, 2))
    else:
        drawn = np.stack(np.divmod(np.arange(len(layouts) ** 2), len(layouts)), axis=1)
    possible = solver.are_pairs(layouts, drawn[:, 0], drawn[:, 1])
    found = np.asarray(equities[drawn[:, 0], drawn[:, 1]])
    wrong = np.flatnonzero(np.isnan(found).any(axis=1) == possible)
    if len(wrong):
        raise CheckFailedError(
            f"expected equities in {table.name} of just those layouts that can be opponents, found "
            f"{found[wrong[0]].tolist()} at {drawn[wrong[0]].tolist()}"
        )
    pairs = drawn[possible & (drawn > 0).all(axis=1)]
    followers = Successors(layouts, *pairs.T)
    theirs = np.asarray(equities[followers.on_roll, followers.opponent])
    expected = np.stack([-followers.mean_of_lowest(each) for each in cube_values_of(theirs)], axis=1)
    off_by = np.abs(expected - equities[pairs[:, 0], pairs[:, 1]])
    if len(pairs) and not off_by.max() <= bound:  # also raises for NaN
        worst, column = np.unravel_index(off_by.argmax(), off_by.shape)
        raise CheckFailedError(
            f"expected {columns[column]} of layout {pairs[worst, 0]} against {pairs[worst, 1]} in {table.name} to "
            f"follow from its plays within {bound:.2g}, found it off by {off_by.max():.3g}"
        )
    return pairs


def checked_text(recheck: Recheck[EndgameParameters]) -> str:
    """Say how many pairs `check_pairs` recomputes: all, if at least as many rows are requested."""
    rows, total = recheck.rows, recheck.table.manifest.rows
    return drawn_sample_text(rows, total) if rows < total else sample_text(rows, total)


def cube_values_of(theirs: Array) -> list[Array]:
    """Convert equities `theirs`, [n, column], of the side on roll to cube values, in the columns of the side that
    played: see `endgames.solver`."""
    cubeless, owned, centered, opponent_owned, *jacoby = theirs.T
    doubled = np.minimum(2 * opponent_owned, 1)  # never after a lost game: losing twice as much is worse
    cube_values = [cubeless, opponent_owned, np.maximum(centered, doubled), np.maximum(owned, doubled)]
    return cube_values + [np.maximum(each, doubled) for each in jacoby]


COMPUTATION = ContactEndgameComputation
