"""Commands about players: what they think, games with them, and what they lose."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from bgdata.commands.options import threads_option
from bgdata.errors import UsageError
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


@click.command(name="eval", short_help="Evaluate a POSITION: chances, equity, and who says so.")
@click.argument("position")
@player_options
@click.option("--format", "form", type=FORMATS, default="text", show_default=True, help="How to print.")
@click.pass_obj
def eval_(warehouse: Warehouse, position: str, network: str, ply: int, form: str) -> None:
    """Evaluate a POSITION before the roll: five chances, the cubeless equity, and who says so.

    POSITION is a Position ID, gnubg ID, XGID, 20-letter key, 26 integers, or start. Positions that a bearoff table
    covers are answered from it, others by the network for their class.
    """
    from bgdata.commands.evaluate import print_evaluation
    from bgdata.evaluation.named_network import map_player

    print_evaluation(map_player(warehouse, network, ply), position, form)


@click.command(short_help="Rank the plays of a POSITION and a ROLL.")
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
@click.option(
    "--save", type=click.Path(path_type=Path, dir_okay=False), help="Write the game as a .mat file, for `bgdata luck`."
)
@click.pass_obj
def play(warehouse: Warehouse, network: str, ply: int, seed: int | None, watch: str | None, save: Path | None) -> None:
    """Play a game in the terminal, with hints and undo; or watch one.

    Say your play as in "8/5 6/5", "bar/22 13/10" or "6/off(2)", or one of hint, undo, board, help and quit.
    """
    from bgdata.commands.play import play_game, save_game, watch_game
    from bgdata.evaluation.named_network import map_player
    from bgdata.evaluation.player import open_player

    player = map_player(warehouse, network, ply)
    chosen = secrets.randbelow(1 << 31) if seed is None else seed
    if watch:
        other = open_player(watch)
        game, name = watch_game(player, other, chosen), other.label
    else:
        game, name = play_game(player, chosen), "You"
    if save:
        save_game(game, name, player.label, save)


@click.command(short_help="Score a PLAYER on rolled-out decisions, or in whole games.")
@click.argument("player")
@click.option("--ply", default=0, show_default=True, type=click.IntRange(0), help="How far the player looks ahead.")
@click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="NAME",
    help="An imported benchmark, such as contact, rollout_decisions/NAME, or a version of these.",
)
@click.option(
    "--file", "files", multiple=True, type=click.Path(path_type=Path), help="A .bm file to import and score on."
)
@click.option("--games", type=int, metavar="N", help="Play so many games instead.  [default with --against: 40000]")
@click.option("--against", metavar="PLAYER", help="Play games against this player.  [default with --games: pubeval]")
@click.option(
    "--against-ply", default=0, show_default=True, type=click.IntRange(0), help="How far that player looks ahead."
)
@click.option("--seed", default=2, show_default=True, help="Seed of the dice of these games.")
@click.option("--luck", "with_luck", is_flag=True, help="Measure their luck too: 20 times slower, several times surer.")
@click.option("--format", "form", type=click.Choice(["table", "csv", "json"]), default="table", help="How to print.")
@click.pass_obj
def benchmark(warehouse: Warehouse, /, player: str, ply: int, form: str, **options: Any) -> None:
    """Score PLAYER on benchmarks (1000 x mean loss a decision), or in whole games (points per game).

    Without --set these are gnubg's files where they were imported, and all sets of `bgdata decisions`.

    PLAYER is random, pubeval, network (the one that comes with bgdata), network/NAME, or, where they are installed,
    gnubg or bgsage. Games are cubeless money games, every sequence of dice played from both sides. With --luck the luck
    of every roll, judged by the network that comes with bgdata, is taken off their results.
    """
    from bgdata.commands.benchmark import play_series, score_player

    games, against, sets, files = (options[name] for name in ("games", "against", "sets", "files"))
    if games is None and against is None:
        if options["with_luck"]:
            raise UsageError("expected games (--games, --against) with --luck, got none")
        score_player(warehouse, player, ply, sets, files, form)
        return
    if sets or files:
        raise UsageError("expected either decisions (--set, --file) or games (--games, --against), got both")
    opponent = against or "pubeval", options["against_ply"]
    count, seed, with_luck = 40_000 if games is None else games, options["seed"], options["with_luck"]
    play_series(warehouse, (player, ply), opponent, count, seed, form, with_luck=with_luck)


@click.command(short_help="How good a PLAYER is, by all that can be measured here.")
@click.argument("player")
@click.option("--ply", default=0, show_default=True, type=click.IntRange(0), help="How far the player looks ahead.")
@click.option(
    "--games", type=int, metavar="N", help="Against each opponent, and in self-play; 0: none.  [default: 4000]"
)
@click.option(
    "--hedged-games", type=int, metavar="N", help="Games whose luck is measured too; 0: none.  [default: 1000]"
)
@click.option("--decisions", type=int, metavar="N", help="Bearoff decisions.  [default: 10000]")
@click.option(
    "--against", multiple=True, metavar="PLAYER", help="Another opponent, such as network/NAME or gnubg:1 (its 1-ply)."
)
@click.option("--no-programs", is_flag=True, help="Leave gnubg and bgsage out even where they are installed.")
@click.option("--quick", is_flag=True, help="A first idea: 400 games, 40 hedged ones and 1000 decisions.")
@threads_option
@click.option("--format", "form", type=click.Choice(["table", "csv", "json"]), default="table", help="How to print.")
@click.pass_obj
def score(warehouse: Warehouse, /, player: str, ply: int, threads: int | None, form: str, **options: Any) -> None:
    """Say how good PLAYER is, by all that can be measured here, each figure with a standard error: the table `scores`.

    \b
    Points per game against PubEval, as they are and less luck
    Shares of gammons and backgammons in self-play
    Error rates on all benchmarks of the warehouse, imported or made here
    Points lost a bearoff decision, judged by the largest exact table
    Head to head with the installed gnubg and bgsage, and with those given

    PLAYER is random, pubeval, network (the one that comes with bgdata), network/NAME, gnubg or bgsage. What was
    measured before is not measured again; stopped at any moment, the same command goes on.
    """
    from bgdata.commands.score import QUICK, Amount, print_scores
    from bgdata.kernel import threads as run_on

    given = {name: options[name] for name in Amount._fields if options[name] is not None}
    amount = (QUICK if options["quick"] else Amount())._replace(**given)
    with run_on(threads):
        print_scores(warehouse, (player, ply), options["against"], amount, form, programs=not options["no_programs"])


@click.command(short_help="Score a PLAYER on bearoffs that a table has solved.")
@click.argument("player")
@click.option("--ply", default=0, show_default=True, type=click.IntRange(0), help="How far the player looks ahead.")
@click.option("--decisions", default=10_000, show_default=True, type=int, metavar="N", help="How many decisions.")
@click.option("--seed", default=1, show_default=True, type=int, metavar="N", help="Seed of the games they are from.")
@click.option(
    "--table", "referee", default="", metavar="POINTSxCHECKERS", help="The table that judges.  [default: the largest]"
)
@click.option("--no-tables", is_flag=True, help="A network plays by itself; with the tables it would play perfectly.")
@click.option("--format", "form", type=click.Choice(["table", "csv", "json"]), default="table", help="How to print.")
@click.pass_obj
def referee(warehouse: Warehouse, /, player: str, ply: int, form: str, no_tables: bool, **options: Any) -> None:
    """Score PLAYER on bearoff decisions that an exact table has solved: no dice, no rollouts.

    PLAYER is random, pubeval, network (the one that comes with bgdata), network/NAME, or, where they are installed,
    gnubg or bgsage, which use bearoff tables of their own. The decisions are from PubEval's games against himself.
    """
    from bgdata.commands.referee import judge_player

    judge_player(warehouse, player, ply, form, tables=not no_tables, **options)


@click.command(short_help="Luck and skill of a recorded MATCH, turn by turn.")
@click.argument("match")
@click.option("--player", default="network", show_default=True, metavar="PLAYER", help="Who says what a roll is worth.")
@click.option("--ply", default=0, show_default=True, type=click.IntRange(0), help="How far he looks ahead.")
@click.option("--games", "games_only", is_flag=True, help="One row for each game, not each turn.")
@click.option("--format", "form", type=click.Choice(["table", "csv", "json"]), default="table", help="How to print.")
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), help="Draw into a PNG file (matplotlib).")
@click.pass_obj
def luck(
    warehouse: Warehouse, match: str, player: str, ply: int, games_only: bool, form: str, plot: Path | None
) -> None:
    """Say how lucky and how skilful both players of a recorded MATCH were, turn by turn, and what hedging leaves.

    MATCH is a .mat or .sgf file, or matches/NAME of the warehouse. The luck of a roll is the value after its best play
    less the mean over all rolls; a hedged result is the result less net luck. All is cubeless, in points per unit cube:
    cube actions are not valued. PLAYER is network, network/NAME or an installed gnubg (slow).
    """
    from bgdata.commands.luck import analyse_matches, print_luck

    games = analyse_matches(warehouse, match, player, ply)
    if plot:
        from bgdata.commands.luck_plot import draw_luck

        draw_luck(games, plot)
    print_luck(games, form, games_only=games_only)


@click.command(short_help="What to do with the cube in a POSITION, for money or in a match.")
@click.argument("position")
@click.option("--score", metavar="A-B", help="Points won by the player on roll and by the opponent, in a match.")
@click.option("--length", type=click.IntRange(1), metavar="N", help="Points that win the match.")
@click.option("--crawford", is_flag=True, help="The Crawford game.  [default: a side at 1-away is past it]")
@click.option("--cube", type=click.IntRange(1), metavar="VALUE", help="Value of the cube.  [default: 1]")
@click.option(
    "--owner",
    type=click.Choice(["centered", "on_roll", "opponent"]),
    help="Who owns the cube.  [default: as the position says, or centered]",
)
@click.option("--jacoby/--no-jacoby", default=None, help="Gammons count double only once the cube is turned (money).")
@click.option("--beavers/--no-beavers", default=None, help="The taker may double at once and keep the cube (money).")
@click.option(
    "--model",
    type=click.Choice(["janowski", "jump"]),
    help="Model of the cube, even where a table knows.  [default: tables, elsewhere janowski]",
)
@click.option("--index", type=float, metavar="X", help="Cube life index, 0 (dead) to 1 (live).  [default: 0.7]")
@click.option("--volatility", type=float, metavar="X", help="Mean jump of chances for --model jump.  [default: 0.113]")
@click.option("--met", metavar="NAME", help="Match equity table of the warehouse.  [default: the one built here]")
@click.option("--as-money", is_flag=True, help="Value a match like money play, for comparison.")
@player_options
@click.option("--format", "form", type=FORMATS, default="text", show_default=True, help="How to print.")
@click.pass_obj
def cube(warehouse: Warehouse, /, position: str, network: str, ply: int, form: str, **options: Any) -> None:
    """Say what to do with the cube in a POSITION before the roll: double or not, take or pass, and how close it is.

    \b
    bgdata cube 4HPwATDgc/ABMA                                 money, cube in the middle
    bgdata cube 4HPwATDgc/ABMA --jacoby --beavers
    bgdata cube 4HPwATDgc/ABMA --cube 2 --owner on_roll        a redouble
    bgdata cube 4HPwATDgc/ABMA --score 2-5 --length 7          a match: the player on roll has 2 points
    bgdata cube 4HPwATDgc/ABMA:cIkFAAAAAAAA                    score, cube and rules of a gnubg ID or XGID

    Exact tables answer for bearoff positions that they cover; in a match one of 6 points and 6 checkers is built for
    the score and cube where it is missing. Elsewhere a model of the cube answers, from the five chances that `bgdata
    eval` prints. Equities are points per unit cube, in a match match winning chances (mwc).
    """
    from bgdata.commands.cube import print_cube
    from bgdata.evaluation.named_network import map_player

    print_cube(map_player(warehouse, network, ply), warehouse, position, options, form)


COMMANDS = (eval_, hint, cube, play, benchmark, score, referee, luck)
