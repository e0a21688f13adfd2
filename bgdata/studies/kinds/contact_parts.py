"""Errors of networks for parts of the contact positions, divided by hand and by k-means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bgdata.errors import InvalidParameterError
from bgdata.measures.kinds.reference_positions import THEMES
from bgdata.measures.kinds.reference_scores import SMALLEST, reference_input
from bgdata.selfplay.kinds.selfplay_labels import DATASET as SELFPLAY_LABELS
from bgdata.store.dataset import Column, Dataset, Estimate, FlatArray, Input
from bgdata.store.parameters import Parameters, VersionRef
from bgdata.training.kinds.network import known_variant
from bgdata.training.kinds.supervised_network import WeightedLabels, check_guard, check_labels, label_role
from bgdata.training.recipes import MAX_UNITS, SupervisedRecipe

SCHEMES = ("one", "classes", "themes", "k-means")  # in the order of `training.supervised.parts.Scheme`
CONTACT_THEMES = THEMES[: THEMES.index("race")]
GROUPINGS = (
    "all",
    "part",
    "theme",
    "reference",
    "reference-theme",
)  # three figures about labels, two about reference positions
BY_HAND = (1, 2, len(CONTACT_THEMES))  # numbers of parts in the schemes one, classes and themes
MAX_PARTS = 100
POINTS = "points"


@dataclass(frozen=True)
class ContactPartsParameters(Parameters):
    """Parameters of `contact_parts`: the labels, the numbers of parts, and the settings of training.

    `labels` and `guard` are as in `SupervisedParameters`. `parts` are numbers of parts for k-means. Every network has
    one layer of `units`, and learns from its positions for `epochs` epochs; an epoch has `epoch_rows` positions, or all
    if that is 0. `reference` names the reference positions on which networks are also measured. If it names no version,
    it is the smallest variant, which is built first."""

    labels: tuple[WeightedLabels, ...] = ()
    guard: tuple[VersionRef, ...] = ()
    parts: tuple[int, ...] = (2, 4, 8)
    units: int = 64
    epochs: int = 10
    epoch_rows: int = 0
    learning_rate: float = 0.001
    validation_rows: int = 100_000
    seed: int = 1
    reference: VersionRef = SMALLEST

    def check_determined(self) -> None:
        """Raise InvalidParameterError if a benchmark whose positions are left out is named without its version."""
        check_guard(self.guard)

    def recipe(self) -> SupervisedRecipe:
        """Return the training settings of each network. Networks are trained by kernels, which give the same result on
        any machine."""
        return SupervisedRecipe(
            epochs=self.epochs,
            epoch_rows=self.epoch_rows,
            learning_rate=self.learning_rate,
            validation_rows=self.validation_rows,
            seed=self.seed,
        )

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of the divisions of positions into parts, in order: by hand, then by k-means."""
        return (*SCHEMES[:3], *(f"{SCHEMES[3]} {count}" for count in self.parts))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of parts of each division in `arms`."""
        return (*BY_HAND, *self.parts)


class ContactParts(Dataset[ContactPartsParameters]):
    """Kind `contact_parts`: errors of networks for parts of the contact positions. One row for each division of the
    positions and each group of them."""

    name = "contact_parts"
    revision = 2  # 2: errors on reference positions too
    summary = (
        "Networks for parts of the contact positions, found by hand or by k-means over their inputs, beside one for "
        "all: how far their equities are from labels that none has learned from, and from rollouts."
    )
    source = (
        "Computed: supervised learning with the inputs of Tesauro (1992), one hidden layer; k-means (Lloyd 1982), as "
        "computationalbackgammon.blogspot.com suggests for the phases of a game"
    )
    columns = (
        Column("arm", "VARCHAR", "", "How positions are divided: one, classes, themes, or k-means and its parts"),
        Column("grouping", "VARCHAR", "", f"What the row is of: {', '.join(GROUPINGS)}"),
        Column("group_name", "VARCHAR", "", "all; number of the part, from 0; or name of the theme"),
        Column("learned", "BIGINT", "positions", "Positions learned from, each epoch counted; null but for all, parts"),
        Column("tested", "BIGINT", "positions", "Positions of the validation split that errors are of"),
        Column("rmse", "DOUBLE", POINTS, "Root mean square of network less label or rollout, cubeless equity; or null"),
        Column(
            "rmse_standard_error",
            "DOUBLE",
            POINTS,
            "Standard error of rmse, over positions, or over games of reference positions; null of one",
        ),
        Column("bias", "DOUBLE", POINTS, "Mean of network less label or rollout"),
    )
    key = ("arm", "grouping", "group_name")
    arrays = (
        FlatArray("centres", "int16", "part of k-means, input", "Centres of the parts of k-means, in 1/64 of an input"),
        FlatArray("weights", "int16", "weight", "Of the networks of each part of each arm, laid out as in `network`"),
        FlatArray("biases", "int32", "unit", "Their biases"),
        FlatArray("learned", "int64", "network", "Positions that each has learned from"),
        FlatArray("tested", "int64", "row", "Positions tested, in the order: arm, then groupings"),
        FlatArray("errors", "float64", "row, (rmse, its standard error, bias)", "Errors in points, NaN of none"),
    )
    parameters = ContactPartsParameters
    defaults = ()
    smallest = ContactPartsParameters(
        labels=(WeightedLabels((VersionRef(SELFPLAY_LABELS.name, SELFPLAY_LABELS.slug(SELFPLAY_LABELS.smallest)),)),),
        parts=(2, 3),
        units=4,
        epochs=2,
        learning_rate=0.01,
    )

    def slug(self, parameters: ContactPartsParameters) -> str:
        parts = "-".join(map(str, parameters.parts))
        return f"parts-{parts}-units-{parameters.units}-epochs-{parameters.epochs}-seed-{parameters.seed}"

    def check_parameters(self, parameters: ContactPartsParameters) -> None:
        parameters.recipe().check()
        check_labels(parameters.labels)
        if not 1 <= len(set(parameters.parts)) == len(parameters.parts) <= 10:
            raise InvalidParameterError(
                f"expected 1 to 10 different numbers of parts, got {' '.join(map(str, parameters.parts)) or 'none'}"
            )
        reference_input(parameters.reference)
        for count in parameters.parts:
            if not 1 <= count <= MAX_PARTS:
                raise InvalidParameterError(f"expected 1 to {MAX_PARTS} parts, got {count}")
        if not 1 <= parameters.units <= MAX_UNITS:
            raise InvalidParameterError(f"expected 1 to {MAX_UNITS} hidden units, got {parameters.units}")

    def inputs(self, parameters: ContactPartsParameters) -> Mapping[str, Input]:
        places = [place for labels in parameters.labels for place in labels.versions]
        labels: dict[str, Input] = {label_role(place): known_variant(place) for place in places if not place.version}
        return {**labels, "reference": reference_input(parameters.reference)}

    def estimate(self, parameters: ContactPartsParameters) -> Estimate:
        networks = sum(parameters.sizes)
        numbers = networks * parameters.units * 210
        rows = networks + 2 * len(parameters.arms) * (1 + len(CONTACT_THEMES))
        return Estimate(rows, 100_000 + 4 * numbers + 200 * rows, (1 << 30) + 30 * numbers, 100_000 + 16 * numbers)


DATASET = ContactParts()
