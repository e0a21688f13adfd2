"""Tests of views of the catalog, against manifests, arrays and each other."""

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

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
    "cubeful_selfplay/tiny-money-cube-0-7-30-seed-1", "cubeful_selfplay/tiny-match-5-cube-0-7-6-seed-1",
}  # fmt: skip


def test_each_file_creates_the_view_of_its_name() -> None:
    views = {path.stem: path.read_text() for path in SQL.glob("*/views/*.sql")}
    created = {name: re.findall(r"^create view (\w+)", text, re.MULTILINE) for name, text in views.items()}
    assert created == {name: [name] for name in views} != {}


def test_versions_equal_manifests(small_root: Path, fast: duckdb.DuckDBPyConnection) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    rows = fast.sql("from versions").fetchall()
    columns = fast.sql("from versions").columns
    shown = [dict(zip(columns, row, strict=True)) for row in rows]
    found = {f"{row['dataset']}/{row['variant']}": row for row in shown}
    assert {row["dataset"] for row in shown} == set(warehouse.kinds)
    assert len(found) == len(shown) == len(list(warehouse.versions()))
    for table in warehouse.versions():
        manifest = table.manifest
        row = found[f"{manifest.dataset}/{manifest.variant}"]
        assert row.pop("version") == table.folder.name
        assert row.pop("is_current") is True
        assert row.pop("bytes") == sum(entry.bytes for entry in manifest.files)
        assert row.pop("created").isoformat() == manifest.created
        assert json.loads(row.pop("files")) == [vars(entry) for entry in manifest.files]
        assert json.loads(row.pop("raw_files")) == [vars(entry) for entry in manifest.raw_files]
        for name in ("parameters", "inputs", "statistics", "software", "warnings"):
            assert json.loads(row.pop(name)) == getattr(manifest, name)
        for name, value in row.items():
            assert value == getattr(manifest, name), name


def test_opening_book_has_best_and_second_best_plays(fast: duckdb.DuckDBPyConnection) -> None:
    rows = fast.sql(
        "select decision, play, equity, standard_error, loss, loss_standard_error, trials from openings"
    ).fetchall()
    found = fast.sql(
        "select decision, play, equity, standard_error, second_play, second_loss, second_loss_standard_error, "
        "n_candidates, games from opening_book order by decision"
    ).fetchall()
    ranked = {decision: [row[1:] for row in rows if row[0] == decision] for decision in range(22)}
    for row in found:
        plays = sorted(ranked[row[0]], key=lambda play: play[3])
        assert row[1:4] == plays[0][:3]
        assert row[4:7] == (plays[1][0], *plays[1][3:5])
        assert row[7:] == (len(plays), sum(play[5] for play in plays))


def test_versions_have_the_whole_manifest(fast: duckdb.DuckDBPyConnection) -> None:
    columns = fast.sql("from versions").columns
    names = {field.name for field in fields(Manifest)} - {"parts"}
    assert set(columns) == names | {"version", "is_current", "bytes"}


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
    rows = fast.sql("from bearoff_error_summary")
    (found,) = [dict(zip(rows.columns, row, strict=True)) for row in rows.fetchall()]
    assert found.pop("variant") == "3x3"
    assert found.pop("pairs") == table.manifest.rows
    stated = {name: value for name, value in table.manifest.statistics.items() if not name.endswith("bound")}
    assert found == pytest.approx(stated, rel=1e-6, abs=1e-12)


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
        found = connection.sql(query)
        return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]


