"""Networks with bearoff tables, as evaluators and players with a measured accuracy. They are mapped from versions and
opened by name: `network` is the default network of the package, `network/NAME` a network of the warehouse. Measured
scores come from the warehouse and from the package. A network without scores has only the figure of the last, short
test of its training; scores over 40,000 games are far more accurate."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bgdata.equity.cube import ExactCube
from bgdata.errors import BgdataError, CorruptFileError, MissingTableError, OlderTableError, UnknownPlayerError
from bgdata.evaluation.answers import NETWORK_CLASSES, evaluations
from bgdata.evaluation.bearoff import BearoffEvaluator, open_bearoff
from bgdata.evaluation.bearoff_kernels import BearoffArrays, BearoffSource
from bgdata.evaluation.chances import AnswerSource, Evaluations
from bgdata.evaluation.lookahead import LIKELY
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.networks.inference import ACTIVATION, SIZES, Activation, Networks, layer_sizes
from bgdata.evaluation.networks.input_sets import InputSet
from bgdata.evaluation.networks.inputs import input_count
from bgdata.evaluation.players import DEFAULT_NETWORK, NETWORK, NETWORK_KINDS, ONNX, SHIPPED
from bgdata.game.board_arrays import BoardsLike, RollsLike, board_array, dice_array
from bgdata.game.codec import Boards
from bgdata.kernel import read_only
from bgdata.store.table import Table
from bgdata.store.versions import VERSION, Versions

if TYPE_CHECKING:
    from bgdata.evaluation.choices import Chooser

_DTYPES = {"shapes": np.int64, "weights": np.int16, "biases": np.int32}


def open_networks(table: Table) -> Networks:
    """Map the networks of a version read-only. Raises MissingTableError if an array is missing, CorruptFileError if an
    array is truncated or does not fit the others, and OlderTableError if the inputs are of an older revision."""
    for features in table.manifest.parameters.get("features") or ():
        label, _, revision = str(features).partition("@")
        present = {each.label: str(each.revision) for each in InputSet}.get(label)
        if revision != present:
            raise OlderTableError(
                f"expected networks with the inputs {label}@{present} in {table.name}, found {features}, whose values "
                "were others; try: train it again"
            )
    shapes, weights, biases = (table.array(name) for name in Networks._fields)
    # if all networks are logistic, there is no activation column, and the column of layers (2 or more) is in its place
    if shapes.ndim == 2 and shapes.shape[1] > ACTIVATION and shapes[:, ACTIVATION].min(initial=2) >= 2:
        shapes = read_only(np.insert(shapes, ACTIVATION, Activation.LOGISTIC, axis=1))
    networks = Networks(shapes, weights, biases)
    if flaw := find_flaw(networks):
        raise CorruptFileError(
            f"expected networks that bgdata can read in {table.name}, found {flaw}; try: bgdata verify"
        )
    return networks


def stored_arrays(networks: Networks) -> dict[str, NDArray[np.generic]]:
    """The arrays of networks by name, as versions store them: without the activation column if all networks are
    logistic."""
    found = dict(networks._asdict())
    if (networks.shapes[:, ACTIVATION] == Activation.LOGISTIC).all():
        found["shapes"] = np.delete(networks.shapes, ACTIVATION, axis=1)
    return found


def find_flaw(networks: Networks) -> str:
    """Describe a defect of the arrays with which kernels would read wrong items or out of bounds. Returns an empty
    string if there is none."""
    for name, values in networks._asdict().items():
        if values.dtype != _DTYPES[name] or not values.flags.c_contiguous:
            return f"{name} of {values.dtype}{list(values.shape)}"
    shapes, weights, biases = networks
    if shapes.ndim != 2 or len(shapes) != len(NETWORK_CLASSES) or shapes.shape[1] < SIZES + 2:
        return f"shapes of {list(shapes.shape)}"
    first_weight = first_bias = 0
    for name, row in zip(NETWORK_CLASSES, shapes.tolist(), strict=True):
        input_set, inputs = row[:2]
        if input_set not in set(InputSet) or inputs != input_count(InputSet(input_set)):
            return f"other inputs of the {name} network: {inputs} of input set {input_set}"
        sizes = layer_sizes(row)
        if not sizes or row[2:4] != [first_weight, first_bias] or row[ACTIVATION] not in set(Activation):
            return f"the shape {row} of the {name} network"
        first_weight += sum(below * units for below, units in pairwise([inputs, *sizes]))
        first_bias += sum(sizes)
    if (weights.shape, biases.shape) != ((first_weight,), (first_bias,)):
        return (
            f"weights of {list(weights.shape)} for {first_weight} and biases of {list(biases.shape)} for {first_bias}"
        )
    return ""


FILE = "scores.json"  # beside the package's networks; `python -m docs.ship` writes it
GAMES, DECISIONS = "game_scores", "benchmark_scores"  # kinds that measure players
PUBEVAL = "pubeval"


class NetworkScore(NamedTuple):
    """A measured score of a network at 0-ply against one opponent or on one benchmark, with its standard error and
    sample size."""

    measure: str  # points_per_game, or error_rate in thousandths of a point per decision
    against: str  # pubeval, or the benchmark KIND/VARIANT
    value: float
    value_error: float
    sample_size: int  # games or decisions
    source_version: str


def best_scores(table: Table, player_version: str, warehouse: Versions | None) -> list[NetworkScore]:
    """Return the most accurate score of a network version against each opponent and on each benchmark, among those of
    the warehouse and of the package. `player_version` is the version of the player, which also depends on its
    tables."""
    found = shipped_scores(table)
    if warehouse is not None:
        found += scores_in(warehouse, table.folder.parent.name, player_version)
    surest: dict[tuple[str, str], NetworkScore] = {}
    for score in found:
        key = score.measure, score.against
        if key not in surest or score.value_error < surest[key].value_error:
            surest[key] = score
    return list(surest.values())


def scores_in(warehouse: Versions, network: str, player_version: str) -> list[NetworkScore]:
    """Return the scores of `network/NAME` at 0-ply in a warehouse: against PubEval at 0-ply, not luck-adjusted, and on
    current benchmarks. Damaged versions are skipped, because `verify` reports them."""
    found: list[NetworkScore] = []
    for kind in (GAMES, DECISIONS):
        for table in warehouse.versions(kind) if kind in warehouse.kinds else ():
            with suppress(BgdataError, KeyError):
                recipe, figures = table.manifest.parameters, table.manifest.statistics
                if (recipe["player"], recipe["ply"], recipe["version"]) != (f"{NETWORK}/{network}", 0, player_version):
                    continue
                if kind == GAMES:
                    if (recipe["opponent"], recipe["opponent_ply"]) != (PUBEVAL, 0) or recipe["luck"]:
                        continue
                    measure, against = "points_per_game", PUBEVAL
                else:
                    benchmark = recipe["benchmark"]
                    current = warehouse.pointer(benchmark["kind"], benchmark["variant"])
                    if current not in (None, benchmark["version"]):
                        continue  # the benchmark has changed
                    measure, against = "error_rate", f"{benchmark['kind']}/{benchmark['variant']}"
                sizes = figures[measure], figures["standard_error"], table.manifest.rows
                found.append(NetworkScore(measure, against, *sizes, table.name))
    return found


def shipped_scores(table: Table, folder: Path = SHIPPED) -> list[NetworkScore]:
    """Return the scores of this network version that the package contains. The list is empty for other versions."""
    return [NetworkScore(**each) for each in read_scores(folder).get(recorded_name(table), ())]


def recorded_name(table: Table) -> str:
    """Return the name `KIND/VARIANT/VERSION` of a version, in a warehouse or in the package. Raises ManifestFormatError
    if the manifest is damaged."""
    return "/".join((table.manifest.dataset, *table.folder.parts[-2:]))


def read_scores(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Read the file of scores in a folder. Returns lists of scores by version name `KIND/VARIANT/VERSION`, none if
    there is no file. Raises CorruptFileError if the file is damaged."""
    path = folder / FILE
    if not path.is_file():
        return {}
    with suppress(ValueError, AttributeError, TypeError):  # UnicodeDecodeError is a ValueError
        found: dict[str, list[dict[str, Any]]] = json.loads(path.read_text())
        if all(set(score) == set(NetworkScore._fields) for scores in found.values() for score in scores):
            return found
    raise CorruptFileError(f"expected scores of networks in {path}, found other content; try: install bgdata again")


