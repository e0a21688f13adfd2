"""Pages of games: the list of a corpus, and one game turn by turn, with losses of plays and cube actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from starlette.requests import Request

from bgdata.equity.cube import CubeRules
from bgdata.equity.pages import met_of
from bgdata.errors import BgdataError, MissingTableError, UsageError, cite
from bgdata.evaluation.pages.position import loss_step
from bgdata.formats.matches import Match
from bgdata.game.match import Stakes
from bgdata.game.plays import Board, Play, parse_play
from bgdata.game.position import Position
from bgdata.matches.acts import NO_DOUBLE, CubeValues
from bgdata.matches.pages.replay import (
    ERROR,
    SHOWN_LOSS,
    best_play,
    boards_of,
    game_stakes,
    graph_svg,
    roll_of,
    stakes_of,
)
from bgdata.rows import whole_rows
from bgdata.store.table import Table
from bgdata.warehouse.pages.tables import open_version
from bgdata.web.answer import Page, address, position_path
from bgdata.web.position_request import integer_parameter, stakes_query
from bgdata.web.site import Row, Site

if TYPE_CHECKING:
    from bgdata.equity.cube import CubeDecision, CubeRules
    from bgdata.evaluation.chances import Evaluator
    from bgdata.evaluation.lookahead_player import LookaheadPlayer


CUBE_ACTIONS = ("double", "beaver", "take", "pass")


def crawford_games(games: Sequence[Mapping[str, Any]]) -> dict[int, bool]:
    """Return whether each game of a match, by number, is the Crawford game, by the rule of `with_crawford`. `games` are
    rows of the table `games`, in order, with `is_doubled`, which says whether a player doubles."""
    from bgdata.formats.matches import Game, Match, Turn, TurnKind
    from bgdata.matches.situations import with_crawford

    double = Turn(0, TurnKind.DOUBLE)
    found = [
        Game(
            row["game_number"],
            (row["score_0"], row["score_1"]),
            (double,) if row["is_doubled"] else (),
            is_crawford=row["is_crawford"],
        )
        for row in games
    ]
    match = with_crawford(Match(("", ""), games[0]["match_length"], tuple(found)))
    return {game.number: bool(game.is_crawford) for game in match.games}


def play_losses(evaluator: Evaluator, turns: Sequence[Mapping[str, Any]]) -> list[float | None]:
    """Return what each turn of a game lost against its best play, in points, static and cubeless. The loss is None for
    turns without a play, and if the record does not contain the board after the play. `turns` are rows of the table
    `turns`, of one game in order."""
    from bgdata.evaluation.chances import cubeless_equities
    from bgdata.game.codec import flip_boards
    from bgdata.game.play_kernels import batch_plays
    from bgdata.kernel import threads

    losses: list[float | None] = [None] * len(turns)
    places = [place for place, row in enumerate(turns) if row["action"] == "play" and row["die1"]]
    if not places:
        return losses
    boards = np.array([turns[place]["board"] for place in places], np.int8)
    dice = np.array([(turns[place]["die1"], turns[place]["die2"]) for place in places], np.int8)
    with threads(1):  # for so little, threads would wait for one another longer than they compute
        offsets, after = batch_plays(boards, dice)
        theirs = flip_boards(after)
        values = -cubeless_equities(evaluator.evaluate_many(theirs).chances).astype(np.float64)
    best = np.maximum.reduceat(values, offsets[:-1])
    for number, place in enumerate(places):
        span = slice(offsets[number], offsets[number + 1])
        led_to = board_after(turns, place)
        if led_to is not None:
            played = np.flatnonzero((theirs[span] == np.array(led_to, np.int8)).all(axis=1))
            losses[place] = float(best[number] - values[span][played[0]]) if len(played) else None
    return losses


def board_after(turns: Sequence[Mapping[str, Any]], place: int) -> Board | None:
    """Return the board after the play of turn `place`, from the opponent's point of view. It is read from the next turn
    or the recorded play; None if it cannot be read."""
    row = turns[place]
    if place + 1 < len(turns) and turns[place + 1]["on_roll"] != row["on_roll"]:
        return tuple(turns[place + 1]["board"])
    try:
        return parse_play(row["play"], Position(row["position_id"]), f"{row['die1']}{row['die2']}").next_position.board
    except BgdataError:
        return None


@dataclass(frozen=True)
class CubeVerdict:
    """The cube action that was taken (`NO_DOUBLE` for a roll) and the best one, as strings. `loss` is in mwc, or in
    points per unit cube for money, and `size` in points of normalised equity; both are 0 if the best action was
    taken."""

    made: str
    best: str
    loss: float
    size: float

    @property
    def is_missed(self) -> bool:
        """Whether the player rolled instead of doubling, so that the error has no turn of its own."""
        return self.made == NO_DOUBLE


def cube_verdicts(
    player: LookaheadPlayer, rules: CubeRules, game: Mapping[str, Any], turns: Sequence[Mapping[str, Any]]
) -> list[CubeVerdict | None]:
    """Judge each double, take, pass, and roll of a player who could double; None for other turns. `turns` are the turns
    of one game with the cube, in order; the player evaluates all positions at once. Raises InvalidScoreError if a score
    cannot occur, and the errors of the player's `decide_cube`."""
    from bgdata.kernel import threads

    verdicts: list[CubeVerdict | None] = [None] * len(turns)
    asked = [(place, stakes) for place in range(len(turns)) if (stakes := decided_stakes(game, turns, place))]
    if not asked:
        return verdicts
    boards = np.array([turns[place]["board"] for place, _ in asked], np.int8)
    with threads(1):  # for so little, threads would wait for one another longer than they compute
        chances = player.evaluate_many(boards).chances.tolist()
    for (place, stakes), own in zip(asked, chances, strict=True):
        decision = player.decide_cube(turns[place]["position_id"], stakes, rules, own)
        verdicts[place] = verdict_on(decision, turns[place]["action"], stakes, rules)
    return verdicts


