"""Tests of the view `benchmark_differences`, against blocks of rollouts that the view does not see."""

import json
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import duckdb
import numpy as np
import pytest

from bgdata.kinds import SQL
from bgdata.measures.kinds.benchmark_scores import ScoreParameters
from bgdata.warehouse import Warehouse
from tests.reference.paired import Plays, paired

PLAYERS = ("a", "b", "c")
SET, DIGEST = "s", "d1"
Choices = dict[str, list[int | None]]
TABLES = """
create table manifests (manifest json, version varchar, is_current boolean);
create table benchmark_scores (variant varchar, decision int, next_position_id varchar, rank int, loss double);
create table benchmark_decisions (dataset varchar, variant varchar, decision int, n_plays int);
create table benchmark_plays (
    dataset varchar, variant varchar, decision int, rank int, standard_error double, loss_standard_error double
);
"""


def random_decisions(count: int, seed: int) -> list[Plays]:
    """Decisions of 1 to 4 plays, whose noise is partly shared."""
    generator = np.random.default_rng(seed)
    decisions = []
    for n_plays in generator.integers(1, 5, count):
        blocks = generator.normal(0, 0.1, (n_plays, 12)) + generator.normal(0, 0.1, 12)
        blocks -= generator.exponential(0.1, n_plays)[:, None]
        decisions.append(Plays(blocks[np.argsort(-blocks.mean(axis=1))]))
    return decisions


def random_choices(decisions: list[Plays], seed: int) -> Choices:
    """A rank for each player and decision, None for a play that is not listed; the best play is more frequent."""
    generator = np.random.default_rng(seed)
    return {
        player: [
            None if generator.random() < 0.1 else int(generator.integers(len(plays.blocks)) * generator.integers(2))
            for plays in decisions
        ]
        for player in PLAYERS
    }


def add_set(
    connection: duckdb.DuckDBPyConnection, decisions: list[Plays], variant: str = SET, *, errors: bool = True
) -> None:
    """Add a benchmark, with standard errors unless it is imported."""
    manifest = {"dataset": "rollout_decisions", "variant": variant, "digest": DIGEST}
    connection.execute("insert into manifests values (?, 'r1', true)", [json.dumps(manifest)])
    for number, plays in enumerate(decisions):
        count = len(plays.blocks)
        connection.execute(
            f"insert into benchmark_decisions values ('rollout_decisions', ?, {number}, {count})", [variant]
        )
        for rank in range(count):
            known = (plays.standard_error(rank), plays.difference_error(rank, 0)) if errors else (None, None)
            row = ["rollout_decisions", variant, number, rank, *known]
            connection.execute("insert into benchmark_plays values (?, ?, ?, ?, ?, ?)", row)


def add_scores(
    connection: duckdb.DuckDBPyConnection,
    decisions: list[Plays],
    choices: Choices,
    digest: str = DIGEST,
    variant: str = SET,
) -> None:
    """Add the choices of players."""
    for player, ranks in choices.items():
        name = f"{player}-{variant}-{digest}"
        manifest = {
            "dataset": "benchmark_scores", "variant": name,
            "inputs": {"benchmark": f"rollout_decisions/{variant}@{digest}"},
            "parameters": {"player": player, "ply": 1, "version": f"{player}1"},
        }  # fmt: skip
        connection.execute("insert into manifests values (?, 'r2', true)", [json.dumps(manifest)])
        for number, (plays, rank) in enumerate(zip(decisions, ranks, strict=True)):
            loss = plays.losses[-1 if rank is None else rank]
            row = [name, number, f"p{rank}", rank, loss]
            connection.execute("insert into benchmark_scores values (?, ?, ?, ?, ?)", row)


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """An empty catalog with the view and the view that it reads."""
    with duckdb.connect() as catalog:
        catalog.execute(TABLES)
        for name in ("benchmark_choices", "benchmark_differences"):
            catalog.execute((SQL / "measures" / "views" / f"{name}.sql").read_text())
        yield catalog


def rows_of(connection: duckdb.DuckDBPyConnection) -> dict[tuple[str, str], dict[str, Any]]:
    """The rows of the view by player and other player."""
    view = connection.sql("from benchmark_differences")
    rows = [dict(zip(view.columns, row, strict=True)) for row in view.fetchall()]
    by_players = {(row["player"], row["other_player"]): row for row in rows}
    assert len(by_players) == len(rows)
    return by_players


@pytest.mark.parametrize("seed", range(4))
def test_differences_match_the_reference(connection: duckdb.DuckDBPyConnection, seed: int) -> None:
    """Differences between players equal a plain computation, are opposite numbers for the two orders, and include
    decisions with unlisted plays and with a single play."""
    decisions = random_decisions(40, seed)
    choices = random_choices(decisions, seed + 100)
    add_set(connection, decisions)
    add_scores(connection, decisions, choices)
    rows = rows_of(connection)
    assert set(rows) == set(permutations(PLAYERS, 2))
    for (player, other), row in rows.items():
        expected = paired(decisions, choices[player], choices[other])
        assert row["decisions"] == 40
        assert row["same_choices"] == expected.same_choices
        assert 0 < expected.same_choices < 40
        assert row["difference"] == pytest.approx(expected.difference, abs=1e-9)
        assert row["standard_error"] == pytest.approx(expected.standard_error)
        assert expected.rollout_standard_error < row["rollout_standard_error"] < 2 * expected.rollout_standard_error
        assert (row["ply"], row["player_version"]) == (1, f"{player}1")
        assert (row["other_ply"], row["other_version"]) == (1, f"{other}1")
        assert (row["benchmark"], row["benchmark_version"]) == (f"rollout_decisions/{SET}", "r1")