def accuracy_text(table: Table, scores: Iterable[NetworkScore], name: str) -> str:
    """Say in one line how accurate the network for a class of positions (`name`: contact, crashed or race) is. The
    figures are its best measured scores, or else its points per game at the end of training. Raises ManifestFormatError
    if its manifest is damaged."""
    games = [score for score in scores if score.measure == "points_per_game"]
    if games:
        (_, _, points, error, size, _), *_ = games
        figure, note = f"{points:+.4f} +/- {error:.4f}", f"({size:,} games, 0-ply)"
    else:
        found = table.manifest.statistics
        figure, note = f"{found['points_per_game']:+.3f} +/- {found['standard_error']:.3f}", "in training"
    text = f"{recorded_name(table)}: {figure} points per game against PubEval {note}"
    # benchmarks are named after their class: rollout_decisions/contact-..., gnubg_benchmark/contact
    classes = [(each, each.against.partition("/")[2].partition("-")[0]) for each in scores]
    rates = [score for score, of_class in classes if score.measure == "error_rate" and of_class == name]
    if rates:
        rate = max(rates, key=lambda each: each.sample_size)
        text += f", error rate {rate.value:.1f} +/- {rate.value_error:.1f} in {rate.sample_size:,} {name} decisions"
    return text


_NETWORKS = {
    AnswerSource.RACE_NETWORK: "race",
    AnswerSource.CRASHED_NETWORK: "crashed",
    AnswerSource.CONTACT_NETWORK: "contact",
}


