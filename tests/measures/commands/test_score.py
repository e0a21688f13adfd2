"""Tests of `bgdata score`: all measures, reuse of stored figures, and lines about what is left out."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, stdev
from xml.etree import ElementTree

import pytest
from click.testing import Result

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


MISSING_PROGRAMS = {
    "gnubg": "expected GNU Backgammon on this machine, found none (Debian package gnubg)",
    "bgsage": "expected bgsage, found none",
}
REFERENCE = "reference_positions/2-by-tiny-seed-1"


@pytest.fixture(scope="module")
def warehouse(small_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """A warehouse that all tests share, so that each reuses stored figures."""
    return bgdata.open_warehouse(link(small_root, tmp_path_factory.mktemp("scores") / "warehouse"))


@pytest.fixture(scope="module", autouse=True)
def _without_programs() -> Iterator[None]:
    """Pretend that gnubg and bgsage are not installed, because their games take minutes, and measure speeds only
    briefly."""

    def open_named_player(
        name: str, ply: int = 0, warehouse: Warehouse | None = None, *, tables: bool = True
    ) -> Player:
        if name in MISSING_PROGRAMS:
            raise UnknownPlayerError(MISSING_PROGRAMS[name])
        return open_any_player(name, ply, warehouse, tables=tables)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scores, "open_named_player", open_named_player)
        patch.setattr(sets, "MIN_SECONDS", 0.01)
        yield


@pytest.fixture(scope="module")
def scored(warehouse: Warehouse, _without_programs: None) -> Result:
    """The result of scoring network/tiny, with games against random too."""
    result = run(warehouse.root, "score", "network/tiny", *FEW_GAMES, "--against", "random")
    assert result.exit_code == 0, result.output
    return result


def decision_sets(warehouse: Warehouse) -> list[str]:
    """The names of all sets of decisions."""
    kinds = ("gnubg_benchmark", "judged_decisions", "rollout_decisions")
    return [f"{kind}/{variant}" for kind in kinds for variant in warehouse.variants(kind)]


def test_every_measure_is_printed(warehouse: Warehouse, scored: Result) -> None:
    headline, *lines = scored.stdout.splitlines()
    assert re.fullmatch(
        r"network/tiny \(0-ply\), version [0-9a-f]{8}: .*/scores/network-tiny-0ply/r1-[0-9a-f]{8}", headline
    )
    lines_of_themes = 3 + len(THEMES)  # a title, headings, the themes and all of them together
    measures = [line for line in lines[:-lines_of_themes] if not line.startswith("error_rate_difference")]
    assert [tuple(line.split()[:2]) for line in measures] == [
        ("points_per_game", "pubeval-0ply"),
        ("points_per_game", "random-0ply"),
        ("gammon_share", "network-tiny-0ply"),
        ("backgammon_share", "network-tiny-0ply"),
        *(("error_rate", name) for name in decision_sets(warehouse)),
        ("bearoff_loss", "bearoff_two_sided/6x6"),
        ("bearoff_loss_without_tables", "bearoff_two_sided/6x6"),
    ]
    assert re.fullmatch(r"points_per_game +pubeval-0ply +[+-]\d\.\d+ \+/- \d\.\d+  points, 4 games", measures[0])
    assert re.fullmatch(r"bearoff_loss_without_tables .* \+/- 0\.\d+  points a decision, 20 decisions", measures[-1])


def test_error_rates_are_compared_with_those_of_rivals(warehouse: Warehouse, scored: Result) -> None:
    lines = [line for line in scored.stdout.splitlines() if line.startswith("error_rate_difference")]
    rivals = [f"{shipped_slug()}-0ply", "pubeval-0ply", "random-0ply"]
    expected = [(name, rival) for name in decision_sets(warehouse) for rival in rivals]
    assert [tuple(line.split()[1:3]) for line in lines] == expected
    assert re.fullmatch(r".* [+-]\d+\.\d+ \+/- \d+\.\d+  thousandths of a point a decision, 3 decisions", lines[-1])


def test_values_are_printed_by_theme(scored: Result) -> None:
    title, heads, *lines = scored.stdout.splitlines()[-3 - len(THEMES) :]
    columns = "RMSE, MAE and bias of equity (points), and RMSE of each chance"
    assert title == f"test split of {REFERENCE}: {columns}"
    assert heads.split() == ["theme", "positions", "RMSE", "MAE", "bias", *CHANCES]
    assert [line.split()[0] for line in lines] == [*THEMES, "all"]
    blitz, total = lines[THEMES.index("blitz")], lines[-1]
    assert re.fullmatch(r"blitz +1( +\d\.\d{4}){2} +[+-]\d\.\d{4}( +\d\.\d{4}){5}", blitz)
    figure = r"\d\.\d{4} \+/- \d\.\d{4}"
    assert re.fullmatch(rf"all +14( +{figure}){{2}} +[+-]{figure}( +\d\.\d{{4}}){{5}}", total)


def test_speed_is_printed(scored: Result) -> None:
    (line,) = (line for line in scored.stderr.splitlines() if line.startswith("speed: "))
    place = rf"{REFERENCE}/r2-[0-9a-f]{{8}}"
    assert re.fullmatch(rf"speed: [\d,]+ positions a second, 0-ply, \d+ threads?, median of 3 runs on {place}", line)


def test_missing_programs_are_left_out(scored: Result) -> None:
    assert [line for line in scored.stderr.splitlines() if line.startswith("left out: ")] == [
        f"left out: games against {program}: {error}" for program, error in MISSING_PROGRAMS.items()
    ]


def test_second_run_builds_nothing(warehouse: Warehouse, scored: Result) -> None:
    repeated = run(warehouse.root, "score", "network/tiny", *FEW_GAMES, "--against", "random:0", "--no-programs")
    assert repeated.stdout == scored.stdout
    assert ": built " not in repeated.stderr
    assert "left out" not in repeated.stderr


def shipped_slug() -> str:
    """The name of the network that comes with bgdata, as part of variants' names."""
    return full_name("network").replace("/", "-")


