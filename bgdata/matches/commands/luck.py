"""`bgdata luck`: luck, skill and luck-adjusted results of recorded games, turn by turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from bgdata.cli.charts import GREY, RED, TEAL, new_figure, write_figure
from bgdata.cli.completion import complete_tables
from bgdata.cli.options import (
    beavers_option,
    format_option,
    jacoby_option,
    met_option,
    player_option,
    plot_option,
    ply_option,
)
from bgdata.cli.output import write_rows
from bgdata.errors import InvalidGameError, UsageError
from bgdata.formats.matches import Game, Match
from bgdata.formats.replay import ReplayedGame, replay_game
from bgdata.game.position import Position
from bgdata.matches.commands.analysis_text import POINTS, net_columns
from bgdata.matches.commands.analyze import say_notes
from bgdata.rows import COUNT, EQUITY, Column, table_lines
from bgdata.warehouse import Warehouse

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bgdata.selfplay.luck.recorded import GameLuck, LuckTotals, RecordedGame


@click.command()
@click.argument("match", shell_complete=complete_tables)
@player_option()
@ply_option()
@click.option("--cubeful", is_flag=True, help="Value rolls, plays and cube actions with the cube and the score.")
@met_option
@jacoby_option
@beavers_option
@click.option("--by-game", is_flag=True, help="One row for each game, not each turn.")
@format_option
@plot_option
@click.pass_obj
def luck(warehouse: Warehouse, /, match: str, form: str, plot: Path | None, **options: Any) -> None:
    """Say how lucky and how skilful the players of a MATCH were.

    MATCH is a .mat or .sgf file, - for standard input, or matches/NAME of the warehouse; where it has several matches,
    each is summed up, and --plot is refused. What is missing of a match is said on standard error. The luck of a roll
    is the value after its best play minus the mean over all rolls; a luck-adjusted result is the result minus net luck.
    All values are cubeless, in points per unit cube; cube actions are not valued. The values are those of --player:
    network, network/NAME or an installed gnubg (slow).

    With --cubeful, values are match winning chances (mwc), or points in money play, with the cube, as `bgdata analyze`
    has them, and skill is what plays and cube actions lost. The player is a network. --met, --jacoby and --beavers say
    what is played for.

    \b
      bgdata luck game.mat --by-game
      bgdata luck game.mat --cubeful
      bgdata luck matches/mine --ply 1 --format csv
    """
    if options["cubeful"]:
        from bgdata.matches.commands.cubeful_luck import print_cubeful_luck

        print_cubeful_luck(warehouse, match, form, plot, options)
        return
    for name in ("met", "jacoby", "beavers"):
        if options[name] not in (None, ""):
            raise UsageError(f"expected --cubeful with --{name}, got none")
    games = analyse_matches(warehouse, match, options["player"], options["ply"])
    matches = by_match(games)
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
class Analysed:
    """One game with its luck: of each roll, its number among all turns of the game, cube actions included, as in the
    table `turns`, and its play in the usual notation, "" where no checker could move."""

    number: int  # of the match in the file or variant, from 0
    match: Match
    game: Game
    record: RecordedGame
    turns: list[int]
    plays: list[str]
    cube_value: int  # at the end
    found: GameLuck
    totals: LuckTotals


def analyse_matches(warehouse: Warehouse, source: str, name: str, ply: int) -> list[Analysed]:
    """Every game of a .mat or .sgf file, or of an imported `matches/VARIANT`, valued by a player.

    Raises InvalidGameError for a game that breaks a rule, UsageError for a player that only chooses plays, and
    MissingTableError, UnknownPlayerError or StorageError for what is not there.
    """
    from bgdata.evaluation.player import open_named_player
    from bgdata.matches.steps import matches_at, notes_on

    player: Any = open_named_player(name, ply, warehouse)
    found = []
    for number, match in enumerate(matches_at(warehouse, source)):
        analysed = [analyse_game(player, source, number, match, game) for game in match.games]
        say_notes(match.players, notes_on(match, [each.game for each in analysed]))
        found += analysed
    if not found:
        raise InvalidGameError(f"expected recorded games in {source}, found none")
    return found


def analyse_game(player: Any, source: str, number: int, match: Match, game: Game) -> Analysed:
    """One game of the match with this number, valued by a player. Raises InvalidGameError."""
    from bgdata.selfplay.luck.recorded import game_luck, totals

    try:
        replayed = replay_game(match, game)
    except InvalidGameError as error:
        raise InvalidGameError(f"{error} (game {game.number} of {source})") from error
    game = replayed.game
    record = recorded(game, replayed)
    luck = game_luck(player, record)
    rolled = {place: turn for place, turn in enumerate(replayed.turns) if turn.turn.dice}
    plays = [str(turn.play) if turn.play and turn.play.moves else "" for turn in rolled.values()]
    return Analysed(number, match, game, record, [*rolled], plays, replayed.cube_value, luck, totals(record, luck))


def recorded(game: Game, replayed: ReplayedGame) -> RecordedGame:
    """The rolls of a replayed game as arrays, with its result in points per unit of the final cube."""
    from bgdata.selfplay.luck.recorded import RecordedGame

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


def by_match(games: Iterable[Analysed]) -> list[list[Analysed]]:
    """The games of each match: other matches have other players."""
    return [list(each) for _, each in groupby(games, key=lambda game: game.number)]


def turn_rows(analysed: Analysed) -> Iterator[dict[str, Any]]:
    """One row for each roll, in points to the player who rolled."""
    record, found = analysed.record, analysed.found
    boards = record.boards.tolist()
    for turn, (player, dice) in enumerate(zip(record.players.tolist(), record.dice.tolist(), strict=True)):
        yield {
            "match": analysed.number,
            "game_number": analysed.game.number,
            "turn": analysed.turns[turn],
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


def game_row(analysed: Analysed) -> dict[str, Any]:
    """One game, in points to player 0, except for the columns of each player; NaN where the game was not finished."""
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


def turn_lines(analysed: Analysed) -> Iterator[str]:
    """The turns of one game as lines of text."""
    players = analysed.match.players
    columns = (
        Column("turn", COUNT),
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


def game_lines(games: Sequence[Analysed]) -> Iterator[str]:
    """The games of one match as lines of text, seen by player 0, with the mean of the finished ones."""
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
        yield f"{name}: {rolls} rolls, luck {POINTS.text(luck)}, skill {POINTS.text(skill)} ({of_roll} a roll)"


def running_totals(games: Sequence[Analysed]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], list[int]]:
    """(sums of net luck and of net skill after every turn, seen by player 0; turns up to the end of each game)."""
    from bgdata.selfplay.luck.recorded import signs

    luck = np.concatenate([signs(each.record.players) * each.found.luck for each in games])
    skill = np.concatenate([signs(each.record.players) * each.found.skill for each in games])
    return np.cumsum(luck), np.cumsum(skill), np.cumsum([len(each.plays) for each in games]).tolist()


def draw_luck(games: Sequence[Analysed], path: Path) -> None:
    """Draw the luck of every roll, and below it the running totals of net luck and net skill.

    Raises StorageError.
    """
    with new_figure(10.5, 5.4) as figure:
        rolls, sums = figure.subplots(2, 1, sharex=True)
        draw_rolls(rolls, games)
        draw_sums(sums, games)
        for axes in (rolls, sums):
            axes.axhline(0, color=GREY, linewidth=0.8)
            axes.grid(visible=False, axis="x")
            for end in running_totals(games)[2][:-1]:
                axes.axvline(end + 0.5, color=GREY, linewidth=0.6, linestyle=":")
        players = games[0].match.players
        figure.suptitle(f"{players[0]} against {players[1]}: points per unit cube, cubeless")
        write_figure(figure, path)


def draw_rolls(axes: Axes, games: Sequence[Analysed]) -> None:
    """Draw a bar for each roll: upwards if it is good for player 0, coloured by the player who rolled."""
    from bgdata.selfplay.luck.recorded import signs

    players = np.concatenate([each.record.players for each in games])
    luck = signs(players) * np.concatenate([each.found.luck for each in games])
    turns = np.arange(1, len(luck) + 1)
    for player, colour in ((0, TEAL), (1, RED)):
        rows = players == player
        axes.bar(turns[rows], luck[rows], width=0.8, color=colour, label=games[0].match.players[player])
    axes.legend(title="rolled by")
    axes.set_title(f"luck of every roll, to {games[0].match.players[0]}")


def draw_sums(axes: Axes, games: Sequence[Analysed]) -> None:
    """Draw the running totals of luck and skill, and the luck-adjusted results at the ends of games."""
    luck, skill, ends = running_totals(games)
    turns = np.arange(1, len(luck) + 1)
    axes.plot(turns, luck, color=TEAL, label="net luck")
    axes.plot(turns, skill, color=RED, label="net skill of the plays")
    adjusted = np.cumsum([each.totals.luck_adjusted for each in games])
    axes.plot(ends, adjusted, color=GREY, marker="o", linestyle="", label="luck-adjusted results")
    axes.legend()
    axes.set_xlabel("rolls")
    axes.set_title(f"sums, to {games[0].match.players[0]}")
