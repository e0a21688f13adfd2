"""Tests that the kinds of games, labels and rollouts share: invalid parameters are refused, killed builds resume, and
changed values are found."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib import import_module
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.errors import CorruptFileError, InvalidParameterError, MissingTableError
from bgdata.formats.lines import read_bytes, split_lines
from bgdata.formats.position_files import training_rows
from bgdata.kinds import all_kinds
from bgdata.selfplay.kinds.rollout_labels import DATASET, RolloutLabelParameters
from bgdata.selfplay.kinds.shared.rollouts_compute import open_roller
from bgdata.selfplay.kinds.training_games import StartShare
from bgdata.selfplay.rollout import Limits, RolloutSettings, roll_out
from bgdata.store.dataset import Context
from bgdata.store.parameters import Given, VersionRef
from bgdata.warehouse import Warehouse
from bgdata.warehouse.commands.export import write_text
from tests.contract.kinds import smallest_version
from tests.kept import own
from tests.rechecking import inputs_of
from tests.store.sharing import Elsewhere, hide_from_workers
from tests.store.toy import Notes
from tests.subtests import each

Cases = list[tuple[dict[str, Any], str]]  # changed parameters, and the error after "expected"
SEED = r"a seed from 0 to 2\^63 - 1, got -1$"
EVEN_GAMES = "an even number of at least 4 games, got"
NO_POSITIONS = "a table of positions, such as positions/NAME, got"
ROLLED_OUT = VersionRef("rollout_labels", "x", "r1-01234567")
DOUBTFUL = (StartShare("doubtful"),)
OF_ROLLOUTS: Cases = [
    ({"trials": 100}, "a multiple of 36 trials"),
    ({"until": -1.0}, "a standard error above 0"),
    ({"most_trials": 100}, "most trials to be a multiple of 72"),
    ({"stop": "never"}, "a rollout to stop at one of"),
    ({"turns": -1}, "0 turns"),
    ({"network": "../x"}, "the name of a network"),
    ({"seed": -1}, "a seed"),
]
OF_LABELS: Cases = [
    ({"source": VersionRef("nothing", "x")}, f"{NO_POSITIONS} nothing/x"),
    ({"source": VersionRef("bearoff_error", "3x3")}, "a table of positions"),
    (
        {"source": ROLLED_OUT, "source_recipe": Given()},
        f"the table whose positions {ROLLED_OUT} rolled out, got rollout",
    ),
    ({"network": "../x"}, "the name of a network"),
]
OF_CORPORA: Cases = [
    ({"games": 0}, "1 to 1,073,741,824 games, got 0$"),
    ({"player": "x"}, "the player network, .*, got 'x'$"),
]
OF_SCORES: Cases = [
    ({"games": 2}, f"{EVEN_GAMES} 2$"),
    ({"games": 7}, f"{EVEN_GAMES} 7$"),
    ({"games": 1 << 31}, r"fewer than 2\^31 games, got 2147483648$"),
    ({"seed": -1}, SEED),
    ({"player": "a/b"}, "the name of a player, got 'a/b'$"),
    ({"opponent": ""}, "the name of a player, got ''$"),
]
INVALID_PARAMETERS: dict[str, Cases] = {
    "game_scores": [
        *OF_SCORES,
        ({"version": "1"}, "version 2 of pubeval, as it plays here, got 1$"),
        ({"opponent_version": "9"}, "version 1 of random, as it plays here, got 9$"),
    ],
    "cubeful_scores": [
        *OF_SCORES,
        ({"length": 26}, "a match length of 1 to 25 points, or 0 for money, got 26"),
        ({"length": -1}, "a match length"),
    ],
    "referee_scores": [
        ({"decisions": 1}, "2 to 16,777,216 decisions, got 1$"),
        ({"seed": -1}, SEED),
        ({"player": "a/b"}, "the name of a player, got 'a/b'$"),
        ({"version": "1"}, "version 2 of pubeval, as it plays here, got 1$"),
    ],
    "selfplay": [
        *OF_CORPORA,
        ({"seed": -1}, SEED),
        ({"player": "network/../x"}, "the player network, network/NAME, pubeval or random, got 'network/../x'$"),
        ({"version": "1"}, "version 2 of pubeval, as it plays here, got 1$"),
        ({"version": ""}, "version 2 of pubeval, as it plays here, got none$"),
        ({"player": "network"}, "no version of network, got '2'$"),
        ({"luck": 2}, "luck of type bool, got 2$"),
    ],
    "selfplay_labels": [
        *OF_CORPORA,
        ({"points": 0}, "1 to 18 points and 1 to 15 checkers, got 0 points and 6"),
        ({"checkers": 16}, "1 to 18 points and 1 to 15 checkers, got 6 points and 16"),
        ({"one_sided_points": -1}, "1 to .* points, got .*-1"),
    ],
    "position_sample": [*OF_CORPORA, ({"most": 0}, "at least 1 position of each class, got 0$")],
    "play_sample": [
        *OF_CORPORA,
        ({"most": 0}, "at least 1 turn of each class, got 0"),
        ({"classes": ()}, "some of contact crashed race in this order, got none"),
        ({"classes": ("race", "contact")}, "some of contact crashed race in this order, got race contact"),
        ({"classes": ("contact", "over")}, "some of contact crashed race in this order, got contact over"),
        ({"plays": 0}, "1 to 20 plays of a turn, got 0"),
        ({"plays": 21}, "1 to 20 plays of a turn, got 21"),
        ({"within": nan}, "plays within 0 to 6 points, got nan"),
        ({"within": -0.1}, "plays within 0 to 6 points, got -0.1"),
        ({"network": "No One"}, "the name of a network, got 'No One'"),
    ],
    "rollout_decisions": [
        *OF_CORPORA,
        *OF_ROLLOUTS[:-1],  # the seed is called sample_seed here
        ({"position_class": "bearoff"}, "a class of contact, crashed, race, got bearoff"),
        ({"decisions": 0}, "at least 1 decision"),
        ({"sample_seed": -1}, "at least 1 decision and a seed from 0"),
        ({"within": -1.0}, "a window of 0 points or more"),
        ({"within": nan}, "a window of 0 points or more"),
        ({"most_plays": 1}, "a window of 0 points or more and 1 <= least <= most plays"),
        ({"settled_at": 0.0}, "plays settled at more than 0 standard errors, got 0.0"),
        ({"settled_at": nan}, "plays settled at more than 0 standard errors, got nan"),
    ],
    "rollout_labels": [
        *OF_ROLLOUTS,
        *OF_LABELS[:2],
        (
            {"source": VersionRef("selfplay", "x", "r1-01234567")},
            "a table of positions, .* got selfplay/x/r1-01234567, which holds turns of games; try: ",
        ),
    ],
    "lookahead_labels": [
        *OF_LABELS,
        ({"source": VersionRef("position_sample", "x")}, "a default variant of position_sample, or parameters beside"),
        ({"source_recipe": Given((("colour", 1),))}, "the parameters .* for position_sample/"),
        (
            {"source_recipe": Given.of(all_kinds()["position_sample"].parameters().to_json())},
            "parameters of position_sample/.*, got those of network",
        ),
        ({"least_change": -1.0}, "a least change of 0 to 6 points, got -1"),
        ({"least_change": nan}, "a least change of 0 to 6 points, got nan"),
    ],
    "bearoff_labels": [
        ({"points": 0}, "1 to 12 points, got 0"),
        ({"points": 13}, "1 to 12 points, got 13"),
        ({"table_points": 0}, "1 to .* points and 1 to 15 checkers, got 0 points and 3 checkers"),
        ({"table_checkers": 0}, "1 to .* points and 1 to 15 checkers, got 3 points and 0 checkers"),
        ({"table_points": 13}, "1 to 12 points, got 13"),
        ({"table_checkers": 16}, ".* 1 to 15 checkers"),
        ({"pairs": -1}, "0 to 268,435,456 pairs, got -1"),
        ({"exact_pairs": 1 << 29}, "0 to 268,435,456 exact pairs, got 536870912"),
        ({"seed": -1}, "a seed from 0"),
    ],
    "engine_labels": [
        *OF_LABELS,
        ({"engine": "xg"}, "an engine among gnubg, bgsage and network, got 'xg'"),
        ({"ply": -1}, "a ply of 0 to 4, got -1"),
        ({"ply": 5}, "a ply of 0 to 4, got 5"),
        ({"version": "1"}, "a version of a program, and none of a network, got '1' of network"),
        ({"engine": "gnubg"}, "a version of a program, and none of a network, got '' of gnubg"),
        ({"engine": "gnubg", "version": "1"}, "no network with the program gnubg, got tiny"),
        (
            {"engine": "gnubg", "version": "1", "network": "", "table_checkers": 6},
            "no table_points with the program gnubg, got 3",
        ),
    ],
    "reference_positions": [
        *OF_ROLLOUTS,
        ({"positions": 3}, "an even number of positions of each theme, from 2 to 1,048,576, got 3"),
        ({"positions": 0}, "an even number"),
        ({"most_games": 0}, "1 to 1,073,741,824 games, got 0"),
        ({"sources": ()}, "1 to 100 different sources, got"),
        ({"sources": ("random", "random")}, "1 to 100 different sources, got 'random random'"),
        ({"sources": ("gnubg",)}, r"a source of one player or two \(network, .*, got 'gnubg'"),
        ({"sources": ("network+pubeval+random",)}, "a source of one player or two"),
        ({"sources": ("network+",)}, "a source of one player or two"),
        ({"sources": ("network/tiny",)}, "a source of one player or two"),
    ],
    "training_games": [
        ({"name": "No Name"}, "a name of small letters, digits and -, got 'No Name'"),
        ({"games": 0}, "1 to 1,073,741,824 games, got 0"),
        ({"seed": -1}, r"a seed from 0 to 2\^62 - 1, got -1"),
        ({"likely": -1}, "1 to 21 likely plays of a roll, or 0 for all, got -1"),
        ({"likely": 22}, "1 to 21 likely plays of a roll, or 0 for all, got 22"),
        ({"overlooked": 1.5}, "overlooked from 0 to 1, got 1.5"),
        ({"td_lambda": nan}, "td_lambda from 0 to 1, got nan"),
        ({"starts": ()}, "starts of games, got none"),
        ({"starts": (StartShare("nowhere"),)}, "START:SHARE of opening, .*, got 'nowhere:1'"),
        ({"starts": (StartShare("opening", -1),)}, "START:SHARE of opening, .*, got 'opening:-1'"),
        ({"network": "../x"}, "the name of a network"),
        ({"starts": DOUBTFUL}, "a version training_games/.* begin as doubtful, .*, got none"),
        (
            {"doubts": VersionRef("training_games", "x", "r2-01234567")},
            "a version .* got training_games/x/r2-01234567$",
        ),
        (
            {"starts": DOUBTFUL, "doubts": VersionRef("training_games", "x")},
            "a version training_games/VARIANT/VERSION .* got training_games/x",
        ),
        (
            {"starts": DOUBTFUL, "doubts": VersionRef("selfplay", "x", "r1-01234567")},
            "a version training_games/VARIANT/VERSION .* got selfplay/x/r1-01234567",
        ),
    ],
}


@each(
    ("kind", "changes", "message"),
    [(kind, changes, message) for kind, cases in INVALID_PARAMETERS.items() for changes, message in cases],
)
def test_invalid_parameters_are_refused(memory_path: Path, kind: str, changes: dict[str, Any], message: str) -> None:
    warehouse = bgdata.open_warehouse(memory_path)
    declared = all_kinds()[kind]
    parameters = replace(declared.smallest, **changes)

    def check_and_build() -> None:
        declared.check_parameters(parameters)
        warehouse.build(kind, parameters)  # checks types, and player versions

    with pytest.raises(InvalidParameterError, match=f"^expected {message}"):
        check_and_build()
    assert warehouse.variants(kind) == []


class StopsEarly(Notes):
    """Progress that stops a build after its second shard."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.staging = root / ".staging"

    def advance(self, count: int) -> None:
        super().advance(count)
        if len(list(self.staging.glob("*/shards/*.npz"))) > 1:
            raise KeyboardInterrupt


