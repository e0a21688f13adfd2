"""The recipes of networks as options of `bgdata train`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import Any

import click

from bgdata.cli.completion import complete_tables
from bgdata.cli.options import Option, add_options
from bgdata.training.recipes import CHOICES

TD_RECIPE = {  # help of each parameter; `name` is an argument
    "games": "Games to play.",
    "seed": "Seed of the dice and of all other random choices.",
    "inputs": "Inputs of the contact and crashed networks: tesauro-196, tesauro-198, race or contact.",
    "race_inputs": "Inputs of the race network.",
    "hidden": "Hidden units of the contact network, such as 120, or 120-60 for two layers.",
    "crashed_hidden": "Hidden units of the crashed network.",
    "race_hidden": "Hidden units of the race network.",
    "td_lambda": "Learn from the next position (0), from the end of the game (1), or from a mixture of both.",
    "learning_rate": "Maximum learning rate.",
    "final_learning_rate": "Learning rate at the end; it falls as 1 / (1 + c x), x being the games played.",
    "round_games": "Games that are played with the same weights before the network learns from them.",
    "tables": "Play the positions of the 6-point bearoff tables by them, and learn from their chances.",
    "row_games": "Games between two rows of the learning curve.",
    "test_games": "Games against PubEval that test a network.",
}


SL_RECIPE = {  # help of each parameter
    "epochs": "Number of passes over the labels.",
    "epoch_rows": "Positions of an epoch, rounded up to batches of 65,536, 0 for all; fewer mean more frequent tests.",
    "batch_size": "Positions per update of the weights.",
    "optimizer": "Optimizer: adam, for learning rates up to 0.001, or sgd, up to 1.",
    "learning_rate": "Maximum learning rate.",
    "schedule": "Learning rate over time: down to 0, up first and then down, down and up by the errors, or constant.",
    "loss": "The loss that is minimised.",
    "seed": "Seed of the dice and of all other random choices.",
    "hidden": "Hidden units of the contact network, such as 120, or 120-60 for two layers.  [default: as in --start]",
    "crashed_hidden": "Hidden units of the crashed network.  [default: as in --start]",
    "race_hidden": "Hidden units of the race network.  [default: as in --start]",
    "validation_rows": "Number of positions for measuring errors after each epoch, rounded up to batches of 65,536.",
    "test_games": "Games against PubEval that test a network.",
    "average_decay": "Keep a moving average of the weights with this decay per batch, such as 0.999; 0 for none.",
    "trainer": "Trainer: kernels on the processor, the same on any machine, or PyTorch, for larger networks.",
    "device": "Where PyTorch computes; cuda is a GPU.",
    "inputs": TD_RECIPE["inputs"],
    "activation": "Hidden units of new networks: logistic, or rectified for several layers.",
    "revive": "Let rectified units that are 0 in all positions begin anew.",
    "add_inputs": "Inputs that the contact and crashed networks of --start get as well, such as contact.  "
    "[default: none]",
    "feed_format": "Order of the batches: 2, even over all labels, or 1, as before there was another.",
}
NEWEST = {"feed_format": 2}  # defaults of new recipes that differ from those of older recipes
METAVARS = {  # names of values that are not numbers
    **dict.fromkeys(("hidden", "crashed_hidden", "race_hidden"), "UNITS"),
    **dict.fromkeys(("inputs", "race_inputs", "add_inputs"), "NAME"),
}


def recipe_options(recipe: type, helps: Mapping[str, str], names: Collection[str] = ()) -> Option:
    """Return a decorator that adds an option, with its default, for each parameter of a recipe that has a help text in
    `helps`. If `names` are given, only these parameters get options."""

    options = []
    for field in (field for field in fields(recipe) if field.name in (names or helps)):
        option = f"--{field.name.replace('_', '-')}"
        default = NEWEST.get(field.name, field.default)
        settings: dict[str, Any] = {"default": default, "show_default": default != ""}
        if field.name in CHOICES and helps is SL_RECIPE:
            settings["type"] = click.Choice(CHOICES[field.name])
        elif field.name == "tables":
            option, settings["default"] = "--tables/--no-tables", bool(field.default)
        elif isinstance(field.default, bool):
            settings["is_flag"] = True
        else:
            settings |= {"type": type(field.default), "metavar": METAVARS.get(field.name, "N")}
        options.append(click.option(option, field.name, help=helps[field.name], **settings))
    return add_options(*options)


label_options = add_options(  # options that name labels to learn from
    click.option(
        "--labels",
        multiple=True,
        required=True,
        metavar="KIND[/VARIANT[/VERSION]][:WEIGHT]",
        shell_complete=complete_tables,
        help="Positions to learn from; several of them are mixed in batches by their weights.",
    ),
    click.option(
        "--guard/--no-guard", default=True, show_default=True, help="Leave out positions that benchmarks hold."
    ),
)
