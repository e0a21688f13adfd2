"""Writes the files that describe a published folder."""

from __future__ import annotations

from bgdata.publishing.card import card_text
from bgdata.publishing.contents import CARD
from bgdata.publishing.croissant import croissant
from bgdata.publishing.lineage import lineage_events
from bgdata.publishing.package import data_package
from bgdata.publishing.published_folder import PublishedFolder

PACKAGE, CROISSANT, LINEAGE = "datapackage.json", "croissant.json", "openlineage.jsonl"


def describe(published: PublishedFolder) -> dict[str, bytes]:
    """The content of each file that describes a published folder, by file name. The same contents give the same
    bytes."""
    return {
        CARD: card_text(published).encode(),
        PACKAGE: data_package(published),
        CROISSANT: croissant(published),
        LINEAGE: lineage_events(published),
    }
