"""Small random networks written as versions of a warehouse, for tests of players and commands."""

from itertools import pairwise
from pathlib import Path

import numpy as np

from bgdata.evaluation.answers import NETWORK_CLASSES
from bgdata.evaluation.networks.inference import OUTPUTS, SIZES, Networks
from bgdata.evaluation.networks.input_sets import InputSet
from bgdata.evaluation.networks.inputs import input_count
from bgdata.kernel import read_only
from bgdata.store.arrays import save_array
from bgdata.store.manifest import Manifest

INPUT_SETS = (InputSet.RACE, InputSet.TESAURO_198, InputSet.CONTACT)
HIDDEN = ((6, 4), (5,), (7,))
# weights of points and bars: pips of the opponent minus ours, 4.0 per 100
_PER_CHECKER = np.array([1, 1, 1, 2])
LEAD = 160 * np.concatenate(
    [*(np.concatenate([-point * _PER_CHECKER, (25 - point) * _PER_CHECKER]) for point in range(1, 25)), [-50, 50]]
)


def random_networks(seed: int) -> Networks:
    """A race network of two hidden layers, and crashed and contact networks of one, each with other inputs. Weights are
    random, except that the first unit of every layer indicates the leader of the race, so that games end."""
    generator = np.random.default_rng(seed)
    shapes = np.zeros((len(NETWORK_CLASSES), SIZES + 3), np.int64)
    weights: list[np.ndarray] = []
    biases = 0
    for row, input_set, hidden in zip(shapes, INPUT_SETS, HIDDEN, strict=True):
        sizes = [*hidden, OUTPUTS]
        start = sum(values.size for values in weights)
        row[: SIZES + len(sizes)] = [input_set, input_count(input_set), start, biases, 0, len(sizes), *sizes]
        layers = [generator.integers(-800, 801, size) for size in pairwise([input_count(input_set), *sizes])]
        layers[0][: len(LEAD), 0] = LEAD
        for layer in layers[1:]:
            layer[0, 0] = 8000
        weights += [layers[0], *(layer.T for layer in layers[1:])]  # [input, unit], then [unit, unit below]
        biases += sum(sizes)
    return Networks(
        read_only(shapes),
        read_only(np.concatenate([values.ravel() for values in weights]).astype(np.int16)),
        read_only(generator.integers(-(1 << 16), 1 << 16, biases).astype(np.int32)),
    )


def write_network(root: Path, name: str, networks: Networks) -> Path:
    """Publish networks as network/<name> of a warehouse; returns the folder of the version."""
    folder = root / "network" / name / "r1-0123abcd"
    folder.mkdir(parents=True)
    for array, values in networks._asdict().items():
        save_array(folder / f"{array}.npy", values)
    manifest(name).save(folder)
    return folder


def manifest(name: str) -> Manifest:
    """Fields that a player reads are valid; others are empty or 0."""
    return Manifest(
        dataset="network",
        variant=name,
        revision=1,
        parameters={},
        recipe_key="0" * 64,
        digest="0123abcd" + "0" * 56,
        inputs={},
        raw_files=[],
        warnings=[],
        rows=0,
        files=[],
        statistics={"points_per_game": 0.25, "standard_error": 0.0125},
        licence="",
        source="",
        kernel_fingerprint="",
        software={},
        source_commit="",
        created="",
        seconds=0,
        peak_memory_bytes=0,
        machine="",
    )
