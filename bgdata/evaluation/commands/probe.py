"""`bgdata probe`: one position in all bearoff tables that cover it, for money or at a match score."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import click

from bgdata.bearoff.index import MAX_CHECKERS, MAX_POINTS, position_index
from bgdata.bearoff.kinds.bearoff_match import DATASET, MatchBearoffParameters
from bgdata.bearoff.match_table import MatchTable, match_owner
from bgdata.bearoff.tables import Equities, fit_layout, measured_error
from bgdata.cli.defaults import build_default_met, build_small_tables
from bgdata.cli.options import format_option, gnubg_option, score_options
from bgdata.cli.output import print_left_out, write_rows
from bgdata.equity.match_equity import default_met
from bgdata.errors import NotCoveredError, UsageError
from bgdata.evaluation.probe import (
    ProbeRow,
    checker_rows,
    cube_action,
    current_tables,
    exact_rows,
    off_first,
    one_sided_rows,
    probe_rows,
)
from bgdata.evaluation.rows import stakes_from_options
from bgdata.formats.gnubg_bearoff import GnubgOneSided, GnubgTwoSided, open_gnubg_bearoff
from bgdata.game.board import BAR
from bgdata.game.dice import PIPS_PER_ROLL
from bgdata.game.identifiers import parse_identifier
from bgdata.game.match import CubeOwner, MatchScore, Stakes
from bgdata.game.position import Position
from bgdata.store.parameters import value_text
from bgdata.store.progress import progress_bars
from bgdata.warehouse import Warehouse


@click.command()
@click.argument("position")
@gnubg_option
@score_options
@format_option
@click.pass_obj
def probe(warehouse: Warehouse, /, position: str, gnubg_files: tuple[Path, ...], form: str, **options: Any) -> None:
    """Look a position up in every exact and one-sided table.

    POSITION is a Position ID, gnubg ID, XGID, 20-letter key, 26 integers or start; the player on roll is about to roll.
    At a match score, given by the position or by --away, the exact table of that score is used, and built if it is
    missing.

    \b
      bgdata probe CgAAEAEAAAAAAA
      bgdata probe CgAAEAEAAAAAAA --away 3-5 --cube 2
      bgdata probe CgAAEAEAAAAAAA --bd gnubg_ts0.bd --format csv
    """
    _, match = parse_identifier(position)
    if options["away"] is not None or (match is not None and isinstance(match.stakes.score, MatchScore)):
        if gnubg_files:
            raise UsageError("expected --bd in money play only, got it at a match score")
        stakes = stakes_from_options(match, options)
        match_owner(stakes.cube.value, stakes.cube.owner)
        print_left_out(match, "score", "cube")
        probe_match(warehouse, Position(position), stakes, options["met"], form)
        return
    if options["crawford"] or options["cube_value"] or options["owner"] or options["met"]:
        raise UsageError("expected --away beside --crawford, --cube, --owner or --met")
    print_left_out(match, "cube")
    board = Position(position)
    on_roll, opponent = checker_rows(board)
    build_small_tables(warehouse)
    warehouse.require()
    tables = partial(current_tables, warehouse)
    found = [row for find in (exact_rows, one_sided_rows) for row in islice(find(tables, on_roll, opponent), 1)]
    found += [gnubg_row(path, on_roll, opponent) for path in gnubg_files]
    if not found:
        furthest = max(point for row in (on_roll, opponent) for point in range(1, 26) if row[point - 1])
        place = "the bar" if furthest == BAR else f"point {furthest}"
        raise NotCoveredError(f"expected a position that a table covers, got a checker on {place}; see: bgdata list")
    if form != "table":
        write_rows(probe_rows(board, found), form)
        return
    print_layouts(board)
    for row in found:
        click.echo("\n" + "\n".join(probe_lines(warehouse, row)))


def print_layouts(position: Position) -> None:
    """Print how many checkers each side has on each point."""
    opponent, on_roll = position.rows
    click.echo(f"{position.id}: the player on roll is about to roll")
    for name, row in (("on roll", on_roll), ("opponent", opponent)):
        places = " ".join(
            f"{'bar' if point == BAR else f'{point}pt'}:{count}" for point, count in enumerate(row, start=1) if count
        )
        pips = sum(point * count for point, count in enumerate(row, start=1))
        click.echo(f"  {name:<9} {places}  ({sum(row)} checkers, {pips} pips)")


def gnubg_row(path: Path, on_roll: list[int], opponent: list[int]) -> ProbeRow:
    """Look up a position in a gnubg bearoff file. Returns a row of data. Raises NotCoveredError if the file does not
    cover the position, CorruptFileError if it is damaged, and UsageError if it is not a bearoff database."""
    file = open_gnubg_bearoff(path)
    indexes = [position_index(fit_layout(row, file.points)) for row in (on_roll, opponent)]
    if max(indexes) >= len(file):
        raise NotCoveredError(f"expected a position with at most {file.checkers} checkers a side for {path}")
    found: ProbeRow = {"source": str(path), "method": "gnubg"}
    if isinstance(file, GnubgTwoSided):
        return found | file.probe(*indexes)._asdict()
    if not isinstance(file, GnubgOneSided):
        raise UsageError(f"expected a one-sided or two-sided table, got one of hypergammon: {path}")
    win = off_first(*(file.probe_chances(index) for index in indexes))
    means = zip(("mean_rolls", "opponent_mean_rolls"), map(file.mean_rolls, indexes), strict=True)
    return found | dict(means) | {"win": win, "cubeless": 2 * win - 1}


def probe_lines(warehouse: Warehouse, row: ProbeRow) -> Iterator[str]:
    """Yield lines of text with the values in `row`, which come from a table or a gnubg file."""
    if row["method"] == "exact":
        equities: Equities = row["equities"]
        chance = "" if row["win"] is None else f"  (win chance {row['win']:.6f})"
        yield f"exact, {row['source']} (each within {row['error_bound']:.2g})"
        yield f"  cubeless equity           {equities.cubeless:+.6f}{chance}"
        yield "  no-double equity per unit cube, and the right cube action"
        yield f"    cube centered           {equities.centered:+.6f}  {cube_action(equities.centered, equities)}"
        yield f"    owned by player on roll {equities.owned:+.6f}  {cube_action(equities.owned, equities, 'redouble')}"
        yield f"    owned by opponent       {equities.opponent_owned:+.6f}"
        return
    is_combined = row["method"] == "combined"
    yield f"one-sided, {row['source']}: rolls to bear off" if is_combined else f"gnubg, {row['source']}"
    if "mean_rolls" not in row:
        names = (name for name in ("cubeless", "owned", "centered", "opponent_owned") if row[name] is not None)
        yield from (f"  {name:<15} {row[name]:+.6f}" for name in names)
        return
    for name, side in (("on roll", ""), ("opponent", "opponent_")):
        mean, sd = row[f"{side}mean_rolls"], row.get(f"{side}sd_rolls")
        more = f", standard deviation {sd:.5f}, EPC {mean * PIPS_PER_ROLL:.2f}" if is_combined else ""
        yield f"  {name:<9} mean {mean:.5f}{more}"
    yield f"  combined: win chance {row['win']:.6f}, cubeless equity {row['cubeless']:+.6f}"
    if is_combined:
        *_, error = (None, *current_tables(warehouse, "bearoff_error"))
        yield f"  ({measured_error(error, 'combined equity')})"
    if "corrected" in row:
        yield f"  minus the average excess of the leader: cubeless equity {row['corrected']:+.6f}"
    for name in ("win_gammon", "lose_gammon"):
        if name in row:
            yield f"  {name.replace('_', ' '):<11} {row[name]:.6f} (approximate: {row['gammon_source']})"


def probe_match(warehouse: Warehouse, position: Position, stakes: Stakes, met: str, form: str) -> None:
    """Print the exact mwc and the right cube action at a match score. Raises InvalidParameterError for an invalid
    score, NotCoveredError if no table covers the position, and MissingTableError if the match equity table is
    missing."""
    on_roll, opponent = checker_rows(position)
    if not met:
        build_default_met(warehouse)
    parameters = parameters_of(warehouse, stakes, met)
    DATASET.check_parameters(parameters)
    owner = stakes.cube.owner
    parameters = covering_parameters(warehouse, parameters, on_roll, opponent)
    with progress_bars(notes=False) as progress:
        reader = MatchTable(warehouse.build(DATASET.name, parameters, progress=progress))
    decision = reader.probe_layouts(on_roll, opponent, owner)
    bound = reader.table.manifest.statistics["mwc_error_bound"]
    if form != "table":
        row = {
            "position_id": position.id,
            **{name: getattr(reader.score, name) for name in ("away", "opponent_away", "is_crawford")},
            "cube_value": reader.cube_value,
            "cube_owner": str(owner),
            "met": reader.met,
            "source": reader.table.name,
            "error_bound": bound,
            **decision._asdict(),
            "mwc": decision.mwc,
            "cube_action": decision.action,
        }
        write_rows([row], form)
        return
    print_layouts(position)
    held = "centered" if owner == CubeOwner.CENTERED else f"owned by {owner.replace('_', ' ')}"
    click.echo(f"\n{reader.score}, cube {reader.cube_value} {held}, by {reader.met}")
    click.echo(f"exact, {reader.table.name} (each within {bound:.2g})")
    actions = {
        "cube never turned": decision.cubeless,
        "no double": decision.no_double,
        "double, take": decision.double_take,
        "double, pass": decision.double_pass if decision.double_take is not None else None,
    }
    for name, mwc in actions.items():
        if mwc is not None:
            click.echo(f"  {name:<18} mwc {mwc:.6f}  equity {reader.equity(mwc):+.6f}")
    click.echo(f"  right: {decision.action}, mwc {decision.mwc:.6f}")


def parameters_of(warehouse: Warehouse, stakes: Stakes, met: str) -> MatchBearoffParameters:
    """The parameters of the match bearoff table with 6 points and 6 checkers for the score in `stakes`. `met` names the
    match equity table. Raises MissingTableError if it is missing."""
    assert isinstance(stakes.score, MatchScore)
    return DATASET.complete(
        MatchBearoffParameters(
            away=stakes.score.away,
            opponent_away=stakes.score.opponent_away,
            is_crawford=stakes.score.is_crawford,
            cube_value=stakes.cube.value,
            met=met or default_met(warehouse),
        ),
        warehouse,
    )


def covering_parameters(
    warehouse: Warehouse, parameters: MatchBearoffParameters, on_roll: list[int], opponent: list[int]
) -> MatchBearoffParameters:
    """Return the parameters of the smallest match bearoff table that covers a position: the given parameters, or those
    of a larger table that has been built. Raises NotCoveredError if no such table covers the position."""
    if on_roll[BAR - 1] or opponent[BAR - 1]:
        raise NotCoveredError("expected a bearoff position, got a checker on the bar")
    points = max(point for row in (on_roll, opponent) for point in range(1, BAR) if row[point - 1])
    checkers = max(sum(on_roll), sum(opponent))
    if points <= parameters.points and checkers <= parameters.checkers:
        return parameters
    for table in sorted(warehouse.versions(DATASET.name), key=lambda table: table.manifest.rows):
        built = DATASET.parameters.from_manifest(table.manifest.parameters)
        same = {"points": built.points, "checkers": built.checkers}
        if built == parameters.with_changes(same) and points <= built.points and checkers <= built.checkers:
            return built
    names = ("away", "opponent_away", "is_crawford", "cube_value", "met")
    settings = " ".join(f"--set {name}={value_text(getattr(parameters, name))}" for name in names)
    hint = (
        f"; try: bgdata build {DATASET.name} --points {max(points, 6)} --checkers {max(checkers, 6)} {settings}"
        if points <= MAX_POINTS and checkers < MAX_CHECKERS
        else ""
    )
    raise NotCoveredError(
        f"expected up to {parameters.checkers} checkers a side on points 1 to {parameters.points}, "
        f"got {checkers} checkers up to point {points}{hint}"
    )
