"""The search of every page: positions in any text, tables, claims, players, pages, and suggestions for a part of a
name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from bgdata.errors import BgdataError, cite
from bgdata.game.identifiers import identifiers_in, parse_identifier, parse_plain
from bgdata.game.ogid import SHAPE as OGID
from bgdata.game.ogid import parse_ogid
from bgdata.game.position import START
from bgdata.store.names import identifier
from bgdata.studies.pages.register import register_of
from bgdata.studies.rows import is_named
from bgdata.web.answer import Page, address, as_json, position_path, wants_json
from bgdata.web.position_request import LONGEST, stakes_query
from bgdata.web.site import Site

PLAYERS = "select distinct player_name as name from scores"
MATCH_PLAYERS = """
with known as (select distinct player as name from players)
select name from known union select alias from (
    select unnest(map_keys(coalesce(getvariable('player_aliases')::map(varchar, varchar), map {}))) as alias
) where player_named(alias) in (from known)
"""  # names of players and their aliases
VIEWS = "select view_name as name from duckdb_views() where not internal"
ROWS = 20  # rows of a view in search results
MAX_CHARACTERS = 4000  # longest text in which positions are searched
OFFERS = 12  # maximum number of suggestions of each kind
OPENING = re.compile(r"\s*\bopenings?\b\s*", re.IGNORECASE)  # a word that may stand beside a roll
OWN = re.compile(
    r"(?:position|where|probe|cube-map|choices|rollout|table|game|match-equity|claims|players|openings|quiz|matches|positions|race|rows|sql)(?:/|$)"
)
POSITION_ID = re.compile(r"(?<![\w+/])[A-Za-z0-9+/]{14}(?![\w+/])")
ROLL = re.compile(r"([1-6])\s?[-,/]?\s?([1-6])")
PAGES = {
    "openings": "/openings",
    "opening trainer": "/openings/train",
    "match equity": "/match-equity",
    "games": "/game",
    "players": "/players",
    "positions": "/positions",
    "matches": "/matches",
    "quiz": "/quiz",
    "race": "/race",
    "claims": "/claims",
    "tables": "/table",
    "sql": "/sql",
}


class Place(NamedTuple):
    """A page that the search has found: what type of thing it is about, its name, and its address."""

    kind: str
    name: str
    address: str


def search(site: Site, request: Request) -> Page | Response:
    """The pages that match a text: it may be a position in any notation, a text that contains positions, an address of
    this site, or the name of a table, view, claim or player, or a part of such a name. If only one page matches, it is
    shown at once."""
    text = request.query_params.get("q", "").strip()[:MAX_CHARACTERS]
    found = find_places(site, text) if text else [Place("page", "home", "/")]
    if found and wants_json(request):
        return as_json([place._asdict() for place in found])
    if len(found) == 1:
        return RedirectResponse(found[0].address, 303)
    message = "" if found else (
        f"expected a position in any notation, a table such as bearoff_two_sided/6x9, a view such as games, "
        f"a claim such as A8 or a player, got {cite(text)}"
    )  # fmt: skip
    shown = {"places": found, "typed": text, "message": message}
    return Page("search.html", shown, {"error": message}, 200 if found else 400)


def find_places(site: Site, text: str) -> list[Place]:
    """Return the pages that match a text. They are the page that has this name; else the pages of positions in the
    text; else the pages whose names contain it."""
    if exact := named_address(site, text):
        return [Place("position" if exact.startswith("/position") else "page", text, exact)]
    found = list(dict.fromkeys(positions_in(text)))
    return found or list(dict.fromkeys(partial_matches(site, text)))


def named_address(site: Site, text: str) -> str:
    """Return the address of the page that has exactly this name, or that the position or address in the text names;
    empty if there is no such page."""
    if own := own_address(text):
        return own
    kind, _, rest = text.partition("/")
    if kind in site.warehouse.kinds:
        return f"/table/{quote(text)}" if rest else f"/table/{kind}"
    if len(text) <= LONGEST:
        with suppress(BgdataError):
            parse_plain(text)
            return position_path(text)
    with suppress(BgdataError):  # there may be no register of claims
        if any(is_named(row["claim"], row["part"], text) for row in register_of(site)[1]):
            return address("/claims", {"name": text})
    if found := next((name for name in match_players(site) if name.casefold() == text.casefold()), ""):
        return address("/matches", {"player": found})
    for name in site.warehouse.kinds:
        if text in site.warehouse.variants(name):
            return f"/table/{name}/{quote(text)}"
    if text in known_names(site, VIEWS):
        return view_address(text)
    return address("/players", {"player": text}) if text in known_names(site, PLAYERS) else ""


def own_address(text: str) -> str:
    """Return the path and query of an address on a site like this one, whatever its host; empty if the text is not such
    an address."""
    if not re.match(r"https?://|/", text, re.IGNORECASE):
        return ""
    with suppress(ValueError):  # the host of the address may be invalid
        parts = urlsplit(text)
        path = parts.path.removesuffix(".json").lstrip("/")
        if OWN.match(path):
            return f"/{quote(path, safe='/%+:=,-')}" + f"?{quote(parts.query, safe='/%+:=,-&')}" * bool(parts.query)
    return ""


def view_address(name: str) -> str:
    """Return the address of the page that shows the first rows of a view."""
    return address("/sql", {"q": f"from {name if name.isidentifier() else identifier(name)} limit {ROWS}"})


def positions_in(text: str) -> Iterator[Place]:
    """Yield the pages of the positions that occur in a text: those of `identifiers_in`, or, if it finds none, the pages
    of all Position IDs."""
    for found in identifiers_in(text) or POSITION_ID.findall(text):
        with suppress(BgdataError):
            if OGID.fullmatch(found):
                yield from ogid_places(found)
            else:
                parse_identifier(found)
                yield Place("position", found, position_path(found))


def ogid_places(text: str) -> Iterator[Place]:
    """Yield two pages for an OpenGammon ID, one for each player on roll, because programs differ in whose turn it is.
    Raises InvalidPositionError or InvalidScoreError if the identifier is invalid."""
    position, match = parse_ogid(text)
    for board, stakes, name in (
        (position, match.stakes, "as bgdata reads it"),
        (position.flip(), match.stakes.flip(), "the other side on roll"),
    ):
        link = address(position_path(board), {"roll": match.roll, **stakes_query(stakes)})
        yield Place("position", f"{board.id}, {name}", link)


def partial_matches(site: Site, text: str) -> Iterator[Place]:
    """Yield the pages whose names contain a text: rolls, tables, views, players, claims and pages of the menu."""
    if roll := ROLL.fullmatch(OPENING.sub("", text)):
        dice = "".join(sorted(roll.groups(), reverse=True))
        yield Place("position", f"{dice} from the start", address(position_path(START), {"roll": dice}))
        if dice[0] != dice[1]:
            yield Place("openings", f"the opening {dice} and its replies", address("/openings", {"roll": dice}))
    word = text.lower()
    if len(word) < 2:
        return
    yield from (Place("page", name, where) for name, where in PAGES.items() if word in name)
    kinds = (name for name in site.warehouse.kinds if word in name)
    yield from islice((Place("table", name, f"/table/{name}") for name in kinds), OFFERS)
    variants = (
        Place("table", f"{name}/{variant}", f"/table/{name}/{quote(variant)}")
        for name in site.warehouse.kinds
        for variant in site.warehouse.variants(name)
        if word in variant.lower()
    )
    yield from islice(variants, OFFERS)
    views = (name for name in sorted(known_names(site, VIEWS)) if word in name.lower())
    yield from islice((Place("view", name, view_address(name)) for name in views), OFFERS)
    people = (name for name in sorted(match_players(site)) if word in name.lower())
    yield from islice((Place("player", name, address("/matches", {"player": name})) for name in people), OFFERS)
    players = (name for name in sorted(known_names(site, PLAYERS)) if word in name.lower())
    yield from islice((Place("player", name, address("/players", {"player": name})) for name in players), OFFERS)
    with suppress(BgdataError):
        claims = (
            Place("claim", f"{row['claim']}: {row['subject']}", address("/claims", {"name": row["claim"]}))
            for row in register_of(site)[1]
            if word in f"{row['claim']} {row['subject']} {row['source']}".lower()
        )
        yield from islice(claims, OFFERS)


def match_players(site: Site) -> set[str]:
    """Return all names of the players of analysed matches."""
    return known_names(site, MATCH_PLAYERS) if site.warehouse.variants("match_analysis") else set()


def known_names(site: Site, query: str) -> set[str]:
    """Return the names in the column `name` of a query's rows; empty if the query fails."""
    try:
        return site.keep(("names", query), lambda: {row["name"] for row in site.rows(query)})
    except BgdataError:
        return set()
