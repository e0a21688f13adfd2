"""Many cases in one test. Each case is run, and all failures are reported by name."""

import functools
import inspect
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Any, Self, TypeAlias

import pytest

Test: TypeAlias = Callable[..., None]
Refused: TypeAlias = Iterable[tuple[Callable[[], object], str]]  # calls, and a pattern for each error message
Cases: TypeAlias = Mapping[Any, Any] | Iterable[Any]


class Subtests:
    """Runs cases one after the other, and finally fails with every failure by name:

    with Subtests() as subtests:
        for name in names:
            with subtests.test(name):
                assert holds(name)
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.failures: list[str] = []

    @contextmanager
    def test(self, name: object) -> Iterator[None]:
        """Run one case; an exception is kept with its name, and the next case runs."""
        self.names.append(str(name))
        try:
            yield
        except (Exception, pytest.fail.Exception) as error:
            description = traceback.format_exc() if len(self.failures) < 3 else repr(error)
            self.failures.append(f"{name}: {description}")

    def report(self) -> None:
        """Fail with all failures, or if no case was run: an empty loop proves nothing."""
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


def all_raise(kind: type[Exception], cases: Refused) -> None:
    """Check that each call raises an error of this kind with a message that matches its pattern."""
    with Subtests() as subtests:
        for number, (call, pattern) in enumerate(cases, start=1):
            with subtests.test(f"{number}: {pattern}"), pytest.raises(kind, match=pattern):
                call()


def each(names: str | Sequence[str], cases: Cases | Callable[[], Cases]) -> Callable[[Test], Test]:
    """Like `pytest.mark.parametrize`, but one test for all cases; a function may return the cases at run time.

    Cases given as a mapping are reported by key. Fixtures are those of the one test, except that each case has its own
    folder in `tmp_path` and `memory_path`, and its `monkeypatch` is undone afterwards.
    """

    def decorate(test: Test) -> Test:
        signature = inspect.signature(test)
        given = (names,) if isinstance(names, str) else tuple(names)

        @functools.wraps(test)
        def run_all(**fixtures: Any) -> None:
            found = cases() if callable(cases) else cases
            with Subtests() as subtests:
                for name, values in found.items() if isinstance(found, Mapping) else ((each, each) for each in found):
                    case = dict(zip(given, (values,) if isinstance(names, str) else values, strict=True))
                    with subtests.test(str(name)[:200]), own(fixtures, len(subtests.names)) as owned:
                        test(**owned, **case)

        others = [each for each in signature.parameters.values() if each.name not in given]
        run_all.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return run_all

    return decorate


@contextmanager
def own(fixtures: Mapping[str, Any], number: int) -> Iterator[dict[str, Any]]:
    """The fixtures of one case."""
    found = dict(fixtures)
    with ExitStack() as stack:
        for name in {"tmp_path", "memory_path"} & found.keys():
            found[name] = found[name] / f"case-{number}"
            found[name].mkdir()
        if "monkeypatch" in found:
            found["monkeypatch"] = stack.enter_context(found["monkeypatch"].context())
        yield found
