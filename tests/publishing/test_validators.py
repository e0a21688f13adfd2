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
        assert (issues.errors, issues.warnings) == (set(), set())
        assert "1.1" in str(dataset.metadata.ctx.conforms_to.value)
        table = next(each for each in read_contents(published).tables if each.config.startswith("selfplay_labels-"))
        found = Counter(record[f"{table.config}/in_split"].decode() for record in dataset.records(table.config))
        assert found == {split.name: split.rows for split in table.splits}
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.slow
def test_data_package_is_valid(published: Path) -> None:
    frictionless = pytest.importorskip("frictionless")
    report = frictionless.validate(str(published / "datapackage.json"))
    assert report.valid, report.flatten(["type", "note"])[:5]
    assert report.stats["warnings"] == 0
    assert report.stats["tasks"] == sum(len(table.files) for table in read_contents(published).tables)


def test_data_package_has_hashes(published: Path) -> None:
    package = json.loads((published / "datapackage.json").read_text())
    listed = dict(line.split("  ")[::-1] for line in (published / "SHA256SUMS").read_text().splitlines())
    for resource in package["resources"]:
        assert resource["sha256"] == listed[resource["path"]]
        names = [field["name"] for field in resource["schema"]["fields"]]
        assert names == pq.read_schema(published / resource["path"]).names


def test_lineage_has_an_event_for_each_version(published: Path) -> None:
    """openlineage.jsonl has an event for each published version, with the fields that version 2-0-2 of the
    specification requires."""
    events = [json.loads(line) for line in (published / "openlineage.jsonl").read_text().splitlines()]
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


def test_lineage_is_accepted_by_the_client_of_openlineage(published: Path) -> None:
    """The client of OpenLineage, whose classes refuse unknown and missing fields, reads every event and writes it again
    unchanged."""
    events = pytest.importorskip("openlineage.client.event_v2")
    facets = pytest.importorskip("openlineage.client.facet_v2")
    serde = pytest.importorskip("openlineage.client.serde").Serde
    classes = {
        "run processing_engine": facets.processing_engine_run.ProcessingEngineRunFacet,
        "job documentation": facets.documentation_job.DocumentationJobFacet,
        "documentation": facets.documentation_dataset.DocumentationDatasetFacet,
        "version": facets.dataset_version_dataset.DatasetVersionDatasetFacet,
        "schema": facets.schema_dataset.SchemaDatasetFacet,
        "outputStatistics": facets.output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet,
    }

    def parse_facets(given: dict[str, Any], prefix: str = "") -> dict[str, Any]:
        found = {}
        for name, values in given.items():
            own = {key: value for key, value in values.items() if not key.startswith("_")}
            if name == "schema":
                own["fields"] = [facets.schema_dataset.SchemaDatasetFacetFields(**each) for each in own["fields"]]
            found[name] = classes[prefix + name](**own, producer=values["_producer"])
        return found

    def parse(kind: Any, given: dict[str, Any], prefix: str = "") -> Any:
        return kind(**{
            name: parse_facets(value, prefix) if name.lower().endswith("facets") else value
            for name, value in given.items()
        })  # fmt: skip

    def read(given: dict[str, Any]) -> Any:
        return events.RunEvent(
            eventTime=given["eventTime"],
            eventType=events.RunState(given["eventType"]),
            producer=given["producer"],
            run=parse(events.Run, given["run"], "run "),
            job=parse(events.Job, given["job"], "job "),
            inputs=[parse(events.InputDataset, each) for each in given["inputs"]],
            outputs=[parse(events.OutputDataset, each) for each in given["outputs"]],
        )

    for line in (published / "openlineage.jsonl").read_text().splitlines():
        event = json.loads(line)
        again = serde.to_dict(read(event))
        assert all(each.pop("inputFacets") == {} for each in again["inputs"])
        for output in again["outputs"]:
            for column in output["facets"]["schema"]["fields"]:
                assert column.pop("fields") == [], "no column has columns of its own"
        assert again == event
    wrong: dict[str, Any] = {"eventTime": "yesterday", "run": {"runId": "1"}, "job": {"namespace": "bgdata"}}
    for place, value in wrong.items():
        with pytest.raises((ValueError, TypeError)):
            read({**event, place: value})