class NetworkPlayer:
    """A player that chooses the play after which the opponent's cubeless equity is lowest, the first of equal plays.
    When it looks ahead, it evaluates the `likely` plays of each roll that have the highest PubEval scores, or all plays
    if `likely` is 0."""

    likely = LIKELY

    def __init__(
        self,
        networks: Networks,
        tables: BearoffArrays,
        label: str = "network",
        accuracy: Mapping[AnswerSource, str] | None = None,
        version: str = "",
    ) -> None:
        self.networks, self.tables, self.label = networks, tables, label
        self.table_names: tuple[str, ...] = ()  # names of tables from a warehouse
        self.accuracy: Mapping[AnswerSource, str] = {} if accuracy is None else accuracy
        self._version = version

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.label})"

    @cached_property
    def version(self) -> str:
        """The version that was passed in, or eight hex digits that change with the weights or the size of the
        tables."""
        if self._version:
            return self._version
        digest = hashlib.sha256(b"".join(values.tobytes() for values in self.networks))
        digest.update(repr([np.shape(values) or values for values in self.tables]).encode())
        return digest.hexdigest()[:8]

    @cached_property
    def chooser(self) -> Chooser:
        """The data with which kernels choose plays for this player: see `choices.KernelPlayer`."""
        from bgdata.evaluation.choices import network_chooser

        return network_chooser(self.networks, self.tables)

    def evaluate_many(self, boards: BoardsLike) -> Evaluations:
        """Evaluate int8[n, 26] boards. Returns five chances and a source for each: see `chances.Evaluator`."""
        return evaluations(self.networks, self.tables, board_array(boards))

    def evaluate_ahead(self, boards: BoardsLike, ply: int) -> Evaluations:
        """Evaluate int8[n, 26] boards at a ply of 1 or more: see `lookahead.evaluate_ahead`. Raises UsageError for a
        lower ply, and InvalidPositionError for another shape or type of boards."""
        from bgdata.evaluation.roll_values import evaluations_ahead, likely_plays

        return evaluations_ahead(self.networks, self.tables, board_array(boards), ply, likely_plays(self.likely))

    def with_all_plays(self) -> Self:
        """A copy of this player that evaluates all plays of each roll when it looks ahead."""
        player = copy(self)
        player.likely = 0
        return player

    def choose_plays(self, boards: BoardsLike, rolls: RollsLike) -> Boards:
        """The boards after the chosen plays: see `player.Player`."""
        from bgdata.evaluation.choices import chosen_boards

        legal = board_array(boards)
        return chosen_boards(self.chooser, legal, dice_array(rolls, len(legal)))


