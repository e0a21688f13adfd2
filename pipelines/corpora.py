"""The flow of corpora: `python -m pipelines.corpora`, each step a task that is skipped where its inputs did not change.

    games      cubeless games of a player against itself            selfplay
    labels     how these games ended, rescored by exact tables      selfplay_labels
    sample     positions of these games, of each class as many      position_sample
    rollouts   these positions, rolled out                          rollout_labels
    cubeful    money games with the cube                            cubeful_selfplay

Games with the cube have no inputs; labels and rollouts need only the games. --executor spreads parts of games over
processes; on a Dask cluster each range of games or positions is a task. A flow that is run again keeps finished parts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from bgdata.process import run

from . import begin_flow

if __name__ == "__main__":
    begin_flow()

from prefect import flow
from prefect.artifacts import create_table_artifact
from prefect.futures import PrefectFuture

from bgdata import open_warehouse
from bgdata.selfplay import steps
from bgdata.selfplay.steps import CorpusPlan
from bgdata.store.executors import LOCAL, using
from bgdata.store.places import absolute_address
from bgdata.store.progress import progress_bars
from bgdata.store.table import Table

from .ranges import RangeTasks, workers_at
from .tasks import RETRIED, Built, add_plan, build_step, flow_parser, processes, publish_charts, run_flow, tell_finished

USUAL = CorpusPlan()
MEANINGS = {
    "player": "network or network/NAME: plays the games and the rollouts",
    "games": "cubeless games",
    "seed": "seed of all games and rollouts",
    "cubeful_games": "money games with the cube, 0 for none",
    "most": "positions of each class that are rolled out, 0 for none",
    "trials": "games of each rollout, a multiple of 36",
}


@flow(name="make-corpora", task_runner=processes(), **RETRIED)
def make_corpora(root: str = "warehouse", plan: CorpusPlan = USUAL, executor: str = LOCAL) -> list[str]:
    """Make the corpora that a plan describes, and return the names of their versions."""

    def begin(name: str, step: Callable[..., Table], *given: Any, **options: str) -> PrefectFuture[Built]:
        named = build_step.with_options(name=name)
        return named.submit(root, step, *given, **options, return_state=False)

    futures = []
    if plan.cubeful_games:
        futures.append(begin("cubeful", steps.build_cubeful_games, plan, executor=executor))
    played = begin("games", steps.build_games, plan, executor=executor)
    futures += [played, begin("labels", steps.build_labels, played)]
    if plan.most:
        positions = begin("sample", steps.build_sample, plan, played)
        futures += [positions, begin("rollouts", steps.build_rollouts, plan, positions, executor=executor)]
    return publish(root, plan, sorted(tell_finished(futures, "corpora")))


@flow(name="make-corpora-on-a-cluster", **RETRIED)
def make_corpora_on_cluster(root: str = "warehouse", plan: CorpusPlan = USUAL, through: str = "") -> list[str]:
    """Make the corpora that a plan describes on a Dask cluster, with a task for each range of games, turns or
    positions. Returns the names of their versions. Workers need no access to the warehouse, because this process writes
    the versions. `through` is the address of a store between the machines."""
    warehouse, ranges = open_warehouse(root), RangeTasks(through and absolute_address(through))
    with using(ranges), progress_bars() as progress:
        played = steps.build_games(warehouse, plan, ranges, progress)
        found = [played, steps.build_labels(warehouse, played.name, progress)]
        if plan.cubeful_games:
            found.append(steps.build_cubeful_games(warehouse, plan, ranges, progress))
        if plan.most:
            sample = steps.build_sample(warehouse, plan, played.name, progress)
            found += [sample, steps.build_rollouts(warehouse, plan, sample.name, ranges, progress)]
    return publish(root, plan, sorted(table.name for table in found))


def publish(root: str, plan: CorpusPlan, versions: list[str]) -> list[str]:
    """Publish a table and a picture of the versions to Prefect, and return the names of the versions."""
    warehouse = open_warehouse(root)
    manifests = {version: warehouse.open_reference(version).manifest for version in versions}
    rows = [
        {"version": version, "figure": name, "value": value}
        for version, manifest in manifests.items()
        for name, value in {"rows": float(manifest.rows), **manifest.statistics}.items()
    ]
    create_table_artifact(rows, key="corpora", description=f"Corpora of {plan.player}")
    publish_charts(warehouse, versions, "corpora-picture", "Positions of each corpus by pips")
    return versions


def parse_arguments(arguments: Sequence[str]) -> tuple[str, CorpusPlan, str, str]:
    """Parse the command line: the folder of the warehouse, the plan, the name of the executor, and the address of a
    store between machines."""
    parser = flow_parser("corpora", __doc__)
    parser.add_argument("--executor", default=LOCAL, metavar="NAME", help="local, processes:N, or dask://HOST:PORT")
    parser.add_argument(
        "--through", default="", metavar="ADDRESS", help="with dask://: a store that all machines reach"
    )
    add_plan(parser, CorpusPlan, MEANINGS)
    found = vars(parser.parse_args(arguments))
    root, executor, through = (found.pop(name) for name in ("warehouse", "executor", "through"))
    return root, CorpusPlan(**found), executor, through


def main(arguments: Sequence[str]) -> int:
    """Run the flow, print the names of the versions, and return the exit code."""
    root, plan, executor, through = parse_arguments(arguments)

    def make() -> None:
        if executor.startswith("dask"):
            on_cluster = make_corpora_on_cluster.with_options(task_runner=workers_at(executor))
            print("\n".join(on_cluster(root, plan, through)))
        else:
            print("\n".join(make_corpora(root, plan, executor)))

    return run_flow(make)


if __name__ == "__main__":
    run(lambda: main(sys.argv[1:]))
