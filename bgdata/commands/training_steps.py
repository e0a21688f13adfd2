"""From games to a scored network, step by step: each builds one version, and is skipped where that is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bgdata.commands.referee import table_size
from bgdata.commands.report import progress_bars
from bgdata.commands.rollout import network_parameters
from bgdata.commands.score import PUBEVAL, Amount, build_scores, opponent_of, score_lines
from bgdata.commands.train_sl import RECIPE, chosen_parameters
from bgdata.datasets._sources import find_source_recipe
from bgdata.datasets.lookahead_labels import DATASET as LOOKAHEADS
from bgdata.datasets.lookahead_labels import LookaheadParameters
from bgdata.datasets.selfplay import DATASET as CORPORA
from bgdata.datasets.selfplay import SelfPlayParameters
from bgdata.datasets.selfplay_labels import DATASET as OUTCOMES
from bgdata.datasets.selfplay_labels import LabelParameters
from bgdata.datasets.taught_network import DATASET as NETWORKS
from bgdata.datasets.taught_network import TaughtParameters
from bgdata.errors import UsageError
from bgdata.evaluation.named_network import KIND as NETWORK
from bgdata.evaluation.named_network import find_network, network_name
from bgdata.evaluation.player import open_player
from bgdata.store.dataset import Parameters
from bgdata.store.table import Table
from bgdata.store.warehouse import Warehouse


@dataclass(frozen=True)
class Plan:
    """What becomes of a network. `start` is network or network/NAME: it plays the games, looks a roll ahead in their
    positions, and learns from what it saw."""

    name: str
    start: str = NETWORK
    games: int = 10_000
    seed: int = 1  # of these games
    epochs: int = TaughtParameters.epochs
    hidden: str = ""  # units of the contact network, as many as at the start if empty
    score_games: int = Amount().games
    hedged_games: int = Amount().hedged_games
    decisions: int = Amount().decisions


def build_corpus(warehouse: Warehouse, plan: Plan) -> Table:
    """Games of the start against himself. Raises UnknownPlayerError for one who is no network."""
    network_name(plan.start)
    version = "" if plan.start == NETWORK else open_player(plan.start, 0, warehouse).version
    return built(warehouse, CORPORA.name, SelfPlayParameters(plan.start, version, plan.games, plan.seed))


def build_lookahead(warehouse: Warehouse, plan: Plan, corpus: str) -> Table:
    """What the start sees a roll ahead in the positions of a version of games."""
    source = corpus.rpartition("/")[0]
    network = network_parameters(warehouse, plan.start.partition("/")[2])
    recipe = find_source_recipe(warehouse, source)
    return built(warehouse, LOOKAHEADS.name, LookaheadParameters(source=source, **network, source_recipe=recipe))


def build_outcomes(warehouse: Warehouse, corpus: str) -> Table:
    """How the games of a version ended, or what the largest two-sided table there says of their ends: noisy, but
    without the prejudice of whoever looks ahead. Raises MissingTableError where there is no table."""
    games = SelfPlayParameters.from_manifest(warehouse.open(*corpus.split("/")).manifest.parameters)
    points, checkers = table_size(warehouse, "", "to rescore by")
    return built(warehouse, OUTCOMES.name, LabelParameters(**vars(games), points=points, checkers=checkers))


def build_network(warehouse: Warehouse, plan: Plan, labels: Sequence[str]) -> Table:
    """The network that learned from versions of labels, as much from each; the feed works out its features."""
    recipe = {name: getattr(TaughtParameters, name) for name in RECIPE} | {"epochs": plan.epochs, "hidden": plan.hidden}
    parameters = chosen_parameters(warehouse, plan.name, tuple(labels), plan.start, True, recipe)
    return built(warehouse, NETWORKS.name, parameters)


def build_score(warehouse: Warehouse, plan: Plan, network: str) -> Table:
    """How good the network has become, against PubEval and the start among others. Raises UsageError unless this
    version is the one that plays under its name."""
    playing = find_network(f"{NETWORK}/{plan.name}", warehouse).name
    if playing != network:
        raise UsageError(
            f"expected {network} to be what plays as {NETWORK}/{plan.name}, found {playing}; give another name"
        )
    amount = Amount(plan.score_games, plan.hedged_games, plan.decisions)
    opponents = [PUBEVAL, opponent_of(plan.start)]
    with progress_bars() as progress:
        table, left_out = build_scores(
            warehouse, (f"{NETWORK}/{plan.name}", 0), opponents, amount, progress, programs=False
        )
        for line in left_out:
            progress.note(f"left out: {line}")
    return table


def built(warehouse: Warehouse, kind: str, parameters: Parameters) -> Table:
    """The version, with progress while it is built."""
    with progress_bars() as progress:
        return warehouse.build(kind, parameters, progress=progress)


def scores_text(warehouse: Warehouse, version: str) -> str:
    """A version of `scores` for people. Raises UsageError for another kind."""
    kind, *rest = version.split("/")
    if kind != "scores":
        raise UsageError(f"expected a version of scores, got {version}")
    return "\n".join(score_lines(warehouse, warehouse.open(kind, *rest)))
