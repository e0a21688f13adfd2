"""Points a game against PubEval by error rates of decisions, as Higgins compared them in 2012.

    python -m tests.benchmarks.points network/contact-160 network/contact-320 network/taught-320 ... --plot points.png

Measures each player on the contact, crashed and race benchmarks of bgdata (versions that are there are used again), and
fits points = intercept + slope x error rate: by contact alone, and by all three classes at once. Points are of the test
games against PubEval in which a network was measured after training, or with --games of so many new ones. PubEval
itself is a player, with 0 points. The same fits of the figures that Higgins printed on 20 August 2012 are printed
beside.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import bgdata
from bgdata.cli.charts import GREY, RED, TEAL, new_figure, write_figure
from bgdata.errors import MissingTableError
from bgdata.evaluation.networks.player import find_network
from bgdata.measures.kinds.benchmark_scores import ROLLED_OUT
from bgdata.measures.kinds.game_scores import DATASET as GAMES
from bgdata.measures.kinds.rollout_decisions import CLASSES
from bgdata.measures.steps.scores import full_name, series_parameters
from bgdata.measures.steps.sets import build_benchmark_scores
from bgdata.store.progress import progress_bars
from bgdata.warehouse import Warehouse

PLAYERS = tuple(f"network/{name}" for name in ("contact-160", "contact-320", "taught-320", "taught-400", "diverse-16"))
DEFAULT_PLAYERS = (*PLAYERS, "network/diverse-19")
SEED = 2  # seed of the games, as in `bgdata benchmark`
REFERENCE = "pubeval"
# error rates on gnubg's contact, crashed and race benchmarks, and points against PubEval (register of claims, A10)
PUBLISHED = {
    "gnubg 0-ply": (10.5, 5.89, 0.643, 0.63),
    "3.6": (12.7, 9.17, 0.817, 0.601),
    "3.5": (13.1, 9.46, 0.817, 0.597),
    "3.4": (13.4, 9.63, 0.817, 0.596),
    "3.3": (13.4, 9.89, 0.985, 0.595),
    "3.2": (14.1, 10.7, 2.14, 0.577),
    "quick": (33.7, 26.2, 2.45, 0.140),
    "2.4": (18.2, 21.7, 2.05, 0.484),
    "Benchmark 2": (21.6, 23.2, 5.54, 0.438),
    "PubEval retrained": (41.7, 50.5, 2.12, 0.048),
    "PubEval": (44.2, 51.3, 3.61, 0.0),
}
FLAWED = {"slope": -0.0222, "intercept": 0.8369, "r2": 0.991}  # February 2012, withdrawn: see A10.regression
Floats = NDArray[np.float64]


class Measured(NamedTuple):
    """A player: error rates in thousandths of a point by class, points per game, and standard errors of all."""

    name: str
    rates: tuple[float, ...]
    rate_errors: tuple[float, ...]
    points: float
    points_error: float


class Fit(NamedTuple):
    """Coefficients of points by (1, error rate of each class), their standard errors from the residuals, and the share
    of the variance that they explain."""

    coefficients: Floats
    errors: Floats
    r2: float


def fit(rates: Floats, points: Floats) -> Fit:
    """Least squares of points [n] by rates [n, classes]. Errors are NaN if there are no more players than
    coefficients."""
    matrix = np.column_stack([np.ones(len(points)), rates])
    coefficients: Floats = np.linalg.lstsq(matrix, points, rcond=None)[0].astype(np.float64)
    residuals = points - matrix @ coefficients
    free = len(points) - matrix.shape[1]
    variance = float(residuals @ residuals) / free if free > 0 else np.nan
    errors = np.sqrt(variance * np.diag(np.linalg.pinv(matrix.T @ matrix)))
    spread = points - points.mean()
    return Fit(coefficients, errors.astype(np.float64), 1 - float(residuals @ residuals) / float(spread @ spread))


def measure(warehouse: Warehouse, name: str, games: int) -> Measured:
    """The figures of a player; what has been measured is not measured again. Without games, points are those of the
    test games of a network."""
    player = full_name(name)
    sets = {each.manifest.variant.split("-")[0]: each for each in warehouse.current(ROLLED_OUT)}
    if missing := set(CLASSES) - set(sets):
        raise MissingTableError(
            f"expected the benchmarks {', '.join(CLASSES)} in {warehouse.root}, found no {', '.join(sorted(missing))}; "
            f"try: bgdata build {ROLLED_OUT}"
        )
    with progress_bars() as progress:
        tables = build_benchmark_scores(warehouse, [sets[each] for each in CLASSES], player, 0, progress)
        found: Mapping[str, Any] = {"points_per_game": 0.0, "standard_error": 0.0}
        if player != REFERENCE and not games:
            found = find_network(player, warehouse).manifest.statistics
        elif player != REFERENCE:
            recipe = series_parameters(warehouse, (player, 0), (REFERENCE, 0), games, SEED, progress, with_luck=False)
            found = warehouse.build(GAMES.name, recipe, progress=progress).manifest.statistics
    rates, errors = (
        tuple(float(table.manifest.statistics[each]) for table in tables) for each in ("error_rate", "standard_error")
    )
    return Measured(name, rates, errors, float(found["points_per_game"]), float(found["standard_error"]))


def fit_lines(name: str, rates: Floats, points: Floats) -> Iterator[str]:
    """The fits of some players as lines: by contact alone, and by all classes."""
    for label, columns in (("contact", slice(0, 1)), ("contact, crashed, race", slice(None))):
        found = fit(rates[:, columns], points)
        terms = (f"{value:+.4f} +/- {error:.4f}" for value, error in zip(found.coefficients, found.errors, strict=True))
        yield f"{name:<22} {label:<24} {'  '.join(terms)}  R2 {found.r2:.1%}"


def draw(ours: Sequence[Measured], path: Path) -> None:
    """Draw points by the error rate in contact: ours with two standard errors, and the published ones."""
    published = np.array(list(PUBLISHED.values()))
    rates, points = np.array([each.rates[0] for each in ours]), np.array([each.points for each in ours])
    errors = [[2 * each.rate_errors[0] for each in ours], [2 * each.points_error for each in ours]]
    with new_figure(6.4, 4.2) as figure:
        axes = figure.subplots()
        axes.errorbar(
            rates, points, xerr=errors[0], yerr=errors[1], fmt="o", color=TEAL, label="ours, benchmarks of bgdata"
        )
        axes.plot(published[:, 0], published[:, 3], "x", color=RED, label="published in 2012, benchmarks of gnubg")
        for found, values, colour in ((rates, points, TEAL), (published[:, 0], published[:, 3], RED)):
            intercept, slope = fit(found[:, None], values).coefficients
            line = np.array([0.0, found.max()])
            axes.plot(line, intercept + slope * line, color=colour, linewidth=0.9)
        axes.axhline(0, color=GREY, linewidth=0.8)
        axes.set(xlabel="error rate in contact, thousandths of a point", ylabel="points per game against PubEval")
        axes.legend()
        write_figure(figure, path)


def main() -> None:
    """Measure the players, and print their figures and the fits."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("players", nargs="*", default=DEFAULT_PLAYERS, metavar="PLAYER")
    parser.add_argument("--games", type=int, default=0)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--warehouse", default="warehouse")
    asked = parser.parse_args()
    warehouse = bgdata.open_warehouse(asked.warehouse)
    ours = [measure(warehouse, name, asked.games) for name in (*asked.players, REFERENCE)]
    print(f"{'':<22}{'contact':>16}{'crashed':>16}{'race':>16}{'points per game':>20}")
    for each in ours:
        cells = (f"{rate:.1f} +/- {error:.1f}" for rate, error in zip(each.rates, each.rate_errors, strict=True))
        points = f"{each.points:+.4f} +/- {each.points_error:.4f}"
        print(f"{each.name:<22}" + "".join(f"{cell:>16}" for cell in cells) + f"{points:>20}")
    print("points = intercept + slope x error rate of each class")
    published = np.array(list(PUBLISHED.values()))
    for line in fit_lines("ours", np.array([each.rates for each in ours]), np.array([each.points for each in ours])):
        print(line)
    for line in fit_lines("published in 2012", published[:, :3], published[:, 3]):
        print(line)
    print(
        "withdrawn, February    contact                  {intercept:+.4f}  {slope:+.4f}  R2 {r2:.1%}".format(**FLAWED)
    )
    if asked.plot:
        draw(ours, asked.plot)


if __name__ == "__main__":
    main()
