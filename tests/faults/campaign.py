"""The base of campaigns: numbered cases with their own seeds, and counts of events."""

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
    """Use as a context manager, which provides a folder (in memory if possible) and calls `prepare`."""

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
        """Make the data in `root` that all cases are compared with."""

    @abstractmethod
    def case(self, number: int, chance: random.Random, folder: Path) -> Iterable[str]:
        """Run one case in an empty folder, and return words for events to count. Raises AssertionError."""

    def run(self, number: int) -> Counter[str]:
        """Run case `number` in a new folder; exceptions have a note on how to run it again."""
        with tempfile.TemporaryDirectory(dir=self.root, prefix=f"case-{number}-") as folder:
            try:
                return Counter(self.case(number, random.Random(f"{self.name} {self.seed} {number}"), Path(folder)))
            except Exception as error:
                error.add_note(f"again: python -m tests.faults {self.name} --seed {self.seed} --case {number}")
                raise


def shuffled(things: Iterable[T], seed: int) -> list[T]:
    """Shuffle by seed, so that few cases cover many sorts."""
    found = list(things)
    random.Random(seed).shuffle(found)
    return found