def test_rows_are_written_as_json(warehouse: Warehouse) -> None:
    """There is a row for every figure and every difference, with the same columns."""
    options = ("score", "pubeval", *FEW_GAMES, "--no-programs", "--format", "json")
    rows = json.loads(output_of(warehouse.root, *options))
    figures = [row for row in rows if row["measure"] != "error_rate_difference"]
    assert figures == warehouse.rows("select * exclude variant from scores where variant = 'pubeval-0ply'")
    assert "points_per_game" not in {row["measure"] for row in rows}  # no player plays against itself
    for row in rows:
        assert list(row) == list(rows[0])
    differences = [row for row in rows if row["measure"] == "error_rate_difference"]
    assert len(differences) == len(decision_sets(warehouse))
    for row in differences:
        assert row["against"].endswith(f" {shipped_slug()}-0ply")


def test_values_by_theme_equal_those_of_plain_sql(warehouse: Warehouse) -> None:
    """RMSE, MAE and bias by theme equal those that plain SQL computes from the rows of both tables."""
    rows = json.loads(output_of(warehouse.root, "score", "network/tiny", *NO_GAMES, "--format", "json"))
    rows_by_measure = {(row["measure"], row["against"]): row for row in rows if row["unit"] in ("points", "chance")}
    for quantity in ("cubeless_equity", *CHANCES):
        name = quantity.removeprefix("cubeless_")
        for theme, against in (("%", REFERENCE), ("blitz", f"{REFERENCE} blitz")):
            (expected,) = warehouse.rows(
                "select sqrt(avg(error ** 2)) as rmse, avg(abs(error)) as mae, avg(error) as bias, count(*) as count "
                f"from (select s.{quantity}::double - r.{quantity} as error "
                "from reference_scores s join reference_positions r using (row) "
                f"where s.variant like 'network-tiny-0ply-on-%' and r.split = 'test' and r.theme like '{theme}')"
            )
            for figure in ("rmse", "mae", "bias"):
                row = rows_by_measure.pop((f"{name}_{figure}", against))
                assert row["value"] == pytest.approx(expected[figure], rel=1e-9, abs=1e-12)
                assert row["sample_size"] == expected["count"]
                assert row["unit"] == ("points" if name == "equity" else "chance")
                assert (row["value_error"] is None) == (expected["count"] == 1)  # a single game has no error
                assert row["source_version"].startswith("reference_scores/network-tiny-0ply-on-")
    assert len(rows_by_measure) == 3 * 6 * (len(THEMES) - 1)


