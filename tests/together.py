"""Many cases in one test: each is run, and all that failed are reported by name."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

import pytest


class Together:
    """Runs cases one after the other and fails at the end with every failure by name.

    with Together() as together:
        for name in names:
            with together.case(name):
                assert holds(name)
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.failures: list[str] = []

    @contextmanager
    def case(self, name: object) -> Iterator[None]:
        """Run one case: whatever it raises is kept, with its name, and the next case goes on."""
        self.names.append(str(name))
        try:
            yield
        except (Exception, pytest.fail.Exception) as error:
            self.failures.append(f"{name}: {traceback.format_exc() if len(self.failures) < 3 else error!r}")

    def report(self) -> None:
        """Fail with all failures, or where no case was run: a loop over nothing proves nothing."""
        assert self.names, "expected at least one case, got none"
        if self.failures:
            count = f"{len(self.failures)} of {len(self.names)} cases failed"
            pytest.fail("\n".join([count, *self.failures]), pytrace=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.report()
