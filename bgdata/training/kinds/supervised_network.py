"""Networks trained on labelled positions, and their learning curves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from bgdata.bearoff.kinds.bearoff_one_sided import race_inputs
from bgdata.errors import InvalidParameterError
from bgdata.evaluation.networks.input_sets import input_set_named
from bgdata.evaluation.players import DEFAULT_NETWORK, SHIPPED
from bgdata.selfplay.kinds.selfplay_labels import DATASET as SELFPLAY_LABELS
from bgdata.store.arrays import Array
from bgdata.store.dataset import FROM_INPUTS, Column, Dataset, Estimate, FlatArray
from bgdata.store.parameters import Parameters, VersionRef, number_text
from bgdata.store.table import published_folder, published_versions
from bgdata.training.kinds.network import DATASET as NETWORK
from bgdata.training.kinds.network import MAX_GAMES, MIN_GAMES, POINTS, check_name, known_variant
from bgdata.training.recipes import SupervisedRecipe

CLASSES = ("race", "crashed", "contact")
START = VersionRef("network", DEFAULT_NETWORK)
NEW = "new"  # value of an option that means: start from new networks


@dataclass(frozen=True)
class WeightedLabels:
    """One or several versions of labels, and their weight in the batches, as in `VERSION+VERSION:3`. If a label names
    no version, its default variant is built first."""

    versions: tuple[VersionRef, ...]
    weight: float = 1.0

    def __str__(self) -> str:
        return f"{self.name}:{number_text(self.weight)}"

    @property
    def name(self) -> str:
        """The names of the versions, joined by `+`."""
        return "+".join(map(str, self.versions))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the versions and the weight from a string `KIND/VARIANT/VERSION:WEIGHT`. Raises InvalidParameterError
        for any other string."""
        names, _, weight = text.partition(":")
        try:
            return cls(tuple(map(VersionRef.parse, names.split("+"))), float(weight or 1))
        except (InvalidParameterError, ValueError):  # the version or the weight is invalid
            raise InvalidParameterError(f"expected labels KIND/VARIANT/VERSION:WEIGHT, got {text!r}") from None


def check_labels(given: Sequence[WeightedLabels]) -> None:
    """Raise InvalidParameterError if there are no labels, if labels have no version or weight, or if the same labels
    are given twice."""
    if not given:
        raise InvalidParameterError("expected labels KIND/VARIANT/VERSION:WEIGHT, got none")
    seen: set[str] = set()
    for labels in given:
        if not labels.versions or not 0 < labels.weight < float("inf"):
            raise InvalidParameterError(f"expected labels KIND/VARIANT/VERSION:WEIGHT, got '{labels}'")
        if labels.name in seen:
            raise InvalidParameterError(f"expected labels once, with one weight, got {labels.name} twice")
        seen.add(labels.name)


@dataclass(frozen=True)
class SupervisedParameters(SupervisedRecipe, Parameters):
    """Parameters of `supervised_network`: the settings of supervised learning, the networks to start from, and the
    labels.

    `start` is a version of a network, or the variant of a network that is part of bgdata. If it is None, training
    starts from new networks with the settings' hidden units, `inputs` (of the contact and crashed networks) and
    `activation`. `add_inputs` are added to the networks of `start`. `guard` are versions of benchmarks whose positions
    are left out. `features` are the inputs of the networks with their revisions, empty for the present ones."""

    name: str = "sl"
    start: VersionRef | None = START
    labels: tuple[WeightedLabels, ...] = ()
    guard: tuple[VersionRef, ...] = ()
    features: tuple[str, ...] = ()
    test_games: int = 4_000
    later = ("inputs", "activation", "revive", "add_inputs", "feed_format")

    def check_determined(self) -> None:
        """Raise InvalidParameterError if a benchmark whose positions are left out is named without its version."""
        check_guard(self.guard)


