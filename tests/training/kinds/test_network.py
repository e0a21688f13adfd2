"""Networks as a dataset: the same digest everywhere, also after a kill, and a verification that finds damage."""

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import bgdata
from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.errors import (
    BgdataError,
    CheckFailedError,
    CorruptFileError,
    InvalidNameError,
    InvalidParameterError,
    MissingTableError,
)
from bgdata.evaluation.networks.inference import FIRST_SUM
from bgdata.evaluation.networks.player import find_network, open_networks
from bgdata.evaluation.players import SHIPPED
from bgdata.kernel import read_only, threads
from bgdata.store import job
from bgdata.store.parameters import VersionRef
from bgdata.store.progress import Silence
from bgdata.store.table import Table
from bgdata.training.kinds import network_compute as network
from bgdata.training.kinds.network import DATASET, NetworkParameters
from bgdata.training.kinds.network_compute import open_network_version
from bgdata.warehouse import Warehouse
from tests.contract.kinds import Corrupted, smallest_version
from tests.rechecking import check_sample, inputs_of

SMALLEST = DATASET.smallest
COLUMNS = [column.name for column in DATASET.columns]
# of SMALLEST on any machine; if it changes, raise the revision
DIGEST = "5d687a21681ac2f472fe8727b8bce2f3afe2bdb485a04116c7f646939d96df2f"


def test_digest_is_the_same_on_one_thread_and_after_a_kill(
    warehouse_with_bearoffs: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "CHECKPOINT_SECONDS", 0.0)
    with threads(1):
        with pytest.raises(KeyboardInterrupt):  # in the middle of a row of the curve
            warehouse_with_bearoffs.build(DATASET.name, SMALLEST, progress=Killer(rounds=3))
        progress = Killer(rounds=99)
        assert warehouse_with_bearoffs.build(DATASET.name, SMALLEST, progress=progress).manifest.digest == DIGEST
    assert "going on with network/tiny after step 3 of 4" in progress.notes
    assert [note.partition(":")[0] for note in progress.notes if "PubEval" in note] == ["400 games"]


class Killer(Silence):
    """Progress that stops a build when the report of its first `rounds` rounds is saved, and records notes."""

    def __init__(self, rounds: int) -> None:
        self.left, self.notes = rounds, list[str]()

    def advance(self, count: int) -> None:
        if count == SMALLEST.round_games:
            if self.left == 0:
                raise KeyboardInterrupt
            self.left -= 1

    def note(self, text: str) -> None:
        self.notes.append(text)


def test_rows_equal_the_curve(small_root: Path) -> None:
    table = smallest_version(small_root, DATASET)
    with duckdb.connect() as connection:
        rows = connection.sql(f"from '{table.parquet}'")
        assert rows.columns == COLUMNS
        curve = [list(row) for row in rows.fetchall()]
    assert curve == table.array("curve").tolist()
    assert [games for games, *_ in curve] == [200, 400]
    assert table.manifest.statistics == dict(zip(COLUMNS, curve[-1], strict=True))


def test_networks_have_the_sizes_of_the_parameters(small_root: Path) -> None:
    table = smallest_version(small_root, DATASET)
    networks = open_networks(table)
    assert networks.shapes.tolist() == [
        [2, 256, 0, 0, 0, 3, 8, 4, 5],
        [3, 260, 2100, 17, 0, 2, 8, 5, 0],
        [3, 260, 4220, 30, 0, 2, 8, 5, 0],
    ]
    assert table.array("shapes")[0].tolist() == [2, 256, 0, 0, 3, 8, 4, 5]  # logistic: without their activation
    for weights in np.split(np.asarray(networks.weights), [2100, 4220]):  # race, crashed, contact
        assert weights.any()


@pytest.mark.parametrize(
    ("games", "round_games", "row_games", "rounds", "rounds_per_row", "rows"),
    [(400, 100, 200, 4, 2, 2), (401, 100, 200, 5, 2, 3), (1000, 300, 700, 4, 2, 2), (50, 100, 20_000, 1, 200, 1)],
)
def test_rows_and_rounds_cover_all_games(
    games: int, round_games: int, row_games: int, rounds: int, rounds_per_row: int, rows: int
) -> None:
    parameters = NetworkParameters(games=games, round_games=round_games, row_games=row_games)
    DATASET.check_parameters(parameters)
    assert parameters.rounds == rounds
    assert parameters.rounds_per_row == rounds_per_row
    assert parameters.rows == rows
    assert DATASET.estimate(parameters).rows == rows


def test_estimate_of_the_longest_run_counts_its_curve() -> None:
    longest = NetworkParameters(games=1 << 30, round_games=1, row_games=1)
    bytes_per_round = 72  # a row of the curve, and a round
    assert DATASET.estimate(longest).memory_bytes > (1 << 30) * bytes_per_round


def test_inputs_depend_on_the_tables() -> None:
    assert set(DATASET.inputs(SMALLEST)) == {"two_sided", "one_sided", "gammon"}
    assert DATASET.inputs(SMALLEST.with_changes({"tables": False})) == {
        "two_sided": ("bearoff_two_sided", TwoSidedParameters(6, 6))
    }
    assert DATASET.inputs(SMALLEST)["gammon"] == ("bearoff_gammon", RaceParameters(6))


def corrupted(table: Table, array: str, place: Any, value: Any) -> Corrupted:
    values = np.array(table.array(array))
    values[place] = value(values[place]) if callable(value) else value
    return Corrupted(table, array, read_only(values))


