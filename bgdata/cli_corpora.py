"""Commands that make corpora and labels: games of a player against himself, rollouts, and what tables know."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from bgdata.commands.options import executor_option, threads_option
from bgdata.store.warehouse import Warehouse

FORMATS = click.Choice(["text", "json"])


@click.command(short_help="Let a PLAYER play himself, and keep every turn.")
@click.option(
    "--player",
    default="network",
    show_default=True,
    metavar="PLAYER",
    help="network (the one that comes with bgdata), network/NAME, pubeval or random.",
)
@click.option("--games", default=10_000, show_default=True, type=click.IntRange(1), help="How many games.")
@click.option("--seed", default=1, show_default=True, type=click.IntRange(0), help="Decides the dice.")
@click.option(
    "--luck/--no-luck", default=False, show_default=True, help="Measure the luck of every roll (ten times slower)."
)
@click.option(
    "--cube",
    default="",
    metavar="MODEL[,MODEL]",
    help="Play with the cube, handled as 0.7 (Janowski's cube life index) or jump:0.08 (volatility) says, for both "
    "sides or each; money:0.7 ignores the score of a match.",
)
@click.option("--length", type=click.IntRange(1, 64), metavar="N", help="With --cube: matches to N points.")
@click.option("--jacoby", is_flag=True, help="With --cube: gammons count once the cube is turned.")
@executor_option
@threads_option
@click.option("--force", is_flag=True, help="Play anew even what is there.")
@click.pass_obj
def selfplay(warehouse: Warehouse, /, player: str, executor: str, threads: int | None, **options: Any) -> None:
    """Let PLAYER play against himself, and keep every turn: the tables `games` and `turns`.

    The games of a seed are the same from any executor and any number of threads. Stopped at any moment, the same
    command goes on with the games that are missing.

    \b
    The luck of the dice, game by game, and the openings:
      bgdata query "from luck_by_game limit 5"
      bgdata query "from opening_plays"

    With --cube a network plays money games or matches, and cube actions are turns too. Plays are still chosen by
    cubeless equity; the cube goes up to 64, and nobody beavers:

    \b
      bgdata selfplay --cube 0.7
      bgdata selfplay --cube 0.7,money:0.7 --length 7
    """
    from bgdata.commands.selfplay import play_corpus, play_with_cube
    from bgdata.errors import UsageError
    from bgdata.kernel import threads as run_on

    how = {"luck": options["luck"], "executor": executor, "force": options["force"]}
    counts = {"length": options["length"] or 0, "jacoby": int(options["jacoby"])}
    with run_on(threads):
        if options["cube"]:
            counts |= {"games": options["games"], "seed": options["seed"]}
            play_with_cube(warehouse, player, options["cube"], counts, **how)
            return
        for name in (name for name, value in counts.items() if value):
            raise UsageError(f"expected --cube with --{name}, got none")
        play_corpus(warehouse, player, options["games"], options["seed"], **how)


@click.command(short_help="Run a STUDY of cube handling.")
@click.argument("study")
@click.option(
    "--games",
    type=int,
    metavar="N",
    help="Games, or matches, of each setting.  [default: 100000, with --luck 1000]",
)
@click.option("--seed", default=1, show_default=True, type=click.IntRange(0), help="Decides the dice.")
@click.option(
    "--luck", is_flag=True, help="Subtract the luck of every roll: 1 game says more than 20, and takes as long."
)
@click.option(
    "--player", default="network", show_default=True, metavar="PLAYER", help="network or network/NAME, who plays."
)
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), help="Draw into a PNG file (matplotlib).")
@executor_option
@threads_option
@click.option("--force", is_flag=True, help="Play anew even what is there.")
@click.pass_obj
def study(
    warehouse: Warehouse, /, study: str, games: int | None, seed: int, player: str, threads: int | None, **options: Any
) -> None:
    """Run a STUDY of cube handling, and print its figures beside the published ones: the table `cube_studies`.

    \b
      statistics  how games end, and the cube, by cube life index
      index       a cube life index against 0.7
      fine-index  the same near 0.7
      jump        the jump model at 5 to 11 % against Janowski at 0.7
      match       a cube life index by the score against the same as for money, to 3, 5, 7 and 9 points

    Where sides differ, every sequence of dice is played twice with the sides swapped. Stopped at any moment, the same
    command goes on with the games that are missing.
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
        click.option(
            "--network", default="", metavar="NAME", help="Networks of the warehouse.  [default: those of the package]"
        ),
        click.option("--no-luck", is_flag=True, help="Do not subtract luck: much faster, and much less exact."),
        click.option("--stop", type=stops, default="exact", show_default=True, help=stop_help),
        click.option(
            "--truncate",
            default=0,
            metavar="ROLLS",
            help="Rolls after which the static evaluation counts.  [default: never]",
        ),
        click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Decides the dice."),
        click.option(
            "--most-trials",
            default=46_656,
            show_default=True,
            metavar="N",
            help="Where --until ends, a multiple of --trials.",
        ),
        click.option(
            "--until", type=float, metavar="ERROR", help="Play more rounds of --trials until this standard error."
        ),
        click.option("--trials", default=1296, show_default=True, metavar="N", help="Games, a multiple of 36."),
    ):
        function = add(function)
    return function


