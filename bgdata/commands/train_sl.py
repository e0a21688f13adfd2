"""`bgdata train sl`: networks that learn from labelled positions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import click

from bgdata.commands import report
from bgdata.commands.completion import complete_networks, complete_players, complete_tables
from bgdata.commands.options import force_option, format_option, threads_option
from bgdata.datasets.common.networks import pinned
from bgdata.datasets.network import DATASET as NETWORK
from bgdata.datasets.supervised_network import DATASET as TAUGHT
from bgdata.datasets.supervised_network import SupervisedParameters, WeightedLabels, best_epoch, described
from bgdata.errors import UsageError, shown
from bgdata.evaluation.networks.shipped import SHIPPED
from bgdata.store.parameters import VersionRef
from bgdata.store.table import Table
from bgdata.training.supervised.recipe import CHOICES
from bgdata.warehouse import Warehouse

RECIPE = {  # what each parameter of the recipe does
    "epochs": "Times that the labels are gone through.",
    "epoch_rows": "Positions of an epoch, 0 for all: with many labels, more frequent tests.",
    "batch_size": "Positions that are learned from at once.",
    "optimizer": "Steps by the size that gradients had (adam), or by the gradient alone (sgd).",
    "learning_rate": "Learning rate at most: 0.0001 to 0.001 suit adam, 0.003 to 1 sgd.",
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


def recipe_options(function: Callable[..., None]) -> Callable[..., None]:
    """An option for each parameter of a recipe, with its default."""
    for field in reversed([field for field in fields(SupervisedParameters) if field.name in RECIPE]):
        kind = click.Choice(CHOICES[field.name]) if field.name in CHOICES else type(field.default)
        function = click.option(
            f"--{field.name.replace('_', '-')}",
            field.name,
            type=kind,
            default=field.default,
            show_default=field.default != "",
            metavar=None if field.name in CHOICES else "UNITS" if field.default == "" else "N",
            help=RECIPE[field.name],
        )(function)
    return function


@click.command()
@click.argument("name", default=SupervisedParameters.name, shell_complete=complete_networks)
@click.option(
    "--labels",
    multiple=True,
    required=True,
    metavar="KIND[/VARIANT[/VERSION]][:WEIGHT]",
    shell_complete=complete_tables,
    help="Positions to learn from; given several times, batches are mixed by the weights.",
)
@click.option(
    "--start",
    default=NETWORK.name,
    show_default=True,
    metavar="PLAYER",
    shell_complete=complete_players,
    help="Networks to start from: network or network/NAME.",
)
@click.option("--guard/--no-guard", default=True, show_default=True, help="Leave out positions of benchmarks.")
@recipe_options
@threads_option
@force_option
@format_option
@click.pass_obj
def sl(
    warehouse: Warehouse, /, name: str, labels: tuple[str, ...], start: str, guard: bool, threads: int | None,
    force: bool, form: str, **recipe: Any,
) -> None:  # fmt: skip
    """Teach the network NAME from labels: supervised learning.

    NAME is small letters, digits and hyphens; the network goes on from another one. Labels are versions of the
    warehouse that hold positions with chances: rollouts, self-play with its outcomes, or training data of gnubg and
    wildbg once imported. Eight tenths are learned, one tenth is only tested on after every epoch: each network keeps
    the weights that did best there. Writes a version of supervised_network/NAME, which plays as network/NAME. Stopped
    at any moment, the same command goes on from its last checkpoint, to the same result on any number of threads. With
    PyTorch that holds for one version of it and one kind of processor, which the recipe names.

    \b
    From the network that comes with bgdata; then a wider one from two kinds of labels, two thirds of the first:
      bgdata train sl better --labels selfplay_labels/network-10000-seed-1-6x9 --epochs 10
      bgdata train sl wide --labels rollout_labels:2 --labels selfplay_labels --hidden 240 --start network/better
    gnubg's training files, where they are at hand:
      bgdata import gnubg_training contact-train-data && bgdata train sl mine --labels gnubg_training
    A large network by PyTorch (pip install bgdata[torch]) on a GPU, with averages of its weights:
      bgdata train sl large --labels rollout_labels --hidden 1024 --trainer torch --device cuda --average-decay 0.999
    The recipe of 2012, but for batches of 16:
      bgdata train sl cycled --labels gnubg_training --optimizer sgd --learning-rate 1 --loss squared \\
        --schedule cycles --batch-size 16 --epochs 200
    """
    from bgdata.kernel import threads as run_on

    parameters = chosen_parameters(warehouse, name, labels, start, guard, recipe)
    with report.progress_bars() as progress, run_on(threads):
        table = warehouse.build(TAUGHT.name, parameters, progress=progress, force=force)
    report.print_built(table, [result_text(table)], form)


def chosen_parameters(
    warehouse: Warehouse, name: str, labels: tuple[str, ...], start: str, guard: bool, recipe: dict[str, Any]
) -> SupervisedParameters:
    """The recipe, with the versions that names stand for now. Raises UsageError, MissingTableError, or
    UnknownPlayerError."""
    from bgdata.evaluation.networks.mapped import open_networks
    from bgdata.evaluation.networks.named import find_network
    from bgdata.training.feed.rows import benchmark_versions
    from bgdata.training.networks import feature_names

    if (SHIPPED / name).is_dir() or name in warehouse.variants(NETWORK.name):
        raise UsageError(f"expected a name that no network has that learned by self-play, got {shown(name)}")
    table = find_network(start, warehouse)
    return SupervisedParameters(
        **recipe,
        name=name,
        start=pinned(warehouse, table),
        labels=tuple(pinned_labels(warehouse, text) for text in labels),
        guard=tuple(map(VersionRef.parse, benchmark_versions(warehouse))) if guard else (),
        features=tuple(feature_names(open_networks(table)).split()),
        platform=found_platform(recipe["trainer"], recipe["device"]),
    )


def found_platform(trainer: str, device: str) -> str:
    """What PyTorch computes on here; empty for the kernels, which are the same anywhere. Raises MissingExtraError, and
    UsageError for a device that is not there."""
    if trainer != "torch":
        return ""
    from bgdata.training.supervised.torch_trainer import platform_name

    return platform_name(device)


def pinned_labels(warehouse: Warehouse, text: str) -> WeightedLabels:
    """The versions that `KIND[/VARIANT[/VERSION]][:WEIGHT]` stands for, and their weight."""
    from bgdata.training.feed.rows import labelled_versions

    place, _, weight = text.partition(":")
    try:
        share = float(weight or 1)
    except ValueError:
        raise UsageError(f"expected labels KIND/VARIANT:WEIGHT, got {shown(text)}") from None
    return WeightedLabels(tuple(map(VersionRef.parse, labelled_versions(warehouse, place))), share)


def result_text(table: Table) -> str:
    """What was learned, for people."""
    statistics, curve = table.manifest.statistics, table.array("curve")
    before, after = (
        f"{statistics[f'{start}points_per_game']:+.3f} +/- {statistics[f'{start}standard_error']:.3f}"
        for start in ("start_", "")
    )
    last = described(len(curve) - 1, curve)
    kept = [f"{name} {best_epoch(curve, which)}" for which, name in enumerate(("race", "crashed", "contact"))]
    return f"{last}\nkept epochs: {', '.join(kept)}; {after} points per game against PubEval, {before} before"
