"""The browser of positions: by source, class, theme, score, cube, loss and player, and the positions similar to one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from starlette.requests import Request

from bgdata.errors import InvalidRollError, UsageError, cite
from bgdata.game.board_svg import format_board_svg
from bgdata.game.classes import PositionClass, position_class
from bgdata.game.codec import Boards
from bgdata.game.dice import parse_roll
from bgdata.game.nearest import nearest_boards
from bgdata.game.position import Position
from bgdata.game.themes import NO_THEME, Theme, position_themes
from bgdata.rows import whole_rows
from bgdata.store.names import sql_text
from bgdata.store.table import Table
from bgdata.web.answer import Page, address, position_path
from bgdata.web.position_request import PositionRequest, integer_parameter
from bgdata.web.site import Row, Site

PAGE, MAX_PAGE = 24, 200  # positions of a page, and the last page, which bounds what a query reads
SOURCES = {  # the sources of the view all_positions, in words
    "matches": "analysed matches",
    "decisions": "rolled-out decisions",
    "references": "reference positions",
    "openings": "the opening book",
    "games": "games",
}
KINDS = {"matches": "match_analysis", "references": "reference_positions", "openings": "openings"}
TABLES = {"games": "turns", "decisions": "benchmark_decisions"}  # tables to which several kinds contribute
SORTS = {  # (words, order) of positions
    "": ("as recorded", ""),
    "loss": ("greatest loss", "loss desc nulls last"),
    "luck": ("luckiest roll", "luck desc nulls last"),
    "unlucky": ("unluckiest roll", "luck nulls last"),
}
LARGE = ("games", "matches")  # sources with many rows, each about a turn of a game
TURN = "dataset, variant, game, turn, subject"  # columns that identify a row of these sources
PLACE = "dataset, variant, game, turn, subject, position_id, die1, die2"  # order of rows with the same value
CLASSES = [each.name.lower() for each in PositionClass]
CUBES = (1, 2, 4, 8, 16)
NAMES = ("class", "theme", "roll", "score", "cube", "loss", "player", "sort")  # parameters besides source and page
NEAREST, MOST_MOVED = 24, 8  # numbers of similar positions, and of checkers that may be elsewhere in them
MAX_BOARDS = 3_000_000  # maximum number of positions that are compared
PLAYS = """
select greatest(t.die1, t.die2) as die1, least(t.die1, t.die2) as die2, t.play, count(*) as games,
       avg((g.winner = t.player)::integer) as win,
       avg(if(g.winner = t.player, 1, -1) * g.points_won) as points,
       stddev_samp(if(g.winner = t.player, 1, -1) * g.points_won) / sqrt(count(*)) as standard_error
from turns t join games g using (dataset, variant, game)
where t.position_id = $id and t.action = 'play' and t.play <> '' and g.winner is not null and {roll}
group by all order by games desc, die1, die2, t.play limit 30
"""


def positions(site: Site, request: Request) -> Page:
    """Positions of one source, such as analysed matches, filtered and sorted. With `like`, instead the plays that were
    made in that position, with their results, and the positions of games that differ from it by the fewest moved
    checkers."""
    given = {name: request.query_params.get(name, "").strip() for name in (*NAMES, "source", "like")}
    number = integer_parameter(request.query_params, "page", 1, least=1, most=MAX_PAGE)
    sources = site.keep("position sources", lambda: sources_of(site))
    if given["source"] and given["source"] not in SOURCES:
        raise UsageError(f"expected a source of {', '.join(SOURCES)}, got {cite(given['source'])}")
    conditions, order = conditions_of(given)
    shown_: dict[str, Any] = {
        "sources": [(name, SOURCES[name]) for name in sources],
        "given": given,
        "classes": CLASSES,
        "themes": [each.label for each in Theme],
        "cubes": CUBES,
        "sorts": {name: words for name, (words, _) in SORTS.items()},
        "page": number,
    }
    if given["like"]:
        return similar_positions_page(site, given, sources, shown_)
    source = given["source"] or next(iter(sources), "")
    rows: list[Row] = []
    if source in sources:
        query = page_query(source, conditions, order, PAGE * (number - 1))
        rows = site.keep(("positions", query), lambda: site.rows(query))
    kept = with_themes(rows[:PAGE])
    here = {name: value for name, value in given.items() if name != "like"} | {"source": source}
    more = {
        "source": source,
        "cards": [position_card(row) for row in kept],
        "previous": address("/positions", here | {"page": number - 1}) if number > 1 else "",
        "next": address("/positions", here | {"page": number + 1}) if len(rows) > PAGE and number < MAX_PAGE else "",
        "chips": [(name, words, address("/positions", {"source": name})) for name, words in shown_["sources"]],
        "like": None,
    }
    return Page("positions.html", shown_ | more, positions_json(sources, kept, []))


def positions_json(sources: Sequence[str], rows: Sequence[Row], plays: Sequence[Row]) -> Row:
    """Return the JSON of the page of positions: the names of the sources, the positions, and the plays that were made
    in one position."""
    found = [{name: value for name, value in row.items() if name != "board"} for row in rows]
    return {"sources": list(sources), "positions": whole_rows(fill_columns(found)), "plays": whole_rows(plays)}


COLUMNS = (
    *("source", "dataset", "variant", "game", "turn", "position_id", "class", "theme", "die1", "die2", "away"),
    *("opponent_away", "cube_value", "cube_owner", "player", "subject", "made", "best", "loss", "luck", "moved"),
)


def fill_columns(rows: Sequence[Row]) -> list[Row]:
    """Return rows that all have exactly COLUMNS; a missing value is None."""
    return [{name: row.get(name) for name in COLUMNS} for row in rows]


def sources_of(site: Site) -> list[str]:
    """Return the names in SOURCES of which the site's warehouse has positions."""
    kinds = site.warehouse.kinds.values()
    filled = {kind.name for kind in kinds if site.warehouse.variants(kind.name)}
    tables = {shape.name for kind in kinds if kind.name in filled for shape in kind.tables}
    return [name for name in SOURCES if KINDS.get(name) in filled or TABLES.get(name) in tables]


