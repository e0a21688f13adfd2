"""Tests of views of the catalog, against manifests, arrays and each other."""

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest

import bgdata
from bgdata.bearoff.combine import win_chance
from bgdata.bearoff.kinds.bearoff_error import ErrorParameters
from bgdata.bearoff.kinds.bearoff_gammon import BearoffGammon
from bgdata.game.plays import legal_plays
from bgdata.game.position import Position
from bgdata.kinds import SQL
from bgdata.measures.kinds.reference_positions import THEMES
from bgdata.store.catalog import write_catalog
from bgdata.store.manifest import Manifest
from bgdata.studies.race_rules import NAMES
from bgdata.training.feed import is_labelled
from bgdata.warehouse import Warehouse
from tests.reference.bearoff import layouts
from tests.subtests import each

pytestmark = pytest.mark.catalog

# inputs of the smallest network and the smallest matches with the cube
INPUTS = {
    "bearoff_two_sided/6x6", "bearoff_one_sided/6x15", "bearoff_gammon/6x15", "match_equity/published-12",
    "cubeful_selfplay/contact-160-money-cube-0-7-30-seed-1", "cubeful_selfplay/contact-160-match-5-cube-0-7-6-seed-1",
    "network/contact-160",
}  # fmt: skip


def test_each_file_creates_the_view_of_its_name() -> None:
    views = {path.stem: path.read_text() for path in SQL.glob("*/views/*.sql")}
    created = {name: re.findall(r"^create view (\w+)", text, re.MULTILINE) for name, text in views.items()}
    assert created == {name: [name] for name in views} != {}


def test_versions_equal_manifests(small_root: Path, fast: duckdb.DuckDBPyConnection) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    rows = {f"{row['dataset']}/{row['variant']}": row for row in rows_by_column(fast.sql("from versions"))}
    assert len(rows) == len(list(warehouse.versions()))
    assert {row["dataset"] for row in rows.values()} == set(warehouse.kinds)
    for table in warehouse.versions():
        manifest = table.manifest
        row = rows[f"{manifest.dataset}/{manifest.variant}"]
        assert row.pop("version") == table.folder.name
        assert row.pop("is_current") is True
        assert row.pop("bytes") == sum(entry.bytes for entry in manifest.files)
        assert row.keys() == {field.name for field in fields(Manifest)} - {"parts"}
        assert row.pop("created").isoformat() == manifest.created
        assert json.loads(row.pop("files")) == [vars(entry) for entry in manifest.files]
        assert json.loads(row.pop("raw_files")) == [vars(entry) for entry in manifest.raw_files]
        for name in ("parameters", "inputs", "statistics", "software", "warnings"):
            assert json.loads(row.pop(name)) == getattr(manifest, name)
        for name, value in row.items():
            assert value == getattr(manifest, name), name


def rows_by_column(relation: duckdb.DuckDBPyRelation) -> list[dict[str, Any]]:
    """The rows of a query, by column."""
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def test_opening_book_has_best_and_second_best_plays(fast: duckdb.DuckDBPyConnection) -> None:
    candidates = rows_by_column(fast.sql("from openings order by loss"))
    book = rows_by_column(fast.sql("from opening_book"))
    assert len(book) == 22
    for row in book:
        plays = [play for play in candidates if play["decision"] == row["decision"]]
        best, second = plays[:2]
        for name in ("play", "equity", "standard_error"):
            assert row[name] == best[name]
        assert row["second_play"] == second["play"]
        assert row["second_loss"] == second["loss"]
        assert row["second_loss_standard_error"] == second["loss_standard_error"]
        assert row["n_candidates"] == len(plays)
        assert row["games"] == sum(play["trials"] for play in plays)


class SecondRevision(BearoffGammon):
    """The kind with a newer revision."""

    revision = 2