def version_of_folders(folders: Iterable[Path]) -> str:
    """Return eight hex digits that change with the versions in these folders, but not with the revisions of their
    kinds. Every revision counts as 1, as for the first recorded players, because later revisions may only differ in
    Parquet."""
    names = (f"{folder.parent.name}/r1-{folder.name.partition('-')[2]}" for folder in folders)
    return hashlib.sha256(" ".join(names).encode()).hexdigest()[:8]


class MappedNetwork(NetworkPlayer):
    """A player with the networks of a version and with bearoff tables, all memory-mapped. `accuracy` quotes the scores
    of the networks in `warehouse`. A pickle contains only the paths. Raises CorruptFileError if a file is damaged."""

    def __init__(self, table: Table, bearoff: BearoffEvaluator, warehouse: Versions | None = None) -> None:
        used = [each.folder for each in (table, bearoff.two_sided, bearoff.one_sided, bearoff.gammon) if each]
        accuracy = _Accuracy(table, bearoff, version_of_folders(used), warehouse)  # games are scored without endgames
        version = version_of_folders([*used, bearoff.endgame.folder] if bearoff.endgame else used)
        super().__init__(open_networks(table), bearoff.arrays, table.folder.parent.name, accuracy, version)
        mapped = (bearoff.two_sided, bearoff.one_sided, bearoff.gammon, bearoff.endgame)
        self.table_names = tuple(each.name for each in mapped if each)
        self._recipe = table, bearoff, warehouse

    # a pickle names the version, which never changes: 1 kB instead of the mapped files
    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._recipe, {"likely": self.likely}


class _Accuracy(Mapping[AnswerSource, str]):
    """The accuracy of each source in words. It comes from the manifests of tables and the measured scores of networks,
    which are read on first use."""

    def __init__(self, table: Table, bearoff: BearoffEvaluator, version: str, warehouse: Versions | None) -> None:
        self.table, self.bearoff, self.version, self.warehouse = table, bearoff, version, warehouse
        tables = {AnswerSource.EXACT: bearoff.two_sided or bearoff.endgame, AnswerSource.COMBINED: bearoff.one_sided}
        self.sources = (*(source for source, found in tables.items() if found), *_NETWORKS)

    @cached_property
    def networks(self) -> dict[AnswerSource, str]:
        """The accuracy of each network, in words. Raises ManifestFormatError if a manifest is damaged."""
        scores = best_scores(self.table, self.version, self.warehouse)
        return {source: accuracy_text(self.table, scores, name) for source, name in _NETWORKS.items()}

    def __getitem__(self, source: AnswerSource) -> str:
        if source not in self.sources:
            raise KeyError(source)
        return self.networks[source] if source in _NETWORKS else self.bearoff.accuracy[BearoffSource(source)]

    def __iter__(self) -> Iterator[AnswerSource]:
        return iter(self.sources)

    def __len__(self) -> int:
        return len(self.sources)


MATCHES = "bearoff_match"  # the kind of exact tables at match scores


def network_name(name: str) -> str:
    """The full name of a network: `network` becomes the name of the package's default network; `network/NAME` and
    `network/NAME/VERSION` are returned unchanged. Raises UnknownPlayerError for any other name."""
    if not re.fullmatch(rf"{NETWORK}(/[a-z0-9-]+(/{VERSION.pattern})?)?", name):
        raise UnknownPlayerError(f"expected {NETWORK}, {NETWORK}/NAME or {NETWORK}/NAME/VERSION, got {name}")
    return f"{NETWORK}/{DEFAULT_NETWORK}" if name == NETWORK else name


