"""Networks opened from a version, mapped; arrays that kernels would misread are refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bgdata.errors import CorruptFileError, MissingTableError
from bgdata.evaluation.answers import NETWORK_CLASSES, evaluations
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.encoder import Encoder
from bgdata.evaluation.network import NETWORKS, check_networks, open_networks
from bgdata.evaluation.network_kernels import NO_NETWORKS, Networks
from bgdata.play.random_games import random_game_positions
from bgdata.store.arrays import Array, save_array
from bgdata.store.table import Table
from tests.evaluation.networks import SHAPES, pips_networks, random_networks


def write(folder: Path, networks: Networks) -> Table:
    """A folder with the arrays of a version, and nothing else."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, values in networks._asdict().items():
        save_array(folder / f"{name}.npy", values)
    return Table(folder)


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_opened_networks_are_those_saved(tmp_path: Path, number: int) -> None:
    networks = random_networks(number)
    found = open_networks(write(tmp_path / "network" / "some" / "r1", networks))
    for opened, saved in zip(found, networks, strict=True):
        assert np.array_equal(opened, saved)
        assert not opened.flags.writeable
        assert not opened.flags.owndata  # mapped
    boards = random_game_positions(3, seed=2).boards
    answers, expected = evaluations(found, NO_TABLES, boards), evaluations(networks, NO_TABLES, boards)
    assert np.array_equal(answers.chances, expected.chances)
    assert len(NETWORK_CLASSES) == NETWORKS


def test_hand_made_networks_are_whole() -> None:
    check_networks(pips_networks(), "pips")


def shape(which: int, column: int, value: int) -> Callable[[Networks], Networks]:
    """A changed number in the shapes."""

    def change(networks: Networks) -> Networks:
        shapes = networks.shapes.copy()
        shapes[which, column] = value
        return networks._replace(shapes=shapes)

    return change


def replaced(name: str, change: Callable[[Array], Array]) -> Callable[[Networks], Networks]:
    """A changed array."""
    return lambda networks: networks._replace(**{name: change(getattr(networks, name))})


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (replaced("weights", lambda w: w[:-1]), "expected 6143 weights and 53 biases in .*, found 6142 and 53"),
        (replaced("weights", lambda w: np.append(w, w[:1])), "expected 6143 weights .*, found 6144 and 53"),
        (replaced("biases", lambda b: b[:-5]), "expected 6143 weights and 53 biases in .*, found 6143 and 48"),
        (
            replaced("weights", lambda w: w.astype(np.int32)),
            r"expected weights of .* as int16 of 1 axes, found int32\[",
        ),
        (replaced("weights", lambda w: w.astype(">i2")), r"expected weights of .* as int16 of 1 axes, found >i2\["),
        (replaced("weights", lambda w: w.reshape(1, -1)), r"expected weights of .*, found int16\[1, 6143\]"),
        (
            replaced("biases", lambda b: b.astype(np.float32)),
            r"expected biases of .* as int32 of 1 axes, found float32",
        ),
        (replaced("shapes", lambda s: s.ravel()), r"expected shapes of .* as int64 of 2 axes, found int64\[27\]"),
        (replaced("shapes", lambda s: np.asfortranarray(s)), r"expected shapes of .* as int64 of 2 axes"),
        (replaced("shapes", lambda s: s[:2]), r"expected 3 networks in the shapes of .*, found \[2, 9\]"),
        (replaced("shapes", lambda s: s[:, :6].copy()), r"expected 3 networks in the shapes of .*, found \[3, 6\]"),
        (shape(0, 0, 4), "expected an encoder from 0 to 3 in network 0 of .*, found 4"),
        (shape(2, 0, -1), "expected an encoder from 0 to 3 in network 2 of .*, found -1"),
        (shape(1, 0, Encoder.RACE), "expected 256 inputs for the encoder race in network 1 of .*, found 196"),
        (shape(0, 1, 255), "expected 256 inputs for the encoder race in network 0 of .*, found 255"),
        (shape(0, 2, 1), "expected network 0 of .* at weight 0 and bias 0, found 1 and 0"),
        (shape(1, 2, 1581), "expected network 1 of .* at weight 1580 and bias 15, found 1581 and 15"),
        (shape(2, 3, -1), "expected network 2 of .* at weight 4796 and bias 36, found 4796 and -1"),
        (shape(0, 4, 1), "expected at least 2 layers in network 0 of .*, the last of 5 units, found 1 layers"),
        (shape(2, 4, 5), r"expected at least 2 layers in network 2 of .*, found 5 layers of \[5, 3, 4, 5\]"),
        (shape(0, 4, -1), "expected at least 2 layers in network 0 of .*, found -1 layers"),
        (shape(1, 6, 6), r"expected at least 2 layers .*, the last of 5 units, found 2 layers of \[16, 6, 0, 0\]"),
        (shape(1, 5, 0), r"expected at least 2 layers .*, found 2 layers of \[0, 5, 0, 0\]"),
        (shape(1, 5, -16), r"expected at least 2 layers .*, found 2 layers of \[-16, 5, 0, 0\]"),
        (shape(1, 7, 3), r"expected at least 2 layers .*, found 2 layers of \[16, 5, 3, 0\]"),
        (shape(1, 5, 17), "expected network 2 of .* at weight 4997 and bias 37, found 4796 and 36"),
        (shape(2, 5, 6), "expected .* weights and 54 biases in .*, found 6143 and 53"),
        (lambda _: NO_NETWORKS, r"expected 3 networks in the shapes of .*, found \[3, 6\]"),
    ],
)
def test_damage_is_found(damage: Callable[[Networks], Networks], message: str) -> None:
    with pytest.raises(CorruptFileError, match=f"^{message}") as error:
        check_networks(damage(random_networks(1)), "network/tiny/r1")
    assert "network/tiny/r1" in str(error.value)
    assert "\n" not in str(error.value)


def test_files_that_are_damaged_or_missing(tmp_path: Path) -> None:
    table = write(tmp_path / "network" / "some" / "r1", random_networks(0))
    data = (table.folder / "weights.npy").read_bytes()
    (table.folder / "weights.npy").write_bytes(data[:-2])
    with pytest.raises(CorruptFileError, match=r"expected .*weights\.npy"):
        open_networks(Table(table.folder))
    (table.folder / "weights.npy").unlink()
    with pytest.raises(MissingTableError, match=r"expected the array .*weights\.npy, found no such file"):
        open_networks(Table(table.folder))
