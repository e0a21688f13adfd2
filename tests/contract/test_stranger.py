"""The package `stranger/` adds a kind of dataset with SQL, and a player, only through entry points."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import bgdata
from bgdata import kinds as datasets
from bgdata.cli import main
from bgdata.errors import ExternalProgramError, InvalidParameterError, PluginError, UsageError
from bgdata.evaluation.chances import AnswerSource
from bgdata.evaluation.player import open_named_player, open_player_of_version
from bgdata.game.board import START_BOARD
from bgdata.kinds import SQL, all_kinds
from bgdata.measures.steps.scores import opponent_of
from bgdata.store.locked_sql import open_memory
from bgdata.store.registry import Kinds
from bgdata.warehouse import Warehouse
from tests.subtests import each

STRANGER = Path(__file__).parent / "stranger"
LAZY = """
import sys
import bgdata
kinds = bgdata.all_kinds()
assert kinds["match_equity"].name == "match_equity" and "match_equity" in kinds
assert "importlib.metadata" not in sys.modules
assert "dice_sums" in kinds and kinds.sql.folders[-1].parent.name == "dice_kinds"
assert not [name for name in sys.modules if name.startswith("dice_kinds")]
assert kinds["dice_sums"].summary and "dice_kinds.dice_sums_compute" not in sys.modules
assert kinds["bearoff_two_sided"].__module__ == "bgdata.bearoff.kinds.bearoff_two_sided"
"""


@pytest.fixture
def install_stranger(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put the package on the path as if it were installed."""
    monkeypatch.syspath_prepend(STRANGER)
    datasets.all_kinds.cache_clear()
    yield
    datasets.all_kinds.cache_clear()


def run(*arguments: object, code: int = 0) -> str:
    """The output of a bgdata command."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result.output


@pytest.mark.usefixtures("install_stranger")
def test_kind_of_another_package_is_like_ours(tmp_path: Path) -> None:
    """The commands list, build, explain, query and verify a kind of another package like one of bgdata's own."""
    place = ("--warehouse", tmp_path)
    assert "dice_sums" in run("list", *place)
    run("build", "dice_sums", "--set", "sides=3", *place)
    assert "dice_sums  []\n    How often two dice have a sum" in run("list", "dice_sums", *place)
    assert "counts in range" in run("explain", "dice_sums", *place)
    assert "The chance of each sum of two dice" in run("explain", "dice_odds", *place)
    rows = run(
        "query", "select pip_count, chance from dice_odds order by chance desc limit 1", "--format", "csv", *place
    )
    assert rows.split() == ["pip_count,chance", f"4,{1 / 3}"]
    assert " 0 failed" in run("verify", *place)
    assert len(list((tmp_path / "dice_sums" / "3-sides").glob("r*/manifest.json"))) == 1


@pytest.mark.usefixtures("install_stranger")
def test_explorer_shows_a_kind_of_another_package(tmp_path: Path) -> None:
    """The web pages show a kind of another package, its checks and its version."""
    pytest.importorskip("starlette")
    from bgdata.web.app import create_app
    from bgdata.web.site import Limits
    from tests.web.reading import open_client

    warehouse = bgdata.open_warehouse(tmp_path)
    table = warehouse.build("dice_sums", warehouse.kind("dice_sums").smallest)
    with open_client(create_app(warehouse, Limits())) as client:
        assert "dice_sums" in client.get("/table").text
        assert "counts in range" in client.get("/table/dice_sums").text.replace("_", " ")
        assert table.manifest.digest[:8] in client.get(f"/table/{table.name}").text


def test_kinds_of_others_are_found_without_importing_them() -> None:
    subprocess.run([sys.executable, "-c", LAZY], check=True, env={"PYTHONPATH": f"{STRANGER}:{SQL.parent}"})


@pytest.mark.parametrize("sql", ["none", "stranger", "bgdata"])
def test_warehouse_of_one_foreign_kind_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sql: str) -> None:
    """A warehouse whose only kind comes from another package works without the SQL of bgdata; with it, it has the views
    of versions too."""
    sql_of_bgdata = all_kinds().sql.folders  # without the other package
    monkeypatch.syspath_prepend(STRANGER)
    folders = {"none": [], "stranger": [STRANGER / "dice_kinds" / "sql"], "bgdata": sql_of_bgdata}
    kinds = Kinds({"dice_sums": "dice_kinds.sums"}, sql=folders[sql])
    warehouse = Warehouse(tmp_path, kinds)
    warehouse.build("dice_sums", kinds["dice_sums"].smallest)
    with warehouse.connect() as connection:
        assert connection.sql("select sum(rolls) from dice_sums").fetchall() == [(9,)]
        views = {name for (name,) in connection.sql("select view_name from duckdb_views()").fetchall()}
    assert ("dice_odds" in views) == (sql == "stranger")
    assert ("versions" in views) == (sql == "bgdata")
    assert not views & {"bearoff_positions", "leakage", "match_equity_differences", "cube_decisions"}


