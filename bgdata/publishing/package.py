"""datapackage.json: a Data Package of Frictionless (version 2), with a resource for each file of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bgdata.publishing.published_folder import PublishedFolder, TableDescription
from bgdata.store.manifest import canonical_json

PROFILE = "https://datapackage.org/profiles/2.0/datapackage.json"
_PATHS = {"CC0-1.0": "https://creativecommons.org/publicdomain/zero/1.0/"}


def data_package(published: PublishedFolder) -> bytes:
    """Return the content of datapackage.json, which describes a published folder."""
    found = {
        "$schema": PROFILE,
        "name": "bgdata-tables",
        "title": published.contents.title,
        "description": published.contents.about or published.contents.title,
        "created": f"{published.newest}T00:00:00Z",
        "licenses": [licence_entry(name) for name in published.licences],
        "resources": [resource for each in published.tables for resource in _resources(published.folder, each)],
    }
    return canonical_json(found, indent=2)


def licence_entry(name: str) -> dict[str, str]:
    """Return the entry of a licence in datapackage.json: its name and URL."""
    return {"name": name, "path": _PATHS.get(name, f"https://spdx.org/licenses/{name}.html")}


def _resources(folder: Path, each: TableDescription) -> Iterator[dict[str, Any]]:
    gaps = columns_with_gaps([folder / file.name for file in each.table.files])
    schema = {
        "fields": [
            {
                "name": column.name,
                "type": _type(each.schema.field(column.name).type, has_gaps=column.name in gaps),
                "description": column.comment,
            }
            for column in each.shape.columns
        ],
    }
    for split in each.table.splits:
        for file in split.files:
            name = file.name.removeprefix("data/").removesuffix(".parquet").replace("/", "-").lower()
            yield {
                "name": name,
                "path": file.name,
                "title": f"{each.table.config}, split {split.name}",
                "description": each.summary,
                "format": "parquet",
                "mediatype": "application/vnd.apache.parquet",
                "sha256": file.sha256,  # as `hash`, the validator would refuse Parquet, whose bytes it does not count
                "licenses": [licence_entry(each.version.licence)],
                "schema": schema,
            }


def columns_with_gaps(paths: Sequence[Path]) -> set[str]:
    """Return the columns of Parquet files in which at least one row has no value, by the statistics of the files."""
    found = set()
    for path in paths:
        metadata = pq.read_metadata(path)
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            for place in range(group.num_columns):
                column = group.column(place)
                if column.statistics is not None and column.statistics.null_count:
                    found.add(column.path_in_schema)
    return found


def _type(type_: pa.DataType, *, has_gaps: bool) -> str:
    """Return the Frictionless type of a column. An integer column with missing values is a number, because the
    validator reads it so."""
    if pa.types.is_list(type_) or pa.types.is_fixed_size_list(type_):
        return "any"  # the validator does not read lists of Parquet as `array`
    if pa.types.is_boolean(type_):
        return "boolean"
    if pa.types.is_integer(type_):
        return "number" if has_gaps else "integer"
    if pa.types.is_floating(type_):
        return "number"
    return "string"