def test_differences_are_from_the_named_rivals(warehouse: Warehouse) -> None:
    """Error rates are compared with those of the named rivals on the same decisions, without any games."""
    options = ("score", "network/tiny", *NO_GAMES, "--against", "random", "--format", "json")
    rows = json.loads(output_of(warehouse.root, *options))
    (own_set,) = (f"rollout_decisions/{variant}" for variant in warehouse.variants("rollout_decisions"))
    (row,) = (row for row in rows if row["against"] == f"{own_set} random-0ply")
    choices = warehouse.rows(f"from benchmark_choices where benchmark = '{own_set}' and ply = 0 order by decision")
    losses = [choice["loss"] for choice in choices if choice["player"] == "network/tiny"]
    losses_of_random = [choice["loss"] for choice in choices if choice["player"] == "random"]
    differences = [1000 * (loss - other) for loss, other in zip(losses, losses_of_random, strict=True)]
    assert row["measure"] == "error_rate_difference"
    assert row["sample_size"] == len(differences) == 3
    assert row["value"] == pytest.approx(mean(differences))
    assert row["value_error"] == pytest.approx(stdev(differences) / len(differences) ** 0.5)
    assert "points_per_game" not in {row["measure"] for row in rows}


def test_picture_shows_the_figures_of_the_table(warehouse: Warehouse, tmp_path: Path) -> None:
    """The picture contains the figures by theme, and a second run writes the same file."""
    picture = tmp_path / "player.svg"
    result = run(warehouse.root, "score", "network/tiny", *NO_GAMES, "--plot", picture)
    assert result.exit_code == 0, result.output
    assert f"wrote {picture}" in result.stderr.splitlines()
    texts = {"".join(text.itertext()) for text in ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}text")}
    title = "network/tiny:0, test split of reference_positions/2-by-tiny-seed-1"
    assert {title, "RMSE", "MAE", "bias", *CHANCES, *THEMES, "all"} <= texts
    content = picture.read_bytes()
    output_of(warehouse.root, "score", "network/tiny", *NO_GAMES, "--plot", picture)
    assert picture.read_bytes() == content
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
    result = run(root, "score", "network", *options)
    assert result.exit_code == 0, result.output
    rows = [row.split()[:2] for row in result.stdout.splitlines()[1:]]
    assert rows == [
        ["hedged_points_per_game", "pubeval-0ply"],
        ["bearoff_loss", "bearoff_two_sided/6x6"],
        ["bearoff_loss_without_tables", "bearoff_two_sided/6x6"],
    ]
    assert f"left out: error rates: expected a benchmark in {root}, found none; try: bgdata build, or " in result.stderr
    message = f"expected reference positions in {root}, found none; try: bgdata reference"
    assert f"left out: values by theme: {message}" in result.stderr.splitlines()


