"""Networks of a player that learned from labelled positions, and how they did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from bgdata.datasets.common.networks import known_variant, opened
from bgdata.datasets.common.race import RaceParameters
from bgdata.datasets.network import DATASET as NETWORK
from bgdata.datasets.network import DEVIATIONS, LEAST_GAMES, POINTS, teaching_tables
from bgdata.datasets.selfplay_labels import DATASET as SELFPLAY_LABELS
from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.evaluation.networks.shipped import DEFAULT_NETWORK, SHIPPED
from bgdata.store.context import Build, Computed, Recheck
from bgdata.store.dataset import Dataset, Estimate
from bgdata.store.declaration import Column, FlatArray
from bgdata.store.parameters import Parameters, VersionRef, number_text
from bgdata.store.published import published_versions
from bgdata.training.supervised.recipe import SupervisedRecipe

if TYPE_CHECKING:
    import pyarrow as pa

    from bgdata.evaluation.networks.inference import Networks
    from bgdata.store.arrays import Array
    from bgdata.training.supervised.run import SupervisedRun

CLASSES = ("race", "crashed", "contact")


START = VersionRef("network", DEFAULT_NETWORK)


@dataclass(frozen=True)
class WeightedLabels:
    """A source of labels, of one version or several, and how often its rows are learned from: as `VERSION+VERSION:3`.
    A version that is not named is that of a default variant, built first."""

    versions: tuple[VersionRef, ...]
    weight: float = 1.0

    def __str__(self) -> str:
        return f"{self.name}:{number_text(self.weight)}"

    @property
    def name(self) -> str:
        """The versions, + between."""
        return "+".join(map(str, self.versions))

    @classmethod
    def parse(cls, text: str) -> Self:
        """From `KIND/VARIANT/VERSION:WEIGHT`. Raises InvalidParameterError."""
        names, _, weight = text.partition(":")
        try:
            return cls(tuple(map(VersionRef.parse, names.split("+"))), float(weight or 1))
        except ValueError:
            raise InvalidParameterError(f"expected labels KIND/VARIANT/VERSION:WEIGHT, got {text!r}") from None


@dataclass(frozen=True)
class SupervisedParameters(SupervisedRecipe, Parameters):
    """A recipe of supervised learning, from which networks and labels on.

    `start` is a version of a network, or the variant of one that comes with bgdata. `guard` are versions of benchmarks
    whose positions are left out. `features` are the inputs of the networks with their revisions, none for the present
    ones.
    """

    name: str = "sl"
    start: VersionRef = START
    labels: tuple[WeightedLabels, ...] = ()
    guard: tuple[VersionRef, ...] = ()
    features: tuple[str, ...] = ()
    test_games: int = 4_000


def published_supervised_networks() -> dict[SupervisedParameters, Path]:
    """Folders of the networks that come with the package, by recipe; one whose manifest is damaged is none."""
    return published_versions(SHIPPED, SupervisedParameters)


class SupervisedNetwork(Dataset[SupervisedParameters]):
    """One row an epoch and network."""

    name = "supervised_network"
    revision = 1
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
    defaults = tuple(published_supervised_networks())
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
        name = parameters.name.replace("-", "")
        if not (name.isascii() and name.isalnum() and parameters.name == parameters.name.lower()):
            raise InvalidParameterError(f"expected a name of small letters, digits and -, got {parameters.name!r}")
        if parameters.test_games < 2:
            raise InvalidParameterError(f"expected at least 2 test games, got {parameters.test_games}")
        if not parameters.labels:
            raise InvalidParameterError("expected labels KIND/VARIANT/VERSION:WEIGHT, got none")
        for labels in parameters.labels:
            if not labels.versions or not 0 < labels.weight < float("inf"):
                raise InvalidParameterError(f"expected labels KIND/VARIANT/VERSION:WEIGHT, got '{labels}'")
        self.inputs(parameters)

    def inputs(self, parameters: SupervisedParameters) -> Mapping[str, tuple[str, Parameters]]:
        race = RaceParameters(POINTS)
        found: dict[str, tuple[str, Parameters]] = {
            "one_sided": ("bearoff_one_sided", race),
            "gammon": ("bearoff_gammon", race),
        }
        sources = [place for labels in parameters.labels for place in labels.versions]
        for role, place in (("start", parameters.start), *((label_role(place), place) for place in sources)):
            if not place.version:
                found[role] = known_variant(place)
        return found

    def published(self, parameters: SupervisedParameters) -> Path | None:
        return published_supervised_networks().get(parameters)

    def estimate(self, parameters: SupervisedParameters) -> Estimate:
        return Estimate(3 * (parameters.epochs + 1), 1 << 20, 1 << 30)

    def compute(self, build: Build[SupervisedParameters]) -> None:
        from bgdata.evaluation.networks.mapped import open_networks
        from bgdata.training.networks import rounded_networks
        from bgdata.training.temporal_difference.learning_curve import result_against_pubeval

        parameters, inputs, job = build.parameters, build.inputs, build.job
        start = open_networks(opened(parameters.start, inputs.get("start"), build.warehouse))
        teacher = open_teacher(build, start)
        for note in teacher.notes():
            job.progress.note(note)
        curve = np.zeros((parameters.epochs + 1, len(CLASSES), len(self.columns) - 2))
        state: dict[str, Array] = {**teacher.state(), "curve": curve}
        sizes = [0, *[teacher.positions] * parameters.epochs]
        for epoch in job.steps(f"{self.name}/{self.slug(parameters)}", "positions", range(len(sizes)), sizes, state):
            curve[epoch] = teacher.curve_rows(epoch)
            job.progress.note(described(epoch, curve))
        networks = rounded_networks(teacher.best)
        tables, games = teaching_tables(inputs), parameters.test_games
        results = [result_against_pubeval(each, tables, games) for each in (start, networks)]
        for name, values in networks._asdict().items():
            job.save(name, values)
        job.save("curve", curve)
        job.save("tests", np.array([[result.points_per_game, result.standard_error] for result in results]))

    def batches(self, computed: Computed[SupervisedParameters]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        curve = np.asarray(computed.arrays["curve"])
        rows = curve[:, order_of_names()].reshape(-1, curve.shape[2])
        numbers = {column.name: rows[:, place] for place, column in enumerate(self.columns[2:])}
        errors = {name: pa.array(values, from_pandas=True) for name, values in numbers.items()}
        yield pa.record_batch(
            {
                "epoch": np.repeat(np.arange(len(curve), dtype=np.int32), len(CLASSES)),
                "network": sorted(CLASSES) * len(curve),
                **errors,
                "positions": numbers["positions"].astype(np.int64),
                "is_best": numbers["is_best"] > 0,
            }
        )

    def statistics(self, computed: Computed[SupervisedParameters]) -> Mapping[str, float]:
        curve, tests = np.asarray(computed.arrays["curve"]), np.asarray(computed.arrays["tests"])
        found = dict(zip(("points_per_game", "standard_error"), tests[1].tolist(), strict=True))
        found |= dict(zip(("start_points_per_game", "start_standard_error"), tests[0].tolist(), strict=True))
        for which, name in enumerate(CLASSES):
            kept = best_epoch(curve, which)
            if kept is not None:
                for prefix, epoch in (("start_", 0), ("", kept)):
                    found[f"{prefix}{name}_cross_entropy"] = float(curve[epoch, which, 3])
                    found[f"{prefix}{name}_equity_error"] = float(np.sqrt(curve[epoch, which, 5]))
                found[f"{name}_epoch"] = float(kept)
        return found

    def check_sample(self, recheck: Recheck[SupervisedParameters]) -> str:
        """The networks play the first of their test games again, up to `rows` of them."""
        from bgdata.evaluation.networks.mapped import open_networks
        from bgdata.training.temporal_difference.learning_curve import result_against_pubeval

        table, parameters = recheck.table, recheck.parameters
        count = min(max(recheck.rows, LEAST_GAMES), parameters.test_games)
        result = result_against_pubeval(open_networks(table), teaching_tables(recheck.inputs), count)
        points = float(np.asarray(table.array("tests"))[1, 0])
        margin = 0.0 if count == parameters.test_games else DEVIATIONS * result.standard_error
        if not abs(result.points_per_game - points) <= margin:
            raise CheckFailedError(
                f"expected {result.points_per_game:+.4f} points per game within {margin:.4f}, as in the first {count} "
                f"test games, for {table.name}, found {points:+.4f}"
            )
        return f"{count:,} of {parameters.test_games:,} test games; it was not trained again"


def label_role(place: VersionRef) -> str:
    """Role of labels among the inputs."""
    return f"labels_{str(place).replace('/', '_')}"


def open_teacher(build: Build[SupervisedParameters], start: Networks) -> SupervisedRun:
    """A run at its beginning. Raises UsageError for features of another revision, a split without rows, and the rest
    as opening a feed does."""
    from bgdata.training.feed.feed import Feed
    from bgdata.training.feed.recipe import FeedRecipe
    from bgdata.training.networks import check_features, started_networks
    from bgdata.training.supervised.run import FEED_BATCH_ROWS, SupervisedRun

    parameters, warehouse = build.parameters, build.warehouse
    check_features(start, " ".join(parameters.features))
    sources = {}
    for labels in parameters.labels:
        tables = [opened(place, build.inputs.get(label_role(place)), warehouse) for place in labels.versions]
        sources[labels.name] = {
            "weight": labels.weight,
            "versions": {table.name: table.manifest.digest for table in tables},
        }
    guard = {str(place): warehouse.open_reference(place).manifest.digest for place in parameters.guard}
    feeds = [
        Feed(warehouse, FeedRecipe(sources, split, parameters.seed, FEED_BATCH_ROWS, "", {}, guard or None))
        for split in ("train", "validation")
    ]
    networks = started_networks(start, parameters.layers(), parameters.seed)
    return SupervisedRun(parameters, networks, *feeds)


def order_of_names() -> list[int]:
    """Places of the networks in order of name."""
    return sorted(range(len(CLASSES)), key=CLASSES.__getitem__)


def best_epoch(curve: Array, which: int) -> int | None:
    """The epoch whose weights of a network are kept; None for one that did not learn."""
    epochs = np.flatnonzero(curve[:, which, -1] > 0)
    return int(epochs[-1]) if len(epochs) else None


def described(epoch: int, curve: Array) -> str:
    """An epoch for people."""
    parts = []
    for which in reversed(range(len(CLASSES))):
        _, _, train, validation, _, squared, is_best = curve[epoch, which].tolist()
        if validation == validation:
            change = f" ({100 * (validation / curve[0, which, 3] - 1):+.2f} %)" if epoch else ""
            parts.append(
                f"{CLASSES[which]} {validation:.5f}{change}{' *' if is_best else ''}, "
                f"learned {train:.5f}, equity off by {squared**0.5:.4f}"
            )
    return f"epoch {epoch}, rate {curve[epoch, :, 0].max():.2g}: " + "; ".join(parts)


DATASET = SupervisedNetwork()
