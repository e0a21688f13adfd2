"""Kinds and their computations; texts stored as arrays."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.errors import CorruptFileError
from bgdata.kinds.column_values import text_arrays, text_column
from bgdata.store.dataset import Computation, Dataset, ImportedComputation, ImportedDataset
from tests.subtests import each

TEXTS = ["a", "", "Grüße", "b"]


def test_text_arrays_round_trip() -> None:
    assert text_column(text_arrays("x", TEXTS), "x").to_pylist() == TEXTS
    assert text_column(text_arrays("x", []), "x").to_pylist() == []


@pytest.mark.parametrize("ends", [[1, 1, 8, 10], [1, 0, 8, 9], [1, 1, 1 << 40, 9], [-1, 1, 8, 9], [1, 1, 4, 9]])
def test_invalid_text_arrays_are_refused(ends: list[int]) -> None:
    """Ends lie beyond the bytes, descend, and cut a letter of two bytes."""
    arrays = text_arrays("x", TEXTS) | {"x_ends": np.array(ends)}
    with pytest.raises(CorruptFileError, match=r"^expected texts in x\.npy, one up to each of x_ends, found: "):
        text_column(arrays, "x")


KINDS = bgdata.all_kinds()


@each("kind", KINDS)
def test_computation_knows_its_kind(kind: Dataset[Any]) -> None:
    assert isinstance(kind.computation, ImportedComputation if isinstance(kind, ImportedDataset) else Computation)
    assert kind.computation.kind is kind
    assert kind.computation is kind.computation


def test_every_computation_belongs_to_a_kind() -> None:
    files = Path(bgdata.__file__).parent.glob("*/kinds/*_compute.py")
    assert {path.stem for path in files} == {f"{kind.computed_by or kind.name}_compute" for kind in KINDS.values()}


def test_two_kinds_can_share_a_computation() -> None:
    """Each computation has its own kind."""
    one_sided, gammon = (KINDS[name].computation for name in ("bearoff_one_sided", "bearoff_gammon"))
    assert type(one_sided) is type(gammon)
    assert [computation.kind.name for computation in (one_sided, gammon)] == ["bearoff_one_sided", "bearoff_gammon"]


def test_file_kind_needs_a_computation_that_reads_files() -> None:
    class Wrong(type(KINDS["positions"])):  # type: ignore[misc]
        """A kind of files whose computation reads none."""

        __module__ = "bgdata.measures.kinds.ladder"  # its computation is looked up beside this module
        name = "positions"
        computed_by = "ladder"

    with pytest.raises(AssertionError):
        _ = Wrong().computation
