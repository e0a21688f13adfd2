"""`bgdata rollout`: its output, and errors in one line."""

from __future__ import annotations

import json
import re
import shutil
import signal
from collections.abc import Callable
from os import environ
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

import bgdata
from bgdata import kernel_cache
from bgdata.equity.cube import CubeRules, normalised_point
from bgdata.equity.kinds.match_equity import PUBLISHED
from bgdata.equity.match_equity import find_met
from bgdata.evaluation.networks.player import NetworkPlayer, open_network_player
from bgdata.game.dice import parse_roll
from bgdata.game.match import MatchScore, Money, Stakes
from bgdata.game.plays import legal_plays
from bgdata.game.position import START, Position
from bgdata.selfplay.commands import rollout as rollout_command
from bgdata.selfplay.cubeful_rollout import CubefulStart, difference, roll_out_with_cube
from bgdata.selfplay.rollout import Limits, RolloutSettings, roll_out
from bgdata.selfplay.rollout_decisions import Window, roll_out_decision
from bgdata.selfplay.rows import describe_player
from bgdata.store import job
from bgdata.store.progress import TerminalBars
from bgdata.warehouse import Warehouse
from tests.command_line import error_of, output_of, position_id, run
from tests.store.processes import bgdata_command
from tests.subtests import each
from tests.test_process import started

START_ID = "4HPwATDgc/ABMA"
BEAROFF_ID = "CgAAEAEAAAAAAA"
ENDING_ID = position_id([2, 1, 2], [1, 2, 1])
SHORT_OPTIONS = ("--network", "random", "--trials", "72", "--truncate", "3", "--stop", "end")
THREE_TURNS = RolloutSettings("end", 3)
START_BOARD = np.array(START.board, np.int8)


