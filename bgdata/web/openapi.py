"""The list of the site's addresses with their JSON, which the application serves and describes as OpenAPI 3.1.

An address is described by the docstring of its function. Schemas are in `openapi.toml`. Rows that SQL also has take
their columns, types and meanings from the catalog.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from bgdata.equity import pages as equity
from bgdata.evaluation.pages import cube_map, editor, occurrences, position
from bgdata.game.match import MAX_CUBE, CubeOwner
from bgdata.kinds.columns import CHANCE_COLUMNS
from bgdata.matches.pages import games, library
from bgdata.matches.pages.quiz import ABOUT, MOST, quiz
from bgdata.matches.questions import SOURCES
from bgdata.matches.quiz import PHASES
from bgdata.measures.pages import players
from bgdata.openings.pages import trainer
from bgdata.openings.pages.book import OBJECTIVES, openings
from bgdata.selfplay.pages import choices
from bgdata.selfplay.pages import rollout as rollouts
from bgdata.studies.claims.definitions import KINDS, STATUSES
from bgdata.studies.pages import races, register
from bgdata.version import __version__
from bgdata.warehouse import row_query
from bgdata.warehouse.pages import positions as browsed
from bgdata.warehouse.pages import query_charts, sql, tables
from bgdata.warehouse.pages import rows as table_rows
from bgdata.web import home, search
from bgdata.web.answer import STATUS_WORDS, UNTOUCHED, Endpoint, as_json
from bgdata.web.position_request import LONGEST, PLAYS
from bgdata.web.site import Limits, Site

Schema: TypeAlias = dict[str, Any]  # JSON Schema 2020-12, as in OpenAPI 3.1

SQL_TYPES = {"VARCHAR": "string", "BOOLEAN": "boolean", "FLOAT": "number", "DOUBLE": "number"}  # other types: integer
TYPES = {"string", "boolean", "number", "integer", "object"}
OWNER = {"type": "string", "enum": [*CubeOwner]}
PARAMETER = re.compile(r"{(\w+)(:path)?}")
JSON = "application/json"
SCHEMAS: Mapping[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
PARTS: Mapping[str, Mapping[str, str]] = SCHEMAS["parts"] | {
    "chances": {column.name: f"number? {column.meaning}" for column in CHANCE_COLUMNS}
}
CATALOG = """
select table_name, column_name, data_type, comment from duckdb_columns()
where not internal and list_contains($tables, table_name) order by table_name, column_index
"""


class Address(NamedTuple):
    """An address of the site: its path, its function, the name of its JSON in `openapi.toml` (empty if it has none),
    the parameters of its query, and other content types that it may return."""

    path: str
    endpoint: Endpoint
    answer: str = ""
    query: Mapping[str, Schema] = {}
    others: Sequence[str] = ()


def schema_of(words: str) -> Schema:
    """Return the JSON schema for a line of `openapi.toml` such as `number? how large`: a type, which may be null, and a
    meaning."""
    kind, _, meaning = words.partition(" ")
    if kind.startswith("{"):
        found: Schema = {"type": "object", "additionalProperties": schema_of(kind[1:-1])}
    elif kind.endswith("[]"):
        found = {"type": "array", "items": schema_of(kind.removesuffix("[]"))}
    elif "|" in kind:
        found = {"anyOf": [schema_of(each) for each in kind.split("|")]}
    elif (name := kind.removesuffix("?")) in TYPES:
        found = {"type": [name, "null"] if kind != name else name}
    else:
        found = OWNER if kind == "owner" else {"$ref": f"#/components/schemas/{kind}"}
    return found | ({"description": meaning} if meaning else {})


def row(properties: Mapping[str, Schema], optional: Sequence[str] = ()) -> Schema:
    """Return the schema of an object that has exactly these properties, so that a test finds any property that is not
    described."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def columns_of(declared: Mapping[str, Any]) -> dict[str, str]:
    """Return the columns that a table of `openapi.toml` declares: first those of the tables that it includes, then its
    own."""
    found: dict[str, str] = {}
    for part in declared.get("_with", ()):
        found |= columns_of(PARTS[part])
    return found | {name: words for name, words in declared.items() if not name.startswith("_")}


