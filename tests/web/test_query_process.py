"""Tests of untrusted SQL: answers, limits and refusals."""

from __future__ import annotations

import csv
import io
import json
import multiprocessing.util
import re
import tempfile
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import Mock

import duckdb
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bgdata
from bgdata.errors import MissingWarehouseError, QueryError
from bgdata.store.locked_sql import QueryLimits, lock, open_memory
from bgdata.warehouse.pages.sql import EXAMPLES, FILES
from bgdata.web.answer import address
from bgdata.web.app import create_app
from bgdata.web.query_process import QueryProcess
from bgdata.web.site import Limits, Site
from tests.command_line import output_of
from tests.subtests import each
from tests.web.reading import open_client, read

if TYPE_CHECKING:
    from starlette.testclient import TestClient


@pytest.fixture(scope="module")
def limited_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A client of a site whose queries have little memory and disk space."""
    limits = Limits(sql_seconds=5.0, sql_bytes=100 << 20, sql_disk_bytes=1 << 20)
    app = create_app(bgdata.open_warehouse(tmp_path_factory.mktemp("empty")), limits)
    with open_client(app) as client:
        yield client


def ask(client: TestClient, query: str, form: str = "rows") -> object:
    answer = client.get("/sql.json", params={"q": query, "format": form})
    assert answer.status_code == 200, answer.text
    return answer.json()


def error_for(client: TestClient, query: str, form: str = "rows") -> str:
    """The error of a query; checks that the next query is answered."""
    answer = client.get("/sql.json", params={"q": query, "format": form})
    assert answer.status_code == 400, answer.text
    assert ask(client, "select 1 as one") == [{"one": 1}]
    error: str = answer.json()["error"]
    assert "\n" not in error
    return error


def test_rows_equal_those_of_the_command(client: TestClient, site_root: Path) -> None:
    query = "select * from bearoff_two_sided order by all limit 20"
    assert ask(client, query) == json.loads(output_of(site_root, "query", query, "--format", "json"))
    numbers = "select 0.5 as x, 3 * 0.5 as y, sum(rows) * 0.5 as z from versions"  # DECIMAL, in DuckDB
    assert ask(client, numbers) == json.loads(output_of(site_root, "query", numbers, "--format", "json"))
    assert ask(client, "select 1 where false") == []
    assert ask(client, "") == []


@pytest.mark.parametrize(("_", "query"), EXAMPLES, ids=[what for what, _ in EXAMPLES])
def test_examples_of_the_page_are_answered(client: TestClient, _: str, query: str) -> None:
    answer = client.get("/sql", params={"q": query})
    assert answer.status_code == 200, answer.text


def test_results_are_files(client: TestClient) -> None:
    query = "select position_id, board from turns order by all limit 3"
    rows = ask(client, query)
    answer = client.get("/sql", params={"q": query, "format": "csv"})
    assert answer.headers["content-disposition"] == 'attachment; filename="query.csv"'
    sheet = list(csv.DictReader(io.StringIO(answer.text)))
    assert [{"position_id": row["position_id"], "board": json.loads(row["board"])} for row in sheet] == rows
    table = pq.read_table(io.BytesIO(client.get("/sql", params={"q": query, "format": "parquet"}).content))
    assert table.to_pylist() == rows
    assert "try: cast such columns to varchar" in error_for(client, "select interval '1 day' as x", "parquet")
    assert "expected the format rows, csv or parquet" in read(client, "/sql?q=select 1&format=exe", 400).text


def test_number_of_rows_is_limited(client: TestClient) -> None:
    page = read(client, "/sql?q=from range(51)")
    assert "50 rows, and there are more" in page.text
    assert "50 rows." in read(client, "/sql?q=from range(50)").text
    text = client.get("/sql", params={"q": "from range(200000)", "format": "csv"}).text
    assert len(text.splitlines()) == 1 + 100_000


def test_answers_are_escaped(client: TestClient) -> None:
    texts = "<script>alert(1)</script>", "<script>alert(2)</script>", '"><img src=x onerror=y>'
    query = f"""select '{texts[0]}' as "{texts[1]}", '{texts[2]}' as position_id"""
    answer = client.get("/sql", params={"q": query})
    assert answer.status_code == 200
    assert "<script>alert" not in answer.text
    assert "<img" not in answer.text
    assert "<script>alert(1)</script>" in read(client, f"/sql?q={query.replace('#', '')}").text


FORBIDDEN = (
    "copy (select 1) to '/tmp/x.csv'",
    "with a as (copy (select 1) to '/tmp/x.csv') from a",
    "attach '/tmp/x.db'",
    "create table t as select 1",
    "drop view turns",
    "set enable_external_access = true",
    "reset lock_configuration",
    "pragma database_list",
    "install httpfs",
    "load httpfs",
    "select 1; select 2",
    "from read_text('/etc/passwd')",
    "from read_csv('/etc/passwd')",
    "from '/etc/passwd'",
    "from glob('/etc/*')",
    "from read_parquet('/nowhere.parquet')",
    "from read_blob('/proc/self/environ')",
    "select getenv('HOME')",
    "call pragma_version()",
    "export database '/tmp/x'",
    "from destroy_external_resource('query', 'select 1')",
    "from Register_External_Resource_Type('x', kind := 'server', create_function := 'y')",
    "selec",
    "select * from nowhere",
    "select 1/",
)


@each("query", FORBIDDEN)
def test_forbidden_queries_are_refused(client: TestClient, query: str) -> None:
    assert "root:" not in error_for(client, query)
    assert read(client, f"/sql?q={query.replace(';', '%3B')}", 400)


SHOWING = (  # queries that could show file paths
    "select sql from duckdb_views()",
    "select reverse(sql) from duckdb_views() where sql like '%read_parquet%'",
    "explain from bearoff_two_sided",
    "explain analyze from bearoff_two_sided",
    "from duckdb_extensions()",
    "from duckdb_secrets()",
    "from duckdb_databases()",
    "from duckdb_temporary_files()",
    "from duckdb_external_file_cache()",
    "from duckdb_logs",
    "from duckdb_variables()",
    "from pragma_database_size()",
    "from (show databases)",
    "from (show temp_directory)",
    "from (show extension_directory)",
    "from (show home_directory)",
    "from (show secret_directory)",
    "from read_parquet('warehouse/none.parquet')",
    "select error(sql) from duckdb_views() where sql like '%read_parquet%'",
    "from parquet_file_metadata((select 'warehouse/bearoff_two_sided/3x3/current'))",
)


def test_no_query_shows_a_path(client: TestClient, site_root: Path) -> None:
    """No path is shown, not even reversed, which would avoid replacement in the text."""
    error_for(client, "select filename from read_parquet('/etc/passwd', filename = true)")
    folders = {str(site_root), str(Path.home()), tempfile.gettempdir(), str(Path.cwd())}
    for query in SHOWING:
        for form in ("rows", "csv", "parquet"):
            answer = client.get("/sql", params={"q": query, "format": form})
            text = answer.text
            if answer.headers["content-type"] == FILES["parquet"]:
                text = str(pq.read_table(io.BytesIO(answer.content)).to_pylist())
            for folder in folders:
                assert folder not in text, query
                assert folder[::-1] not in text, query
    (row, *_) = client.get("/sql.json", params={"q": SHOWING[0] + " where sql like '%read_parquet%'"}).json()
    assert "list_value('warehouse/" in row["sql"]


@each(
    "query",
    [
        "from duckdb_settings()",
        "select reverse(value) from system.main.DUCKDB_settings()",
        "from pg_settings",
        "select current_setting('temp_directory')",
        "select 'threads'.\"Current_Setting\"()",
        "from (show allowed_paths)",
        "from (show 'allowed_directories')",
        "from query('from duckdb' || '_settings()')",
        "from query/* */('from duckdb' || '_settings()')",
        "from query --\n('from duckdb' || '_settings()')",
        "from \"query\" ('from duckdb' || '_settings()')",
        "from query\u00a0('from duckdb' || '_settings()')",
        "from query_table('pg' || '_settings')",
        "from json_execute_serialized_sql(json_serialize_sql('from duckdb' || '_settings()'))",
    ],
)
def test_settings_are_not_shown(client: TestClient, query: str) -> None:
    """Some settings of DuckDB contain the full path of the warehouse."""
    assert "expected a query of tables, not of settings" in error_for(client, query)
    assert isinstance(ask(client, "select claim, query from claims limit 1"), list)


LARGE = {  # too much memory before the first row; too large rows
    "select repeat('x', 20000000) from range(1000)": "expected a query that fits into its memory",
    "select repeat('x', 1000000) from range(18)": "expected an answer of at most 16,777,216 bytes, found more",
}


@pytest.mark.parametrize(("query", "message"), LARGE.items())
@pytest.mark.parametrize("form", ["rows", "parquet"])
def test_too_large_answers_are_refused(limited_client: TestClient, query: str, message: str, form: str) -> None:
    """The process stays within its memory limit."""
    assert error_for(limited_client, query, form).startswith(message)


def test_error_after_thousands_of_rows_is_reported(client: TestClient) -> None:
    query = "select (case when range = 3000 then 'x' else '1' end)::int as a from range(200000)"
    for form in ("csv", "parquet"):
        assert "Could not convert string 'x' to INT32" in error_for(client, query, form)


def test_query_process_that_cannot_start_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing warehouse, whose error is an OSError too, is reported as such."""
    queries = QueryProcess(Site(bgdata.open_warehouse(tmp_path)))
    with monkeypatch.context() as patched:
        patched.setattr(multiprocessing.util, "spawnv_passfds", Mock(side_effect=BlockingIOError("no more processes")))
        with pytest.raises(QueryError, match="expected a query that fits into its limits"):
            queries.ask("select 1 as one")
    assert queries.ask("select 1 as one").rows == [[1]]
    queries.end()
    queries = QueryProcess(Site(bgdata.open_warehouse(tmp_path / "none")))
    with pytest.raises(MissingWarehouseError, match=r"expected a warehouse in .*/none, found no such folder"):
        queries.ask("select 1 as one")


