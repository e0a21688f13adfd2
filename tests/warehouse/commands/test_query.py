"""Tests of `bgdata query` and `bgdata catalog`."""

import csv
import io
import json
import os
import subprocess
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

import bgdata
from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters
from bgdata.cli import main
from bgdata.warehouse import Warehouse
from bgdata.warehouse.commands.query import FILLED_BY, making_command
from tests.command_line import error_of, output_of, run
from tests.formats.gnubg_files import two_sided_bytes
from tests.store import processes
from tests.subtests import each

pytestmark = pytest.mark.catalog

QUERY = "select position_index, mean_rolls from bearoff_one_sided_3x15 where position_index < 3 order by all"


def test_query_prints_a_table_csv_or_json(small_root: Path) -> None:
    table = bgdata.open_one_sided(small_root, 3)
    expected = [(index, table.probe_mean_rolls(index)) for index in range(3)]
    text = output_of(small_root, "query", QUERY)
    assert "position_index" in text
    assert "1.0" in text
    sheet = csv.DictReader(io.StringIO(output_of(small_root, "query", QUERY, "--format", "csv")))
    assert [(int(row["position_index"]), float(row["mean_rolls"])) for row in sheet] == expected
    rows = json.loads(output_of(small_root, "query", QUERY, "--format", "json"))
    assert [(row["position_index"], row["mean_rolls"]) for row in rows] == expected


@each("form", ["csv", "json", "parquet"])
@each("is_named", [False, True])
def test_query_writes_a_file(small_root: Path, tmp_path: Path, form: str, is_named: bool) -> None:
    path = tmp_path / f"it's.{form}"
    path.write_text("before")
    assert output_of(small_root, "query", QUERY, *(("--format", form) if is_named else ()), "-o", path) == ""
    with duckdb.connect() as connection:
        name = str(path).replace("'", "''")
        assert connection.sql(f"select sum(position_index), max(mean_rolls) from '{name}'").fetchall() == [(3, 1.0)]
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_output_format_follows_the_file_ending(small_root: Path, tmp_path: Path) -> None:
    def written(name: str, *options: str) -> str:
        output_of(small_root, "query", "select 1 as one", "-o", tmp_path / name, *options)
        return (tmp_path / name).read_text()

    for name in ("x", "x.txt", "x.parquet.d"):
        assert written(name) == "one\n1\n"
    assert json.loads(written("X.JSON")) == [{"one": 1}]
    assert written("y.json", "--format", "csv") == "one\n1\n"


@each("name", ["rows.json.gz", "rows.csv.zst"])
def test_endings_of_compressed_files_are_refused(small_root: Path, tmp_path: Path, name: str) -> None:
    result = run(small_root, "query", "select 1 as a", "-o", tmp_path / name)
    message = f"expected a file that is not compressed, got {tmp_path / name}; try: csv"
    assert error_of(result, 2).startswith(message)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_query_that_fails_late_keeps_the_old_file(small_root: Path, tmp_path: Path, form: str) -> None:
    """The error comes after thousands of rows. The query runs in a separate process, because DuckDB sometimes hangs
    in such a COPY."""
    path = tmp_path / "x"
    path.write_text("before")
    sql = "select case when range = 9000 then error('late') else range end from range(10000)"
    result = processes.bgdata("--warehouse", small_root, "query", sql, "--format", form, "-o", path)
    assert (result.returncode, result.stderr) == (1, "error: expected a valid query: Invalid Input Error: late\n")
    assert path.read_text() == "before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["x"]


@each("sql", ["", "describe versions", "show tables", "explain select 1", "with x as (select 1) from x"])
def test_read_only_statements_are_queries(small_root: Path, sql: str) -> None:
    for form in ("table", "csv"):
        assert bool(output_of(small_root, "query", sql, "--format", form)) == bool(sql)


def test_gnubg_file_is_a_view_of_its_name(small_root: Path, tmp_path: Path) -> None:
    path = tmp_path / "My-File.bd"
    path.write_bytes(two_sided_bytes(4))
    query = ("query", "select count(*) as n from my_file", "--bd", path, "--format", "csv")
    assert output_of(small_root, *query) == "n\n16\n"