def components(site: Site) -> dict[str, Schema]:
    """Return all named schemas. Raises the errors of `Site.rows`."""
    rows: Mapping[str, Mapping[str, Any]] = SCHEMAS["rows"]
    catalog: dict[str, dict[str, Schema]] = {}
    for each in site.rows(
        CATALOG, {"tables": [declared["_view"] for declared in rows.values() if "_view" in declared]}
    ):
        item = SQL_TYPES.get(each["data_type"].removesuffix("[]"), "integer")
        schema: Schema = {"type": [item, "null"], "description": each["comment"]}
        if each["data_type"].endswith("[]"):
            schema |= {"type": ["array", "null"], "items": {"type": item}}
        catalog.setdefault(each["table_name"], {})[each["column_name"]] = schema
    found = {}
    for name, declared in rows.items():
        if "_view" in declared:
            known, without = catalog[declared["_view"]], declared.get("_without", ())
            found[name] = row({each: known[each] for each in declared.get("_columns", known) if each not in without})
        elif "_description" in declared:
            found[name] = {"type": "object", "description": declared["_description"]}
        else:
            columns = {column: schema_of(words) for column, words in columns_of(declared).items()}
            found[name] = row(columns, declared.get("_optional", ()))
    return found


def text(meaning: str, **more: object) -> Schema:
    """Return the schema of a string in a path or a query."""
    return {"type": "string", "description": meaning} | more


def integer(meaning: str, least: int, most: int | None = None, default: int | None = None) -> Schema:
    """Return the schema of an integer between `least` and `most` in a path or a query."""
    found: Schema = {"type": "integer", "description": meaning, "minimum": least}
    return found | {name: each for name, each in (("maximum", most), ("default", default)) if each is not None}


def flag(meaning: str) -> Schema:
    """Return the schema of a boolean in a query."""
    return {"type": "integer", "enum": [0, 1], "description": meaning}


def several(meaning: str, words: Sequence[str]) -> Schema:
    """Return the schema of a query parameter that can be given several times, each time with one of these words."""
    return {"type": "array", "items": {"type": "string", "enum": [*words]}, "description": f"{meaning}; several: again"}