def test_noise_is_exact_against_the_best_play(connection: duckdb.DuckDBPyConnection) -> None:
    """Equal choices have no noise, and the noise of a loss against the best play is that of the blocks of rollouts."""
    decisions = [plays for plays in random_decisions(30, 9) if len(plays.blocks) > 2]
    best: list[int | None] = [0] * len(decisions)
    second: list[int | None] = [number % 2 for number in range(len(decisions))]
    add_set(connection, decisions)
    add_scores(connection, decisions, {"a": best, "b": second})
    row = rows_of(connection)["b", "a"]
    expected = paired(decisions, second, best)
    assert row["rollout_standard_error"] == pytest.approx(expected.rollout_standard_error)
    assert row["difference"] == pytest.approx(expected.difference)
    assert row["difference"] > 0


def test_noise_is_the_lower_of_two_bounds(connection: duckdb.DuckDBPyConnection) -> None:
    """The noise of a difference is the lower of two bounds, here the one by equities, because the best play is the
    least certain."""
    generator = np.random.default_rng(6)
    deviations = np.array([[0.3], [0.1], [0.1]])
    means = np.array([[3.0], [2.0], [1.0]])
    decisions = [Plays(means + deviations * generator.normal(0, 1, (3, 12))) for _ in range(20)]
    add_set(connection, decisions)
    add_scores(connection, decisions, {"a": [1] * 20, "b": [2] * 20})
    by_equities = np.array([plays.standard_error(1) + plays.standard_error(2) for plays in decisions])
    by_losses = np.array([plays.difference_error(1, 0) + plays.difference_error(2, 0) for plays in decisions])
    assert (by_equities < by_losses).all()
    expected = 1000 * np.sqrt(np.square(by_equities).sum()) / 20
    assert rows_of(connection)["a", "b"]["rollout_standard_error"] == pytest.approx(expected)


def test_standard_error_includes_the_noise(connection: duckdb.DuckDBPyConnection) -> None:
    """For plays of equal value, the standard error over decisions equals the error of the rollouts."""
    generator = np.random.default_rng(5)
    decisions = []
    for _ in range(400):
        blocks = generator.normal(0, 0.1, (3, 12))
        decisions.append(Plays(blocks[np.argsort(-blocks.mean(axis=1))]))
    ranks = [generator.permutation(3) for _ in decisions]  # random, independent of the rollouts
    choices: Choices = {"a": [int(row[0]) for row in ranks], "b": [int(row[1]) for row in ranks]}
    add_set(connection, decisions)
    add_scores(connection, decisions, choices)
    row = rows_of(connection)["a", "b"]
    expected = paired(decisions, choices["a"], choices["b"])
    assert row["standard_error"] == pytest.approx(expected.rollout_standard_error, rel=0.2)
    assert abs(row["difference"]) < 4 * row["standard_error"]


def test_noise_of_imported_rollouts_is_null(connection: duckdb.DuckDBPyConnection) -> None:
    decisions = random_decisions(10, 3)
    choices = random_choices(decisions, 4)
    add_set(connection, decisions, errors=False)
    add_scores(connection, decisions, choices)
    row = rows_of(connection)["a", "b"]
    assert row["rollout_standard_error"] is None
    assert row["standard_error"] == pytest.approx(paired(decisions, choices["a"], choices["b"]).standard_error)


def test_one_decision_has_no_standard_error(connection: duckdb.DuckDBPyConnection) -> None:
    decisions = random_decisions(5, 2)[:1]
    add_set(connection, decisions)
    add_scores(connection, decisions, {"a": [0], "b": [None]})
    row = rows_of(connection)["a", "b"]
    assert (row["decisions"], row["standard_error"]) == (1, None)


def test_players_on_different_decisions_are_not_compared(connection: duckdb.DuckDBPyConnection) -> None:
    """Scores on another version of a benchmark, on a missing one, and on another benchmark are not compared."""
    decisions = random_decisions(6, 1)
    choices = random_choices(decisions, 2)
    add_set(connection, decisions)
    add_set(connection, decisions, "t")
    add_scores(connection, decisions, {"a": choices["a"]})
    add_scores(connection, decisions, {"b": choices["b"], "c": choices["c"]}, digest="older")
    add_scores(connection, decisions, {"c": choices["c"]}, variant="t")
    assert rows_of(connection) == {}
    add_scores(connection, decisions, {"c": choices["c"]})
    assert set(rows_of(connection)) == {("a", "c"), ("c", "a")}


@pytest.mark.parametrize("kind", ["gnubg_benchmark", "rollout_decisions"])
def test_view_in_a_warehouse_equals_the_choices(warehouse: Warehouse, kind: str) -> None:
    (table,) = warehouse.current(kind)
    random = warehouse.build("benchmark_scores", ScoreParameters.on(table, "random", 0, "1"))
    pubeval = warehouse.build("benchmark_scores", ScoreParameters.on(table, "pubeval", 0, "2"))
    query = "from benchmark_differences where player = 'random' and other_player = 'pubeval' and benchmark_version = $v"
    (row,) = warehouse.rows(query, {"v": table.folder.name})
    differences = 1000 * (random.array("losses") - pubeval.array("losses"))
    assert row["decisions"] == len(differences)
    assert row["same_choices"] == (random.array("chosen") == pubeval.array("chosen")).all(axis=1).sum()
    assert row["difference"] == pytest.approx(differences.mean())
    if kind == "gnubg_benchmark":  # a single decision, imported
        assert (row["standard_error"], row["rollout_standard_error"]) == (None, None)
    else:
        assert row["standard_error"] == pytest.approx(differences.std(ddof=1) / len(differences) ** 0.5)
        assert row["rollout_standard_error"] > 0
