"""Kinds by name: listing them imports none."""

import pickle
import sys
from pathlib import Path

import pytest

import bgdata
from bgdata.errors import UnknownKindError
from bgdata.store.registry import Kinds
from bgdata.warehouse import Warehouse
from tests.store.toy import declare_toys


@pytest.fixture
def kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kinds:
    """The toy kinds, in modules of a new package that are not imported yet."""
    return declare_toys(tmp_path, monkeypatch)


def imported_kinds(kinds: Kinds) -> list[str]:
    """The names of kinds whose module is imported."""
    return [name for name, module in kinds.modules.items() if module in sys.modules]


def test_names_import_nothing(kinds: Kinds, tmp_path: Path) -> None:
    """Listing kinds, variants and versions imports no kind."""
    warehouse = Warehouse(tmp_path / "warehouse", kinds)
    assert list(kinds) == ["square_sums", "squares"]
    assert len(kinds) == 2
    assert "squares" in kinds
    assert "cubes" not in kinds
    assert kinds == Kinds(kinds.modules)
    assert list(warehouse.versions()) == list(warehouse.versions("squares")) == list(warehouse.current()) == []
    assert warehouse.variants("squares") == []
    with pytest.raises(UnknownKindError, match="do you mean squares"):
        list(warehouse.versions("square"))
    assert imported_kinds(kinds) == []


def test_only_the_opened_kind_is_imported(kinds: Kinds) -> None:
    assert kinds["squares"].name == "squares"
    assert kinds["squares"] is kinds["squares"]
    assert kinds.get("cubes") is None
    assert imported_kinds(kinds) == ["squares"]
    assert {name: kind.name for name, kind in kinds.items()} == {name: name for name in kinds}


def test_equal_kinds_are_equal(kinds: Kinds) -> None:
    assert kinds != Kinds({"squares": kinds.modules["squares"]})
    assert kinds != Kinds({**kinds.modules, "squares": kinds.modules["square_sums"]})
    assert kinds == dict(kinds)
    assert kinds != {**kinds, "more": kinds["squares"]}
    assert kinds != list(kinds)


def test_pickled_warehouse_is_its_path_and_names(kinds: Kinds, tmp_path: Path) -> None:
    for some_kinds in (kinds, bgdata.all_kinds()):
        unpickled = pickle.loads(pickle.dumps(Warehouse(tmp_path, some_kinds)))
        assert unpickled.root == tmp_path
        assert unpickled.kinds == some_kinds
    of_declarations = pickle.loads(pickle.dumps(Warehouse(tmp_path, {"squares": kinds["squares"]})))
    assert {name: kind.name for name, kind in of_declarations.kinds.items()} == {"squares": "squares"}
    assert b"cube_life" not in pickle.dumps(bgdata.open_warehouse(tmp_path)), "no list of all kinds"


def test_files_of_kinds_are_known(kinds: Kinds) -> None:
    assert {path.name for path in kinds.files()} == {"__init__.py", "squares.py", "square_sums.py"}
    assert imported_kinds(kinds) == []
