"""`bgdata race-rules`: what rules of thumb for the cube lose in solved races."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from bgdata.cli.charts import BLUE, RED, TEAL, new_figure, write_figure
from bgdata.cli.completion import complete_tables
from bgdata.cli.options import force_option, format_option, plot_option, table_option, threads_option
from bgdata.cli.output import build_version, show_rows
from bgdata.rows import THOUSANDTHS, Column, Row, table_lines
from bgdata.selfplay.commands.selfplay import corpus_recipe
from bgdata.store.table import Table
from bgdata.studies.kinds.race_rules import DATASET as RULES
from bgdata.studies.kinds.race_rules import DECISIONS, RaceRuleParameters
from bgdata.warehouse import Warehouse


@click.command(name="race-rules")
@click.argument("corpus", shell_complete=complete_tables)
@table_option
@plot_option
@threads_option
@force_option
@format_option
@click.pass_obj
def race_rules(warehouse: Warehouse, /, corpus: str, table: str, plot: Path | None, form: str, *, force: bool) -> None:
    """Score rules of thumb for the cube in solved races.

    CORPUS is a corpus of self-play, such as selfplay/network-10000-seed-1: it says how often positions come up. For
    every position of an exact table, each rule doubles, redoubles and takes, or does not. What that loses against the
    right decisions is in the table `race_rules`. A search among formulas like Keith's and Thorp's finds better rules
    on one half of the positions; all rules are compared on the other half.

    \b
      bgdata race-rules selfplay/network-10000-seed-1 --table 6x6
      bgdata query "select rule, source from race_rule_losses"
    """
    from bgdata.measures.steps.scores import table_size

    recipe = corpus_recipe(warehouse, corpus)
    points, checkers = table_size(warehouse, table, "to score rules by")
    parameters = RaceRuleParameters(**vars(recipe), points=points, checkers=checkers)
    found = build_version(warehouse, RULES, parameters, force=force)
    query = f"select {', '.join(NAMES)} from race_rule_losses where variant = $variant"  # best rule in play first
    rules = warehouse.rows(query, {"variant": found.manifest.variant})
    show_rows(rules, form, rule_lines(found, rules))
    if plot is not None:
        draw_rules(found, rules, plot)


# title of each weighting, by prefix of the columns
TITLES = {
    "played_": "as they come up in play",
    "longer_": "5 checkers a side or more",
    "": "every pair of layouts once",
}
LOSSES = [f"{prefix}{decision}_loss" for prefix in ("", "played_", "longer_") for decision in (*DECISIONS, "total")]
NAMES = ("rule", *LOSSES, "source")  # columns of the view: mean losses in points per unit cube


def rule_lines(table: Table, rules: Sequence[Row]) -> Iterator[str]:
    """Yield lines of text: a table that compares the rules, and the formulas that the search found."""
    figures = table.manifest.statistics
    pairs, positions, longer = (int(figures[name]) for name in ("pairs", "played_positions", "longer_positions"))
    yield f"{table.name}: {pairs:,} pairs of layouts; {positions:,} positions of the corpus, {longer:,} of them longer"
    yield "mean loss in thousandths of a point per unit cube, on the half of positions that no rule was searched on"
    yield " " * 14 + "".join(f"{title:>31}" for title in TITLES.values())
    heads = (("double", 7), ("redouble", 8), ("take", 6), ("total", 6))
    columns = [Column("rule", width=14)]
    for prefix in TITLES:
        for name, width in heads:
            heading = "all" if name == "total" else name
            columns.append(Column(f"{prefix}{name}_loss", THOUSANDTHS, heading, width=width, gap=1, missing="-"))
    yield from table_lines(columns, rules)
    yield from (f"{rule['rule']}: {rule['source']}" for rule in rules if rule["rule"].startswith("found"))


def draw_rules(table: Table, rules: Sequence[Row], path: Path) -> None:
    """Write a picture of the mean losses of all rules under each weighting, as stacked bars for the three decisions.
    Raises StorageError if the picture cannot be written."""
    names = [rule["rule"] for rule in reversed(rules)]
    with new_figure(11.5, 0.28 * len(rules) + 1.4) as figure:
        panels = figure.subplots(1, len(TITLES), sharey=True)
        for axes, (prefix, title) in zip(panels, TITLES.items(), strict=True):
            left = [0.0] * len(rules)
            for name, colour in zip(DECISIONS, (TEAL, BLUE, RED), strict=True):
                widths = [1000 * (rule[f"{prefix}{name}_loss"] or 0.0) for rule in reversed(rules)]
                axes.barh(names, widths, left=left, color=colour, label=name)
                left = [start + width for start, width in zip(left, widths, strict=True)]
            axes.set_title(title)
            axes.grid(visible=False, axis="y")
        panels[1].set_xlabel("mean loss in thousandths of a point per unit cube")
        panels[0].legend(loc="upper right")
        figure.suptitle(f"{table.name.rpartition('/')[0]}: what rules of thumb lose")
        write_figure(figure, path)
