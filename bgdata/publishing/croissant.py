"""croissant.json: the tables as record sets of Croissant 1.1, with their files, splits and columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from bgdata.publishing.package import licence_entry
from bgdata.publishing.published_folder import PublishedFolder, TableDescription
from bgdata.store.manifest import canonical_json
from bgdata.version import __version__

CONFORMS = "http://mlcommons.org/croissant/1.1"
PARQUET = "application/x-parquet"  # the name that mlcroissant reads
# the split in a path; mlcroissant applies it to the split again, which must stay unchanged
_SPLIT_OF_FILE = "^(?:data/[^/]+/)?([a-z0-9_]+)(?:-[0-9]+-of-[0-9]+[.]parquet)?$"
_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "description": {"@container": "@language"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "name": {"@container": "@language"},
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}


def croissant(published: PublishedFolder) -> bytes:
    """Return the content of croissant.json, which describes a published folder. The patterns of its file sets are
    relative to the file itself, so they name no container."""
    tables = published.tables
    found = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS,
        "name": published.contents.title,
        "description": published.contents.about or published.contents.title,
        "license": [licence_entry(name)["path"] for name in published.licences],
        "creator": {"@type": "sc:Organization", "name": "the bgdata contributors"},
        "datePublished": published.newest,
        "version": __version__,
        "citeAs": f"@misc{{bgdata, title={{{published.contents.title}}}, year={{{published.newest[:4]}}}}}",
        "distribution": [entry for each in tables for entry in _files(each)],
        "recordSet": [entry for each in tables for entry in _record_sets(each)],
    }
    return canonical_json(found, indent=2)


def _files(each: TableDescription) -> Iterator[dict[str, Any]]:
    """Yield the entries for the files of a table: one for each file with its hash, and one for the set of all files."""
    for file in each.table.files:
        yield {
            "@type": "cr:FileObject",
            "@id": file.name,
            "name": file.name,
            "contentUrl": file.name,
            "contentSize": f"{file.bytes} B",
            "encodingFormat": PARQUET,
            "sha256": file.sha256,
        }
    yield {
        "@type": "cr:FileSet",
        "@id": f"{each.table.config}-files",
        "name": f"{each.table.config}-files",
        "encodingFormat": PARQUET,
        "includes": f"data/{each.table.config}/*.parquet",
    }


def _record_sets(each: TableDescription) -> Iterator[dict[str, Any]]:
    """Yield the record sets of a table: one that lists its splits, and one for its rows."""
    config = each.table.config
    yield {
        "@type": "cr:RecordSet",
        "@id": f"{config}-splits",
        "name": f"{config}-splits",
        "description": f"The splits of {config}.",
        "dataType": "cr:Split",
        "key": {"@id": f"{config}-splits/name"},
        "field": [{"@type": "cr:Field", "@id": f"{config}-splits/name", "name": "name", "dataType": "sc:Text"}],
        "data": [{f"{config}-splits/name": split.name} for split in each.table.splits],
    }
    source = {"fileSet": {"@id": f"{config}-files"}}
    in_split = {
        "@type": "cr:Field",
        "@id": f"{config}/in_split",
        "name": "in_split",
        "description": "The split, from the name of the file.",
        "dataType": "sc:Text",
        "source": {
            **source,
            "extract": {"fileProperty": "fullpath"},
            "transform": {"regex": _SPLIT_OF_FILE},
        },
        "references": {"field": {"@id": f"{config}-splits/name"}},
    }
    columns = [
        {
            "@type": "cr:Field",
            "@id": f"{config}/{column.name}",
            "name": column.name,
            "description": column.comment,
            **_data_type(each.schema.field(column.name).type),
            "source": {**source, "extract": {"column": column.name}},
        }
        for column in each.shape.columns
    ]
    yield {
        "@type": "cr:RecordSet",
        "@id": config,
        "name": config,
        "description": each.summary,
        "key": [{"@id": f"{config}/{name}"} for name in each.shape.key],
        "field": [in_split, *columns],
    }


def _data_type(type_: pa.DataType) -> dict[str, Any]:
    """Return the Croissant type of a column; for lists, also the shape of the array."""
    if pa.types.is_list(type_) or pa.types.is_fixed_size_list(type_):
        size = type_.list_size if pa.types.is_fixed_size_list(type_) else -1
        return {**_data_type(type_.value_type), "isArray": True, "arrayShape": str(size)}
    if pa.types.is_boolean(type_):
        return {"dataType": "sc:Boolean"}
    if pa.types.is_integer(type_):
        return {"dataType": f"cr:{'U' * pa.types.is_unsigned_integer(type_)}Int{type_.bit_width}"}
    if pa.types.is_floating(type_):
        return {"dataType": f"cr:Float{type_.bit_width}"}
    return {"dataType": "sc:Text"}