def test_query_process_without_memory_is_replaced(limited_client: TestClient) -> None:
    error_for(limited_client, "select map([1], [list(range)]) from range(40000000)")
    sorting = "select count(*) as n from (select md5(range::varchar) as b from range(50000) order by b)"
    assert ask(limited_client, sorting) == [{"n": 50000}]


def test_files_of_queries_are_limited() -> None:
    with open_memory() as connection:
        lock(connection, QueryLimits(5.0, 100 << 20, 10 << 20))
        with pytest.raises(duckdb.OutOfMemoryException, match="max_temp_directory_size"):
            connection.execute("select max(b) from (select md5(range::varchar) as b from range(6000000) order by b)")


@pytest.mark.slow
def test_queries_that_take_too_long_are_stopped(client: TestClient) -> None:
    """If DuckDB cannot stop a query, its process is killed, and the next query gets a new one."""
    for query in ("select count(*) from range(10000000000) a, range(10000) b", "select sleep_ms(600000)"):
        error_for(client, query)


def test_queries_that_take_too_much_are_refused(client: TestClient) -> None:
    assert "expected an answer of at most" in error_for(client, "select repeat('x', 20000000) as x")
    error_for(client, "select list(a.range) from range(1000000000) a")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=60))
def test_any_text_is_answered_or_refused(client: TestClient, query: str) -> None:
    try:
        query.encode()
    except UnicodeEncodeError:
        return
    assert client.get("/sql", params={"q": query}).status_code in (200, 400)


def test_position_ids_have_pictures(client: TestClient) -> None:
    """Each picture exists, and is below the link to its position."""
    where = address("/sql", {"q": "select position_id, board, play from turns limit 3"})
    text, page = client.get(where).text, read(client, where)
    pictures = [unescape(each) for each in re.findall(r'<img class="drawn" src="([^"]*)"', text)]
    assert len(pictures) == 6
    for picture in pictures:
        assert picture.replace("/board/", "/position/") in page.links
        assert client.get(picture).headers["content-type"] == "image/svg+xml"
