"""The versions that measure how good a player is, and their figures as rows of `scores` and as lines of text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from math import floor, log10
from typing import Any, NamedTuple

from bgdata.bearoff.index import layout_count
from bgdata.errors import MissingTableError, UnknownPlayerError, UsageError, cite
from bgdata.evaluation.bearoff import SIZE, available_sizes
from bgdata.evaluation.networks.player import network_name
from bgdata.evaluation.player import as_evaluator, open_named_player
from bgdata.evaluation.players import NETWORK, PLAYERS, PROGRAMS, is_callable
from bgdata.kinds.columns import CHANCE_COLUMNS
from bgdata.measures.kinds.benchmark_scores import DATASET as BENCHMARKS
from bgdata.measures.kinds.benchmark_scores import ScoreParameters
from bgdata.measures.kinds.game_scores import DATASET as GAMES
from bgdata.measures.kinds.game_scores import GameParameters
from bgdata.measures.kinds.referee_scores import DATASET as REFEREE
from bgdata.measures.kinds.referee_scores import RefereeParameters
from bgdata.measures.kinds.reference_scores import DATASET as REFERENCE_SCORES
from bgdata.measures.kinds.reference_scores import EVERY_THEME, GROUPS, ReferenceScoreParameters
from bgdata.measures.kinds.scores import DATASET as SCORES
from bgdata.measures.kinds.scores import PUBLISHED, UNITS, ScoresParameters
from bgdata.measures.kinds.shared.players import player_slug
from bgdata.measures.steps.sets import (
    Player,
    available_benchmarks,
    available_references,
    build_benchmark_scores,
    compared_rows,
)
from bgdata.rows import COUNT, EQUITY, LOSS, Column, Quantity, table_lines
from bgdata.selfplay.kinds.selfplay import DATASET as SELF_PLAY
from bgdata.selfplay.kinds.selfplay import PLAYERS as SELF_PLAYERS
from bgdata.selfplay.kinds.selfplay import SelfPlayParameters
from bgdata.store.names import parquet_source
from bgdata.store.parameters import Parameters, VersionRef
from bgdata.store.progress import Progress
from bgdata.store.table import Table
from bgdata.warehouse import Row, Warehouse

TWO_SIDED = "bearoff_two_sided"
PUBEVAL = ("pubeval", 0)
SHIPPED = (NETWORK, 0)
OUR_PLAYERS = {NETWORK, *PLAYERS}  # names after which a colon and a ply may follow
SEEDS = {"games": 2, "self-play": 1, "decisions": 1}  # defaults of these commands, so that versions are shared
VALUES = """
select replace(quantity, 'cubeless_', '') || '_' || figure as measure,
       concat_ws(' ', reference, nullif(theme, 'all')) as against, player as player_name, ply, player_version,
       value, value_error, case when quantity = 'cubeless_equity' then 'points' else 'chance' end as unit,
       positions as sample_size, source_version
