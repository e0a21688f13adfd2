"""Versions with labels, written directly into a warehouse: the parts that a feed reads are valid, the rest is empty."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bgdata.game.board_kernels import position_classes
from bgdata.game.codec import Boards
from bgdata.selfplay.splits import splits_of_games
from bgdata.store.arrays import Array, save_array, values_digest
from bgdata.store.manifest import FileEntry, Manifest
from bgdata.store.storage import sha256_file
from bgdata.training.feed.feed import Feed
from bgdata.training.feed.rows import Batch
from bgdata.warehouse import Warehouse
from tests.random_games import random_game_positions

GNUBG_LABELS = "gnubg_training/contact"
ROLLOUT_LABELS = "rollout_labels/some"


def small_block_feed(warehouse: Warehouse, kind: Any = GNUBG_LABELS, **options: Any) -> Feed:
    """A feed that reads 100 rows at a time, and keeps 300 of them in memory."""
    feed = warehouse.batches(kind, **{"batch_size": 64, **options})
    recipe = replace(feed.recipe, block_rows=100, pool_blocks=3)
    return Feed(warehouse, recipe, begin=feed.begin, epochs=feed.epochs)


def row_numbers(batches: Iterable[Batch]) -> list[int]:
    """The row numbers in all batches, in order."""
    return [row for batch in batches for row in batch.rows.tolist()]


def assert_equal_batches(batches: Iterable[Batch], expected: Iterable[Batch]) -> None:
    """Check that batches are equal to the last bit."""
    for batch, expected_batch in zip(batches, expected, strict=True):
        for name, values in batch._asdict().items():
            assert np.array_equal(values, getattr(expected_batch, name)), name


def sample_boards(games: int, seed: int = 1) -> Boards:
    """Different positions from random games, as boards."""
    return np.unique(random_game_positions(games, seed).boards, axis=0)


@cache
def label_boards() -> Boards:
    """The boards of the version GNUBG_LABELS: some thousand positions."""
    return sample_boards(60)


def sample_chances(count: int) -> Array:
    """float32[count, 5]: different chances for each row."""
    win = (np.arange(1, count + 1) / (count + 1)).astype(np.float32)
    rest = np.minimum(win, 1 - win)
    return np.stack([win, rest / 2, rest / 8, rest / 4, rest / 16], axis=1).astype(np.float32)


def write_labels(
    root: Path, name: str, boards: Boards, chances: Array | None = None, games: Array | None = None, source: str = ""
) -> str:
    """Publish labelled positions as `kind/variant` of a warehouse, with the games of seed 5 if given; returns the
    version."""
    arrays = label_arrays(boards, chances)
    return write_version(root, name, arrays if games is None else arrays | split_arrays(games), source)


def label_arrays(boards: Boards, chances: Array | None = None) -> dict[str, Array]:
    """The arrays of a version of labelled positions."""
    return {
        "boards": boards,
        "chances": sample_chances(len(boards)) if chances is None else chances,
        "classes": position_classes(np.ascontiguousarray(boards)).astype(np.uint8),
    }


def split_arrays(games: Array) -> dict[str, Array]:
    """The arrays that say that rows belong to these games of seed 5."""
    return {"games": games, "splits": splits_of_games(5, games)}


def write_benchmark(root: Path, name: str, decisions: Boards, plays: Boards) -> str:
    """Publish a benchmark: positions before the roll, and positions after plays, the opponent on roll."""
    return write_version(root, f"gnubg_benchmark/{name}", {"decisions_boards": decisions, "plays_boards": plays})


def write_version(
    root: Path, name: str, arrays: Mapping[str, Array], source: str = "", recipe: Mapping[str, Any] | None = None
) -> str:
    """Publish arrays as a version of `kind/variant` with the parameters of a recipe; returns its name."""
    digest = values_digest(arrays)
    folder = root / name / f"r1-{digest[:8]}"
    folder.mkdir(parents=True)
    for array, values in arrays.items():
        save_array(folder / f"{array}.npy", values)
    kind, variant = name.split("/")
    Manifest(
        dataset=kind,
        variant=variant,
        revision=1,
        parameters=dict(recipe or {"seed": 5}),
        recipe_key="0" * 64,
        digest=digest,
        inputs={"source": source} if source else {},
        raw_files=[],
        warnings=[],
        rows=len(next(iter(arrays.values()))),
        files=[file_entry(folder / f"{array}.npy") for array in arrays],
        statistics={},
        licence="",
        source="",
        kernel_fingerprint="",
        software={},
        source_commit="",
        created=f"{len(list(folder.parent.iterdir())):04}",  # later ones are current
        seconds=0,
        peak_memory_bytes=0,
        machine="",
    ).save(folder)
    return f"{name}/{folder.name}"


def replace_array(root: Path, version: str, name: str, values: Array) -> None:
    """Write other values into a file of a version, as if it were damaged."""
    path = root / version / f"{name}.npy"
    path.unlink()
    save_array(path, values)


def file_entry(path: Path) -> FileEntry:
    """The entry for a file in a manifest."""
    return FileEntry(path.name, path.stat().st_size, sha256_file(path))
