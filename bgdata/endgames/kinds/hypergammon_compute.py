"""Solves hypergammon: equities round by round, then the chances of each side with the best plays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from bgdata.endgames.chances import CLOSED, OTHER_SIDE, best_plays, fill_chances, solve_chances_of_total, start_chances
from bgdata.endgames.kinds import contact_endgame_compute as endgames
from bgdata.endgames.kinds.contact_endgame import EndgameParameters
from bgdata.endgames.kinds.contact_endgame_compute import ERROR_BOUND, Successors
from bgdata.endgames.layouts import all_layouts
from bgdata.endgames.plays import all_plays
from bgdata.endgames.solver import COLUMNS, fill_equities, points_lost
from bgdata.errors import CheckFailedError
from bgdata.kinds.columns import CHANCE_COLUMNS
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Recheck

CHANCES = tuple(column.name for column in CHANCE_COLUMNS)


class HypergammonComputation(Computation[EndgameParameters]):
    """Computes datasets of the kind `hypergammon`."""

    def compute(self, build: Build[EndgameParameters]) -> None:
        job = build.job
        bounds = endgames.proven_values(job, build.parameters, gammons=True)
        layouts, lost = bounds.layouts, points_lost(bounds.layouts, gammons=True)
        equities = np.empty((len(layouts), len(layouts), len(COLUMNS)), np.float32)
        fill_equities(bounds, equities, range(len(COLUMNS)), lost)
        del bounds
        found = start_chances(layouts, best_plays(layouts, all_plays(layouts), equities[:, :, 0]), lost)
        totals = range(2, 2 * int(layouts.pips.max()) + 1)  # pips of both sides
        while max(solve_chances_of_total(found, total) for total in totals) > 2 * CLOSED:
            continue
        chances = np.empty((len(layouts), len(layouts), len(CHANCES)), np.float32)
        fill_chances(found, chances)
        job.save("chances", chances)
        job.save("equities", equities)

    def batches(self, computed: Computed[EndgameParameters]) -> Iterator[pa.RecordBatch]:
        arrays = computed.arrays
        return endgames.pair_batches(
            computed.parameters.checkers, [(arrays["chances"], CHANCES), (arrays["equities"], COLUMNS)]
        )

    def statistics(self, computed: Computed[EndgameParameters]) -> Mapping[str, float]:  # noqa: ARG002
        return {f"{name}_error_bound": ERROR_BOUND for name in COLUMNS} | {"chances_error_bound": ERROR_BOUND}

    def check_sample(self, recheck: Recheck[EndgameParameters]) -> str:
        pairs = endgames.check_pairs(recheck, COLUMNS)
        check_chances(recheck, pairs)
        return endgames.checked_text(recheck)


def check_chances(recheck: Recheck[EndgameParameters], pairs: Array) -> None:
    """Compare the chances of int64[n, 2] pairs with the chances after their best plays. Raises CheckFailedError unless
    the chances of a pair are between the lowest and the highest chances after equally good plays, which may win more or
    fewer gammons."""
    table, (on_roll, opponent) = recheck.table, pairs.T
    chances, equities = table.array("chances"), table.array("equities")
    followers = Successors(all_layouts(recheck.parameters.checkers), on_roll, opponent)
    cubeless = np.asarray(equities[followers.on_roll, followers.opponent, 0], np.float64)
    counts = np.diff(followers.offsets)
    is_best = cubeless <= np.repeat(followers.lowest(cubeless).reshape(-1), counts) + 4 * ERROR_BOUND
    theirs = np.asarray(chances[followers.on_roll, followers.opponent], np.float64)
    for chance, name in enumerate(CHANCES):
        ours = theirs[:, OTHER_SIDE[chance]] if chance else 1 - theirs[:, 0]
        least = followers.mean_of_lowest(np.where(is_best, ours, np.inf))
        most = -followers.mean_of_lowest(np.where(is_best, -ours, np.inf))
        found = np.asarray(chances[on_roll, opponent, chance])
        wrong = np.flatnonzero(~((found >= least - 2 * ERROR_BOUND) & (found <= most + 2 * ERROR_BOUND)))
        if len(wrong):
            first = wrong[0]
            raise CheckFailedError(
                f"expected a chance to {name} from {least[first]:.6f} to {most[first]:.6f} of layout {on_roll[first]} "
                f"against {opponent[first]} in {table.name}, found {found[first]:.6f}"
            )


COMPUTATION = HypergammonComputation
