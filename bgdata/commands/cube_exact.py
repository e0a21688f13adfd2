"""Exact cube decisions of `bgdata cube` at match scores, by tables that are built where they are missing."""

from __future__ import annotations

import click

from bgdata.commands.report import progress_bars
from bgdata.datasets.bearoff_match import DATASET, MatchBearoffParameters
from bgdata.equity.cube import CubeDecision, CubeRules, Method
from bgdata.equity.match_equity import MatchEquity
from bgdata.errors import BgdataError
from bgdata.evaluation.cube_tables import MatchBearoff
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.game.match import Cube, MatchScore, Stakes
from bgdata.game.position import Position
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse

SIZE = MatchBearoffParameters()  # 6 points and 6 checkers, which takes half a second


def decide(
    player: LookaheadPlayer, warehouse: Warehouse, position: Position, stakes: Stakes, rules: CubeRules
) -> CubeDecision:
    """What the player decides, who is given an exact table of the match score where it has none that covers the
    position and a small one does. Raises as `LookaheadPlayer.decide_cube`."""
    decision = player.decide_cube(position, stakes, rules)
    if decision.method == Method.EXACT or rules.by_model or rules.met is None or not is_small(position):
        return decision
    assert isinstance(stakes.score, MatchScore)
    table = built_table(warehouse, stakes.score, stakes.cube, rules.met)
    if table is None:
        return decision
    player.cubes = (*player.cubes, MatchBearoff(table))
    return player.decide_cube(position, stakes, rules)


def is_small(position: Position) -> bool:
    """Whether a table of the size that is built on demand covers a position."""
    return not any(sum(row) > SIZE.checkers or any(row[SIZE.points :]) for row in position.rows)


def built_table(warehouse: Warehouse, score: MatchScore, cube: Cube, met: MatchEquity) -> Table | None:
    """The exact table of a score and cube value, built where it is missing. None where it cannot be, such as for a
    match equity table that is not in the warehouse, or on a full disk: then standard error says why."""
    wanted = {"away": score.away, "opponent_away": score.opponent_away, "is_crawford": int(score.is_crawford)}
    wanted |= {"cube_value": cube.value}
    try:
        parameters = DATASET.completed(SIZE.with_changes(wanted | {"met": met.name}), warehouse)
        DATASET.check_parameters(parameters)
        with progress_bars(notes=False) as progress:
            return warehouse.build(DATASET.name, parameters, progress=progress)
    except BgdataError as error:
        click.echo(f"no exact table: {error}", err=True)
        return None