@pytest.fixture(scope="module")
def root(player_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The player's warehouse with a match equity table."""
    root = tmp_path_factory.mktemp("rollout") / "warehouse"
    shutil.copytree(player_root, root)
    bgdata.open_warehouse(root).build("match_equity", PUBLISHED)
    return root


@pytest.fixture(scope="module")
def player(player_root: Path) -> NetworkPlayer:
    found = open_network_player("network/random", 0, bgdata.open_warehouse(player_root))
    assert isinstance(found, NetworkPlayer)
    return found


def test_position_is_rolled_out(player_root: Path, player: NetworkPlayer) -> None:
    """The command prints the board, the chances and the equity of `roll_out`, and how much subtracting luck helps."""
    result = roll_out(START_BOARD[None], player.chooser, 72, 3, THREE_TURNS)
    shown = output_of(player_root, "rollout", START_ID, *SHORT_OPTIONS, "--seed", "3")
    board, words, ending = shown.split("\n\n")
    assert board.startswith(f"Position ID: {START_ID}\n+-13-")
    win, lose, equity = words.splitlines()
    numbers = [float(number) / 100 for number in re.findall(r"-?\d+\.\d\d", win + lose)]
    chances = result.chances[0].tolist()
    errors = result.standard_errors[0].tolist()
    expected = [
        *(chances[0], errors[0], chances[1], errors[1], chances[2], errors[2]),
        *(1 - chances[0], errors[0], chances[3], errors[3], chances[4], errors[4]),
    ]
    assert numbers == pytest.approx(expected, abs=6e-5)
    assert equity == f"cubeless equity {result.equities[0]:+.4f} +/- {result.equity_standard_errors[0]:.4f}"
    assert ending == (
        f"72 trials; without subtracting luck the equity had +/- {result.plain_standard_errors[0]:.4f}: "
        f"{result.plain_standard_errors[0] / result.equity_standard_errors[0]:.1f} times as much\n"
        f"{describe_player(player)}\n"
    )


def test_json_row_equals_the_rollout(player_root: Path, player: NetworkPlayer) -> None:
    (found,) = json.loads(output_of(player_root, "rollout", START_ID, *SHORT_OPTIONS, "--format", "json", "--no-luck"))
    result = roll_out(START_BOARD[None], player.chooser, 72, 0, THREE_TURNS._replace(with_luck=False))
    assert found["position_id"] == START_ID
    assert found["win"] == result.chances[0, 0]
    assert found["cubeless_equity"] == result.equities[0]
    assert found["standard_error"] == found["plain_standard_error"] == result.equity_standard_errors[0]
    assert (found["trials"], found["is_reached"], found["player"]) == (72, True, "random")


def test_plays_are_ranked(player_root: Path, player: NetworkPlayer) -> None:
    """With a roll, the command prints the plays, equities and losses of `roll_out_decision`, as text and as JSON."""
    decision = roll_out_decision(START_BOARD, (3, 1), player.chooser, 0, THREE_TURNS, Window(9.0, 2, 4), Limits(72))
    shown = output_of(player_root, "rollout", START_ID, "31", *SHORT_OPTIONS, "--within", "9", "--plays", "4")
    lines = shown.split("\n\n")[1].splitlines()
    assert len(lines) == 6
    assert lines[-1] == f"     and {decision.n_plays - 4} more that were not rolled out"
    equities = [float(line[31:39]) for line in lines[1:5]]
    assert equities == pytest.approx(decision.result.equities, abs=6e-5)
    losses = [float(line[47:56]) for line in lines[2:5]]
    assert losses == pytest.approx(decision.losses[1:], abs=6e-5)
    found = json.loads(
        output_of(
            player_root, "rollout", START_ID, "31", *SHORT_OPTIONS, "--within", "9", "--plays", "4", "--format", "json"
        )
    )
    assert [play["loss"] for play in found] == decision.losses.tolist()
    boards = [tuple(board) for board in decision.boards.tolist()]
    names = {str(play): play.next_position.board for play in legal_plays(START, "31")}
    assert [names[play["play"]] for play in found] == boards
    assert {play["roll"] for play in found} == {"31"}


def test_unreached_standard_error_is_reported(player_root: Path) -> None:
    """If the standard error is not reached, the last line says so and names a larger maximum; JSON has `is_reached`."""
    until = ("--until", "0.0001", "--most-trials", "144")
    shown = output_of(player_root, "rollout", START_ID, *SHORT_OPTIONS, *until)
    last = shown.splitlines()[-1]
    assert re.fullmatch(
        r"expected a standard error of at most 0.0001, got \d\.\d{4} after 144 trials; try: --most-trials \d+", last
    )
    assert int(last.rpartition(" ")[2]) % 144 == 0
    (found,) = json.loads(output_of(player_root, "rollout", START_ID, *SHORT_OPTIONS, *until, "--format", "json"))
    assert (found["trials"], found["is_reached"]) == (144, False)
    assert "expected" not in output_of(
        player_root, "rollout", START_ID, *SHORT_OPTIONS, "--until", "3", "--most-trials", "144"
    )


def test_default_maximum_is_a_multiple_of_trials(player_root: Path) -> None:
    """The default of --most-trials, 46,656, is rounded to a multiple of --trials 360."""
    few = ("--trials", "360", "--truncate", "1", "--network", "random")
    (found,) = json.loads(output_of(player_root, "rollout", START_ID, *few, "--until", "3", "--format", "json"))
    assert (found["trials"], found["is_reached"]) == (360, True)


def test_exact_positions_have_no_error(player_root: Path) -> None:
    shown = output_of(player_root, "rollout", BEAROFF_ID, "--network", "random", "--trials", "72")
    assert "win   67.11 % +/- 0.00" in shown
    assert "cubeless equity +0.3422 +/- 0.0000\n\n72 trials\nby " in shown


@each(
    ("arguments", "message"),
    [
        (("x",), "expected one of position id"),
        ((START_ID, "99"), "expected two dice"),
        ((START_ID, "--trials", "100"), "expected a multiple of 36 trials, at least 72, got 100"),
        ((START_ID, "--until", "-1"), "expected a standard error above 0, got -1.0"),
        ((START_ID, "--until", "1e-200"), "expected a standard error from 1e-50 to 1000, got 1e-200"),
        ((START_ID, "--trials", "36" + 20 * "0"), "expected at most 1,099,511,627,776 trials, got 36"),
        ((START_ID, "--plays", "3"), "expected a roll with --plays, got --plays alone"),
        ((START_ID, "--within", "0.3"), "expected a roll with --within, got --within alone"),
        ((START_ID, "--until", "0"), "expected a standard error above 0, got 0.0"),
        ((START_ID, "--until", "0.1", "--most-trials", "100"), "expected most trials to be a multiple of 1296, got"),
        ((START_ID, "--most-trials", "2592"), "expected --until with --most-trials, got --most-trials alone"),
        ((START_ID, "--cube", "1", "--most-trials", "2592"), "expected --until with --most-trials"),
        ((START_ID, "--truncate", "-1"), "expected 0 turns"),
        ((START_ID, "31", "--within", "-1"), "expected a window of 0 points or more"),
        ((START_ID, "--network", "none"), "no network/none in"),
    ],
)
def test_invalid_arguments_are_refused(player_root: Path, arguments: tuple[str, ...], message: str) -> None:
    given = arguments if "--network" in arguments else (*arguments, "--network", "random")
    assert error_of(run(player_root, "rollout", *given), 1 if "none" in arguments else 2).startswith(message)


def test_label_rolls_out_positions(warehouse: Warehouse) -> None:
    """`label` rolls out positions of a table; the stored chances equal those of `roll_out`."""
    arguments = ("label", "positions/sample", "--network", "tiny", "--trials", "72", "--truncate", "1")
    shown = output_of(warehouse.root, *arguments).splitlines()
    table = warehouse.open("rollout_labels", "positions-sample-by-tiny-72-seed-0")
    assert shown[0] == str(table.folder)
    assert shown[1].startswith("2 positions, 144 games: standard errors of 0.00")
    assert len(shown) == 2
    player = open_network_player("network/tiny", 0, warehouse)
    assert isinstance(player, NetworkPlayer)
    boards = np.asarray(warehouse.open("positions", "sample").array("boards"))
    result = roll_out(boards, player.chooser, 72, 0, RolloutSettings("exact", 1))
    assert np.array_equal(table.array("chances"), result.legal_chances())


def test_unreached_standard_errors_of_labels_are_reported(warehouse: Warehouse) -> None:
    arguments = ("label", "positions/sample", "--network", "tiny", "--trials", "72", "--truncate", "4")
    shown = output_of(warehouse.root, *arguments, "--until", "1e-9", "--most-trials", "144")
    assert shown.splitlines()[2] == (
        "expected standard errors of at most 1e-09, got larger ones for 2 positions after 144 trials; "
        "try: --most-trials 576"
    )


def test_cube_decision_compares_double_and_no_double(root: Path, player: NetworkPlayer) -> None:
    """Both cube actions are rolled out with the same dice."""
    board = np.array(Position(ENDING_ID).board, np.int8)
    money = Stakes(Money(is_jacoby=False))
    starts = [CubefulStart(board, each, may_double=False) for each in (money, money.after_take())]
    result = roll_out_with_cube(starts, player.chooser, CubeRules(), Limits(72))
    how = ("rollout", ENDING_ID, "--cube", "1", "--network", "random", "--trials", "72")
    rows = json.loads(output_of(root, *how, "--format", "json"))
    assert [row["choice"] for row in rows] == ["no double", "double, take"]
    assert [row["value"] for row in rows] == result.values.tolist()
    assert [row["standard_error"] for row in rows] == result.standard_errors.tolist()
    assert {(row["unit"], row["trials"]) for row in rows} == {("points per unit cube", 72)}
    gap, error = difference(result, 1, 0)
    assert (rows[1]["loss"], rows[1]["loss_standard_error"]) == (-gap, error)
    shown = output_of(root, *how)
    line = f"{'no double':<26}{result.values[0]:+9.4f}{result.standard_errors[0]:8.4f}"
    assert line in shown.splitlines()
    how_far = RolloutSettings(play_ply=1)
    ahead = roll_out_with_cube(starts, player.chooser, CubeRules(), Limits(72), 0, how_far)
    rows = json.loads(output_of(root, *how, "--play-ply", "1", "--format", "json"))
    assert [row["value"] for row in rows] == ahead.values.tolist()
    owned = output_of(root, *how[:2], "--cube", "2", "--owner", "opponent", *how[4:])
    assert "no double" in owned
    assert "double, take" not in owned


def test_until_is_in_points_of_equity(root: Path) -> None:
    """`--until` is in points of normalised equity in a match too, where such a point is a few percent of the match."""
    met = find_met(bgdata.open_warehouse(root), "published-12")
    point = normalised_point(Stakes(MatchScore(11, 11)), CubeRules(met=met))
    assert point < 0.1
    how = ("rollout", "start", "--network", "random", "--trials", "72", "--most-trials", "144")
    match = (*how, "--away", "11-11", "--met", "published-12")
    (row, _) = json.loads(output_of(root, *match, "--until", "9", "--format", "json"))
    assert (row["trials"], row["is_reached"]) == (72, True)
    error = row["standard_error"] / point
    assert "expected a standard error" not in output_of(root, *match, "--until", f"{9 * error}")
    text = output_of(root, *match, "--until", f"{2 * row['standard_error']}")  # in mwc, as if it were points
    assert re.search(r"expected a standard error of at most \S+, got \d\.\d+ after 144 trials; try: --most-tr", text)
    rows = json.loads(output_of(root, *how, "--cube", "1", "--until", "0.00001", "--format", "json"))
    assert {(row["trials"], row["is_reached"]) for row in rows} == {(144, False)}


def test_plays_with_the_cube_are_ranked(root: Path, player: NetworkPlayer) -> None:
    """Plays are ranked by rollouts after which the opponent is on roll and may double. Values are for the player who
    moves."""
    stakes = Stakes(MatchScore(3, 5))
    met = find_met(bgdata.open_warehouse(root), "published-12")
    how = ("--away", "3-5", "--met", "published-12", "--network", "random", "--trials", "72", "--plays", "2")
    rows = json.loads(output_of(root, "rollout", ENDING_ID, "21", *how, "--format", "json"))
    plays = {str(play): play for play in legal_plays(Position(ENDING_ID), parse_roll("21"))}
    starts = [CubefulStart(np.array(plays[row["choice"]].next_position.board, np.int8), stakes.flip()) for row in rows]
    rules = CubeRules(met=met)
    result = roll_out_with_cube(starts, player.chooser, rules, Limits(72))
    assert [row["value"] for row in rows] == pytest.approx((1 - result.values).tolist())
    assert rows[0]["loss"] == 0 <= rows[1]["loss"]
    assert {row["unit"] for row in rows} == {"mwc"}
    assert rows[0]["choice"] in output_of(root, "rollout", ENDING_ID, "21", *how)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *((("21", "--cube", "1", "--within", n), "expected a window of 0 points or more") for n in ("-1", "nan")),
        (("--cube", "1", "--truncate", "3"), "expected neither --stop nor --truncate with the cube"),
        (("--away", "3-5", "--met", "none"), "no match equity table none in "),
        (("--away", "3-5", "--jacoby"), "expected the jacoby rule in money play only, got it at "),
        (("--cube", "1", "--plays", "3"), "expected a roll with --plays, got --plays alone"),
        (("--as-money",), "expected a match with --as-money, got money play"),
        (("--model", "janowski-first", "--jacoby"), "expected a model that knows the jacoby rule, got janowski-first"),
    ],
)
def test_invalid_cubes_are_refused(root: Path, options: tuple[str, ...], message: str) -> None:
    result = run(root, "rollout", ENDING_ID, "--network", "random", "--trials", "72", *options)
    assert error_of(result, result.exit_code).startswith(message)


