"""`bgdata cube` at match scores: races are solved, and when the model answers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import bgdata
from bgdata.bearoff.kinds.bearoff_match import DATASET, MatchBearoffParameters
from bgdata.equity.kinds.match_equity import PUBLISHED
from tests.command_line import POSITION, position_id, run, succeeds
from tests.together import each

RANDOM = ("--network", "random")
MATCH = ("--away", "5-3")
MET = ("--met", "published-12")
JSON = ("--format", "json")
SOLVED = "exact, solved for this position"


@pytest.fixture(scope="module")
def root(player_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The player's warehouse with a match equity table."""
    root = tmp_path_factory.mktemp("known") / "warehouse"
    shutil.copytree(player_root, root)
    bgdata.open_warehouse(root).build("match_equity", PUBLISHED)
    return root


def printed(root: Path, *arguments: str) -> dict[str, object]:
    """A decision as JSON, without a word beside it; nothing is built for it."""
    result = run(root, "cube", *arguments, *RANDOM, *JSON)
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    (found,) = json.loads(result.stdout)
    assert isinstance(found, dict)
    return found


def test_answers_are_those_of_the_table_of_the_score(root: Path, tmp_path: Path) -> None:
    """Solved alone, by a table of its score, and by `probe`."""
    own = tmp_path / "warehouse"
    shutil.copytree(root, own)
    recipe = MatchBearoffParameters(3, 3, 5, 3, met="published-12")
    table = bgdata.open_warehouse(own).build(DATASET.name, recipe)
    solved, looked_up = printed(root, POSITION, *MATCH, *MET), printed(own, POSITION, *MATCH, *MET)
    assert (solved["method"], solved["unit"], solved["accuracy"]) == ("exact", "mwc", SOLVED)
    assert looked_up["accuracy"] == f"exact, {table.name}: each mwc within 3e-08"
    assert solved["best"] == looked_up["best"]
    for name in ("no_double", "double_take", "double_pass"):
        assert solved[name] == pytest.approx(looked_up[name], abs=6e-8)


def test_a_decision_in_words(root: Path) -> None:
    shown = succeeds(root, "cube", POSITION, *MATCH, *MET, *RANDOM)
    _, action, table, reasons, _, _ = shown.split("\n\n")
    assert action == "double, pass"
    assert table.splitlines()[0].split() == ["mwc", "change", "equity"]
    _, source, model, points = reasons.splitlines()
    assert source == SOLVED
    assert model == "winning chances are those of Janowski's model, cube life index 0.7, published-12"
    assert points.startswith("winning chances: take from ")


def test_the_crawford_game(root: Path) -> None:
    found = printed(root, POSITION, "--away", "1-3", "--crawford", *MET)
    assert (found["method"], found["why_not"]) == ("exact", "nobody doubles in the crawford game")


@each(
    ("method", "arguments"),
    [
        ("exact", (position_id([2, 2], [1]), *MATCH, *MET)),  # beyond the table for money
        ("exact", (position_id([2, 2, 0, 0, 0, 0, 0, 1], [1]),)),  # a checker that is not home
        ("exact", (POSITION, *MATCH, *MET, "--cube", "512", "--owner", "on_roll")),
        ("janowski", (POSITION, *MATCH, *MET, "--model", "janowski")),
        ("janowski", (POSITION, "--model", "janowski")),
        ("jump", (POSITION, "--model", "jump")),
        ("janowski", (position_id([0] * 24 + [1], [1]), *MATCH, *MET)),  # on the bar
        ("janowski", (position_id([15], [0, 1]), *MATCH, *MET)),  # a gammon may be lost
        ("janowski", ("4HPwATDgc/ABMA", *MATCH, *MET)),
    ],
)
def test_source_of_an_answer(root: Path, method: str, arguments: tuple[str, ...]) -> None:
    assert printed(root, *arguments)["method"] == method


def test_a_match_as_money_is_decided_by_the_table_for_money(root: Path) -> None:
    as_money, money = printed(root, POSITION, *MATCH, "--as-money"), printed(root, POSITION)
    names = ("method", "accuracy", "no_double", "double_take", "double_pass", "unit")
    assert [as_money[name] for name in names] == [money[name] for name in names]
    assert money["method"] == "exact"


def test_another_match_equity_table(root: Path, tmp_path: Path) -> None:
    """From a file, which no warehouse has a table for."""
    path = tmp_path / "other.xml"
    succeeds(root, "export", "met", "published-12", "-o", str(path))
    found = printed(root, POSITION, *MATCH, "--met", str(path))
    expected = printed(root, POSITION, *MATCH, *MET)
    assert found["accuracy"] == SOLVED
    assert found["no_double"] == pytest.approx(expected["no_double"], abs=1e-5)
