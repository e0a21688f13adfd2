"""Commands about players: what they think, and games with them."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import click

from bgdata.commands.options import executor_option, threads_option
from bgdata.store.warehouse import Warehouse

FORMATS = click.Choice(["text", "json"])


def player_options(function: Callable[..., None]) -> Callable[..., None]:
    """Which networks, and how far they look ahead."""
    function = click.option(
        "--ply", default=0, show_default=True, type=click.IntRange(0, 3), help="Rolls that the player looks ahead."
    )(function)
    return click.option(
        "--network", default="", metavar="NAME", help="Networks of the warehouse.  [default: those of the package]"
    )(function)


@click.command(name="eval")
@click.argument("position")
@player_options
@click.option("--format", "form", type=FORMATS, default="text", show_default=True, help="How to print.")
@click.pass_obj
def eval_(warehouse: Warehouse, position: str, network: str, ply: int, form: str) -> None:
    """Evaluate a POSITION before the roll: five chances, the cubeless equity, and who says so.

    POSITION is a Position ID, gnubg ID, 20-letter key, XGID or 26 integers. Positions that a bearoff table covers are
    answered from it, others by the network for their class.
    """
    from bgdata.commands.evaluate import print_evaluation
    from bgdata.evaluation.named_network import map_player

    print_evaluation(map_player(warehouse, network, ply), position, form)


@click.command()
@click.argument("position")
@click.argument("roll", required=False)
@player_options
@click.option("--plays", default=5, show_default=True, type=click.IntRange(1), help="How many plays to print.")
@click.option("--format", "form", type=FORMATS, default="text", show_default=True, help="How to print.")
@click.pass_obj
def hint(warehouse: Warehouse, position: str, roll: str | None, network: str, ply: int, plays: int, form: str) -> None:
    """Rank the plays of a POSITION and a ROLL such as 31, the best first.

    An XGID or gnubg ID may contain the roll. Only the better plays are looked into as far as --ply says: each loss
    is against the best play at the ply of its line.
    """
    from bgdata.commands.evaluate import print_hint
    from bgdata.evaluation.named_network import map_player

    print_hint(map_player(warehouse, network, ply), position, roll, plays, form)


@click.command()
@player_options
@click.option(
    "--seed", type=click.IntRange(0), metavar="N", help="Decides the dice.  [default: another game each time]"
)
@click.option(
    "--watch", metavar="PLAYER", help="Watch PLAYER play your side: random, pubeval, or an installed gnubg or bgsage."
)
@click.pass_obj
def play(warehouse: Warehouse, network: str, ply: int, seed: int | None, watch: str | None) -> None:
    """Play a game in the terminal, with hints and undo; or watch one.

    Say your play as in "8/5 6/5", "bar/22 13/10" or "6/off(2)", or one of hint, undo, board, help and quit.
    """
    from bgdata.commands.play import play_game, watch_game
    from bgdata.evaluation.named_network import map_player
    from bgdata.evaluation.player import open_player

    player = map_player(warehouse, network, ply)
    chosen = secrets.randbelow(1 << 31) if seed is None else seed
    if watch:
        watch_game(player, open_player(watch), chosen)
    else:
        play_game(player, chosen)


@click.command()
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
@executor_option
@threads_option
@click.option("--force", is_flag=True, help="Play anew even what is there.")
@click.pass_obj
def selfplay(warehouse: Warehouse, /, player: str, executor: str, threads: int | None, **options: int) -> None:
    """Let PLAYER play against himself, and keep every turn: the tables `games` and `turns`.

    The games of a seed are the same from any executor and any number of threads. Stopped at any moment, the same
    command goes on with the games that are missing.

    \b
    The luck of the dice, game by game, and the openings:
      bgdata query "from luck_by_game limit 5"
      bgdata query "from opening_plays"
    """
    from bgdata.commands.selfplay import play_corpus
    from bgdata.kernel import threads as run_on

    with run_on(threads):
        play_corpus(
            warehouse,
            player,
            options["games"],
            options["seed"],
            luck=bool(options["luck"]),
            executor=executor,
            force=bool(options["force"]),
        )



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


@click.command()
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


@click.command()
@click.argument("source")
@rollout_options
@threads_option
@click.pass_obj
def label(warehouse: Warehouse, /, source: str, network: str, threads: int | None, **options: Any) -> None:
    """Roll out every position of a table SOURCE, such as positions/NAME, into the table rollout_labels.

    Stopped at any moment, the same command goes on from its last checkpoint, to the same labels on any number of
    threads. Positions whose standard error cannot be reached are kept, with the one that they got to.
    """
    from bgdata.commands.rollout import label_positions
    from bgdata.kernel import threads as run_on

    with run_on(threads):
        label_positions(warehouse, source, network, options)


COMMANDS = (eval_, hint, play, selfplay, rollout, label)
