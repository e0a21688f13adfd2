"""The split of each row of a published table. Rows of one game are all in the same split."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bgdata.publishing.contents import TEST, TRAIN
from bgdata.publishing.shards import Source, row_groups
from bgdata.selfplay.splits import SPLITS, splits_of_games
from bgdata.store.dataset import Dataset, TableShape
from bgdata.store.parameters import Parameters
from bgdata.training.feed import REFERENCE, is_benchmark

SPLIT, GAME, POSITION = "split", "game", "position_id"


def split_source(kind: Dataset[Any], parameters: Parameters, shape: TableShape, paths: Sequence[Path]) -> Source:
    """Return a table to publish, with the split of each row. A column `split` decides, if there is one. If the rows
    belong to games that were played with a seed, a game has the same split as in training. Decisions and positions on
    which players are scored are all in `test`. Any other table has only the split `train`, which hubs use for a table
    without splits."""
    names = [column.name for column in shape.columns]
    if SPLIT in names:
        return _by_column(shape, paths)
    seed = getattr(parameters, "seed", None)
    if shape.key[0] == GAME and isinstance(seed, int) and not kind.takes_files:
        games = [group[GAME].to_numpy() for group in row_groups(paths, [GAME])]
        return _source(shape, paths, splits_of_games(seed, np.concatenate(games)) if games else None, SPLITS)
    is_test = is_benchmark(kind) or REFERENCE in kind.tags
    return Source(shape, paths, (TEST if is_test else TRAIN,))


def column_in_one_split(shape: TableShape) -> str:
    """Return the column whose values must never occur in two splits of a table: the game, or else the position; empty
    if the table has neither."""
    names = [column.name for column in shape.columns]
    return GAME if shape.key[0] == GAME else POSITION if POSITION in names else ""


def _by_column(shape: TableShape, paths: Sequence[Path]) -> Source:
    """Return a table to publish, with the splits in its column `split`. The splits of training come first."""
    found = [np.asarray(group[SPLIT].combine_chunks().cast("string")) for group in row_groups(paths, [SPLIT])]
    texts = np.concatenate(found) if found else np.array([], object)
    names, codes = np.unique(texts.astype(str), return_inverse=True)
    order = sorted(range(len(names)), key=lambda place: (_rank(str(names[place])), str(names[place])))
    places = np.argsort(np.array(order, np.intp))
    return _source(shape, paths, places[codes].astype(np.uint8), [str(names[place]) for place in order])


def _rank(name: str) -> int:
    return SPLITS.index(name) if name in SPLITS else len(SPLITS)


def _source(shape: TableShape, paths: Sequence[Path], codes: Any, names: Sequence[str]) -> Source:
    """Return a table to publish, whose rows have the splits `names[codes]`. Splits without rows are left out."""
    if codes is None or not len(codes):
        return Source(shape, paths, (TRAIN,))
    there = np.unique(codes)
    chosen = [names[code] for code in there.tolist()]
    if len(chosen) == 1:
        return Source(shape, paths, chosen)
    return Source(shape, paths, chosen, np.searchsorted(there, codes).astype(np.uint8))
