"""Claims, players and openings: tables of rows with filters."""

from __future__ import annotations

from starlette.requests import Request

from bgdata.errors import UsageError, shown
from bgdata.rows import whole_rows
from bgdata.store.table import Table
from bgdata.studies.claims.definitions import KINDS, STATUSES
from bgdata.studies.rows import answer_text, check_claim_names, chosen_claims, current_register, printed_tables, rows_of
from bgdata.training.rows import curve_charts, network_row, networks
from bgdata.web.answer import Page
from bgdata.web.charts import chart_svg
from bgdata.web.position_request import flag
from bgdata.web.site import Row, Site

SCORES = "from scores order by player_name, ply, measure, against"
BOOK = """
select variant, objective, first_roll, first_play, reply_roll, position_id, play, equity, standard_error, second_play,
       second_loss, second_loss_standard_error, n_candidates, games, network
from opening_book
where objective = $objective and coalesce(first_roll, '') like $first
  and (reply_roll is null) = ($first = '%')
order by variant, first_roll, first_play nulls first, reply_roll
"""
OBJECTIVES = ("money", "double-match-point")


def claims(site: Site, request: Request) -> Page:
    """The register of claims with filters; JSON is that of `bgdata claims`."""
    given = request.query_params
    names = given.get("name", "").split()
    statuses, kinds = ([word for word in given.getlist(name) if word] for name in ("status", "kind"))
    is_erratum = bool(flag(given, "erratum"))
    table, everything = register_of(site)
    check_claim_names(names, [(row["claim"], row["part"]) for row in everything])
    rows = chosen_claims(everything, names, statuses, kinds, is_erratum=is_erratum)
    shown_ = {
        "rows": rows,
        "answer_text": answer_text,
        "table": table,
        "names": " ".join(names),
        "statuses": statuses,
        "kinds": kinds,
        "is_erratum": is_erratum,
        "all_statuses": STATUSES,
        "all_kinds": KINDS,
        "printed_tables": printed_tables(rows),
        "counts": {status: sum(row["status"] == status for row in rows) for status in STATUSES},
    }
    return Page("claims.html", shown_, whole_rows(rows))


def register_of(site: Site) -> tuple[Table, list[Row]]:
    """The register of claims and its rows. Raises MissingTableError."""

    def read() -> tuple[Table, list[Row]]:
        table = current_register(site.warehouse)
        return table, rows_of(table)

    return site.keep("register", read)


def players(site: Site, request: Request) -> Page:
    """The scores of players, by player; and the ledger of networks with their learning curves. JSON has rows of the
    table `scores`, and those of the ledger."""
    player = request.query_params.get("player", "")
    rows = site.keep("scores", lambda: site.rows(SCORES))
    chosen = [row for row in rows if not player or row["player_name"] == player]
    if player and not chosen:
        raise UsageError(f"expected a player that was scored here, got {shown(player)}")
    groups: dict[str, list[Row]] = {}
    for row in chosen:
        groups.setdefault(f"{row['player_name']}, {row['ply']}-ply", []).append(row)
    ledger, curves = ([], []) if player else site.keep("ledger", lambda: learned(site))
    shown_ = {"groups": groups, "player": player, "ledger": ledger, "curves": curves}
    return Page("players.html", shown_, {"scores": whole_rows(chosen), "networks": ledger})


def learned(site: Site) -> tuple[list[Row], list[Row]]:
    """The ledger of networks, and the first chart of each learning curve with the name of its network."""
    tables = networks(site.warehouse)
    curves = [{"name": table.name, "chart": chart_svg(curve_charts(table)[0])} for table in tables]
    return whole_rows(network_row(table.manifest) for table in tables), curves


def book_of(row: Row) -> str:
    """The book of a row: its variant without the first roll."""
    return str(row["variant"]).rpartition("-")[0]


def openings(site: Site, request: Request) -> Page:
    """The opening book: the first rolls, or the replies to one of them."""
    objective = request.query_params.get("objective", OBJECTIVES[0])
    roll = request.query_params.get("roll", "")
    if objective not in OBJECTIVES:
        raise UsageError(f"expected an objective of {', '.join(OBJECTIVES)}, got {shown(objective)}")
    if roll and not (len(roll) == 2 and set(roll) <= set("123456")):
        raise UsageError(f"expected a first roll such as 31, got {shown(roll)}")
    first = "".join(sorted(roll, reverse=True)) or "%"
    rows = site.keep(("book", objective, first), lambda: site.rows(BOOK, {"objective": objective, "first": first}))
    books = {book_of(row): row["network"] for row in rows}
    chosen = {"objective": objective, "objectives": OBJECTIVES, "roll": roll}
    return Page("openings.html", {"rows": rows, "books": books, "book_of": book_of, **chosen}, whole_rows(rows))
