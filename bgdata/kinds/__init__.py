"""Every kind of dataset by name. A kind is declared in the folder `kinds` of its subject, in a module of its name, as
`DATASET`; the module `<name>_compute` beside it says how it is computed. Adding a kind is adding these two. Other
packages add more by the entry points `bgdata.kinds`."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgdata.store.registry import Kinds

if TYPE_CHECKING:
    from bgdata.store.dataset import Dataset, TableShape


_PACKAGE = Path(__file__).parents[1]
# plain SQL stands beside the package in a checkout, and in it once installed from a wheel (see pyproject.toml)
SQL = next(folder for folder in (_PACKAGE / "sql", _PACKAGE.parent / "sql") if folder.is_dir())
GROUP = "bgdata.kinds"


def generated_views(kinds: Iterable[Dataset[Any]]) -> Iterator[str]:
    """SQL of the views that are made from the declarations of all kinds."""
    from bgdata.kinds import leakage_views

    return leakage_views(kinds)


@functools.cache
def all_kinds() -> Kinds:
    """Every kind by name, in order of name: those of bgdata, and those of other packages. None is imported for it."""
    declared = [path for path in _PACKAGE.glob("*/kinds/*.py") if not path.stem.endswith(("_compute", "__init__"))]
    own = {path.stem: f"bgdata.{path.parts[-3]}.kinds.{path.stem}" for path in declared}
    return Kinds(own, sql=sql_folders(), views=generated_views, group=GROUP)


def sql_folders() -> list[Path]:
    """The folders of SQL of all subjects, in order of name: views of later ones may use those of earlier ones."""
    return sorted(folder for folder in SQL.iterdir() if folder.is_dir())


BOARDS = {"board": "board", "next_position_id": "board(next_position_id)"}  # SQL for the board by column that says it
EMPTY = "select null::varchar as dataset, null::varchar as variant, null::json as key"


def leakage_views(kinds: Iterable[Dataset[Any]]) -> Iterator[str]:
    """SQL that creates and comments each of both views, over the views of the kinds' tables."""
    from bgdata.training.feed import is_benchmark, is_labelled

    known = list(kinds)
    labelled = [select_boards(kind, kind.tables[0], "position_id, board") for kind in known if is_labelled(kind)]
    guarded = [
        select_boards(kind, shape, f"'{shape.name}' as source, {expression} as board")
        for kind in known
        if is_benchmark(kind)
        for shape in kind.tables
        for column, expression in BOARDS.items()
        if column in {each.name for each in shape.columns}
    ]
    empty = [f"{EMPTY}, null::varchar as {name}, null::tinyint[] as board" for name in ("position_id", "source")]
    keys = {
        "dataset": "Dataset kind",
        "variant": "Variant",
        "key": "The columns that name the row in its table, as JSON",
        "board": "The position as 26 integers, as boards are everywhere",
    }
    yield create_view(
        "labelled_boards",
        labelled or [f"{empty[0]} where false"],
        "Position of every row that can be trained on",
        {**keys, "position_id": "The position as its Position ID"},
    )
    yield create_view(
        "benchmark_boards",
        guarded or [f"{empty[1]} where false"],
        "Every position of the benchmarks, before the roll or after a play",
        {**keys, "source": "Table that has the position"},
    )


def select_boards(kind: Dataset[Any], shape: TableShape, columns: str) -> str:
    """The query of a kind's rows in the view over one of its tables."""
    key = ", ".join(f"'{name}': {name}" for name in shape.key)
    rows = f" where dataset = '{kind.name}'" if shape.shared else ""
    return f"select '{kind.name}' as dataset, variant, to_json({{{key}}}) as key, {columns} from {shape.name}{rows}"


def create_view(view: str, selects: list[str], meaning: str, columns: dict[str, str]) -> str:
    """The view over the rows of all queries, with its comments."""
    comments = [f"comment on column {view}.{name} is '{text}'" for name, text in columns.items()]
    selected = " union all ".join(selects)
    return ";\n".join([f"create view {view} as {selected}", f"comment on view {view} is '{meaning}'", *comments])
