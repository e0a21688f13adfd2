"""What several commands read from their arguments."""

from __future__ import annotations

import pytest

from bgdata.commands.options import parse_score
from bgdata.errors import UsageError


@pytest.mark.parametrize(("text", "numbers"), [("3-5", (3, 5)), ("0-0", (0, 0)), ("07-120", (7, 120))])
def test_scores(text: str, numbers: tuple[int, int]) -> None:
    assert parse_score(text, "a score") == numbers


@pytest.mark.parametrize("text", ["", "3", "3:5", "3-", "-3-5", "3-5-7", "3-5\n", " 3-5", "a-b", "٣-٥", "1000-5"])
def test_what_is_no_score(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_score(text, "a score such as 3-5")
    assert str(caught.value) == f"expected a score such as 3-5, got {text}"
    with pytest.raises(UsageError, match=r"expected a score, got --score x$"):
        parse_score(text, "a score", "--score x")
