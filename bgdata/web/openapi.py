"""The addresses of the site, and what each answers as JSON: one list, which the application serves and which is written
as OpenAPI 3.1 for programs.

Words about an address are the docstring of the function that answers; rows that SQL has too take their columns, types
and meanings from the catalog. What is left is said here beside the address.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple, TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from bgdata.equity import pages as equity
from bgdata.evaluation import pages as positions
from bgdata.game.match import MOST_CUBE, CubeOwner
from bgdata.kinds.columns import CHANCE_COLUMNS
from bgdata.matches import pages as games
from bgdata.selfplay import pages as rollouts
from bgdata.studies.claims.definitions import KINDS, STATUSES
from bgdata.studies.kinds.claims import DATASET as CLAIMS
from bgdata.studies.pages import races, register
from bgdata.warehouse import pages as tables
from bgdata.web import home
from bgdata.web.answer import STATUS_WORDS, UNTOUCHED, Endpoint, as_json
from bgdata.web.position_request import LONGEST, PLAYS
from bgdata.web.site import Limits, Site

Schema: TypeAlias = dict[str, Any]  # JSON Schema of 2020-12, which OpenAPI 3.1 has

TYPES = {"VARCHAR": "string", "BOOLEAN": "boolean", "FLOAT": "number", "DOUBLE": "number"}  # others are integers
PARAMETER = re.compile(r"{(\w+)(:path)?}")
JSON = "application/json"
TEXT = {"type": "string"}
FLAG = {"enum": [0, 1], "type": "integer"}


class Address(NamedTuple):
    """A path as Starlette has it, what answers there, the schema of its JSON (None: it has none), what its query takes,
    other types of content that it may answer, and the components that an error of its own may be, by status."""

    path: str
    endpoint: Endpoint
    answer: Schema | None = None
    query: Mapping[str, Schema] = {}
    others: Sequence[str] = ()
    errors: Mapping[int, Sequence[str]] = {}


def value(words: str) -> Schema:
    """The schema that `number? how large` says: a type, `?` where null may stand, and a meaning."""
    kind, _, meaning = words.partition(" ")
    name = kind.removesuffix("?")
    return {"type": [name, "null"] if kind != name else name, "description": meaning}


def column(kind: str, comment: str) -> Schema:
    """The schema of a column of SQL."""
    item = TYPES.get(kind.removesuffix("[]"), "integer")
    schema: Schema = {"type": ["array", "null"], "items": {"type": item}} if kind.endswith("[]") else {}
    return {"type": [item, "null"], "description": comment} | schema


def row(columns: Mapping[str, str | Schema], optional: Sequence[str] = ()) -> Schema:
    """An object with these columns and no others, all of them present but for the `optional`."""
    properties = {name: value(each) if isinstance(each, str) else each for name, each in columns.items()}
    required = [name for name in properties if name not in optional]
    # closed, so that a test notices a column that nobody described
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def any_of(*names: str) -> Schema:
    """One of these components."""
    links = [{"$ref": f"#/components/schemas/{name}"} for name in names]
    return links[0] if len(links) == 1 else {"anyOf": links}


def rows(*names: str) -> Schema:
    """A list of rows of one of these components."""
    return {"type": "array", "items": any_of(*names)}


def one_of(words: Sequence[str], default: str = "") -> Schema:
    """One of some words."""
    return TEXT | {"enum": [*words]} | ({"default": default} if default else {})


def whole(least: int, most: int | None = None, default: int | None = None) -> Schema:
    """A whole number from `least` to `most`."""
    found: Schema = {"type": "integer", "minimum": least}
    return found | {name: each for name, each in (("maximum", most), ("default", default)) if each is not None}


def describe(schema: Schema, meaning: str) -> Schema:
    """A schema with its meaning."""
    return schema | {"description": meaning}


MET = describe(TEXT, "Match equity table; without one the default table of the warehouse")
AWAY = describe(TEXT | {"pattern": "^[0-9]+-[0-9]+$"}, "Points that the player on roll and the opponent need: 3-5")
CRAWFORD = describe(FLAG, "Whether this is the Crawford game")
PLY = describe(whole(0, Limits.ply, 0), "Rolls looked ahead")
STAKES: Mapping[str, Schema] = {
    "away": AWAY,
    "crawford": CRAWFORD,
    "cube": describe(whole(1, MOST_CUBE), "Value of the cube"),
    "owner": describe(one_of([*CubeOwner]), "Who may double"),
    "jacoby": describe(FLAG, "Money play with the Jacoby rule"),
    "beavers": describe(FLAG, "Money play with beavers"),
    "met": MET,
}
PATH: Mapping[str, Schema] = {
    "text": describe(TEXT | {"maxLength": LONGEST}, "A position in any notation; / may stand as it is or as %2F"),
    "kind": describe(TEXT, "Kind of dataset"),
    "variant": describe(TEXT, "Variant of the kind"),
    "version": describe(TEXT, "Version of the variant, r2-77285ba0"),
    "name": describe(TEXT, "A file of the manifest, or manifest.json"),
    "number": describe(whole(0, games.MOST_GAME), "Number of the game in its version"),
}

CHANCES = {column.name: f"number? {column.meaning}" for column in CHANCE_COLUMNS}
EVALUATION = CHANCES | {
    "cubeless_equity": "number Points that a game wins on average without a cube",
    "source": "string What the answer comes from: exact, combined, contact_network, ...",
    "ply": "integer Rolls looked ahead",
    "accuracy": "string How exact the answer is",
}
CHANCES_SOURCE = ("source", "ply", "accuracy")
SCORE = {
    "away": "integer? Points that the player on roll needs; null for money",
    "opponent_away": "integer? Points that the opponent needs; null for money",
    "is_crawford": "boolean? Whether this is the Crawford game; null for money",
}
ID = {"position_id": "string Position ID, of the player on roll"}
CELL = {
    "met": "string Name of the match equity table",
    "is_post_crawford": "boolean Whether the Crawford game is over",
    "away": "integer Points that the player needs",
    "opponent_away": "integer Points that the opponent needs",
    "mwc": "number The player's chance of winning the match",
}
ERROR = {"error": "string What was expected, and what was found"}
LEGAL_PLAYS: Schema = {"type": "array", "items": {"type": "string"}}
ROWS: Mapping[str, Schema] = {
    "error": row(ERROR),
    "illegal_play": row(
        {
            **ERROR,
            "verdict": "string `illegal: ` and the rule that the play breaks",
            "legal_plays": describe(LEGAL_PLAYS, "All plays of the roll; without a roll, of every roll"),
        }
    ),
    "show": row(
        {"class": "string Class of the position", **ID}
        | {name: f"string {name}, another notation" for name in ("match_id", "gnubg_id", "xgid", "key20", "board")}
        | {"pip_count": "integer Pips of the player on roll", "roll": "string The roll that was asked for"}
        | {"play": "string A legal play of it", "next_position_id": "string Position ID after it, of the opponent"},
        ["match_id", "gnubg_id", "xgid", "roll", "play", "next_position_id"],
    ),
    "eval": row(ID | EVALUATION),
    "cube": row(
        {
            **ID,
            **SCORE,
            "is_jacoby": "boolean? Whether the Jacoby rule holds; null for a match",
            "cube_value": "integer Value of the cube",
            "cube_owner": one_of([*CubeOwner]),
            "best": {
                "type": "array",
                "items": TEXT,
                "description": "The best action, with those that are worth as much",
            },
            "equity": "number Value of the best action, as `unit` says",
            "double_gain": "number? What doubling gains against not doubling",
            "take_gain": "number? What taking gains against passing",
            "no_double": "number? Value of not doubling",
            "double_take": "number? Value of double, take",
            "double_beaver": "number? Value of double, beaver",
            "double_pass": "number? Value of double, pass",
            "unit": "string points, or mwc: the chance of winning the match",
            "method": "string exact, or the model of the cube",
            "accuracy": "string How exact that is",
            "why_not": "string Why there is no decision; empty where there is one",
            **dict.fromkeys(("take_point", "double_point", "cash_point", "too_good_point"), "number? Winning chance"),
            **{f"chances_{name}" if name in CHANCES_SOURCE else name: words for name, words in EVALUATION.items()},
        }
    ),
    "probe": row(
        ID
        | {
            "source": "string Table that answers",
            "method": "string exact, or combined: two one-sided tables",
            "error_bound": "number? How far the equity may be off",
            **{name: CHANCES[name] for name in ("win", "win_gammon", "lose_gammon")},
            "cubeless": "number? Equity without a cube",
            "corrected": "number? The same less what a leader is overrated by on average, where tables are combined",
            "owned": "number? Equity where the player on roll owns the cube",
            "centered": "number? Equity with a centered cube",
            "opponent_owned": "number? Equity where the opponent owns the cube",
            "cube_action": "string? The right action with a centered cube",
            "mean_rolls": "number? Mean rolls to bear off",
            "sd_rolls": "number? Standard deviation of these",
            "opponent_mean_rolls": "number? Mean rolls of the opponent",
            "opponent_sd_rolls": "number? Standard deviation of these",
        }
    ),
    "hint": row(
        ID
        | {
            "roll": "string The roll",
            "rank": "integer 1 for the best play",
            "play": "string The play in the usual notation",
            "loss": "number What it loses against the best",
            "cubeful_equity": "number? Points with the cube; null where nothing is said of what is played for",
            "mwc": "number? Chance of winning the match; null for money",
        }
        | EVALUATION
    ),
    "roll": row(
        {
            "roll": "string The roll, the higher die first",
            "weight": "integer Of 36",
            "equity": "number Without a cube, after the best play at 0-ply",
            "luck": "number Equity less that of rolls on average",
            "shade": "integer Color of a heat map, -5 to 5",
        }
    ),
    "occurrence": row(
        {
            "table": "string Table of SQL",
            "variant": "string? Variant of it",
            "rows": "integer? Rows about the position",
            "address": "string Where the first of them are; empty where there are none",
            "games": {"type": "array", "items": TEXT, "description": "Addresses of the first games that have it"},
        }
    ),
    "cube_score": row(
        {name: words.replace("?", "") for name, words in SCORE.items()}
        | {
            "action": "string The best action; none where there is no decision",
            "words": "string The same in words",
            "mwc": "number Chance of winning the match by the best action",
            "method": "string exact, or the model of the cube",
            "double_gain": "number? What doubling gains against not doubling",
            "take_gain": "number? What taking gains against passing",
        }
    ),
    "rollout": row(
        ID
        | {"player": "string Who plays both sides", "version": "string Its version"}
        | {"tables": "string The tables in which games end, with commas"}
        | CHANCES
        | {f"{name}_standard_error": f"number Standard error of {name}" for name in CHANCES}
        | {
            "cubeless_equity": "number Points that a game wins on average without a cube",
            "standard_error": "number Standard error of the equity",
            "plain_standard_error": "number The same without reducing luck",
            "trials": "integer Games",
            "is_reached": "boolean Whether the standard error is as small as wanted",
        }
    ),
    "game_error": row(
        {
            "turn": "integer Number of the turn",
            "player": "integer Who erred: 0 or 1",
            "is_cube": "boolean Whether the error is of the cube",
            "made": "string What was done: a play, a cube action, or no double where doubling was best",
            "best": "string? What was best with the cube, in words; null for a play",
            "loss": "number What that lost, as in `losses` or `cube_losses`",
        }
    ),
    "game_total": row(
        {
            "player": "integer Whose losses these are: 0 or 1",
            "name": "string Name of the player",
            "plays": "number What plays lost, points",
            "cube_actions": "number What doubles, takes and passes lost: mwc, or for money points per unit cube",
            "missed_doubles": "number What doubles lost that were not made, in the same unit",
        }
    ),
    "claim": row({each.name: column(each.type, each.comment) for each in CLAIMS.columns}),
    "holding": row(
        {
            "kind": "string Kind of dataset",
            "summary": "string What it is",
            "variants": {"type": "array", "items": TEXT, "description": "What there is of it"},
            "rows": "integer Rows of the current versions",
            "bytes": "integer Their size",
            "damaged": "integer Versions that are damaged",
        }
    ),
    "version": row(
        {
            "dataset": "string Kind of dataset",
            "summary": "string What it is",
            "variant": "string? Variant; null, with all that follows, where nothing is built",
            "version": "string? Version; null where the current one of a variant is not there",
            "is_current": "boolean? Whether the version answers for its variant",
            "rows": "integer? Rows of the main table",
            "bytes": "integer? Size of its files",
            "damage": "string? What is wrong with it",
        }
    ),
    "part": row(
        {
            "explained": "string Kind of dataset",
            "part": "string column, array, parameter, check or input",
            "name": "string Its name",
            "type": "string Its type",
            "unit": "string Its unit",
            "meaning": "string Its meaning",
        }
    ),
    "table": row(
        {
            "name": "string Kind, variant and version",
            "is_current": "boolean Whether the version answers for its variant",
            "damage": "string? What is wrong with it",
            "manifest": "object What it is, what it was made from, and the hashes that prove it",
            "rebuild": "string The command that makes it again",
            "tables": {"type": "object", "additionalProperties": rows("any"), "description": "Sample rows by table"},
        }
    ),
    "any": {"type": "object", "description": "A row with the columns of its table, or of a query"},
    "equity": row(CELL),
    "equity_difference": row(
        CELL
        | {
            "other_met": "string Name of the other table",
            "other_mwc": "number The chance by the other table",
            "difference": "number mwc less other_mwc",
        }
    ),
    "stakes": row(
        {
            **{name: words for name, words in CELL.items() if name != "is_post_crawford"},
            "is_crawford": "boolean Whether this is the Crawford game",
            "cube_value": "integer Value of the cube",
            **{
                f"mwc_{end}": f"number? Chance of winning the match after this end of the game: {end}"
                for end in ("win", "win_gammon", "lose", "lose_gammon")
            },
            "gammon_value": "number? Value of a gammon",
            "take_point": "number? Winning chance that a take needs; null in the Crawford game",
        }
    ),
    "network": row(
        {
            "network": "string Kind and variant",
            "version": "string Its version",
            "started_from": "string? The network that it began as",
            "learned_from": "string What it learned from",
            "hidden": "string? Hidden units",
            "points_per_game": "number Against PubEval",
            "standard_error": "number Standard error of these",
            "start_points_per_game": "number? Those of the beginning",
            "seconds": "number Time that it learned",
            "created": "string When it was made",
        }
    ),
}
POSITION: Schema = row(
    {
        "verdict": value("string? `legal: ` and the play in the usual notation; null where none was given"),
        "legal_plays": describe(LEGAL_PLAYS, "All plays of the roll; without one of every roll, if a play was given"),
    }
    | {**{name: rows(name) for name in ("show", "eval", "cube", "probe", "hint")}, "rolls": rows("roll")}
    | {"errors": {"type": "object", "additionalProperties": TEXT, "description": "Why a part could not be answered"}}
)
CORPUS = [
    "game", "match", "game_number", "player_0", "player_1", "match_length", "score_0", "score_1", "winner",
    "points_won", "n_turns", "luck_0",
]  # fmt: skip
VIEWS: Mapping[str, tuple[str, Sequence[str]]] = {  # component: (table or view, the columns of it; none: all)
    "game": ("games", ()),
    "corpus_game": ("games", CORPUS),
    "turn": ("turns", ()),
    "score": ("scores", ()),
    "rule": ("race_rule_losses", ()),
    "race_error": ("race_error", ()),
    "opening": ("opening_book", [
        "variant", "objective", "first_roll", "first_play", "reply_roll", "position_id", "play", "equity",
        "standard_error", "second_play", "second_loss", "second_loss_standard_error", "n_candidates", "games",
        "network",
    ]),
}  # fmt: skip
CATALOG = """
select table_name, column_name, data_type, comment from duckdb_columns()
where not internal and list_contains($tables, table_name) order by table_name, column_index
"""
GAME: Schema = row(
    {
        "game": {"$ref": "#/components/schemas/game"},
        "turns": rows("turn"),
        "losses": {
            "type": "array",
            "items": {"type": ["number", "null"]},
            "description": "What each turn lost at 0-ply, points",
        },
        "cube_losses": {
            "type": "array",
            "items": {"type": ["number", "null"]},
            "description": "What each double, take or pass, or roll without a double, lost: mwc, or for money points "
            "per unit cube",
        },
        "best_cube_actions": {
            "type": "array",
            "items": {"type": ["string", "null"]},
            "description": "What was best with the cube, in words; null where nothing was to be decided",
        },
        "errors": rows("game_error"),
        "totals": rows("game_total"),
    }
)


def document(site: Site, _: Request) -> Response:
    """The addresses of this site that answer JSON, as OpenAPI 3.1."""
    return as_json(site.keep("openapi", lambda: openapi_document(site)))


NAME, FILTER = describe(TEXT, "The beginning of claims, several with spaces between"), {"type": "array"}
ADDRESSES: Sequence[Address] = (
    Address("/", home.home, rows("holding")),
    Address("/search", home.search),
    Address("/position", positions.go),
    Address(
        "/position/{text:path}",
        positions.page,
        POSITION,
        {
            "roll": describe(TEXT, "A roll: 31"),
            "play": describe(TEXT, "One legal play, to show it alone: 13/11, 24-18"),
            "plays": describe(whole(1, Limits.plays, PLAYS), "Plays of the roll that are ranked"),
            "ply": PLY,
            **STAKES,
        },
        errors={400: ("error", "illegal_play")},
    ),
    Address("/board/{text:path}", positions.board),
    Address("/where/{text:path}", positions.where, rows("occurrence")),
    Address("/probe/{text:path}", positions.probe, rows("probe")),
    Address(
        "/cube-map/{text:path}",
        positions.cube_map,
        rows("cube_score"),
        {"length": describe(whole(2, 15, positions.MAP), "Most points to go"), "met": MET, "ply": PLY},
    ),
    Address(
        "/rollout/{text:path}",
        rollouts.page,
        rows("rollout"),
        {"trials": describe(whole(72, Limits.trials, rollouts.TRIALS) | {"multipleOf": 36}, "Games")},
    ),
    Address("/rollout-stream/{text:path}", rollouts.stream),
    Address("/table", tables.kinds, rows("version")),
    Address("/table/{kind}", tables.kind, rows("part")),
    Address("/table/{kind}/{variant}", tables.table, {"$ref": "#/components/schemas/table"}),
    Address("/table/{kind}/{variant}/{version}", tables.table, {"$ref": "#/components/schemas/table"}),
    Address(
        "/file/{kind}/{variant}/{version}/{name}",
        tables.file,
        describe({"type": "object"}, "The manifest"),
        others=["application/octet-stream"],
    ),
    Address(
        "/game/{kind}/{variant}",
        games.corpus,
        rows("corpus_game"),
        {
            "order": describe(one_of([*games.FILTERS], "all"), "Which games, and in which order"),
            "page": describe(whole(1, games.MOST_GAME, 1), f"Pages of {games.PAGE} games"),
        },
    ),
    Address("/game/{kind}/{variant}/{number}", games.game, GAME),
    Address(
        "/match-equity",
        equity.page,
        rows("equity", "equity_difference", "stakes"),
        {
            "met": MET,
            "minus": describe(TEXT, "Another table, to compare with"),
            "length": describe(whole(1, 64), "Most points to go"),
            "away": describe(AWAY, "A score whose stakes are asked for: 3-5"),
            "crawford": CRAWFORD,
        },
    ),
    Address(
        "/claims",
        register.claims,
        rows("claim"),
        {
            "name": NAME,
            "status": describe(FILTER | {"items": one_of(STATUSES)}, "What came of it; several: again"),
            "kind": describe(FILTER | {"items": one_of(KINDS)}, "Kind of claim; several: again"),
            "erratum": describe(FLAG, "Errata alone"),
        },
    ),
    Address(
        "/players",
        register.players,
        row({"scores": rows("score"), "networks": rows("network")}),
        {"player": describe(TEXT, "The scores of this player alone")},
    ),
    Address(
        "/openings",
        register.openings,
        rows("opening"),
        {
            "objective": describe(one_of(register.OBJECTIVES, register.OBJECTIVES[0]), "What is at stake"),
            "roll": describe(TEXT | {"pattern": "^[1-6]{2}$"}, "A first roll, whose replies are asked for: 31"),
        },
    ),
    Address(
        "/race",
        races.page,
        row({"rules": rows("rule"), "errors": rows("race_error")}),
        {"rules": describe(TEXT, "Variant of race_rules"), "errors": describe(TEXT, "Variant of race_error")},
    ),
    Address(
        "/sql",
        tables.sql,
        rows("any"),
        {
            "q": describe(TEXT, "One query that reads, in DuckDB's dialect"),
            "format": describe(one_of(["rows", *tables.FILES], "rows"), "JSON, or a file"),
        },
        [kind.partition(";")[0] for kind in tables.FILES.values()],
    ),
    Address("/openapi", document, describe({"type": "object"}, "This document")),
)
ERRORS = (400, 404, 413, 414, 421, 500, 503)  # of STATUS_WORDS those that a GET may have


def openapi_document(site: Site) -> Schema:
    """The document. Raises what `Site.rows` raises."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "bgdata",
            "version": version("bgdata"),
            "description": "Backgammon positions, tables and claims, only to be read. Without .json an address "
            "is a page, or the same JSON where `Accept: application/json` asks for it.",
        },
        "paths": dict(paths()),
        "components": {
            "schemas": {**ROWS, **from_catalog(site)},
            "responses": {str(status): error_response(status, "error") for status in ERRORS},
        },
    }


