"""`bgdata probe`: one position in every bearoff table that covers it."""

from __future__ import annotations

from math import isclose
from pathlib import Path

import click
import numpy as np

from bgdata.bearoff.index import position_index
from bgdata.bearoff.tables import Equities, RaceTable, TwoSidedTable, fitted
from bgdata.errors import BgdataError, InvalidPositionError, NotCoveredError
from bgdata.formats.gnubg_bearoff import GnubgOneSided, GnubgTwoSided, open_gnubg_bearoff
from bgdata.game.outcome import check_in_progress
from bgdata.game.position import Position
from bgdata.store.table import Table
from bgdata.store.warehouse import Warehouse

PIPS_PER_ROLL = 49 / 6


def print_probe(warehouse: Warehouse, text: str, gnubg_files: tuple[Path, ...] = ()) -> None:
    """Print what each table, and each of gnubg's files given, says of a position.

    Raises InvalidPositionError, NotCoveredError, or CorruptFileError for a file.
    """
    position = Position(text)
    on_roll, opponent = rows_of(position)
    print_layouts(position)
    warehouse.require()
    found = print_exact(warehouse, on_roll, opponent)
    found |= print_one_sided(warehouse, on_roll, opponent)
    for path in gnubg_files:
        print_gnubg(path, on_roll, opponent)
    if not found:
        furthest = max(point for row in (on_roll, opponent) for point in range(1, 25) if row[point - 1])
        raise NotCoveredError(
            f"expected a position that a table covers, got a checker on point {furthest}; see: bgdata list"
        )


def rows_of(position: Position) -> tuple[list[int], list[int]]:
    """Checkers of the player on roll and of the opponent, by point. Raises InvalidPositionError or NotCoveredError for
    what is no bearoff in progress."""
    opponent, on_roll = (list(row) for row in check_in_progress(position).rows)
    if on_roll[24] or opponent[24]:
        raise NotCoveredError(f"expected a bearoff position, got a checker on the bar in {position.id}")
    return on_roll, opponent


def print_layouts(position: Position) -> None:
    """Both sides in words."""
    opponent, on_roll = position.rows
    click.echo(f"{position.id}: the player on roll is about to roll")
    for name, row in (("on roll", on_roll), ("opponent", opponent)):
        places = " ".join(f"{point}pt:{count}" for point, count in enumerate(row[:24], start=1) if count)
        pips = sum(point * count for point, count in enumerate(row[:24], start=1))
        click.echo(f"  {name:<9} {places}  ({sum(row)} checkers, {pips} pips)")


def covering(warehouse: Warehouse, kind: str) -> list[Table]:
    """Current tables of a kind, smallest first."""
    return sorted(warehouse.current(kind), key=lambda table: table.manifest.rows)


def print_exact(warehouse: Warehouse, on_roll: list[int], opponent: list[int]) -> bool:
    """Equities and cube actions of the smallest two-sided table that covers the position."""
    for table in covering(warehouse, "bearoff_two_sided"):
        reader = TwoSidedTable(table)
        try:
            equities = reader.probe(on_roll, opponent)
        except (NotCoveredError, InvalidPositionError):
            continue
        bound = table.manifest.statistics["cubeless_error_bound"]
        click.echo(f"\nexact, {table.name} (each within {bound:.2g})")
        chance = "" if reader.limit > 1 else f"  (win chance {(equities.cubeless + 1) / 2:.6f})"
        click.echo(f"  cubeless equity           {equities.cubeless:+.6f}{chance}")
        click.echo("  no-double equity per unit cube, and the right cube action")
        click.echo(f"    cube centered           {equities.centered:+.6f}  {cube_action(equities.centered, equities)}")
        click.echo(
            f"    owned by player on roll {equities.owned:+.6f}  {cube_action(equities.owned, equities, 'redouble')}"
        )
        click.echo(f"    owned by opponent       {equities.opponent_owned:+.6f}")
        return True
    return False