MET = text("Match equity table; without one the default table of the warehouse")
AWAY = r"^[0-9]+-[0-9]+$"
CRAWFORD = flag("Whether this is the Crawford game")
PLY = integer("Rolls looked ahead", 0, Limits.ply, 0)
STAKES: Mapping[str, Schema] = {
    "away": text("Points that the player on roll and the opponent need: 3-5", pattern=AWAY),
    "crawford": CRAWFORD,
    "cube": integer("Value of the cube", 1, MAX_CUBE),
    "owner": text("Who may double", enum=[*CubeOwner]),
    "jacoby": flag("Money play with the Jacoby rule"),
    "beavers": flag("Money play with beavers"),
    "met": MET,
}
PATH: Mapping[str, Schema] = {
    "text": text("A position in any notation; / may stand as it is or as %2F", maxLength=LONGEST),
    "kind": text("Kind of dataset"),
    "variant": text("Variant of the kind"),
    "version": text("Version of the variant, r2-77285ba0"),
    "table": text("A table of the kind"),
    "name": text("A file of the manifest, or manifest.json"),
    "number": integer("Number of the game in its version", 0, games.MAX_GAME),
}
POSITION = {
    "roll": text("A roll: 31"),
    "play": text("One legal play, to show it alone: 13/11, 24-18"),
    "plays": integer("Plays of the roll that are ranked", 1, Limits.plays, PLAYS),
    "ply": PLY,
    **STAKES,
}
CUBE_MAP = {
    "show": text("What the cells of the page show", enum=[*cube_map.SHOWN]),
    "length": integer("Most points to go", 2, 15, cube_map.MAP),
    "met": MET,
    "ply": PLY,
}
TRIALS = integer("Games", 72, Limits.trials, rollouts.TRIALS) | {"multipleOf": 36}
CHOICES = {"roll": POSITION["roll"], "trials": TRIALS, "ply": PLY, **STAKES}
CORPUS = {
    "order": text("Which games, and in which order", enum=[*games.FILTERS], default="all"),
    "page": integer(f"Pages of {games.PAGE} games", 1, games.MAX_GAME, 1),
}
EQUITIES = {
    "met": MET,
    "minus": text("Another table, to compare with"),
    "show": text("What the cells of the page show", enum=[*equity.SHOWS], default="mwc"),
    "length": integer("Most points to go", 1, 64),
    "away": text("A score whose stakes are asked for: 3-5", pattern=AWAY),
    "crawford": CRAWFORD,
}
CLAIMS = {
    "name": text("The beginning of claims, several with spaces between"),
    "status": several("What came of it", STATUSES),
    "kind": several("Kind of claim", KINDS),
    "document": text("Document that has the claim"),
    "erratum": flag("Errata alone"),
    "page": integer("Pages of the HTML; JSON has all claims", 1),
}
OPENINGS = {
    "objective": text("What is at stake", enum=[*OBJECTIVES], default=OBJECTIVES[0]),
    "roll": text("A first roll, whose replies are asked for: 31", pattern="^[1-6]{2}$"),
}
POSITIONS = {
    "source": text("Where the positions are from; without it the first of `sources`", enum=[*browsed.SOURCES]),
    "class": text("Only positions of this class", enum=browsed.CLASSES),
    "theme": text("Only positions of this theme: blitz"),
    "roll": text("Only this roll: 31"),
    "score": text("Only at this score: money, or points to go of the player on roll and the opponent, 3-5"),
    "cube": text("Only with a cube of this value", enum=[*map(str, browsed.CUBES)]),
    "loss": text("Only where at least so many points were lost: 0.08"),
    "player": text("Only decisions of this player"),
    "sort": text("Order; without it as the tables have them", enum=[*filter(None, browsed.SORTS)]),
    "page": integer(f"Pages of {browsed.PAGE} positions", 1, browsed.MAX_PAGE, 1),
    "like": text("A position in any notation: the plays made there, and the positions of games nearest to it"),
}
MATCHES = {
    "player": text("Whose decisions are reported"),
    "analysis": text("Variant of match_analysis; without it the one with the most decisions of the player"),
    "page": integer(f"Pages of {library.PAGE} matches", 1, library.MAX_PAGE, 1),
    "since": text("Only matches of this date and later, in the report too: 2026-01-31"),
}
TRAINING = {
    "objective": text("What is at stake", enum=[*trainer.OBJECTIVES], default="money"),
    "ask": text("First rolls, or replies to them", enum=[*trainer.ASK], default=trainer.ASK[0]),
    "roll": text("Only questions with this first roll: 31"),
    "number": integer("Which question; after the last comes the first", 1, trainer.MAX_QUESTIONS, 1),
    "answer": text("An answer: one of the plays in `choices`"),
}
QUIZ = {
    "from": text("Table of the questions; without it and a player the first of `sources`", enum=[*SOURCES]),
    "player": text("Whose errors are asked"),
    "analysis": text("Variant of match_analysis; without it the one with the most errors of the player"),
    "theme": text("Only positions of this theme: blitz"),
    "phase": text("Only positions of this class", enum=[*PHASES]),
    "about": text("Only plays, or only cube actions", enum=[*ABOUT]),
    "loss": text("Only questions in which at least so many points can be lost: 0.08"),
    "number": integer("Which question, those with the greatest loss first; after the last comes the end", 1, MOST, 1),
    "answer": text("An answer, by its text"),
    "answered": integer("Questions that were answered before, for the page", 0, MOST, 0),
    "right": integer("How many of them rightly", 0, MOST, 0),
}
RACES = {"rules": text("Variant of race_rules"), "errors": text("Variant of race_error")}
SQL = {
    "q": text("One query that reads, in DuckDB's dialect"),
    "name": text("Title of the page, for bookmarks"),
    "chart": text("Chart of the result on the page", enum=[*query_charts.CHARTS]),
    "x": text("Column of the chart's x axis; without one the first that fits"),
    "y": text("Column of the chart's y axis; without one the next that fits"),
    "value": text("Column of the values of a heat map"),
    "format": text("JSON, or a file", enum=["rows", *sql.FILES], default="rows"),
}
FILE_TYPES = [kind.partition(";")[0] for kind in sql.FILES.values()]
ROWS = {
    "filter": {
        "type": "array",
        "items": {"type": "string"},
        "description": "A condition on a column, n_turns >= 100, with one of "
        f"{', '.join(row_query.OPERATORS)}; several: again",
    },
    "sort": text("Column to sort by; descending with - before it"),
    "page": integer(f"Pages of {table_rows.PAGE} rows", 1, table_rows.MAX_PAGE, 1),
    "column": text("Column whose values the page shows"),
    "format": SQL["format"],
}


def document(site: Site, _: Request) -> Response:
    """The OpenAPI 3.1 document, which describes every address of this site that answers with JSON."""
    return as_json(site.keep("openapi", lambda: openapi_document(site)))


