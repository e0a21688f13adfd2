"""Runs the notebooks of the documentation: their cells must print what is stored in them."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bgdata
from bgdata.store.catalog import write_catalog
from docs.run_notebooks import METADATA, notebook_paths, run_notebook
from tests.subtests import each
from tests.test_readme import build_default_warehouse

MAX_CELLS = 15
MAX_BYTES = 80_000  # pictures included
MACHINE = re.compile(r"/(home|root|tmp|work|Users|mnt|usr|opt)/|[A-Za-z]:\\")  # a path of somebody's machine


def outputs(cell: dict[str, Any]) -> list[tuple[str, str, list[str]]]:
    """What a cell printed and showed: the kind of each output, its text, and the types of pictures beside it."""
    joined: list[tuple[str, str, list[str]]] = []
    for output in cell.get("outputs", ()):
        kind = output.get("name") or output["output_type"]
        data = output.get("data", {})
        text = output.get("text") or data.get("text/plain", "")
        text = text if isinstance(text, str) else "".join(text)
        if joined and joined[-1][0] == kind == "stdout":  # in pieces, as it was flushed
            joined[-1] = (kind, joined[-1][1] + text, [])
        else:
            joined.append((kind, text, sorted(data)))
    return joined


@pytest.fixture(scope="module")
def notebook_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the default warehouse and its catalog."""
    folder = tmp_path_factory.mktemp("notebooks")
    build_default_warehouse(folder / "warehouse")
    write_catalog(bgdata.open_warehouse(folder / "warehouse"))
    with pytest.MonkeyPatch.context() as patch:  # nothing is left in the home of the user
        patch.setenv("IPYTHONDIR", str(folder / "ipython"))
        patch.setenv("JUPYTER_RUNTIME_DIR", str(folder / "runtime"))
        yield folder


# slow: builds the default warehouse if missing
@pytest.mark.slow
@pytest.mark.catalog
@each("path", lambda: notebook_paths())
def test_cells_print_what_is_stored(notebook_folder: Path, path: Path) -> None:
    stored = json.loads(path.read_text())["cells"]
    for cell, before in zip(run_notebook(path, notebook_folder).cells, stored, strict=True):
        assert outputs(cell) == outputs(before), cell.source


def test_notebooks_are_short_and_of_no_machine() -> None:
    assert [path.stem for path in notebook_paths()] == ["data_scientist", "player", "trainer"]
    for path in notebook_paths():
        text = path.read_text()
        notebook = json.loads(text)
        assert len(notebook["cells"]) <= MAX_CELLS, path
        assert len(text) <= MAX_BYTES, path
        assert notebook["metadata"] == METADATA, path
        assert notebook["cells"][0]["cell_type"] == "markdown", path
        pieces = [part for cell in notebook["cells"] for _, part, _ in outputs(cell)]
        assert pieces, path
        assert not [part for part in pieces if MACHINE.search(part)], path
        assert not [cell for cell in notebook["cells"] if cell["metadata"]], path


def test_every_cell_of_code_has_run_in_order() -> None:
    for path in notebook_paths():
        code = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
        assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1)), path


def test_pieces_of_an_output_are_joined() -> None:
    pieces = [{"output_type": "stream", "name": "stdout", "text": text} for text in ("a\n", ["b", "c"])]
    picture = {"output_type": "display_data", "data": {"text/plain": "<Figure>", "image/png": "..."}}
    assert outputs({"outputs": [*pieces, picture]}) == [
        ("stdout", "a\nbc", []),
        ("display_data", "<Figure>", ["image/png", "text/plain"]),
    ]
