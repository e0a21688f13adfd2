"""Charts of the result of a query: lines, bars, points and heat maps of its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

from bgdata.errors import UsageError, cite
from bgdata.store.table_html import cell_text
from bgdata.training.rows import Chart, Line
from bgdata.web.charts import Bar, bar_chart_svg, chart_svg, heat_map_svg
from bgdata.web.query_process import Result

CHARTS = {"line": "line", "bar": "bars", "scatter": "points", "heat": "heat map"}
MAX_BARS, MAX_CELLS = 200, 60  # maximum number of bars of a chart, and maximum number of columns or rows of a heat map


class ChartRequest(NamedTuple):
    """The chart that an address asks for: one of CHARTS, or empty for none, and the names of the columns to draw. If
    the name of a column is empty, `draw_query_chart` chooses a column."""

    chart: str = ""
    x: str = ""
    y: str = ""
    value: str = ""  # column with the values of a heat map

    @classmethod
    def from_query(cls, given: Mapping[str, str]) -> ChartRequest:
        """Read the chart from the parameters of an address. Raises UsageError if there is no such chart."""
        found = cls(*(given.get(name, "").strip() for name in cls._fields))
        if found.chart not in ("", *CHARTS):
            raise UsageError(f"expected a chart: {', '.join(CHARTS)}, got {cite(found.chart)}")
        return found


def draw_query_chart(result: Result, asked: ChartRequest) -> str:
    """Draw the requested chart from the rows of a query, as SVG. A column that is not named is the first one that fits.
    Raises UsageError if a column is missing or does not fit."""
    rows = [dict(zip(result.names, row, strict=True)) for row in result.rows]
    numbers = [name for name in result.names if is_numeric(rows, name)]
    is_by_number = asked.chart in ("line", "scatter")
    x = choose_column("x", asked.x, numbers if is_by_number else result.names, result.names)
    if asked.chart == "heat":
        y = choose_column("y", asked.y, [name for name in result.names if name != x], result.names)
        value = choose_column("value", asked.value, [name for name in numbers if name not in (x, y)], result.names)
        return heat_map(rows, x, y, value)
    y = choose_column("y", asked.y, [name for name in numbers if name != x] or numbers, result.names)
    for name in (x, y) if is_by_number else (y,):
        check_numeric(rows, name)
    if asked.chart == "bar":
        known = [row for row in rows if row[y] is not None]
        if len(known) > MAX_BARS:
            raise UsageError(f"expected at most {MAX_BARS} bars, got {len(known):,}; try: group by, or limit")
        return bar_chart_svg(f"{y} by {x}", [Bar(cell_text(row[x]), float(row[y])) for row in known], x)
    known = [row for row in rows if row[x] is not None and row[y] is not None]
    if not known:
        raise UsageError(f"expected rows with {x} and {y}, got none")
    if asked.chart == "line":
        known.sort(key=lambda row: float(row[x]))
    places, values = ([float(row[name]) for row in known] for name in (x, y))
    return chart_svg(Chart(f"{y} by {x}", x, places, (Line(y, values),), is_scatter=asked.chart == "scatter"))


def is_numeric(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    """Return whether the column `name` contains at least one number, and otherwise only missing values."""
    values = [row[name] for row in rows if row[name] is not None]
    return bool(values) and all(
        isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value) for value in values
    )


def check_numeric(rows: Sequence[Mapping[str, Any]], name: str) -> None:
    """Raise UsageError unless the column `name` contains at least one number, and otherwise only missing values."""
    if not is_numeric(rows, name):
        found = next((row[name] for row in rows if row[name] is not None), None)
        raise UsageError(f"expected numbers in the column {name}, got {cite(found)}")


def choose_column(role: str, name: str, fitting: Sequence[str], names: Sequence[str]) -> str:
    """Choose the column for a role such as `x`: `name` if it is given, else the first of the `fitting` columns. `names`
    are all columns of the result. Raises UsageError if there is no such column, or if no column fits."""
    if name in names or (not name and fitting):
        return name or fitting[0]
    if not name:
        raise UsageError(f"expected a column that fits as {role} among {', '.join(names)}, found none")
    raise UsageError(f"expected a column of the result as {role}: {', '.join(names)}, got {cite(name)}")


def heat_map(rows: Sequence[Mapping[str, Any]], x: str, y: str, value: str) -> str:
    """Draw a heat map as SVG: the column `value` for each pair of values in the columns `x` and `y`. Raises UsageError
    if a pair has several rows, if there are too many pairs, or if `value` contains no numbers."""
    check_numeric(rows, value)
    cells: dict[tuple[str, str], float] = {}
    for row in rows:
        key = cell_text(row[x]), cell_text(row[y])
        if key in cells:
            raise UsageError(f"expected one row for each {x} and {y}, got several for {cite(' and '.join(key))}")
        if row[value] is not None:
            cells[key] = float(row[value])
    most = max(len({key[side] for key in cells}) for side in (0, 1))
    if most > MAX_CELLS:
        raise UsageError(f"expected at most {MAX_CELLS} columns and rows of a heat map, got {most:,}")
    return heat_map_svg(f"{value}: {y} by {x}", cells, (x, y))