def test_only_the_newest_version_is_current(warehouse: Warehouse) -> None:
    kind = SecondRevision()
    revised = Warehouse(warehouse.root, warehouse.kinds | {kind.name: kind})
    revised.build(kind.name, kind.smallest)
    with revised.connect() as connection:
        rows = connection.sql(
            "select revision, is_current, version from versions "
            "where dataset = 'bearoff_gammon' and variant = '3x15' order by revision"
        ).fetchall()
        assert [row[:2] for row in rows] == [(1, False), (2, True)]
        assert rows[0][2].partition("-")[2] == rows[1][2].partition("-")[2]  # the same values
        assert connection.sql("select count(*) from bearoff_gammon_3x15").fetchall() == [(136,)]
        current = connection.sql("select dataset || '/' || variant from versions where is_current").fetchall()
    expected = {f"{name}/{kind.slug(kind.smallest)}" for name, kind in revised.kinds.items()}
    assert len(current) == len(set(current))
    assert {row[0] for row in current} == expected | INPUTS


def test_positions_equal_those_of_the_one_sided_tables(fast: duckdb.DuckDBPyConnection) -> None:
    assert fast.sql("from bearoff_positions").columns == [
        "variant", "position_index", "points", "checkers", "pip_count",
    ]  # fmt: skip
    assert fast.sql(
        "select count(*) from bearoff_positions p join bearoff_one_sided o using (variant, position_index) "
        "where p.points = o.points and p.checkers = o.checkers and p.pip_count = o.pip_count"
    ).fetchall() == [(816 + 54264,)]


def test_positions_are_all_layouts(fast: duckdb.DuckDBPyConnection) -> None:
    expected = [
        (index, list(layout), sum(layout), sum(point * count for point, count in enumerate(layout, start=1)))
        for index, layout in enumerate(layouts(3, 15))
    ]
    rows = fast.sql(
        "select * exclude (variant) from bearoff_positions where variant = '3x15' order by position_index"
    ).fetchall()
    assert rows == expected


def test_error_summary_equals_the_manifest(small_root: Path, fast: duckdb.DuckDBPyConnection) -> None:
    table = bgdata.open_warehouse(small_root).open("bearoff_error", "3x3")
    (row,) = rows_by_column(fast.sql("from bearoff_error_summary"))
    assert row.pop("variant") == "3x3"
    assert row.pop("pairs") == table.manifest.rows
    expected = {name: value for name, value in table.manifest.statistics.items() if not name.endswith("bound")}
    assert row == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_error_summary_has_a_row_for_each_variant(warehouse: Warehouse, tmp_path: Path) -> None:
    query = "select variant, pairs from bearoff_error_summary order by variant"
    warehouse.build("bearoff_error", ErrorParameters(2, 3))
    with warehouse.connect() as connection:
        assert connection.sql(query).fetchall() == [("2x3", 9 * 9), ("3x3", 19 * 19)]
    (tmp_path / "empty").mkdir()
    with bgdata.open_warehouse(tmp_path / "empty").connect() as connection:
        assert connection.sql(query).fetchall() == []


def rows_of(root: Path, query: str) -> list[dict[str, Any]]:
    """The rows of a query in a plain DuckDB client, by column."""
    with duckdb.connect(str(root / "catalog.duckdb"), read_only=True) as connection:
        return rows_by_column(connection.sql(query))


def test_view_shows_both_layouts_of_each_error(small_root: Path) -> None:
    query = "select *, position_id(bearoff_board(on_roll_points, opponent_points)) as id from bearoff_error_positions"
    rows = rows_of(small_root, query)
    one_sided, exact = bgdata.open_one_sided(small_root, 3), bgdata.open_two_sided(small_root, 3, 3)
    assert len(rows) == 19 * 19
    for row in rows:
        on_roll, opponent = row["on_roll_points"], row["opponent_points"]
        for side, points in (("on_roll", on_roll), ("opponent", opponent)):
            assert row[f"{side}_index"] == bgdata.position_index(points)
            assert row[f"{side}_pip_count"] == sum(point * count for point, count in enumerate(points, 1))
        assert row["exact_equity"] == pytest.approx(exact.probe(on_roll, opponent).cubeless, abs=3e-5)
        chance = win_chance(one_sided.probe_chances(on_roll), one_sided.probe_chances(opponent))
        assert row["one_sided_equity"] == pytest.approx(2 * chance - 1, abs=3e-5)
        assert row["difference"] == pytest.approx(row["one_sided_equity"] - row["exact_equity"], abs=1e-6)
        position = Position(row["id"])
        assert list(position.board[1:4]) == on_roll
        assert list(position.flip().board[1:4]) == opponent


