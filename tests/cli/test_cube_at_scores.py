"""`bgdata cube` at match scores: tables that are built where they are missing, and when the model answers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import bgdata
from bgdata.bearoff.match_table import MatchTable
from bgdata.cli import cube
from bgdata.datasets.bearoff_match import DATASET, MatchBearoffParameters
from bgdata.datasets.match_equity import PUBLISHED
from bgdata.errors import StorageError
from bgdata.warehouse import Warehouse
from tests.cli.command_line import ON_ROLL, OPPONENT, POSITION, position_id, run, succeeds

RANDOM = ("--network", "random")
MATCH = ("--away", "5-3")
MET = ("--met", "published-12")
JSON = ("--format", "json")


@pytest.fixture(scope="module")
def known(player_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The player's warehouse with a match equity table."""
    root = tmp_path_factory.mktemp("known") / "warehouse"
    shutil.copytree(player_root, root)
    bgdata.open_warehouse(root).build("match_equity", PUBLISHED)
    return root


@pytest.fixture
def root(known: Path, memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same where tables of 3 points and 3 checkers are built on demand: those of 6 take longer."""
    monkeypatch.setattr(cube, "SIZE", MatchBearoffParameters(3, 3))
    root = memory_path / "warehouse"
    shutil.copytree(known, root)
    return root


def printed(root: Path, *arguments: str) -> dict[str, object]:
    """A decision as JSON, without a word beside it."""
    result = run(root, "cube", *arguments, *RANDOM, *JSON)
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    (found,) = json.loads(result.stdout)
    assert isinstance(found, dict)
    return found


def tables(root: Path) -> list[str]:
    """Variants of exact tables at match scores."""
    return bgdata.open_warehouse(root).variants(DATASET.name)


def test_the_table_of_a_score_is_built_once_and_answers(root: Path) -> None:
    found = printed(root, POSITION, *MATCH, *MET)
    assert tables(root) == ["3x3-away-5-3-cube-1-published-12"]
    (table,) = bgdata.open_warehouse(root).versions(DATASET.name)
    expected = MatchTable(table).probe_layouts(ON_ROLL, OPPONENT)
    assert (found["method"], found["unit"]) == ("exact", "mwc")
    assert found["accuracy"] == f"exact, {table.name}: each mwc within 3e-08"
    assert (found["no_double"], found["double_take"]) == (expected.no_double, expected.double_take)
    assert found["double_pass"] == pytest.approx(expected.double_pass, abs=3e-8)
    assert found["best"] == [expected.action.replace(", ", "_").replace(" ", "_")]
    assert printed(root, POSITION, *MATCH, *MET) == found
    assert len(list(bgdata.open_warehouse(root).versions(DATASET.name))) == 1


def test_what_probe_says_of_a_redouble(root: Path) -> None:
    """The score is said in the same words, and it is the same table."""
    found = printed(root, POSITION, *MATCH, "--cube", "2", "--owner", "on_roll", *MET)
    (variant,) = tables(root)
    assert variant == "3x3-away-5-3-cube-2-published-12"
    shown = succeeds(root, "probe", POSITION, "--away", "5-3", "--cube", "2", *MET)
    assert f"  no double          mwc {found['no_double']:.6f}" in shown
    assert f"  double, take       mwc {found['double_take']:.6f}" in shown


def test_a_decision_in_words(root: Path) -> None:
    shown = succeeds(root, "cube", POSITION, *MATCH, *MET, *RANDOM)
    _, action, table, reasons, _, _ = shown.split("\n\n")
    assert action == "double, pass"
    assert table.splitlines()[0].split() == ["mwc", "change", "equity"]
    _, source, model, points = reasons.splitlines()
    assert source.startswith("exact, bearoff_match/3x3-away-5-3-cube-1-published-12/r")
    assert model == "winning chances are those of Janowski's model, cube life index 0.7, published-12"
    assert points.startswith("winning chances: take from ")


def test_the_crawford_game(root: Path) -> None:
    found = printed(root, POSITION, "--away", "1-3", "--crawford", *MET)
    assert (found["method"], found["why_not"]) == ("exact", "nobody doubles in the crawford game")
    assert tables(root) == ["3x3-away-1-3-crawford-cube-1-published-12"]


@pytest.mark.parametrize(
    "arguments",
    [
        (POSITION, *MATCH, *MET, "--model", "janowski"),
        (POSITION, "--model", "janowski"),
        (POSITION, "--model", "jump"),
        (position_id([2, 2], [1]), *MATCH, *MET),  # 4 checkers
        (position_id([1], [0, 0, 0, 1]), *MATCH, *MET),  # on point 4
        (position_id([0] * 24 + [1], [1]), *MATCH, *MET),  # on the bar
        ("4HPwATDgc/ABMA", *MATCH, *MET),
    ],
    ids=lambda words: " ".join(words),
)
def test_the_model_answers_and_nothing_is_built(root: Path, arguments: tuple[str, ...]) -> None:
    assert printed(root, *arguments)["method"] == ("jump" if "jump" in arguments else "janowski")
    assert tables(root) == []


def test_a_match_as_money_is_decided_by_the_table_for_money(root: Path) -> None:
    as_money, money = printed(root, POSITION, *MATCH, "--as-money"), printed(root, POSITION)
    names = ("method", "accuracy", "no_double", "double_take", "double_pass", "unit")
    assert [as_money[name] for name in names] == [money[name] for name in names]
    assert (money["method"], tables(root)) == ("exact", [])


def test_larger_tables_that_are_there_answer(root: Path) -> None:
    larger = position_id([0, 0, 0, 1], [2, 2])
    recipe = MatchBearoffParameters(4, 4, 5, 3, met="published-12")
    table = bgdata.open_warehouse(root).build(DATASET.name, recipe)
    assert f"exact, {table.name}: " in str(printed(root, larger, *MATCH, *MET)["accuracy"])
    assert len(tables(root)) == 1


def test_where_no_table_can_be_built_the_model_answers(
    root: Path, memory_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A match equity table that the warehouse lacks, a cube beyond those of tables, or a disk that is full."""
    path = memory_path / "other.xml"
    succeeds(root, "export", "met", "published-12", "-o", str(path))
    asked = [
        ((*MATCH, "--met", str(path)), "expected a match equity table among "),
        ((*MATCH, *MET, "--cube", "512", "--owner", "on_roll"), "expected a cube value of 1 to 128, got 512"),
    ]

    def fails(*_: object, **__: object) -> None:
        raise StorageError("expected room for 16 MB, found none")

    for arguments, message in (*asked, ((*MATCH, *MET), "expected room for 16 MB, found none")):
        if "room" in message:
            monkeypatch.setattr(Warehouse, "build", fails)
        result = run(root, "cube", POSITION, *arguments, *RANDOM, *JSON)
        assert result.exit_code == 0
        assert result.stderr.startswith(f"no exact table: {message}")
        assert len(result.stderr.splitlines()) == 1
        assert json.loads(result.stdout)[0]["method"] == "janowski"
    assert tables(root) == []
