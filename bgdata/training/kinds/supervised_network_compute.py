"""Trains a network on labelled positions, and tests it after every epoch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from bgdata.errors import CheckFailedError, MissingTableError, UsageError
from bgdata.evaluation.networks.inference import Activation, Networks
from bgdata.evaluation.networks.input_sets import InputSet, input_set_named
from bgdata.evaluation.networks.player import open_networks, stored_arrays
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Context, Recheck
from bgdata.training.feed.feed import ORDERS, Feed, FeedRecipe
from bgdata.training.kinds.network_compute import open_network_version, play_again, training_tables
from bgdata.training.kinds.supervised_network import CLASSES, SupervisedParameters, best_epoch, epoch_line, label_role
from bgdata.training.networks import feature_names, new_networks, rounded_networks, starting_networks
from bgdata.training.supervised.run import FEED_BATCH_ROWS, SupervisedRun
from bgdata.training.temporal_difference import result_against_pubeval


class SupervisedNetworkComputation(Computation[SupervisedParameters]):
    """Computes `supervised_network`: trains networks on labelled positions, and tests them after every epoch."""

    def compute(self, build: Build[SupervisedParameters]) -> None:
        parameters, inputs, job = build.parameters, build.inputs, build.job
        start = start_of(build)
        run = open_run(build, start)
        for note in run.notes():
            job.progress.note(note)
        curve = np.zeros((parameters.epochs + 1, len(CLASSES), len(self.kind.columns) - 2))
        state: dict[str, Array] = {**run.state(), "curve": curve}
        sizes = [0, *[run.positions] * parameters.epochs]
        for epoch in job.steps("positions", range(len(sizes)), sizes, state):
            curve[epoch] = run.curve_rows(epoch)
            job.progress.note(epoch_line(epoch, curve))
        networks = rounded_networks(run.best)
        tables, games = training_tables(inputs), parameters.test_games
        results = [result_against_pubeval(each, tables, games) for each in (start, networks)]
        for name, values in stored_arrays(networks).items():
            job.save(name, values)
        job.save("curve", curve)
        job.save("tests", np.array([[result.points_per_game, result.standard_error] for result in results]))

    def batches(self, computed: Computed[SupervisedParameters]) -> Iterator[pa.RecordBatch]:
        curve = np.asarray(computed.arrays["curve"])
        rows = curve[:, np.argsort(CLASSES)].reshape(-1, curve.shape[2])
        numbers = {column.name: rows[:, place] for place, column in enumerate(self.kind.columns[2:])}
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
        """Play up to `rows` of the first test games against PubEval again, by the stored networks and by the networks
        that training started from, if any, and compare the results."""
        table, parameters = recheck.table, recheck.parameters
        of_start, of_result = table.array("tests").tolist()
        tested, left_out = [(table.name, open_networks(table), of_result)], ""
        try:
            tested.append(("the start", start_of(recheck), of_start))
        except MissingTableError:
            left_out = f", and {parameters.start}, where it began, is not here"
        for name, networks, (points, error) in tested:
            result = play_again(networks, recheck, points, f" of {name}, in {table.name}")
            if result.games == parameters.test_games and error != result.standard_error:
                raise CheckFailedError(
                    f"expected the standard error {result.standard_error} of the test games of {name} in "
                    f"{table.name}, found {error}"
                )
        return f"{result.games:,} of {parameters.test_games:,} test games; it was not trained again{left_out}"


def start_of(context: Context[SupervisedParameters]) -> Networks:
    """Return the networks that training starts from, stored or new. Raises MissingTableError if they are missing."""
    parameters = context.parameters
    if parameters.start:
        return open_networks(open_network_version(parameters.start, context.inputs.get("start"), context.warehouse))
    inputs = input_set_named(parameters.inputs)
    activation = Activation[parameters.activation.upper()]
    sets = (InputSet.RACE, inputs, inputs)
    return rounded_networks(new_networks(sets, parameters.layers(), parameters.seed, activation))


def open_run(build: Build[SupervisedParameters], start: Networks) -> SupervisedRun:
    """Open the training run before its first epoch. Raises UsageError if features have another revision or the split
    has no rows, and the errors of `open_feed`."""
    parameters = build.parameters
    wanted, found = " ".join(parameters.features), feature_names(start)
    if wanted not in ("", found):
        raise UsageError(f"expected networks with the inputs {wanted}, got {found}")
    feeds = [open_feed(build, parameters.seed, split, parameters.feed_format) for split in ("train", "validation")]
    for note in feeds[0].notes:
        build.job.progress.note(note)
    added = input_set_named(parameters.add_inputs) if parameters.add_inputs else None
    networks = starting_networks(start, parameters.layers(), parameters.seed, added)
    return SupervisedRun(parameters, networks, *feeds)


def open_feed(context: Context[Any], seed: int, split: str, order: int = 1) -> Feed:
    """Open the feed of labels without the positions of the benchmarks in `guard`. `order` is the format of feeds that
    determines the order of rows. Raises UsageError if the split has no rows, and the errors of `feed.open_feed`."""
    parameters, warehouse = context.parameters, context.warehouse
    sources = {}
    for labels in parameters.labels:
        tables = [
            open_network_version(place, context.inputs.get(label_role(place)), warehouse) for place in labels.versions
        ]
        sources[labels.name] = {
            "weight": labels.weight,
            "versions": {table.name: table.manifest.digest for table in tables},
        }
    guard = {str(place): warehouse.open_reference(place).manifest.digest for place in parameters.guard}
    return Feed(warehouse, FeedRecipe(sources, split, seed, FEED_BATCH_ROWS, "", {}, guard or None, *ORDERS[order]))


COMPUTATION = SupervisedNetworkComputation
