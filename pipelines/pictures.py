"""Pictures that flows publish: small charts side by side, drawn as the explorer draws them."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from prefect.artifacts import create_image_artifact

from bgdata.store.table import Table
from bgdata.training.rows import KINDS as NETWORKS
from bgdata.training.rows import Chart, Line, curve_charts
from bgdata.warehouse import Warehouse
from bgdata.warehouse.rows import pip_spread
from bgdata.web.charts import HEIGHT, WIDTH, chart_svg

COLUMNS = 3  # charts in a row
HEAD, GAP = 32, 16  # above a chart, for the name of its version; beside and below it
# the explorer has these in its style sheet; a picture stands alone, on white
STYLE = """
svg { font-family: sans-serif; } .kind { font-size: 13px; fill: #1d2129; } .variant { font-size: 10px; fill: #5b6270; }
.chart text { font-size: 11px; fill: #5b6270; } .chart .title { fill: #1d2129; }
.chart .left { text-anchor: end; } .chart .below { text-anchor: middle; } .chart .rule { stroke: #d9dde5; }
.chart .main, .chart .other { fill: none; stroke: #1d7f8c; stroke-width: 2; }
.chart .other { stroke: #6b7a99; stroke-dasharray: 5 3; } .chart .band { fill: #1d7f8c; opacity: 0.2; }
.chart .mark { fill: #b8382b; }
"""


def publish_charts(warehouse: Warehouse, versions: Sequence[str], key: str, description: str) -> None:
    """Publish a picture of versions: how networks learned, and how positions spread over pips. Versions that hold
    neither are left out; without any, nothing is published."""
    tables = [warehouse.open_reference(version) for version in versions]
    charts = [(table, chart) for table in tables if (chart := chart_of(table))]
    if charts:
        picture = base64.b64encode(side_by_side(charts).encode()).decode()
        create_image_artifact(f"data:image/svg+xml;base64,{picture}", key=key, description=description)


def chart_of(table: Table) -> Chart | None:
    """What there is to draw of a version: of several curves the first one, `bgdata train plot` draws them all."""
    if table.manifest.dataset in NETWORKS:
        return curve_charts(table)[0]
    if (spread := pip_spread(table)) is None:
        return None
    line = Line("% of positions", spread.percents)
    return Chart("% of positions", "pips of the player on roll", spread.pips, (line,), from_zero=True)


def side_by_side(charts: Sequence[tuple[Table, Chart]]) -> str:
    """Charts of versions in rows, as one SVG that needs nothing else."""
    across, down = WIDTH + GAP, HEAD + HEIGHT + GAP
    width, height = across * min(COLUMNS, len(charts)), down * -(-len(charts) // COLUMNS)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f'<style>{STYLE}</style><rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for place, (table, chart) in enumerate(charts):
        x, y = across * (place % COLUMNS), down * (place // COLUMNS)
        lines += [
            f'<text class="kind" x="{x + 2}" y="{y + 14}">{table.manifest.dataset}</text>',
            f'<text class="variant" x="{x + 2}" y="{y + 28}">{table.manifest.variant}</text>',
            chart_svg(chart).replace("<svg ", f'<svg x="{x}" y="{y + HEAD}" width="{WIDTH}" height="{HEIGHT}" ', 1),
        ]
    return "\n".join([*lines, "</svg>"])
