"""The page about races: losses of cube rules of thumb, and errors of combined one-sided tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from starlette.requests import Request

from bgdata.errors import MissingTableError, UsageError, cite
from bgdata.rows import whole_rows
from bgdata.studies.kinds.race_rules import DECISIONS
from bgdata.warehouse.pages.tables import pair_path
from bgdata.web.answer import Page, shade, signed_text
from bgdata.web.site import Row, Site

WEIGHTINGS = {  # (words, prefix of the columns of `race_rule_losses`)
    "played": ("as they come up in play", "played_"),
    "longer": ("5 checkers a side or more", "longer_"),
    "equal": ("every pair of layouts once", ""),
}
RULE_TABLES = """
select variant, max(positions) as positions from race_rules
where part = 'all' and weighting = 'equal' group by variant order by positions desc, variant
"""
RULES = "select * from race_rule_losses where variant = $variant"
ERROR_TABLES = "select variant, pairs from race_error where grouping = 'all' order by pairs desc, variant"
ERRORS = """
select * from race_error where variant = $variant and
(grouping = 'all' or (grouping = 'checkers' and on_roll_group = opponent_group))
order by grouping, on_roll_group
"""
PIPS = """
select on_roll_group, opponent_group, mean_difference from race_error
where variant = $variant and grouping = 'pips' order by all
"""
CELL = 6  # units of the picture per pip
STRONGEST = 0.004  # points: mean difference that has the strongest color
BAR = 220  # length of the longest bar, in units of the picture


def page(site: Site, request: Request) -> Page:
    """The page about races: losses of cube rules of thumb, and errors of combined one-sided tables."""
    given = request.query_params
    by = given.get("by", "played")
    if by not in WEIGHTINGS:
        raise UsageError(f"expected a weighting: {', '.join(WEIGHTINGS)}, got {cite(by)}")
    rule_tables, error_tables = query_variants(site, RULE_TABLES), query_variants(site, ERROR_TABLES)
    rules_of = variant_named("race_rules", rule_tables, given.get("rules", ""))
    errors_of = variant_named("race_error", error_tables, given.get("errors", ""))
    rules = site.rows(RULES, {"variant": rules_of}) if rules_of else []
    errors = site.rows(ERRORS, {"variant": errors_of}) if errors_of else []
    shown_ = {
        "by": by,
        "weightings": {name: words for name, (words, _) in WEIGHTINGS.items()},
        "rule_tables": rule_tables,
        "rules_of": rules_of,
        "rules": list(rule_rows(rules, by)),
        "error_tables": error_tables,
        "errors_of": errors_of,
        "errors": errors,
        "worst": list(worst_pairs(site, errors, errors_of)),
        "picture": site.keep(("pips", errors_of), lambda: error_picture(site, errors_of)) if errors_of else "",
        "strongest": STRONGEST,
    }
    return Page("race.html", shown_, {"rules": whole_rows(rules), "errors": whole_rows(errors)})


def query_variants(site: Site, query: str) -> list[str]:
    """Return the variants in the column of a query, in the query's order: largest first. The site keeps the answer."""
    return site.keep(query, lambda: [row["variant"] for row in site.rows(query)])


def variant_named(kind: str, variants: Sequence[str], name: str) -> str:
    """Return the variant called `name`; by default the first of `variants`, or an empty string if there are none.
    Raises MissingTableError if there is no such variant."""
    if name and name not in variants:
        raise MissingTableError(f"no {kind}/{cite(name)} in warehouse (have: {', '.join(variants) or 'none'})")
    return name or next(iter(variants), "")


def rule_rows(rules: Sequence[Row], by: str) -> Iterator[Row]:
    """Yield a row for each rule, with losses in thousandths of a point and widths of bars. Rules are sorted by their
    loss under the weighting `by`, least first."""
    prefix = WEIGHTINGS[by][1]
    known = sorted(
        (row for row in rules if row[f"{prefix}total_loss"] is not None), key=lambda row: total_loss(row, prefix)
    )
    most = max((total_loss(row, prefix) for row in known), default=0.0) or 1.0
    for row in known:
        losses = {name: 1000 * row[f"{prefix}{name}_loss"] for name in DECISIONS}
        widths = [BAR * losses[name] / 1000 / most for name in DECISIONS]
        yield {
            "rule": row["rule"],
            "source": row["source"],
            "losses": losses,
            "total": 1000 * total_loss(row, prefix),
            "bars": [(sum(widths[:place]), width) for place, width in enumerate(widths)],
            "totals": {name: row[f"{other}total_loss"] for name, (_, other) in WEIGHTINGS.items()},
        }


def total_loss(row: Row, prefix: str) -> float:
    """Return the total loss of a rule over its three decisions, in points per unit cube. `prefix` is the weighting's
    prefix of column names."""
    return float(row[f"{prefix}total_loss"])


def worst_pairs(site: Site, errors: Sequence[Row], variant: str) -> Iterator[Row]:
    """Yield the two pairs of layouts where combined one-sided tables have the largest error, one in each direction,
    with the addresses of their pages."""
    for row in errors:
        if row["grouping"] == "all":
            points = int(str(site.warehouse.open("race_error", variant).manifest.parameters["points"]))
            for which, words in (("largest", "overrated most"), ("smallest", "underrated most")):
                pair = row[f"{which}_on_roll_index"], row[f"{which}_opponent_index"]
                yield {"words": words, "difference": row[f"{which}_difference"], "address": pair_path(points, *pair)}


def error_picture(site: Site, variant: str) -> str:
    """Return an SVG picture of the mean error of combining by the pip counts of both sides. Each pair is a square;
    squares of a color are one path."""
    paths: dict[int, list[str]] = {}
    rows = site.rows(PIPS, {"variant": variant})
    most = max((row["on_roll_group"] for row in rows), default=1)
    for row in rows:
        x, y = CELL * (row["on_roll_group"] - 1), CELL * (most - row["opponent_group"])
        color = shade(row["mean_difference"], STRONGEST)
        paths.setdefault(color, []).append(f"M{x} {y}h{CELL}v{CELL}h-{CELL}z")
    side, margin = CELL * most, 30
    ticks = range(10, most + 1, 10)
    worst = max((row["mean_difference"] for row in rows), key=abs, default=0.0)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="pips" viewBox="-{margin} -4 {side + margin + 4} '
            f'{side + margin + 8}" role="img" aria-label="Mean error by pips of the player on roll, to the right, '
            f'and of the opponent, upwards; the largest mean is {signed_text(worst)} points">',
            *(f'<path class="shade{color}" d="{"".join(squares)}"/>' for color, squares in sorted(paths.items())),
            *(f'<text class="below" x="{CELL * (pips - 0.5):g}" y="{side + 15}">{pips}</text>' for pips in ticks),
            *(f'<text class="left" x="-6" y="{CELL * (most - pips) + 7:g}">{pips}</text>' for pips in ticks),
            "</svg>",
        ]
    )
