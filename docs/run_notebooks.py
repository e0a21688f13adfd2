"""Runs the notebooks of the documentation and stores their outputs: `python -m docs.run_notebooks [NAME...]`.

It needs nbclient and ipykernel, the extra `plots`, and the default warehouse in the folder `warehouse`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent / "notebooks"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
CELL_SECONDS = 600


def notebook_paths() -> list[Path]:
    """The notebooks of the documentation."""
    return sorted(FOLDER.glob("*.ipynb"))


def run_notebook(path: Path, folder: Path) -> Any:
    """The notebook of a file after its cells have run in a folder, which has `warehouse`, without times and names of
    the machine. Raises CellExecutionError for a cell that raises an error."""
    found = nbformat.read(path, as_version=4)
    where = {"metadata": {"path": str(folder)}}
    NotebookClient(found, timeout=CELL_SECONDS, kernel_name="python3", resources=where).execute()
    found.metadata = METADATA
    for cell in found.cells:
        cell.metadata = {}
    return found


def main() -> None:
    """Run the named notebooks, or all, and store their outputs."""
    for path in notebook_paths():
        if path.stem in sys.argv[1:] or not sys.argv[1:]:
            nbformat.write(run_notebook(path, FOLDER.parents[1]), path)
            print(f"wrote {path.relative_to(FOLDER.parents[1])}")


if __name__ == "__main__":
    main()