def decided_stakes(game: Mapping[str, Any], turns: Sequence[Mapping[str, Any]], place: int) -> Stakes | None:
    """Return the stakes at turn `place` if it is a cube decision; None for other turns, such as the first. Raises
    InvalidScoreError if the score cannot occur."""
    from bgdata.equity.cube import why_no_double

    row = turns[place]
    if row["action"] == "double" or (row["action"] in ("take", "pass") and turns[place - 1]["action"] == "double"):
        return game_stakes(game, row)
    if place == 0 or row["action"] not in ("play", "roll") or row["player"] != row["on_roll"]:
        return None
    stakes = game_stakes(game, row)
    return None if why_no_double(stakes) else stakes


def verdict_on(decision: CubeDecision, action: str, stakes: Stakes, rules: CubeRules) -> CubeVerdict:
    """Judge a cube action by the values of all actions in `decision`. A double that could not gain has no loss."""
    from bgdata.equity.cube import Unit, normalised_point

    made = action if action in CUBE_ACTIONS else NO_DOUBLE
    if decision.double_take is None or decision.double_pass is None:
        return CubeVerdict(made, made, 0.0, 0.0)
    gain = decision.take_gain if action in ("take", "pass") else decision.double_gain
    best = CubeValues(decision.no_double, decision.double_take, decision.double_pass).best_action
    if action in ("take", "pass"):
        best = "take" if gain >= 0 else "pass"
    loss = max(0.0, gain if made in ("pass", NO_DOUBLE) else -gain)
    point = normalised_point(stakes, rules) if decision.unit is Unit.MWC else 1.0
    return CubeVerdict(made, best, loss, loss / point)


OWN = "from turns where dataset = $dataset and variant = $variant"  # the turns of a corpus
SWING = f"(select max(abs(luck)) {OWN} and turns.game = games.game)"
FINAL_CUBE = f"(select max_by(cube_value, turn) {OWN} and turns.game = games.game)"  # turns have the cube before them


def with_action(*actions: str) -> str:
    """Return a SQL condition that is true for games with a turn that has one of these actions."""
    return f"game in (select game {OWN} and action in ({', '.join(map(repr, actions))}))"


