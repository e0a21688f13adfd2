"""What a campaign is: numbered cases that draw faults from seeds of their own, and counts of what happened in them."""

from __future__ import annotations

import os
import random
import tempfile
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import ClassVar, Self, TypeVar

T = TypeVar("T")


class Campaign(ABC):
    """Use as a context manager: a folder is there between, in memory where that can be, and what `prepare` opens."""

    name: ClassVar[str]
    small: ClassVar[int]  # cases in `make test-all`: some minutes for all campaigns together
    full: ClassVar[int]

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.open = ExitStack()

    def __enter__(self) -> Self:
        place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.root = Path(self.open.enter_context(tempfile.TemporaryDirectory(prefix="bgdata-faults-", dir=place)))
        try:
            self.prepare()
        except BaseException:
            self.open.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.open.close()

    def prepare(self) -> None:  # noqa: B027
        """Make in `root` what all cases are compared with."""

    @abstractmethod
    def case(self, number: int, chance: random.Random, folder: Path) -> Iterable[str]:
        """Run one case in an empty folder; returns words for what happened, to be counted. Raises AssertionError."""

    def run(self, number: int) -> Counter[str]:
        """Case `number` in a fresh folder; whatever it raises says how to run it again."""
        with tempfile.TemporaryDirectory(dir=self.root, prefix=f"case-{number}-") as folder:
            try:
                return Counter(self.case(number, random.Random(f"{self.name} {self.seed} {number}"), Path(folder)))
            except Exception as error:
                error.add_note(f"again: python -m tests.faults {self.name} --seed {self.seed} --case {number}")
                raise


def shuffled(things: Iterable[T], seed: int) -> list[T]:
    """The same things in an order that the seed chooses, so that few cases are of many sorts."""
    found = list(things)
    random.Random(seed).shuffle(found)
    return found
