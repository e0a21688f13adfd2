"""Networks of a player, and their learning curves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import mul
from pathlib import Path

from bgdata.bearoff.kinds.bearoff_one_sided import race_inputs
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.errors import InvalidParameterError
from bgdata.evaluation.players import DEFAULT_NETWORK, NETWORK_KINDS, SHIPPED
from bgdata.kinds import all_kinds
from bgdata.store.dataset import FROM_INPUTS, Column, Dataset, Estimate, FlatArray
from bgdata.store.parameters import Parameters, VersionRef
from bgdata.store.table import Table, published_folder, published_versions
from bgdata.store.versions import Versions
from bgdata.training.recipes import TemporalDifferenceRecipe

POINTS = 6  # points of the bearoff tables for training and tests
MAX_GAMES = 1 << 30
MIN_GAMES = 4  # two pairs of games with the same dice, because one pair has no standard error
MAX_INPUTS = 256  # upper limit of all input sets, for estimates


@dataclass(frozen=True)
class NetworkParameters(TemporalDifferenceRecipe, Parameters):
    """Parameters of `network`: the settings of temporal-difference learning and of its tests. The learning curve gets a
    row every `row_games` games, from `test_games` games against PubEval. `start` is the version of a network to start
    from, or the variant of one that is part of bgdata; empty to start from random weights."""

    name: str = "td"
    start: VersionRef | None = None
    row_games: int = 20_000
    test_games: int = 4_000

    @property
    def rounds_per_row(self) -> int:
        """The number of rounds of games between two rows of the learning curve."""
        return self.row_games // self.round_games

    @property
    def rows(self) -> int:
        """The number of rows of the learning curve. The last one may follow fewer rounds than the others."""
        return -(-self.rounds // self.rounds_per_row)


class Network(Dataset[NetworkParameters]):
    """Kind `network`: networks that learned from their own games. One row per point of the learning curve."""

    name = "network"
    revision = 1
    made_again = FROM_INPUTS
    summary = "Networks for race, crashed and contact positions, learned by self-play, and how they learned."
    source = "Computed: temporal-difference learning (Tesauro 1992) by self-play, in float32, rounded once to integers"
    main_table = "learning_curve"
    columns = (
        Column("games", "BIGINT", "games", "Games of self-play so far"),
        Column("rate", "DOUBLE", "share of the error", "Learning rate"),
        Column("turns_per_game", "DOUBLE", "rolls a game", "Mean number of rolls in self-play since the row before"),
        Column("gammon_share", "DOUBLE", "share of games", "Of these games, won as a gammon but no backgammon"),
        Column("backgammon_share", "DOUBLE", "share of games", "Of these games, won as a backgammon"),
        Column("points_per_game", "DOUBLE", "points", "Mean result against PubEval, cubeless, both with the same dice"),
        Column("standard_error", "DOUBLE", "points", "Standard error of points_per_game"),
        Column("bearoff_error", "DOUBLE", "points", "Mean absolute error of the race network in bearoffs"),
    )
    key = ("games",)
    arrays = (
        FlatArray(
            "shapes",
            "int64",
            "race, crashed, contact; column",
            "Input set, inputs, first weight, first bias, activation (not if all are logistic), layers, their units",
        ),
        FlatArray(
            "weights",
            "int16",
            "packed",
            "In 2^-12 [input, unit] in first layers, in 2^-11 [unit, unit below] in later ones",
        ),
        FlatArray("biases", "int32", "packed", "In 2^-18 in first layers, in 2^-24 in later ones, 2^-20 if rectified"),
        FlatArray("curve", "float64", "row, column", "The learning curve"),
    )
    parameters = NetworkParameters
    defaults = tuple(published_versions(SHIPPED, NetworkParameters))
    smallest = NetworkParameters(
        games=400, round_games=100, hidden="8", crashed_hidden="8", race_hidden="8-4", row_games=200, test_games=20,
        name="tiny", td_lambda=0.0,
    )  # fmt: skip

    def slug(self, parameters: NetworkParameters) -> str:
        return parameters.name

    def check_parameters(self, parameters: NetworkParameters) -> None:
        parameters.check()
        if (most := max(parameters.games, parameters.test_games)) > MAX_GAMES:
            raise InvalidParameterError(f"expected up to {MAX_GAMES:,} games, got {most}")
        check_name(parameters.name)
        if parameters.row_games < parameters.round_games or parameters.test_games < MIN_GAMES:
            raise InvalidParameterError(
                f"expected at least {parameters.round_games} games a row and {MIN_GAMES} test games, "
                f"got {parameters.row_games} and {parameters.test_games}"
            )
        self.inputs(parameters)

    def inputs(self, parameters: NetworkParameters) -> Mapping[str, tuple[str, Parameters]]:
        tables: dict[str, tuple[str, Parameters]] = {"two_sided": ("bearoff_two_sided", TwoSidedParameters(POINTS, 6))}
        if parameters.tables:
            tables |= race_inputs(POINTS)
        if parameters.start and not parameters.start.version:
            tables["start"] = known_variant(parameters.start)
        return tables

    def published_folder(self, parameters: NetworkParameters) -> Path | None:
        return published_folder(SHIPPED, parameters, self.slug(parameters))

    def estimate(self, parameters: NetworkParameters) -> Estimate:
        weights = sum(MAX_INPUTS * units[0] + sum(map(mul, units, units[1:])) for units in parameters.layers())
        lists = 8 * parameters.rounds + 64 * parameters.rows  # the rounds with their sizes, and the learning curve
        return Estimate(
            parameters.rows, 2 * weights + 200 * parameters.rows, (1 << 28) + parameters.round_games * (1 << 16) + lists
        )


def check_name(name: str) -> None:
    """Raise InvalidParameterError if `name` cannot be the name of a network."""
    letters = name.replace("-", "")
    if not (letters.isascii() and letters.isalnum() and name == name.lower()):
        raise InvalidParameterError(f"expected a name of small letters, digits and -, got {name!r}")


def curve_line(row: list[float]) -> str:
    """Return a row of the learning curve as a line of text."""
    games, _, turns, gammons, backgammons, points, error, bearoff = row
    return (
        f"{games:,.0f} games: {points:+.3f} +/- {error:.3f} points per game against PubEval; self-play "
        f"{turns:.1f} rolls, {100 * gammons:.1f} % gammons, {100 * backgammons:.1f} % backgammons; "
        f"mean bearoff error {bearoff:.4f}"
    )


def known_variant(place: VersionRef) -> tuple[str, Parameters]:
    """Return the kind and the parameters of a variant that its name determines: a default, smallest or imported
    variant. Raises InvalidParameterError for any other variant."""
    name, variant = place.kind, place.variant
    kind = all_kinds().get(name)
    if kind is not None and kind.takes_files:
        return name, kind.parameters(variant)
    for known in (*kind.defaults, kind.smallest) if kind else ():
        if kind is not None and kind.slug(known) == variant:
            return name, known
    raise InvalidParameterError(f"expected a version, such as {place}/r1-0123abcd, or a default variant, got {place}")


def known_network(name: str) -> tuple[str, Parameters] | None:
    """Return the kind and the parameters of a network that is part of bgdata, or is the smallest variant of its kind;
    None for any other name."""
    for kind in NETWORK_KINDS:
        try:
            return known_variant(VersionRef(kind, name))
        except InvalidParameterError:
            continue
    return None


def default_network() -> tuple[str, Parameters]:
    """Return the kind and the parameters of the network that plays as `network`. Raises InvalidParameterError if the
    package does not contain it."""
    found = known_network(DEFAULT_NETWORK)
    if found is None:
        raise InvalidParameterError(f"expected the network {DEFAULT_NETWORK} with the package, found none")
    return found


def network_ref(warehouse: Versions, table: Table) -> VersionRef:
    """Return the name of a network's version, or only of its variant if the network is part of the package."""
    kind, variant, version = table.manifest.dataset, *table.folder.parts[-2:]
    return VersionRef(kind, variant, version if table.folder.is_relative_to(warehouse.root) else "")


DATASET = Network()