FILTERS = {  # (words, order, condition) of the games of a corpus
    "all": ("all games", "game", "true"),
    "long": ("the longest", "n_turns desc, game", "true"),
    "points": ("most points won", "points_won desc nulls last, game", "true"),
    "backgammon": ("backgammons", "game", f"points_won = 3 * {FINAL_CUBE}"),
    "swing": ("largest swing of luck", "swing desc, game", "swing is not null"),
    "cube": ("with a cube action", "game", with_action(*CUBE_ACTIONS)),
    "take": ("with a take", "game", with_action("take", "beaver")),
    "pass": ("with a pass", "game", with_action("pass")),
    "missed": ("with a missed double", "game", "true"),
}
MISSED = "missed"  # the filter that needs a player, so a page searches only as many games as other pages show
PAGE = 50  # games of a page
GAMES = """
select game, match, game_number, player_0, player_1, match_length, score_0, score_1, winner, points_won, n_turns,
luck_0, {swing} as swing
from games where dataset = $dataset and variant = $variant and {which} order by {order} limit {limit} offset $start
"""
TURNS = "from turns where dataset = $dataset and variant = $variant and game = $game order by turn"
GAME = "from games where dataset = $dataset and variant = $variant and game = $game"
MATCH = """
select *, exists(from turns where dataset = $dataset and variant = $variant and turns.game = games.game
and action = 'double') as is_doubled
from games where dataset = $dataset and variant = $variant and match = $match order by game_number
"""
IS_CUBEFUL = f"""select exists(from games where dataset = $dataset and variant = $variant and match_length > 1)
or exists({OWN} and action in {CUBE_ACTIONS}) as is_cubeful"""
WORST = 6  # number of errors that a page lists
SIDES = "first", "second"  # names of players that have no names of their own
MAX_GAME = (1 << 31) - 1  # largest number of a game


CORPORA = """
select dataset, variant, count(*) as games, min(player_0) as player_0, min(player_1) as player_1,
       count(distinct player_0) as n_players, max(match_length) as match_length, avg(n_turns) as turns
from games group by dataset, variant order by dataset, variant
"""


def corpora(site: Site, _: Request) -> Page:
    """The page that lists the corpora and imports that contain games."""
    has_games = any(
        site.warehouse.variants(kind.name) for kind in site.warehouse.kinds.values() if kind.tables[0].name == "games"
    )
    rows = site.keep("corpora", lambda: site.rows(CORPORA)) if has_games else []
    return Page("corpora.html", {"rows": rows}, whole_rows(rows))


def corpus(site: Site, request: Request) -> Page:
    """The page that lists the games of a corpus."""
    found = corpus_at(site, request)
    order = request.query_params.get("order", "all")
    if order not in FILTERS:
        raise UsageError(f"expected an order of games: {', '.join(FILTERS)}, got {cite(order)}")
    start = integer_parameter(request.query_params, "page", 1, least=1, most=MAX_GAME)
    given = corpus_of(found) | {"start": PAGE * (start - 1)}
    key = ("games", found.name, order, start)
    swing = SWING if order == "swing" else "null"
    query = GAMES.format(order=FILTERS[order][1], which=FILTERS[order][2], limit=PAGE, swing=swing)
    looked = rows = site.keep(key, lambda: site.rows(query, given))
    if order == MISSED:
        rows = [row for row in looked if has_missed_double(site, found, row["game"])]
    shown_ = {"table": found, "rows": rows, "order": order, "filters": FILTERS, "page": start}
    more = {"has_more": len(looked) == PAGE, "looked": looked if order == MISSED else [], "least": ERROR}
    bare = ({name: value for name, value in row.items() if name != "swing"} for row in rows)
    return Page("corpus.html", shown_ | more, whole_rows(bare))


def corpus_at(site: Site, request: Request) -> Table:
    """Return the version that an address names. Raises MissingTableError if it has no games, and the errors of
    `open_version`."""
    found = open_version(site, request.path_params)
    if site.warehouse.kind(found.folder.parts[-3]).tables[0].name != "games":
        raise MissingTableError(f"expected a version with games, got {found.name}")
    return found


def corpus_of(found: Table) -> dict[str, Any]:
    """Return the parameters of queries for the games of a version."""
    return {"dataset": found.folder.parts[-3], "variant": found.folder.parts[-2]}


