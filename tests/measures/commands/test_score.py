"""Tests of `bgdata score`: all measures, reuse of stored figures, and lines about what is left out."""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path
from statistics import mean, stdev
from xml.etree import ElementTree

import pytest

import bgdata
from bgdata.errors import UnknownPlayerError, UsageError
from bgdata.evaluation.chances import CHANCES
from bgdata.evaluation.player import Player
from bgdata.evaluation.player import open_named_player as open_any_player
from bgdata.measures.kinds.game_scores import GameParameters
from bgdata.measures.kinds.reference_positions import THEMES
from bgdata.measures.steps import scores, sets
from bgdata.measures.steps.scores import Amount, full_name, opponent_of
from bgdata.warehouse import Warehouse
from tests.command_line import error_of, output_of, run
from tests.kept import link

NO_GAMES = ("--games", "0", "--luck-adjusted-games", "0", "--decisions", "20", "--no-programs")  # only quick measures
FEW_GAMES = ("--games", "4", "--luck-adjusted-games", "0", "--decisions", "20")
GNUBG_MISSING = "games against gnubg: expected GNU Backgammon on this machine, found none (Debian package gnubg)"


@pytest.fixture(scope="module")
def warehouse(small_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """A warehouse that all tests share, so that each reuses stored figures."""
    return bgdata.open_warehouse(link(small_root, tmp_path_factory.mktemp("scores") / "warehouse"))


@pytest.fixture(autouse=True)
def without_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that gnubg and bgsage are not installed, because their games take minutes, and measure speeds only
    briefly."""

    def open_named_player(
        name: str, ply: int = 0, warehouse: Warehouse | None = None, *, tables: bool = True
    ) -> Player:
        if name in ("gnubg", "bgsage"):
            found = "GNU Backgammon on this machine, found none (Debian package gnubg)"
            raise UnknownPlayerError(f"expected {found if name == 'gnubg' else 'bgsage, found none'}")
        return open_any_player(name, ply, warehouse, tables=tables)

    monkeypatch.setattr(scores, "open_named_player", open_named_player)
    monkeypatch.setattr(sets, "MIN_SECONDS", 0.01)


def test_everything_is_measured_only_once(warehouse: Warehouse) -> None:
    """The first run prints every measure that is available here and what is left out; the second one repeats it without
    building."""
    shown = run(warehouse.root, "score", "network/tiny", *FEW_GAMES, "--against", "random")
    assert shown.exit_code == 0
    first, *rows = shown.stdout.splitlines()
    assert re.fullmatch(
        r"network/tiny \(0-ply\), version [0-9a-f]{8}: .*/scores/network-tiny-0ply/r1-[0-9a-f]{8}", first
    )
    kinds = ("gnubg_benchmark", "judged_decisions", "rollout_decisions")
    sets = [f"{kind}/{variant}" for kind in kinds for variant in warehouse.variants(kind)]
    rivals = [f"{shipped_slug()}-0ply", "pubeval-0ply", "random-0ply"]
    *rows, title, heads = rows[: -1 - len(THEMES)]
    assert [tuple(row.split()[:2]) for row in rows if not row.startswith("error_rate_difference")] == [
        ("points_per_game", "pubeval-0ply"),
        ("points_per_game", "random-0ply"),
        ("gammon_share", "network-tiny-0ply"),
        ("backgammon_share", "network-tiny-0ply"),
        *(("error_rate", name) for name in sets),
        ("bearoff_loss", "bearoff_two_sided/6x6"),
        ("bearoff_loss_without_tables", "bearoff_two_sided/6x6"),
    ]
    differences = rows[4 + len(sets) : -2]
    assert [tuple(row.split()[:3]) for row in differences] == [
        ("error_rate_difference", name, rival) for name in sets for rival in rivals
    ]
    assert re.fullmatch(
        r".* [+-]\d+\.\d+ \+/- \d+\.\d+  thousandths of a point a decision, 3 decisions", differences[-1]
    )
    what = "RMSE, MAE and bias of equity (points), and RMSE of each chance"
    assert title == f"test split of reference_positions/2-by-tiny-seed-1: {what}"
    assert heads.split() == ["theme", "positions", "RMSE", "MAE", "bias", *CHANCES]
    themes = shown.stdout.splitlines()[-1 - len(THEMES) :]
    assert [row.split()[0] for row in themes] == [*THEMES, "all"]
    assert re.fullmatch(r"blitz +1( +\d\.\d{4}){2} +[+-]\d\.\d{4}( +\d\.\d{4}){5}", themes[THEMES.index("blitz")])
    figure = r"\d\.\d{4} \+/- \d\.\d{4}"
    assert re.fullmatch(rf"all +14( +{figure}){{2}} +[+-]{figure}( +\d\.\d{{4}}){{5}}", themes[-1])
    assert re.fullmatch(r"points_per_game +pubeval-0ply +[+-]\d\.\d+ \+/- \d\.\d+  points, 4 games", rows[0])
    assert re.fullmatch(r"bearoff_loss_without_tables .* \+/- 0\.\d+  points a decision, 20 decisions", rows[-1])
    (speed,) = (line for line in shown.stderr.splitlines() if line.startswith("speed: "))
    place = r"reference_positions/2-by-tiny-seed-1/r2-[0-9a-f]{8}"
    assert re.fullmatch(rf"speed: [\d,]+ positions a second, 0-ply, \d+ threads?, median of 3 runs on {place}", speed)
    assert [line for line in shown.stderr.splitlines() if line.startswith("left out: ")] == [
        f"left out: {GNUBG_MISSING}",
        "left out: games against bgsage: expected bgsage, found none",
    ]
    again = run(warehouse.root, "score", "network/tiny", *FEW_GAMES, "--against", "random:0", "--no-programs")
    assert again.stdout == shown.stdout
    assert ": built " not in again.stderr
    assert "left out" not in again.stderr


def shipped_slug() -> str:
    """The name of the network that comes with bgdata, as part of variants' names."""
    return full_name("network").replace("/", "-")


def test_rows_are_written_as_csv_and_json(warehouse: Warehouse) -> None:
    """CSV and JSON have a row for every figure and every difference, with the same columns."""
    few = ("score", "pubeval", *FEW_GAMES, "--no-programs")
    shown = json.loads(output_of(warehouse.root, *few, "--format", "json"))
    with warehouse.connect() as connection:
        relation = connection.sql("select * exclude variant from scores where variant = 'pubeval-0ply'")
        own = [row for row in shown if row["measure"] != "error_rate_difference"]
        assert [tuple(row.values()) for row in own] == relation.fetchall()
        assert list(shown[0]) == relation.columns
    assert {row["against"].split()[1] for row in shown if row not in own} == {f"{shipped_slug()}-0ply"}
    rows = list(csv.DictReader(output_of(warehouse.root, *few, "--format", "csv").splitlines()))
    assert [row["measure"] for row in rows] == [row["measure"] for row in shown]
    assert "points_per_game" not in {row["measure"] for row in shown}  # no player plays against itself


def test_values_by_theme_equal_those_of_plain_sql(warehouse: Warehouse) -> None:
    """RMSE, MAE and bias by theme equal those that plain SQL computes from the rows of both tables."""
    rows = json.loads(output_of(warehouse.root, "score", "network/tiny", *NO_GAMES, "--format", "json"))
    found = {(row["measure"], row["against"]): row for row in rows if row["unit"] in ("points", "chance")}
    place = "reference_positions/2-by-tiny-seed-1"
    with warehouse.connect() as connection:
        for quantity in ("cubeless_equity", *CHANCES):
            name = quantity.removeprefix("cubeless_")
            for theme, against in (("%", place), ("blitz", f"{place} blitz")):
                ((rmse, mae, bias, count),) = connection.sql(
                    "select sqrt(avg(error ** 2)), avg(abs(error)), avg(error), count(*) "
                    f"from (select s.{quantity}::double - r.{quantity} as error "
                    "from reference_scores s join reference_positions r using (row) "
                    f"where s.variant like 'network-tiny-0ply-on-%' and r.split = 'test' and r.theme like '{theme}')"
                ).fetchall()
                for figure, expected in (("rmse", rmse), ("mae", mae), ("bias", bias)):
                    row = found.pop((f"{name}_{figure}", against))
                    assert row["value"] == pytest.approx(expected, rel=1e-9, abs=1e-12)
                    assert row["sample_size"] == count
                    assert row["unit"] == ("points" if name == "equity" else "chance")
                    assert (row["value_error"] is None) == (count == 1), "a single game has no standard error"
                    assert row["source_version"].startswith("reference_scores/network-tiny-0ply-on-")
    assert len(found) == 3 * 6 * (len(THEMES) - 1)


def test_differences_are_from_the_named_rivals(warehouse: Warehouse) -> None:
    """Error rates are compared with those of the named rivals on the same decisions, without any games."""
    options = ("score", "network/tiny", *NO_GAMES, "--against", "random", "--format", "json")
    rows = json.loads(output_of(warehouse.root, *options))
    (own_set,) = (f"rollout_decisions/{variant}" for variant in warehouse.variants("rollout_decisions"))
    (row,) = (row for row in rows if row["against"] == f"{own_set} random-0ply")
    with warehouse.connect() as connection:
        differences = connection.sql(
            "select 1000 * (a.loss - b.loss) "
            "from benchmark_choices a join benchmark_choices b using (benchmark, decision) "
            f"where benchmark = '{own_set}' and a.player = 'network/tiny' and b.player = 'random' "
            "and a.ply = 0 and b.ply = 0"
        ).fetchall()
    losses = [loss for (loss,) in differences]
    assert row["value"] == pytest.approx(mean(losses))
    assert row["value_error"] == pytest.approx(stdev(losses) / len(losses) ** 0.5)
    assert (row["measure"], row["sample_size"]) == ("error_rate_difference", 3)
    assert not [row for row in rows if row["measure"] == "points_per_game"]


def test_picture_shows_the_figures_of_the_table(warehouse: Warehouse, tmp_path: Path) -> None:
    """The picture contains the figures by theme, and a second run writes the same file."""
    picture = tmp_path / "player.svg"
    shown = run(warehouse.root, "score", "network/tiny", *NO_GAMES, "--plot", picture)
    assert shown.exit_code == 0, shown.output
    assert f"wrote {picture}" in shown.stderr.splitlines()
    texts = {"".join(text.itertext()) for text in ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}text")}
    title = "network/tiny:0, test split of reference_positions/2-by-tiny-seed-1"
    assert {title, "RMSE", "MAE", "bias", *CHANCES, *THEMES, "all"} <= texts
    first = picture.read_bytes()
    output_of(warehouse.root, "score", "network/tiny", *NO_GAMES, "--plot", picture)
    assert picture.read_bytes() == first
    output_of(warehouse.root, "score", "network/tiny", *NO_GAMES, "--plot", tmp_path / "player.png", "--format", "csv")
    assert (tmp_path / "player.png").read_bytes().startswith(b"\x89PNG")


def test_luck_adjusted_games_are_measured(network_root: Path, tmp_path: Path) -> None:
    """Luck-adjusted games are played with the bearoff tables of the network that judges luck; measures without inputs
    are left out."""
    root = tmp_path / "warehouse"
    shutil.copytree(network_root, root)
    for kind in ("bearoff_two_sided", "bearoff_one_sided", "bearoff_gammon"):
        shutil.rmtree(root / kind)
    options = ("--games", "0", "--luck-adjusted-games", "4", "--decisions", "20", "--no-programs")
    shown = run(root, "score", "network", *options)
    assert shown.exit_code == 0, shown.output
    rows = [row.split()[:2] for row in shown.stdout.splitlines()[1:]]
    assert rows == [
        ["hedged_points_per_game", "pubeval-0ply"],
        ["bearoff_loss", "bearoff_two_sided/6x6"],
        ["bearoff_loss_without_tables", "bearoff_two_sided/6x6"],
    ]
    assert f"left out: error rates: expected a benchmark in {root}, found none; try: bgdata build, or " in shown.stderr
    message = f"expected reference positions in {root}, found none; try: bgdata reference"
    assert f"left out: values by theme: {message}" in shown.stderr.splitlines()


def test_quick_sets_small_amounts(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Amount] = []

    def build_scores(*arguments: object, programs: bool) -> None:  # noqa: ARG001
        asked.extend(each for each in arguments if isinstance(each, Amount))
        raise UsageError("expected nothing more")

    monkeypatch.setattr(scores, "build_scores", build_scores)
    for options in ([], ["--quick"], ["--quick", "--games", "10"]):
        assert error_of(run(warehouse.root, "score", "pubeval", *options), 2) == "expected nothing more"
    assert asked == [Amount(4000, 1000, 10_000), Amount(400, 40, 1000), Amount(10, 40, 1000)]


def test_bearoffs_are_left_out_without_a_table(memory_path: Path) -> None:
    shown = run(memory_path, "score", "random", "--games", "4", "--luck-adjusted-games", "0", "--no-programs")
    assert shown.exit_code == 0
    assert [row.split()[:2] for row in shown.stdout.splitlines()[1:]] == [
        ["points_per_game", "pubeval-0ply"],
        ["gammon_share", "random-0ply"],
        ["backgammon_share", "random-0ply"],
    ]
    lines = [line for line in shown.stderr.splitlines() if line.startswith("left out: ")]
    assert [line.split(": ")[1] for line in lines] == ["error rates", "values by theme", "bearoffs"]
    assert "speed: " not in shown.stderr


@pytest.mark.parametrize(
    ("player", "message", "measure"),
    [
        (
            ("pubeval",),
            "values by theme: expected a player that evaluates positions, got pubeval, which only chooses plays",
            "RMSE",
        ),
        (
            ("network/tiny", "--ply", "1"),
            "self-play: expected network, pubeval or random without looking ahead, got network/tiny (1-ply)",
            "gammon_share",
        ),
    ],
)
def test_measures_that_a_player_lacks_are_left_out(
    warehouse: Warehouse, player: tuple[str, ...], message: str, measure: str
) -> None:
    shown = run(warehouse.root, "score", *player, *FEW_GAMES, "--no-programs")
    assert shown.exit_code == 0
    assert f"left out: {message}" in shown.stderr.splitlines()
    assert measure not in shown.stdout
    assert ("speed: " in shown.stderr) == (player[0] != "pubeval")


def test_opponents_are_parsed() -> None:
    assert [opponent_of(text) for text in ("gnubg", "gnubg:2", "network/x:0")] == [
        ("gnubg", 0),
        ("gnubg", 2),
        ("network/x", 0),
    ]
    for wrong in ("gnubg:", "gnubg:x", "gnubg:-1", "gnubg:1:2", "gnubg:²"):
        with pytest.raises(UsageError, match="expected a player such as gnubg or gnubg:2, got '"):
            opponent_of(wrong)


def test_invalid_options_are_refused(memory_path: Path) -> None:
    """Invalid players and amounts are refused before anything is written."""

    def error(code: int, *arguments: str) -> str:
        return error_of(run(memory_path / "none", "score", *arguments), code)

    assert error(2, "nobody").startswith("expected a player among random, pubeval, ")
    assert error(2, "pubeval", "--against", "nobody").startswith("expected a player among random, pubeval, ")
    assert error(2, "pubeval", "--against", "gnubg") == GNUBG_MISSING.partition(": ")[2]
    assert error(2, "pubeval", "--against", "gnubg:x") == "expected a player such as gnubg or gnubg:2, got 'gnubg:x'"
    assert error(2, "pubeval", "--games", "5") == "expected an even number of at least 4 games, got 5"
    assert error(2, "pubeval", "--luck-adjusted-games", "2") == "expected an even number of at least 4 games, got 2"
    assert error(2, "pubeval", "--decisions", "1").startswith("expected 2 to 16,777,216 decisions, got 1")
    assert error(1, "network/x").startswith("no network/x in ")
    plot = ("--plot", str(memory_path / "x.png"))
    only_chooses = "expected a player that evaluates positions, got pubeval, which only chooses plays"
    assert error(2, "pubeval", *plot) == only_chooses
    message = f"expected reference positions in {memory_path / 'none'}, found none; try: bgdata reference"
    assert error(1, "network", *plot) == message
    assert error(2, "nobody", *plot).startswith("expected a player among random, pubeval, ")
    assert error(2, "network", "--plot", "/").startswith("invalid value for '--plot': File '/' is a directory")
    assert not (memory_path / "x.png").exists()
    assert not (memory_path / "none").exists()


def test_versions_are_shared_with_other_commands(warehouse: Warehouse) -> None:
    """The games of `bgdata benchmark PLAYER --games`, for example, are not played again."""
    run(warehouse.root, "score", "random", *FEW_GAMES, "--no-programs")
    assert warehouse.find(warehouse.kind("game_scores"), GameParameters("random", 0, "1", "pubeval", 0, "2", 4))
    shown = run(warehouse.root, "benchmark", "random", "--games", "4")
    assert "already built" in shown.stderr
    assert bgdata.open_warehouse(warehouse.root).open("selfplay", "random-4-seed-1")