from (
    select *, unnest([
        {figure: 'rmse', value: rmse, value_error: rmse_standard_error},
        {figure: 'mae', value: mae, value_error: mae_standard_error},
        {figure: 'bias', value: bias, value_error: bias_standard_error}
    ], recursive := true)
    from reference_errors
    where source_version in (select unnest($sources)) and split = $split and has_tables
)
"""
FIGURES = ("rmse", "mae", "bias")
CHANCES = tuple(column.name for column in CHANCE_COLUMNS)
VALUE_MEASURES = tuple(f"{quantity}_{figure}" for quantity in ("equity", *CHANCES) for figure in FIGURES)
DIFFERENCE = "error_rate_difference"
SIGNED = ("points_per_game", "_difference", "_bias")  # endings of the names of measures that may be negative
EQUITY_HEADS = {"RMSE": "equity_rmse", "MAE": "equity_mae", "bias": "equity_bias"}
HEADS = EQUITY_HEADS | {name: f"{name}_rmse" for name in CHANCES}  # measure by heading, in the table of themes
SCORE_COLUMNS = (
    *(Column("measure", heading=""), Column("against", heading="")),
    *(Column("figure", heading="", width=22, is_right=True), Column("sample", heading="")),
)
ByTheme = dict[str, dict[str, Row]]  # measures by theme


class Amount(NamedTuple):
    """How many games and decisions to measure. Numbers of 0 leave out games, or luck-adjusted games."""

    games: int = 4000  # games against each opponent, and against itself
    luck_adjusted_games: int = 1000
    decisions: int = 10_000  # decisions in bearoffs


QUICK = Amount(400, 40, 1000)


def opponent_of(text: str) -> Player:
    """Return the player and the ply in a string such as gnubg, gnubg:2 or module:name:2. Raises UsageError for any
    other string."""
    name, _, ply = text.rpartition(":")
    if re.fullmatch("[0-9]{1,3}", ply) and name and (":" not in name or is_callable(name)):
        return name, int(ply)
    if ":" not in text or (is_callable(text) and name not in OUR_PLAYERS):
        return text, 0
    raise UsageError(f"expected a player such as gnubg or gnubg:2, got {cite(text)}")


def build_scores(
    warehouse: Warehouse,
    player: Player,
    opponents: Sequence[Player],
    amount: Amount,
    progress: Progress,
    *,
    programs: bool = True,
) -> tuple[Table, list[str]]:
    """Build the player's version of `scores`, and first the measurements that it needs. Also returns lines of text
    about what could not be measured. Raises UnknownPlayerError for an unknown player, InvalidParameterError for invalid
    amounts, MissingTableError for a missing network, and the errors of `Warehouse.build`."""
    player, left_out = (full_name(player[0]), player[1]), list[str]()
    for games in {amount.games, amount.luck_adjusted_games} - {0}:  # checked before anything is built
        GAMES.check_parameters(GameParameters(games=games))
    REFEREE.check_parameters(RefereeParameters(decisions=amount.decisions))
    open_named_player(*player, warehouse)
    wanted = list(all_opponents(warehouse, player, opponents, left_out, programs=programs))
    found = []
    # the network that judges luck is built first
    for luck, games in ((True, amount.luck_adjusted_games), (False, amount.games)):
        for each in wanted if games else ():
            series = series_parameters(warehouse, player, each, games, SEEDS["games"], progress, with_luck=luck)
            found.append(warehouse.build(GAMES.name, series, progress=progress))
    for kind, parameters in other_recipes(warehouse, player, amount, left_out):
        found.append(warehouse.build(kind, parameters, progress=progress))
    sources = tuple(sorted((VersionRef.parse(table.name) for table in found), key=str))
    version = open_named_player(*player, warehouse).version
    return warehouse.build(SCORES.name, ScoresParameters(*player, version, sources), progress=progress), left_out


def build_rivals(
    warehouse: Warehouse, player: Player, opponents: Sequence[Player], progress: Progress, *, programs: bool = True
) -> list[Player]:
    """Score the rivals of a player on every benchmark, and return them; empty if there are no benchmarks. Rivals are
    the network that comes with bgdata, and the player's opponents in `build_scores`. Raises the errors of
    `build_scores`."""
    player = full_name(player[0]), player[1]
    try:
        sets = available_benchmarks(warehouse)
    except MissingTableError:
        return []
    found = list(all_opponents(warehouse, player, [SHIPPED, *opponents], [], programs=programs))
    for each in found:
        build_benchmark_scores(warehouse, sets, *each, progress)
    return found


def all_opponents(
    warehouse: Warehouse, player: Player, given: Sequence[Player], left_out: list[str], *, programs: bool
) -> Iterator[Player]:
    """Yield the given opponents, without the player itself, each once. If `programs` is true, yield the installed
    programs too. Lines about programs that are not installed are added to `left_out`."""
    named = dict.fromkeys((full_name(name), ply) for name, ply in given)
    for opponent in [*named, *((name, 0) for name in PROGRAMS if programs and (name, 0) not in named)]:
        try:
            open_named_player(*opponent, warehouse)
        except UnknownPlayerError as error:
            if opponent in named:
                raise
            left_out.append(f"games against {opponent[0]}: {error}")
            continue
        if opponent != player:
            yield opponent


def other_recipes(
    warehouse: Warehouse, player: Player, amount: Amount, left_out: list[str]
) -> Iterator[tuple[str, Parameters]]:
    """Yield the kind and the parameters of every measurement that needs no opponent and whose inputs exist. Lines about
    the others are added to `left_out`."""
    name, ply = player
    version = open_named_player(name, ply, warehouse).version
    if ply or not SELF_PLAYERS.fullmatch(name):
        left_out.append(f"self-play: expected network, pubeval or random without looking ahead, got {name} ({ply}-ply)")
    elif amount.games:
        yield SELF_PLAY.name, SelfPlayParameters(name, version, amount.games, SEEDS["self-play"])
    try:
        for entry in available_benchmarks(warehouse):
            yield BENCHMARKS.name, ScoreParameters.on(entry, name, ply, version)
    except MissingTableError as error:
        left_out.append(f"error rates: {error}")
    try:
        own_version = as_evaluator(name, open_named_player(name, ply, warehouse)).version
        for entry in available_references(warehouse):
            yield REFERENCE_SCORES.name, ReferenceScoreParameters.on(entry, name, ply, own_version)
    except (UsageError, MissingTableError) as error:
        left_out.append(f"values by theme: {error}")
    try:
        size = table_size(warehouse, "", "to judge bearoffs by")
    except MissingTableError as error:
        left_out.append(f"bearoffs: {error}")
        return
    for tables in (True, False) if name.partition("/")[0] == NETWORK else (True,):
        judged = open_named_player(name, ply, warehouse, tables=tables).version
        yield REFEREE.name, RefereeParameters(name, ply, judged, tables, *size, amount.decisions, SEEDS["decisions"])


def series_parameters(
    warehouse: Warehouse,
    player: tuple[str, int],
    opponent: tuple[str, int],
    games: int,
    seed: int,
    progress: Progress,
    *,
    with_luck: bool,
) -> GameParameters:
    """Return the parameters of a series of games between two players, given by name and ply. The network that judges
    luck is built first, since players may use its bearoff tables. Raises UnknownPlayerError for an unknown player,
    InvalidParameterError for an invalid number of games, and MissingTableError for a missing network."""
    GAMES.check_parameters(GameParameters(games=games, seed=seed))
    for kind, needed in GAMES.inputs(GameParameters(luck=with_luck)).values():
        warehouse.build(kind, needed, progress=progress)
    names = [full_name(name) for name, _ in (player, opponent)]
    plies = player[1], opponent[1]
    versions = [open_named_player(*each, warehouse).version for each in zip(names, plies, strict=True)]
    first, second = (names[0], player[1], versions[0]), (names[1], opponent[1], versions[1])
    return GameParameters(*first, *second, games, seed, with_luck)


def full_name(name: str) -> str:
    """Return the name under which a player's scores are stored: `name`, or the name of the default network if it is
    `network`."""
    return network_name(name) if name.partition("/")[0] == NETWORK else name


def table_size(warehouse: Warehouse, name: str, purpose: str) -> tuple[int, int]:
    """Return the points and checkers of the two-sided table `name`, or of the largest one if `name` is empty. Raises
    UsageError if `name` is not a size such as 6x9, and MissingTableError if there is no such table. The message ends
    with `purpose`."""
    size = SIZE.fullmatch(name)
    if name and not size:
        raise UsageError(f"expected a size such as 6x9, got {cite(name)}")
    have = available_sizes(warehouse, TWO_SIDED)
    wanted = (int(size[1]), int(size[2])) if size else max(have, key=lambda each: layout_count(*each), default=(6, 9))
    if wanted not in have:
        found = ", ".join(f"{points}x{checkers}" for points, checkers in sorted(have)) or "none"
        raise MissingTableError(
            f"expected {TWO_SIDED}/{wanted[0]}x{wanted[1]} in {warehouse.root} {purpose} (have: {found}); "
            f"try: bgdata build {TWO_SIDED} --points {wanted[0]} --checkers {wanted[1]}"
        )
    return wanted


def figure_rows(warehouse: Warehouse, table: Table, rivals: Sequence[Player] = ()) -> list[Row]:
    """Return all figures about the player of a version of `scores`, as rows with the columns of that table and in its
    order. They are of three kinds: the figures of the version; RMSE, MAE and bias of the player's values on the test
    split of reference positions; and the player's error rates minus those of each of `rivals` on the same decisions."""
    own = warehouse.rows(f"from {parquet_source(table.parquet.resolve())}")  # the view has only the newest version's
    recipe = ScoresParameters.from_manifest(table.manifest.parameters)
    values = warehouse.rows(VALUES, {"sources": list(map(str, recipe.sources)), "split": PUBLISHED})
    rates = {row["against"]: row for row in own if row["measure"] == "error_rate"}
    sets, differences = available_benchmarks(warehouse) if rates and rivals else [], list[Row]()
    for rival in rivals:
        for row in compared_rows(warehouse, sets, [rival, (recipe.player, recipe.ply)]):
            if "difference" in row:
                figure = {"value": row["difference"], "value_error": row["difference_standard_error"]}
                against = f"{row['benchmark']} {player_slug(*rival)}"
                differences.append({**rates[row["benchmark"]], "measure": DIFFERENCE, "against": against, **figure})
    found = {(row["measure"], row["against"]): row for row in (*values, *differences, *own)}
    return [found[key] for key in sorted(found)]