RESUMABLE = (START_ID, "--network", "random", "--truncate", "3", "--stop", "end", "--format", "json")
POSITION = (*RESUMABLE, "--trials", "360", "--seed", "5")
PLAYS = (*RESUMABLE, "--trials", "144", "31", "--within", "9", "--plays", "3")
ROUNDS = (*RESUMABLE, "--trials", "144", "--until", "0.0001", "--most-trials", "576")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own for rollouts, with the existing compiled kernels."""
    compiled = kernel_cache.kernel_cache()
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / compiled.name).symlink_to(compiled)
    monkeypatch.setenv("BGDATA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "rollouts"


@pytest.fixture
def short_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make each slice of a rollout as short as possible: one block for each thread."""
    monkeypatch.setattr(rollout_command, "MIN_BLOCKS", 1)
    monkeypatch.setattr(rollout_command, "SLICE_SECONDS", 0.0)


def run_stopped(
    monkeypatch: pytest.MonkeyPatch, root: Path, arguments: tuple[str, ...], after: int, error: BaseException
) -> Result:
    """Run a rollout that raises `error` after `after` slices."""
    left = after

    def tell(self: TerminalBars, text: str) -> None:  # noqa: ARG001
        nonlocal left
        left -= 1
        if not left:
            raise error

    with monkeypatch.context() as changed:
        changed.setattr(TerminalBars, "tell", tell)
        return run(root, "rollout", *arguments)


