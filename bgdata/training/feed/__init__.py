"""The feed: batches of labelled positions, in an order that follows from a recipe alone.

This module says which kinds the feed takes, and is quick to import."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bgdata.store.dataset import Dataset

REFERENCE = "reference"  # tag of kinds whose positions, with chances, serve to measure players
LABELS = {"boards", "chances", "classes"}  # arrays of every kind that can be trained on
DECISIONS = {"decisions_boards", "plays_boards"}  # arrays of every kind that players are scored on


def is_labelled(kind: Dataset[Any]) -> bool:
    """Return whether networks can be trained on the rows of a kind: its main table has a `board` for each row of the
    array `boards`."""
    return REFERENCE not in kind.tags and {array.name for array in kind.arrays} >= LABELS


def is_benchmark(kind: Dataset[Any]) -> bool:
    """Return whether a kind contains benchmarks on which players are scored. The positions in its arrays `...boards`
    are left out of training."""
    return REFERENCE in kind.tags or {array.name for array in kind.arrays} >= DECISIONS