def by_theme(rows: Iterable[Row]) -> dict[str, ByTheme]:
    """Return the figures of the player's values, by set of reference positions and then by theme, in the order of
    GROUPS."""
    found: dict[str, ByTheme] = {}
    for row in rows:
        if row["measure"] in VALUE_MEASURES:
            reference, _, theme = row["against"].partition(" ")
            found.setdefault(reference, {}).setdefault(theme or EVERY_THEME, {})[row["measure"]] = row
    return {
        reference: {group: themes[group] for group in GROUPS if group in themes} for reference, themes in found.items()
    }


def score_lines(table: Table, rows: Sequence[Row]) -> Iterator[str]:
    """Yield the rows of `figure_rows` as lines of text; figures of values are a table by theme."""
    recipe = ScoresParameters.from_manifest(table.manifest.parameters)
    yield f"{recipe.player} ({recipe.ply}-ply), version {recipe.version}: {table.folder}"
    others = sorted((row for row in rows if row["measure"] not in VALUE_MEASURES), key=_place)
    figures = ({**row, "figure": figure_text(row), "sample": _sample_text(row)} for row in others)
    yield from table_lines(SCORE_COLUMNS, figures)
    for reference, themes in by_theme(rows).items():
        yield f"{PUBLISHED} split of {reference}: RMSE, MAE and bias of equity (points), and RMSE of each chance"
        yield from theme_lines(themes)


