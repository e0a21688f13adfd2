"""`bgdata selfplay` and `bgdata rescore`: a corpus of games, and its labels, rescored by exact tables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import click

from bgdata.cli import options as cli
from bgdata.cli.completion import complete_tables
from bgdata.cli.output import build_version, print_built
from bgdata.errors import MissingTableError, UsageError, cite
from bgdata.rows import COUNT, EQUITY, LOSS, Column, Quantity, table_lines
from bgdata.selfplay.kinds.cubeful_selfplay import DATASET as CUBEFUL
from bgdata.selfplay.kinds.cubeful_selfplay import MAX_PLY, CubefulParameters
from bgdata.selfplay.kinds.selfplay import DATASET as SELFPLAY
from bgdata.selfplay.kinds.selfplay import SelfPlayParameters
from bgdata.selfplay.kinds.selfplay_labels import DATASET as LABELS
from bgdata.selfplay.kinds.selfplay_labels import SelfPlayLabelParameters
from bgdata.selfplay.kinds.shared.rollouts import NetworkChoice, is_up_to_date
from bgdata.warehouse import Warehouse


@click.command()
@cli.player_option()
@cli.games_option(10_000)
@cli.seed_option(1)
@cli.luck_option
@click.option(
    "--cube-model",
    default="",
    metavar="MODEL[,MODEL]",
    help="Play with the cube, by a cube life index such as 0.7, by jump:0.08 (a volatility), by local:0.08 (that of "
    "each position), by first:0.7 (Janowski's rule as Higgins first had it), or by money:0.7, which ignores the match "
    "score; cubeful:MODEL chooses plays by it, too; one model for both sides, or one each.  "
    "[default: without the cube]",
)
@cli.match_length_option("money games")
@cli.jacoby_option
@cli.ply_option(MAX_PLY)
@cli.executor_option
@cli.threads_option
@cli.force_option
@cli.format_option
@click.pass_obj
def selfplay(warehouse: Warehouse, /, player: str, form: str, **options: Any) -> None:
    """Let a player play itself, and keep every turn.

    The result is in the tables `games` and `turns`. The games of a seed are the same from any executor and any number
    of threads. A stopped command, run again, plays only the missing games.

    \b
    The luck of the dice, game by game, and the openings:
      bgdata selfplay --games 500 --seed 2 --luck
      bgdata query "from luck_by_game limit 5"
      bgdata query "from opening_plays"

    With --cube-model a network plays money games or matches, and cube actions are turns too. Plays are chosen by
    cubeless equity, or with cubeful:MODEL by the value that positions have with the cube. With --ply both are found so
    many rolls ahead, as are the chances by which the cube is turned. The cube goes up to 64, and there are no beavers:

    \b
      bgdata selfplay --cube-model cubeful:0.7
      bgdata selfplay --cube-model cubeful:0.7 --ply 1 --games 1000
      bgdata selfplay --cube-model 0.7,money:0.7 --match-length 7
    """
    from bgdata.evaluation.player import open_named_player

    games, seed, luck, model = (options[name] for name in ("games", "seed", "luck", "cube_model"))
    if model:
        if luck:
            raise UsageError("expected --cube-model or --luck, which is that of cubeless games, got both")
        found = network_choice(warehouse, player)
        rules = {"length": options["match_length"] or 0, "jacoby": bool(options["jacoby"]), "ply": options["ply"]}
        cubeful = CubefulParameters(
            found.network, found.network_version, cube=" ".join(model.split(",")), games=games, seed=seed, **rules
        )
        table = build_version(warehouse, CUBEFUL, cubeful, force=options["force"])
        print_built(table, [cubeful_summary_text(table.manifest.statistics, table.manifest.rows)], form)
        return
    for name in (name for name in ("match_length", "jacoby", "ply") if options[name]):
        raise UsageError(f"expected --cube-model with --{name.replace('_', '-')}, got none")
    parameters = SelfPlayParameters(player, "", games, seed, luck)
    SELFPLAY.check_parameters(parameters)  # before a player is opened
    if player != "network":
        parameters = parameters.with_changes({"version": open_named_player(player, 0, warehouse).version})
    table = build_version(warehouse, SELFPLAY, parameters, force=options["force"])
    print_built(table, [summary_text(games, table.manifest.statistics)], form)


@click.command()
@click.argument("corpus", shell_complete=complete_tables)
@cli.table_option
@click.option(
    "--combined", is_flag=True, help="Beyond it, use one-sided tables as well: they are nearly exact, and cover more."
)
@cli.executor_option
@cli.threads_option
@cli.force_option
@cli.format_option
@click.pass_obj
def rescore(warehouse: Warehouse, /, corpus: str, table: str, form: str, **options: bool) -> None:
    """Label a CORPUS with outcomes, rescored by exact tables.

    CORPUS is a corpus of self-play, such as selfplay/network-10000-seed-1; the labels are in the table
    `selfplay_labels`. The label of a position is the outcome of its game. If the game reached a position that bearoff
    tables cover, the exact chances of that position replace the outcome, there and in all positions before. The command
    prints how much of the variance this removes. Where the corpus records luck, each label is also given luck-adjusted:
    minus the luck of the rolls that led to it.

    \b
      bgdata rescore selfplay/network-10000-seed-1
      bgdata query "from selfplay_labels_summary"
      bgdata export text selfplay_labels/network-10000-seed-1-6x9 --format gnubg-training --output labels.gz
    """
    from bgdata.evaluation.bearoff import available_sizes
    from bgdata.measures.steps.scores import table_size

    recipe = corpus_recipe(warehouse, corpus)
    points, checkers = table_size(warehouse, table, "to rescore by")
    race_points = 0
    if options["combined"]:
        found = available_sizes(warehouse, "bearoff_one_sided") & available_sizes(warehouse, "bearoff_gammon")
        if not found:
            raise MissingTableError(
                f"expected bearoff_one_sided and bearoff_gammon of the same size in {warehouse.root} to combine, found "
                "none; try: bgdata build bearoff_gammon --points 10"
            )
        race_points = max(points for points, _ in found)
    parameters = SelfPlayLabelParameters(**vars(recipe), points=points, checkers=checkers, one_sided_points=race_points)
    labels = build_version(warehouse, LABELS, parameters, force=options["force"])
    by_class = table_lines(CLASS_COLUMNS, warehouse.rows(BY_CLASS, {"variant": labels.manifest.variant}))
    print_built(labels, [*rescored_lines(parameters, labels.manifest.statistics), "", *by_class], form)


def summary_text(games: int, statistics: Mapping[str, float]) -> str:
    """Return lines of text that say how the games ended, and the mean result of player 0, from the `statistics` of the
    version."""
    shares = ", ".join(
        f"{100 * statistics[f'{kind}_share']:.1f} % {kind}s" for kind in ("single", "gammon", "backgammon")
    )
    points = f"{EQUITY.text(statistics['points_per_game'], statistics['standard_error'])} points per game"
    if "hedged_standard_error" in statistics:
        error = statistics["hedged_standard_error"]
        points += f"; luck-adjusted {EQUITY.text(statistics['hedged_points_per_game'], error)}"
        points += f", {statistics['standard_error'] / error:.1f} times less noise" if error else ""
    return f"{games:,} games of {statistics['turns_per_game']:.1f} turns: {shares}\nplayer 0: {points}"


def network_choice(warehouse: Warehouse, player: str) -> NetworkChoice:
    """Return the parameters that name a network and the default bearoff tables. `player` is `network` or
    `network/NAME`. Raises UsageError for any other player, and MissingTableError if the network is missing."""
    from bgdata.evaluation.networks.player import find_network
    from bgdata.evaluation.players import NETWORK

    if player.partition("/")[0] != NETWORK:
        raise UsageError(f"expected a network to handle the cube, got {cite(player)}")
    if player == NETWORK:
        return NetworkChoice()
    found = find_network(player, warehouse)
    return NetworkChoice(network=found.folder.parent.name, network_version=found.folder.name)


def cubeful_summary_text(statistics: Mapping[str, float], games: int) -> str:
    """Return lines of text that say how the games with the cube ended, and the mean result of player 0, from the
    `statistics` of the version."""
    if "matches_won_share" in statistics:
        won = (
            f"{100 * statistics['matches_won_share']:.1f} +/- {100 * statistics['standard_error']:.1f} % of matches won"
        )
    else:
        won = f"{EQUITY.text(statistics['points_per_game'], statistics['standard_error'])} points per game"
    return (
        f"{games:,} games of {statistics['turns_per_game']:.1f} turns: {100 * statistics['passed_share']:.1f} % "
        f"passed, average cube {statistics['mean_cube_value']:.2f}\nplayer 0: {won}"
    )


NAME = re.compile(r"(?P<player>pubeval|random|network(-[a-z0-9-]+)?)-(?P<games>\d+)-seed-(?P<seed>\d+)(?P<luck>-luck)?")
CLASS_COLUMNS = (
    Column("class", width=8),
    Column("positions", COUNT, gap=2),
    Column("covered", COUNT, width=8),
    Column("rescored", COUNT),
    Column("outcome_variance", LOSS, "before", width=7),
    Column("label_variance", LOSS, "after", width=7),
    Column("removed_share", Quantity(1, 100, unit=" %"), "removed", missing="-"),
)
BY_CLASS = """
select class, positions, covered, rescored, outcome_variance, label_variance, removed_share
from selfplay_labels_summary where variant = $variant order by positions desc
"""


def corpus_recipe(warehouse: Warehouse, source: str) -> SelfPlayParameters:
    """Return the parameters of the corpus called `source`, for labels that name this corpus as their input. Raises
    MissingTableError if the corpus is missing or its stored parameters no longer lead to it, and CorruptFileError if it
    is damaged."""
    kind, variant, *_ = [*source.split("/"), ""]
    if kind != SELFPLAY.name or not variant:
        raise UsageError(f"expected a corpus such as selfplay/network-10000-seed-1, got {cite(source)}")
    if next(warehouse.versions(kind, variant), None) is None:
        warehouse.require()
        have = ", ".join(warehouse.variants(kind)) or "none"
        raise MissingTableError(
            f"no {source} in {warehouse.root} (have: {have}); try: bgdata {corpus_command(variant)}"
        )
    table = warehouse.open_reference(source)
    table.check_sizes()
    parameters = SelfPlayParameters.from_manifest(table.manifest.parameters)
    if not is_up_to_date(warehouse, table):
        raise MissingTableError(
            f"expected {source} as the player plays now, found {table.folder.name} by another network or tables; "
            f"try: bgdata {corpus_command(variant)}"
        )
    return parameters


def corpus_command(variant: str) -> str:
    """Return the `bgdata` arguments that make a corpus called `variant`, as far as its name tells them."""
    name = NAME.fullmatch(variant)
    if not name:
        return "selfplay"
    player = name["player"].replace("network-", "network/", 1)
    chosen = "" if player == "network" else f" --player {player}"
    return f"selfplay{chosen} --games {name['games']} --seed {name['seed']}" + (" --luck" if name["luck"] else "")


def rescored_lines(parameters: SelfPlayLabelParameters, statistics: Mapping[str, float]) -> list[str]:
    """Return lines of text that say what rescoring changed, from the `statistics` of the labels."""
    race = f" and, combined, bearoff_one_sided/{parameters.one_sided_points}x15" if parameters.one_sided_points else ""
    table, share = f"{parameters.points}x{parameters.checkers}", statistics["rescored"] / statistics["positions"]
    hedged = ""
    if "variance_hedged" in statistics:
        removed = 1 - statistics["variance_hedged"] / statistics["variance_before"]
        hedged = f"; luck-adjusted {statistics['variance_hedged']:.4f}: {100 * removed:.1f} %"
    return [
        f"{statistics['positions']:,.0f} positions of {parameters.games:,} games, by bearoff_two_sided/{table}{race}:",
        f"{statistics['covered']:,.0f} covered, {statistics['rescored']:,.0f} rescored ({100 * share:.1f} %); the "
        "others keep the outcome of their game",
        f"label variance {statistics['variance_before']:.4f} before, {statistics['variance_after']:.4f} after: "
        f"{100 * statistics['removed_share']:.1f} % removed{hedged}",
    ]
