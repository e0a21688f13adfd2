"""The register of claims on the site, in pages, with filters."""

from __future__ import annotations

from starlette.requests import Request

from bgdata.errors import UsageError, cite
from bgdata.rows import whole_rows
from bgdata.store.table import Table
from bgdata.studies.claims.definitions import KINDS, STATUSES
from bgdata.studies.rows import answer_text, check_claim_names, chosen_claims, current_register, printed_tables, rows_of
from bgdata.web.answer import Page, address
from bgdata.web.position_request import boolean_parameter, integer_parameter
from bgdata.web.site import Row, Site

PAGE = 50  # claims of a page


def claims(site: Site, request: Request) -> Page:
    """The page of the register of claims with filters. Its JSON form is what `bgdata claims` prints, all rows at
    once."""
    given = request.query_params
    names = given.get("name", "").split()
    statuses, kinds = ([word for word in given.getlist(name) if word] for name in ("status", "kind"))
    is_erratum = bool(boolean_parameter(given, "erratum"))
    table, everything = register_of(site)
    check_claim_names(names, [(row["claim"], row["part"]) for row in everything])
    rows = chosen_claims(everything, names, statuses, kinds, is_erratum=is_erratum)
    documents = sorted({row["document"] for row in everything})
    document = given.get("document", "").strip()
    if document:
        if document not in documents:
            raise UsageError(f"expected a document of claims: {', '.join(documents)}, got {cite(document)}")
        rows = [row for row in rows if row["document"] == document]
    last = max(1, -(-len(rows) // PAGE))
    number = integer_parameter(given, "page", 1, least=1, most=last)
    words = {"name": " ".join(names), "status": statuses, "kind": kinds, "document": document}
    query = {**words, "erratum": int(is_erratum)}

    def link(**changed: object) -> str:
        """Return the address of this page with the same filters, except for the changed ones."""
        return address("/claims", query | changed)

    shown_ = {
        "rows": rows,
        "documents": documents,
        "document": document,
        "page": number,
        "last": last,
        "size": PAGE,
        "link": link,
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
    return Page("claims.html", shown_, lambda: whole_rows(rows))


def register_of(site: Site) -> tuple[Table, list[Row]]:
    """Return the current register of claims and its rows. Raises MissingTableError if there is none."""

    def read() -> tuple[Table, list[Row]]:
        table = current_register(site.warehouse)
        return table, rows_of(table)

    return site.keep("register", read)
