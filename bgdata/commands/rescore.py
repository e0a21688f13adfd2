"""`bgdata rescore`: labels of a corpus from what tables know, and how much of their noise that takes away."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from bgdata.commands.referee import table_size
from bgdata.commands.report import print_built, progress_bars
from bgdata.datasets.common.sources import leads_to
from bgdata.datasets.selfplay import DATASET as SELFPLAY
from bgdata.datasets.selfplay import SelfPlayParameters
from bgdata.datasets.selfplay_labels import DATASET, LabelParameters
from bgdata.errors import MissingTableError, UsageError, shown
from bgdata.evaluation.bearoff import sizes
from bgdata.store.names import quoted
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse

NAME = re.compile(r"(?P<player>pubeval|random|network(-[a-z0-9-]+)?)-(?P<games>\d+)-seed-(?P<seed>\d+)(?P<luck>-luck)?")
BY_CLASS = """
select class, positions, covered, rescored, outcome_variance, label_variance, removed_share
from selfplay_labels_summary where variant = {variant} order by positions desc
"""


def rescore_corpus(warehouse: Warehouse, source: str, table: str, form: str, *, combined: bool, force: bool) -> None:
    """Build the labels of a corpus by the two-sided table of a size such as 6x9 (the largest if empty), and where
    `combined` by the largest one-sided tables too; print where they are, and what rescoring removed.

    Raises UsageError for names that are none, MissingTableError for a corpus or table that is not there, and
    CorruptFileError for a damaged corpus.
    """
    corpus = found_corpus(warehouse, source)
    points, checkers = table_size(warehouse, table, "to rescore by")
    race_points = one_sided_points(warehouse) if combined else 0
    parameters = LabelParameters(**vars(corpus), points=points, checkers=checkers, one_sided_points=race_points)
    with progress_bars() as progress:
        labels = warehouse.build(DATASET.name, parameters, progress=progress, force=force)
    print_built(labels, [*described(parameters, labels.manifest.statistics), "", *by_class(warehouse, labels)], form)


def found_corpus(warehouse: Warehouse, source: str) -> SelfPlayParameters:
    """The parameters of a corpus that is there, whole, and by the recipe of today: what labels name as their input."""
    kind, variant, *_ = [*source.split("/"), ""]
    if kind != SELFPLAY.name or not variant:
        raise UsageError(f"expected a corpus such as selfplay/network-10000-seed-1, got {shown(source)}")
    if next(warehouse.versions(kind, variant), None) is None:
        warehouse.require()
        have = ", ".join(warehouse.variants(kind)) or "none"
        raise MissingTableError(f"no {source} in {warehouse.root} (have: {have}); try: bgdata {command_for(variant)}")
    table = warehouse.open_reference(source)
    table.check_sizes()
    parameters = SelfPlayParameters.from_manifest(table.manifest.parameters)
    if not leads_to(warehouse, table):
        raise MissingTableError(
            f"expected {source} as the player plays now, found {table.folder.name} by another network or tables; "
            f"try: bgdata {command_for(variant)}"
        )
    return parameters


def command_for(variant: str) -> str:
    """The arguments of `bgdata` that make a corpus of this name, as far as the name tells."""
    name = NAME.fullmatch(variant)
    if not name:
        return "selfplay"
    player = name["player"].replace("network-", "network/", 1)
    chosen = "" if player == "network" else f" --player {player}"
    return f"selfplay{chosen} --games {name['games']} --seed {name['seed']}" + (" --luck" if name["luck"] else "")


def one_sided_points(warehouse: Warehouse) -> int:
    """Points of the largest one-sided table that has a gammon table of the same. Raises MissingTableError."""
    found = sizes(warehouse, "bearoff_one_sided") & sizes(warehouse, "bearoff_gammon")
    if not found:
        raise MissingTableError(
            f"expected bearoff_one_sided and bearoff_gammon of the same size in {warehouse.root} to combine, found "
            "none; try: bgdata build bearoff_gammon --points 10"
        )
    return max(points for points, _ in found)


def described(parameters: LabelParameters, found: Mapping[str, float]) -> Iterator[str]:
    """The result in lines of text."""
    race = f" and, combined, bearoff_one_sided/{parameters.one_sided_points}x15" if parameters.one_sided_points else ""
    yield (
        f"{found['positions']:,.0f} positions of {parameters.games:,} games, by bearoff_two_sided/{parameters.points}x"
        f"{parameters.checkers}{race}:"
    )
    share = found["rescored"] / found["positions"]
    rescored = f"{found['rescored']:,.0f} rescored ({100 * share:.1f} %)"
    yield f"{found['covered']:,.0f} covered, {rescored}; the others keep the outcome of their game"
    line = (
        f"label variance {found['variance_before']:.4f} before, {found['variance_after']:.4f} after: "
        f"{100 * found['removed_share']:.1f} % removed"
    )
    if "variance_hedged" in found:
        share = 1 - found["variance_hedged"] / found["variance_before"]
        line += f"; less luck {found['variance_hedged']:.4f}: {100 * share:.1f} %"
    yield line


def by_class(warehouse: Warehouse, labels: Table) -> Iterator[str]:
    """The same for each class of positions, as a table."""
    with warehouse.connect() as connection:
        rows = connection.sql(BY_CLASS.format(variant=quoted(labels.folder.parent.name))).fetchall()
    yield f"{'class':<8}{'positions':>11}{'covered':>10}{'rescored':>10}{'before':>9}{'after':>9}{'removed':>9}"
    for name, positions, covered, rescored, before, after, removed in rows:
        share = f"{100 * removed:>7.1f} %" if removed is not None else f"{'-':>9}"
        yield f"{name:<8}{positions:>11,}{covered:>10,}{rescored:>10,}{before:>9.4f}{after:>9.4f}{share}"
