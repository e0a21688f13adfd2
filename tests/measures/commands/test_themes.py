"""`bgdata compare`: a table of players by theme, the same as data, and a picture."""

from __future__ import annotations

import csv
import json
import re
from math import isnan
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bgdata.measures.commands.compare import Compared, chosen_rows, compared, label_of
from bgdata.measures.kinds.reference_positions import THEMES
from bgdata.measures.kinds.reference_scores import GROUPS
from bgdata.warehouse import Warehouse
from tests.command_line import error_of, run, succeeds

PLAYERS = ("network/tiny", "network/tiny:1")
SVG = "{http://www.w3.org/2000/svg}"


def texts(path: Path) -> set[str]:
    """All that is written in an SVG picture."""
    return {"".join(text.itertext()) for text in ElementTree.parse(path).iter(f"{SVG}text")}


def test_a_table_and_a_picture_of_several_players(warehouse: Warehouse, tmp_path: Path) -> None:
    picture = tmp_path / "themes.svg"
    shown = run(warehouse.root, "compare", *PLAYERS, "--plot", picture)
    assert shown.exit_code == 0, shown.output
    title, heads, *rows = shown.stdout.splitlines()
    place = warehouse.open("reference_positions", "2-by-tiny-seed-1").name
    assert title == f"RMSE of cubeless_equity (points), test split of {place}"
    assert heads.split() == ["theme", "positions", "network/tiny:0", "network/tiny:1", "rollouts"]
    assert [row.split()[0] for row in rows] == [*THEMES, "all"]
    assert re.fullmatch(r"blitz +1 +\d\.\d{4} +\d\.\d{4} +\d\.\d{4}", rows[THEMES.index("blitz")])
    figure = r"\d\.\d{4} \+/- \d\.\d{4}"
    assert re.fullmatch(rf"all +14 +{figure} +{figure} +\d\.\d{{4}}", rows[-1])
    assert {title, "rollouts themselves", "network/tiny:0", "network/tiny:1", *THEMES, "all"} <= texts(picture)
    first = picture.read_bytes()
    again = run(warehouse.root, "compare", *PLAYERS, "--plot", picture)
    assert again.stdout == shown.stdout
    assert ": built " not in again.stderr
    assert picture.read_bytes() == first
    succeeds(warehouse.root, "compare", "network/tiny", "--plot", tmp_path / "themes.png")
    assert (tmp_path / "themes.png").read_bytes().startswith(b"\x89PNG")


def test_rows_as_csv_and_json(warehouse: Warehouse) -> None:
    options = ("compare", *reversed(PLAYERS), "--split", "validation", "--quantity", "lose_gammon")
    shown = json.loads(succeeds(warehouse.root, *options, "--format", "json"))
    assert [(row["player"], row["ply"]) for row in shown[:: len(GROUPS)]] == [("network/tiny", 1), ("network/tiny", 0)]
    assert [row["theme"] for row in shown] == 2 * list(GROUPS)
    with warehouse.connect() as connection:
        relation = connection.sql(
            "from reference_errors where split = 'validation' and quantity = 'lose_gammon' and has_tables"
        )
        expected = [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]
    order = [(row["player"], row["ply"], row["theme"]) for row in shown]
    expected.sort(key=lambda row: order.index((row["player"], row["ply"], row["theme"])))
    assert shown == expected
    rows = list(csv.DictReader(succeeds(warehouse.root, *options, "--format", "csv").splitlines()))
    assert [float(row["rmse"]) for row in rows] == [row["rmse"] for row in shown]


def test_default_players_are_all_asked_ones(small_root: Path) -> None:
    heads = succeeds(small_root, "compare", "--reference", "2-by-tiny-seed-1").splitlines()[1]
    assert re.split(r"  +", heads) == ["theme", "positions", "network/tiny:0 without tables", "rollouts"]


def row_of(player: str, theme: str, rmse: float, *, has_tables: bool = True) -> dict[str, object]:
    return {"player": player, "ply": 0, "has_tables": has_tables, "theme": theme, "rmse": rmse}


def test_the_order_of_players() -> None:
    """As asked, or the best first; who has no tables is another player."""
    rows = [row_of("a", "all", 0.2), row_of("b", "all", 0.1), row_of("b", "blitz", 0.5)]
    rows += [row_of("a", "blitz", 0.0), row_of("b", "all", 0.3, has_tables=False)]
    best = compared(chosen_rows(rows, []))
    assert [each.label for each in best] == ["b:0", "a:0", "b:0 without tables"]
    assert list(best[0].rows) == ["blitz", "all"]
    assert [each.label for each in compared(chosen_rows(rows, [("a", 0), ("b", 0)]))] == ["a:0", "b:0"]
    assert chosen_rows(rows, [("a", 1)]) == []
    assert label_of(rows[-1]) == "b:0 without tables"


def test_a_theme_without_positions_is_left_blank() -> None:
    figures = Compared("a:0", {"blitz": {"rmse": 0.5, "rmse_standard_error": None}}).figures("rmse")
    assert figures[GROUPS.index("blitz")] == 0.5
    assert sum(map(isnan, figures)) == len(GROUPS) - 1
    assert all(map(isnan, Compared("a:0", {"blitz": {"rmse_standard_error": None}}).figures("rmse_standard_error")))


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("pubeval",), 2, "expected a player that evaluates positions, got pubeval, which only chooses plays"),
        (("nobody",), 2, "expected a player among random, pubeval, "),
        (("network:x",), 2, "expected a player such as gnubg or gnubg:2, got 'network:x'"),
        (("network/none",), 1, "no network/none in "),
        (("--reference", "none"), 1, "no reference_positions/none in "),
    ],
)
def test_wrong_arguments(small_root: Path, arguments: tuple[str, ...], code: int, message: str) -> None:
    assert error_of(run(small_root, "compare", *arguments), code).startswith(message)


def test_no_asked_players_is_an_error(warehouse: Warehouse, memory_path: Path) -> None:
    message = error_of(run(memory_path / "none", "compare", "network"), 1)
    assert message == f"expected reference positions in {memory_path / 'none'}, found none; try: bgdata reference"
    assert not (memory_path / "none").exists()
    (scores,) = warehouse.versions("reference_scores")
    succeeds(warehouse.root, "rm", scores.name)
    message = error_of(run(warehouse.root, "compare"), 2)
    place = warehouse.open("reference_positions", "2-by-tiny-seed-1").name
    assert message == f"expected players that were asked about {place}, found none; try: bgdata compare network"
