"""The page of the register of claims, with filters."""

from __future__ import annotations

from starlette.requests import Request

from bgdata.rows import whole_rows
from bgdata.store.table import Table
from bgdata.studies.claims.definitions import KINDS, STATUSES
from bgdata.studies.rows import answer_text, check_claim_names, chosen_claims, current_register, printed_tables, rows_of
from bgdata.web.answer import Page
from bgdata.web.position_request import flag
from bgdata.web.site import Row, Site


def claims(site: Site, request: Request) -> Page:
    """The page of the register of claims with filters; its JSON is what `bgdata claims` prints."""
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
    """The register of claims and its rows. Raises MissingTableError if there is none."""

    def read() -> tuple[Table, list[Row]]:
        table = current_register(site.warehouse)
        return table, rows_of(table)

    return site.keep("register", read)
