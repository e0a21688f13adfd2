"""How good a player is, in figures: rows in the form of `scores`, and lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import floor, log10

from bgdata.kinds.columns import CHANCE_COLUMNS
from bgdata.measures.kinds.reference_scores import EVERY_THEME, GROUPS
from bgdata.measures.kinds.scores import ScoresParameters
from bgdata.measures.kinds.shared.measures import PUBLISHED, UNITS
from bgdata.measures.kinds.shared.players import player_slug
from bgdata.measures.steps.benchmarks import Player, compared_rows, sets_there
from bgdata.store.names import parquet_source
from bgdata.store.table import Table
from bgdata.warehouse import Row, Warehouse

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
EQUITY = "equity"
VALUE_MEASURES = tuple(f"{quantity}_{figure}" for quantity in (EQUITY, *CHANCES) for figure in FIGURES)
DIFFERENCE = "error_rate_difference"
SIGNED = ("points_per_game", "_difference", "_bias")  # how measures end that may be below 0
EQUITY_HEADS = {"RMSE": "equity_rmse", "MAE": "equity_mae", "bias": "equity_bias"}
COLUMNS = EQUITY_HEADS | {name: f"{name}_rmse" for name in CHANCES}  # of the table of themes: measure by its head
ByTheme = dict[str, dict[str, Row]]  # measures by theme


def rows_sql(table: Table) -> str:
    """SQL that selects the rows of this version; the view `scores` has those of the newest one."""
    return parquet_source(table.parquet.resolve())


def figure_rows(warehouse: Warehouse, table: Table, rivals: Sequence[Player] = ()) -> list[Row]:
    """All figures about the player of a version of `scores`, with the columns of that table and in its order: those of
    the version, RMSE, MAE and bias of its values on the test split of reference positions, and its error rates less
    those of each of `rivals` on the same decisions."""
    own = warehouse.rows(f"from {rows_sql(table)}")
    recipe = ScoresParameters.from_manifest(table.manifest.parameters)
    values = warehouse.rows(VALUES, {"sources": list(map(str, recipe.sources)), "split": PUBLISHED})
    differences = difference_rows(warehouse, (recipe.player, recipe.ply), own, rivals)
    found = {(row["measure"], row["against"]): row for row in (*values, *differences, *own)}
    return [found[key] for key in sorted(found)]


def difference_rows(
    warehouse: Warehouse, player: Player, rows: Iterable[Row], rivals: Sequence[Player]
) -> Iterator[Row]:
    """How far the error rates of a player, which `rows` have, are from those of each of `rivals`."""
    rates = {row["against"]: row for row in rows if row["measure"] == "error_rate"}
    sets = sets_there(warehouse) if rates and rivals else []
    for rival in rivals:
        for row in compared_rows(warehouse, sets, [rival, player]):
            if "difference" in row:
                figure = {"value": row["difference"], "value_error": row["difference_standard_error"]}
                against = f"{row['benchmark']} {player_slug(*rival)}"
                yield {**rates[row["benchmark"]], "measure": DIFFERENCE, "against": against, **figure}


def by_theme(rows: Iterable[Row]) -> dict[str, ByTheme]:
    """The figures of values, by set of reference positions; themes are in the order of GROUPS."""
    found: dict[str, ByTheme] = {}
    for row in rows:
        if row["measure"] in VALUE_MEASURES:
            reference, _, theme = row["against"].partition(" ")
            found.setdefault(reference, {}).setdefault(theme or EVERY_THEME, {})[row["measure"]] = row
    return {
        reference: {group: themes[group] for group in GROUPS if group in themes} for reference, themes in found.items()
    }


def score_lines(table: Table, rows: Sequence[Row]) -> Iterator[str]:
    """The rows of `figure_rows` as lines of text, with errors to two digits; those of values as a table of themes."""
    recipe = ScoresParameters.from_manifest(table.manifest.parameters)
    yield f"{recipe.player} ({recipe.ply}-ply), version {recipe.version}: {table.folder}"
    others = sorted((row for row in rows if row["measure"] not in VALUE_MEASURES), key=place)
    width, other_width = (max((len(row[name]) for row in others), default=0) for name in ("measure", "against"))
    for row in others:
        figure = figure_text(row["measure"], row["value"], row["value_error"])
        what = f"{row['unit']}, {row['sample_size']:,} {counted(row['measure'], row['unit'])}"
        yield f"{row['measure']:<{width}}  {row['against']:<{other_width}}  {figure:>22}  {what}"
    for reference, themes in by_theme(rows).items():
        yield f"{PUBLISHED} split of {reference}: RMSE, MAE and bias of equity (points), and RMSE of each chance"
        yield from theme_lines(themes)


def place(row: Row) -> tuple[int, str, str]:
    """Where a row stands among others: a difference follows what it is of."""
    measure: str = row["measure"]
    return list(UNITS).index("error_rate" if measure == DIFFERENCE else measure), measure, row["against"]


def figure_text(measure: str, value: float, error: float | None, digits: int | None = None) -> str:
    """A figure with its standard error, where that is known, which has two digits unless told otherwise."""
    if digits is None:
        digits = 4 if not error else min(max(1 - floor(log10(error)), 1), 8)
    sign = "+" if measure.endswith(SIGNED) else ""
    return f"{value:{sign}.{digits}f}" + ("" if error is None else f" +/- {error:.{digits}f}")


def theme_lines(themes: ByTheme) -> Iterator[str]:
    """A line for each theme under a line of heads; what is not known is left blank."""
    cells = [["theme", "positions", *COLUMNS]]
    for theme, figures in themes.items():
        size = next(iter(figures.values()))["sample_size"]
        cells.append([theme, f"{size:,}", *(cell(figures.get(measure)) for measure in COLUMNS.values())])
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for name, *others in cells:
        aligned = (f"{text:>{width}}" for text, width in zip(others, widths[1:], strict=True))
        yield f"{name:<{widths[0]}}  {'  '.join(aligned)}"


def cell(row: Row | None) -> str:
    """A figure of a theme; those of chances go without their errors."""
    if row is None:
        return ""
    return figure_text(row["measure"], row["value"], row["value_error"] if row["unit"] == "points" else None, digits=4)


def counted(measure: str, unit: str) -> str:
    """What a measure has a number of: games, decisions or positions."""
    if measure.startswith("equity_"):
        return "positions"
    return "games" if "game" in unit or unit == "points" else "decisions"
