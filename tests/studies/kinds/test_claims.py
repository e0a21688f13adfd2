"""Tests of the kind `claims`: rows, inputs, sources and errors."""

from dataclasses import replace
from math import hypot, sqrt
from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.errors import CheckSkippedError, CorruptFileError, InvalidParameterError, QueryError
from bgdata.kinds import all_kinds
from bgdata.kinds.column_values import text_column
from bgdata.store.checks import connect_tables, only_row
from bgdata.store.dataset import Context
from bgdata.store.parameters import VersionRef
from bgdata.store.table import Table
from bgdata.studies.claims import register
from bgdata.studies.claims.definitions import KINDS, STATUSES, definitions_digest, parse_published, read_definitions
from bgdata.studies.kinds.claims import DATASET, ClaimsParameters, default_variant
from bgdata.studies.kinds.claims_compute import judged_claims
from bgdata.studies.kinds.cube_studies import DATASET as STUDIES
from bgdata.warehouse import Warehouse
from tests.contract.kinds import Corrupted
from tests.rechecking import check_sample


@pytest.fixture
def table(small_root: Path) -> Table:
    return bgdata.open_warehouse(small_root).open("claims", "a12")


def test_rows_have_all_fields(small_root: Path) -> None:
    """Rows have the fields of their claims' definitions."""
    claims = {claim.claim: claim for claim in read_definitions() if claim.part == "A12"}
    rows = {row["claim"]: row for row in bgdata.open_warehouse(small_root).rows("from claims")}
    assert set(rows) == set(claims)
    for name, claim in claims.items():
        row = rows[name]
        for field in ("part", "source", "published", "subject", "kind"):
            assert row[field] == getattr(claim, field)
        assert row["source_date"] == claim.date
        assert (row["restates"] or "") == claim.restates
        number = parse_published(claim.published)
        assert row["published_value"] == (number and number[0])


def test_row_of_a_corrected_claim(small_root: Path) -> None:
    (row,) = bgdata.open_warehouse(small_root).rows("from claims where claim = 'A12.total-luck'")
    assert row.pop("explanation").startswith("The printed luck of all rolls sums to 0.947")
    assert row == {
        "variant": "a12",
        "claim": "A12.total-luck",
        "part": "A12",
        "kind": "published",
        "restates": None,
        "document": "D. Zare, Hedging Toward Skill",
        "printed_table": None,
        "source": "D. Zare, Hedging Toward Skill",
        "source_date": "2000",
        "place": "Evaluations",
        "subject": "Total luck of Jellyfish, match equity",
        "published": "0.865",
        "published_value": 0.865,
        "published_error": None,
        "tolerance": pytest.approx(0.0005),
        "answer": "0.709",
        "our_value": 0.709,
        "our_error": None,
        "our_bound": None,
        "correction": "0.709",
        "status": "corrected",
        "is_erratum": True,
        "query": "select sum(evaluation - average) from published_luck",
    }


def test_statistics_count_claims(table: Table) -> None:
    counts = table.manifest.statistics
    assert counts["errata"] == counts["corrected"] == counts["published_corrected"] == 11
    assert counts["unreachable"] == 2
    assert counts["open"] == 0
    assert counts["published_twice_reproduced"] == 1
    assert sum(counts[status] for status in STATUSES) == table.manifest.rows
    assert sum(counts[f"{kind}_{status}"] for kind in KINDS for status in STATUSES) == table.manifest.rows


