"""Networks and bearoff tables as an evaluator, and as a player that looks no further than the position after the play."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.answers import evaluations
from bgdata.evaluation.bearoff import BearoffEvaluator
from bgdata.evaluation.bearoff_kernels import BearoffArrays, BearoffSource
from bgdata.evaluation.choices import NETWORK, Brain, chosen_boards
from bgdata.evaluation.evaluator import Evaluations, Source
from bgdata.evaluation.network import open_networks
from bgdata.evaluation.network_kernels import Networks
from bgdata.game.codec import Boards
from bgdata.store.table import Table


class NetworkPlayer:
    """Chooses the play after which the opponent's cubeless equity is lowest, the first of equals."""

    def __init__(
        self,
        networks: Networks,
        tables: BearoffArrays,
        label: str = "network",
        accuracy: Mapping[Source, str] | None = None,
        version: str = "",
    ) -> None:
        self.networks, self.tables, self.label = networks, tables, label
        self.accuracy: Mapping[Source, str] = accuracy or {}
        self._version = version

    @cached_property
    def version(self) -> str:
        """As given, else eight hex digits that change with the weights or the size of the tables."""
        if self._version:
            return self._version
        digest = hashlib.sha256(b"".join(np.ascontiguousarray(values).data for values in self.networks))
        digest.update(repr([np.shape(values) or values for values in self.tables]).encode())
        return digest.hexdigest()[:8]

    @cached_property
    def brain(self) -> Brain:
        """What kernels choose by: see `choices.KernelPlayer`."""
        return Brain(NETWORK, **self.networks._asdict(), **self.tables._asdict())

    def evaluate_many(self, boards: Boards) -> Evaluations:
        """See evaluator.Evaluator."""
        return evaluations(self.networks, self.tables, boards)

    def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
        """See player.Player."""
        return chosen_boards(self.brain, boards, rolls)


def map_network_player(table: Table, bearoff: BearoffEvaluator) -> NetworkPlayer:
    """The networks of a version with bearoff tables beside them, mapped. Raises CorruptFileError."""
    return NetworkPlayer(open_networks(table), bearoff.arrays, table.folder.parent.name, _Accuracy(table, bearoff))


class _Accuracy(Mapping[Source, str]):
    """What the manifests of the tables and of the networks say; they are read when somebody asks."""

    def __init__(self, table: Table, bearoff: BearoffEvaluator) -> None:
        self.table, self.bearoff = table, bearoff

    @cached_property
    def network(self) -> str:
        """How the networks play."""
        found = self.table.manifest.statistics
        return (
            f"{self.table.name}: {found['points_per_game']:+.3f} +/- {found['standard_error']:.3f} points per game "
            "against PubEval"
        )

    def __getitem__(self, source: Source) -> str:
        if source in (Source.EXACT, Source.COMBINED):
            return self.bearoff.accuracy[BearoffSource(source)]
        if source >= Source.RACE_NETWORK:
            return self.network
        raise KeyError(source)

    def __iter__(self) -> Iterator[Source]:
        return iter(source for source in Source if source is not Source.PROGRAM and source is not Source.OVER)

    def __len__(self) -> int:
        return len(list(iter(self)))