def find_network(name: str, warehouse: Versions, version: str | None = None) -> Table:
    """Find a network by name: the version `version`, by default the current one, of `network/NAME`, whatever its kind.
    If it is not in the warehouse, the network of the package with this name is used. Raises UnknownPlayerError for
    another form of name, MissingTableError if there is no such network, and CorruptFileError if the current version is
    missing."""
    _, variant, *named = network_name(name).split("/")
    version = named[0] if named else version
    tables = [table for kind in NETWORK_KINDS if kind in warehouse.kinds for table in warehouse.versions(kind, variant)]
    kinds = {table.folder.parts[-3] for table in tables if version in (None, table.folder.name)}
    if version is None:  # a table whose current version is missing raises
        kinds |= {kind for kind in NETWORK_KINDS if kind in warehouse.kinds and variant in warehouse.variants(kind)}
    if kinds:
        found = [warehouse.open(kind, variant, version) for kind in sorted(kinds)]
        return found[0] if len(found) == 1 else max(found, key=_creation_time)
    folder = next((SHIPPED / variant).glob(version or "r*-*"), None)
    if folder:
        return Table(folder)
    have = ", ".join(table.folder.name for table in tables)
    have = have or ", ".join(sorted({name for kind in NETWORK_KINDS for name in warehouse.variants(kind)})) or "none"
    wanted = f"{NETWORK}/{variant}" + (f"/{version}" if version else "")
    raise MissingTableError(f"no {wanted} in {warehouse.root} (have: {have}); try: bgdata train td {variant}")


def _creation_time(table: Table) -> str:
    """When a version was created, as text to sort by; damaged versions sort last."""
    try:
        return table.manifest.created
    except BgdataError:
        return ""


def open_network_player(
    name: str, ply: int, warehouse: Versions, *, tables: bool = True, endgames: bool = False
) -> NetworkPlayer | LookaheadPlayer:
    """Open a network with the best bearoff tables of the warehouse (none if `tables` is false), all memory-mapped. At
    ply 0, kernels can choose plays for the result. If `endgames` is true, contact endgames answer too. Recorded games
    do not use them, because the parameters of games do not name these tables.

    Raises UnknownPlayerError for another form of name, MissingTableError if there is no such network, and
    CorruptFileError if a file is damaged."""
    table = find_network(name, warehouse)
    has_tables = tables and warehouse.root.is_dir()
    player = MappedNetwork(
        table, open_bearoff(warehouse, with_endgames=endgames) if has_tables else BearoffEvaluator(), warehouse
    )
    return LookaheadPlayer(player, ply) if ply else player


def map_player(
    warehouse: Versions, network: str | os.PathLike[str] = "", ply: int = 0, *, endgames: bool = True
) -> LookaheadPlayer:
    """Open a player with a network and the best bearoff tables of a warehouse, and its contact endgames unless
    `endgames` is false. The network is one of the warehouse, the default network of the package, or an ONNX file. With
    an ONNX file, exact tables only answer cube decisions.

    Maps files instead of copying them, and reads only what is needed. Raises MissingWarehouseError if the folder does
    not exist, MissingTableError if the network is missing, CorruptFileError if a file is damaged, UsageError for a ply
    outside 0 to MAX_PLY, and the errors of `OnnxEvaluator`."""
    warehouse.require()
    bearoff = open_bearoff(warehouse, with_endgames=endgames)
    matches = [*warehouse.current(MATCHES)] if MATCHES in warehouse.kinds else []
    cubes = partial(_exact_cubes, bearoff, matches)
    if (network := os.fspath(network)).endswith(ONNX):
        from bgdata.evaluation.onnx_evaluator import OnnxEvaluator

        return LookaheadPlayer(OnnxEvaluator(network), ply, cubes=cubes)
    table = find_network(f"{NETWORK}/{network}" if network else NETWORK, warehouse)
    return LookaheadPlayer(MappedNetwork(table, bearoff, warehouse), ply, cubes=cubes)


def _exact_cubes(bearoff: BearoffEvaluator, matches: Sequence[Table]) -> list[ExactCube]:
    from bgdata.evaluation.cube_tables import MatchBearoff, MoneyBearoff, MoneyEndgame, SolvedRaces

    cubes: list[ExactCube] = [MoneyEndgame(bearoff.endgame)] if bearoff.endgame else []
    cubes += [MoneyBearoff(bearoff.two_sided)] if bearoff.two_sided else []
    return [*cubes, *map(MatchBearoff, matches), SolvedRaces()]
