"""`bgdata referee`: what a player loses in bearoffs that a table has solved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import click

from bgdata.bearoff.index import layout_count
from bgdata.commands.benchmark import full_name
from bgdata.commands.query import run_query
from bgdata.commands.report import progress_bars
from bgdata.datasets.referee_scores import DATASET, RefereeParameters
from bgdata.errors import MissingTableError, UsageError, shown
from bgdata.evaluation.bearoff import SIZE, sizes
from bgdata.evaluation.player import open_player
from bgdata.game.dice import roll_of
from bgdata.game.plays import legal_plays
from bgdata.game.position import Position
from bgdata.store.names import quoted
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse

KIND = "bearoff_two_sided"
SUMMARY = """
select player, ply, has_tables, referee, decisions, mean_loss, standard_error, error_share, loss_of_worst_tenth,
       loss_of_worst_hundredth, loss_of_worst_thousandth, largest_loss, loss_error_bound
from referee_summary where player = {player} and ply = {ply} and has_tables = {tables}
     and referee = {referee} and decisions = {decisions} and seed = {seed}
"""


def judge_player(
    warehouse: Warehouse, name: str, ply: int, form: str, *, decisions: int, seed: int, referee: str, tables: bool
) -> None:
    """Judge a player by the two-sided table `referee` (such as 6x9; the largest if empty), and print the result.

    Raises UnknownPlayerError, InvalidParameterError, and MissingTableError for a table or network that is not there.
    """
    points, checkers = table_size(warehouse, referee, "to judge by")
    name = full_name(name)
    version = open_player(name, ply, warehouse, tables=tables).version
    parameters = RefereeParameters(name, ply, version, tables, points, checkers, decisions, seed)
    with progress_bars() as progress:
        table = warehouse.build(DATASET.name, parameters, progress=progress)
    if form == "table":
        click.echo("\n".join([*described(parameters, table.manifest.statistics), *worst_decisions(table)]))
        return
    wanted = {key: quoted(value) if isinstance(value, str) else value for key, value in vars(parameters).items()}
    wanted |= {"referee": quoted(f"{points}x{checkers}"), "tables": tables}
    run_query(warehouse, SUMMARY.format(**wanted), form, None)


def table_size(warehouse: Warehouse, name: str, purpose: str) -> tuple[int, int]:
    """(points, checkers) of the two-sided table of this name, or of the one with the most positions. Raises UsageError
    for a name that is no size, and MissingTableError, which says what the table is wanted for."""
    size = SIZE.fullmatch(name)
    if name and not size:
        raise UsageError(f"expected a size such as 6x9, got {shown(name)}")
    have = sizes(warehouse, KIND)
    wanted = (int(size[1]), int(size[2])) if size else max(have, key=lambda each: layout_count(*each), default=(6, 9))
    if wanted not in have:
        found = ", ".join(f"{points}x{checkers}" for points, checkers in sorted(have)) or "none"
        raise MissingTableError(
            f"expected {KIND}/{wanted[0]}x{wanted[1]} in {warehouse.root} {purpose} (have: {found}); "
            f"try: bgdata build {KIND} --points {wanted[0]} --checkers {wanted[1]}"
        )
    return wanted


def described(parameters: RefereeParameters, found: Mapping[str, float]) -> Iterator[str]:
    """The result in lines of text."""
    without = "" if parameters.tables else ", without tables"
    yield (
        f"{parameters.player} ({parameters.ply}-ply{without}) in {parameters.decisions:,} bearoff decisions judged by "
        f"{KIND}/{parameters.points}x{parameters.checkers}:"
    )
    yield (
        f"mean loss {found['mean_loss']:.6f} +/- {found['standard_error']:.6f} points a decision, "
        f"{100 * found['error_share']:.2f} % of the choices wrong"
    )
    yield (
        f"one in 10 loses at least {found['loss_of_worst_tenth']:.4f}, one in 100 "
        f"{found['loss_of_worst_hundredth']:.4f}, one in 1000 {found['loss_of_worst_thousandth']:.4f}, the worst "
        f"{found['largest_loss']:.4f}; the table's rounding {found['loss_error_bound']:.1g} at most"
    )


def worst_decisions(table: Table, count: int = 5) -> Iterator[str]:
    """The decisions that lost most, each once; nothing where none lost."""
    losses, ranks = table.array("losses"), table.array("ranks")
    rows = sorted((row for row in range(len(losses)) if ranks[row] > 0), key=lambda row: -losses[row])
    lines: list[str] = []
    for row in rows:
        if len(lines) == count:
            break
        position = Position(table.array("boards")[row].tolist())
        roll = roll_of(*table.array("rolls")[row].tolist())
        plays = {tuple(play.next_position.board): str(play) for play in legal_plays(position, roll)}
        chosen, best = (plays[tuple(table.array(name)[row].tolist())] for name in ("chosen", "best"))
        line = f"{position.id}  {roll}  {losses[row]:.4f}  {chosen:<22}  {best}"
        if line not in lines:
            lines.append(line)
    if lines:
        yield f"\n{'position':<14}  {'':<2}  {'loss':<6}  {'played':<22}  best"
        yield from lines