def conditions_of(given: Mapping[str, str]) -> tuple[list[str], str]:
    """Return the SQL conditions and the SQL sort order that the parameters of an address ask for. Raises UsageError for
    an invalid value."""
    found = []
    for name, known in (("class", CLASSES), ("theme", [each.label for each in Theme])):
        if given[name]:
            found.append(f"{name} = {sql_text(check_choice(name, given[name], known))}")
    if given["roll"]:
        found.append(roll_condition(given["roll"]))
    if given["score"]:
        found.append(score_condition(given["score"]))
    if given["cube"]:
        found.append(f"cube_value = {check_choice('cube', given['cube'], [*map(str, CUBES)])}")
    if given["loss"]:
        try:
            least = float(given["loss"])
            if not 0 <= least <= 9:
                raise ValueError
        except ValueError as error:
            raise UsageError(f"expected points from 0 to 9 as loss, got {cite(given['loss'])}") from error
        found.append(f"loss >= {least}")
    if given["player"]:
        found.append(f"player = {sql_text(given['player'])}")
    return found, SORTS[check_choice("sort", given["sort"], list(SORTS)) if given["sort"] else ""][1]


def check_choice(name: str, value: str, known: Sequence[str]) -> str:
    """Return the value of the parameter `name` if it is one of the `known` values. Raises UsageError if it is not."""
    if value not in known:
        raise UsageError(f"expected {', '.join(filter(None, known))} as {name}, got {cite(value)}")
    return value


def roll_condition(text: str) -> str:
    """Return the SQL condition that a position was rolled with the dice in `text`, such as `31`. Raises UsageError if
    the text is not a roll."""
    try:
        roll = parse_roll(text)
    except InvalidRollError:
        raise UsageError(f"expected a roll such as 31, got {cite(text)}") from None
    return f"greatest(die1, die2) = {roll.high} and least(die1, die2) = {roll.low}"


def score_condition(text: str) -> str:
    """Return the SQL condition that a position has the score in `text`: `money`, or the points that the player on roll
    and the opponent need, such as `3-5`. Raises UsageError for another text."""
    if text == "money":
        return "away is null"
    own, dash, other = text.partition("-")
    if not (dash and own.isascii() and other.isascii() and own.isdigit() and other.isdigit() and len(text) <= 5):
        raise UsageError(f"expected money, or points to go such as 3-5, as score, got {cite(text)}")
    return f"away = {int(own)} and opponent_away = {int(other)}"


def page_query(source: str, conditions: Sequence[str], order: str, start: int) -> str:
    """Return the SQL query for one page of positions from row `start` on. It also reads one row more, which tells
    whether another page follows. It leaves out the themes, because sorting would compute them for every row: see
    `with_themes`."""
    of_source = f"source = {sql_text(source)}"
    which = " and ".join([of_source, *conditions])
    by = f"{order}, {PLACE}" if order else PLACE
    limit = f"order by {by} limit {PAGE + 1} offset {start}"
    if source not in LARGE:
        return f"select * exclude (theme) from all_positions where {which} {limit}"
    return (
        f"with chosen as materialized (select {TURN} from all_positions where {which} {limit}) "
        f"select * exclude (theme) from all_positions semi join chosen using ({TURN}) where {of_source} order by {by}"
    )


def with_themes(rows: Sequence[Row]) -> list[Row]:
    """Add the theme of its board to each row; None if the board has no theme."""
    if not rows:
        return []
    themes = position_themes(np.array([row["board"] for row in rows], np.int8)).tolist()
    return [
        row | {"theme": None if number == NO_THEME else Theme(number).label}
        for row, number in zip(rows, themes, strict=True)
    ]


