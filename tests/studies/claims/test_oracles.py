"""Tests of unpublished figures, which independent programs computed or which follow from definitions.

They have the form of claims, in `oracles/*.toml`. Tables, the register's formulas and `oracle_answers` must reproduce
them.
"""

import functools
from pathlib import Path

import pytest

import bgdata
from bgdata.kinds import all_kinds
from bgdata.store.checks import connect_tables, only_row
from bgdata.store.table import Table
from bgdata.studies.claims import register
from bgdata.studies.claims.definitions import Claim, read_definitions
from bgdata.studies.claims.register import judge
from bgdata.studies.kinds.claims import default_variant
from tests.kept import kept_folder
from tests.studies.claims import oracle_answers
from tests.subtests import each

pytestmark = pytest.mark.usefixtures("_more_answers")
ORACLES = Path(__file__).parent / "oracles"


@pytest.fixture
def _more_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(register, "FORMULAS", {**register.FORMULAS, **oracle_answers.FORMULAS})
    monkeypatch.setattr(register, "READINGS", {**register.READINGS, **oracle_answers.READINGS})


@functools.cache
def without_tables() -> dict[str, Claim]:
    """The figures that formulas and solvers answer without tables, by name."""
    return {
        claim.claim: claim
        for claim in read_definitions(ORACLES)
        if claim.query and not (claim.needs or claim.wants or claim.query.startswith("select "))
    }


@each("claim", without_tables)
def test_figures_without_tables_are_reproduced(claim: Claim) -> None:
    (judged,) = judge([claim], {}, lambda _: ())
    assert judged.status == "reproduced", judged


@pytest.mark.slow
def test_figures_from_tables_are_reproduced() -> None:
    """Every unpublished figure that needs tables is reproduced, from tables that are built for this."""
    claims = [claim for claim in read_definitions(ORACLES) if claim.needs and not claim.wants]
    needed = sorted({pattern for claim in claims for pattern in claim.needs})

    def fill(folder: Path) -> None:
        warehouse = bgdata.open_warehouse(folder)
        for pattern in needed:
            warehouse.build(*default_variant(pattern))

    tables: dict[str, Table] = {}
    warehouse = bgdata.open_warehouse(kept_folder("oracles", fill))
    for pattern in needed:
        kind, parameters = default_variant(pattern)
        table = warehouse.find(warehouse.kind(kind), parameters)
        assert table
        tables[pattern] = table
    with connect_tables(all_kinds(), tables.values()) as connection:
        judged_claims = list(judge(claims, tables, lambda query: only_row(connection, query)))
    assert len(judged_claims) > 80
    assert [(judged.claim.claim, judged.answer) for judged in judged_claims if judged.status != "reproduced"] == []