@click.command(short_help="Roll out a POSITION, or the plays of a ROLL.")
@click.argument("position")
@click.argument("roll", required=False)
@rollout_options
@click.option("--within", default=0.16, show_default=True, metavar="POINTS", help="Plays that are rolled out.")
@click.option("--plays", default=5, show_default=True, type=click.IntRange(1), help="How many of them at most.")
@threads_option
@click.option("--format", "form", type=FORMATS, default="text", show_default=True, help="How to print.")
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
    """Roll out a POSITION: the player plays both sides many times; chances and equity with standard errors.

    With a ROLL such as 31, or an XGID or gnubg ID that has one, the better plays are rolled out with the same dice, and
    ranked. The luck of every roll is subtracted, which makes standard errors several times smaller.
    """
    from bgdata.commands.rollout import print_rollout
    from bgdata.evaluation.named_network import KIND, open_network_player
    from bgdata.evaluation.network_player import NetworkPlayer
    from bgdata.kernel import threads as run_on

    player = open_network_player(f"{KIND}/{network}" if network else KIND, 0, warehouse)
    assert isinstance(player, NetworkPlayer)  # at ply 0
    with run_on(threads):
        print_rollout(player, position, roll, form, options)


@click.command(short_help="Label positions by rollouts, tables, or other engines.")
@click.argument("source")
@click.option(
    "--engine",
    type=click.Choice(["rollout", "lookahead", "tables", "gnubg", "bgsage"]),
    default="rollout",
    show_default=True,
    help="Who says what a position is worth; gnubg and bgsage where they are installed.",
)
@click.option(
    "--ply", type=click.IntRange(0, 4), help="Rolls that an engine looks ahead.  [default: lookahead 1, programs 0]"
)
@click.option(
    "--least-change",
    default=0.0,
    metavar="POINTS",
    help="With lookahead: keep only positions whose equity it changes by so much.",
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
@click.pass_context
def label(context: click.Context, /, source: str, engine: str, threads: int | None, **options: Any) -> None:
    """Label every position of a table SOURCE, such as positions/NAME, by an engine.

    \b
      rollout    rollout_labels: played out many times, with standard errors
      lookahead  lookahead_labels: the network a roll ahead, and at a glance
      tables     bearoff_labels: pairs from a SOURCE such as bearoff_one_sided/10x15
      gnubg, bgsage  engine_labels: the installed program; lookahead at ply 2, 3 too

    Stopped at any moment, the same command goes on from its last checkpoint, to the same labels on any number of
    threads. Each position is labelled once, and belongs to the split of its game. Rollouts label every row, and keep
    positions whose standard error cannot be reached with the one that they got to.
    """
    from bgdata.commands.label import label_positions
    from bgdata.kernel import threads as run_on

    given = {name for name in options if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    with run_on(threads):
        label_positions(context.obj, source, engine, options, given)


@click.command(short_help="Label a CORPUS by outcomes and exact tables.")
@click.argument("corpus")
@click.option(
    "--table",
    default="",
    metavar="POINTSxCHECKERS",
    help="Two-sided table that knows the truth, such as 6x9.  [default: the largest there]",
)
@click.option(
    "--combined", is_flag=True, help="Where it ends, go by one-sided tables too: nearly exact, and they reach further."
)
@threads_option
@click.option("--force", is_flag=True, help="Label anew even what is there.")
@click.pass_obj
def rescore(warehouse: Warehouse, /, corpus: str, table: str, threads: int | None, **options: bool) -> None:
    """Label every position of a CORPUS such as selfplay/network-10000-seed-1: the table `selfplay_labels`.

    A label is how the game ended, until the game reaches a position that bearoff tables know: then their exact chances
    stand for it, there and in all positions before. Says how much of the variance of labels that removes, which is
    luck. Where the corpus has luck, each label also comes less the luck of the rolls that led to it.

    \b
    bgdata query "from selfplay_labels_summary"
    bgdata export text selfplay_labels/VARIANT --format gnubg-training --output FILE
    """
    from bgdata.commands.rescore import rescore_corpus
    from bgdata.kernel import threads as run_on

    with run_on(threads):
        rescore_corpus(warehouse, corpus, table, combined=options["combined"], force=options["force"])


@click.command(short_help="Make a benchmark: decisions of a CORPUS, rolled out.")
@click.argument("corpus")
@click.option(
    "--class",
    "position_class",
    type=click.Choice(["contact", "crashed", "race"]),
    default="contact",
    show_default=True,
    help="Of which positions.",
)
@click.option("--decisions", "count", default=40, show_default=True, type=click.IntRange(1), help="How many.")
@rollout_options
@click.option("--within", default=0.16, show_default=True, metavar="POINTS", help="Plays that are rolled out.")
@click.option("--plays", default=5, show_default=True, type=click.IntRange(2), help="How many of them at most.")
@threads_option
@click.pass_obj
def decisions(
    warehouse: Warehouse,
    /,
    corpus: str,
    position_class: str,
    count: int,
    network: str,
    threads: int | None,
    **options: Any,
) -> None:
    """Make a benchmark: decisions from a CORPUS, such as selfplay/NAME, whose better plays are rolled out.

    Without --until they are rolled out to standard errors of 0.005. Decisions are chosen by a hash, from the test games
    of the corpus: a larger set begins with a smaller one, and --seed chooses others. Stopped at any moment, the same
    command goes on from its last checkpoint, to the same set on any number of threads.

    \b
    Score a player on it, or write it as a gnubg benchmark file:
      bgdata benchmark network --set rollout_decisions/NAME
      bgdata export text rollout_decisions/NAME --format gnubg-benchmark -o contact.bm
    """
    from bgdata.commands.decisions import make_decisions
    from bgdata.kernel import threads as run_on

    with run_on(threads):
        make_decisions(warehouse, corpus, position_class, count, network, options)


COMMANDS = (selfplay, study, rollout, label, decisions, rescore)
