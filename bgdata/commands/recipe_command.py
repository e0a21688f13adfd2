"""The command line that makes a network again, from the recipe in its manifest."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from bgdata.commands.train_sl import RECIPE as TAUGHT_RECIPE
from bgdata.datasets.network import DATASET as NETWORK
from bgdata.datasets.network import NetworkParameters
from bgdata.datasets.supervised_network import SupervisedParameters
from bgdata.store.manifest import Manifest

BY_HAND = ("name", "start", "tables")  # parameters of self-play whose options are not their names


def recipe_command(manifest: Manifest) -> str:
    """`bgdata train ...` with the options that are not as they are by default.

    It gives the same version where `network/NAME` stands for the same networks still, and kinds for the same labels.
    """
    recipe = manifest.parameters
    is_taught = manifest.dataset != NETWORK.name
    words = ["bgdata", "train", "sl" if is_taught else "td", recipe["name"]]
    if is_taught:
        for labels in SupervisedParameters.from_manifest(recipe).labels:
            source = labels.versions[0].kind if len(labels.versions) > 1 else labels.name
            words += ["--labels", f"{source}:{labels.weight:g}"]
        names = tuple(TAUGHT_RECIPE)
    else:
        names = tuple(name for name in NetworkParameters.names() if name not in BY_HAND)
    if recipe["start"]:
        words += ["--start", f"{NETWORK.name}/{recipe['start']['variant']}"]
    words += changed_options(recipe, names, SupervisedParameters if is_taught else NetworkParameters)
    words += ["--no-guard"] * (is_taught and not recipe["guard"])
    words += ["--no-tables"] * (not is_taught and not recipe["tables"])
    return shlex.join(words)


def changed_options(recipe: dict[str, Any], names: tuple[str, ...], defaults: type[Any]) -> Iterator[str]:
    """Options and values of the parameters that are not as they are by default."""
    for name in names:
        if recipe[name] != getattr(defaults, name):
            yield from (f"--{name.replace('_', '-')}", str(recipe[name]))
