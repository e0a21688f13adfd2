"""Descriptions of a published folder, by the validators of their standards: no error, and no warning."""

from __future__ import annotations

import json
import logging
import uuid
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from bgdata.publishing.contents import read_contents


@pytest.mark.slow
def test_croissant_is_valid_and_gives_the_rows(published: Path, caplog: pytest.LogCaptureFixture) -> None:
    croissant = pytest.importorskip("mlcroissant")
    with caplog.at_level(logging.WARNING):
        dataset = croissant.Dataset(jsonld=str(published / "croissant.json"))
        issues = dataset.metadata.ctx.issues
        assert issues.errors == set()
        assert issues.warnings == set()
        assert "1.1" in str(dataset.metadata.ctx.conforms_to.value)
        tables = {table.config.partition("-")[0]: table for table in read_contents(published).tables}
        labels = tables["selfplay_labels"]
        rows = Counter(record[f"{labels.config}/in_split"].decode() for record in dataset.records(labels.config))
        assert rows == {split.name: split.rows for split in labels.splits}
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.slow
def test_data_package_is_valid(published: Path) -> None:
    """With the first rows of each file; a file has one type for each column."""
    frictionless = pytest.importorskip("frictionless")
    report = frictionless.validate(str(published / "datapackage.json"), limit_rows=5000)
    assert report.valid, report.flatten(["type", "note"])[:5]
    assert {text for task in report.tasks for text in task.warnings} <= {"reached row limit: 5000"}
    assert report.stats["tasks"] == sum(len(table.files) for table in read_contents(published).tables)


def test_data_package_has_hashes(published: Path) -> None:
    package = json.loads((published / "datapackage.json").read_text())
    checksums = (published / "SHA256SUMS").read_text()
    for resource in package["resources"]:
        assert f"{resource['sha256']}  {resource['path']}\n" in checksums
        names = [field["name"] for field in resource["schema"]["fields"]]
        assert names == pq.read_schema(published / resource["path"]).names


def lineage_events(folder: Path) -> list[dict[str, Any]]:
    """The events in openlineage.jsonl."""
    return [json.loads(line) for line in (folder / "openlineage.jsonl").read_text().splitlines()]


def test_lineage_has_an_event_for_each_version(published: Path) -> None:
    """With the fields that version 2-0-2 of the specification requires."""
    events = lineage_events(published)
    assert len(events) == len(read_contents(published).versions)
    for event in events:
        assert event["eventType"] == "COMPLETE"
        assert datetime.fromisoformat(event["eventTime"]).tzinfo is not None
        assert event["schemaURL"].startswith("https://openlineage.io/spec/2-0-2/")
        assert uuid.UUID(event["run"]["runId"])
        assert event["producer"].startswith("https://")
        for facet in (*event["run"]["facets"].values(), *event["job"]["facets"].values()):
            assert set(facet) >= {"_producer", "_schemaURL"}
        for output in event["outputs"]:
            assert output["namespace"] == event["job"]["namespace"] == "bgdata"
            assert output["facets"]["schema"]["fields"]
    assert len({event["run"]["runId"] for event in events}) == len(events)
    labels = next(event for event in events if event["job"]["name"].startswith("selfplay_labels/"))
    assert any(name["name"].startswith("selfplay/") for name in labels["inputs"])


def parse_with_openlineage(event: dict[str, Any]) -> Any:
    """An event as objects of the client of OpenLineage, whose classes refuse unknown and missing fields."""
    events = pytest.importorskip("openlineage.client.event_v2")
    facets = pytest.importorskip("openlineage.client.facet_v2")
    facet_classes = {
        "run processing_engine": facets.processing_engine_run.ProcessingEngineRunFacet,
        "job documentation": facets.documentation_job.DocumentationJobFacet,
        "documentation": facets.documentation_dataset.DocumentationDatasetFacet,
        "version": facets.dataset_version_dataset.DatasetVersionDatasetFacet,
        "schema": facets.schema_dataset.SchemaDatasetFacet,
        "outputStatistics": facets.output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet,
    }

    def parse_facets(facets_by_name: dict[str, Any], prefix: str) -> dict[str, Any]:
        parsed = {}
        for name, facet in facets_by_name.items():
            fields = {key: value for key, value in facet.items() if not key.startswith("_")}
            if name == "schema":
                column_class = facets.schema_dataset.SchemaDatasetFacetFields
                fields["fields"] = [column_class(**column) for column in fields["fields"]]
            parsed[name] = facet_classes[prefix + name](**fields, producer=facet["_producer"])
        return parsed

    def parse(event_class: Any, fields: dict[str, Any], prefix: str = "") -> Any:
        parsed = dict(fields)
        for name, value in fields.items():
            if name.lower().endswith("facets"):
                parsed[name] = parse_facets(value, prefix)
        return event_class(**parsed)

    return events.RunEvent(
        eventTime=event["eventTime"],
        eventType=events.RunState(event["eventType"]),
        producer=event["producer"],
        run=parse(events.Run, event["run"], "run "),
        job=parse(events.Job, event["job"], "job "),
        inputs=[parse(events.InputDataset, dataset) for dataset in event["inputs"]],
        outputs=[parse(events.OutputDataset, dataset) for dataset in event["outputs"]],
    )


def test_lineage_round_trips_through_the_client_of_openlineage(published: Path) -> None:
    serde = pytest.importorskip("openlineage.client.serde").Serde
    for event in lineage_events(published):
        written = serde.to_dict(parse_with_openlineage(event))
        for dataset in written["inputs"]:
            assert dataset.pop("inputFacets") == {}
        for dataset in written["outputs"]:
            for column in dataset["facets"]["schema"]["fields"]:
                assert column.pop("fields") == [], "no column has columns of its own"
        assert written == event


@pytest.mark.parametrize(
    "change", [{"eventTime": "yesterday"}, {"run": {"runId": "1"}}, {"job": {"namespace": "bgdata"}}]
)
def test_client_of_openlineage_refuses_invalid_events(published: Path, change: dict[str, Any]) -> None:
    """So that its acceptance proves something."""
    event, *_ = lineage_events(published)
    with pytest.raises((ValueError, TypeError)):
        parse_with_openlineage({**event, **change})
