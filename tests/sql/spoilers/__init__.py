"""For each SQL check, damage that it must find: a module for each topic."""

from __future__ import annotations

from tests.sql.spoilers import bearoffs, benchmarks, corpora, labels, learning, matches
from tests.sql.spoilers.spoiler import Spoiler

SPOILERS: dict[str, list[Spoiler]] = {
    check: spoilers
    for topic in (bearoffs, benchmarks, corpora, labels, learning, matches)
    for check, spoilers in topic.SPOILERS.items()
}
