"""Cost of the filters of looking ahead, on decisions of the contact benchmark of bgdata.

Compares the default filters with wider ones, and with all plays at every ply.

    python -m tests.benchmarks.filters --ply 1 2
    python -m tests.benchmarks.filters --ply 3 --decisions 60 --filters usual wide

The last filters are those that others are compared with.
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from math import inf, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.chances import Evaluator
from bgdata.evaluation.lookahead import FILTERS, MAX_PLY, PlayFilter
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.game.codec import Boards
from bgdata.game.play_kernels import MAX_PLAYS
from bgdata.measures.kinds.benchmark_scores_compute import (
    ERROR_RATE,
    RolledOutDecisions,
    decisions_of,
    losses_of,
    rank_choices,
)
from bgdata.measures.kinds.rollout_decisions import published_decisions
from bgdata.store.table import Table
from tests.benchmarks.player_workloads import shipped_player

WAYS: Mapping[str, Sequence[PlayFilter]] = {
    "usual": FILTERS,
    "wide": [PlayFilter(2 * keep, 2 * window) for keep, window in FILTERS],
    "all": [PlayFilter(MAX_PLAYS, inf)],
}


class Chosen(NamedTuple):
    """The choices of a player with some filters."""

    boards: Boards  # [n, 26] after the play, the opponent on roll
    losses: NDArray[np.float64]  # [n] points
    seconds: float


class Cost(NamedTuple):
    """Difference of choices from others: thousandths of a point per decision, and the share of other plays."""

    error_rate: float
    difference: float
    standard_error: float
    others: float


def choose(evaluator: Evaluator, ply: int, filters: Sequence[PlayFilter], decisions: RolledOutDecisions) -> Chosen:
    """The choices of a player with an empty cache."""
    player = LookaheadPlayer(evaluator, ply, filters)
    begin = time.perf_counter()
    boards = player.choose_plays(decisions.boards, decisions.rolls)
    seconds = time.perf_counter() - begin
    return Chosen(boards, losses_of(decisions, rank_choices(decisions, boards)), seconds)


def cost_of(chosen: Chosen, other: Chosen) -> Cost:
    """The cost of choices against others on the same decisions, at least two."""
    differences = chosen.losses - other.losses
    return Cost(
        ERROR_RATE * float(chosen.losses.mean()),
        ERROR_RATE * float(differences.mean()),
        ERROR_RATE * float(differences.std(ddof=1)) / sqrt(len(differences)),
        float((chosen.boards != other.boards).any(axis=1).mean()),
    )


def contact_decisions(most: int) -> RolledOutDecisions:
    """The first decisions of the contact benchmark of bgdata."""
    (folder,) = (folder for recipe, folder in published_decisions().items() if recipe.position_class == "contact")
    found: RolledOutDecisions = decisions_of(Table(folder))
    return RolledOutDecisions(
        found.boards[:most], found.rolls[:most], found.first_plays[: most + 1], found.play_boards, found.losses
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--ply", type=int, nargs="+", choices=range(1, MAX_PLY + 1), default=[1, 2])
    parser.add_argument("--decisions", type=int, default=500)
    parser.add_argument("--filters", nargs="+", choices=WAYS, default=list(WAYS))
    options = parser.parse_args()
    evaluator, decisions = shipped_player(), contact_decisions(options.decisions)
    choose(evaluator, 1, FILTERS, contact_decisions(2))  # compiles
    print(
        f"| {len(decisions.boards)} decisions | filters | error rate | behind {options.filters[-1]} | other plays ",
        end="",
    )
    print("| ms a decision |\n| - | - | - | - | - | - |", flush=True)
    for ply in options.ply:
        chosen = {name: choose(evaluator, ply, WAYS[name], decisions) for name in options.filters}
        for name, each in chosen.items():
            cost = cost_of(each, chosen[options.filters[-1]])
            print(
                f"| {ply}-ply | {name} | {cost.error_rate:.2f} | {cost.difference:+.3f} +/- {cost.standard_error:.3f} ",
                end="",
            )
            print(f"| {100 * cost.others:.1f} % | {1000 * each.seconds / len(each.losses):.1f} |", flush=True)


if __name__ == "__main__":
    main()
