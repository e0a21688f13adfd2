"""Commands that make corpora and labels: games of a player against itself, rollouts, and what tables know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource

from bgdata.commands.completion import complete_tables
from bgdata.commands.options import (
    executor_option,
    force_option,
    format_option,
    games_option,
    jacoby_option,
    luck_option,
    network_option,
    player_option,
    plays_option,
    plot_option,
    seed_option,
    table_option,
    threads_option,
)
from bgdata.warehouse import Warehouse

within_option = click.option(
    "--within",
    default=0.16,
    show_default=True,
    metavar="POINTS",
    help="Roll out plays that lose at most so much at a glance.",
)


@click.command()
@player_option
@games_option(10_000)
@seed_option(1)
@luck_option
@click.option(
    "--cube-model",
    default="",
    metavar="MODEL[,MODEL]",
    help="Play with the cube, handled by a cube life index such as 0.7, by jump:0.08 (volatility), or by money:0.7, "
    "which ignores the score of a match; one for both sides, or one each.  [default: without the cube]",
)
@click.option(
    "--match-length",
    type=click.IntRange(1, 64),
    metavar="N",
    help="With --cube-model: play matches to N points.  [default: money games]",
)
@jacoby_option
@executor_option
@threads_option
@force_option
@format_option
@click.pass_obj
def selfplay(
    warehouse: Warehouse, /, player: str, executor: str, threads: int | None, form: str, **options: Any
) -> None:
    """Let a player play itself, and keep every turn.

    They are the tables `games` and `turns`. The games of a seed are the same from any executor and any number of
    threads. Stopped at any moment, the same command goes on with the games that are missing.

    \b
    The luck of the dice, game by game, and the openings:
      bgdata selfplay --games 500 --seed 2 --luck
      bgdata query "from luck_by_game limit 5"
      bgdata query "from opening_plays"

    With --cube-model a network plays money games or matches, and cube actions are turns too. Plays are still chosen by
    cubeless equity; the cube goes up to 64, and nobody beavers:

    \b
      bgdata selfplay --cube-model 0.7
      bgdata selfplay --cube-model 0.7,money:0.7 --match-length 7
    """
    from bgdata.commands.selfplay import play_corpus, play_with_cube
    from bgdata.errors import UsageError
    from bgdata.kernel import threads as run_on

    how = {"luck": options["luck"], "executor": executor, "force": options["force"], "form": form}
    with run_on(threads):
        if options["cube_model"]:
            counts = {"games": options["games"], "seed": options["seed"]}
            counts |= {"length": options["match_length"] or 0, "jacoby": int(options["jacoby"] or 0)}
            play_with_cube(warehouse, player, options["cube_model"], counts, **how)
            return
        for name in (name for name in ("match_length", "jacoby") if options[name]):
            raise UsageError(f"expected --cube-model with --{name.replace('_', '-')}, got none")
        play_corpus(warehouse, player, options["games"], options["seed"], **how)


@click.command()
@click.argument("study")
@games_option(None, "of each setting 100000, with --luck 1000; matches count as games")
@seed_option(1)
@luck_option
@player_option
@plot_option
@executor_option
@threads_option
@force_option
@format_option
@click.pass_obj
def study(
    warehouse: Warehouse, /, study: str, games: int | None, seed: int, player: str, threads: int | None, **options: Any
) -> None:
    """Run a STUDY of cube handling, beside its published figures.

    They are the table `cube_studies`. STUDY is one of these:

    \b
      statistics  how games end, and the cube, by cube life index
      index       a cube life index against 0.7
      fine-index  the same near 0.7
      jump        the jump model at 5 to 11 % against Janowski at 0.7
      match       a cube life index by the score against the same as for money, to 3, 5, 7 and 9 points

    Where sides differ, every sequence of dice is played twice with the sides swapped. Stopped at any moment, the same
    command goes on with the games that are missing.

    \b
      bgdata study index --games 10000
      bgdata study jump --luck --plot jump.png
    """
    from bgdata.commands.study import run_study
    from bgdata.kernel import threads as run_on

    with run_on(threads):
        run_study(warehouse, study, player, games, seed, **options)


def rollout_options(function: Callable[..., None]) -> Callable[..., None]:
    """How to roll out."""
    stops = click.Choice(["end", "exact", "tables"])
    stop_help = "Where games end sooner: nowhere, at exact bearoff tables, or at any."
    for add in (
        network_option,
        click.option("--no-luck", is_flag=True, help="Do not subtract luck: much faster, and much less exact."),
        click.option("--stop", type=stops, default="exact", show_default=True, help=stop_help),
        click.option(
            "--truncate",
            default=0,
            metavar="ROLLS",
            help="Rolls after which the static evaluation counts.  [default: never]",
        ),
        seed_option(0),
        click.option(
            "--most-trials",
            default=46_656,
            show_default=True,
            metavar="N",
            help="Trials where --until ends, a multiple of --trials.",
        ),
        click.option(
            "--until",
            type=float,
            metavar="ERROR",
            help="Play more rounds of --trials until the standard error is so small, in points.  "
            "[default: one round; for a benchmark 0.005]",
        ),
        click.option("--trials", default=1296, show_default=True, metavar="N", help="Games, a multiple of 36."),
    ):
        function = add(function)
    return function


@click.command()
@click.argument("position")
@click.argument("roll", required=False)
@rollout_options
@within_option
@plays_option()
@threads_option
@format_option
@click.pass_obj
def rollout(
    warehouse: Warehouse,
    /,
    position: str,
    roll: str | None,
    network: str,
    threads: int | None,
    form: str,
    **options: Any,
) -> None:
    """Roll out a POSITION, or the plays of a ROLL.

    POSITION is a Position ID, gnubg ID, XGID, 20-letter key, 26 integers or start. The network plays both sides many
    times; chances and equity have standard errors. With a ROLL such as 31, or an XGID or gnubg ID that has one, the
    better plays are rolled out with the same dice, and ranked. The luck of every roll is subtracted, which makes
    standard errors several times smaller.

    \b
      bgdata rollout 4HPwATDgc/ABMA
      bgdata rollout 4HPwATDgc/ABMA 31 --plays 3 --until 0.005
    """
    from bgdata.commands.rollout import print_rollout
    from bgdata.evaluation.networks.named import KIND, open_network_player
    from bgdata.evaluation.networks.player import NetworkPlayer
    from bgdata.kernel import threads as run_on

    player = open_network_player(f"{KIND}/{network}" if network else KIND, 0, warehouse)
    assert isinstance(player, NetworkPlayer)  # at ply 0
    with run_on(threads):
        print_rollout(player, position, roll, form, options)


@click.command()
@click.argument("source", shell_complete=complete_tables)
@click.option(
    "--engine",
    type=click.Choice(["rollout", "lookahead", "tables", "gnubg", "bgsage"]),
    default="rollout",
    show_default=True,
    help="Who says what a position is worth; gnubg and bgsage where they are installed.",
)
@click.option(
    "--ply",
    type=click.IntRange(0, 4),
    metavar="N",
    help="Rolls that the player looks ahead.  [default: lookahead 1, programs 0]",
)
@click.option(
    "--least-change",
    default=0.0,
    metavar="POINTS",
    help="With lookahead: keep only positions whose equity it changes by so much.  [default: keep all]",
)
@click.option(
    "--pairs",
    default=400_000,
    show_default=True,
    type=click.IntRange(0),
    metavar="N",
    help="With tables: pairs of layouts, 0 for every layout once, and a quarter more of an exact table.",
)
@rollout_options
@threads_option
@format_option
@click.pass_context
def label(context: click.Context, /, source: str, engine: str, threads: int | None, form: str, **options: Any) -> None:
    """Label the positions of a SOURCE by an engine.

    SOURCE is a table of positions or turns, such as positions/NAME. Engines, and the tables that they fill:

    \b
      rollout    rollout_labels: played out many times, with standard errors
      lookahead  lookahead_labels: the network a roll ahead, and at a glance
      tables     bearoff_labels: pairs from a SOURCE such as bearoff_one_sided/10x15
      gnubg, bgsage  engine_labels: the installed program; lookahead at ply 2, 3 too

    Stopped at any moment, the same command goes on from its last checkpoint, to the same labels on any number of
    threads. Each position is labelled once, and belongs to the split of its game. Rollouts label every row, and keep
    positions whose standard error cannot be reached with the one that they got to.

    \b
      bgdata label positions/mine --trials 360
      bgdata label bearoff_one_sided/10x15 --engine tables
    """
    from bgdata.commands.label import label_positions
    from bgdata.kernel import threads as run_on

    given = {name for name in options if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    with run_on(threads):
        label_positions(context.obj, source, engine, options, given, form)


@click.command()
@click.argument("corpus", shell_complete=complete_tables)
@table_option
@click.option(
    "--combined", is_flag=True, help="Where it ends, go by one-sided tables too: nearly exact, and they reach further."
)
@threads_option
@force_option
@format_option
@click.pass_obj
def rescore(warehouse: Warehouse, /, corpus: str, table: str, threads: int | None, form: str, **options: bool) -> None:
    """Label a CORPUS by outcomes and exact tables.

    CORPUS is one of self-play, such as selfplay/network-10000-seed-1; the labels are the table `selfplay_labels`. A
    label is how the game ended, until the game reaches a position that bearoff tables know: then their exact chances
    stand for it, there and in all positions before. Says how much of the variance of labels that removes, which is
    luck. Where the corpus has luck, each label also comes less the luck of the rolls that led to it.

    \b
      bgdata rescore selfplay/network-10000-seed-1
      bgdata query "from selfplay_labels_summary"
      bgdata export text selfplay_labels/network-10000-seed-1-6x9 --format gnubg-training --output labels.gz
    """
    from bgdata.commands.rescore import rescore_corpus
    from bgdata.kernel import threads as run_on

    with run_on(threads):
        rescore_corpus(warehouse, corpus, table, form, combined=options["combined"], force=options["force"])


@click.command()
@click.argument("corpus", shell_complete=complete_tables)
@click.option(
    "--class",
    "position_class",
    type=click.Choice(["contact", "crashed", "race"]),
    default="contact",
    show_default=True,
    help="Class of the positions.",
)
@click.option(
    "--decisions",
    "count",
    default=40,
    show_default=True,
    type=click.IntRange(1),
    metavar="N",
    help="Decisions at most.",
)
@rollout_options
@within_option
@plays_option(2)
@threads_option
@format_option
@click.pass_obj
def decisions(
    warehouse: Warehouse,
    /,
    corpus: str,
    position_class: str,
    count: int,
    network: str,
    threads: int | None,
    form: str,
    **options: Any,
) -> None:
    """Make a benchmark: decisions of a CORPUS, rolled out.

    CORPUS is one of self-play, such as selfplay/network-10000-seed-1. The better plays of each decision are rolled out,
    without --until to standard errors of 0.005 points. Decisions are chosen by a hash, from the test games of the
    corpus: a larger set begins with a smaller one, and --seed chooses others. Stopped at any moment, the same command
    goes on from its last checkpoint, to the same set on any number of threads.

    \b
    Make one, score a player on it, write it as a gnubg benchmark file:
      bgdata decisions selfplay/network-10000-seed-1 --class race --decisions 60
      bgdata benchmark network --on rollout_decisions/NAME
      bgdata export text rollout_decisions/NAME --format gnubg-benchmark -o contact.bm
    """
    from bgdata.commands.decisions import make_decisions
    from bgdata.kernel import threads as run_on

    with run_on(threads):
        make_decisions(warehouse, corpus, position_class, count, network, options, form)


COMMANDS = (selfplay, study, rollout, label, decisions, rescore)
