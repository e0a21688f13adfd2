"""`bgdata label` and `bgdata decisions`: positions of a table with chances by an engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
from click.core import ParameterSource

from bgdata.cli import options as cli
from bgdata.cli.completion import complete_tables
from bgdata.cli.output import build_version, print_built
from bgdata.errors import UsageError, cite
from bgdata.evaluation.players import PROGRAMS
from bgdata.measures.kinds import rollout_decisions
from bgdata.rows import LOSS
from bgdata.selfplay.commands.selfplay import corpus_recipe
from bgdata.selfplay.kinds import bearoff_labels, engine_labels, lookahead_labels, rollout_labels
from bgdata.selfplay.kinds.shared.rollouts import RollerParameters, find_source
from bgdata.warehouse import Warehouse


@click.command()
@click.argument("source", shell_complete=complete_tables)
@click.option(
    "--engine",
    type=click.Choice(["rollout", "lookahead", "tables", *PROGRAMS]),
    default="rollout",
    show_default=True,
    help="What evaluates the positions; gnubg and bgsage have to be installed.",
)
@click.option(
    "--ply", type=click.IntRange(0, 4), metavar="N",
    help="How many rolls the player looks ahead.  [default: lookahead 1, programs 0]",
)  # fmt: skip
@click.option(
    "--least-change",
    default=0.0,
    metavar="POINTS",
    help="With lookahead: keep only positions whose equity changes by at least this much.  [default: keep all]",
)
@click.option(
    "--pairs",
    default=400_000,
    show_default=True,
    type=click.IntRange(0),
    metavar="N",
    help="With tables: number of pairs of layouts, 0 for each layout once; an exact table adds a quarter more.",
)
@cli.rollout_options
@cli.executor_option
@cli.threads_option
@cli.format_option
@click.pass_context
def label(context: click.Context, /, source: str, engine: str, form: str, **options: Any) -> None:
    """Label the positions of a SOURCE by an engine.

    SOURCE is a table of positions, such as positions/NAME, or, but for rollouts, of turns, such as a corpus. Engines,
    and the tables that they fill:

    \b
      rollout    rollout_labels: played out many times, with standard errors
      lookahead  lookahead_labels: the network at 1-ply, and at 0-ply
      tables     bearoff_labels: pairs from a SOURCE such as bearoff_one_sided/10x15
      gnubg, bgsage  engine_labels: the installed program; lookahead at ply 2, 3 too

    A stopped command, run again, labels only the missing positions; the labels are the same from any executor and any
    number of threads. Each position is labelled once, and belongs to the split of its game. Rollouts label every row; a
    position that does not reach the standard error of --until is kept with a larger one.

    \b
      bgdata label positions/mine --trials 360
      bgdata label bearoff_one_sided/10x15 --engine tables
    """
    given = {name for name in options if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    warehouse: Warehouse = context.obj
    wrong = sorted(given - OPTIONS[engine])
    if wrong:
        known = ", ".join(f"--{name.replace('_', '-')}" for name in sorted(OPTIONS[engine]))
        raise UsageError(f"expected options of --engine {engine}: {known}, got --{wrong[0].replace('_', '-')}")
    if engine == "rollout":
        label_by_rollouts(warehouse, source, options, form)
    elif engine == "tables":
        label_by_tables(warehouse, source, options["pairs"], options["seed"], form)
    elif engine == "lookahead" and options["ply"] in (None, 1):
        label_by_lookahead(warehouse, source, options, form)
    else:
        label_by_engine(warehouse, source, engine, options, form)


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
    help="Maximum number of decisions.",
)
@cli.rollout_options
@cli.within_option
@cli.plays_option(2)
@click.option("--one-per-game", is_flag=True, help="Take no two decisions of one game, so that they are independent.")
@click.option(
    "--settled-at",
    type=float,
    metavar="N",
    help="Standard errors that a play is behind when it gets no more games.  [default: all get as many]",
)
@cli.executor_option
@cli.threads_option
@cli.format_option
@click.pass_obj
def decisions(
    warehouse: Warehouse, /, corpus: str, position_class: str, count: int, network: str, form: str, **options: Any
) -> None:
    """Make a benchmark: decisions of a CORPUS, rolled out.

    CORPUS is a corpus of self-play, such as selfplay/network-10000-seed-1. The better plays of each decision are rolled
    out until their standard errors are at most 0.005 points, or what --until says. With --settled-at 4 plays that are
    clearly behind get fewer games than close ones, and the set takes about half as long. Decisions are chosen by a hash
    from the test games of the corpus: a larger set contains the smaller ones, and another --seed chooses other
    decisions. A stopped command, run again, rolls out only the missing ones; the set is the same from any executor
    and any number of threads.

    \b
    Make one, score a player on it, write it as a gnubg benchmark file:
      bgdata decisions selfplay/network-10000-seed-1 --class race --decisions 60 --settled-at 4 --one-per-game
      bgdata benchmark network --on rollout_decisions/NAME
      bgdata export text rollout_decisions/NAME --format gnubg-benchmark -o contact.bm
    """
    roller = roller_parameters(warehouse, network, options, UNTIL)
    parameters = rollout_decisions.DecisionParameters(
        **vars(corpus_recipe(warehouse, corpus)),
        **roller,
        position_class=position_class,
        decisions=count,
        sample_seed=options["seed"],
        within=options["within"],
        most_plays=options["plays"],
        one_per_game=options["one_per_game"],
        settled_at=options["settled_at"],
    )
    table = build_version(warehouse, rollout_decisions.DATASET, parameters)
    rows, found = table.manifest.rows, table.manifest.statistics
    plays = round(found["plays"])
    line = f"{rows:,} decisions, {plays:,} plays, {found['games']:,.0f} games: {standard_errors_text(found)}"
    print_built(table, [line + unreached_text(plays, "plays", found, parameters)], form)


# options of single engines, besides the options of all engines
OPTIONS = {
    "rollout": {"network", "trials", "until", "most_trials", "truncate", "stop", "no_luck", "play_ply", "seed"},
    "lookahead": {"network", "ply", "least_change"},
    "tables": {"pairs", "seed"},
    **{program: {"ply"} for program in PROGRAMS},
}
ONE_SIDED = "bearoff_one_sided"
UNTIL = 0.005  # default standard error of benchmark plays, in points


def label_by_lookahead(warehouse: Warehouse, source: str, options: Mapping[str, Any], form: str) -> None:
    """Label the positions of `source` by a network at 1-ply, as a version of `lookahead_labels`, and print a
    summary."""
    from bgdata.training.steps import network_parameters

    place, recipe = find_source(warehouse, source)
    network = network_parameters(warehouse, options["network"])
    parameters = lookahead_labels.LookaheadParameters(
        source=place, **network, source_recipe=recipe, least_change=options["least_change"]
    )  # fmt: skip
    table = build_version(warehouse, lookahead_labels.DATASET, parameters)
    found = table.manifest.statistics
    line = f"{table.manifest.rows:,} positions, {found['lookahead']:,.0f} of them looked into"
    if found["lookahead"]:
        mean, largest = (LOSS.text(found[f"{name}_absolute_change"]) for name in ("mean", "largest"))
        line += f": the equity changes by {mean} on average, at most {largest}"
    print_built(table, [line], form)


def label_by_engine(warehouse: Warehouse, source: str, engine: str, options: Mapping[str, Any], form: str) -> None:
    """Label the positions of `source` by `engine`, as a version of `engine_labels`, and print a summary. Raises
    UsageError if two options contradict each other."""
    from bgdata.evaluation.lookahead import MAX_PLY
    from bgdata.evaluation.player import open_named_player
    from bgdata.training.steps import network_parameters

    ply, (place, recipe) = options["ply"] or 0, find_source(warehouse, source)
    if engine != "lookahead":
        version = open_named_player(engine, ply).version
        parameters = engine_labels.EngineParameters(place, engine, ply, version, source_recipe=recipe)
    elif options["least_change"]:
        raise UsageError(f"expected --least-change with --ply 1, got it with --ply {ply}")
    elif ply > MAX_PLY:
        raise UsageError(f"expected --ply 0 to {MAX_PLY} for lookahead, got {ply}")
    else:
        network = network_parameters(warehouse, options["network"])
        parameters = engine_labels.EngineParameters(place, "network", ply, **network, source_recipe=recipe)
    table = build_version(warehouse, engine_labels.DATASET, parameters)
    who = table.array("engine").tobytes().decode()
    print_built(table, [f"{table.manifest.rows:,} positions by {who}, {ply}-ply"], form)


def label_by_tables(warehouse: Warehouse, source: str, pairs: int, seed: int, form: str) -> None:
    """Label bearoffs by bearoff tables, as a version of `bearoff_labels`, and print a summary. Raises UsageError if
    `source` is not a one-sided table, and MissingTableError if a table is missing."""
    from bgdata.evaluation.bearoff import SIZE
    from bgdata.measures.steps.scores import table_size

    kind, _, size = source.partition("/")
    named = SIZE.fullmatch(size)
    if kind != ONE_SIDED or not named:
        raise UsageError(f"expected a table of distributions, such as {ONE_SIDED}/10x15, got {cite(source)}")
    points, checkers = table_size(warehouse, "", "to label by")
    exact_pairs = (pairs or bearoff_labels.BearoffParameters.pairs) // 4
    parameters = bearoff_labels.BearoffParameters(int(named[1]), points, checkers, pairs, exact_pairs, seed)
    bearoff_labels.DATASET.check_parameters(parameters)
    warehouse.open(ONE_SIDED, size)
    table = build_version(warehouse, bearoff_labels.DATASET, parameters)
    exact, combined, gammons = (table.manifest.statistics[name] for name in ("exact", "combined", "with_gammons"))
    sources = f"{exact:,.0f} exact, {combined:,.0f} combined"
    line = f"{table.manifest.rows:,} positions: {sources}; {gammons:,.0f} with gammons"
    print_built(table, [line], form)


def label_by_rollouts(warehouse: Warehouse, source: str, options: Mapping[str, Any], form: str) -> None:
    """Roll out the positions of `source`, as a version of `rollout_labels`, and print the standard errors. Raises
    InvalidParameterError if a setting is out of range, and MissingTableError if the source or the network is
    missing."""
    roller, (place, recipe) = roller_parameters(warehouse, options["network"], options), find_source(warehouse, source)
    given = {"source": place, "seed": options["seed"], "source_recipe": recipe}
    parameters = rollout_labels.RolloutLabelParameters(**roller, **given)
    table = build_version(warehouse, rollout_labels.DATASET, parameters)
    rows, found, line = table.manifest.rows, table.manifest.statistics, "no positions"
    if rows:
        line = f"{rows:,} positions, {found['games']:,.0f} games: {standard_errors_text(found)}"
        line += unreached_text(rows, "positions", found, parameters)
    print_built(table, [line], form)


def standard_errors_text(statistics: Mapping[str, float]) -> str:
    """Return a phrase with the mean and the largest standard error of rollouts, from the `statistics` of a version."""
    mean, largest = (LOSS.text(statistics[f"{name}_standard_error"]) for name in ("mean", "largest"))
    return f"standard errors of {mean} on average, at most {largest}"


def roller_parameters(
    warehouse: Warehouse, network: str, options: Mapping[str, Any], default_until: float | None = None
) -> dict[str, Any]:
    """Return the parameters that name the network and the settings of rollouts, from a command's options.
    `default_until` is the standard error to reach if the user gives none. Raises MissingTableError if the network is
    missing."""
    from bgdata.training.steps import network_parameters

    until = default_until if options["until"] is None else options["until"]
    if until is None:
        cli.refuse_without("--until", "most_trials")
    return {
        **network_parameters(warehouse, network),
        "until": until,
        "most_trials": 0 if until is None else cli.most_trials_of(options),
        "turns": options["truncate"],
        "with_luck": not options["no_luck"],
        **{name: options[name] for name in ("trials", "stop", "play_ply")},
    }


def unreached_text(rows: int, what: str, statistics: Mapping[str, float], parameters: RollerParameters) -> str:
    """Return a second line of text if rollouts did not reach the standard error that `parameters` ask for, else an
    empty string. `statistics` belong to a version with `rows` rows; `what` is the noun for a row."""
    missed = round(rows * (1 - statistics["reached_share"]))
    if not missed:
        return ""
    most = parameters.limits().most
    return (
        f"\nexpected standard errors of at most {parameters.until}, got larger ones for {missed:,} {what} after "
        f"{most:,} trials; try: --most-trials {4 * most}"
    )