def test_catalog_has_all_sql_of_bgdata() -> None:
    """The catalog has everything that the SQL scripts of bgdata create: no script is taken for one that needs a missing
    kind."""
    from bgdata.store.catalog import declared_index
    from bgdata.store.catalog_views import fill_catalog

    warehouse = bgdata.open_warehouse("none")
    with open_memory() as connection:
        fill_catalog(connection, warehouse, declared_index(warehouse), is_file=False)
        sql = "select view_name from duckdb_views() union select function_name from duckdb_functions()"
        names = {name for (name,) in connection.sql(sql).fetchall()}
    for part in ("lookups", "macros", "views"):
        for script in warehouse.kinds.sql.scripts(part):
            assert names.issuperset(script.creates)


def test_broken_kinds_of_others_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kind of another package whose module is missing or has no dataset is refused with a message that names it."""
    (tmp_path / "dice_broken-1.0.dist-info").mkdir()
    entries = "[bgdata.kinds]\ndice_missing = dice_broken.missing\ndice_empty = dice_empty\nwrong name = dice_empty\n"
    (tmp_path / "dice_broken-1.0.dist-info" / "entry_points.txt").write_text(entries)
    (tmp_path / "dice_empty.py").write_text("DATASET = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    kinds = Kinds({}, group="bgdata.kinds")
    assert {"dice_missing", "dice_empty"} <= set(kinds)
    assert "wrong name" not in kinds
    with pytest.raises(
        PluginError, match=r"expected the kind dice_missing in the module 'dice_broken\.missing'.*No module"
    ):
        _ = kinds["dice_missing"]
    with pytest.raises(PluginError, match="expected a Dataset named dice_empty as DATASET of 'dice_empty', got 1"):
        _ = kinds["dice_empty"]


@each("name", ["dice_kinds.players:by_pips", "runner"])
@pytest.mark.usefixtures("install_stranger")
def test_callable_opens_as_a_player(name: str) -> None:
    """A function or player of another package opens by its name, and evaluates positions and chooses plays."""
    player = open_named_player(name)
    evaluate = player.evaluate_many  # type: ignore[attr-defined]
    chances, sources = evaluate(np.array([START_BOARD], np.int8))
    np.testing.assert_array_equal(chances, np.array([[0.5, 0, 0, 0, 0]], np.float32))
    assert sources.tolist() == [AnswerSource.PROGRAM]
    assert player.version == "1"
    assert player.label == {"runner": "runner-0ply"}.get(name, "dice-kinds-players-by-pips-0ply")
    after = player.choose_plays(np.array([START_BOARD], np.int8), np.array([[3, 1]], np.int8))
    assert after.shape == (1, 26)
    with pytest.raises(InvalidParameterError, match="expected version 1 of"):
        open_player_of_version(name, 0, "2")


@pytest.mark.usefixtures("install_stranger")
def test_callable_plays_and_is_scored(tmp_path: Path) -> None:
    name = "dice_kinds.players:by_pips"
    place = ("--warehouse", tmp_path)
    run("benchmark", name, "--against", "random", "--games", 20, *place)
    assert "dice-kinds-players-by-pips-0ply" in run("list", "game_scores", *place)


@each(
    ("name", "message"),
    [
        (
            "dice_kinds.nowhere:x",
            "expected a module of Python for the player 'dice_kinds.nowhere:x', got ModuleNotFound",
        ),
        ("dice_kinds.players:np", "expected a function with an attribute version, .* got 'module'"),
        (
            "dice_kinds.players:none",
            "expected a function 'none' in the module 'dice_kinds.players', found no such name",
        ),
        ("os:abort", "expected a function with an attribute version, .*; try: abort.version = "),
    ],
)
@pytest.mark.usefixtures("install_stranger")
def test_invalid_callables_are_refused(name: str, message: str) -> None:
    with pytest.raises(PluginError, match=message):
        open_named_player(name)


@pytest.mark.usefixtures("install_stranger")
def test_answers_of_another_shape_are_refused() -> None:
    player = open_named_player("dice_kinds.players:wrong")
    with pytest.raises(
        ExternalProgramError, match=r"expected float32\[1, 5\] of dice_kinds.players:wrong, got an array"
    ):
        player.evaluate_many(np.array([START_BOARD], np.int8))  # type: ignore[attr-defined]


def test_opponents_are_parsed_with_their_ply() -> None:
    assert opponent_of("gnubg:2") == ("gnubg", 2)
    assert opponent_of("my.module:name") == ("my.module:name", 0)
    assert opponent_of("my.module:name:1") == ("my.module:name", 1)
    for text in ("gnubg:x", "network:", ":2", "a:b:c"):
        with pytest.raises(UsageError, match="expected a player such as gnubg or gnubg:2"):
            opponent_of(text)
