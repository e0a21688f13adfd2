"""The flow of corpora: `python -m pipelines.corpora`, each step a task that is skipped where its inputs did not change.

    games      cubeless games of a player against itself            selfplay
    labels     how these games ended, rescored by exact tables      selfplay_labels
    sample     positions of these games, of each class as many      position_sample
    rollouts   these positions, rolled out                          rollout_labels
    cubeful    money games with the cube                            cubeful_selfplay

Games with the cube wait for nothing, labels and rollouts only for the games. Games come in parts, which --executor
spreads over processes or a cluster; a flow that is run again finds parts of games and steps of rollouts.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import fields

from bgdata.process import run

from . import begin_flow

if __name__ == "__main__":
    begin_flow()

from prefect import flow, task
from prefect.artifacts import create_table_artifact
from prefect.cache_policies import NO_CACHE

from bgdata import open_warehouse
from bgdata.selfplay import steps
from bgdata.selfplay.steps import CorpusPlan
from bgdata.store.executors import LOCAL, open_executor
from bgdata.warehouse import Warehouse

from .pictures import publish_charts
from .tasks import Built, Notes, finished, processes, run_flow

USUAL = CorpusPlan()
MEANINGS = {
    "player": "network or network/NAME: plays the games and the rollouts",
    "games": "cubeless games",
    "seed": "seed of all games and rollouts",
    "cubeful_games": "money games with the cube, 0 for none",
    "most": "positions of each class that are rolled out, 0 for none",
    "trials": "games of each rollout, a multiple of 36",
}


@task(retries=1, retry_delay_seconds=1, cache_policy=NO_CACHE)
def games(root: str, plan: CorpusPlan, executor: str) -> Built:
    """Play the cubeless games."""
    notes = Notes()
    with open_executor(executor) as workers:
        return Built(steps.build_games(open_warehouse(root), plan, workers, notes).name, notes.lines)


@task(retries=1, retry_delay_seconds=1, cache_policy=NO_CACHE)
def cubeful(root: str, plan: CorpusPlan, executor: str) -> Built:
    """Play the games with the cube."""
    notes = Notes()
    with open_executor(executor) as workers:
        return Built(steps.build_cubeful_games(open_warehouse(root), plan, workers, notes).name, notes.lines)


@task(retries=1, retry_delay_seconds=1, cache_policy=NO_CACHE)
def labels(root: str, played: Built) -> Built:
    """Label every turn of the games."""
    notes = Notes()
    return Built(steps.build_labels(open_warehouse(root), played.name, notes).name, notes.lines)


@task(retries=1, retry_delay_seconds=1, cache_policy=NO_CACHE)
def sample(root: str, plan: CorpusPlan, played: Built) -> Built:
    """Choose positions of the games."""
    notes = Notes()
    return Built(steps.build_sample(open_warehouse(root), plan, played.name, notes).name, notes.lines)


@task(retries=1, retry_delay_seconds=1, cache_policy=NO_CACHE)
def rollouts(root: str, plan: CorpusPlan, positions: Built, executor: str) -> Built:
    """Roll the positions out."""
    notes = Notes()
    with open_executor(executor) as workers:
        built = steps.build_rollouts(open_warehouse(root), plan, positions.name, workers, notes)
        return Built(built.name, notes.lines)


@flow(name="make-corpora", task_runner=processes(), retries=1, retry_delay_seconds=1)
def make_corpora(root: str = "warehouse", plan: CorpusPlan = USUAL, executor: str = LOCAL) -> list[str]:
    """Make the corpora of a plan; returns their versions."""
    futures = [cubeful.submit(root, plan, executor)] if plan.cubeful_games else []
    played = games.submit(root, plan, executor)
    futures += [played, labels.submit(root, played, return_state=False)]
    if plan.most:
        positions = sample.submit(root, plan, played, return_state=False)
        futures += [positions, rollouts.submit(root, plan, positions, executor, return_state=False)]
    versions = sorted(finished(futures, "corpora"))
    warehouse = open_warehouse(root)
    rows = [row for version in versions for row in figures(warehouse, version)]
    create_table_artifact(rows, key="corpora", description=f"Corpora of {plan.player}")
    publish_charts(warehouse, versions, "corpora-picture", "Positions of each corpus by pips")
    return versions


def figures(warehouse: Warehouse, version: str) -> list[dict[str, str | float]]:
    """What a manifest says of its version, a row for each figure."""
    manifest = warehouse.open_reference(version).manifest
    found = {"rows": float(manifest.rows), **manifest.statistics}
    return [{"version": version, "figure": name, "value": value} for name, value in found.items()]


def parsed(arguments: Sequence[str]) -> tuple[str, CorpusPlan, str]:
    """(folder of the warehouse, plan, executor) from the arguments."""
    parser = argparse.ArgumentParser(prog=f"python -m {__package__}.corpora", description=__doc__.partition(":")[0])
    parser.add_argument("--warehouse", default="warehouse", metavar="DIR", help="folder of the tables")
    parser.add_argument("--executor", default=LOCAL, metavar="NAME", help="local, processes:N, or dask://HOST:PORT")
    for field in fields(CorpusPlan):
        kind, option = type(field.default), f"--{field.name.replace('_', '-')}"
        letter = "TEXT" if kind is str else "N"
        parser.add_argument(option, type=kind, default=field.default, metavar=letter, help=MEANINGS[field.name])
    found = vars(parser.parse_args(arguments))
    root, executor = found.pop("warehouse"), found.pop("executor")
    return root, CorpusPlan(**found), executor


def main(arguments: Sequence[str]) -> int:
    """Run the flow and print the versions; returns the exit code."""
    root, plan, executor = parsed(arguments)
    return run_flow(lambda: print("\n".join(make_corpora(root, plan, executor))))


if __name__ == "__main__":
    run(lambda: main(sys.argv[1:]))
