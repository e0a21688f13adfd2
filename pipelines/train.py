"""The flow from games to a scored network: `python -m pipelines.train NAME`, each step a task that is skipped where its
inputs did not change.

    corpus    games of the start against itself              selfplay
    plays     positions after the best plays                 play_sample
    labels    their chances by the start at 1-ply            lookahead_labels
    network   the network trained on these labels            supervised_network
    scores    how good it is                                 scores

Publishing is not part of the flow: after a look at the scores, `python -m docs.ship` adds a network to the package.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

from bgdata.process import run

from . import begin_flow

if __name__ == "__main__":
    begin_flow()

from prefect import flow, get_run_logger, task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE

from bgdata import open_warehouse
from bgdata.store.table import Table
from bgdata.training import steps
from bgdata.training.steps import TrainingPlan

from .tasks import RETRIED, add_plan, check_pictures, flow_parser, publish_picture, run_flow

STEPS: Mapping[str, Callable[..., Table]] = {  # arguments of each: the plan, and the version of the previous step
    "corpus": steps.build_corpus,
    "plays": steps.build_plays,
    "labels": steps.build_lookahead,
    "network": steps.build_network,
    "scores": steps.build_score,
}
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


@task(**RETRIED, cache_policy=NO_CACHE)
def build(root: str, step: Callable[..., Table], plan: TrainingPlan, *given: str) -> str:
    """Run one step of the training flow, which builds a version, or finds it if it exists. Returns its name
    KIND/VARIANT/VERSION."""
    return step(open_warehouse(root), plan, *given).name


@flow(name="train-network", **RETRIED)
def train_network(root: str, plan: TrainingPlan) -> list[str]:
    """Run all steps of a plan, from games to scores, and return the names of the versions that they made."""
    check_pictures()
    versions: list[str] = []
    for name, step in STEPS.items():
        versions.append(build.with_options(name=name)(root, step, plan, *versions[-1:]))
    *_, learned, scored = versions
    text = f"```\n{steps.scores_text(open_warehouse(root), scored)}\n```"
    create_markdown_artifact(text, key="scores", description=f"How good {plan.name} is")
    words = ["train", "plot", plan.name, "-o"]
    publish_picture(root, words, "learning-curve", f"How {plan.name} learned")
    get_run_logger().info("scored %s", learned)
    return versions


def parse_arguments(arguments: Sequence[str]) -> tuple[str, TrainingPlan]:
    """Parse the command line: the folder of the warehouse, and the plan."""
    parser = flow_parser("train", __doc__)
    parser.add_argument("name", metavar="NAME", help="what to call the network")
    add_plan(parser, TrainingPlan, MEANINGS)
    found = vars(parser.parse_args(arguments))
    return found.pop("warehouse"), TrainingPlan(**found)


def main(arguments: Sequence[str]) -> int:
    """Run the flow, print the scores, and return the exit code."""
    root, plan = parse_arguments(arguments)

    def train() -> None:
        *_, learned, scored = train_network(root, plan)
        print(f"{learned}\n{steps.scores_text(open_warehouse(root), scored)}")

    return run_flow(train)


if __name__ == "__main__":
    run(lambda: main(sys.argv[1:]))
