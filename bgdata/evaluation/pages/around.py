"""What is around a position: its picture, the forms that lead to it, where it occurs, and its cube at every score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from bgdata.bearoff.solved_race import MOST_CELLS
from bgdata.equity.cube import CubeRules, Method
from bgdata.equity.pages.mets import met_of
from bgdata.errors import BgdataError, NotCoveredError, UsageError
from bgdata.evaluation.cube_tables import SolvedRaces
from bgdata.evaluation.evaluator import AnswerSource
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.pages.position import tables_of
from bgdata.evaluation.rows.cube import best_words
from bgdata.evaluation.rows.probe import probe_rows
from bgdata.game.board_svg import format_board_svg
from bgdata.game.identifiers import parse_identifier
from bgdata.game.match import MatchScore, Stakes
from bgdata.rows import whole_rows
from bgdata.store.names import identifier
from bgdata.web.answer import Page, address, position_path
from bgdata.web.asked import BETWEEN, SHORT, Asked, whole
from bgdata.web.site import Row, Site


def board(_: Site, request: Request) -> Response:
    """The picture of a position: with a roll, and with a play as arrows."""
    asked = Asked(request.path_params["text"].removesuffix(".svg"), request.query_params)
    text = format_board_svg(asked.position, roll=asked.roll, play=asked.play, stakes=asked.stakes)
    return Response(text, media_type="image/svg+xml", headers={"cache-control": "public, max-age=3600"})


def go(_: Site, request: Request) -> Response:
    """To the address of what a form says: a position in any notation, or the counts of an editor by point, where these
    were changed. Raises UsageError where both were, and what `Asked` raises."""
    given = dict(request.query_params)
    text = given.pop("q", "").strip()
    filled = dict(parse_qsl(given.pop("filled", "")))
    counts = [given.pop(f"p{point}", "").strip() for point in range(26)]
    if is_edited(counts, text, filled, is_said=bool(given.pop("edit", ""))):
        text = ",".join(count or "0" for count in counts)
    elif filled and text != filled.get("q"):
        given = changed(text, given, filled)
    elif filled:  # the fields have what this notation says, and may say less by now
        text = parse_identifier(text)[0].id
    said = as_asked(given)
    given = {name: said[name] for name in ("roll", *SHORT, "ply", "undo", "flip") if name in said}
    asked = Asked(text or "start", given)
    if given.pop("flip", ""):
        return RedirectResponse(asked.flipped_with(given.get("undo", "")), 303)
    if asked.earlier[-1:] == [asked.word]:  # nothing was changed
        given["undo"] = BETWEEN.join(asked.earlier[:-1])
    where = position_path(asked.text.strip() if asked.match else asked.position)
    return RedirectResponse(address(where, given), 303)


def is_edited(counts: Sequence[str], text: str, filled: Mapping[str, str], *, is_said: bool) -> bool:
    """Whether the checkers of an editor count, and not the notation beside them: where that is said, or they are no
    longer those of the notation that the form was filled with. Raises UsageError where the notation is another one,
    too."""
    if is_said or not any(counts) or not filled.get("q"):
        return is_said and any(counts)
    before = [str(count) for count in parse_identifier(filled["q"])[0].board]
    is_changed = [count or "0" for count in counts] != before
    if is_changed and text != filled["q"]:
        raise UsageError("expected another notation or other checkers, got both; tick the box to use the checkers")
    return is_changed


def as_asked(given: Mapping[str, str]) -> dict[str, str]:
    """Fields of the editor as an address says them: buttons for rolls, and two fields for a score."""
    found = dict(given)
    own, theirs = given.get("own", ""), given.get("theirs", "")
    if own or theirs:
        found["away"] = f"{own or theirs}-{theirs or own}"
        found.pop("jacoby", None)  # left from money play
    if "own" in given and (own == "1") == (theirs == "1"):
        found.pop("crawford", None)  # left from another score
    if "rolled" in given:
        found["roll"] = given["rolled"]
    return found


def changed(text: str, given: Mapping[str, str], filled: Mapping[str, str]) -> dict[str, str]:
    """The fields of an editor whose notation is another one than it was filled with. One that says itself what is
    played for counts for more than fields that nobody touched."""
    if parse_identifier(text or "start")[1] is None:
        return dict(given)
    said = ("roll", "own", "theirs", *SHORT)
    return {
        name: value for name, value in given.items()
        if name not in said or name == "met" or value != filled.get(name, "")
    }  # fmt: skip


FIRST = 5  # games of a corpus that a page of occurrences leads to
ROWS = 20  # rows of a table that it leads to
GAMES = f"""
select dataset, variant, game, min(turn) as turn from turns where position_id = $id
group by dataset, variant, game
qualify row_number() over (partition by variant order by dataset, game) <= {FIRST} order by all
"""


def where(site: Site, request: Request) -> Page:
    """Where a position occurs, seen by the player on roll: in every table that names its positions, with addresses of
    the first games and of the rows."""
    asked = Asked(request.path_params["text"], request.query_params)
    shapes = [shape for kind in site.warehouse.kinds.values() for shape in kind.tables]
    names = sorted({shape.name for shape in shapes if any(column.name == "position_id" for column in shape.columns)})
    rows: list[Row] = []
    for name in names:
        query = f"select variant, count(*) as rows from {identifier(name)} where position_id = $id group by all"
        try:
            found = site.rows(query, {"id": asked.position.id})
        except BgdataError as error:
            found = [{"variant": site.public(error), "rows": None}]
        rows += [{"table": name, **row, "address": "", "games": []} for row in found]
    games = site.rows(GAMES, {"id": asked.position.id}) if any(row["table"] == "turns" for row in rows) else []
    for row in (row for row in rows if row["rows"]):
        row["address"] = address("/sql", {"q": rows_query(row["table"], row["variant"], asked.position.id)})
        own = [game for game in games if (row["table"], row["variant"]) == ("turns", game["variant"])]
        row["games"] = [game_path(game) for game in own]
    shown_ = {"asked": asked, "rows": rows, "names": names, "board": format_board_svg(asked.position)}
    return Page("where.html", shown_, rows)


def rows_query(table: str, variant: str, position_id: str) -> str:
    """The first rows about a position, as SQL."""
    quoted = variant.replace("'", "''")
    return f"from {identifier(table)} where variant = '{quoted}' and position_id = '{position_id}' limit {ROWS}"


def game_path(row: Row) -> str:
    """The address of a turn of a game."""
    return address(f"/game/{row['dataset']}/{row['variant']}/{row['game']}", {"turn": row["turn"]}) + "#board"


def probe(site: Site, request: Request) -> Page:
    """What the bearoff tables have for a position, and nothing that takes longer; JSON is that of `bgdata probe`.
    Raises NotCoveredError where no table covers it."""
    asked = Asked(request.path_params["text"], request.query_params)
    found = list(tables_of(site, asked.position, most=1))
    if not found:
        raise NotCoveredError(f"expected a bearoff that a table of this warehouse covers, got {asked.position.id}")
    rows = whole_rows(probe_rows(asked.position, found))
    return Page("probe.html", {"asked": asked, "rows": rows, "board": partial(format_board_svg, asked.position)}, rows)


MAP = 9  # points to go of a cube map, unless said


def cube_map(site: Site, request: Request) -> Page:
    """The right cube action at every score up to so many points to go, with a centered cube of 1: exact where a table
    knows it, or where solving the race takes its share of a few seconds."""
    asked = Asked(request.path_params["text"], request.query_params)
    length = whole(request.query_params, "length", MAP)
    if not 2 <= length <= 15:
        raise UsageError(f"expected 2 to 15 points to go, got {length}")
    met = met_of(site, asked.options["met"])
    rules, rows = CubeRules(met=met), []
    with site.player(asked.ply) as shared:
        tables = [table for table in shared.cubes if not isinstance(table, SolvedRaces)]
        solved = SolvedRaces(2 * MOST_CELLS // length**2)
        player = LookaheadPlayer(shared.evaluator, shared.ply, shared.filters, [*tables, solved])
        if player.evaluate(asked.position).source is AnswerSource.OVER:
            raise UsageError("expected a game in progress, got one that is over")
        for away in range(1, length + 1):
            for opponent_away in range(1, length + 1):
                stakes = Stakes(MatchScore(away, opponent_away, (away == 1) != (opponent_away == 1)))
                decision = player.decide_cube(asked.position, stakes, rules)
                rows.append(
                    {"away": away, "opponent_away": opponent_away, "is_crawford": stakes.is_crawford,
                     "action": decision.action.name.lower() if decision.may_double else "none",
                     "words": best_words(decision, stakes), "mwc": decision.equity, "method": str(decision.method),
                     "double_gain": decision.double_gain, "take_gain": decision.take_gain}
                )  # fmt: skip
    exact = sum(row["method"] == Method.EXACT for row in rows)
    shown_ = {
        "asked": asked,
        "rows": rows,
        "exactness": "none" if not exact else "all" if exact == len(rows) else "some",
        "length": length,
        "met": met.name,
        "board": format_board_svg(asked.position),
    }
    return Page("cube_map.html", shown_, rows)
