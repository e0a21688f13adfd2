"""Declarations of every kind. Kinds are discovered, so new ones are tested too."""

import re
from collections import defaultdict
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.errors import InvalidParameterError, MissingTableError
from bgdata.evaluation.chances import CHANCES
from bgdata.kinds import all_kinds
from bgdata.store.dataset import Dataset
from bgdata.store.parameters import VersionRef
from bgdata.training.feed import REFERENCE, is_benchmark, is_labelled
from bgdata.warehouse import Warehouse
from bgdata.warehouse.commands.build import size_names
from tests.contract.kinds import each_kind, sized_kind, sized_kinds

# words and abbreviations that names must not contain (DESIGN.md, section 4)
WRONG_WORDS = {
    *("piece", "man", "white", "black", "player", "move", "action", "value", "score", "drop", "fold", "tp"),
    *("sim", "n", "se", "os", "ts", "num", "idx", "prob", "avg", "std", "pos", "cnt", "eq", "tmp", "utils"),
}
# words of records of games and files: seats, turns, scores, and counts
RECORDED_WORDS = {"player", "action", "score", "scores", "value", "n"}
# column types that may lack a unit
UNITLESS = {"INTEGER", "BIGINT", "SMALLINT", "TINYINT", "BOOLEAN", "VARCHAR"}
# by unit: endings of column names
UNIT_ENDINGS = {"rolls": ("_rolls",), "pips": ("pips", "pip_count"), "seconds": ("_seconds",), "bytes": ("_bytes",)}


def test_all_kinds_are_discovered() -> None:
    assert len(sized_kinds()) >= 5
    assert len(all_kinds()) >= 32
    assert list(all_kinds()) == sorted(all_kinds())
    assert {name: kind.name for name, kind in all_kinds().items()} == {name: name for name in all_kinds()}
    (main,) = all_kinds()["bearoff_two_sided"].tables
    assert main.row == "One row for each on_roll_index and opponent_index, in this order."


@each_kind
def test_declaration_is_complete(kind: Dataset[Any]) -> None:
    """Every kind has a name, revision, summary, source and licence, and tables whose columns have different names."""
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", kind.name)
    assert kind.revision >= 1
    assert kind.summary.endswith(".")
    assert kind.source
    assert kind.licence
    for shape in kind.tables:
        names = [column.name for column in shape.columns]
        assert len(set(names)) == len(names)
        assert set(shape.key) <= set(names)
        assert shape.summary.endswith(".")
    assert kind.tables[0].file == "table.parquet"
    assert kind.tables[0].columns == kind.columns


@each_kind
def test_every_column_and_array_is_explained(kind: Dataset[Any]) -> None:
    for shape in kind.tables:
        for column in shape.columns:
            assert column.meaning
            assert not column.meaning.endswith(".")
            assert column.unit or column.name in shape.key or column.type in UNITLESS, f"{column.name} has no unit"
            assert column.comment == (f"{column.meaning} [{column.unit}]" if column.unit else column.meaning)
    for array in kind.arrays:
        assert array.axes
        assert array.meaning[0].isupper()
        assert np.dtype(array.dtype).str[0] in "<|"


@each_kind
def test_declared_names_follow_the_rules(kind: Dataset[Any]) -> None:
    """The names of tables, columns, arrays and parameters are of lower-case words, and a column's name ends with its
    unit."""
    columns = [column for shape in kind.tables for column in shape.columns]
    wrong_words = WRONG_WORDS if kind.name in sized_kinds() else WRONG_WORDS - RECORDED_WORDS
    names = [kind.name, *(shape.name for shape in kind.tables), *(column.name for column in columns)]
    for name in (*names, *(array.name for array in kind.arrays), *kind.parameters.names()):
        assert re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name)
        assert not wrong_words.intersection(name.split("_")), name
    for column in columns:
        assert column.name.endswith(UNIT_ENDINGS.get(column.unit, "")), f"{column.name} in {column.unit}"