class SupervisedNetwork(Dataset[SupervisedParameters]):
    """Kind `supervised_network`: networks trained on labelled positions. One row per epoch and network."""

    name = "supervised_network"
    revision = 1
    made_again = f"{FROM_INPUTS}; within its error where PyTorch trained it"
    summary = "Networks for race, crashed and contact positions, learned from labels, and how they learned."
    source = "Computed: supervised learning by gradient descent (Adam, Kingma and Ba 2015, or plain), in float32"
    main_table = "supervised_learning_curve"
    columns = (
        Column("epoch", "INTEGER", "", "Epochs so far, 0 before the first"),
        Column("network", "VARCHAR", "", "race, crashed or contact"),
        Column("learning_rate", "DOUBLE", "per step", "Learning rate at the end of the epoch"),
        Column("positions", "BIGINT", "positions", "What the network has learned from in the epoch"),
        Column("train_cross_entropy", "DOUBLE", "nats", "Mean over a sample of what is learned, summed over chances"),
        Column("validation_cross_entropy", "DOUBLE", "nats", "The same of positions that are never learned from"),
        Column("train_squared_error", "DOUBLE", "points squared", "Mean of cubeless equities, over the same sample"),
        Column("validation_squared_error", "DOUBLE", "points squared", "The same of positions never learned from"),
        Column("is_best", "BOOLEAN", "", "Whether validation_cross_entropy was the lowest so far: weights are kept"),
    )
    key = ("epoch", "network")
    arrays = (
        *NETWORK.arrays[:3],
        FlatArray(
            "curve", "float64", "epoch, network, number", "The numbers of the learning curve, from `learning_rate` on"
        ),
        FlatArray("tests", "float64", "start or result, number", "Points per game against PubEval, standard error"),
    )
    parameters = SupervisedParameters
    defaults = tuple(published_versions(SHIPPED, SupervisedParameters))
    smallest = SupervisedParameters(
        epochs=2,
        batch_size=32,
        learning_rate=0.01,
        hidden="12",
        name="tiny-supervised",
        start=VersionRef("network", NETWORK.slug(NETWORK.smallest)),
        labels=(WeightedLabels((VersionRef(SELFPLAY_LABELS.name, SELFPLAY_LABELS.slug(SELFPLAY_LABELS.smallest)),)),),
        test_games=20,
    )

    def slug(self, parameters: SupervisedParameters) -> str:
        return parameters.name

    def check_parameters(self, parameters: SupervisedParameters) -> None:
        parameters.check()
        check_name(parameters.name)
        if not MIN_GAMES <= parameters.test_games <= MAX_GAMES:
            raise InvalidParameterError(
                f"expected {MIN_GAMES} to {MAX_GAMES:,} test games, got {parameters.test_games}"
            )
        input_set_named(parameters.inputs)
        for name in ("activation", "inputs"):
            if parameters.start and getattr(parameters, name) != getattr(self.parameters, name):
                raise InvalidParameterError(
                    f"expected --start new for {name} {getattr(parameters, name)}, got {parameters.start}"
                )
        if parameters.add_inputs:
            input_set_named(parameters.add_inputs)
            if parameters.start is None:
                raise InvalidParameterError("expected networks to add_inputs to, got new ones; try: --inputs")
        if parameters.start is None and not all(parameters.layers()):
            raise InvalidParameterError("expected hidden units for all three networks without networks to start from")
        check_labels(parameters.labels)
        self.inputs(parameters)

    def inputs(self, parameters: SupervisedParameters) -> Mapping[str, tuple[str, Parameters]]:
        found = race_inputs(POINTS)
        sources = [place for labels in parameters.labels for place in labels.versions]
        for role, place in (("start", parameters.start), *((label_role(place), place) for place in sources)):
            if place and not place.version:
                found[role] = known_variant(place)
        return found

    def published_folder(self, parameters: SupervisedParameters) -> Path | None:
        return published_folder(SHIPPED, parameters, self.slug(parameters))

    def estimate(self, parameters: SupervisedParameters) -> Estimate:
        return Estimate(3 * (parameters.epochs + 1), 1 << 20, 1 << 30)


def check_guard(guard: Iterable[VersionRef]) -> None:
    """Raise InvalidParameterError if a benchmark is named without its version. Another version may be current later,
    and networks would then learn from other positions."""
    for place in guard:
        if not place.version:
            raise InvalidParameterError(f"expected a version in guard, such as {place}/r1-0123abcd, got {place}")


def label_role(place: VersionRef) -> str:
    """Return the role that a version of labels has among the inputs."""
    return f"labels_{str(place).replace('/', '_')}"


def best_epoch(curve: Array, which: int) -> int | None:
    """Return the epoch after which network `which` had the lowest validation error, whose weights the network has; None
    if it was not trained."""
    epochs = np.flatnonzero(curve[:, which, -1] > 0)
    return int(epochs[-1]) if len(epochs) else None


def epoch_line(epoch: int, curve: Array) -> str:
    """Return the results of an epoch as a line of text."""
    parts = []
    for which in reversed(range(len(CLASSES))):
        _, _, train, validation, _, squared, is_best = curve[epoch, which].tolist()
        if validation == validation:
            change = f" ({100 * (validation / curve[0, which, 3] - 1):+.2f} %)" if epoch else ""
            parts.append(
                f"{CLASSES[which]} {validation:.5f}{change}{' *' if is_best else ''}, "
                f"learned {train:.5f}, RMSE of equity {squared**0.5:.4f}"
            )
    return f"epoch {epoch}, rate {curve[epoch, :, 0].max():.2g}: " + "; ".join(parts)


DATASET = SupervisedNetwork()
