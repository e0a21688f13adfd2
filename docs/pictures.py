"""Draws the pictures of the README from the default warehouse: `python docs/pictures.py` (needs matplotlib).

Everything drawn is one SQL query on the catalog.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import matplotlib.pyplot as plt
import numpy as np

HERE = Path(__file__).parent
CATALOG = HERE.parent / "warehouse" / "catalog.duckdb"

ERROR_BY_PIPS = """
    select a.pip_count as on_roll_pips, b.pip_count as opponent_pips, avg(e.difference) as bias
    from bearoff_error_6x9 e
    join bearoff_positions a on a.position_index = e.on_roll_index and a.variant = '6x15'
    join bearoff_positions b on b.position_index = e.opponent_index and b.variant = '6x15'
    group by all
"""
ACTION_BY_EPC = """
    select round(epc(a.mean_rolls)) as on_roll_epc, round(epc(b.mean_rolls)) as opponent_epc,
        avg((best_cube_action(cubeless, owned, centered, opponent_owned) = 'double, take')::int) as take,
        avg((best_cube_action(cubeless, owned, centered, opponent_owned) = 'double, pass')::int) as pass
    from bearoff_two_sided_6x6 t
    join bearoff_one_sided_6x15 a on a.position_index = t.on_roll_index
    join bearoff_one_sided_6x15 b on b.position_index = t.opponent_index
    where t.on_roll_index > 0 and t.opponent_index > 0
    group by all
"""


def draw_error(connection: duckdb.DuckDBPyConnection) -> None:
    """How far two one-sided tables are from the truth, and on which side of it, by the pips of both sides."""
    rows = connection.sql(ERROR_BY_PIPS).fetchnumpy()
    grid = np.full((55, 55), np.nan)
    grid[rows["opponent_pips"], rows["on_roll_pips"]] = rows["bias"]
    figure, axes = plt.subplots(figsize=(5.2, 4.2), layout="constrained")
    image = axes.imshow(grid * 1000, origin="lower", cmap="RdBu", vmin=-6, vmax=6)
    figure.colorbar(image, label="mean error of the equity (thousandths of a point)")
    axes.set(xlabel="pips of the player on roll", ylabel="pips of the opponent", xlim=(0.5, 54.5), ylim=(0.5, 54.5))
    axes.set_title("Two one-sided tables against the exact one", fontsize=11)
    figure.savefig(HERE / "error_by_pips.png", dpi=120)


def draw_actions(connection: duckdb.DuckDBPyConnection) -> None:
    """The right cube action with a centered cube, by the effective pip counts of both sides."""
    rows = connection.sql(ACTION_BY_EPC).fetchnumpy()
    size = int(max(rows["on_roll_epc"].max(), rows["opponent_epc"].max())) + 1
    colours = np.ones((size, size, 3))
    take, pay = np.asarray(rows["take"])[:, None], np.asarray(rows["pass"])[:, None]
    none = 1 - take - pay
    mixed = none * [0.80, 0.84, 0.90] + take * [0.16, 0.55, 0.60] + pay * [0.75, 0.25, 0.20]
    colours[rows["opponent_epc"].astype(int), rows["on_roll_epc"].astype(int)] = mixed
    figure, axes = plt.subplots(figsize=(4.6, 4.2), layout="constrained")
    axes.imshow(colours, origin="lower")
    axes.set(xlabel="EPC of the player on roll", ylabel="EPC of the opponent", xlim=(11.5, 41.5), ylim=(11.5, 41.5))
    axes.set_title("Exact cube action, up to 6 checkers each", fontsize=11)
    axes.text(33, 16, "no double", ha="center", fontsize=10)
    axes.text(18, 36, "double, pass", ha="center", fontsize=10, color="white")
    axes.annotate("double, take", (24.5, 25), (29, 20.5), fontsize=10, arrowprops={"arrowstyle": "->"})
    figure.savefig(HERE / "cube_action.png", dpi=120)


if __name__ == "__main__":
    with duckdb.connect(str(CATALOG), read_only=True) as catalog:
        draw_error(catalog)
        draw_actions(catalog)