@each(
    ("kind", "shard_size"),
    [
        ("game_scores", {"STEP": 10}),
        ("cubeful_scores", {"CUBEFUL_STEP": 6}),  # two matches to 3
        ("cubeful_selfplay", {"SHARD_CUBEFUL_GAMES": 3}),  # one match to 3
        ("lookahead_labels", {"STEP": 40}),
        ("engine_labels", {"STEP": 1}),
        ("rollout_labels", {"ROLLOUT_STEP": 1}),
        ("rollout_decisions", {}),
        ("reference_positions", {"STEP": 10}),
        ("reference_scores", {"STEP": 10}),
        ("reference_checks", {"STEP": 2}),
        ("selfplay_labels", {"SHARD_GAMES": 3}),
    ],
)
def test_resumed_builds_have_the_same_values(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, memory_path: Path, kind: str, shard_size: dict[str, int]
) -> None:
    """A build that is stopped and resumed, on machines without the warehouse and with other shard sizes, gives the same
    values."""
    parameters = all_kinds()[kind].smallest
    expected = smallest_version(warehouse.root, all_kinds()[kind]).manifest.digest
    for constant, size in shard_size.items():
        monkeypatch.setattr(import_module(type(all_kinds()[kind].computation).__module__), constant, size)
    with pytest.raises(KeyboardInterrupt):
        warehouse.build(kind, parameters, force=True, progress=StopsEarly(warehouse.root))
    hide_from_workers(monkeypatch, warehouse.root.resolve(), memory_path / "cache")
    notes = Notes()
    machines = Elsewhere(str(memory_path / "store"))
    table = warehouse.build(kind, parameters, force=True, progress=notes, executor=machines)
    assert table.manifest.digest == expected
    assert any(re.search(": 2 of [0-9]+ parts are there", text) for text in notes.texts)


