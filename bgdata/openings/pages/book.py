"""Pages of the opening book: the first rolls, and the replies to one of them."""

from __future__ import annotations

from starlette.requests import Request

from bgdata.errors import UsageError, cite
from bgdata.rows import whole_rows
from bgdata.web.answer import Page
from bgdata.web.site import Row, Site

BOOK = """
select variant, objective, first_roll, first_play, reply_roll, position_id, play, equity, standard_error, second_play,
       second_loss, second_loss_standard_error, n_candidates, games, network
from opening_book
where objective = $objective and coalesce(first_roll, '') like $first
  and (reply_roll is null) = ($first = '%')
order by variant, first_roll, first_play nulls first, reply_roll
"""
OBJECTIVES = ("money", "double-match-point")


def openings(site: Site, request: Request) -> Page:
    """The page of the first rolls in the opening book, or of the replies to one of them."""
    objective = request.query_params.get("objective", OBJECTIVES[0])
    roll = request.query_params.get("roll", "")
    if objective not in OBJECTIVES:
        raise UsageError(f"expected an objective of {', '.join(OBJECTIVES)}, got {cite(objective)}")
    if roll and not (len(roll) == 2 and set(roll) <= set("123456")):
        raise UsageError(f"expected a first roll such as 31, got {cite(roll)}")
    first = "".join(sorted(roll, reverse=True)) or "%"
    rows = site.keep(("book", objective, first), lambda: site.rows(BOOK, {"objective": objective, "first": first}))
    books = {book_of(row): row["network"] for row in rows}
    chosen = {"objective": objective, "objectives": OBJECTIVES, "roll": roll}
    return Page("openings.html", {"rows": rows, "books": books, "book_of": book_of, **chosen}, whole_rows(rows))


def book_of(row: Row) -> str:
    """Return the name of the book that a row belongs to: its variant without the first roll."""
    return str(row["variant"]).rpartition("-")[0]
