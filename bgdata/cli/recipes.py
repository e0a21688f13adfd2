"""The recipes of networks as options of `bgdata train`, and the command line that makes a network again."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

import click

from bgdata.datasets.network import DATASET as NETWORK
from bgdata.datasets.network import NetworkParameters
from bgdata.datasets.supervised_network import SupervisedParameters
from bgdata.store.manifest import Manifest
from bgdata.training.supervised.recipe import CHOICES

TD_RECIPE = {  # what each parameter of the recipe does; `name` is an argument
    "games": "Games to play.",
    "seed": "Seed of the dice and of all that is drawn.",
    "inputs": "Inputs of the contact and crashed networks: tesauro-196, tesauro-198, race or contact.",
    "race_inputs": "Inputs of the race network.",
    "hidden": "Hidden units of the contact network, such as 120, or 120-60 for two layers.",
    "crashed_hidden": "Hidden units of the crashed network.",
    "race_hidden": "Hidden units of the race network.",
    "td_lambda": "Learn from the next position (0), from the end of the game (1), or from a mixture.",
    "learning_rate": "Learning rate at most.",
    "final_learning_rate": "Learning rate at the end; it falls like 1 / (1 + c x) with the games played.",
    "round_games": "Games that are played with the same weights, and then learned from.",
    "tables": "Let the 6-point bearoff tables play and teach their positions.",
    "row_games": "Games between two rows of the learning curve.",
    "test_games": "Games against PubEval that test a network.",
}


def td_options(function: Callable[..., None]) -> Callable[..., None]:
    """An option for each parameter of a recipe, with its default."""
    for field in reversed([field for field in fields(NetworkParameters) if field.name in TD_RECIPE]):
        option = field.name.replace("_", "-")
        settings: dict[str, Any] = {"type": type(field.default), "default": field.default}
        settings["metavar"] = "TEXT" if isinstance(field.default, str) else "N"
        if field.name == "tables":
            option, settings = "tables/--no-tables", {"default": bool(field.default)}
        add = click.option(f"--{option}", field.name, show_default=True, help=TD_RECIPE[field.name], **settings)
        function = add(function)
    return function


SL_RECIPE = {  # what each parameter of the recipe does
    "epochs": "Times that the labels are gone through.",
    "epoch_rows": "Positions of an epoch, 0 for all: with many labels, more frequent tests.",
    "batch_size": "Positions that are learned from at once.",
    "optimizer": "Scale steps by past gradients (adam: rates to 0.001), or not (sgd: rates to 1).",
    "learning_rate": "Learning rate at most.",
    "schedule": "How the rate falls: to 0 along a wave, after going up first, by the errors and back, or not at all.",
    "loss": "What is made smaller.",
    "seed": "Seed of the dice and of all that is drawn.",
    "hidden": "Hidden units of the contact network, such as 120, or 120-60 for two layers.  [default: as at the start]",
    "crashed_hidden": "Hidden units of the crashed network.  [default: as at the start]",
    "race_hidden": "Hidden units of the race network.  [default: as at the start]",
    "validation_rows": "Positions at most that errors are measured on after each epoch.",
    "test_games": "Games against PubEval that test a network.",
    "average_decay": "Keep averages of weights: such a share of them stays after each batch, 0.999 say; 0 for none.",
    "trainer": "Who computes: kernels on processor cores, the same anywhere, or PyTorch, for larger networks.",
    "device": "What PyTorch computes on; cuda is a GPU.",
}


def sl_options(function: Callable[..., None]) -> Callable[..., None]:
    """An option for each parameter of a recipe, with its default."""
    for field in reversed([field for field in fields(SupervisedParameters) if field.name in SL_RECIPE]):
        kind = click.Choice(CHOICES[field.name]) if field.name in CHOICES else type(field.default)
        function = click.option(
            f"--{field.name.replace('_', '-')}",
            field.name,
            type=kind,
            default=field.default,
            show_default=field.default != "",
            metavar=None if field.name in CHOICES else "UNITS" if field.default == "" else "N",
            help=SL_RECIPE[field.name],
        )(function)
    return function


BY_HAND = ("name", "start", "tables")  # parameters of self-play whose options are not their names


def recipe_command(manifest: Manifest) -> str:
    """`bgdata train ...` with the options that are not as they are by default.

    It gives the same version where `network/NAME` stands for the same networks still, and kinds for the same labels.
    """
    recipe = manifest.parameters
    is_supervised = manifest.dataset != NETWORK.name
    words = ["bgdata", "train", "sl" if is_supervised else "td", recipe["name"]]
    if is_supervised:
        for labels in SupervisedParameters.from_manifest(recipe).labels:
            source = labels.versions[0].kind if len(labels.versions) > 1 else labels.name
            words += ["--labels", f"{source}:{labels.weight:g}"]
        names = tuple(SL_RECIPE)
    else:
        names = tuple(name for name in NetworkParameters.names() if name not in BY_HAND)
    if recipe["start"]:
        words += ["--start", f"{NETWORK.name}/{recipe['start']['variant']}"]
    words += changed_options(recipe, names, SupervisedParameters if is_supervised else NetworkParameters)
    words += ["--no-guard"] * (is_supervised and not recipe["guard"])
    words += ["--no-tables"] * (not is_supervised and not recipe["tables"])
    return shlex.join(words)


def changed_options(recipe: dict[str, Any], names: tuple[str, ...], defaults: type[Any]) -> Iterator[str]:
    """Options and values of the parameters that are not as they are by default."""
    for name in names:
        if recipe[name] != getattr(defaults, name):
            yield from (f"--{name.replace('_', '-')}", str(recipe[name]))