@each(
    "layouts",
    ["[0, 0, 16], [1]", "[1], [-1]", "null, [1]", "[1], null", "[], [1]",
     "list_resize([1], 18, 1), list_resize([1], 18, 1)"],
)  # fmt: skip
def test_invalid_layouts_have_no_board(small_root: Path, layouts: str) -> None:
    assert rows_of(small_root, f"select bearoff_board({layouts}) as board") == [{"board": None}]


def test_benchmark_losses_have_all_decisions(small_root: Path) -> None:
    rows = rows_of(
        small_root,
        "select *, play_text(position_id, die1, die2, next_position_id) as play, "
        "play_text(position_id, die1, die2, best_next_position_id) as best_play "
        "from benchmark_losses order by decision",
    )
    warehouse = bgdata.open_warehouse(small_root)
    kind = warehouse.kinds["benchmark_scores"]
    scores = warehouse.open(kind.name, kind.slug(kind.smallest))
    decisions = warehouse.open("gnubg_benchmark", "contact")
    losses, ranks = scores.array("losses"), scores.array("ranks")
    first_plays, boards = decisions.array("decisions_first_plays"), decisions.array("plays_boards")
    assert [row["decision"] for row in rows] == list(range(len(losses)))
    for number, row in enumerate(rows):
        assert (row["player"], row["ply"], row["player_version"]) == ("pubeval", 0, "2")
        assert row["benchmark"] == kind.smallest.benchmark.title
        assert row["loss"] == losses[number]
        assert row["rank"] == (None if ranks[number] < 0 else ranks[number])
        position = Position(row["position_id"])
        assert row["board"] == list(position.board)
        plays = {play.next_position.id: str(play) for play in legal_plays(position, f"{row['die1']}{row['die2']}")}
        assert row["play"] == plays[row["next_position_id"]]
        assert row["best_play"] == plays[row["best_next_position_id"]]
        assert row["best_next_position_id"] == Position(boards[first_plays[number]].tolist()).id
        if row["equity"] is not None:
            assert row["best_equity"] - row["equity"] == pytest.approx(row["loss"], abs=1e-9)


def test_scores_of_another_benchmark_are_left_out(warehouse: Warehouse, tmp_path: Path) -> None:
    """Scores on another version of a benchmark, whose decisions have other numbers, are not joined to its positions."""
    kind = warehouse.kinds["gnubg_benchmark"]
    (path,) = kind.computation.write_sample(tmp_path)  # type: ignore[attr-defined]
    path.write_text(path.read_text() + "# another file\n")
    other = warehouse.build(kind.name, kind.smallest, files=[path])
    query = "select count(*) as count from benchmark_losses"
    with warehouse.connect() as connection:
        assert connection.sql("select count(*) from benchmark_scores").fetchall() != [(0,)]
        assert connection.sql(query).fetchall() == [(0,)]
    old = next(table for table in warehouse.versions(kind.name, "contact") if table.name != other.name)
    warehouse.use(old)
    with warehouse.connect() as connection:
        assert connection.sql(query).fetchall() != [(0,)]


def test_lineage_equals_manifests_and_recipes(small_root: Path) -> None:
    rows = rows_of(small_root, "from lineage")
    manifests = {table.name: table.manifest for table in bgdata.open_warehouse(small_root).versions()}
    expected = [
        (name, role, *text.split("@")) for name, manifest in manifests.items() for role, text in manifest.inputs.items()
    ]
    recorded_inputs = []
    for row in rows:
        name = f"{row['dataset']}/{row['variant']}/{row['version']}"
        input_title = f"{row['input_dataset']}/{row['input_variant']}"
        input_name = f"{input_title}/{row['input_version']}"
        if row["is_recorded"]:
            recorded_inputs.append((name, row["role"], input_title, row["input_digest"]))
        assert row["is_current"]
        assert row["is_here"] == (input_name in manifests)
        if row["is_here"]:
            assert manifests[input_name].digest == row["input_digest"]
    assert sorted(recorded_inputs) == sorted(expected)


