"""What is said of combined one-sided tables where their error is not measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from bgdata.bearoff.race_study import RACE_STUDY, measured_error, race_study
from bgdata.kinds import all_kinds
from tests.test_readme import provide


def test_without_a_table_the_published_study_is_quoted() -> None:
    assert race_study(None) is RACE_STUDY
    assert measured_error(None, "equity") == (
        "over all pairs of 6x9 the error of the equity is 0.0017 on average, -0.0279 to +0.0236"
    )


# slow: compares all pairs of 6x9 where the checkout has not
@pytest.mark.slow
def test_the_published_study_is_that_of_the_table(tmp_path: Path) -> None:
    kind = all_kinds()["bearoff_error"]
    (parameters,) = kind.defaults
    wanted = [each for each in kind.inputs(parameters).values() if isinstance(each, tuple)]
    inputs = [(all_kinds()[name], needed) for name, needed in wanted]
    *_, table = provide(tmp_path / "warehouse", [*inputs, (kind, parameters)])
    size, *figures = race_study(table)
    assert size == RACE_STUDY.size
    assert figures == pytest.approx(RACE_STUDY[1:], abs=6e-7)
