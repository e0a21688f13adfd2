"""Draws the pictures of the README and of CONTRIBUTING: `python -m docs.pictures` (needs matplotlib).

Pictures of the default warehouse come from one SQL query each. With `--of-network` it draws the pictures of the network
called `network` instead, by commands of bgdata; this needs gnubg and bgsage, and takes minutes at the first run.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

from bgdata.equity.curves import janowski_equities, live_points
from bgdata.equity.numeric import CENTERED, OPPONENT_OWNED, OWNED, drifting_money, solve_jumps
from bgdata.game.match import CubeOwner

HERE = Path(__file__).parent
IMAGES = HERE / "images"
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

CORPUS = "selfplay/network-10000-seed-1"
WON_BY_LEAD = f"""
    select 2 * round((opponent_pips - pips) / 2.0) as lead, 20 * (pips // 20) + 10 as middle,
        avg((outcome > 0)::int) as won,
        stddev((outcome > 0)::int) / sqrt(count(distinct game)) as error
    from selfplay_labels
    where corpus = '{CORPUS}' and class = 'race' and pips between 40 and 99
    group by all having count(*) >= 40 order by all
"""
THEMES_BY_TURN = f"""
    select turn, theme(board) as theme, count(*) as turns
    from turns where corpus = '{CORPUS}' and turn <= 90
    group by all order by all
"""
SHOWN_THEMES = {  # what is drawn of the themes, from below, with its colour
    "opening": "#c9d6e3",
    "middle-game": "#8fa9c2",
    "blitz": "#c0504d",
    "priming-battle": "#7a2e1f",
    "mutual-holding": "#9c8db8",
    "back-game": "#e0a458",
    "ace-point-game": "#f0cf9a",
    "containment": "#8a6d3b",
    "crashed": "#333333",
    "bear-in-against-contact": "#5f9e7e",
    "bear-off-against-contact": "#a5cdb6",
    "race": "#3f7f93",
    "bear-off": "#9cc7d3",
}

GAMES = [  # commands that play the games to draw
    "play --watch pubeval --seed 8 --save game.mat",
    "play --watch gnubg --match-length 5 --seed 1 --save match.mat",
]
OF_NETWORK = {  # name: command that draws it, without the file
    "learning_curve": "train plot diverse-19 --output",
    "match_equity": "met plot diverse-19-1ply-25-index-0-8 --output",
    "race_rules": "race-rules selfplay/network-10000-seed-1 --plot",
    "cube_index": "study index --luck --plot",
    "measured_index": "cube-life --rollouts --plot",  # needs cubeful_equities
    "cube_match": "study match-cubeful --luck --games 500 --plot",
    "themes": "compare network network:1 gnubg bgsage --plot",
    "openings": "openings --plot",
    "luck": "luck game.mat --plot",
    "analysis": "analyze match.mat --plot",
    "output_trials": "train output-trials --games 40000 --row-games 4000 --plot",
    "decisions": "compare --benchmarks network network:1 network:2 gnubg gnubg:1 gnubg:2 bgsage bgsage:1 --plot",
}

ROOMS = {  # content of each folder; `[tool.importlinter]` has their order
    "game": "positions, dice, plays, classes, cube and score",
    "store": "versions, manifests, Parquet, catalog; no backgammon",
    "bearoff": "index, solvers, combining",
    "equity": "match equity tables, cube models",
    "endgames": "few checkers with contact, and hypergammon, solved",
    "evaluation": "who says how good: networks, tables, looking ahead, other programs",
    "selfplay": "games, luck, rollouts, labels",
    "formats": "other people's files",
    "imports": "training data, benchmarks and positions of others",
    "training": "feed, learning",
    "measures": "who is how good",
    "openings": "the book",
    "matches": "analysis",
    "studies": "races, the cube; what others published",
    "protocols": "games with people and other programs",
    "kinds": "every kind of dataset by name",
    "warehouse": "building, SQL",
    "publishing": "folders for hubs, proven and pulled",
    "web": "the explorer",
    "cli": "commands",
    "pipelines": "Prefect flows",
    "sql": "macros, views, checks",
}
WIDTH = 8.0  # width of the house
WAY = [  # (step of the data, folder that does it)
    ("position", "game"),
    ("index", "bearoff"),
    ("arrays", "kernels fill them"),
    ("version", "store hashes, publishes"),
    ("catalog and maps", "store reads manifests"),
    ("answers", "SQL, players, feeds"),
]


def floors_of_the_house() -> list[list[str]]:
    """The folders on each floor, from the ground; a folder may use only those below it."""
    contracts = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = reversed(contracts[0]["layers"])
    floors = [[name.removeprefix("bgdata.") for name in layer.split(" | ")] for layer in layers]
    folders = [[name for name in floor if name in ROOMS] for floor in floors]
    return [*filter(None, folders[:-1]), [*folders[-1], "sql"]]


def draw_rooms() -> None:
    """Draw the rooms of the source, floor by floor, and the way of the data."""
    floors = floors_of_the_house()
    colors = ["#dfe8f1", "#d3e3e4", "#e4e9d9", "#efe6d3", "#f1dfd3", "#ead9e3", "#e3e0ee"]
    figure, axes = plt.subplots(figsize=(11, 7.6), layout="constrained")
    for floor, rooms in enumerate(floors):
        width = WIDTH / len(rooms)
        for place, name in enumerate(rooms):
            left = place * width
            color = colors[floor % len(colors)]
            axes.add_patch(Rectangle((left, floor), width - 0.06, 0.9, facecolor=color, edgecolor="#506070", lw=0.8))
            axes.text(left + 0.12, floor + 0.62, name, fontsize=11, weight="bold", va="center")
            axes.text(left + 0.12, floor + 0.25, ROOMS[name], fontsize=8, va="center")
    step_height = len(floors) / len(WAY)
    for step, (what, who) in enumerate(WAY):
        middle = (step + 0.5) * step_height
        axes.text(9.6, middle + 0.2, what, fontsize=11, weight="bold", ha="center", va="center", color="#7a2e1f")
        axes.text(9.6, middle - 0.2, who, fontsize=8, ha="center", va="center")
        if step:
            below, above = (9.6, middle - step_height + 0.55), (9.6, middle - 0.5)
            axes.annotate("", above, below, arrowprops={"arrowstyle": "-|>", "color": "#7a2e1f"})
    axes.set_title(
        "The rooms: each may use those below it. The way of the data: up the right side.", fontsize=11, loc="left"
    )
    axes.set(xlim=(-0.05, 11), ylim=(-0.05, len(floors) + 0.02))
    axes.axis("off")
    figure.savefig(IMAGES / "rooms.png", dpi=110)


def draw_cube_models() -> None:
    """Draw the equity of a centered cube by model, with gammons (W = 1.25, L = 1.25), without the Jacoby rule."""
    win = np.linspace(0, 1, 401)
    figure, axes = plt.subplots(figsize=(6.6, 4.2), layout="constrained")
    for index, name, colour in (
        (0.0, "dead cube", "#506070"),
        (0.7, "Janowski, 0.7", "#c0402f"),
        (1.0, "live cube", "#298c99"),
    ):
        axes.plot(win, janowski_equities(win, 1.25, 1.25, cube_life_index=index), label=name, color=colour)
    for point, name in zip(live_points(1.25, 1.25), ("take point", "cash point"), strict=True):
        axes.axvline(point, color="#b0b8c0", lw=0.8)
        axes.text(point, -1.22, f" {name}", fontsize=9, color="#506070")
    axes.set(xlabel="winning chance of the player on roll", ylabel="equity (points per unit cube)", xlim=(0, 1))
    axes.set_title("A centered cube: dead, live, and between", fontsize=11)
    axes.legend(frameon=False, loc="upper left")
    figure.savefig(IMAGES / "cube_models.png", dpi=120)


def draw_live_cube() -> None:
    """Draw the live cube by formulas and as a diffusion on a grid (W = L = 1.25), and ever smaller jumps."""
    win, points = np.linspace(0, 1, 401), 40
    figure, axes = plt.subplots(figsize=(6.6, 4.2), layout="constrained")
    drifting = drifting_money(1.25, 1.25, points)
    for row, owner, colour in (
        (OWNED, CubeOwner.ON_ROLL, "#298c99"),
        (CENTERED, CubeOwner.CENTERED, "#c0402f"),
        (OPPONENT_OWNED, CubeOwner.OPPONENT, "#506070"),
    ):
        name = {OWNED: "own cube", CENTERED: "centered", OPPONENT_OWNED: "opponent's cube"}[row]
        axes.plot(win, janowski_equities(win, 1.25, 1.25, owner=owner, cube_life_index=1.0), color=colour, label=name)
        axes.plot(np.linspace(0, 1, points + 1), drifting[row], ".", ms=5, color=colour)
    for volatility, style in ((0.16, ":"), (0.08, "--"), (0.04, "-")):
        found = solve_jumps(1.25, 1.25, volatility, points=200)
        label = f"centered, jumps of {volatility:g}"
        axes.plot(found.chances, found.centered, style, color="#e0a090", lw=1, label=label, zorder=0)
    axes.set(xlabel="winning chance of the player on roll", ylabel="equity (points per unit cube)", xlim=(0, 1))
    axes.set_title("A live cube: formulas (lines), diffusion (dots), and jumps that become smaller", fontsize=11)
    axes.legend(frameon=False, loc="upper left", fontsize=9)
    figure.savefig(IMAGES / "live_cube.png", dpi=120)


def draw_error(connection: duckdb.DuckDBPyConnection) -> None:
    """Draw the mean error of two one-sided tables by the pips of both sides."""
    rows = connection.sql(ERROR_BY_PIPS).fetchnumpy()
    grid = np.full((55, 55), np.nan)
    grid[rows["opponent_pips"], rows["on_roll_pips"]] = rows["bias"]
    figure, axes = plt.subplots(figsize=(5.2, 4.2), layout="constrained")
    image = axes.imshow(grid * 1000, origin="lower", cmap="RdBu", vmin=-6, vmax=6)
    figure.colorbar(image, label="mean error of the equity (thousandths of a point)")
    axes.set(xlabel="pips of the player on roll", ylabel="pips of the opponent", xlim=(0.5, 54.5), ylim=(0.5, 54.5))
    axes.set_title("Two one-sided tables against the exact one", fontsize=11)
    figure.savefig(IMAGES / "error_by_pips.png", dpi=120)


def draw_actions(connection: duckdb.DuckDBPyConnection) -> None:
    """Draw the right action with a centered cube, by the effective pip counts of both sides."""
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
    figure.savefig(IMAGES / "cube_action.png", dpi=120)


def draw_lead(connection: duckdb.DuckDBPyConnection) -> None:
    """Draw how often races are won, by the lead before the roll and the pips of the player on roll."""
    rows = connection.sql(WON_BY_LEAD).fetchnumpy()
    figure, axes = plt.subplots(figsize=(6.2, 3.8), layout="constrained")
    for middle, color in zip((50, 70, 90), ("#9cc7d3", "#3f7f93", "#1d3c4a"), strict=True):
        here = (rows["middle"] == middle) & (np.abs(rows["lead"]) <= 25)
        lead, won, error = (rows[name][here] for name in ("lead", "won", "error"))
        axes.fill_between(lead, 100 * (won - error), 100 * (won + error), color=color, alpha=0.25, lw=0)
        axes.plot(lead, 100 * won, color=color, label=f"{middle - 10} to {middle + 9} pips")
    axes.axhline(50, color="#999999", lw=0.7)
    axes.axvline(0, color="#999999", lw=0.7)
    axes.set(xlabel="lead of the player on roll (pips)", ylabel="games won (%)", xlim=(-25, 25), ylim=(0, 100))
    axes.set_title("Races of 10,000 games, with one standard error", fontsize=11)
    axes.legend(frameon=False, fontsize=9, loc="upper left")
    figure.savefig(IMAGES / "lead_worth.png", dpi=100)


def draw_themes(connection: duckdb.DuckDBPyConnection) -> None:
    """Draw the share of each theme among the games that last to a turn."""
    rows = connection.sql(THEMES_BY_TURN).fetchnumpy()
    names = list(SHOWN_THEMES)
    counts = np.zeros((len(names), int(rows["turn"].max()) + 1))
    for turn, theme, turns in zip(rows["turn"], rows["theme"], rows["turns"], strict=True):
        counts[names.index("back-game" if theme.startswith("back-game") else theme), turn] += turns
    shares = 100 * counts / counts.sum(axis=0)
    figure, axes = plt.subplots(figsize=(7.6, 4.2), layout="constrained")
    layers = axes.stackplot(np.arange(shares.shape[1]), shares, colors=list(SHOWN_THEMES.values()), lw=0)
    axes.set(xlabel="turn", ylabel="share of the games that last so long (%)", xlim=(0, 90), ylim=(0, 100))
    axes.legend(layers[::-1], names[::-1], frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    axes.set_title("Themes by turn, in 10,000 games", fontsize=11)
    figure.savefig(IMAGES / "themes_by_turn.png", dpi=100)


def draw_of_network() -> bool:
    """Draw every picture of the default network, and return whether all commands succeeded."""
    draw = [[*command.split(), str(IMAGES / f"{name}.png")] for name, command in OF_NETWORK.items()]
    commands = [*(command.split() for command in GAMES), *draw]
    environment = {**os.environ, "BGDATA_WAREHOUSE": str(CATALOG.parent)}
    points = [
        *(sys.executable, "-m", "tests.benchmarks.points", "--warehouse", str(CATALOG.parent)),
        *("--plot", str(IMAGES / "error_rates.png")),
    ]
    with TemporaryDirectory() as folder:
        done = [
            subprocess.run([sys.executable, "-m", "bgdata", *command], cwd=folder, env=environment, check=False)
            for command in commands
        ]
    done.append(subprocess.run(points, cwd=HERE.parent, check=False))
    return all(each.returncode == 0 for each in done)


def main() -> None:
    """Draw the requested pictures."""
    if sys.argv[1:] == ["--of-network"]:
        sys.exit(0 if draw_of_network() else 1)
    draw_rooms()
    draw_cube_models()
    draw_live_cube()
    with duckdb.connect(str(CATALOG), read_only=True) as catalog:
        draw_error(catalog)
        draw_actions(catalog)
        draw_lead(catalog)
        draw_themes(catalog)


if __name__ == "__main__":
    main()
