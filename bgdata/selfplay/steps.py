"""Steps that build corpora: games, games with the cube, labels rescored by tables, and rollouts of a sample.

Each step builds one version, or finds it already built. Steps that work in parts take an executor.
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass

from bgdata.evaluation.networks.player import network_name
from bgdata.evaluation.player import open_named_player
from bgdata.evaluation.players import NETWORK
from bgdata.measures.steps.scores import table_size
from bgdata.selfplay.kinds import cubeful_selfplay, position_sample, rollout_labels, selfplay, selfplay_labels
from bgdata.selfplay.kinds.shared.rollouts import find_source
from bgdata.store.progress import Progress
from bgdata.store.table import Table
from bgdata.training.steps import network_parameters
from bgdata.warehouse import Warehouse


@dataclass(frozen=True)
class CorpusPlan:
    """The player and the sizes of the corpora to build. `player` is network or network/NAME; if a size is 0, that step
    is left out."""

    player: str = NETWORK
    games: int = 10_000
    seed: int = 1  # for all games and rollouts
    cubeful_games: int = 10_000
    most: int = 300  # positions of each class to roll out
    trials: int = 1296  # in each rollout


def build_games(warehouse: Warehouse, plan: CorpusPlan, executor: Executor, progress: Progress) -> Table:
    """Build cubeless games of the player against itself. Raises UnknownPlayerError if the player is not a network."""
    network_name(plan.player)
    version = "" if plan.player == NETWORK else open_named_player(plan.player, 0, warehouse).version
    parameters = selfplay.SelfPlayParameters(plan.player, version, plan.games, plan.seed)
    return warehouse.build(selfplay.DATASET.name, parameters, progress=progress, executor=executor)


def build_cubeful_games(warehouse: Warehouse, plan: CorpusPlan, executor: Executor, progress: Progress) -> Table:
    """Build money games of the player against itself with the cube."""
    network = network_parameters(warehouse, network_part(plan))
    parameters = cubeful_selfplay.CubefulParameters(**network, games=plan.cubeful_games, seed=plan.seed)
    return warehouse.build(cubeful_selfplay.DATASET.name, parameters, progress=progress, executor=executor)


def build_labels(warehouse: Warehouse, corpus: str, progress: Progress) -> Table:
    """Label every turn of a version of games with the outcome of its game, rescored by the largest two-sided table.
    Raises MissingTableError if there is no such table."""
    games = selfplay.SelfPlayParameters.from_manifest(warehouse.open_reference(corpus).manifest.parameters)
    points, checkers = table_size(warehouse, "", "to rescore by")
    parameters = selfplay_labels.SelfPlayLabelParameters(**vars(games), points=points, checkers=checkers)
    return warehouse.build(selfplay_labels.DATASET.name, parameters, progress=progress)


def build_sample(warehouse: Warehouse, plan: CorpusPlan, corpus: str, progress: Progress) -> Table:
    """Sample positions from a version of games, up to `plan.most` of each class."""
    games = selfplay.SelfPlayParameters.from_manifest(warehouse.open_reference(corpus).manifest.parameters)
    parameters = position_sample.SampleParameters(**vars(games), most=plan.most)
    return warehouse.build(position_sample.DATASET.name, parameters, progress=progress)


def build_rollouts(
    warehouse: Warehouse, plan: CorpusPlan, sample: str, executor: Executor, progress: Progress
) -> Table:
    """Roll out the positions of a version of `position_sample` by the player."""
    network = network_parameters(warehouse, network_part(plan))
    source, recipe = find_source(warehouse, sample)
    parameters = rollout_labels.RolloutLabelParameters(
        **network, trials=plan.trials, source=source, seed=plan.seed, source_recipe=recipe
    )
    return warehouse.build(rollout_labels.DATASET.name, parameters, progress=progress, executor=executor)


def network_part(plan: CorpusPlan) -> str:
    """Return the name of the plan's player without `network/`. Raises UnknownPlayerError if the player is not a
    network."""
    return network_name(plan.player).partition("/")[2]