def test_lineage_of_a_network_that_names_versions(warehouse: Warehouse) -> None:
    """The lineage of a network has the start network and labels that its recipe names, although they are not inputs."""
    kind = warehouse.kinds["supervised_network"]
    start = warehouse.open("network", "tiny")
    labels = warehouse.open("selfplay_labels", kind.smallest.labels[0].versions[0].variant)
    missing = "lookahead_labels/of-another-machine/r1-01234567"
    table = warehouse.open(kind.name, kind.slug(kind.smallest))
    texts = {"start": start.name, "labels": f"{labels.name}:2 {missing}:1"}
    parameters = kind.recipe_of(table.manifest).with_texts(texts).to_json()
    replace(table.manifest, parameters=parameters, inputs={}).save(table.folder)
    write_catalog(warehouse)
    rows = rows_of(warehouse.root, "from lineage where dataset = 'supervised_network' order by role, input_dataset")
    names = ("role", "input_dataset", "input_version", "input_digest", "is_here")
    assert [tuple(row[name] for name in names) for row in rows] == [
        ("labels", "lookahead_labels", "r1-01234567", None, False),
        ("labels", "selfplay_labels", labels.folder.name, labels.manifest.digest, True),
        ("start", "network", start.folder.name, start.manifest.digest, True),
    ]
    ancestors = """
        with recursive ancestors as (
            select *, 1 as generation from lineage where dataset = 'supervised_network'
            union
            select input.*, generation + 1 from ancestors join lineage as input
            on (input.dataset, input.variant, input.version)
             = (ancestors.input_dataset, ancestors.input_variant, ancestors.input_version))
        select distinct generation from ancestors
        where role in ('labels', 'games') and input_dataset = 'selfplay'"""
    assert rows_of(warehouse.root, ancestors) == [{"generation": 2}]


MACROS = {  # and their parameters
    "best_cube_action": "cubeless owned centered opponent_owned cube_owner",
    "bearoff_index": "points",
    "binomial": "n r",
    "cube_value": "no_double opponent_owned",
    "epc": "mean_rolls",
    "pip_count": "board",
    "win_chance": "on_roll_chances opponent_chances",
    "board": "position_id",
    "flip": "board",
    "position_class": "board",
    "position_id": "board",
    "is_in_place": "folder",
    "files_in": "folder files",
}
PLAIN_CLIENT = """
import sys
import duckdb

catalog = sys.argv[1]
offline = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
with duckdb.connect(catalog, read_only=True, config=offline) as connection:
    connection.execute("set enable_progress_bar = false")  # it would print among the lines where a machine is slow
    names = "select {} from {} where database_name = 'catalog' and not internal order by all"
    for source, column in (("duckdb_views()", "view_name"), ("duckdb_tables()", "table_name")):
        for (name,) in connection.sql(names.format(column, source)).fetchall():
            print("view", name, connection.sql(f"select count(columns(*)) from {name}").fetchall()[0][0])
            connection.sql(f"summarize {name}").fetchall()
    for name, parameters in connection.sql(names.format("function_name, parameters", "duckdb_functions()")).fetchall():
        print("macro", name, " ".join(parameters))
    print(connection.sql(
        "select bearoff_index([0, 1, 0]), pip_count([0, 1, 0]), epc(1.2), binomial(5, 2), win_chance([0, 1], [0, 1]), "
        "cube_value(0.25::double, 0.5::double), best_cube_action(0.1, 0.2, 0.15, 0.05)"
    ).fetchall()[0])
assert not [module for module in sys.modules if module.partition(".")[0] in ("bgdata", "numpy", "pyarrow")]
"""


class PlainClient(NamedTuple):
    """What DuckDB alone finds in the catalog."""

    views: dict[str, int]  # number of rows by name, of tables too
    macros: dict[str, str]  # parameters by name
    formulas: str  # their values


@pytest.fixture(scope="module")
def plain_client(small_root: Path, tmp_path_factory: pytest.TempPathFactory) -> PlainClient:
    """DuckDB alone queries the catalog from another folder, without downloading extensions."""
    command = [sys.executable, "-I", "-c", PLAIN_CLIENT, str(small_root / "catalog.duckdb")]
    folder = tmp_path_factory.mktemp("elsewhere")
    result = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=folder, check=False)
    assert result.returncode == 0, result.stderr
    *lines, formulas = result.stdout.splitlines()
    rows = [line.split(" ", 2) for line in lines]
    views = {name: int(count) for kind, name, count in rows if kind == "view"}
    return PlainClient(views, {name: parameters for kind, name, parameters in rows if kind == "macro"}, formulas)