def _place(row: Row) -> tuple[int, str, str]:
    """Return a sort key for rows, which puts a difference after the figure that it belongs to."""
    measure: str = row["measure"]
    return list(UNITS).index("error_rate" if measure == DIFFERENCE else measure), measure, row["against"]


def figure_text(row: Row) -> str:
    """Return a figure with its standard error, which has two digits. A figure without a standard error has four
    digits."""
    error = row["value_error"]
    digits = 4 if not error else min(max(1 - floor(log10(error)), 1), 8)
    return Quantity(digits, sign="+" if row["measure"].endswith(SIGNED) else "").text(row["value"], error)


def _sample_text(row: Row) -> str:
    """Return the unit of a figure, and the number of games, decisions or positions that it is from."""
    unit: str = row["unit"]
    counted = "games" if "game" in unit or unit == "points" else "decisions"
    return f"{unit}, {row['sample_size']:,} {'positions' if row['measure'].startswith('equity_') else counted}"


def theme_lines(themes: ByTheme) -> Iterator[str]:
    """Yield the lines of a table with a row for each theme; figures of chances are without standard errors."""
    rows = []
    for theme, figures in themes.items():
        row: dict[str, Any] = {"theme": theme, "positions": next(iter(figures.values()))["sample_size"]}
        for head, measure in HEADS.items():
            if found := figures.get(measure):
                quantity = EQUITY if measure.endswith(SIGNED) else LOSS
                row[head] = quantity.text(found["value"], found["value_error"] if found["unit"] == "points" else None)
        rows.append(row)
    figures_columns = (Column(head, heading=head, is_right=True) for head in HEADS)
    yield from table_lines((Column("theme"), Column("positions", COUNT), *figures_columns), rows)