def from_catalog(site: Site) -> dict[str, Schema]:
    """The components of `VIEWS`, with types and meanings from the catalog. Any value may be null."""
    found: dict[str, dict[str, str | Schema]] = {}
    for each in site.rows(CATALOG, {"tables": [name for name, _ in VIEWS.values()]}):
        found.setdefault(each["table_name"], {})[each["column_name"]] = column(each["data_type"], each["comment"])
    return {
        name: row({chosen: found[table][chosen] for chosen in columns or found[table]})
        for name, (table, columns) in VIEWS.items()
    }


def paths() -> Iterator[tuple[str, Schema]]:
    """(path, item) of every address that answers JSON."""
    for each in ADDRESSES:
        if each.answer is not None:
            yield json_path(each), {"get": operation(each, each.answer)}


def json_path(each: Address) -> str:
    """The path at which an address answers JSON to anybody."""
    path = PARAMETER.sub(r"{\1}", each.path)
    return path if path.startswith(UNTOUCHED) else f"{path}.json"


def operation(each: Address, answer: Schema) -> Schema:
    """What OpenAPI says of an address."""
    words = " ".join((inspect.getdoc(each.endpoint) or "").split()).partition(" Raises ")[0]
    in_path = [found[1] for found in PARAMETER.finditer(each.path)]
    parameters = [
        *(parameter(name, "path", PATH[name]) for name in in_path),
        *(parameter(name, "query", schema) for name, schema in each.query.items()),
    ]
    content = {JSON: {"schema": answer}, **{kind: {} for kind in each.others}}
    return {
        "operationId": re.sub(r"\W+", "_", PARAMETER.sub(r"by_\1", each.path)).strip("_") or "home",
        "summary": re.split(r"[.:;] ", words)[0].rstrip("."),
        "description": words,
        "parameters": parameters,
        "responses": {"200": {"description": "What was asked for", "content": content}}
        | {str(status): {"$ref": f"#/components/responses/{status}"} for status in ERRORS}
        | {str(status): error_response(status, *names) for status, names in each.errors.items()},
    }


def parameter(name: str, place: str, schema: Schema) -> Schema:
    """A parameter of an address; those of its path are required."""
    bare = {key: each for key, each in schema.items() if key != "description"}
    return {
        "name": name,
        "in": place,
        "required": place == "path",
        "description": schema["description"],
        "schema": bare,
    }


def error_response(status: int, *names: str) -> Schema:
    """What an error answers: one of some components."""
    content = {JSON: {"schema": any_of(*names)}}
    return {"description": STATUS_WORDS.get(status, "Something went wrong"), "content": content}
