"""Tests of the page about races, against commands and SQL."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from bgdata.bearoff.kinds.race_error import DATASET as ERRORS
from bgdata.studies.kinds.race_rules import DATASET as RULES
from tests.command_line import output_of
from tests.web.reading import read

if TYPE_CHECKING:
    from starlette.testclient import TestClient

RULE_TABLE, ERROR_TABLE = RULES.slug(RULES.smallest), ERRORS.slug(ERRORS.smallest)


def query_rows(client: TestClient, query: str) -> list[dict[str, object]]:
    """The rows that a query of the site gives."""
    rows: list[dict[str, object]] = client.get("/sql.json", params={"q": query}).json()
    return rows


def test_page_shows_the_rules_of_the_command(client: TestClient, site_root: Path) -> None:
    corpus = "selfplay/" + RULE_TABLE.partition("-of-")[2]
    rows = json.loads(output_of(site_root, "race-rules", corpus, "--table", "6x6", "--format", "json"))
    page_rows = client.get(f"/race.json?rules={RULE_TABLE}").json()["rules"]
    assert [{name: row[name] for name in rows[0]} for row in page_rows] == rows


@pytest.mark.parametrize(("by", "column"), [("played", "played_total_loss"), ("equal", "total_loss")])
def test_rules_are_ordered_by_loss(client: TestClient, by: str, column: str) -> None:
    rows = query_rows(client, f"select rule, {column} as loss from race_rule_losses where {column} is not null")
    losses = {str(row["rule"]): float(str(row["loss"])) for row in rows}
    text = read(client, f"/race?by={by}").text
    body = text.partition("double redouble take double redouble take all")[2].partition("How each rule counts")[0]
    listed = [word for word in body.split() if word in losses]
    assert sorted(listed) == sorted(losses)
    assert [losses[name] for name in listed] == sorted(losses.values())


def test_weighting_without_positions_is_reported(client: TestClient) -> None:
    """A weighting for which the table has no positions, such as long races in the smallest table, is reported."""
    assert f"No such position came up in race_rules/{RULE_TABLE}" in read(client, "/race?by=longer").text


def test_errors_equal_those_of_sql(client: TestClient) -> None:
    expected = query_rows(client, f"from race_error where variant = '{ERROR_TABLE}' and grouping = 'all'")
    page_rows = client.get(f"/race.json?errors={ERROR_TABLE}").json()["errors"]
    assert [row for row in page_rows if row["grouping"] == "all"] == expected
    assert [row["on_roll_group"] for row in page_rows if row["grouping"] == "checkers"] == [1, 2, 3]


def test_worst_pairs_link_to_their_positions(client: TestClient) -> None:
    """The linked pages of the worst pairs show exact and combined equities that differ by the printed amount."""
    page = read(client, f"/race?errors={ERROR_TABLE}")
    (row,) = (row for row in client.get("/race.json").json()["errors"] if row["grouping"] == "all")
    links = [link for link in page.links if link.startswith("/position/") and not link.endswith("ABMA")]
    for link, which in zip(links, ("largest", "smallest"), strict=True):
        exact, combined = (probe["cubeless"] for probe in client.get(f"{link}.json").json()["probe"])
        assert combined - exact == pytest.approx(row[f"{which}_difference"], abs=1e-4)


def test_picture_has_every_pair_of_pip_counts(client: TestClient) -> None:
    text = client.get(f"/race?errors={ERROR_TABLE}").text
    picture = text.partition("<figure>")[2].partition("<figcaption")[0]
    squares = sum(path.attrib["d"].count("M") for path in ElementTree.fromstring(picture) if "d" in path.attrib)
    groups = f"from race_error where variant = '{ERROR_TABLE}' and grouping = 'pips'"
    assert query_rows(client, f"select count(*) as n {groups}") == [{"n": squares}]


def test_page_without_tables_names_the_commands(empty: TestClient) -> None:
    text = read(empty, "/race").text
    assert "bgdata race-rules selfplay/network-10000-seed-1" in text
    assert "bgdata race-error" in text
    assert empty.get("/race.json").json() == {"rules": [], "errors": []}


@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        ("by=luck", 400, "expected a weighting: played, longer, equal, got 'luck'"),
        ("rules=none", 404, "no race_rules/'none' in warehouse"),
        ("errors=<b>", 404, "no race_error/'<b>' in warehouse"),
    ],
)
def test_invalid_queries_are_refused(client: TestClient, query: str, status: int, message: str) -> None:
    assert message in read(client, f"/race?{query}", status).text
