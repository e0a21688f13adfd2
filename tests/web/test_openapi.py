"""Tests of the OpenAPI document: it describes every address with JSON as it answers."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bgdata.web.openapi import ADDRESSES, JSON, json_path
from tests.command_line import POSITION, position_id
from tests.subtests import each
from tests.web.reading import read

if TYPE_CHECKING:
    from starlette.testclient import TestClient

PAGE = Path(__file__).parents[2] / "docs" / "how_to" / "look_around.md"
SHOWN = re.compile(r"curl 'http://127.0.0.1:8000([^']+)'\n```\n\n```json\n(.*?)```", re.DOTALL)
START = "4HPwATDgc%2FABMA"
MET = "met=published-12"
GAMES = "/game/selfplay/pubeval-20-seed-3"
TABLE = "/table/bearoff_two_sided/3x3"
ROWS = "/rows/bearoff_two_sided/3x3/bearoff_two_sided"
OVER = position_id([0, 2], []).replace("/", "%2F")
EXAMPLES: dict[str, tuple[str, ...]] = {  # real addresses of each path
    "/.json": ("/.json",),
    "/search.json": ("/search.json?q=start", "/search.json?q=31", "/search.json?q=bearoff", "/search.json"),
    "/position/{text}.json": (
        f"/position/{START}.json",
        f"/position/4HPwATDgc/ABMA.json?roll=31&ply=1&plays=60&{MET}&away=3-5",
        f"/position/{START}.json?roll=31&cube=2&owner=on_roll&jacoby=1&beavers=1",
        f"/position/{START}.json?away=1-4&crawford=1&{MET}",
        f"/position/{POSITION}.json?roll=66",
        f"/position/{START}.json?roll=62&play=13/11,24-18",
        f"/position/{START}.json?play=8/5,6/5",
        f"/position/{OVER}.json",
        "/position/XGID=-b----E-C---eE---c-e----B-:1:1:1:31:2:3:0:7:10.json?met=none",
    ),
    "/where/{text}.json": (f"/where/{START}.json",),
    "/probe/{text}.json": (f"/probe/{POSITION}.json",),
    "/cube-map/{text}.json": (f"/cube-map/{START}.json?length=4&{MET}",),
    "/rollout/{text}.json": (f"/rollout/{START}.json?trials=72",),
    "/choices/{text}.json": (
        f"/choices/{POSITION}.json?roll=21&trials=72",
        f"/choices/{POSITION}.json?{MET}&away=3-5",
        f"/choices/{POSITION}.json?cube=2&owner=on_roll&jacoby=1",
        f"/choices/{POSITION}.json?away=1-4&crawford=1&{MET}",
    ),
    "/table.json": ("/table.json",),
    "/table/{kind}.json": ("/table/claims.json",),
    "/table/{kind}/{variant}.json": (f"{TABLE}.json", "/table/scores/{scores}.json", f"/table{GAMES[5:]}.json"),
    "/table/{kind}/{variant}/{version}.json": (f"{TABLE}/{{version}}.json",),
    "/rows/{kind}/{variant}/{table}.json": (
        f"{ROWS}.json",
        f"{ROWS}.json?filter=cubeless > 0&sort=-cubeless&page=2&column=owned",
    ),
    "/file/{kind}/{variant}/{version}/{name}": ("/file/bearoff_two_sided/3x3/{version}/manifest.json",),
    "/game.json": ("/game.json",),
    "/game/{kind}/{variant}.json": (f"{GAMES}.json", f"{GAMES}.json?order=long&page=2"),
    "/game/{kind}/{variant}/{number}.json": (f"{GAMES}/3.json",),
    "/match-equity.json": (
        f"/match-equity.json?{MET}",
        f"/match-equity.json?{MET}&minus=published-12&length=3",
        f"/match-equity.json?{MET}&away=3-5",
        f"/match-equity.json?{MET}&away=1-5&crawford=1",
    ),
    "/claims.json": ("/claims.json", "/claims.json?status=open&status=corrected"),
    "/players.json": ("/players.json",),
    "/matches.json": ("/matches.json", "/matches.json?page=2", "/matches.json?player={player}"),
    "/positions.json": (
        "/positions.json?source=games",
        "/positions.json?source=games&sort=luck",
        f"/positions.json?like={START}",
        "/positions.json?source=matches",
    ),
    "/quiz.json": (
        "/quiz.json",
        "/quiz.json?answer=1",
        "/quiz.json?from=decisions&number=1&answer=2",
        "/quiz.json?from=openings&loss=9",
    ),
    "/openings.json": (
        "/openings.json?objective=double-match-point",
        "/openings.json?objective=double-match-point&roll=13",
    ),
    "/openings/train.json": (
        "/openings/train.json?objective=double-match-point",
        "/openings/train.json?objective=double-match-point&ask=replies",
    ),
    "/race.json": ("/race.json",),
    "/sql.json": ("/sql.json?q=select 1 as one, [2] as two", "/sql.json"),
    "/openapi.json": ("/openapi.json",),
}
WITHOUT_JSON = {
    "/position": "/position.json?q=start",
    "/board/{text:path}": f"/board/{START}.json",
    "/rollout-stream/{text:path}": f"/rollout-stream/{POSITION}.json",
    "/choices-stream/{text:path}": f"/choices-stream/{POSITION}.json?roll=21",
}
PARAMETERS = {"name": str, "in": str, "required": bool, "description": str, "schema": dict}


@pytest.fixture(scope="module")
def api_document(client: TestClient) -> dict[str, Any]:
    """The OpenAPI document of the site."""
    answer = client.get("/openapi.json")
    assert (answer.status_code, answer.headers["content-type"]) == (200, JSON)
    document: dict[str, Any] = answer.json()
    return document


def operations(api_document: dict[str, Any]) -> dict[str, Any]:
    """The operation of each path."""
    return {path: item["get"] for path, item in api_document["paths"].items()}


def pairs_inside(value: object) -> list[tuple[str, Any]]:
    """Every (name, value) of a document, at any depth."""
    if isinstance(value, list):
        return [pair for item in value for pair in pairs_inside(item)]
    if isinstance(value, dict):
        return [pair for name, item in value.items() for pair in [(name, item), *pairs_inside(item)]]
    return []


def check_schema(api_document: dict[str, Any], schema: dict[str, Any], answer: object) -> None:
    """Raise ValidationError for an answer that does not match its schema."""
    from jsonschema import Draft202012Validator

    Draft202012Validator({**schema, "components": api_document["components"]}).validate(answer)


@functools.cache
def names_in(client: TestClient) -> dict[str, str]:
    """Names in addresses that only this warehouse has: a variant, a version and a player."""
    rows = client.get("/table.json").json()
    (scores,) = (row["variant"] for row in rows if row["dataset"] == "scores")
    (version,) = (row["version"] for row in rows if (row["dataset"], row["variant"]) == ("bearoff_two_sided", "3x3"))
    return {
        "{scores}": scores,
        "{version}": version,
        "{player}": client.get("/matches.json").json()["players"][0]["player"],
    }


def filled_address(client: TestClient, where: str) -> str:
    """An address with the names of this warehouse."""
    for field, name in names_in(client).items():
        where = where.replace(field, name)
    return where


def test_document_has_exactly_the_addresses_with_json(client: TestClient, api_document: dict[str, Any]) -> None:
    answering = set[str]()
    for address in ADDRESSES:
        where = WITHOUT_JSON.get(address.path) or EXAMPLES[json_path(address)][0]
        answer = client.get(filled_address(client, where))
        assert answer.status_code in (200, 303), where
        if answer.headers.get("content-type") == JSON:
            answering.add(json_path(address))
    assert answering == set(api_document["paths"]) == set(EXAMPLES)


def test_document_has_the_parts_of_openapi(api_document: dict[str, Any]) -> None:
    """Version 3.1; names are those that generators of clients accept."""
    assert set(api_document) == {"openapi", "info", "paths", "components"}
    assert re.fullmatch(r"3\.1\.\d+", api_document["openapi"])
    assert {"title", "version"} <= set(api_document["info"])
    assert set(api_document["components"]) == {"schemas", "responses"}
    for group in api_document["components"].values():
        assert all(re.fullmatch(r"[\w.-]+", name) for name in group)
    names = [operation["operationId"] for operation in operations(api_document).values()]
    assert all(re.fullmatch(r"\w+", name) for name in names)
    assert len(set(names)) == len(names)


def test_operations_are_described(api_document: dict[str, Any]) -> None:
    for path, operation in operations(api_document).items():
        assert set(api_document["paths"][path]) == {"get"}
        assert set(operation) == {"operationId", "summary", "description", "parameters", "responses"}
        assert len(operation["summary"]) >= 8
        assert operation["description"]
        assert all(re.fullmatch(r"\d{3}", status) for status in operation["responses"])
        answers = [*operation["responses"].values(), *api_document["components"]["responses"].values()]
        for answer in answers:
            assert set(answer) in ({"$ref"}, {"description", "content"})
            assert all(re.fullmatch("[a-z]+/[a-z.-]+", kind) for kind in answer.get("content", ()))


def test_parameters_are_described(api_document: dict[str, Any]) -> None:
    for path, operation in operations(api_document).items():
        for parameter in operation["parameters"]:
            assert {name: type(value) for name, value in parameter.items()} == PARAMETERS
            assert parameter["in"] in ("path", "query")
            assert parameter["required"] == (parameter["in"] == "path")
        names = [(parameter["in"], parameter["name"]) for parameter in operation["parameters"]]
        assert len(set(names)) == len(names)
        assert {name for kind, name in names if kind == "path"} == set(re.findall(r"{(\w+)}", path)), path


def test_links_of_the_document_lead_to_all_components(api_document: dict[str, Any]) -> None:
    links = [link for name, link in pairs_inside(api_document) if name == "$ref"]
    for link in links:
        part: Any = api_document
        for name in link.split("/")[1:]:
            part = part[name]
    components = {name for group in api_document["components"].values() for name in group}
    assert {link.rpartition("/")[2] for link in links} == components


def test_schemas_are_valid(api_document: dict[str, Any]) -> None:
    from jsonschema import Draft202012Validator

    schemas = [schema for name, schema in pairs_inside(api_document) if name == "schema"]
    for schema in (*schemas, *api_document["components"]["schemas"].values()):
        Draft202012Validator.check_schema(schema)
        assert all(column.get("description", "x") for column in schema.get("properties", {}).values())


@each(("path", "examples"), EXAMPLES.items())
def test_answers_match_their_schemas(
    client: TestClient, api_document: dict[str, Any], path: str, examples: tuple[str, ...]
) -> None:
    content = operations(api_document)[path]["responses"]["200"]["content"]
    for where in examples:
        answer = client.get(filled_address(client, where))
        assert (answer.status_code, answer.headers["content-type"]) == (200, JSON), where
        check_schema(api_document, content[JSON]["schema"], answer.json())


def test_other_content_types_are_described(client: TestClient, api_document: dict[str, Any]) -> None:
    for path, examples in {
        "/sql.json": ("/sql.json?q=select 1&format=csv", "/sql.json?q=select 1&format=parquet"),
        "/rows/{kind}/{variant}/{table}.json": (f"{ROWS}.json?format=csv", f"{ROWS}.json?format=parquet"),
        "/file/{kind}/{variant}/{version}/{name}": ("/file/bearoff_two_sided/3x3/{version}/table.parquet",),
    }.items():
        content = operations(api_document)[path]["responses"]["200"]["content"]
        answers = [client.get(filled_address(client, where)) for where in examples]
        assert {answer.headers["content-type"].partition(";")[0] for answer in answers} == set(content) - {JSON}
    with_several_types = {
        path for path, item in operations(api_document).items() if len(item["responses"]["200"]["content"]) > 1
    }
    assert with_several_types == {
        "/sql.json",
        "/rows/{kind}/{variant}/{table}.json",
        "/file/{kind}/{variant}/{version}/{name}",
    }


@each("path", list(EXAMPLES))
def test_parameters_accept_described_values_only(client: TestClient, api_document: dict[str, Any], path: str) -> None:
    """Words of a list and integers in range are accepted in at least one example, because some need a score."""

    def answers(name: str, value: object) -> list[tuple[int, str]]:
        """Status and text of the answer to each example with this parameter."""
        addresses = [filled_address(client, where) for where in EXAMPLES[path]]
        responses = [client.get(f"{where}{'&' if '?' in where else '?'}{name}={value}") for where in addresses]
        return [(response.status_code, response.text) for response in responses]

    for parameter in operations(api_document)[path]["parameters"]:
        name, schema = parameter["name"], parameter["schema"].get("items", parameter["schema"])
        if parameter["in"] == "path":
            continue
        for word in schema.get("enum", ()):
            assert 200 in dict(answers(name, word)), (name, word)
        if "maximum" in schema:
            bound = f"{schema['maximum']:,}"
            assert all(bound in text for _, text in answers(name, schema["maximum"] + 1)), name
            largest = answers(name, schema["maximum"])  # a table may have less
            assert any(status == 200 or bound not in text for status, text in largest), name
        if {"enum", "minimum", "pattern"} & set(schema):
            assert 400 in dict(answers(name, "no-such")), name


def test_errors_match_their_schemas(client: TestClient, api_document: dict[str, Any]) -> None:
    """The address with plays has two errors of one status."""
    for where, status in {
        "/position/nonsense.json": 400,
        "/table/none.json": 404,
        f"{GAMES}/99.json": 404,
        "/sql.json?q=select": 400,
        "/sql.json?q=" + "x" * 9000: 414,
    }.items():
        answer = client.get(where)
        assert answer.status_code == status
        content = api_document["components"]["responses"][str(status)]["content"]
        check_schema(api_document, content[JSON]["schema"], answer.json())
    schema = operations(api_document)["/position/{text}.json"]["responses"]["400"]["content"][JSON]["schema"]
    for query, names in (("roll=31&play=8/1", {"error", "verdict", "legal_plays"}), ("roll=71", {"error"})):
        answer = client.get(f"/position/{START}.json?{query}")
        assert (answer.status_code, set(answer.json())) == (400, names)
        check_schema(api_document, schema, answer.json())
    assert "$ref" in operations(api_document)["/where/{text}.json"]["responses"]["400"]


def test_empty_warehouse_has_the_same_document(empty: TestClient, api_document: dict[str, Any]) -> None:
    assert "/openapi.json" in read(empty, "/").links
    assert empty.get("/openapi.json").json() == api_document


def approximate(value: object) -> object:
    """A value with tolerance in its numbers, because tables of other sizes differ."""
    if isinstance(value, float):
        return pytest.approx(value, abs=1e-4)
    if isinstance(value, list):
        return [approximate(item) for item in value]
    return {name: approximate(item) for name, item in value.items()} if isinstance(value, dict) else value


def test_examples_of_the_documentation_are_answered(client: TestClient) -> None:
    ((where, answer),) = SHOWN.findall(PAGE.read_text())
    assert client.get(where).json() == approximate(json.loads(answer))
