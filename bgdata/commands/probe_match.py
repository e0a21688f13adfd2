"""`bgdata probe --away`: one bearoff position at a match score, in an exact table that is built when it is missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from bgdata.bearoff.index import MAX_CHECKERS, MAX_POINTS
from bgdata.bearoff.match_table import MatchDecision, MatchTable, checked_owner
from bgdata.commands.cube_options import chosen_stakes
from bgdata.commands.probe import print_layouts, rows_of
from bgdata.commands.report import progress_bars
from bgdata.commands.rows import write_rows
from bgdata.datasets.bearoff_match import DATASET, MatchBearoffParameters
from bgdata.equity.stored_met import default_met
from bgdata.errors import NotCoveredError, UsageError
from bgdata.game.identifiers import parse_identifier
from bgdata.game.match import CubeOwner, MatchScore, Stakes
from bgdata.game.position import Position
from bgdata.warehouse import Warehouse


def match_stakes(text: str, options: Mapping[str, Any]) -> Stakes | None:
    """The score of a match and its cube, as the position or options say; None for money play. Raises
    InvalidPositionError, InvalidScoreError, and UsageError for options that need a score."""
    _, match = parse_identifier(text)
    if options["away"] is None and (match is None or not isinstance(match.stakes.score, MatchScore)):
        if options["crawford"] or options["cube_value"] or options["owner"] or options["met"]:
            raise UsageError("expected --away beside --crawford, --cube, --owner or --met")
        return None
    stakes = chosen_stakes(match, options)
    checked_owner(stakes.cube.value, stakes.cube.owner)
    return stakes


def print_match_probe(warehouse: Warehouse, text: str, stakes: Stakes, met: str, form: str = "table") -> None:
    """Print exact MWC and the right cube action. Raises UsageError, InvalidScoreError, InvalidParameterError,
    NotCoveredError or MissingTableError."""
    position = Position(text)
    on_roll, opponent = rows_of(position)
    parameters = parameters_of(warehouse, stakes, met)
    DATASET.check_parameters(parameters)
    owner = stakes.cube.owner
    parameters = covering(warehouse, parameters, on_roll, opponent)
    with progress_bars(notes=False) as progress:
        reader = MatchTable(warehouse.build(DATASET.name, parameters, progress=progress))
    decision = reader.probe_layouts(on_roll, opponent, owner)
    if form != "table":
        write_rows([{"position_id": position.id} | as_row(reader, decision, owner)], form)
        return
    print_layouts(position)
    held = "centered" if owner == CubeOwner.CENTERED else f"owned by {owner.replace('_', ' ')}"
    bound = reader.table.manifest.statistics["mwc_error_bound"]
    click.echo(f"\n{reader.score}, cube {reader.cube_value} {held}, by {reader.met}")
    click.echo(f"exact, {reader.table.name} (each within {bound:.2g})")
    print_decision(reader, decision)


def as_row(reader: MatchTable, decision: MatchDecision, owner: CubeOwner) -> dict[str, Any]:
    """A decision as data: chances to win the match."""
    score = {name: getattr(reader.score, name) for name in ("away", "opponent_away", "is_crawford")}
    cube = {"cube_value": reader.cube_value, "cube_owner": str(owner), "met": reader.met}
    bound = reader.table.manifest.statistics["mwc_error_bound"]
    found = {"source": reader.table.name, "error_bound": bound, **decision._asdict()}
    return score | cube | found | {"mwc": decision.mwc, "cube_action": decision.action}


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


def parameters_of(warehouse: Warehouse, stakes: Stakes, met: str) -> MatchBearoffParameters:
    """The recipe of the table, for 6 points and 6 checkers. Raises MissingTableError."""
    assert isinstance(stakes.score, MatchScore)
    return DATASET.completed(
        MatchBearoffParameters(
            away=stakes.score.away,
            opponent_away=stakes.score.opponent_away,
            is_crawford=stakes.score.is_crawford,
            cube_value=stakes.cube.value,
            met=met or default_met(warehouse),
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
