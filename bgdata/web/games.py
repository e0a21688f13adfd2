"""Games of a corpus: which there are, and one of them turn by turn."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from html import escape

from starlette.requests import Request

from bgdata.equity.cube import CubeRules
from bgdata.errors import BgdataError, InvalidScoreError, MissingTableError, UsageError, shown
from bgdata.game.board_svg import format_board_svg
from bgdata.game.dice import Roll, parse_roll
from bgdata.game.match import Stakes
from bgdata.game.plays import Play, parse_play
from bgdata.game.position import Position
from bgdata.rows.games import CUBE_ACTIONS, cube_losses, game_stakes, play_losses
from bgdata.rows.plain import whole_rows
from bgdata.web.answer import Page, address, position_path
from bgdata.web.asked import stakes_query, whole
from bgdata.web.mets import met_of
from bgdata.web.position import STEPS, step_of
from bgdata.web.site import Row, Site
from bgdata.web.tables import opened

OWN = "from turns where dataset = $dataset and variant = $variant"  # the turns of a corpus
SWING = f"(select max(abs(luck)) {OWN} and turns.game = games.game)"
FINAL_CUBE = f"(select max_by(cube_value, turn) {OWN} and turns.game = games.game)"  # a turn has the cube before it


def with_action(*actions: str) -> str:
    """The condition that a game has a turn with one of these actions."""
    return f"game in (select game {OWN} and action in ({', '.join(map(repr, actions))}))"


FILTERS = {  # of the games of a corpus: (words, order, which)
    "all": ("all games", "game", "true"),
    "long": ("the longest", "n_turns desc, game", "true"),
    "points": ("most points won", "points_won desc nulls last, game", "true"),
    "backgammon": ("backgammons", "game", f"points_won = 3 * {FINAL_CUBE}"),
    "swing": ("largest swing of luck", "swing desc, game", "swing is not null"),
    "cube": ("with a cube action", "game", with_action(*CUBE_ACTIONS)),
    "take": ("with a take", "game", with_action("take", "beaver")),
    "pass": ("with a pass", "game", with_action("pass")),
}
PAGE = 50  # games of a page
GAMES = """
select game, match, game_number, player_0, player_1, match_length, score_0, score_1, winner, points_won, n_turns,
luck_0, {swing} as swing
from games where dataset = $dataset and variant = $variant and {which} order by {order} limit {limit} offset $start
"""
TURNS = "from turns where dataset = $dataset and variant = $variant and game = $game order by turn"
GAME = "from games where dataset = $dataset and variant = $variant and game = $game"
WIDTH, HEIGHT = 660, 150  # of the graph
ERROR = STEPS[1][0]  # points that a play loses to be called an error: more than a good one
WORST = 6  # errors that a page lists


def corpus(site: Site, request: Request) -> Page:
    """The games of a corpus."""
    found = opened(site, request.path_params)
    order = request.query_params.get("order", "all")
    if order not in FILTERS:
        raise UsageError(f"expected an order of games: {', '.join(FILTERS)}, got {shown(order)}")
    start = whole(request.query_params, "page", 1)
    given = {"dataset": found.folder.parts[-3], "variant": found.folder.parts[-2], "start": PAGE * max(0, start - 1)}
    key = ("games", found.name, order, start)
    swing = SWING if order == "swing" else "null"
    query = GAMES.format(order=FILTERS[order][1], which=FILTERS[order][2], limit=PAGE, swing=swing)
    rows = site.keep(key, lambda: site.rows(query, given))
    shown_ = {"table": found, "rows": rows, "order": order, "filters": FILTERS, "page": start, "most": PAGE}
    bare = ({name: value for name, value in row.items() if name != "swing"} for row in rows)
    return Page("corpus.html", shown_, whole_rows(bare))


def game(site: Site, request: Request) -> Page:
    """One game: its turns, a graph of equity and luck, and the position at one of them."""
    found = opened(site, request.path_params)
    number = whole(request.path_params, "number", 0)
    given = {"dataset": found.folder.parts[-3], "variant": found.folder.parts[-2], "game": number}
    heads = site.rows(GAME, given)
    if not heads:
        raise MissingTableError(f"expected a game of {found.name}, got {number}")
    turns = site.rows(TURNS, given)
    place = min(whole(request.query_params, "turn", 0), max(0, len(turns) - 1))
    here = f"/game/{'/'.join(found.folder.parts[-3:-1])}/{number}"
    losses = site.keep(("losses", found.name, number), lambda: losses_of(site, turns))
    actions, failed = site.keep(("actions", found.name, number), lambda: judged_actions(site, heads[0], turns))
    judged = zip(turns, losses, actions, strict=True)
    rows = [turn_row(row, here, heads[0], loss, action) for row, loss, action in judged]
    shown_ = {
        "table": found,
        "game": heads[0],
        "turns": rows,
        "sums": [sum(row["loss"] or 0.0 for row in rows if row["player"] == side) for side in (0, 1)],
        "cube_sums": [sum(row["cube_loss"] or 0.0 for row in rows if row["player"] == side) for side in (0, 1)],
        "has_cube": any(row["action"] in CUBE_ACTIONS for row in rows),
        "unit": "mwc" if heads[0]["match_length"] else "points per unit cube",
        "failed": failed,
        "worst": sorted((row for row in rows if row["is_error"]), key=lambda row: -row["loss"])[:WORST],
        "place": place,
        "here": here,
        "board": board_of(heads[0], turns[place]) if turns else "",
        "graph": graph_svg(rows, here, place),
    }
    data = {"game": whole_rows(heads)[0], "turns": whole_rows(turns), "losses": losses, "cube_losses": actions}
    return Page("game.html", shown_, data)


def losses_of(site: Site, turns: Sequence[Row]) -> list[float | None]:
    """What each turn lost by the static evaluation of the player of the warehouse. Raises TooBusyError."""
    with site.player() as player:
        return play_losses(player.evaluator, turns)


def judged_actions(site: Site, head: Row, turns: Sequence[Row]) -> tuple[list[float | None], str]:
    """What the doubles, takes and passes of a game lost by the same player, and why they could not be judged. Raises
    TooBusyError."""
    nothing: list[float | None] = [None] * len(turns)
    if not any(row["action"] in CUBE_ACTIONS for row in turns):
        return nothing, ""
    with site.player() as player:
        try:
            rules = CubeRules(met=met_of(site, "")) if head["match_length"] else CubeRules()
            return cube_losses(player, rules, head, turns), ""
        except BgdataError as error:
            return nothing, site.public(error)


def stakes_of(head: Row, row: Row) -> Stakes | None:
    """What is played for at a turn; None where the record has a score that there is not."""
    try:
        return game_stakes(head, row)
    except InvalidScoreError:
        return None


def roll_of(row: Row) -> Roll | None:
    """The roll of a turn, if it has one of the player on roll."""
    return parse_roll(f"{row['die1']}{row['die2']}") if row["die1"] and row["player"] == row["on_roll"] else None


def play_of(row: Row) -> Play | None:
    """The play of a turn; None where there is none that can be read."""
    with suppress(BgdataError):
        if row["play"] and (roll := roll_of(row)):
            return parse_play(row["play"], Position(row["position_id"]), roll)
    return None


def turn_row(row: Row, here: str, head: Row, loss: float | None, cube_loss: float | None) -> Row:
    """A turn as the page shows it: who, what, what it lost, and where its position is, with roll, score and cube."""
    dice = f"{row['die1']}{row['die2']}" if row["die1"] else ""
    played_for = stakes_of(head, row) if head["match_length"] or row["cube_value"] > 1 else None
    return row | {
        "loss": loss,
        "is_error": loss is not None and loss >= ERROR,
        "step": step_of(loss) if loss is not None else "",
        "name": head[f"player_{row['player']}"],
        "dice": dice,
        "what": row["play"] or row["action"],
        "cube_loss": cube_loss,
        "position": address(position_path(row["position_id"]), {"roll": roll_of(row), **stakes_query(played_for)}),
        "here": address(here, {"turn": row["turn"] or None}) + "#board",
    }


def board_of(head: Row, row: Row) -> str:
    """The board of a turn, with its roll, score and cube, and its play as arrows."""
    position = Position(row["position_id"])
    return format_board_svg(position, roll=roll_of(row), play=play_of(row), stakes=stakes_of(head, row))


def graph_svg(turns: Sequence[Row], here: str, place: int) -> str:
    """Equity of player 0 before each roll as a line, luck of each roll as bars, errors as dots: up is good for player
    0. Empty where neither is known."""
    known = [row for row in turns if row["cubeless_equity"] is not None]
    if len(known) < 2:
        return ""
    most: float = max(1.0, *(abs(row[name] or 0.0) for row in known for name in ("cubeless_equity", "luck")))
    step, zero = WIDTH / len(turns), HEIGHT / 2

    def height(value: float, row: Row) -> float:
        side = 1 if row["on_roll"] == 0 else -1
        return zero - side * value / most * (zero - 4)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="graph" viewBox="0 0 {WIDTH} {HEIGHT}" role="group" '
        'aria-label="Equity of the first player before each roll, and the luck of each roll">',
        f'<path class="axis" d="M0 {zero}H{WIDTH}"/>',
    ]
    for number, row in enumerate(turns):
        x = number * step
        link = escape(address(here, {"turn": number or None}) + "#board", quote=True)
        bar = ""
        if row["luck"] is not None:
            top = min(zero, height(row["luck"], row))
            side = "first" if row["on_roll"] == 0 else "second"
            bar = (
                f'<rect class="{side}" x="{x + 1:.1f}" y="{top:.1f}" width="{max(1.0, step - 2):.1f}" '
                f'height="{abs(height(row["luck"], row) - zero):.1f}"/>'
            )
        chosen = "chosen" if number == place else "blank"
        title = f"turn {number}: {row['play'] or row['action']}"
        lines.append(
            f'<a href="{link}"><title>{escape(title)}</title><rect class="{chosen}" x="{x:.1f}" y="0" '
            f'width="{step:.1f}" height="{HEIGHT}"/>{bar}</a>'
        )
    points = " ".join(
        f"{(number + 0.5) * step:.1f},{height(row['cubeless_equity'], row):.1f}"
        for number, row in enumerate(turns)
        if row["cubeless_equity"] is not None
    )
    dots = (
        f'<circle class="{"first" if row["on_roll"] == 0 else "second"}" cx="{(number + 0.5) * step:.1f}" '
        f'cy="{height(row["cubeless_equity"], row):.1f}" r="{min(7.0, 3 + 20 * row["loss"]):.1f}"/>'
        for number, row in enumerate(turns)
        if row["is_error"] and row["cubeless_equity"] is not None
    )
    return "\n".join([*lines, f'<polyline points="{points}"/>', *dots, "</svg>"])