def print_gnubg(path: Path, on_roll: list[int], opponent: list[int]) -> None:
    """What one of gnubg's files says of the position."""
    file = open_gnubg_bearoff(path)
    indexes = [position_index(fitted(row, file.points)) for row in (on_roll, opponent)]
    if max(indexes) >= len(file):
        raise NotCoveredError(f"expected a position with at most {file.checkers} checkers a side for {path}")
    click.echo(f"\ngnubg, {path}")
    if isinstance(file, GnubgTwoSided):
        for name, equity in file.probe(*indexes)._asdict().items():
            if equity is not None:
                click.echo(f"  {name:<15} {equity:+.6f}")
    elif isinstance(file, GnubgOneSided):
        for name, index in zip(("on roll", "opponent"), indexes, strict=True):
            click.echo(f"  {name:<9} mean {file.mean_rolls(index):.5f}")
        chance = off_first(*(file.probe_chances(index) for index in indexes))
        click.echo(f"  combined: win chance {chance:.6f}, cubeless equity {2 * chance - 1:+.6f}")


def cube_action(no_double: float, equities: Equities, verb: str = "double") -> str:
    """The right cube action and its equity; ties double, as in gnubg's rule."""
    doubled = min(2 * equities.opponent_owned, 1.0)
    if doubled < no_double and not isclose(doubled, no_double, abs_tol=1e-9):
        return "too good to double" if no_double > 1 else f"no {verb}"
    return f"{verb}, {'pass' if 2 * equities.opponent_owned >= 1 else 'take'}: {doubled:+.6f}"


def print_one_sided(warehouse: Warehouse, on_roll: list[int], opponent: list[int]) -> bool:
    """Rolls of each side, and what combining them says."""
    for table in covering(warehouse, "bearoff_one_sided"):
        reader = RaceTable(table)
        try:
            chances = [reader.probe_chances(row) for row in (on_roll, opponent)]
        except (NotCoveredError, InvalidPositionError):
            continue
        click.echo(f"\none-sided, {table.name}: rolls to bear off")
        for name, row in (("on roll", on_roll), ("opponent", opponent)):
            mean, sd = reader.probe_mean_rolls(row), reader.probe_sd_rolls(row)
            click.echo(f"  {name:<9} mean {mean:.5f}, standard deviation {sd:.5f}, EPC {mean * PIPS_PER_ROLL:.2f}")
        chance = off_first(*chances)
        click.echo(
            f"  combined: win chance {chance:.6f}, cubeless equity {2 * chance - 1:+.6f}{known_error(warehouse)}"
        )
        print_gammons(warehouse, on_roll, opponent, *chances)
        return True
    return False


def print_gammons(
    warehouse: Warehouse, on_roll: list[int], opponent: list[int], ours: np.ndarray, theirs: np.ndarray
) -> None:
    """Gammon chances of the sides that still have all 15 checkers."""
    for table in covering(warehouse, "bearoff_gammon"):
        reader = RaceTable(table)
        try:
            if sum(opponent) == 15:
                saved = reader.probe_chances(opponent)
                click.echo(f"  win gammon  {off_first(ours, saved):.6f} (approximate: {table.name})")
            if sum(on_roll) == 15:
                saved = reader.probe_chances(on_roll)
                click.echo(f"  lose gammon {1 - off_first(saved, theirs):.6f} (approximate: {table.name})")
        except (NotCoveredError, BgdataError):
            continue
        return


def off_first(first: np.ndarray, second: np.ndarray) -> float:
    """Chance that the side that rolls first needs no more rolls than the other."""
    tail = second[::-1].cumsum()[::-1]
    length = min(len(first), len(tail))
    return float(first[:length] @ tail[:length])


def known_error(warehouse: Warehouse) -> str:
    """What `bearoff_error` measured, where it is built."""
    for table in covering(warehouse, "bearoff_error")[-1:]:
        statistics = table.manifest.statistics
        return (
            f"\n  (over all pairs of {table.manifest.variant} the combined equity is off by "
            f"{statistics['mean_absolute_difference']:.4f} on average, {statistics['smallest_difference']:+.4f} to "
            f"{statistics['largest_difference']:+.4f})"
        )
    return ""