def test_luck_of_the_example_match(small_root: Path) -> None:
    """The sums of the published rolls answer the claims about the example match."""
    warehouse = bgdata.open_warehouse(small_root)
    rolls = warehouse.rows("from published_luck order by round")
    assert len(rolls) == 57
    assert sum(roll["printed_luck"] for roll in rolls) == pytest.approx(0.947)
    luck = [roll["evaluation"] - roll["average"] for roll in rolls]
    assert sum(luck) == pytest.approx(0.709)
    misprints = [roll for roll, value in zip(rolls, luck, strict=True) if abs(roll["printed_luck"] - value) > 1e-9]
    assert [(roll["round"], roll["program"]) for roll in misprints] == [(21, "snowie"), (23, "snowie")]
    subtracted = [roll for roll in rolls if roll["round"] == 22 and roll["program"] == "snowie"]  # instead of added
    as_added = sum(roll["printed_luck"] for roll in rolls) - 2 * sum(roll["printed_luck"] for roll in subtracted)
    assert as_added == pytest.approx(0.865)
    answers = warehouse.rows("from claims where claim like 'A12.total%'")
    assert {row["claim"]: row["our_value"] for row in answers} == {
        "A12.total-luck": 0.709,
        "A12.total-luck-as-added": 0.865,
    }


def test_inputs_follow_from_the_parts() -> None:
    assert [name for name, _ in DATASET.inputs(DATASET.smallest).values()] == ["published_luck"]
    kinds = {name for name, _ in DATASET.inputs(ClaimsParameters(("A3", "A8", "A13"))).values()}
    assert kinds == {"bearoff_error", "bearoff_gammon", "bearoff_one_sided", "match_equity"}


def test_complete_adds_versions_that_claims_can_use(warehouse: Warehouse) -> None:
    completed = DATASET.complete(ClaimsParameters(("A8",)), warehouse)
    (mets,) = warehouse.versions("met_xml")
    assert completed.sources == (VersionRef.parse(mets.name),)
    assert DATASET.complete(completed, warehouse) == completed
    assert DATASET.slug(completed).startswith("a8-with-")
    DATASET.check_parameters(completed)
    assert DATASET.complete(DATASET.smallest, warehouse) == DATASET.smallest


