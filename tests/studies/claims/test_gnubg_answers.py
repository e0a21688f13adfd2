"""Tests of claims that the installed gnubg answers: match equity tables and the start position."""

from collections.abc import Sequence
from pathlib import Path

import pytest

import bgdata
from bgdata.equity.kinds.match_equity import DATASET as MATCH_EQUITY
from bgdata.evaluation.player import open_named_player
from bgdata.kinds import all_kinds
from bgdata.selfplay.kinds.engine_labels import EngineParameters
from bgdata.selfplay.kinds.shared.rollouts import find_source
from bgdata.store.checks import connect_tables, only_row
from bgdata.store.table import Table
from bgdata.studies.claims.definitions import read_definitions
from bgdata.studies.claims.register import JudgedClaim, judge
from tests.oracles import needs_gnubg_tool
from tests.studies.claims.test_oracles import ORACLES

RCPPS_ERROR = 1.5 * 2**-12  # error of gnubg's approximate reciprocal, which differs between processors
INSTALLED = Path("/usr/share/gnubg/met")  # tables of Debian's gnubg-data
FILES = [INSTALLED / name for name in ("mec26.xml", "g11.xml", "Kazaross-XG2.xml", "woolsey.xml")]


def answers(name: str, tables: Sequence[Table]) -> list[JudgedClaim]:
    """The claims whose names begin with `name`, judged by these tables."""
    claims = [claim for claim in (*read_definitions(), *read_definitions(ORACLES)) if claim.claim.startswith(name)]
    named = {"/".join(table.folder.parts[-3:-1]): table for table in tables}
    with connect_tables(all_kinds(), tables) as connection:
        return list(judge(claims, named, lambda query: only_row(connection, query)))


@pytest.mark.skipif(not INSTALLED.is_dir(), reason=f"no {INSTALLED} (Debian package gnubg-data)")
def test_match_equity_differences_equal_published_ones(tmp_path: Path) -> None:
    """The installed gnubg's match equity tables differ from the published one by the published amounts."""
    warehouse = bgdata.open_warehouse(tmp_path / "warehouse")
    published = warehouse.build("match_equity", MATCH_EQUITY.default("published-12"))
    kind = warehouse.kinds["met_xml"]
    imported = warehouse.build("met_xml", kind.parameters_of(FILES, "gnubg"), files=FILES)  # type: ignore[attr-defined]
    judged_claims = answers("A8.against", [published, imported])
    assert [(judged.claim.published, judged.status) for judged in judged_claims] == [
        (published, "reproduced")
        for published in ("0.0051", "0.0016", "0.0126", "0.0059", "0.0104", "0.0055", "0.0204")
    ]
    largest, mostly = answers("A8.mec26-most", [published, imported])
    for judged in (*judged_claims, largest, mostly):
        assert judged.claim.recorded == (judged.answer,)
    assert (mostly.status, mostly.claim.kind) == ("reproduced", "statement")
    assert (largest.status, largest.claim.kind, largest.answer) == ("reproduced", "published", pytest.approx(0.50680))


@needs_gnubg_tool("gnubg")
def test_chances_of_the_start_position(tmp_path: Path) -> None:
    """gnubg's chances of the start position are close to the published ones; its networks are newer than in 2011."""
    warehouse = bgdata.open_warehouse(tmp_path / "warehouse")
    path = tmp_path / "start.csv"
    path.write_text("position_id\n4HPwATDgc/ABMA\n")
    kind = warehouse.kinds["positions"]
    warehouse.build("positions", kind.parameters_of([path], None), files=[path])  # type: ignore[attr-defined]
    place, recipe = find_source(warehouse, "positions/start")
    version = open_named_player("gnubg").version
    table = warehouse.build("engine_labels", EngineParameters(place, "gnubg", 0, version, source_recipe=recipe))
    judged_claims = [judged for judged in answers("A11.start-", [table]) if judged.claim.claim.endswith("-gnubg-0ply")]
    assert [judged.claim.published for judged in judged_claims] == ["51.9", "15.1", "13.6"]
    for judged in judged_claims:
        assert isinstance(judged.answer, float)
        assert abs(judged.answer - float(judged.claim.published)) < 1
        assert judged.claim.recorded == pytest.approx((judged.answer,), rel=RCPPS_ERROR)
        assert judged.claim.restates == judged.claim.claim.removesuffix("-gnubg-0ply")