def test_same_name_has_the_same_unit_and_type_everywhere() -> None:
    types_and_units = defaultdict(set)
    for kind in all_kinds().values():
        for shape in kind.tables:
            for column in shape.columns:
                types_and_units[column.name].add(f"{column.type} {column.unit}")
    assert {name: uses for name, uses in types_and_units.items() if len(uses) > 1} == {}


@each_kind
def test_positions_with_chances_are_declared_as_labels(kind: Dataset[Any]) -> None:
    """Kinds whose rows have boards and chances are declared as labels, by which training and the view `leakage` find
    them. Benchmarks and reference positions, which are never trained on, are not."""
    columns = {column.name for column in kind.columns}
    assert (is_labelled(kind) or REFERENCE in kind.tags) == ({"board", *CHANCES} <= columns)
    assert not (is_labelled(kind) and is_benchmark(kind))
    is_shared = any(shape.name.startswith("benchmark_") for shape in kind.tables if shape.shared)
    assert is_benchmark(kind) == (is_shared or REFERENCE in kind.tags)


@sized_kind
def test_slugs_are_unique(kind: Dataset[Any]) -> None:
    names = size_names(kind)
    all_sizes = list(product(range(1, 19), repeat=len(names)))
    slugs = {kind.slug(kind.parameters(**dict(zip(names, sizes, strict=True)))) for sizes in all_sizes}
    assert [slug for slug in slugs if not re.fullmatch(r"[a-z0-9x-]+", slug)] == []
    assert len(slugs) == len(all_sizes)


@each_kind
def test_variants_have_safe_names_and_inputs_of_known_kinds(kind: Dataset[Any]) -> None:
    """The default variants of every kind have valid parameters, safe folder names, and inputs of known kinds."""
    for parameters in (*kind.defaults, kind.smallest):
        assert isinstance(parameters, kind.parameters)
        kind.check_parameters(parameters)
        assert re.fullmatch(r"[a-z0-9-]+", kind.slug(parameters))
        for needed in kind.inputs(parameters).values():
            if isinstance(needed, VersionRef):
                assert needed.version
                assert needed.kind in all_kinds()
                continue
            name, input_parameters = needed
            input_kind = all_kinds()[name]
            input_kind.check_parameters(input_parameters)
            assert input_kind.slug(input_parameters)
            if parameters in kind.basic:
                assert input_parameters not in input_kind.more
    assert set(kind.more) <= set(kind.defaults)
    for parameters in kind.defaults:
        assert kind.default(kind.slug(parameters)) == parameters
    with pytest.raises(MissingTableError, match=f"expected a default variant of {kind.name}: .*, got none"):
        kind.default("none")


@each_kind
def test_values_of_wrong_types_are_refused(memory_path: Path, kind: Dataset[Any]) -> None:
    warehouse = bgdata.open_warehouse(memory_path / "warehouse")
    for name in kind.parameters.names():
        parameters = kind.smallest.with_changes({name: 1j})
        with pytest.raises(InvalidParameterError, match=f"expected {name} of type .*, got 1j"):
            warehouse.build(kind.name, parameters, files=[Path(__file__)] * kind.takes_files)
    with pytest.raises(InvalidParameterError, match=r"expected a parameter among .*, got colour"):
        kind.smallest.with_changes({"colour": 1})
    assert not warehouse.root.exists()


@sized_kind
def test_sizes_out_of_range_are_refused(memory_path: Path, kind: Dataset[Any]) -> None:
    warehouse = Warehouse(memory_path / "warehouse", sized_kinds())
    for name in size_names(kind):
        for value in (0, -1, 1000):
            parameters = kind.smallest.with_changes({name: value})
            with pytest.raises(InvalidParameterError, match=f"expected 1 to .* got .*{value}"):
                warehouse.build(kind.name, parameters)
    assert not warehouse.root.exists()
