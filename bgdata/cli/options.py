"""Options shared by commands, with the same name, meaning and help text."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from bgdata.cli.completion import complete_mets, complete_networks, complete_players, complete_tables
from bgdata.equity.cube_models import MODEL_NAMES
from bgdata.errors import UsageError, cite, needing

if TYPE_CHECKING:
    from bgdata.selfplay.rollout import Limits


class OutputFile(click.Path):
    """The type of an option with a file to write. It refuses a path without a file name, an existing path that is not a
    file (which the new file would replace), and, if `endings` are given, a name with another ending. Links are
    followed."""

    def __init__(self, *endings: str) -> None:
        super().__init__(path_type=Path, dir_okay=False)
        self.endings = endings

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        path = Path(os.fsdecode(super().convert(value, parameter, context)))
        with suppress(OSError, RuntimeError):  # the name may be too long, or links may be circular
            path = path.resolve() if path.is_symlink() else path
        if not path.name:  # only slashes; there may be too many for the test for folders
            self.fail(f"expected a file, got {cite(str(value))}", parameter, context)
        with suppress(OSError):
            if path.exists() and not path.is_file():
                self.fail(f"expected a file, got a device or pipe: {cite(str(value))}", parameter, context)
        ending = path.suffix.lower()
        if self.endings and ending and ending not in self.endings:
            *others, last = self.endings
            expected = f"{', '.join(others)} or {last}"
            self.fail(f"expected a file that ends in {expected}, got {cite(str(value))}", parameter, context)
        if self.endings:  # check now, because pictures are written last
            is_place = False
            with suppress(OSError):
                is_place = path.absolute().parent.is_dir()
            if not is_place:
                self.fail(f"expected a file in a folder that is there, got {cite(str(value))}", parameter, context)
            with needing("plots", "to draw pictures"):
                import matplotlib  # noqa: F401
        return path


OUTPUT = OutputFile()
PICTURE = OutputFile(".png", ".svg")
Decorated = Callable[..., None]
Option = Callable[[Decorated], Decorated]


def add_options(*options: Option) -> Option:
    """Return a decorator that adds these options to a command, in this order."""

    def decorate(function: Decorated) -> Decorated:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def value_option(name: str, default: object, metavar: str, words: str, **settings: Any) -> Option:
    """Return an option with a value, whose help text `words` ends with the default."""
    return click.option(name, default=default, show_default=True, metavar=metavar, help=words, **settings)


def with_note(words: str, note: str) -> str:
    """Add a note about the default to the help text of an option, if there is one."""
    return f"{words}  [default: {note}]" if note else words


FORMATS = click.Choice(["table", "csv", "json"])
format_option = click.option(
    "--format", "form", type=FORMATS, default="table", show_default=True, help="Output format."
)
away_option = click.option(
    "--away", metavar="A-B", help="Points that the player on roll and the opponent need to win the match."
)
crawford_option = click.option(
    "--crawford", is_flag=True, help="This is the Crawford game.  [default: post-Crawford if a side is 1-away]"
)
cube_option = click.option(
    "--cube",
    "cube_value",
    type=click.IntRange(1),
    metavar="VALUE",
    help="Value of the cube.  [default: that of the position, or 1]",
)
owner_option = click.option(
    "--owner",
    type=click.Choice(["centered", "on_roll", "opponent"]),
    help="Who owns the cube.  [default: as in the position; centered at 1, else on_roll]",
)
met_option = click.option(
    "--met",
    default="",
    metavar="MET",
    shell_complete=complete_mets,
    help="Match equity table of the warehouse.  [default: the one built here]",
)
score_options = add_options(away_option, crawford_option, cube_option, owner_option, met_option)
RULES = "as the position or record says, or not"
jacoby_option = click.option(
    "--jacoby/--no-jacoby",
    default=None,
    help=with_note("In money play, gammons count only once the cube is turned.", RULES),
)
beavers_option = click.option(
    "--beavers/--no-beavers",
    default=None,
    help=with_note("In money play, a taker may double at once and keep the cube.", RULES),
)
model_options = add_options(  # options of cube models
    click.option(
        "--model",
        type=click.Choice(MODEL_NAMES),
        help="Use this model of the cube, even where a table has the answer.  [default: tables, elsewhere janowski]",
    ),
    click.option("--index", type=float, metavar="X", help="Cube life index, 0 (dead) to 1 (live).  [default: 0.7]"),
    click.option(
        "--volatility",
        type=float,
        metavar="X",
        help="With --model jump: mean jump of the winning chance from one's roll to the next.  [default: 0.113]",
    ),
    click.option("--as-money", is_flag=True, help="Decide a match as if it were money play, for comparison."),
)


def match_length_option(note: str) -> Option:
    """Make the option --match-length, the points that win a match. `note` says what is played without the option."""
    words = with_note("Play matches to N points, with the cube.", note)
    return click.option("--match-length", type=click.IntRange(1, 64), metavar="N", help=words)


def ply_option(most: int | None = None, *, default: int = 0) -> Option:
    """Make the option --ply, how many rolls a player looks ahead, with `most` as its maximum."""
    words, kind = "How many rolls the player looks ahead.", click.IntRange(0, most)
    return value_option("--ply", default, "N", words, type=kind)


network_option = click.option(
    "--network",
    default="",
    metavar="NAME",
    shell_complete=complete_networks,
    help="Network of the warehouse, or to evaluate and play a file NAME.onnx.  "
    "[default: the one that comes with bgdata]",
)
player_options = add_options(network_option, ply_option(3))


def player_option(default: str | None = "network", note: str = "") -> Option:
    """Make the option --player, the name of a player. `note` describes a default that depends on other options."""
    words = "The player: network (the one that comes with bgdata), network/NAME, or another one."
    return click.option(
        "--player",
        default=default,
        show_default=not note,
        metavar="PLAYER",
        shell_complete=complete_players,
        help=with_note(words, note),
    )


luck_option = click.option(
    "--luck", is_flag=True, help="Measure the luck of every roll: much slower, and much more accurate."
)


def on_option(note: str = "") -> Option:
    """Make the option --on, the benchmarks to use. `note` says what happens without the option."""
    return click.option(
        "--on",
        "sets",
        multiple=True,
        metavar="BENCHMARK",
        shell_complete=complete_tables,
        help=with_note("A benchmark: rollout_decisions/NAME, an imported one such as contact, or a version.", note),
    )


reference_option = click.option(
    "--reference",
    default="",
    metavar="NAME",
    help="Set of reference positions, its current version.  [default: the one with the most positions]",
)
table_option = click.option(
    "--table",
    default="",
    metavar="POINTSxCHECKERS",
    help="Exact two-sided table, such as 6x9.  [default: the largest]",
)


def seed_option(default: int | None, note: str = "") -> Option:
    """Make the option --seed, the seed of all random choices. `note` describes a default that is not a number."""
    words, kind = with_note("Seed of the dice and of all other random choices.", note), click.IntRange(0)
    return click.option("--seed", default=default, show_default=not note, type=kind, metavar="N", help=words)


def games_option(default: int | None, note: str = "") -> Option:
    """Make the option --games, the number of games. `note` describes a default that depends on other options."""
    words = with_note("Games to play.", note)
    return click.option("--games", default=default, show_default=not note, type=int, metavar="N", help=words)


def plays_option(least: int = 1) -> Option:
    """Make the option --plays, how many plays of a roll are considered, with `least` as its minimum."""
    words, kind = "Maximum number of plays.", click.IntRange(least)
    return value_option("--plays", 5, "N", words, type=kind)


force_option = click.option("--force", is_flag=True, help="Build again even what is there.")
yes_option = click.option("--yes", is_flag=True, help="Do not ask.")
plot_option = click.option("--plot", type=PICTURE, metavar="FILE", help="Draw a picture, as PNG or SVG.")


def output_option(note: str = "", *, required: bool = False, kind: OutputFile = OUTPUT) -> Option:
    """Make the option --output, the file to write; `kind` says which paths it accepts. `note` describes the default."""
    words = with_note("File to write.", note)
    return click.option("-o", "--output", required=required, type=kind, metavar="FILE", help=words)


def refuse_beside(what: str, *names: str) -> None:
    """Raise UsageError if the user gave one of the named options together with `what`, because they exclude each
    other."""
    for option in given_options(names):
        raise UsageError(f"expected either {what} or {option}, got both")


def refuse_without(what: str, *names: str) -> None:
    """Raise UsageError if the user gave one of the named options without `what`, which it needs."""
    for option in given_options(names):
        raise UsageError(f"expected {what} with {option}, got {option} alone")


def given_options(names: Collection[str]) -> Iterator[str]:
    """Yield those of the options `names` that the user gave to the running command."""
    context = click.get_current_context()
    for parameter in context.command.params:
        if parameter.name in names and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE:
            yield parameter.opts[-1]


def limits_of(options: Mapping[str, Any]) -> Limits:
    """Return the limits of a rollout, from the values of `rollout_options`. Without --until there is no limit on the
    standard error. Raises UsageError if options contradict each other."""
    from bgdata.selfplay.rollout import Limits

    if options["until"] is None:
        refuse_without("--until", "most_trials")
        return Limits(options["trials"])
    return Limits(options["trials"], options["until"], most_trials_of(options))


def most_trials_of(options: Mapping[str, Any]) -> int:
    """Return the largest number of trials of a rollout: --most-trials, or its default rounded down to a multiple of
    --trials, but at least --trials."""
    most, trials = int(options["most_trials"]), int(options["trials"])
    is_given = any(given_options({"most_trials"}))
    return most if is_given or trials < 1 else max(most // trials, 1) * trials


def use_threads(context: click.Context, _: click.Parameter, count: int | None) -> None:
    """The callback of --threads: kernels run on `count` threads until the command ends."""
    if count is not None and not context.resilient_parsing:  # resilient parsing is for completion
        from bgdata.kernel import threads

        context.with_resource(threads(count))


threads_option = click.option(
    "--threads",
    type=click.IntRange(1),
    metavar="N",
    expose_value=False,
    callback=use_threads,
    help="Number of threads.  [default: one per core]",
)


def use_executor(context: click.Context, _: click.Parameter, name: str) -> None:
    """The callback of --executor: until the command ends, the executor `name` computes work in ranges."""
    if not context.resilient_parsing:
        from bgdata.store.executors import using_executor

        context.with_resource(using_executor(name, context.meta.get(THROUGH, "")))


def keep_through(context: click.Context, _: click.Parameter, address: str | None) -> None:
    """The callback of --through: remember the address for `use_executor`."""
    context.meta[THROUGH] = address or ""


THROUGH = "bgdata.through"
_executor_option = value_option(
    "--executor",
    "local",
    "NAME",
    "Where work in parts, such as games, is computed: local, processes:N, or dask://HOST:PORT.",
    expose_value=False,
    callback=use_executor,
)
_through_option = click.option(
    "--through",
    metavar="ADDRESS",
    is_eager=True,  # parsed before --executor, which uses it
    expose_value=False,
    callback=keep_through,
    help="With dask://: a store that all machines reach, such as s3://BUCKET/PATH, by which they exchange what work "
    "needs and gives.  [default: a disk that they share, or else Dask]",
)
executor_option = add_options(_executor_option, _through_option)
gnubg_option = click.option(
    "--bd",
    "gnubg_files",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A bearoff file of gnubg to read as well; can be given several times.",
)
against_option = click.option(
    "--against",
    multiple=True,
    metavar="PLAYER[:PLY]",
    shell_complete=complete_players,
    help="Play against PLAYER, such as network/NAME, or gnubg:1 for 1-ply.",
)
within_option = value_option("--within", 0.16, "POINTS", "Roll out the plays that lose at most this much at 0-ply.")


def rollout_options(function: Decorated, trials: int = 1296) -> Decorated:
    """Add the options of rollouts to a command; `trials` is the default of --trials."""
    return add_options(
        value_option("--trials", trials, "N", "Number of games, a multiple of 36."),
        click.option(
            "--until",
            type=float,
            metavar="ERROR",
            help="Play more rounds of --trials until the standard error is at most this, in points.  "
            "[default: one round; for a benchmark 0.005, for reference positions 0.007, for first rolls 0.002]",
        ),
        value_option(
            "--most-trials",
            46_656,
            "N",
            "Maximum number of trials with --until: rounds of --trials, to which the default is rounded down.",
        ),
        seed_option(0),
        click.option(
            "--truncate",
            default=0,
            metavar="ROLLS",
            help="Stop a game after this many rolls, and count its static evaluation.  [default: never]",
        ),
        click.option(
            "--stop",
            type=click.Choice(["end", "exact", "tables"]),
            default="exact",
            show_default=True,
            help="Where games end early: not at all, at exact bearoff tables, or at any bearoff table.",
        ),
        value_option(
            "--play-ply",
            0,
            "N",
            "Choose the plays of both sides so many rolls ahead: 0, or 1, which takes many times as long.",
            type=click.IntRange(0, 1),
        ),
        click.option("--no-luck", is_flag=True, help="Do not subtract luck: much faster, and much less accurate."),
        network_option,
    )(function)
