"""Labelled positions as networks learn them: each by the network of its class, and how far the answers are off."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.answers import evaluations
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.chances import Chances, cubeless_equities
from bgdata.evaluation.networks.inference import Networks
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards
from bgdata.training.supervised.loss import cross_entropies

NETWORKS = 3
# by class as gnubg numbers them: place in NETWORK_CLASSES, or NETWORKS for finished games, which nobody learns
_NETWORK_OF = np.full(max(PositionClass) + 1, 0)
_NETWORK_OF[[PositionClass.OVER, PositionClass.CRASHED, PositionClass.CONTACT]] = NETWORKS, 1, 2


class Lesson(Protocol):
    """A batch of a feed."""

    @property
    def boards(self) -> Boards: ...
    @property
    def targets(self) -> Chances: ...
    @property
    def classes(self) -> NDArray[np.uint8]: ...


class Lessons(Protocol):
    """What a feed is to its learner."""

    @property
    def row_count(self) -> int: ...
    def __len__(self) -> int: ...
    def batch(self, epoch: int, number: int) -> Lesson: ...


class Examples(NamedTuple):
    """Positions of one network with their chances."""

    boards: Boards  # [n, 26]
    targets: Chances  # [n, 5]


class Error(NamedTuple):
    """How far a network is from the targets: means over positions."""

    cross_entropy: float  # summed over the chances that are possible; that of the targets themselves is part of it
    squared_error: float  # of cubeless equities, in points squared


NO_ERROR = Error(np.nan, np.nan)


def by_network(lesson: Lesson) -> list[Examples]:
    """The examples of each network, in their order."""
    networks = _NETWORK_OF[lesson.classes]
    places = [np.flatnonzero(networks == which) for which in range(NETWORKS)]
    return [Examples(lesson.boards.take(rows, axis=0), lesson.targets.take(rows, axis=0)) for rows in places]


def read_examples(lessons: Lessons, most: int) -> list[Examples]:
    """The first `most` positions of an epoch, or all, by network."""
    parts: list[list[Examples]] = [[] for _ in range(NETWORKS)]
    rows = 0
    for number in range(len(lessons)):
        lesson = lessons.batch(0, number)
        for part, found in zip(parts, by_network(lesson), strict=True):
            part.append(found)
        rows += len(lesson.boards)
        if rows >= most:
            break
    return [Examples(*(np.concatenate(columns) for columns in zip(*part, strict=True))) for part in parts]


def error_of(networks: Networks, examples: Examples) -> Error:
    """The mean errors of rounded networks without tables; NaN without examples."""
    if not len(examples.boards):
        return NO_ERROR
    chances = evaluations(networks, NO_TABLES, examples.boards).chances
    differences = cubeless_equities(chances).astype(np.float64) - cubeless_equities(examples.targets)
    return Error(
        float(cross_entropies(examples.boards, chances, examples.targets).mean()), float((differences**2).mean())
    )
