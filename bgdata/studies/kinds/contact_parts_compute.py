"""Divides the positions of `contact_parts`, and trains and measures a network for each part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bgdata.errors import CheckFailedError, CorruptFileError, UsageError
from bgdata.evaluation.chances import cubeless_equities
from bgdata.evaluation.networks.inference import Networks
from bgdata.evaluation.value_errors import ErrorSummary
from bgdata.game.codec import Boards
from bgdata.game.themes import position_themes
from bgdata.kernel import read_only, thread_count
from bgdata.selfplay.splits import SPLITS
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Context, Recheck
from bgdata.store.table import Table
from bgdata.studies.kinds.contact_parts import CONTACT_THEMES, GROUPINGS, ContactPartsParameters
from bgdata.training.feed.feed import Feed
from bgdata.training.kinds.supervised_network_compute import open_feed
from bgdata.training.supervised.examples import Examples, examples_by_network, read_examples
from bgdata.training.supervised.parts import (
    Arm,
    PartsRun,
    Scheme,
    arms_of,
    contact_examples,
    errors_of,
    integer_inputs,
    new_part_networks,
    part_equities,
    part_examples,
    rounded_parts,
)
from bgdata.training.supervised.run import FEED_BATCH_ROWS


class Measure(NamedTuple):
    """Contact positions on which networks are measured."""

    boards: Boards  # [n, 26]
    equities: NDArray[np.float32]  # [n] cubeless, from labels or rollouts
    games: NDArray[np.int64]  # [n] number of the game, because positions of one game are correlated


class Group(NamedTuple):
    """What a row of the table is about: the division, how positions are grouped, and the group."""

    arm: str
    grouping: str
    name: str
    network: int  # index of the trained network; -1 for several networks


class ContactPartsComputation(Computation[ContactPartsParameters]):
    """Computes `contact_parts`: divides positions, and trains and measures a network for each part."""

    def compute(self, build: Build[ContactPartsParameters]) -> None:
        parameters, job = build.parameters, build.job
        training, measures = open_feed(build, parameters.seed, "train"), measures_of(build)
        arms = make_arms(training, parameters)
        run = PartsRun(parameters.recipe(), arms, new_part_networks(arms, parameters.units, parameters.seed))
        count = batches_per_epoch(training, parameters)
        sizes = [count * FEED_BATCH_ROWS] * parameters.epochs
        with ThreadPoolExecutor(thread_count()) as executor:
            for epoch in job.steps("positions", range(parameters.epochs), sizes, run.state()):
                run.learn_epoch(training, epoch, count, executor)
        networks = rounded_parts(run.networks)
        errors = measure_arms(networks, arms, measures)
        job.save("weights", networks.weights)
        job.save("biases", networks.biases)
        job.save("centres", np.concatenate([arm.centres for arm in arms]).astype(np.int16))
        job.save("learned", run.learned)
        job.save("tested", np.array([each.positions for each in errors], np.int64))
        job.save("errors", np.array([error_row(each) for each in errors]))

    def batches(self, computed: Computed[ContactPartsParameters]) -> Iterator[pa.RecordBatch]:
        groups, arrays = groups_of(computed.parameters), computed.arrays
        order = sorted(range(len(groups)), key=lambda row: groups[row][:3])
        errors, learned = np.asarray(arrays["errors"])[order], np.asarray(arrays["learned"])
        yield pa.record_batch(
            {
                "arm": [groups[row].arm for row in order],
                "grouping": [groups[row].grouping for row in order],
                "group_name": [groups[row].name for row in order],
                "learned": pa.array([learned_positions(groups, row, learned) for row in order], pa.int64()),
                "tested": np.asarray(arrays["tested"])[order],
                **{
                    name: pa.array(errors[:, place], from_pandas=True)
                    for place, name in enumerate(("rmse", "rmse_standard_error", "bias"))
                },
            }
        )

    def statistics(self, computed: Computed[ContactPartsParameters]) -> Mapping[str, float]:
        groups, errors = groups_of(computed.parameters), np.asarray(computed.arrays["errors"])
        return {
            f"{group.arm.replace('-', '_').replace(' ', '_')}_rmse": float(errors[row, 0])
            for row, group in enumerate(groups)
            if group.grouping == "all" and np.isfinite(errors[row, 0])
        }

    def check_sample(self, recheck: Recheck[ContactPartsParameters]) -> str:
        """Find the parts and count their positions again, and measure the stored networks again, without training."""
        table, parameters = recheck.table, recheck.parameters
        training, arms = open_feed(recheck, parameters.seed, "train"), stored_arms(table, parameters)
        for arm, wanted in zip(arms, make_arms(training, parameters), strict=True):
            if not np.array_equal(arm.centres, wanted.centres):
                raise CheckFailedError(f"expected other centres of k-means {arm.size} than those in {table.name}")
        counts = count_examples(training, arms, parameters)
        if not np.array_equal(table.array("learned"), counts):
            raise CheckFailedError(
                f"expected {counts.tolist()} positions to learn from in {table.name}, "
                f"found {table.array('learned').tolist()}"
            )
        expected = measure_arms(stored_networks(table, arms, parameters), arms, measures_of(recheck))
        found = zip(table.array("tested").tolist(), table.array("errors").tolist(), strict=True)
        for group, want, (tested, errors) in zip(groups_of(parameters), expected, found, strict=True):
            if tested != want.positions or not np.array_equal(errors, error_row(want), equal_nan=True):
                raise CheckFailedError(
                    f"expected {(want.positions, *error_row(want))} of {group.arm}, {group.grouping} {group.name} in "
                    f"{table.name}, found {(tested, *errors)}"
                )
        return f"all {len(expected):,} rows, by the stored networks; they were not trained again"


def make_arms(training: Feed, parameters: ContactPartsParameters) -> list[Arm]:
    """Return all divisions of positions into parts. k-means finds its centres in the first batch."""
    examples = contact_examples(read_examples(training, FEED_BATCH_ROWS))
    return arms_of(parameters.parts, examples, parameters.seed)


def batches_per_epoch(training: Feed, parameters: ContactPartsParameters) -> int:
    """Return the number of batches that networks learn in an epoch."""
    return -(-parameters.epoch_rows // FEED_BATCH_ROWS) or len(training)


def count_examples(training: Feed, arms: list[Arm], parameters: ContactPartsParameters) -> Array:
    """Return the number of positions that each network learns from, over all epochs, as int64[network]."""
    found = np.zeros(sum(arm.size for arm in arms), np.int64)
    for number in range(parameters.epochs * batches_per_epoch(training, parameters)):
        examples = contact_examples(examples_by_network(training.batch(*divmod(number, len(training)))))
        found += [len(each.boards) for each in part_examples(arms, examples)]
    return found


def validation_examples(context: Context[ContactPartsParameters]) -> Examples:
    """Return the contact positions of the validation split. Raises UsageError if there are none."""
    parameters = context.parameters
    examples = contact_examples(
        read_examples(open_feed(context, parameters.seed, "validation"), parameters.validation_rows)
    )
    if not len(examples.boards):
        raise UsageError("expected labels of contact positions, found none in the validation split")
    return examples


def measures_of(context: Context[ContactPartsParameters]) -> tuple[Measure, Measure]:
    """Return the two sets of contact positions in the validation split on which networks are measured: labels, and
    reference positions. Raises UsageError if there are no labels of contact positions."""
    labels, table = validation_examples(context), context.inputs["reference"]
    rows = np.flatnonzero(
        (table.array("themes") < len(CONTACT_THEMES)) & (table.array("splits") == SPLITS.index("validation"))
    )
    boards, chances, games = (table.array(name).take(rows, axis=0) for name in ("boards", "chances", "games"))
    return (
        Measure(labels.boards, cubeless_equities(labels.targets), np.arange(len(labels.boards))),
        Measure(boards, cubeless_equities(chances), games.astype(np.int64)),
    )


def groups_of(parameters: ContactPartsParameters) -> list[Group]:
    """Return the group that each row of the table is about, in the order of the arrays."""
    found, first = [], 0
    for arm, size in zip(parameters.arms, parameters.sizes, strict=True):
        found.append(Group(arm, GROUPINGS[0], GROUPINGS[0], -1))
        found += [Group(arm, GROUPINGS[1], str(part), first + part) for part in range(size)]
        found += [Group(arm, GROUPINGS[2], theme, -1) for theme in CONTACT_THEMES]
        found.append(Group(arm, GROUPINGS[3], GROUPINGS[0], -1))
        found += [Group(arm, GROUPINGS[4], theme, -1) for theme in CONTACT_THEMES]
        first += size
    return found


def learned_positions(groups: list[Group], row: int, learned: Array) -> int | None:
    """Return the number of positions that the network of a row, or all networks of its division, learned from; None for
    other groups."""
    group = groups[row]
    if group.network >= 0:
        return int(learned[group.network])
    if group.grouping != GROUPINGS[0]:
        return None
    return int(sum(learned[each.network] for each in groups if each.arm == group.arm and each.network >= 0))


def error_row(errors: ErrorSummary) -> tuple[float, float, float]:
    """Return the errors of a group as they are stored in a row of the array `errors`."""
    return errors.rmse, errors.rmse_standard_error, errors.bias


def measure_arms(networks: Networks, arms: list[Arm], measures: tuple[Measure, Measure]) -> list[ErrorSummary]:
    """Return the errors of each group of positions by the networks of its division, in the order of `groups_of`."""
    found, first = [], 0
    prepared = [(each, integer_inputs(each.boards), position_themes(each.boards)) for each in measures]
    for arm in arms:
        for measure, values, themes in prepared:
            parts = arm.parts(measure.boards, values)
            equities = part_equities(networks, first, parts, measure.boards)
            masks = [np.ones(len(parts), np.bool_)]
            masks += [parts == part for part in range(arm.size)] if measure is measures[0] else []
            masks += [themes == theme for theme in range(len(CONTACT_THEMES))]
            found += [errors_of(equities[mask], measure.equities[mask], measure.games[mask]) for mask in masks]
        first += arm.size
    return found


def stored_arms(table: Table, parameters: ContactPartsParameters) -> list[Arm]:
    """Return the divisions of a version, with the centres that it stores."""
    centres, first, found = table.array("centres").astype(np.float64), 0, []
    for place, size in enumerate(parameters.sizes):
        scheme = Scheme(min(place, Scheme.K_MEANS))
        taken = size if scheme is Scheme.K_MEANS else 0
        found.append(Arm(scheme, size, centres[first : first + taken]))
        first += taken
    return found


def stored_networks(table: Table, arms: list[Arm], parameters: ContactPartsParameters) -> Networks:
    """Return the networks of a version, with the shapes that its parameters give. Raises CorruptFileError if an array
    has another length."""
    shapes, *new = new_part_networks(arms, parameters.units, parameters.seed)
    arrays = [table.array(name) for name in ("weights", "biases")]
    if [array.shape for array in arrays] != [array.shape for array in new]:
        raise CorruptFileError(
            f"expected {len(new[0])} weights and {len(new[1])} biases in {table.name}, found "
            f"{len(arrays[0])} and {len(arrays[1])}; try: bgdata verify"
        )
    return Networks(read_only(shapes), *arrays)


COMPUTATION = ContactPartsComputation
