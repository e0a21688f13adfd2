"""Writes the card of a published folder: README.md, with the YAML that Hugging Face reads, from the declarations of
kinds."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from bgdata.publishing.contents import PublishedVersion
from bgdata.publishing.licences import LICENCES, OURS
from bgdata.publishing.published_folder import BOUNDS, PublishedFolder, TableDescription
from bgdata.store.dataset import Dataset, TableShape
from bgdata.store.manifest import Manifest
from bgdata.store.plan import readable_bytes
from bgdata.version import DISTRIBUTION, __version__

TAGS = ("backgammon", "board-games", "tablebase", "reinforcement-learning", "tabular", "croissant")
TASKS = ("tabular-regression", "reinforcement-learning")
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"),
          (10_000_000, "1M<n<10M"), (100_000_000, "10M<n<100M"), (1_000_000_000, "100M<n<1B"))  # fmt: skip


def card_text(published: PublishedFolder) -> str:
    """Return the text of README.md, the card of a published folder."""
    sections = (
        _front_matter, _heading, _list_of_tables, _use, _splits, _proof, _licences, _left_out, _kinds, _citation
    )  # fmt: skip
    return "\n".join(line for section in sections for line in section(published)) + "\n"


def _quote(text: str) -> str:
    """Quote a string as a YAML scalar, in the notation of JSON."""
    return json.dumps(text, ensure_ascii=False)


def _front_matter(published: PublishedFolder) -> Iterator[str]:
    rows = published.contents.rows
    size = next((name for most, name in _SIZES if rows < most), "n>1T")
    licences = [LICENCES[licence] for licence in published.licences]
    yield "---"
    yield "license: " + (licences[0] if len(licences) == 1 else "[" + ", ".join(licences) + "]")
    yield f"pretty_name: {_quote(published.contents.title)}"
    yield "language: [en]"
    yield f"size_categories: [{_quote(size)}]"
    yield "tags: [" + ", ".join(TAGS) + "]"
    yield "task_categories: [" + ", ".join(TASKS) + "]"
    yield "configs:"
    for each in published.contents.tables:
        yield f"- config_name: {_quote(each.config)}"
        yield "  data_files:"
        for split in each.splits:
            yield f"  - split: {split.name}"
            yield f"    path: {_quote(f'data/{each.config}/{split.name}-*.parquet')}"
    yield "---"
    yield ""


def _heading(published: PublishedFolder) -> Iterator[str]:
    yield f"# {published.contents.title}"
    yield ""
    if published.contents.about:
        yield published.contents.about
        yield ""
    yield (
        f"{len(published.tables)} tables with {published.contents.rows:,} rows about backgammon, made by "
        f"bgdata: each from a recipe that gives the same values on any machine, with a manifest that says how. "
        "Boards and chances are those of the player on roll, before the roll, unless a column says otherwise."
    )
    yield ""


def _list_of_tables(published: PublishedFolder) -> Iterator[str]:
    yield "## Tables"
    yield ""
    yield "| config | rows | size | licence |"
    yield "| - | - | - | - |"
    for each in published.tables:
        rows = ", ".join(f"{split.name} {split.rows:,}" for split in each.table.splits)
        size = readable_bytes(sum(file.bytes for file in each.table.files))
        yield f"| `{each.table.config}` | {rows} | {size} | {each.version.licence} |"
    yield ""


def _use(published: PublishedFolder) -> Iterator[str]:
    first = published.tables[0].table
    split = first.splits[0].name
    yield "## Use"
    yield ""
    yield "```python"
    yield "from datasets import load_dataset"
    yield ""
    yield f'rows = load_dataset("DIR", "{first.config}", split="{split}")  # DIR: this folder, or its name on a hub'
    yield "```"
    yield ""
    yield "```sql"
    yield f"from read_parquet('DIR/data/{first.config}/{split}-*.parquet');  -- in DuckDB, or any reader of Parquet"
    yield "```"
    yield ""


def _splits(_: PublishedFolder) -> Iterator[str]:
    yield "## Splits and leakage"
    yield ""
    yield (
        "Rows of games are split by game, eight tenths for training, one for validation and one for tests: all rows of "
        "a game are in one split, and labels of a game in the same as its turns. Rows without games are split by "
        "position. Tables that players are scored on are wholly in `test`. Other tables, such as exact ones, have "
        "all rows in `train`, which is the name that hubs give to rows without splits. Positions are split, not "
        "likenesses: the first positions of many games are equal, so leave positions of the test tables out of "
        "training, seen from either side."
    )
    yield ""


def _proof(published: PublishedFolder) -> Iterator[str]:
    arrays = sum(entry.name.endswith(".npy") for manifest in published.manifests.values() for entry in manifest.files)
    found = sum(len(version.recipes) for version in published.contents.versions)
    yield "## What is proven, and how to check it"
    yield ""
    yield "* `sha256sum -c SHA256SUMS` compares every file with its hash. It needs nothing else."
    yield (
        f"* `pip install {DISTRIBUTION}`, then `bgdata verify FOLDER`: row counts, schemas, splits without overlap, "
        f"and the digest of every version, recomputed from its arrays: {found:,} are found in the rows, and "
        f"{arrays - found:,} are packed as arrays.npz. Then the rows are made again from these arrays, and compared."
    )
    yield (
        "* `bgdata pull FOLDER` makes a warehouse of it, where `bgdata verify` runs every SQL check, and computes all "
        "rows or samples of them again from their recipes, if the versions that they are made from are there too."
    )
    yield (
        "* Not proven by that: values of other programs, which their authors answer for, and rollouts beyond their "
        "standard errors. Hashes show that a folder is whole, not who made it."
    )
    yield ""


def _licences(published: PublishedFolder) -> Iterator[str]:
    yield "## Licences"
    yield ""
    for licence in published.licences:
        names = [version.name for version in published.contents.versions if version.licence == licence]
        if licence == OURS:
            yield f"* {licence}: {len(names)} versions, made by bgdata. No rights reserved."
        else:
            yield f"* {licence}: {', '.join(names)}, made from other people's data, under their licence."
    yield ""


def _left_out(published: PublishedFolder) -> Iterator[str]:
    if not published.contents.left_out:
        return
    yield "## Left out"
    yield ""
    for name, reason in published.contents.left_out.items():
        yield f"* {name}: {reason}."
    yield ""


def _kinds(published: PublishedFolder) -> Iterator[str]:
    yield "## What the tables hold"
    yield ""
    for name, found in groupby(published.tables, key=lambda each: each.kind.name):
        yield from _kind(published, name, list(found))


def _kind(published: PublishedFolder, name: str, tables: Sequence[TableDescription]) -> Iterator[str]:
    kind = tables[0].kind
    yield f"### {name}"
    yield ""
    yield kind.summary
    yield ""
    yield f"*Made by*: {kind.source}. *Made again*: {kind.made_again}."
    yield ""
    checks = sorted({title for each in tables for title in _checks(published, each.shape)})
    computed = (
        "all rows"
        if 0 < max(each.manifest.rows for each in tables) <= kind.whole_rows
        else f"{kind.sample_rows:,} rows"
    )
    yield f"*Verified*: {'; '.join(checks) or 'no rule of its rows'}. `bgdata verify` computes {computed} again."
    yield ""
    for version in {each.version.name: each.version for each in tables}.values():
        yield from _version(published, version)
    for shape in {each.shape.name: each.shape for each in tables}.values():
        yield from _columns(kind, shape)


def _checks(published: PublishedFolder, shape: TableShape) -> Iterator[str]:
    """Yield the rules that hold in every row of a table: what its SQL checks state."""
    for title, _ in published.kinds.sql.checks(shape.name):
        yield title.replace("_", " ")


def _version(published: PublishedFolder, version: PublishedVersion) -> Iterator[str]:
    manifest = published.manifests[version.name]
    made = f"digest `{manifest.digest[:16]}`, made {manifest.created[:10]}"
    yield f"* **{manifest.variant}**, version {manifest.version}, {made}"
    given = ", ".join(f"{name} {_plain(value)}" for name, value in manifest.parameters.items())
    if given:
        yield f"  * parameters: {given}"
    bounds = {name: value for name, value in manifest.statistics.items() if any(word in name for word in BOUNDS)}
    if bounds:
        yield "  * accuracy: " + ", ".join(f"{name.replace('_', ' ')} {value:.3g}" for name, value in bounds.items())
    if manifest.inputs:
        yield "  * made from " + ", ".join(name.partition("@")[0] for name in manifest.inputs.values())
    for file in manifest.raw_files:
        yield f"  * imported from {file.name}" + (f", {file.address}" if file.address else "")
    for warning in manifest.warnings:
        yield f"  * note: {warning}"
    if command := _build_command(published, manifest):
        yield f"  * rebuild: `{command}`, recipe {manifest.recipe_key[:16]}"
    yield ""


def _build_command(published: PublishedFolder, manifest: Manifest) -> str:
    """Return the command that builds the version with this manifest; empty if the version is imported, or if a
    parameter is a list."""
    if published.kinds[manifest.dataset].takes_files:
        return ""
    settings = []
    for name, value in sorted(manifest.parameters.items()):
        if isinstance(value, list | dict) or value is None:
            return ""
        settings.append(f"--set {name}={shlex.quote(_plain(value)) if value != '' else ''}")
    return " ".join(["bgdata build", manifest.dataset, *settings])


def _plain(value: Any) -> str:
    return value if isinstance(value, str) and value else json.dumps(value)


def _columns(kind: Dataset[Any], shape: TableShape) -> Iterator[str]:
    yield f"`{shape.name}`: {shape.summary if shape.name != kind.name else ''} {shape.row}".replace("  ", " ")
    yield ""
    yield "| column | type | unit | meaning |"
    yield "| - | - | - | - |"
    for column in shape.columns:
        meaning = column.meaning.replace("|", "\\|")
        yield f"| `{column.name}` | {column.type} | {column.unit} | {meaning} |"
    yield ""


def _citation(published: PublishedFolder) -> Iterator[str]:
    year = published.newest[:4]
    yield "## Citation"
    yield ""
    yield "```bibtex"
    yield "@misc{bgdata,"
    yield "  author = {{the bgdata contributors}},"
    yield f"  title = {{{{{published.contents.title}}}}},"
    yield f"  year = {{{year}}},"
    yield f"  note = {{made by bgdata {__version__}}}"
    yield "}"
    yield "```"
