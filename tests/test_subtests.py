"""Many cases in one test. All are run, and each failure is named."""

import inspect
import os
from pathlib import Path

import pytest

from tests.subtests import Subtests, each


def test_every_failed_case_is_named() -> None:
    subtests = Subtests()
    for name in ("one", "two", "three", "four"):
        with subtests.test(name):
            assert name == "two", f"{name} is another"
    with pytest.raises(pytest.fail.Exception) as failed:
        subtests.report()
    message = str(failed.value)
    assert message.startswith("3 of 4 cases failed")
    assert all(f"\n{name}: " in message and f"{name} is another" in message for name in ("one", "three", "four"))


def test_empty_cases_fail() -> None:
    @each("number", list)
    def nothing(number: int) -> None:
        raise AssertionError(number)

    with pytest.raises(AssertionError, match="expected at least one case, got none"):
        nothing()


def test_cases_have_their_own_folders_and_environments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each case runs with an empty folder and its own environment, and all the failed cases are reported together."""
    cases = []

    @each(("left", "right"), {"same": (1, 1), "other": (1, 2), "more": (2, 2)})
    @each("name", ("a", "b"))
    def compare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: int, right: int, name: str) -> None:
        assert list(tmp_path.iterdir()) == []
        assert "CASE" not in os.environ
        monkeypatch.setenv("CASE", name)
        cases.append((left, right, name))
        assert left == right

    assert list(inspect.signature(compare).parameters) == ["tmp_path", "monkeypatch"]
    with pytest.raises(pytest.fail.Exception, match=r"^1 of 3 cases failed\nother: ") as failed:
        compare(tmp_path=tmp_path, monkeypatch=monkeypatch)
    assert "2 of 2 cases failed" in str(failed.value)
    assert cases == [(*sides, name) for sides in ((1, 1), (1, 2), (2, 2)) for name in "ab"]
