"""Versions of match bearoff tables: exact at any score, with any match equity table; corruption is detected."""

from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import bgdata
from bgdata.bearoff.kinds import bearoff_two_sided
from bgdata.bearoff.kinds.bearoff_match import DATASET, MatchBearoffParameters
from bgdata.bearoff.kinds.bearoff_match_compute import error_bound, match_cube
from bgdata.bearoff.match_table import MatchTable, match_columns
from bgdata.equity.kinds.match_equity import DATASET as MATCH_EQUITY
from bgdata.equity.kinds.met_xml import DATASET as MET_XML
from bgdata.errors import CheckFailedError, InvalidParameterError, MissingTableError
from bgdata.game.match import Cube, CubeOwner, Stakes
from bgdata.store.checks import select_columns
from bgdata.store.parameters import Given, VersionRef
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse
from tests.conftest import sample_files
from tests.contract.kinds import Corrupted
from tests.rechecking import check_sample, inputs_of
from tests.reference.bearoff import layouts
from tests.reference.match_bearoff import MatchGame
from tests.subtests import each

PUBLISHED = "published-12"
SMALL = MatchBearoffParameters(2, 2, met=PUBLISHED)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """An empty warehouse for match bearoff tables."""
    return bgdata.open_warehouse(tmp_path_factory.mktemp("match") / "warehouse")


@pytest.fixture
def smallest(built: Warehouse) -> Table:
    """The smallest table."""
    return built.build(DATASET.name, DATASET.smallest)


def game_of(built: Warehouse, parameters: MatchBearoffParameters) -> MatchGame:
    """The slow reference with the same match equity table."""
    met = match_cube(parameters, inputs_of(built, DATASET, parameters)).mwc_of_score
    return MatchGame(lambda score: Fraction(met(score)))


CASES: list[dict[str, Any]] = [
    {"away": 4, "opponent_away": 4},
    {"away": 3, "opponent_away": 5},
    {"away": 5, "opponent_away": 3, "cube_value": 2},
    {"away": 1, "opponent_away": 4, "is_crawford": True},
    {"away": 1, "opponent_away": 4},
    {"away": 4, "opponent_away": 1},
    {"away": 1, "opponent_away": 1},
    {"away": 2, "opponent_away": 7, "cube_value": 4},
    {"away": 3, "opponent_away": 2, "cube_value": 64},
]


@pytest.mark.parametrize("changes", CASES, ids=str)
def test_rows_are_exact(built: Warehouse, changes: dict[str, Any]) -> None:
    """Every row of a table equals rational arithmetic, at many scores and cubes."""
    parameters = SMALL.with_changes(changes)
    reader = MatchTable(built.build(DATASET.name, parameters))
    game = game_of(built, parameters)
    score, cube_value = parameters.score(), parameters.cube_value
    owners = (CubeOwner.CENTERED,) if cube_value == 1 else (CubeOwner.ON_ROLL, CubeOwner.OPPONENT)
    bound = error_bound(2, 2)
    for on_roll, opponent, owner in product(layouts(2, 2)[1:], layouts(2, 2)[1:], owners):
        stakes = Stakes(score, Cube(cube_value, owner))
        decision = reader.probe_layouts(on_roll, opponent, owner)
        assert abs(decision.no_double - float(game.no_double(on_roll, opponent, stakes))) <= bound
        assert abs(decision.mwc - float(game.decided(on_roll, opponent, stakes))) <= bound
        assert abs(decision.cubeless - float(game.cubeless(on_roll, opponent, score, cube_value))) <= bound
        assert (decision.double_take is not None) == stakes.may_double
        if decision.double_take is not None:
            assert abs(decision.double_take - float(game.double_take(on_roll, opponent, stakes))) <= bound
            assert decision.double_pass == float(game.after(score, cube_value))


@pytest.mark.parametrize("changes", CASES[:4], ids=str)
def test_rows_match_the_array(built: Warehouse, changes: dict[str, Any]) -> None:
    """The columns in SQL are those of the stored array, in the same order of pairs."""
    parameters = SMALL.with_changes(changes)
    table = built.build(DATASET.name, parameters)
    with duckdb.connect() as connection:
        columns = select_columns(DATASET, parameters, DATASET.tables[0])
        result = connection.sql(f"select {columns} from '{table.parquet}'")
        assert result.columns == ["variant", *(column.name for column in DATASET.columns)]
        rows = [dict(zip(result.columns, row, strict=True)) for row in result.fetchall()]
    stored_columns = match_columns(parameters.score(), parameters.cube_value)
    mwc = table.array("mwc")
    assert len(rows) == len(mwc) ** 2 == table.manifest.rows
    for (on_roll, opponent), row in zip(product(range(len(mwc)), repeat=2), rows, strict=True):
        stored = dict(zip(stored_columns, mwc[on_roll, opponent].tolist(), strict=True))
        if parameters.is_crawford:
            stored["centered"] = stored["cubeless"]
        for name in ("cubeless", "owned", "centered", "opponent_owned", "taken"):
            assert row[f"{name}_mwc"] == pytest.approx(stored.get(name), abs=1e-7)
        expected = {
            "on_roll_index": on_roll, "opponent_index": opponent, "away": parameters.away,
            "opponent_away": parameters.opponent_away, "is_crawford": bool(parameters.is_crawford),
            "cube_value": parameters.cube_value, "met": PUBLISHED,
        }  # fmt: skip
        assert {name: row[name] for name in expected} == expected


