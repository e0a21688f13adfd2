"""From games to a scored network in steps: each builds one version, or finds it already built."""

from __future__ import annotations

from dataclasses import dataclass

from bgdata.errors import UsageError
from bgdata.evaluation.networks.named import find_network, network_name
from bgdata.evaluation.player import open_named_player
from bgdata.evaluation.players import NETWORK
from bgdata.measures.steps.score_rows import figure_rows, score_lines
from bgdata.measures.steps.scores import PUBEVAL, Amount, build_scores, opponent_of
from bgdata.selfplay.kinds.lookahead_labels import DATASET as LOOKAHEADS
from bgdata.selfplay.kinds.lookahead_labels import LookaheadParameters
from bgdata.selfplay.kinds.play_sample import DATASET as PLAYS
from bgdata.selfplay.kinds.play_sample import PlaySampleParameters
from bgdata.selfplay.kinds.selfplay import DATASET as CORPORA
from bgdata.selfplay.kinds.selfplay import SelfPlayParameters
from bgdata.selfplay.kinds.shared.sources import find_source
from bgdata.store.parameters import Parameters
from bgdata.store.progress_bars import progress_bars
from bgdata.store.table import Table
from bgdata.training.kinds.supervised_network import DATASET as NETWORKS
from bgdata.training.kinds.supervised_network import SupervisedParameters
from bgdata.training.steps.networks import chosen_parameters, network_parameters
from bgdata.warehouse import Warehouse

ALL = (1 << 31) - 1  # turns of each class
CLASSES = ("contact", "crashed")  # classes: races are better learned from tables


@dataclass(frozen=True)
class TrainingPlan:
    """How a network is to be trained. `start` is network or network/NAME: it plays the games, evaluates their best
    plays at 1-ply, and is what training starts from."""

    name: str
    start: str = NETWORK
    games: int = 10_000
    seed: int = 1  # of these games
    epochs: int = SupervisedParameters.epochs
    learning_rate: float = SupervisedParameters.learning_rate
    hidden: str = ""  # units of the contact network, as many as at the start if empty
    score_games: int = Amount().games
    luck_adjusted_games: int = Amount().luck_adjusted_games
    decisions: int = Amount().decisions


def build_corpus(warehouse: Warehouse, plan: TrainingPlan) -> Table:
    """Games of the start against itself. Raises UnknownPlayerError for a player that is not a network."""
    network_name(plan.start)
    version = "" if plan.start == NETWORK else open_named_player(plan.start, 0, warehouse).version
    return built(warehouse, CORPORA.name, SelfPlayParameters(plan.start, version, plan.games, plan.seed))


def build_plays(warehouse: Warehouse, plan: TrainingPlan, corpus: str) -> Table:
    """Positions after the best plays of every turn of a corpus, by the start at 0-ply: the choices that the network
    should learn to tell apart."""
    games = SelfPlayParameters.from_manifest(warehouse.open_reference(corpus).manifest.parameters)
    network = network_parameters(warehouse, plan.start.partition("/")[2])
    return built(warehouse, PLAYS.name, PlaySampleParameters(**vars(games), most=ALL, classes=CLASSES, **network))


def build_lookahead(warehouse: Warehouse, plan: TrainingPlan, plays: str) -> Table:
    """Labels by the start at 1-ply for a version of positions."""
    network = network_parameters(warehouse, plan.start.partition("/")[2])
    source, recipe = find_source(warehouse, plays)
    return built(warehouse, LOOKAHEADS.name, LookaheadParameters(source=source, **network, source_recipe=recipe))


def build_network(warehouse: Warehouse, plan: TrainingPlan, labels: str) -> Table:
    """The network trained on a version of labels; the feed computes its inputs."""
    recipe = {"epochs": plan.epochs, "learning_rate": plan.learning_rate, "hidden": plan.hidden}
    parameters = chosen_parameters(warehouse, plan.name, (labels,), plan.start, True, recipe)
    return built(warehouse, NETWORKS.name, parameters)


def build_score(warehouse: Warehouse, plan: TrainingPlan, network: str) -> Table:
    """The scores of the network, against PubEval and the start among others. Raises UsageError unless this version is
    the one that plays under its name."""
    playing = find_network(f"{NETWORK}/{plan.name}", warehouse).name
    if playing != network:
        raise UsageError(
            f"expected {network} to be what plays as {NETWORK}/{plan.name}, found {playing}; give another name"
        )
    amount = Amount(plan.score_games, plan.luck_adjusted_games, plan.decisions)
    opponents = [PUBEVAL, opponent_of(plan.start)]
    with progress_bars() as progress:
        table, left_out = build_scores(
            warehouse, (f"{NETWORK}/{plan.name}", 0), opponents, amount, progress, programs=False
        )
        for line in left_out:
            progress.note(f"left out: {line}")
    return table


def built(warehouse: Warehouse, kind: str, parameters: Parameters) -> Table:
    """Build a version, or find it, with a progress bar."""
    with progress_bars() as progress:
        return warehouse.build(kind, parameters, progress=progress)


def scores_text(warehouse: Warehouse, version: str) -> str:
    """A version of `scores` as text. Raises UsageError for another kind."""
    if version.partition("/")[0] != "scores":
        raise UsageError(f"expected a version of scores, got {version}")
    table = warehouse.open_reference(version)
    return "\n".join(score_lines(table, figure_rows(warehouse, table)))