def test_quick_sets_small_amounts(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    amounts: list[Amount] = []

    def build_scores(*arguments: object, programs: bool) -> None:  # noqa: ARG001
        amounts.extend(argument for argument in arguments if isinstance(argument, Amount))
        raise UsageError("expected nothing more")

    monkeypatch.setattr(scores, "build_scores", build_scores)
    for options in ([], ["--quick"], ["--quick", "--games", "10"]):
        assert error_of(run(warehouse.root, "score", "pubeval", *options), 2) == "expected nothing more"
    assert amounts == [Amount(4000, 1000, 10_000), Amount(400, 40, 1000), Amount(10, 40, 1000)]


def test_bearoffs_are_left_out_without_a_table(memory_path: Path) -> None:
    result = run(memory_path, "score", "random", "--games", "4", "--luck-adjusted-games", "0", "--no-programs")
    assert result.exit_code == 0
    assert [row.split()[:2] for row in result.stdout.splitlines()[1:]] == [
        ["points_per_game", "pubeval-0ply"],
        ["gammon_share", "random-0ply"],
        ["backgammon_share", "random-0ply"],
    ]
    lines = [line for line in result.stderr.splitlines() if line.startswith("left out: ")]
    assert [line.split(": ")[1] for line in lines] == ["error rates", "values by theme", "bearoffs"]
    assert "speed: " not in result.stderr


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
    result = run(warehouse.root, "score", *player, *FEW_GAMES, "--no-programs")
    assert result.exit_code == 0
    assert f"left out: {message}" in result.stderr.splitlines()
    assert measure not in result.stdout
    assert ("speed: " in result.stderr) == (player[0] != "pubeval")


@pytest.mark.parametrize(
    ("text", "opponent"), [("gnubg", ("gnubg", 0)), ("gnubg:2", ("gnubg", 2)), ("network/x:0", ("network/x", 0))]
)
def test_opponent_is_parsed(text: str, opponent: tuple[str, int]) -> None:
    assert opponent_of(text) == opponent


@pytest.mark.parametrize("text", ["gnubg:", "gnubg:x", "gnubg:-1", "gnubg:1:2", "gnubg:²"])
def test_invalid_opponent_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expected a player such as gnubg or gnubg:2, got '"):
        opponent_of(text)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nobody"], 2, "expected a player among random, pubeval, "),
        (["nobody", "--plot", "x.png"], 2, "expected a player among random, pubeval, "),
        (["pubeval", "--against", "nobody"], 2, "expected a player among random, pubeval, "),
        (["pubeval", "--against", "gnubg"], 2, MISSING_PROGRAMS["gnubg"]),
        (["pubeval", "--against", "gnubg:x"], 2, "expected a player such as gnubg or gnubg:2, got 'gnubg:x'"),
        (["pubeval", "--games", "5"], 2, "expected an even number of at least 4 games, got 5"),
        (["pubeval", "--luck-adjusted-games", "2"], 2, "expected an even number of at least 4 games, got 2"),
        (["pubeval", "--decisions", "1"], 2, "expected 2 to 16,777,216 decisions, got 1"),
        (
            ["pubeval", "--plot", "x.png"],
            2,
            "expected a player that evaluates positions, got pubeval, which only chooses plays",
        ),
        (["network/x"], 1, "no network/x in "),
        (["network", "--plot", "x.png"], 1, "expected reference positions in none, found none; try: bgdata reference"),
        (["network", "--plot", "/"], 2, "invalid value for '--plot': File '/' is a directory"),
    ],
)
def test_invalid_arguments_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert error_of(run(Path("none"), "score", *arguments), code).startswith(message)
    assert list(tmp_path.iterdir()) == []


def test_versions_are_shared_with_other_commands(warehouse: Warehouse) -> None:
    """The games of `bgdata benchmark PLAYER --games`, for example, are not played again."""
    run(warehouse.root, "score", "random", *FEW_GAMES, "--no-programs")
    assert warehouse.find(warehouse.kind("game_scores"), GameParameters("random", 0, "1", "pubeval", 0, "2", 4))
    result = run(warehouse.root, "benchmark", "random", "--games", "4")
    assert "already built" in result.stderr
    assert bgdata.open_warehouse(warehouse.root).open("selfplay", "random-4-seed-1")
