"""`bgdata luck` with the cube: what rolls, plays and cube actions changed, in mwc or points, as `bgdata analyze` judges
them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bgdata.cli.defaults import open_player
from bgdata.cli.output import write_rows
from bgdata.errors import UsageError
from bgdata.matches.analysis.acts import ActKind
from bgdata.matches.analysis.totals import totals_of
from bgdata.matches.commands import analysis_rows
from bgdata.matches.commands.analysis_rows import MatchAnalysis, Turn
from bgdata.matches.commands.analysis_text import headline, net_columns, net_row, worth_quantity
from bgdata.matches.commands.analyze import analyse
from bgdata.rows import COUNT, Column, table_lines
from bgdata.warehouse import Warehouse

if TYPE_CHECKING:
    from bgdata.matches.steps import AnalysedGame

# columns of `bgdata analyze`
OF_TURN = (
    *("match", "game_number", "turn", "player", "act", "position_id", "away", "opponent_away", "is_crawford"),
    *("is_jacoby", "cube_value", "cube_owner", "roll", "play", "unit"),
    *("worth_before", "worth_after", "luck"),
)
OF_GAME = ("match", "game_number", "player_0", "player_1", "turns", "unit", "result")
NET = ("net_luck", "net_skill", "net_drift", "luck_adjusted")
NOTE = (
    "in {}, with the cube: skill is what plays and cube actions lost, cube what the cube lost of it\n"
    "luck-adj. = result - net luck (luck-adjusted); drift: changed evaluations, and what a resignation settled"
)


def print_cubeful_luck(
    warehouse: Warehouse, source: str, form: str, plot: Path | None, options: Mapping[str, Any]
) -> None:
    """Print every turn and every game, or with `by_game` the games; draw them if there is a place for it. Raises
    UsageError for a player that is no network, and what `analyze.analyse` raises."""
    from bgdata.evaluation.players import NETWORK

    kind, _, network = options["player"].partition("/")
    if kind != NETWORK:
        raise UsageError(f"expected {NETWORK} or {NETWORK}/NAME with --cubeful, got {options['player']}")
    found = analyse(warehouse, source, options, open_player(warehouse, network, options["ply"]))
    if plot:
        from bgdata.matches.commands.analysis_plot import draw_analysis

        draw_analysis(found, plot)
    if form != "table":
        games = (game_row(each, game) for each in found for game in each.games)
        turns = (turn_row(each, turn) for each in found for turn in each.turns)
        write_rows(games if options["by_game"] else turns, form)
        return
    click.echo("\n\n".join("\n".join(match_lines(each, with_turns=not options["by_game"])) for each in found))


def turn_row(analysis: MatchAnalysis, turn: Turn) -> dict[str, Any]:
    """One act, in mwc or points of the player who acts: `worth_after` is `worth_before`, plus luck and skill, plus
    what looking ahead found above the play that is best at 0-ply; `drift` contains that as well."""
    row = analysis_rows.turn_row(analysis, turn)
    skill = {"skill": 0.0 - row["play_loss"] - row["cube_loss"], "cube_skill": 0.0 - row["cube_loss"]}
    return {**{name: row[name] for name in OF_TURN}, **skill, "drift": row["drift"]}


def game_row(analysis: MatchAnalysis, game: AnalysedGame) -> dict[str, Any]:
    """One game, in mwc or points to player 0, except for the columns of each player; None where the game was not
    finished."""
    row, scores = analysis_rows.game_row(analysis, game), totals_of([game.judged]).scores
    return {
        **{name: row[name] for name in OF_GAME},
        **{f"luck_{player}": score.luck for player, score in enumerate(scores)},
        **{f"skill_{player}": 0.0 - score.loss for player, score in enumerate(scores)},
        **{f"cube_skill_{player}": 0.0 - score.cube_loss for player, score in enumerate(scores)},
        **{name: row[name] for name in NET},
    }


def match_lines(analysis: MatchAnalysis, *, with_turns: bool) -> Iterator[str]:
    """The luck of a match as lines of text: turns, games, and both players."""
    yield headline(analysis) + "\n"
    for game in analysis.games if with_turns else ():
        yield from turn_lines(analysis, game)
        yield ""
    yield from game_lines(analysis)
    for name, score in zip(analysis.players, analysis.totals.scores, strict=True):
        worths = (0.0 + worth for worth in (score.luck, -score.loss, -score.cube_loss))
        luck, skill, cube = map(worth_quantity(analysis).text, worths)
        yield f"{name}: {score.rolls} rolls, luck {luck}, skill {skill}, of it the cube {cube}"
    yield NOTE.format("match winning chances (mwc)" if analysis.length else "points")


def turn_lines(analysis: MatchAnalysis, game: AnalysedGame) -> Iterator[str]:
    """The turns of one game, each seen by the player who acts."""
    worth, change = worth_quantity(analysis, is_change=False), worth_quantity(analysis)
    columns = (
        Column("turn", COUNT),
        Column("player", heading="", width=max(map(len, analysis.players))),
        Column("act", heading="", width=6),
        Column("play", width=26),
        Column("worth_before", worth, "before", width=9),
        Column("worth_after", worth, "after", width=9),
        Column("luck", change, width=9),
        Column("skill", change, width=9),
        Column("cube_skill", change, "cube", width=9),
    )
    rows = [turn_row(analysis, turn) for turn in analysis.turns if turn.game is game]
    for row in rows:
        row["act"] = row["roll"] if row["act"] == ActKind.ROLL else row["act"]
        row |= {name: row[name] or None for name in ("luck", "skill", "cube_skill")}
    yield f"game {game.game.number}"
    yield from table_lines(columns, rows)


def game_lines(analysis: MatchAnalysis) -> Iterator[str]:
    """The games as lines, seen by player 0, with their sum."""
    rows = [
        {"game": game.game.number, "turns": len(game.judged.acts), **net_row(totals_of([game.judged]))}
        for game in analysis.games
    ]
    rows += [{"game": "sum", **net_row(analysis.totals)}] * (len(rows) > 1)
    columns = [Column("game", is_right=True), Column("turns", COUNT), *net_columns(worth_quantity(analysis), 9)]
    head, *lines = table_lines(columns, rows)
    yield f"{head}  (to {analysis.players[0]})"
    yield from lines
