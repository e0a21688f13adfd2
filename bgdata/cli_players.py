"""Commands about players: what they think, games with them, and what they lose."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from bgdata.commands.completion import complete_players, complete_tables
from bgdata.commands.options import (
    OUTPUT,
    Decorated,
    beavers_option,
    format_option,
    games_option,
    jacoby_option,
    luck_option,
    network_option,
    player_option,
    plays_option,
    plot_option,
    ply_option,
    score_options,
    seed_option,
    table_option,
    threads_option,
)
from bgdata.errors import UsageError
from bgdata.warehouse import Warehouse


def player_options(function: Decorated) -> Decorated:
    """Which networks, and how far they look ahead."""
    return network_option(ply_option(3)(function))


def against_option(function: Callable[..., None]) -> Callable[..., None]:
    """Opponents."""
    return click.option(
        "--against",
        multiple=True,
        metavar="PLAYER[:PLY]",
        shell_complete=complete_players,
        help="Play against PLAYER, such as network/NAME or gnubg:1, which looks a roll ahead.",
    )(function)


@click.command(name="eval")
@click.argument("position")
@player_options
@format_option
@click.pass_obj
def eval_(warehouse: Warehouse, position: str, network: str, ply: int, form: str) -> None:
    """Evaluate a POSITION: chances, equity, and who says so.

    POSITION is a Position ID, gnubg ID, XGID, 20-letter key, 26 integers or start, and the player on roll is about to
    roll. Positions that a bearoff table covers are answered from it, others by the network for their class.

    \b
      bgdata eval 4HPwATDgc/ABMA
      bgdata eval CgAAEAEAAAAAAA --format json
    """
    from bgdata.commands.evaluate import print_evaluation
    from bgdata.evaluation.networks.named import map_player

    print_evaluation(map_player(warehouse, network, ply), position, form)


@click.command()
@click.argument("position")
@click.argument("roll", required=False)
@player_options
@plays_option()
@format_option
@click.pass_obj
def hint(warehouse: Warehouse, position: str, roll: str | None, network: str, ply: int, plays: int, form: str) -> None:
    """Rank the plays of a POSITION and a ROLL, the best first.

    POSITION is a Position ID, gnubg ID, XGID, 20-letter key, 26 integers or start; ROLL is two dice such as 31, which
    an XGID or gnubg ID may contain. Only the better plays are looked into as far as --ply says: each loss is
    against the best play at the ply of its line.

    \b
      bgdata hint 4HPwATDgc/ABMA 31
      bgdata hint 4HPwATDgc/ABMA 31 --ply 2 --plays 4
    """
    from bgdata.commands.evaluate import print_hint
    from bgdata.evaluation.networks.named import map_player

    print_hint(map_player(warehouse, network, ply), position, roll, plays, form)


@click.command()
@player_options
@seed_option(None, "another game each time")
@click.option(
    "--watch",
    metavar="PLAYER",
    shell_complete=complete_players,
    help="Watch PLAYER play your side: random, pubeval, or an installed gnubg or bgsage.",
)
@click.option("--save", type=OUTPUT, metavar="FILE", help="Write the game as a .mat file, for `bgdata luck`.")
@click.pass_obj
def play(warehouse: Warehouse, network: str, ply: int, seed: int | None, watch: str | None, save: Path | None) -> None:
    """Play a game in the terminal, or watch one.

    Say your play as in "8/5 6/5", "bar/22 13/10" or "6/off(2)", or one of hint, undo, board, help and quit.

    \b
      bgdata play --ply 1
      bgdata play --watch pubeval --seed 3 --save game.mat
    """
    from bgdata.commands.play import play_game, save_game, watch_game
    from bgdata.evaluation.networks.named import map_player
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


@click.command()
@click.argument("player", shell_complete=complete_players)
@ply_option()
@click.option(
    "--on",
    "sets",
    multiple=True,
    metavar="BENCHMARK",
    shell_complete=complete_tables,
    help="A benchmark: rollout_decisions/NAME, one that was imported such as contact, or a version.  [default: all]",
)
@click.option(
    "--bm",
    "files",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A benchmark file of gnubg to import and score on; can be given several times.",
)
@games_option(None, "40000 where games are played")
@against_option
@seed_option(2)
@luck_option
@format_option
@click.pass_obj
def benchmark(warehouse: Warehouse, /, player: str, ply: int, form: str, **options: Any) -> None:
    """Score a PLAYER on rolled-out decisions, or in whole games.

    PLAYER is random, pubeval, network (the one that comes with bgdata), network/NAME, or, where they are installed,
    gnubg or bgsage. On decisions the error rate is 1000 times the mean loss of a decision, in points. Games, with
    --games or --against, are cubeless money games, against pubeval unless another is named; every sequence of dice is
    played from both sides. With --luck the luck of every roll, judged by the network that comes with bgdata, is taken
    off their results.

    \b
      bgdata benchmark network
      bgdata benchmark pubeval --on contact --bm contact.bm
      bgdata benchmark network --ply 1 --games 400 --against network
    """
    from bgdata.commands.benchmark import play_series, score_player
    from bgdata.commands.score import opponent_of

    games, against, sets, files = (options[name] for name in ("games", "against", "sets", "files"))
    if games is None and not against:
        if options["luck"]:
            raise UsageError("expected games (--games, --against) with --luck, got none")
        score_player(warehouse, player, ply, sets, files, form)
        return
    if sets or files:
        raise UsageError("expected either decisions (--on, --bm) or games (--games, --against), got both")
    if len(against) > 1:
        raise UsageError(f"expected one opponent, got {len(against)}; try: bgdata score")
    opponent = opponent_of(*against) if against else ("pubeval", 0)
    count, seed, luck = 40_000 if games is None else games, options["seed"], options["luck"]
    play_series(warehouse, (player, ply), opponent, count, seed, form, with_luck=luck)


@click.command()
@click.argument("player", shell_complete=complete_players)
@ply_option()
@games_option(None, "4000 against each, and in self-play")
@click.option(
    "--hedged-games",
    type=int,
    metavar="N",
    help="Games whose luck is measured too, of each opponent; 0 for none.  [default: 1000]",
)
@click.option("--decisions", type=int, metavar="N", help="Decisions at most.  [default: 10000 bearoffs]")
@against_option
@click.option("--no-programs", is_flag=True, help="Leave gnubg and bgsage out even where they are installed.")
@click.option("--quick", is_flag=True, help="Get a first idea: 400 games, 40 hedged ones and 1000 decisions.")
@threads_option
@format_option
@click.pass_obj
def score(warehouse: Warehouse, /, player: str, ply: int, threads: int | None, form: str, **options: Any) -> None:
    """Say how good a PLAYER is, by all that can be measured here.

    PLAYER is random, pubeval, network (the one that comes with bgdata), network/NAME, gnubg or bgsage. Each figure has
    a standard error, and all are rows of the table `scores`:

    \b
      points per game against PubEval, as they are and less luck
      shares of gammons and backgammons in self-play
      error rates on all benchmarks of the warehouse, imported or made here
      points lost a bearoff decision, judged by the largest exact table
      head to head with the installed gnubg and bgsage, and with those given

    What was measured before is not measured again; stopped at any moment, the same command goes on.

    \b
      bgdata score network --quick
      bgdata score network/better --against network --no-programs
    """
    from bgdata.commands.score import QUICK, Amount, print_scores
    from bgdata.kernel import threads as run_on

    given = {name: options[name] for name in Amount._fields if options[name] is not None}
    amount = (QUICK if options["quick"] else Amount())._replace(**given)
    with run_on(threads):
        print_scores(warehouse, (player, ply), options["against"], amount, form, programs=not options["no_programs"])


@click.command()
@click.argument("player", shell_complete=complete_players)
@ply_option()
@click.option("--decisions", default=10_000, show_default=True, type=int, metavar="N", help="Decisions at most.")
@seed_option(1)
@table_option
@click.option("--no-tables", is_flag=True, help="Let a network play by itself; with the tables it plays perfectly.")
@format_option
@click.pass_obj
def referee(warehouse: Warehouse, /, player: str, ply: int, form: str, no_tables: bool, **options: Any) -> None:
    """Score a PLAYER on bearoffs that a table has solved.

    PLAYER is random, pubeval, network (the one that comes with bgdata), network/NAME, or, where they are installed,
    gnubg or bgsage, which use bearoff tables of their own. The decisions are from games of PubEval against itself:
    no dice, no rollouts.

    \b
      bgdata referee pubeval
      bgdata referee network --no-tables --decisions 1000
    """
    from bgdata.commands.referee import judge_player

    chosen = {"referee": options.pop("table"), **options}
    judge_player(warehouse, player, ply, form, tables=not no_tables, **chosen)


@click.command()
@click.argument("match", shell_complete=complete_tables)
@player_option
@ply_option()
@click.option("--by-game", is_flag=True, help="One row for each game, not each turn.")
@format_option
@plot_option
@click.pass_obj
def luck(warehouse: Warehouse, match: str, player: str, ply: int, by_game: bool, form: str, plot: Path | None) -> None:
    """Say how lucky and how skilful the players of a MATCH were.

    MATCH is a .mat or .sgf file, or matches/NAME of the warehouse. The luck of a roll is the value after its best play
    less the mean over all rolls; a hedged result is the result less net luck. All is cubeless, in points per unit cube:
    cube actions are not valued. The values are those of --player: network, network/NAME or an installed gnubg (slow).

    \b
      bgdata luck game.mat --by-game
      bgdata luck matches/mine --ply 1 --format csv
    """
    from bgdata.commands.luck import analyse_matches, print_luck

    games = analyse_matches(warehouse, match, player, ply)
    if plot:
        from bgdata.commands.luck_plot import draw_luck

        draw_luck(games, plot)
    print_luck(games, form, by_game=by_game)


@click.command()
@click.argument("position")
@score_options
@jacoby_option
@beavers_option
@click.option(
    "--model",
    type=click.Choice(["janowski", "jump"]),
    help="Model of the cube, even where a table knows.  [default: tables, elsewhere janowski]",
)
@click.option("--index", type=float, metavar="X", help="Cube life index, 0 (dead) to 1 (live).  [default: 0.7]")
@click.option("--volatility", type=float, metavar="X", help="Mean jump of chances for --model jump.  [default: 0.113]")
@click.option("--as-money", is_flag=True, help="Value a match like money play, for comparison.")
@player_options
@format_option
@click.pass_obj
def cube(warehouse: Warehouse, /, position: str, network: str, ply: int, form: str, **options: Any) -> None:
    """Say what to do with the cube in a POSITION before the roll.

    That is double or not, take or pass, and how close it is. POSITION is a Position ID, gnubg ID, XGID, 20-letter key
    or 26 integers; score, cube and rules are those of a gnubg ID or XGID unless options say otherwise.

    \b
      bgdata cube 4HPwATDgc/ABMA                                 money, cube in the middle
      bgdata cube 4HPwATDgc/ABMA --jacoby --beavers
      bgdata cube 4HPwATDgc/ABMA --cube 2                        a redouble
      bgdata cube 4HPwATDgc/ABMA --away 5-2                      a match: the player on roll needs 5 points
      bgdata cube 4HPwATDgc/ABMA:cIkFAAAAAAAA                    score and cube of a gnubg ID

    Exact tables answer for bearoff positions that they cover; in a match one of 6 points and 6 checkers is built for
    the score and cube where it is missing. Elsewhere a model of the cube answers, from the five chances that `bgdata
    eval` prints. Equities are points per unit cube, in a match match winning chances (mwc).
    """
    from bgdata.commands.cube import print_cube
    from bgdata.evaluation.networks.named import map_player

    print_cube(map_player(warehouse, network, ply), warehouse, position, options, form)


COMMANDS = (eval_, hint, cube, play, benchmark, score, referee, luck)