@pytest.mark.slow
def test_large_tables_are_rounded_once(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large table stores 16-bit codes, each the nearest to the value in double precision."""
    exact = bgdata.open_warehouse(memory_path / "exact").build(DATASET.name, DATASET.smallest)
    monkeypatch.setattr(bearoff_two_sided, "UNROUNDED_PAIRS", 0)
    warehouse = bgdata.open_warehouse(memory_path / "rounded")
    rounded = warehouse.build(DATASET.name, DATASET.smallest)
    assert rounded.array("mwc").dtype == np.uint16
    assert (rounded.array("mwc") == np.rint(exact.array("mwc").astype(np.float64) * 65535)).all()
    bound = rounded.manifest.statistics["mwc_error_bound"]
    assert bound == error_bound(3, 3) == pytest.approx(0.5 / 65535)
    exact_mwc, rounded_mwc = (MatchTable(table).probe_many([5, 7], [8, 0]) for table in (exact, rounded))
    assert 0 < np.abs(exact_mwc - rounded_mwc).max() <= bound + 1e-7
    with warehouse.connect() as connection:
        (row,) = connection.sql(
            "select cubeless_mwc, centered_mwc, taken_mwc from bearoff_match "
            "where on_roll_index = 5 and opponent_index = 8"
        ).fetchall()
    assert row == pytest.approx(rounded_mwc[0].tolist(), abs=1e-7)
    check_sample(DATASET, rounded, inputs_of(warehouse, DATASET, DATASET.smallest), 1, np.random.default_rng(0))


def test_estimate_and_manifest_match_the_table(smallest: Table) -> None:
    estimate = DATASET.estimate(DATASET.smallest)
    manifest = smallest.manifest
    assert estimate.rows == manifest.rows == 400
    actual = sum(entry.bytes for entry in manifest.files)
    assert estimate.disk_bytes / 4 <= actual <= estimate.disk_bytes + 8000  # the footer describes 14 columns
    assert manifest.statistics["mwc_error_bound"] < 1e-7
    assert list(manifest.inputs) == ["met"]
    assert manifest.inputs["met"].startswith(f"match_equity/{DATASET.smallest.met}@")


@pytest.mark.parametrize(("name", "cell"), [("mwc", (3, 4, 1)), ("mwc", (0, 7, 0)), ("results", (1, 1))])
@pytest.mark.parametrize("change", [1e-6, np.nan])
def test_corrupted_value_is_detected(
    built: Warehouse, smallest: Table, name: str, cell: tuple[int, ...], change: float
) -> None:
    values = np.array(smallest.array(name))
    values[cell] += change
    corrupted = Corrupted(smallest, name, values)
    inputs = inputs_of(built, DATASET, DATASET.smallest)
    with pytest.raises(CheckFailedError, match=rf"expected {name} .* at \[.*\] in {smallest.name}, found "):
        check_sample(DATASET, corrupted, inputs, 1, np.random.default_rng(0))


INVALID_PARAMETERS: list[tuple[dict[str, Any], str]] = [
    ({"points": 0}, "expected 1 to 18 points and 1 to 14 checkers, got 0 points and 2 checkers"),
    ({"checkers": 15}, "expected 1 to 18 points and 1 to 14 checkers, got 2 points and 15 checkers"),
    ({"away": 0}, "expected 1 to 64 points to go, got 0-away 5-away"),
    ({"opponent_away": 65}, "expected 1 to 64 points to go, got 5-away 65-away"),
    ({"is_crawford": True}, "expected one side at 1-away in the crawford game, got 5-away 5-away crawford"),
    ({"is_crawford": True, "away": 1, "cube_value": 2}, "expected a cube of 1 in the crawford game, got 2"),
    ({"cube_value": 0}, "expected a cube value of 1 to 128, got 0"),
    ({"cube_value": 3}, "expected a power of two as cube value, got 3"),
    ({"cube_value": 256}, "expected a cube value of 1 to 128, got 256"),
    ({"met": "Woolsey's"}, 'expected the name of a match equity table, got "Woolsey\'s"'),
    ({"met": "nobody"}, "expected a default variant of match_equity, or parameters beside it, got nobody"),
    (
        {"met_source": VersionRef("bearoff_error", "3x3")},
        "expected a table of match equities, such as match_equity/NAME, got bear",
    ),
    ({"met_recipe": Given((("colour", 1),))}, "expected the parameters network, network_version,"),
]


@each(("changes", "message"), INVALID_PARAMETERS)
def test_invalid_parameters_are_refused(built: Warehouse, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        built.build(DATASET.name, SMALL.with_changes(changes))
    assert str(caught.value).startswith(message)


def test_score_beyond_the_match_equity_table_is_refused(built: Warehouse) -> None:
    with pytest.raises(ValueError, match="expected at most 12 points to go, as published-12 has, got 20-away 5-away"):
        built.build(DATASET.name, SMALL.with_changes({"away": 20}))


def test_match_equity_table_is_found_by_name(memory_path: Path) -> None:
    """A name finds the match equity table, also of a variant that is not a default."""
    warehouse = bgdata.open_warehouse(memory_path / "warehouse")
    met_parameters = MATCH_EQUITY.defaults[-1].with_changes({"length": 7, "cube_life_index": 0.7})
    name = warehouse.build(MATCH_EQUITY.name, met_parameters).manifest.variant
    parameters = DATASET.complete(SMALL.with_changes({"met": name}), warehouse)
    assert parameters.met_source == VersionRef("match_equity", name)
    assert ("length", 7) in parameters.met_recipe.values
    manifest = warehouse.build(DATASET.name, parameters).manifest
    assert manifest.variant == f"2x2-away-5-5-cube-1-{name}"
    assert warehouse.find_inputs(DATASET, DATASET.parameters.from_manifest(manifest.parameters))
    with pytest.raises(MissingTableError, match=f"expected a match equity table among .*{name}.*, got nobody"):
        DATASET.complete(SMALL.with_changes({"met": "nobody"}), warehouse)


def test_imported_match_equity_table_is_found_by_name(memory_path: Path) -> None:
    warehouse = bgdata.open_warehouse(memory_path / "warehouse")
    imported = warehouse.build(MET_XML.name, MET_XML.smallest, files=sample_files(MET_XML, memory_path))
    with warehouse.connect() as connection:
        (met, length), *_ = connection.sql(
            "select met, most_away from match_equity_tables where dataset = 'met_xml' and most_away is not null"
        ).fetchall()
    parameters = DATASET.complete(SMALL.with_changes({"met": met, "away": length, "opponent_away": length}), warehouse)
    assert parameters.met_source == VersionRef("met_xml", imported.manifest.variant)
    assert parameters.met_recipe == Given()
    assert MatchTable(warehouse.build(DATASET.name, parameters)).met == met


def test_slugs_are_unique() -> None:
    changes: list[dict[str, Any]] = [{}, *CASES, {"points": 3}, {"checkers": 3}, {"met": "other"}]
    variants = [SMALL.with_changes(each) for each in changes]
    assert len({DATASET.slug(parameters) for parameters in variants}) == len(variants)


def test_decisions_in_sql_match_the_reader(built: Warehouse) -> None:
    """The cube decisions in SQL are those that the reader gives."""
    parameters = DATASET.smallest
    reader = MatchTable(built.build(DATASET.name, parameters))
    built.build("bearoff_one_sided", bgdata.all_kinds()["bearoff_one_sided"].parameters(3))
    with built.connect() as connection:
        rows = connection.sql(
            "select on_roll_points::integer[], opponent_points::integer[], no_double_mwc, best_action, "
            "no_double_equity, double_gain_mwc from bearoff_match_decisions "
            f"where variant = '{DATASET.slug(parameters)}'"
        ).fetchall()
    assert len(rows) == 19 * 19
    actions = set()
    for on_roll, opponent, no_double, action, equity, gain in rows:
        decision = reader.probe_layouts(on_roll, opponent)
        assert no_double == pytest.approx(decision.no_double, abs=1e-7)
        assert equity == pytest.approx(reader.equity(decision.no_double), abs=1e-5)
        double = min(decision.double_take or 0, decision.double_pass)
        assert gain == pytest.approx(double - decision.no_double, abs=1e-6)
        if abs(gain) > 1e-6:
            assert action == decision.action
        actions.add(action)
    assert len(actions) == 3


def test_decisions_in_sql_do_not_need_layouts(tmp_path: Path) -> None:
    """The rows of decisions stay, without layouts, if the one-sided table of these points is missing."""
    warehouse = bgdata.open_warehouse(tmp_path / "warehouse")
    warehouse.build(DATASET.name, SMALL)
    with warehouse.connect() as connection:
        ((n_rows, n_layouts),) = connection.sql(
            "select count(*), count(on_roll_points) from bearoff_match_decisions"
        ).fetchall()
    assert n_rows == 5 * 5
    assert n_layouts == 0


def test_crawford_game_has_no_doubles_in_sql(built: Warehouse) -> None:
    parameters = MatchBearoffParameters(3, 3, away=1, opponent_away=4, is_crawford=True, met=PUBLISHED)
    built.build(DATASET.name, parameters)
    built.build("bearoff_one_sided", bgdata.all_kinds()["bearoff_one_sided"].parameters(3))
    with built.connect() as connection:
        rows = connection.sql(
            "select distinct best_action, double_gain_mwc, take_gain_mwc from bearoff_match_decisions "
            f"where variant = '{DATASET.slug(parameters)}'"
        ).fetchall()
    assert rows == [("no double", None, None)]
