"""Networks and bearoff tables as a player that looks no further than the position after the play."""

from __future__ import annotations

import hashlib
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.bearoff_kernels import BearoffArrays
from bgdata.evaluation.choices import NETWORK, Brain, chosen_boards
from bgdata.evaluation.network_kernels import Networks
from bgdata.game.codec import Boards


class NetworkPlayer:
    """Chooses the play after which the opponent's cubeless equity is lowest, the first of equals."""

    def __init__(self, networks: Networks, tables: BearoffArrays, label: str = "network") -> None:
        self.networks, self.tables, self.label = networks, tables, label

    @cached_property
    def version(self) -> str:
        """Eight hex digits of the weights."""
        return hashlib.sha256(b"".join(np.ascontiguousarray(values).data for values in self.networks)).hexdigest()[:8]

    @cached_property
    def brain(self) -> Brain:
        """What kernels choose by: see `choices.KernelPlayer`."""
        return Brain(NETWORK, **self.networks._asdict(), **self.tables._asdict())

    def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
        """See player.Player."""
        return chosen_boards(self.brain, boards, rolls)
