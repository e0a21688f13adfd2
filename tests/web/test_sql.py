"""SQL from strangers: what it answers, and what it cannot do."""

from __future__ import annotations

import csv
import io
import json
import re
from html import unescape
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from bgdata.web.answer import address
from bgdata.web.sql import EXAMPLES
from tests.cli.command_line import succeeds
from tests.web.reading import read


def ask(client: TestClient, query: str, form: str = "rows", status: int = 200) -> object:
    answer = client.get("/sql.json", params={"q": query, "format": form})
    assert answer.status_code == status, answer.text
    return answer.json()


def test_rows_are_those_of_the_command(client: TestClient, site_root: Path) -> None:
    query = "select * from bearoff_two_sided order by all limit 20"
    assert ask(client, query) == json.loads(succeeds(site_root, "query", query, "--format", "json"))
    assert ask(client, "select 1 where false") == []
    assert ask(client, "") == []


@pytest.mark.parametrize(("_", "query"), EXAMPLES, ids=[what for what, _ in EXAMPLES])
def test_examples(client: TestClient, _: str, query: str) -> None:
    answer = client.get("/sql", params={"q": query})
    assert answer.status_code == 200, answer.text


def test_files(client: TestClient) -> None:
    query = "select position_id, board from turns order by all limit 3"
    rows = ask(client, query)
    answer = client.get("/sql", params={"q": query, "format": "csv"})
    assert answer.headers["content-disposition"] == 'attachment; filename="query.csv"'
    found = list(csv.DictReader(io.StringIO(answer.text)))
    assert [{"position_id": row["position_id"], "board": json.loads(row["board"])} for row in found] == rows
    table = pq.read_table(io.BytesIO(client.get("/sql", params={"q": query, "format": "parquet"}).content))
    assert table.to_pylist() == rows


def test_limits_of_rows(client: TestClient) -> None:
    page = read(client, "/sql?q=from range(51)")
    assert "50 rows, and there are more" in page.text
    assert "50 rows." in read(client, "/sql?q=from range(50)").text
    text = client.get("/sql", params={"q": "from range(200000)", "format": "csv"}).text
    assert len(text.splitlines()) == 1 + 100_000


def test_positions_lead_to_boards(client: TestClient) -> None:
    page = read(client, "/sql?q=select position_id, board from turns limit 1")
    assert len([link for link in page.links if link.startswith("/position/")]) >= 3


def test_nothing_of_an_answer_is_an_element(client: TestClient) -> None:
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
    "selec",
    "select * from nowhere",
    "select 1/",
)


@pytest.mark.parametrize("query", FORBIDDEN)
def test_what_queries_cannot_do(client: TestClient, query: str) -> None:
    found = ask(client, query, status=400)
    assert isinstance(found, dict)
    assert "root:" not in found["error"]
    assert read(client, f"/sql?q={query.replace(';', '%3B')}", 400)
    assert ask(client, "select 1 as one") == [{"one": 1}]


def test_paths_of_the_warehouse_are_hidden(client: TestClient, site_root: Path) -> None:
    for query in (
        "select sql from duckdb_views()",
        "select * from duckdb_settings()",
        "explain from bearoff_two_sided",
    ):
        answer = client.get("/sql.json", params={"q": query})
        assert answer.status_code == 200
        assert str(site_root) not in answer.text
    answer = client.get("/sql", params={"q": "select sql from duckdb_views()", "format": "parquet"})
    texts = pq.read_table(io.BytesIO(answer.content)).column("sql").to_pylist()
    assert any("warehouse/" in text for text in texts)
    assert not any(str(site_root) in text for text in texts)


@pytest.mark.slow
def test_queries_that_take_too_long_are_ended(client: TestClient) -> None:
    """DuckDB stops what it can stop; the process of one that it cannot stop is ended, and the next has another."""
    for query in ("select count(*) from range(10000000000) a, range(10000) b", "select sleep_ms(600000)"):
        found = ask(client, query, status=400)
        assert isinstance(found, dict)
        assert ask(client, "select 2 as two") == [{"two": 2}]


def test_queries_that_take_too_much_are_refused(client: TestClient) -> None:
    found = ask(client, "select repeat('x', 20000000) as x", status=400)
    assert isinstance(found, dict)
    assert "expected an answer of at most" in found["error"]
    ask(client, "select list(a.range) from range(1000000000) a", status=400)
    assert ask(client, "select 3 as three") == [{"three": 3}]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=60))
def test_any_text(client: TestClient, query: str) -> None:
    try:
        query.encode()
    except UnicodeEncodeError:
        return
    assert client.get("/sql", params={"q": query}).status_code in (200, 400)


def test_formats(client: TestClient) -> None:
    assert "expected the format rows, csv or parquet" in read(client, "/sql?q=select 1&format=exe", 400).text


def test_positions_are_drawn(client: TestClient) -> None:
    """As pictures that are there, each below the name that leads to it."""
    where = address("/sql", {"q": "select position_id, board, play from turns limit 3"})
    text, page = client.get(where).text, read(client, where)
    pictures = [unescape(each) for each in re.findall(r'<img class="drawn" src="([^"]*)"', text)]
    assert len(pictures) == 6
    for picture in pictures:
        assert picture.replace("/board/", "/position/") in page.links
        assert client.get(picture).headers["content-type"] == "image/svg+xml"
