"""Errors of values in ordinary positions: after the best plays of the benchmark decisions of bgdata, against rollouts.

    python -m tests.benchmarks.ordinary network network:1 gnubg bgsage bgsage:1

Prints root mean square differences of cubeless equity with standard errors, by class, and over all classes weighted by
their frequency in the corpus of the decisions.
"""

import argparse
from collections.abc import Iterator, Mapping
from math import sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import bgdata
from bgdata.evaluation.chances import Evaluator, cubeless_equities
from bgdata.evaluation.player import open_named_evaluator
from bgdata.game.codec import Boards
from bgdata.measures.kinds.rollout_decisions import CLASSES, published_decisions
from bgdata.measures.steps.scores import opponent_of
from bgdata.store.table import Table

TURNS = "select class, count(*) as turns from turns where variant = $corpus group by class"
Values = NDArray[np.float64]


class Ordinary(NamedTuple):
    """Positions after best plays."""

    boards: Boards  # [n, 26] of the opponent, who is on roll
    equities: Values  # [n] cubeless, of who played, from rollouts
    classes: NDArray[np.str_]  # [n] of the decisions


class Figure(NamedTuple):
    """A root mean square difference, points, and its standard error."""

    rmse: float
    error: float


def ordinary_positions() -> Ordinary:
    """The positions of all benchmark decisions of bgdata."""
    return Ordinary(*map(np.concatenate, zip(*map(best_plays, *zip(*named_folders(), strict=True)), strict=True)))


def named_folders() -> Iterator[tuple[str, Path]]:
    """The class and the folder of each benchmark, in the order of CLASSES."""
    folders = {recipe.position_class: folder for recipe, folder in published_decisions().items()}
    return ((name, folders[name]) for name in CLASSES if name in folders)


def best_plays(name: str, folder: Path) -> Ordinary:
    """The positions after the best plays of one benchmark."""
    table = Table(folder)
    is_best = np.asarray(table.array("plays_ranks")) == 0
    boards, equities = (np.asarray(table.array(f"plays_{each}"))[is_best] for each in ("boards", "equities"))
    return Ordinary(boards, equities, np.full(len(boards), name))


def squares_of(evaluator: Evaluator, positions: Ordinary) -> Values:
    """float64[n]: squared differences of an evaluator's equities from those of the rollouts."""
    chances = evaluator.evaluate_many(np.ascontiguousarray(positions.boards)).chances
    return (-cubeless_equities(chances).astype(np.float64) - positions.equities) ** 2


def figures_of(squares: Values, classes: NDArray[np.str_], shares: Mapping[str, float]) -> dict[str, Figure]:
    """The figure of each class, and of `all` classes weighted by their shares, which sum to 1."""
    groups = {name: squares[classes == name] for name in shares}
    means = {name: float(group.mean()) for name, group in groups.items()}
    errors = {name: float(group.std(ddof=1)) / sqrt(len(group)) for name, group in groups.items()}
    means["all"] = sum(shares[name] * means[name] for name in shares)
    errors["all"] = sqrt(sum((shares[name] * errors[name]) ** 2 for name in shares))
    return {name: Figure(sqrt(mean), errors[name] / (2 * sqrt(mean)) if mean else 0.0) for name, mean in means.items()}


def shares_of(turns: Mapping[str, int], classes: NDArray[np.str_]) -> dict[str, float]:
    """The share of each class among the turns of a corpus in these classes."""
    names = np.unique(classes).tolist()
    total = sum(turns[name] for name in names)
    return {name: turns[name] / total for name in names}


def main() -> None:
    """Measure every player, and print its figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("players", nargs="+", metavar="PLAYER[:PLY]")
    parser.add_argument("--warehouse", default="warehouse")
    asked = parser.parse_args()
    players, positions = list(map(opponent_of, asked.players)), ordinary_positions()
    warehouse = bgdata.open_warehouse(asked.warehouse)
    corpus = {"corpus": "network-10000-seed-1"}
    turns = {row["class"]: row["turns"] for row in warehouse.rows(TURNS, corpus)}
    shares = shares_of(turns, positions.classes)
    for name, share in shares.items():
        print(f"{name}: {(positions.classes == name).sum()} positions, {share:.1%} of the turns of {corpus['corpus']}")
    print(f"{'':<26}" + "".join(f"{name:>18}" for name in ("all", *shares)))
    for text, player in zip(asked.players, players, strict=True):
        evaluator = open_named_evaluator(*player, warehouse)
        found = figures_of(squares_of(evaluator, positions), positions.classes, shares)
        cells = (f"{found[name].rmse:.4f} +/- {found[name].error:.4f}" for name in ("all", *shares))
        print(f"{text:<26}" + "".join(f"{cell:>18}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