def position_card(row: Row) -> Row:
    """Return what the template shows of a position: its row with the addresses of its picture, of its own page, of the
    game that it comes from, and of similar positions."""
    dice = [row["die1"], row["die2"]] if row["die1"] else []
    roll = "".join(map(str, sorted(dice, reverse=True)))
    away = f"{row['away']}-{row['opponent_away']}" if row["away"] else ""
    cube = {"cube": row["cube_value"], "owner": row["cube_owner"]} if (row["cube_value"] or 1) > 1 else {}
    stakes = {"roll": roll, "away": away, **cube}
    path = position_path(row["position_id"])
    made = row["best"] if row["source"] == "openings" else row["made"]
    is_play = bool(roll and made and row["subject"] == "play")
    picture = {"roll": roll, "play": made} if is_play else {"roll": roll}
    is_replayed = row["source"] == "games" and row["game"] is not None
    game = address(f"/game/{row['dataset']}/{row['variant']}/{row['game']}", {"turn": row["turn"]}) + "#board"
    return (
        {"moved": None}
        | row
        | {
            "roll": roll,
            "score": f"{row['away']}-away, {row['opponent_away']}-away" if row["away"] else "",
            "picture": address(f"/board{path.removeprefix('/position')}", picture),
            "position": address(path, stakes),
            "like": address("/positions", {"like": row["position_id"]}),
            "replay": game if is_replayed else "",
        }
    )


class SimilarPosition(NamedTuple):
    """A position of a recorded game that is near another position, with the number of checkers by which they differ."""

    moved: int
    table: Table
    turn: int  # number of the turn in its corpus


def similar_positions_page(site: Site, given: Mapping[str, str], sources: Sequence[str], shown_: Row) -> Page:
    """The page about the position `given["like"]`: the plays that were made in it, and the nearest positions of
    recorded games. `shown_` are values that the template shows on every page of positions."""
    position = PositionRequest(given["like"], {}).position
    roll = roll_condition(given["roll"]) if given["roll"] else "true"
    plays: list[Row] = []
    if "games" in sources:
        query = PLAYS.format(roll=roll)
        key = ("plays made", position.id, roll)
        plays = site.keep(key, lambda: site.rows(query, {"id": position.id}))
    found = site.keep(("like", position.id), lambda: nearest_positions(site, position))
    rows = with_themes([similar_position_row(each) for each in found])
    more = {
        "source": "",
        "cards": [position_card(row) for row in rows],
        "previous": "",
        "next": "",
        "chips": [(name, words, address("/positions", {"source": name})) for name, words in shown_["sources"]],
        "like": {
            "id": position.id,
            "path": position_path(position),
            "board": format_board_svg(position),
            "plays": plays,
            "roll": given["roll"],
            "rolls": [
                (f"{high}{low}", address("/positions", {"like": position.id, "roll": f"{high}{low}"}))
                for high in range(1, 7)
                for low in range(1, high + 1)
            ],
            "all": address("/positions", {"like": position.id}),
        },
    }
    return Page("positions.html", shown_ | more, positions_json(sources, rows, plays))


def nearest_positions(site: Site, position: Position) -> list[SimilarPosition]:
    """Find the positions in the warehouse's recorded games that differ from `position` by the fewest checkers, each
    once, nearest first. Only the first MAX_BOARDS positions are compared, and corpora in several parts are skipped."""
    found, left = list[SimilarPosition](), MAX_BOARDS
    board = np.array(position.board, np.int8)
    for kind in site.warehouse.kinds.values():
        if not any(shape.name == "turns" for shape in kind.tables):
            continue
        for table in site.warehouse.current(kind.name):
            if len(table.parts) != 1 or left <= 0:
                continue
            boards = turn_boards(table)[:left]
            left -= len(boards)
            near = nearest_boards(boards, board, NEAREST, MOST_MOVED)
            found += [SimilarPosition(moved, table, turn) for turn, moved in near]
    chosen: dict[bytes, SimilarPosition] = {}
    for each in sorted(found, key=lambda like: like.moved):
        chosen.setdefault(turn_boards(each.table)[each.turn].tobytes(), each)
    return list(chosen.values())[:NEAREST]


def turn_boards(table: Table) -> Boards:
    """Return the board of each turn of a corpus, as int8[n, 26]; empty if the corpus has no boards. Kinds use different
    names for this array."""
    name = next((each for each in ("turn_boards", "boards") if table.has_array(each)), "")
    return np.asarray(table.array(name)) if name else np.zeros((0, 26), np.int8)


def similar_position_row(like: SimilarPosition) -> Row:
    """Return a row with COLUMNS for a position of a recorded game. Only the values that the arrays of the corpus
    contain are filled in."""
    first = np.asarray(like.table.array("first_turns"))
    game = int(np.searchsorted(first, like.turn, side="right")) - 1
    kind, variant = like.table.folder.parts[-3:-1]
    position = Position(turn_boards(like.table)[like.turn].tolist())
    known = {"source": "games", "dataset": kind, "variant": variant, "game": game, "turn": like.turn - int(first[game])}
    unknown: Row = dict.fromkeys(COLUMNS)
    return (
        unknown
        | known
        | {
            "position_id": position.id,
            "board": list(position.board),
            "class": position_class(position).name.lower(),
            "moved": like.moved,
        }
    )
