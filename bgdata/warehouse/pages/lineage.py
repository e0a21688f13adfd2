"""The graph of what a version was made from, as SVG."""

from __future__ import annotations

from contextlib import suppress
from html import escape
from typing import NamedTuple

from bgdata.errors import BgdataError
from bgdata.store.names import parse_input
from bgdata.store.table import Table
from bgdata.store.versions import Versions

WIDTH, HEIGHT, GAP_X, GAP_Y = 232, 56, 44, 14  # size of a box, gaps between boxes
LINES = (17, 33, 48)  # heights of the lines of text in a box
MAX_BOXES = 60  # maximum number of boxes of a graph
LETTERS = 33  # maximum number of letters of a line in a box


class Box(NamedTuple):
    """A box in the graph of a version's inputs, for a version or an imported file: three lines of text, the address of
    its page, and the boxes of its own inputs."""

    lines: tuple[str, str, str]
    link: str
    kind: str  # version, missing or file
    inputs: tuple[str, ...]  # keys of other boxes


def lineage_svg(warehouse: Versions, table: Table) -> str:
    """Draw what a version was made from, as an SVG graph: each box has its inputs to the left. Raises
    ManifestFormatError if the manifest of the version is damaged."""
    boxes: dict[str, Box] = {}
    first = _add_version(warehouse, table, boxes)
    depth, waiting = {first: 0}, [first]  # inputs are to the left of everything that was made from them
    while waiting:
        key = waiting.pop()
        for other in boxes[key].inputs:
            if other in boxes and depth.get(other, -1) < depth[key] + 1 <= MAX_BOXES:
                depth[other] = depth[key] + 1
                waiting.append(other)
    columns: list[list[str]] = [[] for _ in range(max(depth.values()) + 1)]
    for key in boxes:
        columns[len(columns) - 1 - depth.get(key, 0)].append(key)
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
        end_x, end_y = places[key][0], places[key][1] + HEIGHT // 2
        for x, y in (
            (places[other][0] + WIDTH, places[other][1] + HEIGHT // 2) for other in box.inputs if other in places
        ):
            middle = (x + end_x) // 2
            lines.append(f'<path class="edge" d="M{x} {y}C{middle} {y} {middle} {end_y} {end_x} {end_y}"/>')
    lines += [_box_svg(box, *places[key]) for key, box in boxes.items()]
    return "\n".join([*lines, "</svg>"])


def _add_version(warehouse: Versions, table: Table, boxes: dict[str, Box]) -> str:
    """Add the box of a version, and the boxes of all its direct and indirect inputs, to `boxes`; returns the key of the
    version's box."""
    manifest = table.manifest
    key = f"{manifest.dataset}/{manifest.variant}@{manifest.digest}"
    if key in boxes or len(boxes) >= MAX_BOXES:
        return key
    names = list(dict.fromkeys(manifest.inputs.values()))
    files = [(f"file {file.name} {file.sha256}", file) for file in manifest.raw_files[:8]]
    lines = (manifest.dataset, manifest.variant, f"{table.folder.name}, {manifest.rows:,} rows")
    boxes[key] = Box(lines, f"/table/{table.name}", "version", (*names, *(name for name, _ in files)))
    for name, file in files:
        boxes[name] = Box(("raw file", file.name, f"{file.bytes:,} bytes, {file.sha256[:12]}"), "", "file", ())
    for name in names:
        found = _version_of(warehouse, name)
        if found is not None:
            _add_version(warehouse, found, boxes)
        elif name not in boxes:
            dataset, variant, digest = parse_input(name)
            boxes[name] = Box((dataset, variant, f"{digest[:8]}, not here"), "", "missing", ())
    return key


def _version_of(warehouse: Versions, name: str) -> Table | None:
    """Find the undamaged version that `kind/variant@digest` names; None if there is none."""
    dataset, variant, digest = parse_input(name)
    if dataset not in warehouse.kinds:
        return None
    for table in warehouse.versions(dataset, variant):
        with suppress(BgdataError):
            if table.manifest.digest == digest:
                return table
    return None


def _box_svg(box: Box, x: int, y: int) -> str:
    """Draw a box at the pixel (x, y). It links to its page if it has one, and hovering shows its lines in full."""
    texts = ""
    for name, down, text in zip(("name", "variant", "note"), LINES, box.lines, strict=True):
        # the beginning and the end of a long text, which distinguish variants
        short = f"{text[: LETTERS // 2]}…{text[-(LETTERS - LETTERS // 2 - 1) :]}" if len(text) > LETTERS else text
        texts += f'<text class="{name}" x="{x + 8}" y="{y + down}">{escape(short)}</text>'
    whole = f"<title>{escape(', '.join(box.lines))}</title>"
    text = f'{whole}<rect class="{box.kind}" x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="5"/>{texts}'
    return f'<a href="{escape(box.link, quote=True)}">{text}</a>' if box.link else f"<g>{text}</g>"
