"""The flow from games to a scored network: `python -m pipelines.train NAME`, each step a task that is skipped where its
inputs did not change.

    corpus    games of the start against itself              selfplay
    plays     positions after the best plays                 play_sample
    labels    their chances by the start at 1-ply            lookahead_labels
    network   the network trained on these labels            supervised_network
    scores    how good it is                                 scores

Publishing is not part of the flow: a network is taken into the package by a separate command (`python -m docs.ship`),
after a look at its scores.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import fields

from bgdata.process import is_stopping, run, shielding

from . import begin_flow

if __name__ == "__main__":
    begin_flow()

from prefect import flow, get_run_logger, task
from prefect.artifacts import create_markdown_artifact

from bgdata import open_warehouse
from bgdata.errors import BgdataError
from bgdata.training import steps
from bgdata.training.steps import TrainingPlan

from .tasks import check_pictures, one_server, publish_picture

MEANINGS = {
    "start": "network or network/NAME: plays the games, labels them at 1-ply, and is what training starts from",
    "games": "games of self-play",
    "seed": "seed of these games",
    "epochs": "passes over the labels",
    "learning_rate": "maximum learning rate",
    "hidden": "hidden units of the contact network, such as 200; by default those of the start",
    "score_games": "games against each opponent, and in self-play, for the scores",
    "luck_adjusted_games": "games whose luck is measured too",
    "decisions": "bearoff decisions for the scores",
}


@task(retries=1, retry_delay_seconds=1)
def corpus(root: str, plan: TrainingPlan) -> str:
    """Play the games; returns dataset/variant/version, as every step does."""
    return steps.build_corpus(open_warehouse(root), plan).name


@task(retries=1, retry_delay_seconds=1)
def plays(root: str, plan: TrainingPlan, games: str) -> str:
    """Collect the positions after the best plays of the games."""
    return steps.build_plays(open_warehouse(root), plan, games).name


@task(retries=1, retry_delay_seconds=1)
def labels(root: str, plan: TrainingPlan, played: str) -> str:
    """Label these positions by the start at 1-ply."""
    return steps.build_lookahead(open_warehouse(root), plan, played).name


@task(retries=1, retry_delay_seconds=1)
def network(root: str, plan: TrainingPlan, labels: str) -> str:
    """Train the network on the labels."""
    return steps.build_network(open_warehouse(root), plan, labels).name


@task(retries=1, retry_delay_seconds=1)
def scores(root: str, plan: TrainingPlan, learned: str) -> str:
    """Measure how good the network is."""
    return steps.build_score(open_warehouse(root), plan, learned).name


@flow(name="train-network", retries=1, retry_delay_seconds=1)
def train_network(root: str, plan: TrainingPlan) -> list[str]:
    """From games to scores; returns the version of every step."""
    check_pictures()
    games = corpus(root, plan)
    played = plays(root, plan, games)
    labelled = labels(root, plan, played)
    learned = network(root, plan, labelled)
    scored = scores(root, plan, learned)
    text = f"```\n{steps.scores_text(open_warehouse(root), scored)}\n```"
    create_markdown_artifact(text, key="scores", description=f"How good {plan.name} is")
    words = ["train", "plot", plan.name, "-o"]
    publish_picture(root, words, "learning-curve", f"How {plan.name} learned")
    get_run_logger().info("scored %s", learned)
    return [games, played, labelled, learned, scored]


def parsed(arguments: Sequence[str]) -> tuple[str, TrainingPlan]:
    """(folder of the warehouse, plan) from the arguments."""
    parser = argparse.ArgumentParser(prog=f"python -m {__package__}.train", description=__doc__.partition(":")[0])
    parser.add_argument("name", metavar="NAME", help="what to call the network")
    parser.add_argument("--warehouse", default="warehouse", metavar="DIR", help="folder of the tables")
    for field in fields(TrainingPlan)[1:]:
        kind, option = type(field.default), f"--{field.name.replace('_', '-')}"
        letter = "TEXT" if kind is str else "N"
        parser.add_argument(option, type=kind, default=field.default, metavar=letter, help=MEANINGS[field.name])
    found = vars(parser.parse_args(arguments))
    return found.pop("warehouse"), TrainingPlan(**found)


def main(arguments: Sequence[str]) -> int:
    """Run the flow and print the scores; returns the exit code."""
    root, plan = parsed(arguments)
    try:
        with one_server(), shielding():
            *_, learned, scored = train_network(root, plan)
        print(f"{learned}\n{steps.scores_text(open_warehouse(root), scored)}")
    except BgdataError as error:
        if is_stopping(error):
            raise
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    run(lambda: main(sys.argv[1:]))
