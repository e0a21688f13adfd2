"""Networks and bearoff tables as an evaluator, and as a player that looks no further than the position after the play."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.answers import evaluations
from bgdata.evaluation.bearoff_kernels import BearoffArrays
from bgdata.evaluation.choices import NETWORK, Brain, chosen_boards
from bgdata.evaluation.evaluator import Evaluations, Source
from bgdata.evaluation.network_kernels import Networks
from bgdata.game.codec import Boards


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
        digest = hashlib.sha256(b"".join(np.ascontiguousarray(values) for values in self.networks))
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