ADDRESSES: Sequence[Address] = (
    Address("/", home.home, "holding[]"),
    Address(
        "/search", search.search, "place[]", {"q": text("What is searched, which may be a text with positions in it")}
    ),
    Address("/position", editor.redirect_form),
    Address("/position/{text:path}", position.page, "position", POSITION),
    Address("/board/{text:path}", position.board),
    Address("/where/{text:path}", occurrences.occurrences_page, "occurrence[]"),
    Address("/probe/{text:path}", occurrences.probe, "probe[]"),
    Address("/cube-map/{text:path}", cube_map.page, "cube_score[]", CUBE_MAP),
    Address("/rollout/{text:path}", rollouts.page, "rollout[]", {"trials": TRIALS}),
    Address("/rollout-stream/{text:path}", rollouts.stream),
    Address("/choices/{text:path}", choices.page, "choice[]", CHOICES),
    Address("/choices-stream/{text:path}", choices.stream),
    Address("/table", tables.kinds, "version[]"),
    Address("/table/{kind}", tables.kind, "part[]"),
    Address("/table/{kind}/{variant}", tables.table, "table"),
    Address("/table/{kind}/{variant}/{version}", tables.table, "table"),
    Address("/rows/{kind}/{variant}/{table}", table_rows.page, "any[]", ROWS, FILE_TYPES),
    Address(
        "/file/{kind}/{variant}/{version}/{name}", tables.file, "object The manifest", {}, ["application/octet-stream"]
    ),
    Address("/game", games.corpora, "corpus[]"),
    Address("/game/{kind}/{variant}", games.corpus, "corpus_game[]", CORPUS),
    Address("/game/{kind}/{variant}/{number}", games.game, "replay"),
    Address("/match-equity", equity.page, "equity|equity_difference|stakes[]", EQUITIES),
    Address("/claims", register.claims, "claim[]", CLAIMS),
    Address("/players", players, "players", {"player": text("The scores of this player alone")}),
    Address("/openings", openings, "opening[]", OPENINGS),
    Address("/openings/train", trainer.trainer, "training", TRAINING),
    Address("/matches", library.matches, "matches", MATCHES),
    Address("/positions", browsed.positions, "positions", POSITIONS),
    Address("/quiz", quiz, "quiz", QUIZ),
    Address("/race", races.page, "races", RACES),
    Address("/sql", sql.page, "any[]", SQL, FILE_TYPES),
    Address("/openapi", document, "object This document"),
)
ERRORS = (400, 404, 413, 414, 421, 500, 503)  # the keys of STATUS_WORDS that a GET may return
OWN_ERRORS = {"/position/{text:path}": {400: "error|illegal_play"}}  # further errors of an address


def openapi_document(site: Site) -> Schema:
    """Return the OpenAPI document of a site, before it is converted to JSON. Raises the errors of `Site.rows`."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "bgdata",
            "version": __version__,
            "description": "Backgammon positions, tables and claims, only to be read. Without .json an address "
            "is a page, or the same JSON where `Accept: application/json` asks for it.",
        },
        "paths": {json_path(each): {"get": operation(each)} for each in ADDRESSES if each.answer},
        "components": {
            "schemas": components(site),
            "responses": {str(status): error_response(status, "error") for status in ERRORS},
        },
    }


def json_path(each: Address) -> str:
    """Return the path at which an address always answers with JSON, whatever the request accepts."""
    path = PARAMETER.sub(r"{\1}", each.path)
    return path if path.startswith(UNTOUCHED) else f"{path}.json"


def operation(each: Address) -> Schema:
    """Return what the OpenAPI document says about an address."""
    words = " ".join((inspect.getdoc(each.endpoint) or "").split()).partition(" Raises ")[0]
    given = [("path", found[1], PATH[found[1]]) for found in PARAMETER.finditer(each.path)]
    given += [("query", name, schema) for name, schema in each.query.items()]
    return {
        "operationId": re.sub(r"\W+", "_", PARAMETER.sub(r"by_\1", each.path)).strip("_") or "home",
        "summary": re.split(r"[.:;] ", words)[0].rstrip("."),
        "description": words,
        "parameters": [
            {
                "name": name,
                "in": place,
                "required": place == "path",
                "description": schema["description"],
                "schema": {key: value for key, value in schema.items() if key != "description"},
            }
            for place, name, schema in given
        ],
        "responses": {
            "200": {
                "description": "What was asked for",
                "content": {JSON: {"schema": schema_of(each.answer)}, **{kind: {} for kind in each.others}},
            },
            **{str(status): {"$ref": f"#/components/responses/{status}"} for status in ERRORS},
            **{str(status): error_response(status, kind) for status, kind in OWN_ERRORS.get(each.path, {}).items()},
        },
    }


def error_response(status: int, kind: str) -> Schema:
    """Return what the OpenAPI document says about an error with this HTTP status."""
    return {
        "description": STATUS_WORDS.get(status, "Something went wrong"),
        "content": {JSON: {"schema": schema_of(kind)}},
    }