def kept_trials(result: Result) -> int:
    """The number of trials that a stopped rollout reports as kept."""
    kept = r"([\d,]+) trials of this rollout are kept, the same command goes on from there"
    *notes, line = result.stderr.splitlines()
    found = re.fullmatch(f"error: interrupted; {kept}", line)
    assert (result.exit_code, bool(found)) == (130, True), result.stderr
    assert all(note.startswith("going on with this rollout after ") for note in notes)
    assert found
    return int(found[1].replace(",", ""))


@pytest.mark.usefixtures("short_slices")
@pytest.mark.parametrize("arguments", [POSITION, PLAYS, ROUNDS], ids=["position", "plays", "rounds"])
def test_stopped_rollout_resumes(
    player_root: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    """A rollout that is stopped twice gives exactly the figures of one that was never stopped."""
    whole = json.loads(output_of(player_root, "rollout", *arguments))
    assert [*cache.iterdir()] == [] if cache.exists() else True
    kept = 0
    for _ in range(2):
        result = run_stopped(monkeypatch, player_root, arguments, 1, KeyboardInterrupt())
        before = kept
        kept = kept_trials(result)
        assert kept > before
        assert [*cache.glob("*/*.npz")]
    result = run(player_root, "rollout", *arguments)
    assert json.loads(result.stdout) == whole
    assert result.stderr == f"going on with this rollout after {kept:,} trials\n"
    assert [*cache.iterdir()] == []


@pytest.mark.usefixtures("short_slices")
def test_more_trials_resume_a_stopped_rollout(player_root: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rollout with more trials continues the stopped one; a rollout with any other changed option does not."""
    more = (*RESUMABLE, "--trials", "720", "--seed", "5")
    whole = json.loads(output_of(player_root, "rollout", *more))
    run_stopped(monkeypatch, player_root, POSITION, 1, KeyboardInterrupt())
    for other in (("--seed", "6"), ("--no-luck",), ("--truncate", "2"), ("31",)):
        assert "going on" not in run(player_root, "rollout", *POSITION, *other).stderr
        assert [*cache.glob("*/*.npz")]
    result = run(player_root, "rollout", *more)
    assert json.loads(result.stdout) == whole
    assert "going on" in result.stderr


@pytest.mark.usefixtures("short_slices")
@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[:200] + b"x" + data[201:]])
def test_damaged_parts_are_played_again(
    player_root: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[[bytes], bytes]
) -> None:
    """A damaged part of a stopped rollout is named and played again, and the result is the same."""
    whole = json.loads(output_of(player_root, "rollout", *POSITION))
    for _ in range(3):
        run_stopped(monkeypatch, player_root, POSITION, 1, KeyboardInterrupt())
    first, second, _ = sorted(cache.glob("*/*.npz"))
    second.write_bytes(damage(second.read_bytes()))
    kept = int(re.split("[-.]", first.name)[1]) * 36
    result = run(player_root, "rollout", *POSITION)
    assert json.loads(result.stdout) == whole
    named, goes_on = result.stderr.splitlines()
    assert re.fullmatch(rf"expected SHA-256 \w+\.\.\. of {second}, found another; computing it anew", named)
    assert goes_on == f"going on with this rollout after {kept:,} trials"


@pytest.mark.usefixtures("short_slices")
def test_rollout_saves_at_checkpoints(player_root: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rollout that is killed without notice continues from its last checkpoint."""
    monkeypatch.setattr(job, "CHECKPOINT_SECONDS", 0.0)
    result = run_stopped(monkeypatch, player_root, POSITION, 2, RuntimeError("killed"))
    assert isinstance(result.exception, RuntimeError)
    assert [*cache.glob("*/*.npz")]
    assert "going on" in run(player_root, "rollout", *POSITION).stderr


@pytest.mark.usefixtures("short_slices")
def test_unwritable_cache_is_reported(player_root: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rollout that cannot be saved still ends, and does not claim that trials were kept."""
    monkeypatch.setattr(job, "CHECKPOINT_SECONDS", 0.0)
    cache.write_text("a file in its place")
    result = run(player_root, "rollout", *POSITION)
    assert result.exit_code == 0
    assert re.fullmatch(r"this rollout is not kept: cannot create .*: part of the path is a file\n", result.stderr)
    result = run_stopped(monkeypatch, player_root, POSITION, 2, KeyboardInterrupt())
    assert result.stderr.splitlines()[-1] == "error: interrupted; nothing was kept"


def test_interrupted_process_keeps_finished_trials(player_root: Path, cache: Path, tmp_path: Path) -> None:
    """A process that is interrupted inside kernels, in a folder without a warehouse, keeps its finished trials."""
    arguments = (START_ID, "--network", "random", "--no-luck", "--trials", "36000000")
    command = bgdata_command("--warehouse", player_root, "rollout", *arguments)
    with started(command, tmp_path, cwd=tmp_path, env=environ | {"BGDATA_CHECKPOINT_SECONDS": "0"}) as run_:
        run_.wait_until(lambda: [*cache.glob("*/*.npz")])
        (message,) = run_.stop(signal.SIGINT)
    assert re.fullmatch(r"error: interrupted; [\d,]+ trials of this rollout are kept, the same .*", message)
    assert {path.name for path in tmp_path.iterdir()} == {"cache", "errors"}