def test_view_shows_both_layouts_of_each_error(small_root: Path) -> None:
    """The view has both layouts of every pair in `bearoff_error`, their Position ID, and both equities."""
    found = rows_of(
        small_root,
        "select *, position_id(bearoff_board(on_roll_points, opponent_points)) as id from bearoff_error_positions",
    )
    one_sided, exact = bgdata.open_one_sided(small_root, 3), bgdata.open_two_sided(small_root, 3, 3)
    assert len(found) == 19 * 19
    for row in found:
        sides = row["on_roll_points"], row["opponent_points"]
        for points, index, pips in zip(sides, ("on_roll", "opponent"), ("on_roll", "opponent"), strict=True):
            assert row[f"{index}_index"] == bgdata.position_index(points)
            assert row[f"{pips}_pip_count"] == sum(point * count for point, count in enumerate(points, 1))
        assert row["exact_equity"] == pytest.approx(exact.probe(*sides).cubeless, abs=3e-5)
        chance = win_chance(*(one_sided.probe_chances(points) for points in sides))
        assert row["one_sided_equity"] == pytest.approx(2 * chance - 1, abs=3e-5)
        assert row["difference"] == pytest.approx(row["one_sided_equity"] - row["exact_equity"], abs=1e-6)
        position = Position(row["id"])
        assert list(position.board[1:4]) == sides[0]
        assert list(position.flip().board[1:4]) == sides[1]


@each(
    "layouts",
    [
        "[0, 0, 16], [1]",
        "[1], [-1]",
        "null, [1]",
        "[1], null",
        "[], [1]",
        "list_resize([1], 18, 1), list_resize([1], 18, 1)",
    ],
)
def test_invalid_layouts_have_no_board(small_root: Path, layouts: str) -> None:
    assert rows_of(small_root, f"select bearoff_board({layouts}) as board") == [{"board": None}]


def test_benchmark_losses_have_all_decisions(small_root: Path) -> None:
    """The view has the loss of each player in each decision, with the texts of the plays."""
    found = rows_of(
        small_root,
        "select *, play_text(position_id, die1, die2, next_position_id) as play, "
        "play_text(position_id, die1, die2, best_next_position_id) as best_play "
        "from benchmark_losses order by decision",
    )
    kind = bgdata.all_kinds()["benchmark_scores"]
    warehouse = bgdata.open_warehouse(small_root)
    parameters = kind.smallest
    scores, decisions = warehouse.open(kind.name, kind.slug(parameters)), warehouse.open("gnubg_benchmark", "contact")
    assert [row["decision"] for row in found] == list(range(len(scores.array("losses"))))
    firsts = decisions.array("decisions_first_plays").tolist()
    for row, loss, rank, first in zip(found, scores.array("losses"), scores.array("ranks"), firsts, strict=True):
        assert row["player"] == "pubeval"
        assert row["ply"] == 0
        assert row["player_version"] == "2"
        assert row["benchmark"] == parameters.benchmark.title
        assert row["loss"] == loss
        assert row["rank"] == (None if rank < 0 else rank)
        position = Position(row["position_id"])
        roll = f"{row['die1']}{row['die2']}"
        plays = {play.next_position.id: str(play) for play in legal_plays(position, roll)}
        assert row["board"] == list(position.board)
        assert row["play"] == plays[row["next_position_id"]]
        assert row["best_play"] == plays[row["best_next_position_id"]]
        best = Position(decisions.array("plays_boards")[first].tolist())
        assert row["best_next_position_id"] == best.id
        if row["equity"] is not None:
            assert row["best_equity"] - row["equity"] == pytest.approx(loss, abs=1e-9)


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
    """The lineage lists the inputs in the manifests and recipes of all versions, and nothing else."""
    found = rows_of(small_root, "from lineage")
    versions = {table.name: table.manifest for table in bgdata.open_warehouse(small_root).versions()}
    recorded = {
        (name, role, text.partition("@")[0], text.partition("@")[2])
        for name, manifest in versions.items()
        for role, text in manifest.inputs.items()
    }
    shown = [
        (f"{row['dataset']}/{row['variant']}/{row['version']}", row["role"],
         f"{row['input_dataset']}/{row['input_variant']}", row["input_digest"])
        for row in found if row["is_recorded"]
    ]  # fmt: skip
    assert len(shown) == len(set(shown))
    assert set(shown) == recorded
    for row in found:
        place = f"{row['input_dataset']}/{row['input_variant']}/{row['input_version']}"
        assert row["is_here"] == (place in versions)
        assert row["is_current"]
        if row["is_here"]:
            assert versions[place].digest == row["input_digest"]


