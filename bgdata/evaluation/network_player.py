"""Networks and bearoff tables as an evaluator, and as a player that looks no further than the end of its play."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.answers import evaluations
from bgdata.evaluation.bearoff import BearoffEvaluator
from bgdata.evaluation.bearoff_kernels import BearoffArrays, BearoffSource
from bgdata.evaluation.choices import NETWORK, Brain, chosen_boards
from bgdata.evaluation.evaluator import Evaluations, Source
from bgdata.evaluation.network import open_networks
from bgdata.evaluation.network_kernels import Networks
from bgdata.game.codec import Boards, check_boards, check_legal_boards
from bgdata.store.table import Table

_NETWORKS = (Source.RACE_NETWORK, Source.CRASHED_NETWORK, Source.CONTACT_NETWORK)


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
        self.accuracy: Mapping[Source, str] = {} if accuracy is None else accuracy
        self._version = version

    @cached_property
    def version(self) -> str:
        """As given, else eight hex digits that change with the weights or the size of the tables."""
        if self._version:
            return self._version
        digest = hashlib.sha256(b"".join(values.tobytes() for values in self.networks))
        digest.update(repr([np.shape(values) or values for values in self.tables]).encode())
        return digest.hexdigest()[:8]

    @cached_property
    def brain(self) -> Brain:
        """What kernels choose by: see `choices.KernelPlayer`."""
        return Brain(NETWORK, **self.networks._asdict(), **self.tables._asdict())

    def evaluate_many(self, boards: Boards) -> Evaluations:
        """See evaluator.Evaluator."""
        legal = check_legal_boards(np.ascontiguousarray(check_boards(boards)))
        return evaluations(self.networks, self.tables, legal)

    def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
        """See player.Player."""
        return chosen_boards(self.brain, boards, rolls)


def map_network_player(table: Table, bearoff: BearoffEvaluator) -> NetworkPlayer:
    """The networks of a version with bearoff tables beside them, mapped. Raises CorruptFileError."""
    used = [each.folder for each in (table, bearoff.two_sided, bearoff.one_sided, bearoff.gammon) if each]
    label = table.folder.parent.name
    return NetworkPlayer(open_networks(table), bearoff.arrays, label, _Accuracy(table, bearoff), version_by(used))


def version_by(folders: Iterable[Path]) -> str:
    """Eight hex digits that change with the values of the versions in these folders, and not with their revisions.

    All had the first one when players were first recorded, in games too; another may differ by its Parquet alone.
    """
    names = (f"{folder.parent.name}/r1-{folder.name.partition('-')[2]}" for folder in folders)
    return hashlib.sha256(" ".join(names).encode()).hexdigest()[:8]


class _Accuracy(Mapping[Source, str]):
    """What the manifests of the tables and of the networks say; each is read when somebody asks for it."""

    def __init__(self, table: Table, bearoff: BearoffEvaluator) -> None:
        self.table, self.bearoff = table, bearoff
        tables = {Source.EXACT: bearoff.two_sided, Source.COMBINED: bearoff.one_sided}
        self.sources = (*(source for source, found in tables.items() if found), *_NETWORKS)

    @cached_property
    def network(self) -> str:
        """How the networks play. Raises ManifestFormatError."""
        manifest = self.table.manifest
        found = manifest.statistics
        return (
            f"{manifest.dataset}/{manifest.variant}/{self.table.folder.name}: {found['points_per_game']:+.3f} +/- "
            f"{found['standard_error']:.3f} points per game against PubEval"
        )

    def __getitem__(self, source: Source) -> str:
        if source not in self.sources:
            raise KeyError(source)
        return self.network if source in _NETWORKS else self.bearoff.accuracy[BearoffSource(source)]

    def __iter__(self) -> Iterator[Source]:
        return iter(self.sources)

    def __len__(self) -> int:
        return len(self.sources)