@each("name", ["bearoff_two_sided.bd", "Bearoff-Two-Sided-3x3.bd", "versions.bd", "manifests.bd"])
def test_gnubg_file_with_the_name_of_a_table_is_refused(small_root: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(two_sided_bytes(4))
    view = path.stem.lower().replace("-", "_")
    error = f"expected a file whose name no table has, got {path}, a second {view}; try: a link of another name"
    assert error_of(run(small_root, "query", "select 1", "--bd", path), 2) == error


def test_two_gnubg_files_of_one_name_are_refused(small_root: Path, tmp_path: Path) -> None:
    for name in ("ts0.bd", "TS0.bd"):
        (tmp_path / name).write_bytes(two_sided_bytes(4))
    result = run(small_root, "query", "select 1", "--bd", tmp_path / "ts0.bd", "--bd", tmp_path / "TS0.bd")
    assert f"got {tmp_path / 'TS0.bd'}, a second ts0; try: " in error_of(result, 2)


def test_query_is_read_from_file_or_standard_input(small_root: Path, tmp_path: Path) -> None:
    path = tmp_path / "q.sql"
    path.write_text("-- a comment\nselect 1 as one;\n")
    assert output_of(small_root, "query", "--file", path, "--format", "csv") == "one\n1\n"
    result = CliRunner().invoke(
        main, ["--warehouse", str(small_root), "query", "-", "--format", "csv"], input=path.read_text()
    )
    assert (result.exit_code, result.stdout) == (0, "one\n1\n")
    assert "either SQL or --file, got both" in error_of(run(small_root, "query", "select 1", "--file", path), 2)
    assert "either SQL or --file, got neither" in error_of(run(small_root, "query"), 2)
    path.write_bytes(b"select '\xff'")
    assert "expected SQL as UTF-8 text" in error_of(run(small_root, "query", "--file", path), 2)
    assert "no such file" in error_of(run(small_root, "query", "--file", tmp_path / "none"), 1)


def test_output_is_not_cut_without_a_terminal(small_root: Path) -> None:
    text = output_of(small_root, "query", "select range as number, repeat('x', 500) as text from range(100)")
    for number in range(100):
        assert f" {number} " in text
    assert text.count("x" * 500) == 100


def test_json_has_null_for_nan(small_root: Path) -> None:
    sql = (
        "select 'nan'::double as a, '-inf'::float as b, [1.5, 'nan'::double] as c, {'d': 'inf'::double, 'e': "
        "[{'f': 'nan'::float}]} as g, map {'h': 'nan'::double} as i, array_value('nan'::float, 1::float) as j, "
        '1.5::double as "it\'s ""k""", null::struct(l double) as m, null::double[] as n'
    )
    rows = json.loads(output_of(small_root, "query", sql, "--format", "json"), parse_constant=pytest.fail)
    assert rows == [
        {"a": None, "b": None, "c": [1.5, None], "g": {"d": None, "e": [{"f": None}]}, "i": {"h": None},
         "j": [None, 1.0], 'it\'s "k"': 1.5, "m": None, "n": None}
    ]  # fmt: skip


def test_queries_cannot_use_other_files(small_root: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a\n1\n")
    for sql in (f"from '{path}'", f"from read_text('{path}')"):
        assert error_of(run(small_root, "query", sql), 1).endswith("try: --allow-files")
    for sql in (f"copy (select 1) to '{tmp_path / 'y.csv'}'", "install httpfs", "select 1; select 2"):
        assert error_of(run(small_root, "query", sql), 1).startswith("expected ")


def test_queries_use_other_files_with_an_option(small_root: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    output_of(small_root, "query", f"copy (select max(number) from (select 7 as number)) to '{path}'", "--allow-files")
    assert path.read_text() == "max(number)\n7\n"
    assert output_of(small_root, "query", f"from '{path}'", "--allow-files", "--format", "csv") == "max(number)\n7\n"


def test_queries_beyond_limits_are_stopped(small_root: Path) -> None:
    for option in ("--seconds", "--memory"):
        assert "expected a number, got 'nan'" in error_of(run(small_root, "query", "select 1", option, "nan"), 2)
    sql = "select count(*) from range(1000000000000)"
    message = error_of(run(small_root, "query", sql, "--seconds", "0.3"), 1)
    assert message == "expected a query of at most 0.3 seconds; try: --seconds N, or fewer rows"


def test_devices_and_pipes_are_not_replaced(small_root: Path, tmp_path: Path) -> None:
    """Links are followed."""
    os.mkfifo(tmp_path / "pipe")
    message = error_of(run(small_root, "query", "select 1", "-o", tmp_path / "pipe"), 2)
    assert "expected a file, got a device or pipe" in message
    (tmp_path / "link").symlink_to("x.csv")
    assert run(small_root, "query", "select 1 as one", "-o", tmp_path / "link").exit_code == 0
    assert (tmp_path / "x.csv").read_text() == "one\n1\n"
    assert (tmp_path / "link").is_symlink()


def test_queries_leave_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no warehouse, and the current folder stays empty."""
    root = tmp_path / "empty"
    root.mkdir()
    monkeypatch.chdir(root)
    output_of(root, "query", "select count(*) from versions")
    output_of(root, "list")
    assert run(root, "claims").stderr.startswith("not built: claims/all, ")
    assert "expected a warehouse in" in error_of(run(tmp_path / "none", "claims"), 1)
    assert list(tmp_path.rglob("*")) == [root]


def test_closed_output_pipe_ends_the_query(small_root: Path) -> None:
    command = processes.bgdata_command(
        "--warehouse", small_root, "query", "select range, 'x' from range(1000000)", "--format", "csv"
    )
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"range,'x'\n"
        process.stdout.close()
        assert process.stderr.read() == b""


def test_catalog_is_written(warehouse: Warehouse) -> None:
    warehouse.catalog.unlink()
    assert output_of(warehouse.root, "catalog") == f"wrote {warehouse.catalog}\n"
    with duckdb.connect(str(warehouse.catalog), read_only=True) as connection:
        assert connection.sql("select count(*) from bearoff_two_sided_3x3").fetchall() == [(400,)]


@each("options", [(), ("--allow-files",)])
def test_columns_with_equal_names_keep_their_values(small_root: Path, options: tuple[str, ...]) -> None:
    sql = "select * from (values (1, 'nan'::double)) t(x, y) join (values (2, 3::double)) u(x, y) on true"
    (row,) = json.loads(output_of(small_root, "query", sql, "--format", "json", *options))
    assert list(row.values()) == [1, None, 2, 3.0]
    _, line = output_of(small_root, "query", sql, "--format", "csv", *options).splitlines()
    assert line == "1,nan,2,3.0"


@each(
    ("sql", "value"),
    [
        ("select 'ő' as a", "ő"),
        ("select 'Müller; ő' as a;", "Müller; ő"),
        ("select 'x' as \"ő\"; -- ő;;", "x"),
        (" -- ő\nselect 'é' as a; ; ", "é"),
    ],
)
def test_queries_may_have_non_ascii_letters(small_root: Path, sql: str, value: str) -> None:
    (row,) = json.loads(output_of(small_root, "query", sql, "--format", "json"))
    assert list(row.values()) == [value]


@pytest.fixture
def one_table(memory_path: Path) -> Path:
    """A warehouse with a version of only one kind."""
    bgdata.open_warehouse(memory_path).build("bearoff_gammon", RaceParameters(1))
    return memory_path


@each(
    ("sql", "note"),
    {
        "a table": (
            "select count(*) from scores",
            "scores is empty, as nothing of scores is here; try: bgdata score P",
        ),
        "of files": ("from wildbg_training", "nothing of wildbg_training is here; try: bgdata import wildbg_training"),
        "a view": ("from benchmark_losses", "benchmark_losses is empty, as nothing of benchmark_scores, "),
        "labels and turns": (
            "from selfplay_labels join turns using (variant, game, turn)",
            "selfplay_labels and turns have no variant in common; try: join turns using (corpus, game, turn)",
        ),
        "a count of labels and turns": (
            "select count(*) from turns t join selfplay_labels l on t.variant = l.variant and t.game = l.game",
            "selfplay_labels and turns have no variant in common; try: join turns using (corpus, game, turn)",
        ),
        "a natural join": (
            "select count(*) from games natural join position_sample",
            "position_sample and games have no variant in common; try: join games using (corpus, game)",
        ),
    },
)
def test_empty_result_is_explained(one_table: Path, sql: str, note: str) -> None:
    result = run(one_table, "query", sql, "--format", "json")
    assert result.exit_code == 0
    assert note in result.stderr


@each(
    "sql",
    [
        "select count(*) as positions, 1 as scores from bearoff_gammon",  # a column of that name
        "from bearoff_gammon where false",
        "select count(*) from versions",
        "select * from versions v join versions w using (variant)",
        "select 1",
    ],
)
def test_result_of_filled_tables_has_no_note(one_table: Path, sql: str) -> None:
    result = run(one_table, "query", sql, "--format", "json")
    assert (result.exit_code, result.stderr) == (0, "")


def test_every_kind_has_a_command_that_fills_it() -> None:
    for kind in bgdata.all_kinds().values():
        name, *rest = making_command(kind).split()
        assert name in main.commands or name in main.entries, name
        assert rest or name in ("ladder", "check-reference")
    assert FILLED_BY.keys() <= bgdata.all_kinds().keys()
