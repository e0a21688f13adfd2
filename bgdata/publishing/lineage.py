"""Lineage as run events of OpenLineage (2-0-2): one for each version, from its manifest, in NDJSON."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

from bgdata.publishing.contents import PublishedVersion
from bgdata.publishing.published_folder import PublishedFolder
from bgdata.store.manifest import Manifest, canonical_json
from bgdata.version import DISTRIBUTION, __version__

SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
_FACETS = "https://openlineage.io/spec/facets"
NAMESPACE = "bgdata"
_RUNS = uuid.uuid5(uuid.NAMESPACE_URL, "https://openlineage.io/bgdata")  # namespace of run identifiers


def lineage_events(published: PublishedFolder) -> bytes:
    """Return the content of openlineage.jsonl. For each version it has an event that says how the version was made,
    from which inputs, and which tables it has."""
    return b"".join(
        canonical_json(_event(published, version, published.manifests[version.name]))
        for version in published.contents.versions
    )


def _event(published: PublishedFolder, version: PublishedVersion, manifest: Manifest) -> dict[str, Any]:
    kind = published.kinds[manifest.dataset]
    title = f"{manifest.dataset}/{manifest.variant}"
    return {
        "eventType": "COMPLETE",
        "eventTime": manifest.created,
        "producer": _producer(manifest),
        "schemaURL": SCHEMA,
        "run": {
            "runId": str(uuid.uuid5(_RUNS, f"{title} {manifest.recipe_key} {manifest.digest} {manifest.created}")),
            "facets": {
                "processing_engine": _facet(
                    manifest,
                    "1-1-1/ProcessingEngineRunFacet.json#/$defs/ProcessingEngineRunFacet",
                    name="bgdata",
                    version=manifest.software.get("bgdata", __version__),
                ),
            },
        },
        "job": {
            "namespace": NAMESPACE,
            "name": title,
            "facets": {
                "documentation": _facet(
                    manifest,
                    "1-1-0/DocumentationJobFacet.json#/$defs/DocumentationJobFacet",
                    description=f"{kind.summary} Made by: {kind.source}.",
                ),
            },
        },
        "inputs": [_input(manifest, role, name) for role, name in manifest.inputs.items()],
        "outputs": list(_outputs(published, version, manifest)),
    }


def _producer(manifest: Manifest) -> str:
    """Return the software that made a version, as a URL, as OpenLineage requires."""
    return f"https://pypi.org/project/{DISTRIBUTION}/{manifest.software.get('bgdata', __version__)}"


def _facet(manifest: Manifest, schema: str, **values: Any) -> dict[str, Any]:
    return {"_producer": _producer(manifest), "_schemaURL": f"{_FACETS}/{schema}", **values}


def _version_facet(manifest: Manifest, digest: str) -> dict[str, Any]:
    schema = "1-0-1/DatasetVersionDatasetFacet.json#/$defs/DatasetVersionDatasetFacet"
    return _facet(manifest, schema, datasetVersion=digest)


def _input(manifest: Manifest, role: str, name: str) -> dict[str, Any]:
    title, _, digest = name.partition("@")
    documentation = _facet(
        manifest, "1-1-0/DocumentationDatasetFacet.json#/$defs/DocumentationDatasetFacet", description=f"its {role}"
    )
    facets = {"version": _version_facet(manifest, digest), "documentation": documentation}
    return {"namespace": NAMESPACE, "name": title, "facets": facets}


def _outputs(published: PublishedFolder, version: PublishedVersion, manifest: Manifest) -> Iterator[dict[str, Any]]:
    for each in published.tables:
        if each.version is not version:
            continue
        fields = [
            {"name": column.name, "type": column.type, "description": column.comment} for column in each.shape.columns
        ]
        yield {
            "namespace": NAMESPACE,
            "name": f"{manifest.dataset}/{manifest.variant}"
            + (f"/{each.shape.name}" if each.shape.name != manifest.dataset else ""),
            "facets": {
                "version": _version_facet(manifest, manifest.digest),
                "schema": _facet(manifest, "1-2-0/SchemaDatasetFacet.json#/$defs/SchemaDatasetFacet", fields=fields),
            },
            "outputFacets": {
                "outputStatistics": _facet(
                    manifest,
                    "1-0-2/OutputStatisticsOutputDatasetFacet.json#/$defs/OutputStatisticsOutputDatasetFacet",
                    rowCount=each.table.rows,
                    size=sum(file.bytes for file in each.table.files),
                    fileCount=len(each.table.files),
                ),
            },
        }
