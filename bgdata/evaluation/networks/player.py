"""Networks and bearoff tables as an evaluator, and as a player at 0-ply."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from bgdata.evaluation.answers import evaluations
from bgdata.evaluation.bearoff import BearoffEvaluator
from bgdata.evaluation.bearoff_kernels import BearoffArrays, BearoffSource
from bgdata.evaluation.choices import Chooser, chosen_boards, network_chooser
from bgdata.evaluation.evaluator import AnswerSource, Evaluations
from bgdata.evaluation.lookahead_kernels import evaluations_ahead
from bgdata.evaluation.networks.inference import Networks
from bgdata.evaluation.networks.mapped import open_networks
from bgdata.evaluation.networks.measured import accuracy_text, best_scores
from bgdata.evaluation.roll_values import LIKELY, likely_plays
from bgdata.game.board_arrays import BoardsLike, RollsLike, board_array, dice_array
from bgdata.game.codec import Boards
from bgdata.store.table import Table
from bgdata.store.versions import Versions

_NETWORKS = {
    AnswerSource.RACE_NETWORK: "race",
    AnswerSource.CRASHED_NETWORK: "crashed",
    AnswerSource.CONTACT_NETWORK: "contact",
}


class NetworkPlayer:
    """Chooses the play after which the opponent's cubeless equity is lowest, the first of equals.

    Looking ahead, it evaluates the `likely` plays of each roll, or all of them if that is 0.
    """

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
        self.table_names: tuple[str, ...] = ()  # of the tables, where they are those of a warehouse
        self.accuracy: Mapping[AnswerSource, str] = {} if accuracy is None else accuracy
        self._version = version

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.label})"

    @cached_property
    def version(self) -> str:
        """As given, else eight hex digits that change with the weights or the size of the tables."""
        if self._version:
            return self._version
        digest = hashlib.sha256(b"".join(values.tobytes() for values in self.networks))
        digest.update(repr([np.shape(values) or values for values in self.tables]).encode())
        return digest.hexdigest()[:8]

    @cached_property
    def chooser(self) -> Chooser:
        """What kernels choose by: see `choices.KernelPlayer`."""
        return network_chooser(self.networks, self.tables)

    def evaluate_many(self, boards: BoardsLike) -> Evaluations:
        """Chances and sources of int8[n, 26] boards: see `evaluator.Evaluator`."""
        return evaluations(self.networks, self.tables, board_array(boards))

    def evaluate_ahead(self, boards: BoardsLike, ply: int) -> Evaluations:
        """Chances and sources of int8[n, 26] boards at a ply of 1 or more: see `lookahead.evaluate_ahead`. Raises
        UsageError for a lower ply, and InvalidPositionError."""
        return evaluations_ahead(self.networks, self.tables, board_array(boards), ply, likely_plays(self.likely))

    def seeing_all(self) -> Self:
        """The same player, which evaluates all plays of each roll."""
        player = copy(self)
        player.likely = 0
        return player

    def choose_plays(self, boards: BoardsLike, rolls: RollsLike) -> Boards:
        """The positions after the chosen plays: see `player.Player`."""
        legal = board_array(boards)
        return chosen_boards(self.chooser, legal, dice_array(rolls, len(legal)))


def version_by(folders: Iterable[Path]) -> str:
    """Eight hex digits that change with the values of the versions in these folders, but not with their revisions.

    All had the first one when players were first recorded, in games too; another may differ by its Parquet alone.
    """
    names = (f"{folder.parent.name}/r1-{folder.name.partition('-')[2]}" for folder in folders)
    return hashlib.sha256(" ".join(names).encode()).hexdigest()[:8]


class MappedNetwork(NetworkPlayer):
    """The networks of a version, and bearoff tables, memory-mapped. `accuracy` quotes scores of the networks from
    `warehouse`. A pickled one is only the paths of all of them.

    Raises CorruptFileError.
    """

    def __init__(self, table: Table, bearoff: BearoffEvaluator, warehouse: Versions | None = None) -> None:
        used = [each.folder for each in (table, bearoff.two_sided, bearoff.one_sided, bearoff.gammon) if each]
        accuracy = _Accuracy(table, bearoff, version_by(used), warehouse)  # games are scored without endgames
        version = version_by([*used, bearoff.endgame.folder] if bearoff.endgame else used)
        super().__init__(open_networks(table), bearoff.arrays, table.folder.parent.name, accuracy, version)
        mapped = (bearoff.two_sided, bearoff.one_sided, bearoff.gammon, bearoff.endgame)
        self.table_names = tuple(each.name for each in mapped if each)
        self._recipe = table, bearoff, warehouse

    # a pickle names the version, which never changes: 1 kB instead of the mapped files
    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._recipe, {"likely": self.likely}


class _Accuracy(Mapping[AnswerSource, str]):
    """The accuracy of each source, from the manifests of tables and the measured scores of networks; read only when
    asked for."""

    def __init__(self, table: Table, bearoff: BearoffEvaluator, version: str, warehouse: Versions | None) -> None:
        self.table, self.bearoff, self.version, self.warehouse = table, bearoff, version, warehouse
        tables = {
            AnswerSource.EXACT: bearoff.two_sided or bearoff.endgame,
            AnswerSource.COMBINED: bearoff.one_sided,
        }
        self.sources = (*(source for source, found in tables.items() if found), *_NETWORKS)

    @cached_property
    def networks(self) -> dict[AnswerSource, str]:
        """The accuracy of each network, in words. Raises ManifestFormatError."""
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
