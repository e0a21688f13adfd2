"""Solves every pair of layouts of a few checkers, round by round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from bgdata.endgames.kinds.contact_endgame import EndgameParameters
from bgdata.endgames.kinds.shared.endgames import ERROR_BOUND, check_pairs, pairs_checked, proven_values, rows_of
from bgdata.endgames.solver import COLUMNS, fill_equities, stakes
from bgdata.store.dataset import Build, Computation, Computed, Recheck

KEPT = COLUMNS[:4]  # no gammon, no Jacoby rule


class ContactEndgameComputation(Computation[EndgameParameters]):
    """Computation of `contact_endgame`."""

    def compute(self, build: Build[EndgameParameters]) -> None:
        bounds = proven_values(build.job, build.parameters, gammons=False)
        layouts = bounds.layouts
        equities = np.empty((len(layouts), len(layouts), len(KEPT)), np.float32)
        fill_equities(bounds, equities, range(len(KEPT)), stakes(layouts, gammons=False))
        build.job.save("equities", equities)

    def batches(self, computed: Computed[EndgameParameters]) -> Iterator[pa.RecordBatch]:
        return rows_of(computed.parameters.checkers, [(computed.arrays["equities"], KEPT)])

    def statistics(self, computed: Computed[EndgameParameters]) -> Mapping[str, float]:  # noqa: ARG002
        return {f"{name}_error_bound": ERROR_BOUND for name in KEPT}

    def check_sample(self, recheck: Recheck[EndgameParameters]) -> str:
        check_pairs(recheck, KEPT)
        return pairs_checked(recheck)


COMPUTATION = ContactEndgameComputation