@pytest.mark.parametrize(
    ("array", "place", "value", "message"),
    [
        ("weights", 192 + 4, lambda w: w + 40, "expected a bearoff_error of .* in the last row of .*, found 0.53"),
        ("curve", (1, 7), 0.5310867, "expected a bearoff_error of 0.531086.* in the last row of .*, found 0.5310867"),
        ("curve", (1, 7), np.nan, "expected a bearoff_error of .*, found nan"),
        ("curve", (1, 5), -2.1, r"expected -2\.1500 points per game within 0\.0000, as in the first 20 test games, .*"),
        ("curve", (1, 5), np.nan, r"expected -2\.1500 points per game .*, found \+nan"),
        (
            "curve",
            (0, 0),
            201,
            r"expected games \[200, 400\] and their rates in the curve of .*, found \[\[201\.0, 0\.1\]",
        ),
        ("curve", (1, 1), 0.11, r"expected games .* found .*\[400\.0, 0\.11\]"),
        ("biases", 30, lambda bias: bias + FIRST_SUM, "expected .* points per game within 0.0000"),  # contact
        ("weights", slice(-40, None), np.negative, "expected .* points per game within 0.0000"),  # its last layer
    ],
)
def test_check_finds_changed_values(small_root: Path, array: str, place: Any, value: Any, message: str) -> None:
    table = smallest_version(small_root, DATASET)
    inputs = inputs_of(bgdata.open_warehouse(small_root), DATASET, SMALLEST)
    with pytest.raises(CheckFailedError, match=message) as error:
        check_sample(DATASET, corrupted(table, array, place, value), inputs, 50, np.random.default_rng(0))
    assert table.name in str(error.value)


def test_some_test_games_have_a_margin(small_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "MIN_GAMES", 10)
    table = smallest_version(small_root, DATASET)
    inputs = inputs_of(bgdata.open_warehouse(small_root), DATASET, SMALLEST)
    check_sample(DATASET, table, inputs, 1, np.random.default_rng(0))
    check_sample(DATASET, corrupted(table, "curve", (1, 5), -2.1), inputs, 1, np.random.default_rng(0))
    with pytest.raises(
        CheckFailedError, match=r"points per game within 1\.\d*, as in the first 10 test games, .* \+1\.0000$"
    ):
        check_sample(DATASET, corrupted(table, "curve", (1, 5), 1.0), inputs, 1, np.random.default_rng(0))


def test_check_refuses_networks_of_unknown_inputs(small_root: Path) -> None:
    table = smallest_version(small_root, DATASET)
    inputs = inputs_of(bgdata.open_warehouse(small_root), DATASET, SMALLEST)
    with pytest.raises(
        CorruptFileError, match=r"expected networks that bgdata can read in .*: 260 of input set 9; try: bgdata verify"
    ):
        check_sample(DATASET, corrupted(table, "shapes", (2, 0), 9), inputs, 1, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"games": 0}, InvalidParameterError, "expected games of at least 1, got 0"),
        ({"row_games": 99}, InvalidParameterError, "expected at least 100 games a row and 4 test games, got 99 and 20"),
        ({"games": 10**12}, InvalidParameterError, "expected up to 1,073,741,824 games, got 1000000000000"),
        ({"test_games": 1 << 31}, InvalidParameterError, "expected up to 1,073,741,824 games, got 2147483648"),
        ({"test_games": 3}, InvalidParameterError, "expected at least 100 games a row and 4 test games, got 200 and 3"),
        ({"name": "Tiny"}, InvalidParameterError, "expected a name of small letters, digits and -, got 'Tiny'"),
        ({"name": ""}, InvalidParameterError, "expected a name of small letters, digits and -, got ''"),
        ({"name": "../up"}, InvalidParameterError, "expected a name of small letters, digits and -, got '../up'"),
        ({"name": "my--net"}, InvalidNameError, "expected a variant named by .*, got 'my--net'"),
        ({"name": "-net"}, InvalidNameError, "expected a variant named by .*, got '-net'"),
        ({"name": "net-"}, InvalidNameError, "expected a variant named by .*, got 'net-'"),
        ({"name": 201 * "n"}, InvalidNameError, "expected a variant named by .* at most 200 of them, got 'nnn.*"),
    ],
)
def test_invalid_parameters_are_refused(
    memory_path: Path, change: dict[str, Any], error: type[BgdataError], message: str
) -> None:
    warehouse = bgdata.open_warehouse(memory_path / "warehouse")
    with pytest.raises(error, match=f"^{message}$"):
        warehouse.build(DATASET.name, SMALLEST.with_changes(change))
    assert not warehouse.root.exists()


def test_too_high_rate_builds_nothing(warehouse_with_bearoffs: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NetworkParameters, "learning_rate_at", lambda *_: 1e38)
    with pytest.raises(
        CheckFailedError,
        match=r"^expected finite weights after 0 games, found others; try a learning rate below 0\.1$",
    ):
        warehouse_with_bearoffs.build(DATASET.name, SMALLEST)
    assert list(warehouse_with_bearoffs.versions(DATASET.name)) == []


def test_unbuilt_start_comes_from_the_package(tmp_path: Path) -> None:
    """A copy of a shipped network can be verified in a warehouse without the networks that it started from."""
    warehouse = bgdata.open_warehouse(tmp_path)
    table = find_network("network", warehouse)
    kind, variant, version = table.manifest.dataset, *table.folder.parts[-2:]
    place = VersionRef(kind, variant, version)
    assert open_network_version(place, None, warehouse).folder == SHIPPED / variant / version
    assert open_network_version(place, table, warehouse) is table
    for other in (
        VersionRef("network" if kind != "network" else "supervised_network", variant, version),
        VersionRef(kind, variant, "r1-00000000"),
        VersionRef(kind, "nothing", version),
    ):
        with pytest.raises(MissingTableError, match=r"no .* in .* \(have: none\)"):
            open_network_version(other, None, warehouse)