def test_plain_client_evaluates_formulas(plain_client: PlainClient) -> None:
    *numbers, action = ast.literal_eval(plain_client.formulas)
    assert numbers == pytest.approx([2, 2, 9.8, 10, 1, 1])
    assert action == "no double"


def test_plain_client_reads_every_table(small_root: Path, plain_client: PlainClient) -> None:
    """The view of each kind has the rows of all current versions, and that of a variant those of its version."""
    views = plain_client.views
    expected = Counter[str]()
    for table in bgdata.open_warehouse(small_root).current():
        main, *side_tables = bgdata.all_kinds()[table.manifest.dataset].tables
        variant = table.manifest.variant.replace("-", "_")
        expected[main.name] += table.manifest.rows
        if not main.shared:
            expected[f"{main.name}_{variant}"] += table.manifest.rows
        for shape in side_tables:
            assert shape.name in views
            assert shape.shared or f"{shape.name}_{variant}" in views
    for name, rows in expected.items():
        assert views[name] == rows, name


def test_plain_client_reads_every_view(small_root: Path, plain_client: PlainClient) -> None:
    """Views that combine tables have the rows that follow from the small warehouse."""
    views = plain_client.views
    manifests = [table.manifest for table in bgdata.open_warehouse(small_root).current()]
    rows = Counter[str]()
    for manifest in manifests:
        rows[manifest.dataset] += manifest.rows
    expected = {
        "versions": len(manifests),
        "manifests": len(manifests),
        "selfplay_summary": 1,
        "luck_by_game": 0,
        "opening_book": 22,  # a first roll and its replies
        "selfplay_labels_summary": 3,  # classes
        "benchmark_summary": 1,
        "game_summary": 1,
        "referee_summary": 1,
        "labelled_boards": sum(n for kind, n in rows.items() if is_labelled(bgdata.all_kinds()[kind])),
        "bearoff_positions": rows["bearoff_one_sided"],
        "bearoff_error_summary": 1,
        "bearoff_error_positions": rows["bearoff_error"],
        "bearoff_match_decisions": (20 - 1) ** 2,  # pairs of layouts that are not over
        "library": 1,
        "my_errors": 2,
        "players": 2,
        "cube_decisions": rows["cube_life"],
        "race_rule_losses": len(NAMES),
        "benchmark_differences": 0,  # no other player to compare with
        "benchmark_judges": 0,  # no player scored by two judges
        "ladder_by_play": rows["ladder"],
        "benchmark_choices": rows["benchmark_scores"],
        "benchmark_losses": rows["benchmark_scores"],
        "reference_errors": 6 * 2 * (1 + len(THEMES)),  # quantities, splits, and all themes together
    }
    assert {name: views[name] for name in expected} == expected
    least = {
        "opening_plays": 11,
        "all_positions": 11,
        "cube_summary": 1,
        "cube_benchmark_summary": 4,  # all decisions, themes and scores
        "cube_index": 10,  # scores, classes, themes and owners
        "leakage": 1,
        "benchmark_boards": 1,
        "cube_life_by_length": 2,
        "reference_check_summary": 2,  # themes, and all together
        "lineage": sum(len(manifest.inputs) for manifest in manifests),
        "match_equity_differences": 0,
    }
    for name, count in least.items():
        assert views[name] >= count, name
    assert views["leakage"] <= expected["labelled_boards"]
    tables = {shape.name for kind in bgdata.all_kinds().values() for shape in kind.tables}
    variants = {f"{shape.name}_{manifest.variant.replace('-', '_')}" for manifest in manifests
                for shape in bgdata.all_kinds()[manifest.dataset].tables}  # fmt: skip
    assert views.keys() - expected.keys() - least.keys() - tables - variants == set()


def test_plain_client_has_the_macros(plain_client: PlainClient) -> None:
    assert {name: plain_client.macros[name] for name in MACROS} == MACROS
