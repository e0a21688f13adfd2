"""Tests of `bgdata explain`: kinds, tables, views, macros and similar names; and of `bgdata list`."""

import json
from pathlib import Path

import pytest

import bgdata
from bgdata.cli.completion import names_to_explain
from bgdata.kinds import SQL
from bgdata.warehouse.commands.listing import explain_macro, explain_relation, open_catalog, unknown_name_message
from tests.command_line import error_of, output_of, run


def test_every_view_and_table_is_explained(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    with open_catalog(warehouse) as connection:
        query = "select view_name from duckdb_views() where not internal"
        views = [name for (name,) in connection.execute(query).fetchall()]
        assert len(views) > 60
        for name in [*views, "manifests"]:
            relation = explain_relation(connection, warehouse, name)
            assert relation, name
            assert relation.meaning, name
            columns = [row[0] for row in connection.execute(f'describe "{name}"').fetchall()]
            assert [part.name for part in relation.parts] == columns
            assert all(part.meaning for part in relation.parts), name
            assert len(relation.origin[0].split()) > 2, name


def test_columns_of_tables_are_explained_as_declared(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    shapes = {shape.name: shape for kind in warehouse.kinds.values() for shape in kind.tables}
    with open_catalog(warehouse) as connection:
        for name, shape in shapes.items():
            relation = explain_relation(connection, warehouse, name)
            assert relation
            parts = {part.name: (part.unit, part.meaning) for part in relation.parts}
            for column in shape.columns:
                assert parts[column.name] == (column.unit, column.meaning)


def test_every_macro_is_explained(small_root: Path) -> None:
    scripts = "".join(path.read_text() for path in SQL.glob("*/macros/*.sql")).replace("''", "'")
    with open_catalog(bgdata.open_warehouse(small_root)) as connection:
        query = "select distinct function_name from duckdb_functions() where not internal"
        names = [name for (name,) in connection.execute(query).fetchall()]
        assert len(names) > 15
        assert {"epc", "win_chance", "best_cube_action"} <= set(names)
        for name in names:
            macro = explain_macro(connection, name)
            assert macro, name
            assert macro.meaning, name
            assert name in macro.origin[0]
            if name in ("epc", "win_chance", "best_cube_action"):
                assert macro.meaning.split(":")[0] in scripts


@pytest.mark.parametrize("name", ["cube_decisions", "take_point", "games", "versions", "bearoff_two_sided_3x3"])
def test_explain_has_the_same_items_as_text_and_json(small_root: Path, name: str) -> None:
    text = output_of(small_root, "explain", name)
    rows = json.loads(output_of(small_root, "explain", name, "--format", "json"))
    assert text.startswith(f"{name} (")
    for row in rows:
        assert row["explained"] == name
        assert f"  {row['name']} " in text or f"  {row['name']}\n" in text


def test_explain_names_the_origins_of_a_view(small_root: Path) -> None:
    text = output_of(small_root, "explain", "games")
    for kind in bgdata.all_kinds().values():
        has_games = "games" in [shape.name for shape in kind.tables]
        assert (f"{kind.name} (bgdata explain {kind.name})" in text) == has_games
    assert output_of(small_root, "explain", "cube_decisions").endswith("made from cube_life, bearoff_positions\n")


def test_explain_works_without_a_warehouse(tmp_path: Path) -> None:
    assert "made from cube_life" in output_of(tmp_path / "none", "explain", "cube_decisions")
    assert "epc(mean_rolls)" in output_of(tmp_path / "none", "explain", "epc")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("cube_decision", "do you mean cube_decisions"),
        ("bearof_one_sided", "do you mean bearoff_one_sided"),
        ("Take_Points", "do you mean take_point"),
        ("qqqq", "see: bgdata list"),
        ("x" * 5000, "see: bgdata list"),
    ],
    ids=lambda text: text[:20],
)
def test_similar_names_are_suggested(small_root: Path, name: str, near: str) -> None:
    message = error_of(run(small_root, "explain", name), 2)
    assert near in message
    assert len(message) < 400


def test_every_completed_name_can_be_explained(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    with open_catalog(warehouse) as connection:
        for name in names_to_explain(warehouse):
            explanation = explain_relation(connection, warehouse, name) or explain_macro(connection, name)
            assert explanation or name in warehouse.kinds, unknown_name_message(connection, warehouse, name)


def test_list_of_a_kind_variant_or_version(small_root: Path) -> None:
    table = bgdata.open_warehouse(small_root).open("bearoff_gammon", "3x15")
    assert "bearoff_one_sided" not in output_of(small_root, "list", "bearoff_gammon")
    assert output_of(small_root, "list", "bearoff_gammon").count(" rows ") == 2
    for scope in ("bearoff_gammon/3x15", table.name):
        assert output_of(small_root, "list", scope).count(" rows ") == 1
        (row,) = json.loads(output_of(small_root, "list", scope, "--format", "json"))
        assert (row["dataset"], row["variant"], row["version"]) == tuple(table.name.split("/"))
