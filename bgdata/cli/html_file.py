"""What HTML pages of commands share: one style, headings, and tables.

A page is one file that has no scripts and loads nothing; its colours follow the reader's choice of light or dark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1d2129; --soft: #5b6270; --rule: #d9dde5;
  --first: #6b7a99; --second: #1d7f8c; --mark: #b8382b; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14171c; --ink: #e6e8ec; --soft: #a0a7b4; --rule: #363c47;
    --first: #a9b5cc; --second: #4fc3d0; --mark: #ef7a6d; } }
body { background: var(--paper); color: var(--ink); font: 16px/1.5 sans-serif; max-width: 82rem; margin: 2rem auto;
  padding: 0 1rem; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 1rem; }
.chart { width: 100%; height: auto; stroke-linejoin: round; stroke-linecap: butt; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.15rem 0.8rem 0.15rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--rule); }
td.number, th.number { text-align: right; }
td { overflow-wrap: anywhere; } .soft { color: var(--soft); }
pre { overflow-x: auto; padding: 0.6rem; border: 1px solid var(--rule); }
""".strip()


def page_head(title: str) -> Iterator[str]:
    """The beginning of a page, up to its title."""
    yield "<!DOCTYPE html>"
    yield '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    yield f"<title>{escape(title)}</title>"
    yield f"<style>\n{STYLE}\n</style></head><body>"
    yield f"<h1>{escape(title)}</h1>"


def section(title: str, rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A heading with a table below it; the first row is its head."""
    yield f"<h2>{escape(title)}</h2>"
    yield from grid(list(rows))


def grid(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table whose first row is its heading; empty without further rows."""
    head, *others = rows
    yield '<div class="wide"><table>'
    if any(head):
        yield "<thead><tr>" + "".join(f'<th scope="col">{escape(text)}</th>' for text in head) + "</tr></thead>"
    yield "<tbody>"
    for row in others:
        first, *rest = row
        cells = (f"<td{' class=number' * is_number(text)}>{escape(text)}</td>" for text in rest)
        yield f'<tr><th scope="row">{escape(first)}</th>{"".join(cells)}</tr>'
    yield "</tbody></table></div>"


def is_number(text: str) -> bool:
    """Whether a cell is aligned to the right."""
    try:
        float(text.replace(",", ""))
    except ValueError:
        return False
    return True
