"""Every kind of dataset, by name. A kind is the object `DATASET` of the module with the kind's name, in the folder
`kinds` of its subject. The module `<name>_compute` beside it computes the kind. A new kind needs only these two
modules. Other packages add kinds through the entry points `bgdata.kinds`."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgdata.store.registry import Kinds

if TYPE_CHECKING:
    from bgdata.store.dataset import Dataset, TableShape


_PACKAGE = Path(__file__).parents[1]
# plain SQL is beside the package in a checkout, and inside the package in a wheel (see pyproject.toml)
SQL = next(folder for folder in (_PACKAGE / "sql", _PACKAGE.parent / "sql") if folder.is_dir())
GROUP = "bgdata.kinds"
BOARDS = {
    "board": "board",
    "next_position_id": "board(next_position_id)",
}  # SQL of the board, by the column that encodes it
EMPTY = "select null::varchar as dataset, null::varchar as variant, null::json as key"


@functools.cache
def all_kinds() -> Kinds:
    """Return all kinds of dataset by name, from bgdata and other installed packages. This imports none of their
    modules."""
    declared = [path for path in _PACKAGE.glob("*/kinds/*.py") if not path.stem.endswith(("_compute", "__init__"))]
    own = {path.stem: f"bgdata.{path.parts[-3]}.kinds.{path.stem}" for path in declared}
    # sorted, because views of later subjects may use views of earlier ones
    folders = sorted(folder for folder in SQL.iterdir() if folder.is_dir())
    return Kinds(own, sql=folders, views=leakage_views, group=GROUP)


def leakage_views(kinds: Iterable[Dataset[Any]]) -> Iterator[str]:
    """Yield the SQL that creates two views, with their comments, from the tables that the kinds declare. The views list
    positions that occur both in a benchmark and among labelled rows."""
    from bgdata.training.feed import is_benchmark, is_labelled

    known = list(kinds)
    labelled = [_select_boards(kind, kind.tables[0], "position_id, board") for kind in known if is_labelled(kind)]
    guarded = [
        _select_boards(kind, shape, f"'{shape.name}' as source, {expression} as board")
        for kind in known
        if is_benchmark(kind)
        for shape in kind.tables
        for column, expression in BOARDS.items()
        if column in {each.name for each in shape.columns}
    ]
    for view, selects, meaning, column, what in (
        ("labelled_boards", labelled, "Position of every row that can be trained on", "position_id",
         "The position as its Position ID"),
        ("benchmark_boards", guarded, "Every position of the benchmarks, before the roll or after a play", "source",
         "Table that has the position"),
    ):  # fmt: skip
        empty = f"{EMPTY}, null::varchar as {column}, null::tinyint[] as board where false"
        comments = {
            "dataset": "Dataset kind",
            "variant": "Variant",
            "key": "The columns that name the row in its table, as JSON",
            "board": "The position as 26 integers, as boards are everywhere",
            column: what,
        }
        lines = [f"create view {view} as {' union all '.join(selects or [empty])}"]
        lines.append(f"comment on view {view} is '{meaning}'")
        yield ";\n".join(lines + [f"comment on column {view}.{name} is '{text}'" for name, text in comments.items()])


def _select_boards(kind: Dataset[Any], shape: TableShape, columns: str) -> str:
    key = ", ".join(f"'{name}': {name}" for name in shape.key)
    rows = f" where dataset = '{kind.name}'" if shape.shared else ""
    return f"select '{kind.name}' as dataset, variant, to_json({{{key}}}) as key, {columns} from {shape.name}{rows}"
