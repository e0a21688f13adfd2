"""Rows and versions as HTML, for notebooks and for pages of the explorer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from bgdata.errors import BgdataError

if TYPE_CHECKING:
    from bgdata.store.table import Table

Row = Mapping[str, Any]
Cell = Callable[[str, Any], str]
LONG = 40  # longer strings get a wide cell
MAX_LETTERS = 300  # most letters of a cell
SAMPLE = 5  # number of rows that a notebook shows


def cell_text(value: Any) -> str:
    """The value of a cell as the text that people see."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: ""}[value]
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    text = json.dumps(value, default=str) if isinstance(value, list | tuple | dict) else str(value)
    return text if len(text) <= MAX_LETTERS else text[: MAX_LETTERS - 3] + "..."


def rows_html(
    rows: Sequence[Row],
    cell: Cell = lambda _, value: escape(cell_text(value)),
    links: Sequence[str] = (),
    word: str = "link",
    titles: Mapping[str, str] | None = None,
) -> str:
    """An HTML table of rows, whose columns are those of the first row. `cell` gives the HTML of a cell from its column
    and value. If `links` are given, one for each row, a last column links to them by the text `word`. `titles` contains
    the HTML of headings, by column. Names of other columns are escaped."""
    titles = titles or {}
    has_links = bool(links and links[0])
    heads = [
        f'<th scope="col"{_class_of(value)}>{titles.get(name) or escape(name)}</th>' for name, value in rows[0].items()
    ]
    lines = []
    for place, row in enumerate(rows):
        link = f'<a href="{escape(links[place], quote=True)}">{word}</a>' if has_links and links[place] else ""
        cells = [f"<td>{link}</td>"] if has_links else []
        cells += [f"<td{_class_of(value)}>{cell(name, value)}</td>" for name, value in row.items()]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    first = f'<th scope="col">{word}</th>' if has_links else ""
    head = f"<thead><tr>{first}{''.join(heads)}</tr></thead>"
    body = "\n".join(lines)
    return f'<div class="wide" tabindex="0"><table class="data">{head}<tbody>\n{body}\n</tbody></table></div>'


def _class_of(value: Any) -> str:
    """The attribute with the CSS class of a cell: numbers are right-aligned, and long strings get a wide cell."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return ' class="number"'
    return ' class="long"' if isinstance(value, str) and len(value) > LONG else ""


def version_html(table: Table, flat_rows: Callable[[int], Sequence[Row]] = lambda _: []) -> str:
    """Return a version as HTML for a notebook: its name and size, rows from its middle, and its hashes, or the error of
    a damaged version. For a version without Parquet files, the rows come from `flat_rows`, which is called with their
    number."""
    from bgdata.store.parquet import middle_rows

    try:
        manifest = table.manifest
        names = [entry.name for entry in manifest.files]
        (name,) = table.parts[len(table.parts) // 2].files_of(table.parquet.name)
        is_flat = name not in names
        rows: Sequence[Row] = flat_rows(SAMPLE) if is_flat else middle_rows(table.check_file(name), SAMPLE)
    except BgdataError as error:
        return f"<p><b>{escape(table.name)}</b></p><p>{escape(str(error))}</p>"
    facts = {
        "digest of the values": manifest.digest,
        "recipe key": manifest.recipe_key,
        "computed": f"{manifest.created}, in {manifest.seconds:.1f} s",
        "source": manifest.source,
        "licence": manifest.licence,
    }
    proof = "".join(f"<dt>{name}</dt><dd><code>{escape(value)}</code></dd>" for name, value in facts.items())
    none = f"Its values are in {escape(' and '.join(names))}." if is_flat else "No rows."
    shown = rows_html(rows) if rows else f"<p>{none}</p>"
    return (
        f"<p><b>{escape(table.name)}</b>: {manifest.rows:,} rows</p>\n{shown}\n"
        f"<details><summary>What proves it</summary><dl>{proof}</dl></details>"
    )