def game(site: Site, request: Request) -> Page:
    """The page of one game: its turns, a graph of equity and luck, and the position at one of them."""
    found = corpus_at(site, request)
    number = integer_parameter(request.path_params, "number", 0, most=MAX_GAME)
    recorded, head, turns = game_of(site, found, number)
    place = min(integer_parameter(request.query_params, "turn", 0), max(0, len(turns) - 1))
    here = f"/game/{'/'.join(found.folder.parts[-3:-1])}/{number}"
    losses = site.keep(("losses", found.name, number), lambda: losses_of(site, turns))
    cubes, failed = judged_cubes(site, found, head, turns)
    judged = zip(turns, losses, cubes, strict=True)
    rows = [turn_row(row, here, head, loss, cube) for row, loss, cube in judged]
    errors, totals = errors_of(rows), [totals_of(head, rows, side) for side in (0, 1)]
    shown_ = {
        "table": found,
        "game": head,
        "turns": rows,
        "totals": totals,
        "has_cube": any(cubes),
        "unit": "mwc" if head["match_length"] else "points per unit cube",
        "is_named": side_names(head) != SIDES,
        "failed": failed,
        "worst": errors[:WORST],
        "place": place,
        "here": here,
        "boards": boards_of(head, turns[place], better_play(site, found, rows[place])) if turns else [],
        "sides": side_names(head),
        "graph": graph_svg(rows, here, place),
    }
    data = {
        "game": whole_rows([recorded])[0],
        "turns": whole_rows(turns),
        "losses": losses,
        "cube_losses": [cube and cube.loss for cube in cubes],
        "best_cube_actions": [cube and cube.best for cube in cubes],
        "errors": [error.row for error in errors],
        "totals": totals,
    }
    return Page("game.html", shown_, data)


def side_names(head: Row) -> tuple[str, str]:
    """Return what the page calls the two players: their names, or "first" and "second" if the names are the same or
    missing."""
    names = head["player_0"], head["player_1"]
    return names if all(names) and names[0] != names[1] else SIDES


def better_play(site: Site, found: Table, row: Row) -> Play | None:
    """Return the best play of a turn if another play was made that lost something, else None. Raises TooBusyError if
    too many pages are being computed."""
    if not row["loss"] or row["loss"] < SHOWN_LOSS:
        return None

    def choose() -> Play | None:
        with site.player() as player:
            return best_play(player.evaluator, row)

    return site.keep(("best play", found.name, row["game"], row["turn"]), choose)


def game_of(site: Site, found: Table, number: int) -> tuple[Row, Row, list[Row]]:
    """Return game `number` of a version: its row as recorded, the same row with `is_crawford` and `is_jacoby` set, and
    its turns. Raises MissingTableError if there is no such game."""
    given = corpus_of(found)
    heads = site.rows(GAME, given | {"game": number})
    if not heads:
        raise MissingTableError(f"expected a game of {found.name}, got {number}")
    head = heads[0]
    if head["match_length"] and head["is_crawford"] is None:
        match = given | {"match": head["match"]}
        known = site.keep(("crawford", found.name, head["match"]), lambda: crawford_games(site.rows(MATCH, match)))
        head = head | {"is_crawford": known[head["game_number"]]}
    head = head | {"is_jacoby": records_jacoby(site, found, head)}
    return heads[0], head, site.rows(TURNS, given | {"game": number})


def records_jacoby(site: Site, found: Table, head: Row) -> bool:
    """Return whether the record of a money game says that the Jacoby rule applies."""
    from bgdata.matches.kinds.matches_compute import match_infos

    if head["match_length"]:
        return False

    def read() -> list[tuple[tuple[str, str], ...]]:
        arrays = found.arrays()
        return match_infos(arrays) if "infos" in arrays else []

    infos = site.keep(("infos", found.name), read)
    return bool(infos) and Match(("", ""), 0, info=infos[head["match"]]).is_jacoby


def losses_of(site: Site, turns: Sequence[Row]) -> list[float | None]:
    """Return what each turn lost by the static evaluation of the site's player, in points. Raises TooBusyError if too
    many pages are being computed."""
    with site.player() as player:
        return play_losses(player.evaluator, turns)