@each("kind", ["lookahead_labels", "rollout_labels", "selfplay_labels"])
def test_labels_are_exported_as_training_data(small_root: Path, tmp_path: Path, kind: str) -> None:
    table = smallest_version(small_root, all_kinds()[kind])
    path = tmp_path / "contact-train-data"
    write_text(table, "gnubg-training", path)
    exported = training_rows(split_lines(read_bytes(path)))
    assert np.array_equal(exported.boards, table.array("boards"))
    assert exported.chances == pytest.approx(np.asarray(table.array("chances")), abs=1e-5)


@each("kind", ["lookahead_labels", "rollout_labels"])
def test_named_version_of_a_network_is_used(warehouse: Warehouse, kind: str) -> None:
    version = warehouse.open("network", "tiny").folder.name
    smallest = all_kinds()[kind].smallest
    table = warehouse.build(kind, replace(smallest, network_version=version))
    assert np.array_equal(table.array("chances"), smallest_version(warehouse.root, all_kinds()[kind]).array("chances"))
    with pytest.raises(MissingTableError, match="r1-00000000"):
        warehouse.build(kind, replace(smallest, network_version="r1-00000000"))


SMALLEST = DATASET.smallest


def test_rollout_rows_equal_rollouts(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    chooser = open_roller(Context(SMALLEST, inputs_of(warehouse, DATASET, SMALLEST), warehouse)).chooser
    boards = np.asarray(warehouse.open("positions", "sample").array("boards"))
    result = roll_out(boards, chooser, Limits(72, 0.02, 144), 0, RolloutSettings("exact", 2))
    with warehouse.connect() as connection:
        columns = connection.sql("from rollout_labels order by row").fetchnumpy()
        positions = connection.sql("select position_id, class from positions order by line").fetchnumpy()
    assert columns["row"].tolist() == [0, 1]
    assert columns["position_id"].tolist() == positions["position_id"].tolist()
    assert columns["class"].tolist() == positions["class"].tolist()
    for number, name in enumerate(("win", "win_gammon", "win_backgammon", "lose_gammon", "lose_backgammon")):
        assert columns[name] == pytest.approx(result.legal_chances()[:, number], abs=1e-7)
        assert columns[f"{name}_standard_error"] == pytest.approx(result.standard_errors[:, number], abs=1e-7)
    assert columns["equity"].tolist() == result.equities.tolist()
    assert columns["standard_error"].tolist() == result.equity_standard_errors.tolist()
    assert columns["plain_standard_error"].tolist() == result.plain_standard_errors.tolist()
    assert columns["trials"].tolist() == result.trials.tolist()
    assert columns["is_reached"].tolist() == (result.equity_standard_errors <= 0.02).tolist()
    assert set(columns["network"]) == {f"network/tiny/{warehouse.open('network', 'tiny').folder.name}"}


def test_truncated_source_is_refused(warehouse: Warehouse) -> None:
    """A source whose array has lost half of its rows is refused, because its size differs from the manifest."""
    folder = warehouse.open("positions", "sample").folder
    boards = np.load(folder / "boards.npy")
    (folder / "boards.npy").unlink()
    np.save(own(folder / "boards.npy"), boards[:1])
    for version in ("", folder.name):
        with pytest.raises(CorruptFileError, match=r"boards\.npy"):
            warehouse.build(DATASET.name, replace(SMALLEST, seed=77, source=VersionRef("positions", "sample", version)))


def test_statistics_equal_the_rows(small_root: Path) -> None:
    table = smallest_version(small_root, DATASET)
    statistics = table.manifest.statistics
    errors = table.array("equity_standard_errors")
    assert statistics["mean_standard_error"] == pytest.approx(errors.mean())
    assert statistics["largest_standard_error"] == errors.max()
    assert statistics["reached_share"] == (errors <= 0.02).mean()
    assert statistics["games"] == table.array("trials").sum()
    assert statistics["median_reduction"] > 1


def test_default_network_is_part_of_the_package() -> None:
    source = VersionRef("positions", "x")
    assert "network" in DATASET.inputs(RolloutLabelParameters(source=source))
    assert "network" not in DATASET.inputs(RolloutLabelParameters("mine", "r1-00000000", source=source))
