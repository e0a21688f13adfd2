"""`bgdata train`: networks that learn from their own games, and pictures of how they did; `train_sl` has the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from bgdata.commands import report
from bgdata.commands.completion import complete_networks, complete_players
from bgdata.commands.options import force_option, format_option, output_option, threads_option
from bgdata.commands.train_sl import sl
from bgdata.datasets.common.networks import known_network, pinned
from bgdata.datasets.network import DATASET as NETWORK
from bgdata.datasets.network import NetworkParameters, described
from bgdata.datasets.supervised_network import DATASET as TAUGHT
from bgdata.errors import UsageError, shown
from bgdata.warehouse import Warehouse

RECIPE = {  # what each parameter of the recipe does; `name` is an argument
    "games": "Games to play.",
    "seed": "Seed of the dice and of all that is drawn.",
    "inputs": "Inputs of the contact and crashed networks: tesauro-196, tesauro-198, race or contact.",
    "race_inputs": "Inputs of the race network.",
    "hidden": "Hidden units of the contact network, such as 120, or 120-60 for two layers.",
    "crashed_hidden": "Hidden units of the crashed network.",
    "race_hidden": "Hidden units of the race network.",
    "td_lambda": "0 learns from the next position, 1 from the end of the game.",
    "learning_rate": "Learning rate at first.",
    "final_learning_rate": "Learning rate at the end; it falls like 1 / (1 + c x) with the games played.",
    "round_games": "Games that are played with the same weights, and then learned from.",
    "tables": "Let the 6-point bearoff tables play and teach their positions.",
    "row_games": "Games between two rows of the learning curve.",
    "test_games": "Games against PubEval that test a network.",
}


@click.group()
def train() -> None:
    """Train networks, and draw how they learned."""


def recipe_options(function: Callable[..., None]) -> Callable[..., None]:
    """An option for each parameter of a recipe, with its default."""
    for field in reversed([field for field in fields(NetworkParameters) if field.name in RECIPE]):
        option = field.name.replace("_", "-")
        settings: dict[str, Any] = {"type": type(field.default), "default": field.default}
        settings["metavar"] = "TEXT" if isinstance(field.default, str) else "N"
        if field.name == "tables":
            option, settings = "tables/--no-tables", {"default": bool(field.default)}
        add = click.option(f"--{option}", field.name, show_default=True, help=RECIPE[field.name], **settings)
        function = add(function)
    return function


@train.command()
@click.argument("name", default=NetworkParameters.name, shell_complete=complete_networks)
@click.option(
    "--start",
    default="",
    metavar="PLAYER",
    shell_complete=complete_players,
    help="Networks to start from: network or network/NAME.  [default: new ones]",
)
@recipe_options
@threads_option
@force_option
@format_option
@click.pass_obj
def td(
    warehouse: Warehouse, /, name: str, start: str, threads: int | None, force: bool, form: str, **recipe: Any
) -> None:
    """Train the network NAME by self-play.

    NAME is small letters, digits and hyphens. The network learns by temporal differences from games against itself, and
    plays PubEval as the test; networks to start from have as many hidden units or fewer. Writes network/NAME into the
    warehouse, first the bearoff tables that it needs. Stopped at any moment, the same command goes on from its last
    checkpoint, to the same result on any number of threads. Another recipe under the same name is another version, and
    starts from nothing.

    \b
    A try of some seconds, and a player that beats PubEval after some minutes:
      bgdata train td tiny --games 800 --hidden 20 --crashed-hidden 20 --race-hidden 20 --row-games 200
      bgdata train td small --games 40000 --hidden 40 --crashed-hidden 40 --race-hidden 40 --final-learning-rate 0.02
    On from the network that comes with bgdata, with more hidden units:
      bgdata train td wide --start network --hidden 400 --crashed-hidden 200 \\
        --learning-rate 0.02 --final-learning-rate 0.001
    """
    from bgdata.evaluation.networks.named import find_network
    from bgdata.kernel import threads as run_on

    known = known_network(name)
    if name in warehouse.variants(TAUGHT.name) or (known and known[0] != NETWORK.name):
        raise UsageError(f"expected a name that no network has that learned from labels, got {shown(name)}")
    place = pinned(warehouse, find_network(start, warehouse)) if start else None
    parameters = NetworkParameters(**{**recipe, "tables": int(recipe["tables"]), "name": name, "start": place})
    with report.progress_bars() as progress, run_on(threads):
        table = warehouse.build(NETWORK.name, parameters, progress=progress, force=force)
    report.print_built(table, [described(table.array("curve")[-1].tolist())], form)


@train.command()
@click.argument("name", required=False, shell_complete=complete_networks)
@output_option("NAME.png, or NAME.html")
@click.option("--page", is_flag=True, help="Write a page that needs nothing else, with recipe, lineage and figures.")
@click.pass_obj
def plot(warehouse: Warehouse, name: str | None, output: Path | None, page: bool) -> None:
    """Draw the learning curve of a network.

    NAME is that of a network, the one that comes with bgdata without it. Drawn as PNG (needs matplotlib), or, with
    --page or a file that ends in .html, as a page with the curves, the final figures, the recipe, the networks and
    labels that it is made from, and the command line that makes it again.

    \b
      bgdata train plot --page
      bgdata train plot better -o better.html
    """
    from bgdata.commands.curve_page import write_page
    from bgdata.commands.plot import draw_curve
    from bgdata.commands.taught_plot import draw_taught_curve
    from bgdata.evaluation.networks.named import KIND, find_network

    is_page = page or (output is not None and output.suffix in (".html", ".htm"))
    if page and output and output.suffix == ".png":
        raise UsageError(f"expected a file that ends in .html for a page, got {output}")
    table = find_network(f"{KIND}/{name}" if name else KIND, warehouse)
    path = output or Path(f"{table.folder.parent.name}.{'html' if is_page else 'png'}")
    if is_page:
        write_page(table, warehouse, path)
    else:
        (draw_curve if table.manifest.dataset == KIND else draw_taught_curve)(table, path)
    click.echo(f"wrote {path}")


train.add_command(sl)
