"""What a version was made from, up to the raw files, as a graph in SVG."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

from bgdata.errors import BgdataError
from bgdata.store.names import parse_input
from bgdata.store.table import Table
from bgdata.store.versions import Versions

WIDTH, HEIGHT, GAP_X, GAP_Y = 232, 56, 44, 14  # of a box, and between boxes
LINES = (17, 33, 48)  # where the lines of text stand in a box
MOST = 60  # boxes
LETTERS = 33  # of a line in a box


class Box(NamedTuple):
    """A version or a raw file: three lines of text, where it leads, and what it was made from."""

    lines: tuple[str, str, str]
    link: str
    kind: str  # version, missing or file
    inputs: tuple[str, ...]  # keys of other boxes


def lineage_svg(warehouse: Versions, table: Table) -> str:
    """The graph of a version: it stands at the right, what it was made from to its left. Raises ManifestFormatError for
    a damaged manifest of its own."""
    boxes: dict[str, Box] = {}
    first = add_version(warehouse, table, boxes)
    columns = columns_of(boxes, first)
    places = {
        key: (column * (WIDTH + GAP_X) + 2, row * (HEIGHT + GAP_Y) + 2)
        for column, keys in enumerate(columns)
        for row, key in enumerate(keys)
    }
    width = len(columns) * (WIDTH + GAP_X) - GAP_X + 4
    height = max(map(len, columns)) * (HEIGHT + GAP_Y) - GAP_Y + 4
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="lineage" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="group" aria-label="What {escape(table.name)} was made from">'
    ]
    for key, box in boxes.items():
        for other in box.inputs:
            if other in places:
                lines.append(edge(places[other], places[key]))
    lines += [drawn(box, *places[key]) for key, box in boxes.items()]
    return "\n".join([*lines, "</svg>"])


def add_version(warehouse: Versions, table: Table, boxes: dict[str, Box]) -> str:
    """Add a version, and all that it was made from; returns its key."""
    manifest = table.manifest
    key = f"{manifest.dataset}/{manifest.variant}@{manifest.digest}"
    if key in boxes or len(boxes) >= MOST:
        return key
    names = list(dict.fromkeys(manifest.inputs.values()))
    files = [(f"file {file.name} {file.sha256}", file) for file in manifest.raw_files[:8]]
    lines = (manifest.dataset, manifest.variant, f"{table.folder.name}, {manifest.rows:,} rows")
    boxes[key] = Box(lines, f"/table/{table.name}", "version", (*names, *(name for name, _ in files)))
    for name, file in files:
        boxes[name] = Box(("raw file", file.name, f"{file.bytes:,} bytes, {file.sha256[:12]}"), "", "file", ())
    for name in names:
        found = version_of(warehouse, name)
        if found is not None:
            add_version(warehouse, found, boxes)
        elif name not in boxes:
            dataset, variant, digest = parse_input(name)
            boxes[name] = Box((dataset, variant, f"{digest[:8]}, not here"), "", "missing", ())
    return key


def version_of(warehouse: Versions, name: str) -> Table | None:
    """The undamaged version that an input names, `kind/variant@digest`; None where it is not here."""
    dataset, variant, digest = parse_input(name)
    if dataset not in warehouse.kinds:
        return None
    for table in warehouse.versions(dataset, variant):
        try:
            if table.manifest.digest == digest:
                return table
        except BgdataError:
            continue
    return None


def columns_of(boxes: dict[str, Box], first: str) -> list[list[str]]:
    """Keys by column from the left: every box is left of all that was made from it."""
    depth = {first: 0}
    waiting = [first]
    while waiting:
        key = waiting.pop()
        for other in boxes[key].inputs:
            if other in boxes and depth.get(other, -1) < depth[key] + 1 <= MOST:
                depth[other] = depth[key] + 1
                waiting.append(other)
    most = max(depth.values())
    columns: list[list[str]] = [[] for _ in range(most + 1)]
    for key in boxes:
        columns[most - depth.get(key, 0)].append(key)
    return columns


def edge(start: tuple[int, int], end: tuple[int, int]) -> str:
    """A curve from the right of one box to the left of another."""
    (x, y), (end_x, end_y) = (start[0] + WIDTH, start[1] + HEIGHT // 2), (end[0], end[1] + HEIGHT // 2)
    middle = (x + end_x) // 2
    return f'<path class="edge" d="M{x} {y}C{middle} {y} {middle} {end_y} {end_x} {end_y}"/>'


def drawn(box: Box, x: int, y: int) -> str:
    """A box with its lines of text, as a link where it leads somewhere; the whole of them is said on hover."""
    texts = "".join(
        f'<text class="{name}" x="{x + 8}" y="{y + down}">{escape(shortened(text))}</text>'
        for name, down, text in zip(("name", "variant", "note"), LINES, box.lines, strict=True)
    )
    whole = f"<title>{escape(', '.join(box.lines))}</title>"
    text = f'{whole}<rect class="{box.kind}" x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="5"/>{texts}'
    return f'<a href="{escape(box.link, quote=True)}">{text}</a>' if box.link else f"<g>{text}</g>"


def shortened(text: str) -> str:
    """A line that fits into a box: the beginning and the end of a long one, which tell variants apart."""
    if len(text) <= LETTERS:
        return text
    return f"{text[: LETTERS // 2]}…{text[-(LETTERS - LETTERS // 2 - 1) :]}"