def test_lineage_of_a_network_that_names_versions(warehouse: Warehouse) -> None:
    """The lineage of a network has the start network and labels that its recipe names, although they are not inputs."""
    kind = warehouse.kinds["supervised_network"]
    start = warehouse.open("network", "tiny")
    labels = warehouse.open("selfplay_labels", kind.smallest.labels[0].versions[0].variant)
    gone = "lookahead_labels/of-another-machine/r1-01234567"
    table = warehouse.open(kind.name, kind.slug(kind.smallest))
    texts = {"start": start.name, "labels": f"{labels.name}:2 {gone}:1"}
    parameters = kind.recipe_of(table.manifest).with_texts(texts).to_json()
    replace(table.manifest, parameters=parameters, inputs={}).save(table.folder)
    write_catalog(warehouse)
    found = rows_of(warehouse.root, "from lineage where dataset = 'supervised_network' order by role, input_dataset")
    shown = [
        (row["role"], row["input_dataset"], row["input_version"], row["input_digest"], row["is_here"]) for row in found
    ]
    assert shown == [
        ("labels", "lookahead_labels", "r1-01234567", None, False),
        ("labels", "selfplay_labels", labels.folder.name, labels.manifest.digest, True),
        ("start", "network", start.folder.name, start.manifest.digest, True),
    ]
    walk = """
        with recursive ancestors as (
            select *, 1 as generation from lineage where dataset = 'supervised_network'
            union
            select input.*, generation + 1 from ancestors join lineage as input
            on (input.dataset, input.variant, input.version)
             = (ancestors.input_dataset, ancestors.input_variant, ancestors.input_version))
        select distinct generation, input_dataset from ancestors where role in ('labels', 'games') order by all"""
    games = [row for row in rows_of(warehouse.root, walk) if row["input_dataset"] == "selfplay"]
    assert [row["generation"] for row in games] == [2]


BEAROFF_MACROS = ("best_cube_action", "bearoff_index", "binomial", "cube_value", "epc", "pip_count", "win_chance")
ANYONE = """
import sys
import duckdb

catalog = sys.argv[1]
offline = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
with duckdb.connect(catalog, read_only=True, config=offline) as connection:
    connection.execute("set enable_progress_bar = false")  # it would print among the lines where a machine is slow
    names = "select {} from {} where database_name = 'catalog' and not internal order by all"
    for source, column in (("duckdb_views()", "view_name"), ("duckdb_tables()", "table_name")):
        for (name,) in connection.sql(names.format(column, source)).fetchall():
            print(name, connection.sql(f"select count(columns(*)) from {name}").fetchall()[0][0])
            connection.sql(f"summarize {name}").fetchall()
    for name, parameters in connection.sql(names.format("function_name, parameters", "duckdb_functions()")).fetchall():
        print(name, " ".join(parameters))
    print(connection.sql(
        "select bearoff_index([0, 1, 0]), pip_count([0, 1, 0]), epc(1.2), binomial(5, 2), win_chance([0, 1], [0, 1]), "
        "cube_value(0.25::double, 0.5::double), best_cube_action(0.1, 0.2, 0.15, 0.05)"
    ).fetchall()[0])
assert not [module for module in sys.modules if module.partition(".")[0] in ("bgdata", "numpy", "pyarrow")]
"""