def judged_cubes(site: Site, found: Table, head: Row, turns: Sequence[Row]) -> tuple[list[CubeVerdict | None], str]:
    """Return the verdict of the site's player on each turn of a game, and the reason if the player could not judge. The
    verdicts are None in games without the cube. Raises TooBusyError if too many pages are being computed."""

    def judge() -> tuple[list[CubeVerdict | None], str]:
        nothing: list[CubeVerdict | None] = [None] * len(turns)
        if not is_cubeful(site, found):
            return nothing, ""
        with site.player() as player:
            try:
                rules = CubeRules(met=met_of(site, "")) if head["match_length"] else CubeRules()
                return cube_verdicts(player, rules, head, turns), ""
            except BgdataError as error:
                return nothing, site.public(error)

    return site.keep(("cubes", found.name, head["game"]), judge)


def is_cubeful(site: Site, found: Table) -> bool:
    """Return whether the games of a version were played with the cube: somebody doubled, or matches are longer than one
    point."""
    rows = site.keep(("cubeful", found.name), lambda: site.rows(IS_CUBEFUL, corpus_of(found)))
    return bool(rows[0]["is_cubeful"])


def has_missed_double(site: Site, found: Table, number: int) -> bool:
    """Return whether a double was missed in game `number`. Raises UsageError if the game cannot be judged, and
    TooBusyError if too many pages are being computed."""
    if not is_cubeful(site, found):
        return False
    _, head, turns = game_of(site, found, number)
    cubes, failed = judged_cubes(site, found, head, turns)
    if failed:
        raise UsageError(f"expected games whose doubles can be judged: {failed}")
    return any(cube.is_missed and cube.size >= ERROR for cube in cubes if cube)


def turn_row(row: Row, here: str, head: Row, loss: float | None, cube: CubeVerdict | None) -> Row:
    """Return a turn as the page shows it: player, action, loss, and the address of its position. `here` is the address
    of the page."""
    dice = f"{row['die1']}{row['die2']}" if row["die1"] else ""
    is_said = head["match_length"] or head["is_jacoby"] or row["cube_value"] > 1
    played_for = stakes_of(head, row) if is_said else None
    stakes, path = stakes_query(played_for), position_path(row["position_id"])
    return row | {
        "loss": loss,
        "size": max(loss or 0.0, cube.size if cube else 0.0),
        "step": loss_step(loss) if loss is not None else "",
        "name": head[f"player_{row['player']}"],
        "dice": dice,
        "what": row["play"] or row["action"],
        "cube": cube,
        "cube_step": loss_step(cube.size) if cube else "",
        "position": address(path, {"roll": roll_of(row), **stakes}),
        "before": address(path, stakes),
        "here": address(here, {"turn": row["turn"] or None}) + "#board",
    }


class GameMistake(NamedTuple):
    """A bad play or cube action in a game: its address, its size in points of normalised equity, and its JSON."""

    here: str
    size: float
    row: Row


def errors_of(rows: Sequence[Row]) -> list[GameMistake]:
    """Return the errors of a game, largest first. Cube errors name the best action in words."""
    found = []
    for row in rows:
        who, cube = {"turn": row["turn"], "player": row["player"]}, row["cube"]
        if row["loss"] is not None and row["loss"] >= ERROR:
            play = {"made": row["what"], "best": None, "loss": row["loss"]}
            found.append(GameMistake(row["here"], row["loss"], who | {"is_cube": False} | play))
        if cube and cube.size >= ERROR:
            action = {"made": cube.made, "best": cube.best, "loss": cube.loss}
            found.append(GameMistake(row["here"], cube.size, who | {"is_cube": True} | action))
    return sorted(found, key=lambda error: -error.size)


def totals_of(head: Row, rows: Sequence[Row], side: int) -> Row:
    """Return what the player on side `side` lost in a game: by plays, cube actions and missed doubles."""
    own = [row for row in rows if row["player"] == side]
    cubes = [row["cube"] for row in own if row["cube"]]
    return {
        "player": side,
        "name": head[f"player_{side}"],
        "plays": sum((row["loss"] or 0.0 for row in own), 0.0),
        "cube_actions": sum((cube.loss for cube in cubes if not cube.is_missed), 0.0),
        "missed_doubles": sum((cube.loss for cube in cubes if cube.is_missed), 0.0),
    }