@pytest.fixture
def study(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> Table:
    """A study in the warehouse that is no default one."""
    monkeypatch.setattr(STUDIES, "defaults", ())
    return warehouse.build(STUDIES.name, replace(STUDIES.smallest, study="first-index"))


def test_studies_of_the_warehouse_are_sources(warehouse: Warehouse, study: Table) -> None:
    assert len(list(warehouse.versions(STUDIES.name))) == 2
    parameters = DATASET.complete(ClaimsParameters(("A6",)), warehouse)
    assert parameters.sources == (VersionRef.parse(study.name),)
    assert DATASET.inputs(parameters) == {}


@pytest.mark.parametrize(("setting", "index"), list(enumerate(["0", "0.25", "0.50", "0.75", "1"])))
def test_large_studies_answer_claims(
    warehouse: Warehouse, study: Table, monkeypatch: pytest.MonkeyPatch, setting: int, index: str
) -> None:
    monkeypatch.setattr(register, "COARSEST", 1e6)  # four games are enough
    parameters = DATASET.complete(ClaimsParameters(("A6",)), warehouse)
    name = f"A6.against-0.7-win-index-{index}"
    claims = [claim for claim in parameters.chosen() if claim.claim == name]
    (judged,) = judged_claims(Context(parameters, {}, warehouse), claims)
    measures = text_column(study.arrays(), "measures").to_pylist()
    row = [row for row, measure in enumerate(measures) if measure == "win_share"][setting]
    percent, error = (100 * study.array(array)[row] for array in ("figures", "errors"))
    assert judged.answer == pytest.approx(percent)
    assert judged.error == pytest.approx(error)
    assert judged.published_error == pytest.approx(error * sqrt(4 / 100_000))  # of 4 games, and of 100,000
    assert judged.tolerance == pytest.approx(0.05 + 3 * hypot(error, judged.published_error))
    is_near = abs(percent - float(judged.claim.published)) <= judged.tolerance
    assert judged.status == ("reproduced" if is_near else "disagrees")


@pytest.mark.usefixtures("study")
def test_claims_stay_open_after_too_few_games(warehouse: Warehouse) -> None:
    parameters = DATASET.complete(ClaimsParameters(("A6",)), warehouse)
    claims = [claim for claim in parameters.chosen() if claim.claim == "A6.against-0.7-win-index-1"]
    (judged,) = judged_claims(Context(parameters, {}, warehouse), claims)
    assert judged.answer is None
    assert judged.status == "open"
    expected = "; 4 games of ours are too few beside what was published; to decide it: the same games by"
    assert expected in judged.explanation


def test_default_variants_that_claims_can_use_are_inputs(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    default_study = replace(STUDIES.smallest, study="first-index")
    monkeypatch.setattr(STUDIES, "defaults", (default_study, replace(STUDIES.smallest, study="jump")))
    assert list(DATASET.inputs(ClaimsParameters(("A6",))).values()) == [("cube_studies", default_study)]
    assert DATASET.complete(ClaimsParameters(("A6",)), warehouse).sources == ()


def test_versions_of_unknown_recipes_are_not_sources(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(STUDIES, "defaults", ())
    monkeypatch.setattr(STUDIES, "parameters", ClaimsParameters)
    assert DATASET.complete(ClaimsParameters(("A6",)), warehouse).sources == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parts": "A14"}, "expected parts among A1 A2 .* A13, in order, got 'A14'"),
        ({"parts": "A12 A8"}, "expected parts among .*, in order, got 'A12 A8'"),
        ({"definitions": "0123456789ab"}, r"expected the definitions that are here \(.*\), got 0123456789ab"),
        ({"sources": "scores/pubeval/r1-0123abcd"}, "expected sources KIND/VARIANT/VERSION of nothing, got 'scores/"),
        (
            {"parts": "A8", "sources": "met_xml/a"},
            r"expected sources KIND/VARIANT/VERSION of met_xml/\*, got 'met_xml/a'",
        ),
        (
            {"parts": "A8", "sources": "met_xml/b/r1-0123abcd met_xml/a/r1-0123abcd"},
            "expected sources in order, each once",
        ),
    ],
)
def test_invalid_parameters_are_refused(change: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        DATASET.check_parameters(DATASET.smallest.with_texts(change))


def test_needs_without_a_default_variant_are_refused() -> None:
    for pattern in ("bearoff_error/7x7", "bearoff_error/*x*x*", "bearoff_two_sided/*", "colours/red", "scores/*"):
        with pytest.raises(CorruptFileError, match="expected needs of claims that are one default variant each, got"):
            default_variant(pattern)


def test_digest_depends_on_the_definitions(tmp_path: Path) -> None:
    (tmp_path / "A1.toml").write_text("[[group]]\n")
    assert definitions_digest(tmp_path) != definitions_digest() == DATASET.smallest.definitions


def test_versions_of_other_definitions_skip_the_check(table: Table) -> None:
    """`verify` skips a version with older definitions, because these are no longer available."""
    corrupted = Corrupted(table, "our_values", table.array("our_values") + 1)
    corrupted.__dict__["manifest"] = replace(
        table.manifest, parameters={**table.manifest.parameters, "definitions": "0123456789ab"}
    )
    with pytest.raises(CheckSkippedError, match="the definitions of the claims are others by now"):
        check_sample(DATASET, corrupted, {}, 1000, np.random.default_rng(1))


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("select colour from claims", "expected a query that can be run, got 'select colour from claims': "),
        ("select claim from claims", "expected a query with one row of values, got"),
        ("select null", "expected a query with one row of values, got"),
        ("select claim, null from claims limit 1", "expected a query with one row of values, got"),
        ("select claim from claims where false", "expected a query with one row of values, got no row"),
    ],
)
def test_queries_without_one_row_are_refused(table: Table, query: str, message: str) -> None:
    with connect_tables(all_kinds(), [table]) as connection:
        row = only_row(connection, "select count(*), max(part) from claims where variant = 'a12'")
        assert row == (table.manifest.rows, "A12")
        with pytest.raises(QueryError, match=message):
            only_row(connection, query)