def test_any_client_can_query_everything(small_root: Path, tmp_path: Path) -> None:
    """DuckDB alone can query every view from another folder, without downloading extensions."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", ANYONE, str(small_root / "catalog.duckdb")],
        capture_output=True, text=True, timeout=600, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    *lines, formulas = done.stdout.splitlines()
    found = dict(line.split(" ", 1) for line in lines)
    manifests = [table.manifest for table in bgdata.open_warehouse(small_root).current()]
    rows, tables = Counter[str](), Counter[str]()
    for manifest in manifests:
        rows[manifest.dataset] += manifest.rows
        tables[bgdata.all_kinds()[manifest.dataset].tables[0].name] += manifest.rows
    for name, count in tables.items():
        assert found.pop(name) == str(count)
    for name in rows:
        for shape in bgdata.all_kinds()[name].tables:
            found.pop(shape.name, None)
    for manifest in manifests:
        main, *side = bgdata.all_kinds()[manifest.dataset].tables
        for shape in (main, *side):
            if not shape.shared:
                variant = found.pop(f"{shape.name}_{manifest.variant.replace('-', '_')}")
                assert shape != main or variant == str(manifest.rows)
    assert (found.pop("selfplay_summary"), found.pop("luck_by_game")) == ("1", "0")
    assert int(found.pop("opening_plays")) > 10
    assert int(found.pop("all_positions")) > 10
    assert found.pop("opening_book") == "22"  # a first roll and its replies
    assert int(found.pop("cube_summary")) >= 1
    assert int(found.pop("cube_benchmark_summary")) > 3  # all decisions, themes and scores
    assert int(found.pop("cube_index")) > 9  # scores, classes, themes and owners
    assert found.pop("selfplay_labels_summary") == "3"  # classes
    assert [found.pop(f"{name}_summary") for name in ("benchmark", "game", "referee")] == ["1"] * 3
    labelled = sum(manifest.rows for manifest in manifests if is_labelled(bgdata.all_kinds()[manifest.dataset]))
    assert found.pop("labelled_boards") == str(labelled)
    assert 0 < int(found.pop("leakage")) <= labelled
    assert int(found.pop("benchmark_boards")) > 0
    assert found.pop("bearoff_positions") == str(rows["bearoff_one_sided"])
    assert found.pop("bearoff_error_summary") == "1"
    assert found.pop("versions") == found.pop("manifests") == str(len(manifests))
    assert {name: found.pop(name) for name in ("board", "flip", "position_class", "position_id")} == {
        "board": "position_id",
        "flip": "board",
        "position_class": "board",
        "position_id": "board",
    }
    assert (found.pop("is_in_place"), found.pop("files_in")) == ("folder", "folder files")
    assert [found.pop(name) for name in ("library", "my_errors", "players")] == ["1", "2", "2"]
    assert found.pop("cube_decisions") == str(rows["cube_life"])
    assert int(found.pop("cube_life_by_length")) > 1
    assert found.pop("race_rule_losses") == str(len(NAMES))
    assert found.pop("bearoff_match_decisions") == str((20 - 1) ** 2)  # pairs of layouts that are not over
    assert "match_equity_differences" in found
    assert found.pop("bearoff_error_positions") == str(rows["bearoff_error"])
    assert found.pop("benchmark_differences") == "0"  # no other player to compare with
    assert found.pop("benchmark_judges") == "0"  # no player scored by two judges
    assert found.pop("ladder_by_play") == str(rows["ladder"])
    assert found.pop("benchmark_choices") == found.pop("benchmark_losses") == str(rows["benchmark_scores"])
    assert found.pop("reference_errors") == str(
        6 * 2 * (1 + len(THEMES))
    )  # quantities, splits, and all themes together
    assert int(found.pop("reference_check_summary")) > 1  # themes, and all together
    assert int(found.pop("lineage")) >= sum(len(manifest.inputs) for manifest in manifests)
    macros = (*SQL.glob("*/macros/position*.sql"), *SQL.glob("*/lookups/*.sql"))
    helpers = "".join(path.read_text() for path in macros)
    known = {*BEAROFF_MACROS, "iso_date", "match_equity_differences", "player_named"}
    assert [name for name in found if f"create macro {name}(" not in helpers and name not in known] == []
    assert {name: found[name] for name in BEAROFF_MACROS} == {
        "best_cube_action": "cubeless owned centered opponent_owned cube_owner",
        "bearoff_index": "points",
        "binomial": "n r",
        "cube_value": "no_double opponent_owned",
        "epc": "mean_rolls",
        "pip_count": "board",
        "win_chance": "on_roll_chances opponent_chances",
    }
    *numbers, action = ast.literal_eval(formulas)
    assert (numbers, action) == (pytest.approx([2, 2, 9.8, 10, 1, 1]), "no double")
