"""`bgdata luck`: luck, skill and luck-adjusted results of recorded games, turn by turn, without the cube."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from bgdata.cli.charts import GREY, RED, TEAL, new_figure, write_figure
from bgdata.cli.completion import complete_tables
from bgdata.cli.options import format_option, player_option, plot_option, ply_option
from bgdata.cli.output import write_rows
from bgdata.errors import InvalidGameError, UsageError
from bgdata.formats.matches import Game, Match
from bgdata.formats.replay import ReplayedGame, replay_game
from bgdata.game.position import Position
from bgdata.matches.commands.analysis_rows import POINTS, net_columns
from bgdata.matches.commands.analyze import print_notes
from bgdata.rows import COUNT, EQUITY, Column, table_lines
from bgdata.warehouse import Warehouse

if TYPE_CHECKING:
    from bgdata.selfplay.luck import GameLuck, LuckTotals, RecordedGame


@click.command()
@click.argument("match", shell_complete=complete_tables)
@player_option()
@ply_option()
@click.option("--by-game", is_flag=True, help="One row for each game, not each turn.")
@format_option
@plot_option
@click.pass_obj
def luck(warehouse: Warehouse, /, match: str, form: str, plot: Path | None, **options: Any) -> None:
    """Say how lucky and how skilful the players of a MATCH were.

    MATCH is a file (.mat, .sgf, .xg, .bgf, .ogxm), - for standard input, or matches/NAME of the warehouse; where it has
    several matches, each is summed up, and --plot is refused. Missing parts of a match are reported on standard error.
    The luck of a roll is the value after its best play minus the mean over all rolls; a luck-adjusted result is the
    result minus net luck. All values are cubeless, in points per unit cube, and cube actions are not valued: see
    `bgdata analyze` for luck and losses with the cube and the score. The values are those of --player: network,
    network/NAME or an installed gnubg (slow).

    \b
      bgdata luck game.mat --by-game
      bgdata luck matches/mine --ply 1 --format csv
    """
    games = analyse_matches(warehouse, match, options["player"], options["ply"])
    matches = [list(each) for _, each in groupby(games, key=lambda game: game.number)]
    if plot:
        if len(matches) > 1:
            raise UsageError(f"expected one match with --plot, got {len(matches)}")
        draw_luck(games, plot)
    if form != "table":
        rows = map(game_row, games) if options["by_game"] else (row for each in games for row in turn_rows(each))
        write_rows(rows, form)
        return
    for number, of_match in enumerate(matches, start=1):
        if len(matches) > 1:
            click.echo(f"match {number} of {len(matches)}: {' against '.join(of_match[0].match.players)}")
        for analysed in () if options["by_game"] else of_match:
            click.echo("\n".join(turn_lines(analysed)) + "\n")
        click.echo("\n".join(game_lines(of_match)) + ("\n" if number < len(matches) else ""))
    click.echo(NOTE)


NOTE = (
    "cubeless, in points per unit cube: cube actions are not valued, and gammons count as for money\n"
    "luck-adj. = result - net luck (luck-adjusted); drift: changed evaluations, and what a cash or resignation settled"
)


@dataclass(frozen=True)
class GameWithLuck:
    """One game with the luck of its rolls. `turns` contains the number of each roll among all turns of the game, cube
    actions included, as in the table `turns`. `plays` contains its play in the usual notation, "" if no checker could
    move."""

    number: int  # number of the match in the file or variant, from 0
    match: Match
    game: Game
    record: RecordedGame
    turns: list[int]
    plays: list[str]
    cube_value: int  # value of the cube at the end
    found: GameLuck
    totals: LuckTotals


def analyse_matches(warehouse: Warehouse, source: str, name: str, ply: int) -> list[GameWithLuck]:
    """Evaluate every game of a match file, or of an imported `matches/VARIANT`, by a player. Raises InvalidGameError if
    a game breaks a rule, UsageError if the player only chooses plays, UnknownPlayerError or MissingTableError if there
    is no such player or version, and StorageError if the file cannot be read."""
    from bgdata.evaluation.player import open_named_player
    from bgdata.matches.steps import matches_at, notes_on

    player: Any = open_named_player(name, ply, warehouse)
    found = []
    for number, match in enumerate(matches_at(warehouse, source)):
        analysed = [analyse_game(player, source, number, match, game) for game in match.games]
        print_notes(match.players, notes_on(match, [each.game for each in analysed]))
        found += analysed
    if not found:
        raise InvalidGameError(f"expected recorded games in {source}, found none")
    return found


def analyse_game(player: Any, source: str, number: int, match: Match, game: Game) -> GameWithLuck:
    """Evaluate one game by a player. `number` is the number of its match. Raises InvalidGameError if the game breaks a
    rule."""
    from bgdata.selfplay.luck import game_luck, luck_totals

    try:
        replayed = replay_game(match, game)
    except InvalidGameError as error:
        raise InvalidGameError(f"{error} (game {game.number} of {source})") from error
    game = replayed.game
    record = record_game(game, replayed)
    luck = game_luck(player, record)
    rolled = {place: turn for place, turn in enumerate(replayed.turns) if turn.turn.dice}
    plays = [str(turn.play) if turn.play and turn.play.moves else "" for turn in rolled.values()]
    return GameWithLuck(
        number, match, game, record, [*rolled], plays, replayed.cube_value, luck, luck_totals(record, luck)
    )


def record_game(game: Game, replayed: ReplayedGame) -> RecordedGame:
    """Return the rolls of a replayed game as arrays, and its result in points per unit of the final cube."""
    from bgdata.selfplay.luck import RecordedGame

    rolled = [turn for turn in replayed.turns if turn.turn.dice]
    result = nan
    if game.winner is not None and replayed.full_points is not None and replayed.turns:
        result = (1 - 2 * game.winner) * replayed.full_points / replayed.cube_value
    return RecordedGame(
        np.array([turn.turn.player for turn in rolled], np.int8),
        np.array([turn.position.board for turn in rolled], np.int8).reshape(-1, 26),
        np.array([turn.turn.dice for turn in rolled], np.int8).reshape(-1, 2),
        np.array([(turn.play.after_play if turn.play else turn.position).board for turn in rolled], np.int8).reshape(
            -1, 26
        ),
        result,
    )


def turn_rows(analysed: GameWithLuck) -> Iterator[dict[str, Any]]:
    """Yield a row of data for each roll, in points of the player who rolled."""
    record, found = analysed.record, analysed.found
    boards = record.boards.tolist()
    for turn, (player, dice) in enumerate(zip(record.players.tolist(), record.dice.tolist(), strict=True)):
        yield {
            "match": analysed.number,
            "game_number": analysed.game.number,
            "turn": analysed.turns[turn],
            "turn_number": analysed.turns[turn] + 1,
            "player": analysed.match.players[player],
            "position_id": Position(boards[turn]).id,
            "roll": "".join(map(str, dice)),
            "play": analysed.plays[turn],
            "equity_before": float(found.values.before[turn]),
            "equity_best": float(found.values.best[turn]),
            "equity_after_play": float(found.values.after[turn]),
            "luck": float(found.luck[turn]),
            "skill": float(found.skill[turn]),
            "drift": float(found.drift[turn]),
        }


def game_row(analysed: GameWithLuck) -> dict[str, Any]:
    """Return one game as a row of data. Values are in points of player 0, except in the columns of each player; they
    are NaN for an unfinished game."""
    found = analysed.totals
    return {
        "match": analysed.number,
        "game_number": analysed.game.number,
        "player_0": analysed.match.players[0],
        "player_1": analysed.match.players[1],
        "turns": len(analysed.plays),
        "cube_value": analysed.cube_value,
        "result": found.result,
        "luck_0": found.luck[0],
        "luck_1": found.luck[1],
        "skill_0": found.skill[0],
        "skill_1": found.skill[1],
        "net_luck": found.net_luck,
        "net_skill": found.net_skill,
        "net_drift": found.net_drift,
        "luck_adjusted": found.luck_adjusted,
    }


def turn_lines(analysed: GameWithLuck) -> Iterator[str]:
    """Yield lines of text for the turns of one game."""
    players = analysed.match.players
    columns = (
        Column("turn_number", COUNT, "turn"),
        Column("player", heading="", width=max(map(len, players))),
        Column("roll", is_right=True),
        Column("play", width=26),
        Column("equity_before", POINTS, "before", width=7),
        Column("equity_best", POINTS, "best", width=7),
        Column("luck", POINTS, width=7),
        Column("skill", POINTS, width=7),
    )
    yield f"game {analysed.game.number}: {players[0]} against {players[1]}"
    yield from table_lines(columns, (row | {"skill": row["skill"] or None} for row in turn_rows(analysed)))


def game_lines(games: Sequence[GameWithLuck]) -> Iterator[str]:
    """Yield lines of text for the games of one match, from player 0's point of view, and the mean of the finished
    games."""
    players, rows = games[0].match.players, list(map(game_row, games))
    net = net_columns(POINTS, 9)
    ended = [row for row in rows if not isnan(row["result"])]
    if len(ended) > 1:
        means = {column.name: sum(row[column.name] for row in ended) / len(ended) for column in net}
        rows.append({"game_number": "mean", **means})
    game = Column("game_number", heading="game", is_right=True)
    head, *lines = table_lines([game, Column("turns", COUNT), Column("cube_value", COUNT, "cube"), *net], rows)
    yield f"{head}  (to {players[0]})"
    yield from lines
    for number, name in enumerate(players):
        luck, skill = (sum(getattr(each.totals, item)[number] for each in games) for item in ("luck", "skill"))
        rolls = sum(int((each.record.players == number).sum()) for each in games)
        of_roll = EQUITY.text(skill / max(rolls, 1))
        yield f"{name}: {rolls} rolls, luck {POINTS.text(luck)}, skill {POINTS.text(skill)} ({of_roll} per roll)"


def draw_luck(games: Sequence[GameWithLuck], path: Path) -> None:
    """Write a picture of the luck of every roll, and running totals of luck and skill with the luck-adjusted results of
    games. Raises StorageError if the picture cannot be written."""
    from bgdata.matches.commands.analysis_page import draw_rolls, mark_games
    from bgdata.selfplay.luck import player_signs

    names, players = games[0].match.players, np.concatenate([each.record.players for each in games])
    luck, skill = (
        player_signs(players) * np.concatenate([getattr(each.found, name) for each in games])
        for name in ("luck", "skill")
    )
    turns, ends = np.arange(1, len(luck) + 1), np.cumsum([len(each.plays) for each in games])
    with new_figure(10.5, 5.4) as figure:
        rolls, sums = figure.subplots(2, 1, sharex=True)
        draw_rolls(rolls, names, players, turns, luck)
        rolls.set_title(f"luck of every roll, to {names[0]}")
        sums.plot(turns, np.cumsum(luck), color=TEAL, label="net luck")
        sums.plot(turns, np.cumsum(skill), color=RED, label="net skill of the plays")
        adjusted = np.cumsum([each.totals.luck_adjusted for each in games])
        sums.plot(ends, adjusted, color=GREY, marker="o", linestyle="", label="luck-adjusted results")
        sums.axhline(0, color=GREY, linewidth=0.8)
        sums.legend()
        sums.set(xlabel="rolls", title=f"sums, to {names[0]}")
        mark_games((rolls, sums), ends)
        figure.suptitle(f"{names[0]} against {names[1]}: points per unit cube, cubeless")
        write_figure(figure, path)
