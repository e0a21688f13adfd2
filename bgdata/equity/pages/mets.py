"""The match equity tables of a warehouse, as pages choose them."""

from __future__ import annotations

from bgdata.equity.match_equity import MatchEquity
from bgdata.equity.stored_met import KINDS, default_met, find_met, met_names
from bgdata.errors import BgdataError
from bgdata.web.site import Site


def met_of(site: Site, name: str) -> MatchEquity:
    """The match equity table of this name; without a name the default one, or where that is not built the first. Raises
    MissingTableError."""
    return site.keep(("met", name), lambda: find_met(site.warehouse, name or first_met(site)))


def first_met(site: Site) -> str:
    """The default table, or where that is not built the first one."""
    wanted, names = default_met(site.warehouse), names_of(site)
    return wanted if wanted in names or not names else names[0]


def names_of(site: Site) -> list[str]:
    """The tables of chances that the warehouse has."""

    def read() -> list[str]:
        found: list[str] = []
        for table in (table for kind in KINDS for table in site.warehouse.current(kind)):
            try:
                found += met_names(table.arrays())
            except BgdataError:
                continue  # pages of tables say that it is damaged
        return list(dict.fromkeys(found))

    return site.keep("met names", read)
