"""Parameters from the names of networks and labels, and the steps from games to a scored network. Each step builds one
version, or opens it if it exists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bgdata.errors import UsageError, cite
from bgdata.evaluation.networks.player import find_network, network_name, open_networks
from bgdata.evaluation.player import open_named_player
from bgdata.evaluation.players import DEFAULT_NETWORK, NETWORK, SHIPPED
from bgdata.measures.steps.scores import PUBEVAL, Amount, build_scores, figure_rows, opponent_of, score_lines
from bgdata.selfplay.kinds.lookahead_labels import DATASET as LOOKAHEADS
from bgdata.selfplay.kinds.lookahead_labels import LookaheadParameters
from bgdata.selfplay.kinds.play_sample import DATASET as PLAYS
from bgdata.selfplay.kinds.play_sample import PlaySampleParameters
from bgdata.selfplay.kinds.selfplay import DATASET as CORPORA
from bgdata.selfplay.kinds.selfplay import SelfPlayParameters
from bgdata.selfplay.kinds.shared.rollouts import find_source
from bgdata.store.parameters import Parameters, VersionRef
from bgdata.store.progress import progress_bars
from bgdata.store.table import Table
from bgdata.training.feed.feed import FORMAT
from bgdata.training.feed.rows import benchmark_versions, labelled_versions
from bgdata.training.kinds.network import DATASET as LEARNED
from bgdata.training.kinds.network import known_network, network_ref
from bgdata.training.kinds.supervised_network import DATASET as NETWORKS
from bgdata.training.kinds.supervised_network import NEW, SupervisedParameters, WeightedLabels
from bgdata.training.networks import feature_names
from bgdata.warehouse import Warehouse

ALL = (1 << 31) - 1  # limit of turns of each class that takes all turns
CLASSES = ("contact", "crashed")  # race networks learn better from tables


def network_parameters(warehouse: Warehouse, network: str) -> dict[str, Any]:
    """Return the parameters that name a network: its name, and its version unless it is part of the package. Raises
    MissingTableError if there is no such network."""
    if not network:
        return {"network": DEFAULT_NETWORK, "network_version": ""}
    table = find_network(f"{NETWORK}/{network}", warehouse)
    name, version = table.folder.parts[-2:]
    return {"network": name, "network_version": "" if (SHIPPED / name / version).is_dir() else version}


def supervised_parameters(
    warehouse: Warehouse,
    name: str,
    labels: tuple[str, ...],
    start: str,
    guard: bool,
    recipe: dict[str, Any],
    *,
    anew: bool = False,
) -> SupervisedParameters:
    """Return the parameters of supervised training, from a command's arguments. Defaults are added, and names of labels
    and networks become the versions that they mean now. If `anew` is true, the name may be that of a network that comes
    with bgdata. Raises UsageError if options contradict each other, MissingTableError or UnknownPlayerError if labels
    or networks are missing, and MissingExtraError if PyTorch is not installed."""
    known = known_network(name)
    if (known and known[0] == LEARNED.name) or name in warehouse.variants(LEARNED.name):
        raise UsageError(f"expected a name that no network has that learned by self-play, got {cite(name)}")
    if known and not anew:
        raise UsageError(f"expected a name that no network has that comes with bgdata, got {cite(name)}; try: --force")
    table = None if start == NEW else find_network(start, warehouse)
    platform = ""  # kernels give the same result on any platform
    if recipe.get("trainer", SupervisedParameters.trainer) == "torch":
        from bgdata.training.supervised.torch_trainer import platform_name

        platform = platform_name(recipe.get("device", SupervisedParameters.device))
    return SupervisedParameters(
        **{"feed_format": FORMAT, **recipe},
        name=name,
        start=network_ref(warehouse, table) if table else None,
        **label_parameters(warehouse, labels, guard),
        features=tuple(feature_names(open_networks(table)).split()) if table else (),
        platform=platform,
    )


def label_parameters(warehouse: Warehouse, labels: tuple[str, ...], guard: bool) -> dict[str, Any]:
    """Return the parameters that name the labels and, if `guard` is true, the benchmarks whose positions are left out.
    Each label is a string `KIND[/VARIANT[/VERSION]][:WEIGHT]`. Raises UsageError if a label has another form, and
    MissingTableError if a version is missing."""
    found = []
    for text in labels:
        place, _, weight = text.partition(":")
        try:
            share = float(weight or 1)
        except ValueError:
            raise UsageError(f"expected labels KIND/VARIANT:WEIGHT, got {cite(text)}") from None
        found.append(WeightedLabels(tuple(map(VersionRef.parse, labelled_versions(warehouse, place))), share))
    left_out = tuple(map(VersionRef.parse, benchmark_versions(warehouse))) if guard else ()
    return {"labels": tuple(found), "guard": left_out}


@dataclass(frozen=True)
class TrainingPlan:
    """The settings of the steps from games to a scored network. `start` is network or network/NAME: this network plays
    the games and evaluates their best plays at 1-ply, and training starts from it."""

    name: str
    start: str = NETWORK
    games: int = 10_000
    seed: int = 1  # seed of the games
    epochs: int = SupervisedParameters.epochs
    learning_rate: float = SupervisedParameters.learning_rate
    hidden: str = ""  # hidden units of the contact network; empty for those of `start`
    score_games: int = Amount().games
    luck_adjusted_games: int = Amount().luck_adjusted_games
    decisions: int = Amount().decisions


def build_corpus(warehouse: Warehouse, plan: TrainingPlan) -> Table:
    """Build games of the network `plan.start` against itself. Raises UnknownPlayerError if it is not a network."""
    network_name(plan.start)
    version = "" if plan.start == NETWORK else open_named_player(plan.start, 0, warehouse).version
    return build_with_progress(warehouse, CORPORA.name, SelfPlayParameters(plan.start, version, plan.games, plan.seed))


def build_plays(warehouse: Warehouse, plan: TrainingPlan, corpus: str) -> Table:
    """Build the positions after the best plays of every turn of a corpus, by the network `plan.start` at 0-ply: the
    choices that the new network should learn to distinguish."""
    games = SelfPlayParameters.from_manifest(warehouse.open_reference(corpus).manifest.parameters)
    network = network_parameters(warehouse, plan.start.partition("/")[2])
    return build_with_progress(
        warehouse, PLAYS.name, PlaySampleParameters(**vars(games), most=ALL, classes=CLASSES, **network)
    )


def build_lookahead(warehouse: Warehouse, plan: TrainingPlan, plays: str) -> Table:
    """Label the positions of the version `plays` by the network `plan.start` at 1-ply."""
    network = network_parameters(warehouse, plan.start.partition("/")[2])
    source, recipe = find_source(warehouse, plays)
    return build_with_progress(
        warehouse, LOOKAHEADS.name, LookaheadParameters(source=source, **network, source_recipe=recipe)
    )


def build_network(warehouse: Warehouse, plan: TrainingPlan, labels: str) -> Table:
    """Train the plan's network on the version `labels`."""
    recipe = {"epochs": plan.epochs, "learning_rate": plan.learning_rate, "hidden": plan.hidden}
    parameters = supervised_parameters(warehouse, plan.name, (labels,), plan.start, True, recipe)
    return build_with_progress(warehouse, NETWORKS.name, parameters)


def build_score(warehouse: Warehouse, plan: TrainingPlan, network: str) -> Table:
    """Score the new network, against PubEval and the network `plan.start` among others. Raises UsageError if the
    network's name now means another version."""
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


def build_with_progress(warehouse: Warehouse, kind: str, parameters: Parameters) -> Table:
    """Build a version, or open it if it exists. A progress bar shows how far the build is."""
    with progress_bars() as progress:
        return warehouse.build(kind, parameters, progress=progress)


def scores_text(warehouse: Warehouse, version: str) -> str:
    """Return the rows of a version of `scores` as lines of text. Raises UsageError if `version` is of another kind."""
    if version.partition("/")[0] != "scores":
        raise UsageError(f"expected a version of scores, got {version}")
    table = warehouse.open_reference(version)
    return "\n".join(score_lines(table, figure_rows(warehouse, table)))
