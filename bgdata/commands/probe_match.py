"""`bgdata probe --away`: one bearoff position at a match score, in an exact table that is built when it is missing."""

from __future__ import annotations

from typing import NamedTuple

import click

from bgdata.bearoff.index import MAX_CHECKERS, MAX_POINTS
from bgdata.bearoff.match_table import MatchDecision, MatchTable, checked_owner
from bgdata.commands.options import parse_score
from bgdata.commands.probe import print_layouts, rows_of
from bgdata.commands.report import progress_bars
from bgdata.datasets.bearoff_match import DATASET, MatchBearoffParameters
from bgdata.equity.stored_met import default_met
from bgdata.errors import NotCoveredError
from bgdata.game.match import CubeOwner
from bgdata.game.position import Position
from bgdata.store.warehouse import Warehouse


class MatchStakes(NamedTuple):
    """What the command line says of score and cube."""

    away: str
    is_crawford: bool
    cube_value: int
    cube_owner: str
    met: str


def print_match_probe(warehouse: Warehouse, text: str, stakes: MatchStakes) -> None:
    """Print exact MWC and the right cube action. Raises UsageError, InvalidScoreError, InvalidParameterError,
    NotCoveredError or MissingTableError."""
    position = Position(text)
    on_roll, opponent = rows_of(position)
    parameters = parameters_of(warehouse, stakes)
    DATASET.check_parameters(parameters)
    owner = checked_owner(stakes.cube_value, stakes.cube_owner)
    parameters = covering(warehouse, parameters, on_roll, opponent)
    with progress_bars(notes=False) as progress:
        reader = MatchTable(warehouse.build(DATASET.name, parameters, progress=progress))
    decision = reader.probe_layouts(on_roll, opponent, owner)
    print_layouts(position)
    held = "centered" if owner == CubeOwner.CENTERED else f"owned by {owner.replace('_', ' ')}"
    bound = reader.table.manifest.statistics["mwc_error_bound"]
    click.echo(f"\n{reader.score}, cube {reader.cube_value} {held}, by {reader.met}")
    click.echo(f"exact, {reader.table.name} (each within {bound:.2g})")
    print_decision(reader, decision)


def print_decision(reader: MatchTable, decision: MatchDecision) -> None:
    """MWC, with normalised equities beside them, and the right action."""
    lines = {
        "cube never turned": decision.cubeless,
        "no double": decision.no_double,
        "double, take": decision.double_take,
        "double, pass": decision.double_pass if decision.double_take is not None else None,
    }
    for name, mwc in lines.items():
        if mwc is not None:
            click.echo(f"  {name:<18} mwc {mwc:.6f}  equity {reader.equity(mwc):+.6f}")
    click.echo(f"  right: {decision.action}, mwc {decision.mwc:.6f}")


def parameters_of(warehouse: Warehouse, stakes: MatchStakes) -> MatchBearoffParameters:
    """The recipe of the table, for 6 points and 6 checkers. Raises UsageError or MissingTableError."""
    expected = "points to go of both sides, the player on roll first, such as 3-5"
    away, opponent_away = parse_score(stakes.away, expected)
    return DATASET.completed(
        MatchBearoffParameters(
            away=away,
            opponent_away=opponent_away,
            is_crawford=int(stakes.is_crawford),
            cube_value=stakes.cube_value,
            met=stakes.met or default_met(warehouse),
        ),
        warehouse,
    )


def covering(
    warehouse: Warehouse, parameters: MatchBearoffParameters, on_roll: list[int], opponent: list[int]
) -> MatchBearoffParameters:
    """The smallest table that covers a position: the one of 6 points and 6 checkers, or a larger one that is built.

    Raises NotCoveredError.
    """
    points = max(point for row in (on_roll, opponent) for point in range(1, 25) if row[point - 1])
    checkers = max(sum(on_roll), sum(opponent))
    if points <= parameters.points and checkers <= parameters.checkers:
        return parameters
    for table in sorted(warehouse.versions(DATASET.name), key=lambda table: table.manifest.rows):
        built = DATASET.parameters.from_manifest(table.manifest.parameters)
        same = {"points": built.points, "checkers": built.checkers}
        if built == parameters.with_changes(same) and points <= built.points and checkers <= built.checkers:
            return built
    names = ("away", "opponent_away", "is_crawford", "cube_value", "met")
    settings = " ".join(f"--set {name}={getattr(parameters, name)}" for name in names)
    hint = (
        f"; try: bgdata build {DATASET.name} --points {max(points, 6)} --checkers {max(checkers, 6)} {settings}"
        if points <= MAX_POINTS and checkers < MAX_CHECKERS
        else ""
    )
    raise NotCoveredError(
        f"expected up to {parameters.checkers} checkers a side on points 1 to {parameters.points}, "
        f"got {checkers} checkers up to point {points}{hint}"
    )
