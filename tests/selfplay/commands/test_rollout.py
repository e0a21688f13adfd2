"""`bgdata rollout`: its output, and errors in one line."""

from __future__ import annotations

import json
import re
import shutil
import signal
from collections.abc import Callable
from os import environ
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

import bgdata
from bgdata import kernel_cache
from bgdata.equity.cube import CubeRules, normalised_point
from bgdata.equity.kinds.match_equity import PUBLISHED
from bgdata.equity.match_equity import find_met
from bgdata.evaluation.networks.player import NetworkPlayer, open_network_player
from bgdata.game.match import MatchScore, Money, Stakes
from bgdata.game.plays import legal_plays
from bgdata.game.position import START, Position
from bgdata.selfplay.commands import rollout as rollout_command
from bgdata.selfplay.cubeful_rollout import CubefulStart, difference, roll_out_with_cube
from bgdata.selfplay.rollout import Limits, RolloutSettings, roll_out
from bgdata.selfplay.rollout_decisions import Window, roll_out_decision
from bgdata.selfplay.rollout_kernels import BLOCK
from bgdata.selfplay.rows import describe_player
from bgdata.store import job
from bgdata.store.progress import TerminalBars
from bgdata.warehouse import Warehouse
from tests.command_line import error_of, output_of, position_id, run
from tests.store.processes import bgdata_command
from tests.test_process import started

START_ID = "4HPwATDgc/ABMA"
BEAROFF_ID = "CgAAEAEAAAAAAA"
ENDING_ID = position_id([2, 1, 2], [1, 2, 1])
RANDOM = ("--network", "random")
SHORT_OPTIONS = (*RANDOM, "--trials", "72", "--truncate", "3", "--stop", "end")
THREE_TURNS = RolloutSettings("end", 3)  # as with SHORT_OPTIONS
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
    player = open_network_player("network/random", 0, bgdata.open_warehouse(player_root))
    assert isinstance(player, NetworkPlayer)
    return player


def json_rows(root: Path, *arguments: str) -> list[dict[str, Any]]:
    """The rows that `rollout` prints as JSON."""
    rows: list[dict[str, Any]] = json.loads(output_of(root, "rollout", *arguments, "--format", "json"))
    return rows


def test_position_is_rolled_out(player_root: Path, player: NetworkPlayer) -> None:
    """The command prints the board, the chances and the equity of `roll_out`, and how much subtracting luck helps."""
    result = roll_out(START_BOARD[None], player.chooser, 72, 3, THREE_TURNS)
    output = output_of(player_root, "rollout", START_ID, *SHORT_OPTIONS, "--seed", "3")
    board, chances, ending = output.split("\n\n")
    assert board.startswith(f"Position ID: {START_ID}\n+-13-")
    win, lose, equity = chances.splitlines()
    win_chance, win_gammon, win_backgammon, lose_gammon, lose_backgammon = result.chances[0].tolist()
    error, *gammon_errors = result.standard_errors[0].tolist()
    assert percentages(win) == pytest.approx(
        [win_chance, error, win_gammon, gammon_errors[0], win_backgammon, gammon_errors[1]], abs=6e-5
    )
    assert percentages(lose) == pytest.approx(
        [1 - win_chance, error, lose_gammon, gammon_errors[2], lose_backgammon, gammon_errors[3]], abs=6e-5
    )
    equity_error, plain_error = result.equity_standard_errors[0], result.plain_standard_errors[0]
    assert equity == f"cubeless equity {result.equities[0]:+.4f} +/- {equity_error:.4f}"
    assert ending == (
        f"72 trials; without subtracting luck the equity had +/- {plain_error:.4f}: "
        f"{plain_error / equity_error:.1f} times as much\n{describe_player(player)}\n"
    )


def percentages(line: str) -> list[float]:
    """The chances and their errors in a line of output, from 0 to 1."""
    return [float(number) / 100 for number in re.findall(r"-?\d+\.\d\d", line)]


def test_json_row_equals_the_rollout(player_root: Path, player: NetworkPlayer) -> None:
    (row,) = json_rows(player_root, START_ID, *SHORT_OPTIONS, "--no-luck")
    result = roll_out(START_BOARD[None], player.chooser, 72, 0, THREE_TURNS._replace(with_luck=False))
    assert row["position_id"] == START_ID
    assert row["win"] == result.chances[0, 0]
    assert row["cubeless_equity"] == result.equities[0]
    assert row["standard_error"] == result.equity_standard_errors[0]
    assert row["plain_standard_error"] == result.equity_standard_errors[0]
    assert row["trials"] == 72
    assert row["is_reached"] is True
    assert row["player"] == "random"


def test_plays_are_ranked(player_root: Path, player: NetworkPlayer) -> None:
    """With a roll, the command prints the plays, equities and losses of `roll_out_decision`, as text and as JSON."""
    arguments = (START_ID, "31", *SHORT_OPTIONS, "--within", "9", "--plays", "4")
    decision = roll_out_decision(START_BOARD, (3, 1), player.chooser, 0, THREE_TURNS, Window(9.0, 2, 4), Limits(72))
    table = output_of(player_root, "rollout", *arguments).split("\n\n")[1]
    _, best, *others, left_out = table.splitlines()
    assert len(others) == 3
    assert [float(line[31:39]) for line in (best, *others)] == pytest.approx(decision.result.equities, abs=6e-5)
    assert [float(line[47:56]) for line in others] == pytest.approx(decision.losses[1:], abs=6e-5)
    assert left_out == f"     and {decision.n_plays - 4} more that were not rolled out"

    rows = json_rows(player_root, *arguments)
    boards = {str(play): list(play.next_position.board) for play in legal_plays(START, "31")}
    assert [boards[row["play"]] for row in rows] == decision.boards.tolist()
    assert [row["loss"] for row in rows] == decision.losses.tolist()
    assert {row["roll"] for row in rows} == {"31"}


def test_unreached_standard_error_is_reported(player_root: Path) -> None:
    """The last line names a larger maximum."""
    arguments = (START_ID, *SHORT_OPTIONS, "--until", "0.0001", "--most-trials", "144")
    last_line = output_of(player_root, "rollout", *arguments).splitlines()[-1]
    match = re.fullmatch(
        r"expected a standard error of at most 0.0001, got \d\.\d{4} after 144 trials; try: --most-trials (\d+)",
        last_line,
    )
    assert match
    assert int(match[1]) % 144 == 0
    (row,) = json_rows(player_root, *arguments)
    assert row["trials"] == 144
    assert row["is_reached"] is False


def test_default_maximum_is_a_multiple_of_trials(player_root: Path) -> None:
    """The default of --most-trials, 46,656, is rounded to a multiple of --trials 360."""
    arguments = (START_ID, *RANDOM, "--trials", "360", "--truncate", "1", "--until", "3")
    (row,) = json_rows(player_root, *arguments)
    assert row["trials"] == 360
    assert row["is_reached"] is True
    assert "expected" not in output_of(player_root, "rollout", *arguments)


def test_exact_positions_have_no_error(player_root: Path) -> None:
    output = output_of(player_root, "rollout", BEAROFF_ID, *RANDOM, "--trials", "72")
    assert "win   67.11 % +/- 0.00" in output
    assert "cubeless equity +0.3422 +/- 0.0000\n\n72 trials\nby " in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x",), "expected one of position id"),
        ((START_ID, "99"), "expected two dice"),
        ((START_ID, "--trials", "100"), "expected a multiple of 36 trials, at least 72, got 100"),
        ((START_ID, "--until", "0"), "expected a standard error above 0, got 0.0"),
        ((START_ID, "--plays", "3"), "expected a roll with --plays, got --plays alone"),
        ((START_ID, "--within", "0.3"), "expected a roll with --within, got --within alone"),
        ((START_ID, "--until", "0.1", "--most-trials", "100"), "expected most trials to be a multiple of 1296, got"),
        ((START_ID, "--most-trials", "2592"), "expected --until with --most-trials, got --most-trials alone"),
        ((START_ID, "--cube", "1", "--most-trials", "2592"), "expected --until with --most-trials"),
        ((START_ID, "--truncate", "-1"), "expected 0 turns"),
        ((START_ID, "31", "--within", "-1"), "expected a window of 0 points or more"),
    ],
)
def test_invalid_arguments_are_refused(player_root: Path, arguments: tuple[str, ...], message: str) -> None:
    assert error_of(run(player_root, "rollout", *arguments, *RANDOM), 2).startswith(message)


def test_missing_network_is_refused(player_root: Path) -> None:
    assert error_of(run(player_root, "rollout", START_ID, "--network", "none"), 1).startswith("no network/none in")


LABEL_TWO_POSITIONS = ("label", "positions/sample", "--network", "tiny", "--trials", "72")


def test_label_rolls_out_positions(warehouse: Warehouse) -> None:
    """`label` rolls out positions of a table; the stored chances equal those of `roll_out`."""
    folder, summary = output_of(warehouse.root, *LABEL_TWO_POSITIONS, "--truncate", "1").splitlines()
    table = warehouse.open("rollout_labels", "positions-sample-by-tiny-72-seed-0")
    assert folder == str(table.folder)
    assert summary.startswith("2 positions, 144 games: standard errors of 0.00")
    player = open_network_player("network/tiny", 0, warehouse)
    assert isinstance(player, NetworkPlayer)
    boards = np.asarray(warehouse.open("positions", "sample").array("boards"))
    result = roll_out(boards, player.chooser, 72, 0, RolloutSettings("exact", 1))
    assert np.array_equal(table.array("chances"), result.legal_chances())


def test_unreached_standard_errors_of_labels_are_reported(warehouse: Warehouse) -> None:
    options = ("--truncate", "4", "--until", "1e-9", "--most-trials", "144")
    assert output_of(warehouse.root, *LABEL_TWO_POSITIONS, *options).splitlines()[2] == (
        "expected standard errors of at most 1e-09, got larger ones for 2 positions after 144 trials; "
        "try: --most-trials 576"
    )


@pytest.mark.parametrize("play_ply", [0, 1])
def test_cube_decision_compares_double_and_no_double(root: Path, player: NetworkPlayer, play_ply: int) -> None:
    """Both cube actions are rolled out with the same dice."""
    board = np.array(Position(ENDING_ID).board, np.int8)
    stakes = Stakes(Money(is_jacoby=False))
    no_double = CubefulStart(board, stakes, may_double=False)
    double_take = CubefulStart(board, stakes.after_take(), may_double=False)
    settings = RolloutSettings(play_ply=play_ply)
    result = roll_out_with_cube([no_double, double_take], player.chooser, CubeRules(), Limits(72), 0, settings)

    arguments = (ENDING_ID, "--cube", "1", *RANDOM, "--trials", "72", "--play-ply", str(play_ply))
    rows = json_rows(root, *arguments)
    assert [row["choice"] for row in rows] == ["no double", "double, take"]
    assert [row["value"] for row in rows] == result.values.tolist()
    assert [row["standard_error"] for row in rows] == result.standard_errors.tolist()
    assert {row["unit"] for row in rows} == {"points per unit cube"}
    assert {row["trials"] for row in rows} == {72}
    gain, error = difference(result, 1, 0)
    assert rows[1]["loss"] == -gain
    assert rows[1]["loss_standard_error"] == error
    line = f"{'no double':<26}{result.values[0]:+9.4f}{result.standard_errors[0]:8.4f}"
    assert line in output_of(root, "rollout", *arguments).splitlines()


def test_double_is_not_rolled_out_if_the_opponent_owns_the_cube(root: Path) -> None:
    rows = json_rows(root, ENDING_ID, "--cube", "2", "--owner", "opponent", *RANDOM, "--trials", "72")
    assert [row["choice"] for row in rows] == ["no double"]


def test_until_is_in_points_of_equity_in_a_match(root: Path) -> None:
    """`--until` is in points of normalised equity in a match too, where such a point is a few percent of the match."""
    met = find_met(bgdata.open_warehouse(root), "published-12")
    point = normalised_point(Stakes(MatchScore(11, 11)), CubeRules(met=met))
    assert point < 0.1
    arguments = ("start", *RANDOM, "--trials", "72", "--most-trials", "144", "--away", "11-11", "--met", "published-12")
    (row, _) = json_rows(root, *arguments, "--until", "9")
    assert row["trials"] == 72
    assert row["is_reached"] is True
    error_in_points = row["standard_error"] / point
    text = output_of(root, "rollout", *arguments, "--until", f"{9 * error_in_points}")
    assert "expected a standard error" not in text
    text = output_of(root, "rollout", *arguments, "--until", f"{2 * row['standard_error']}")  # as if mwc were points
    assert re.search(r"expected a standard error of at most \S+, got \d\.\d+ after 144 trials; try: --most-tr", text)


def test_unreached_standard_error_with_the_cube_is_reported(root: Path) -> None:
    limits = ("--trials", "72", "--most-trials", "144", "--until", "0.00001")
    rows = json_rows(root, "start", *RANDOM, "--cube", "1", *limits)
    assert {row["trials"] for row in rows} == {144}
    assert {row["is_reached"] for row in rows} == {False}


def test_plays_with_the_cube_are_ranked(root: Path, player: NetworkPlayer) -> None:
    """Plays are ranked by rollouts after which the opponent is on roll and may double. Values are for the player who
    moves."""
    arguments = (ENDING_ID, "21", "--away", "3-5", "--met", "published-12", *RANDOM, "--trials", "72", "--plays", "2")
    rows = json_rows(root, *arguments)
    boards = {str(play): play.next_position.board for play in legal_plays(Position(ENDING_ID), "21")}
    opponents_stakes = Stakes(MatchScore(3, 5)).flip()
    starts = [CubefulStart(np.array(boards[row["choice"]], np.int8), opponents_stakes) for row in rows]
    rules = CubeRules(met=find_met(bgdata.open_warehouse(root), "published-12"))
    result = roll_out_with_cube(starts, player.chooser, rules, Limits(72))
    assert [row["value"] for row in rows] == pytest.approx((1 - result.values).tolist())
    assert rows[0]["loss"] == 0
    assert rows[1]["loss"] >= 0
    assert {row["unit"] for row in rows} == {"mwc"}
    assert rows[0]["choice"] in output_of(root, "rollout", *arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("21", "--cube", "1", "--within", "-1"), "expected a window of 0 points or more"),
        (("21", "--cube", "1", "--within", "nan"), "expected a window of 0 points or more"),
        (("--cube", "1", "--truncate", "3"), "expected neither --stop nor --truncate with the cube"),
        (("--away", "3-5", "--met", "none"), "no match equity table none in "),
        (("--away", "3-5", "--jacoby"), "expected the jacoby rule in money play only, got it at "),
        (("--cube", "1", "--plays", "3"), "expected a roll with --plays, got --plays alone"),
        (("--as-money",), "expected a match with --as-money, got money play"),
        (("--model", "janowski-first", "--jacoby"), "expected a model that knows the jacoby rule, got janowski-first"),
    ],
)
def test_invalid_cubes_are_refused(root: Path, options: tuple[str, ...], message: str) -> None:
    result = run(root, "rollout", ENDING_ID, *RANDOM, "--trials", "72", *options)
    assert error_of(result, result.exit_code).startswith(message)


RESUMABLE = (START_ID, *RANDOM, "--truncate", "3", "--stop", "end", "--format", "json")
POSITION = (*RESUMABLE, "--trials", "360", "--seed", "5")
PLAYS = (*RESUMABLE, "--trials", "144", "31", "--within", "9", "--plays", "3")
ROUNDS = (*RESUMABLE, "--trials", "144", "--until", "0.0001", "--most-trials", "576")


@pytest.fixture
def rollout_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in which stopped rollouts are saved, beside the existing compiled kernels."""
    compiled_kernels = kernel_cache.kernel_cache()
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / compiled_kernels.name).symlink_to(compiled_kernels)
    monkeypatch.setenv("BGDATA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "rollouts"


def saved_parts(rollout_cache: Path) -> list[Path]:
    """The files with finished trials of stopped rollouts."""
    return sorted(rollout_cache.glob("*/*.npz"))


@pytest.fixture
def short_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make each slice of a rollout as short as possible: one block for each thread."""
    monkeypatch.setattr(rollout_command, "MIN_BLOCKS", 1)
    monkeypatch.setattr(rollout_command, "SLICE_SECONDS", 0.0)


def run_stopped(
    monkeypatch: pytest.MonkeyPatch, root: Path, arguments: tuple[str, ...], after: int, error: BaseException
) -> Result:
    """Run a rollout that raises `error` after `after` slices."""
    slices_left = after

    def tell(self: TerminalBars, text: str) -> None:  # noqa: ARG001
        nonlocal slices_left
        slices_left -= 1
        if not slices_left:
            raise error

    with monkeypatch.context() as patch:
        patch.setattr(TerminalBars, "tell", tell)
        return run(root, "rollout", *arguments)


def kept_trials(result: Result) -> int:
    """The number of trials that an interrupted rollout reports as kept."""
    assert result.exit_code == 130
    *notes, error = result.stderr.splitlines()
    match = re.fullmatch(
        r"error: interrupted; ([\d,]+) trials of this rollout are kept, the same command goes on from there", error
    )
    assert match, result.stderr
    assert all(note.startswith("going on with this rollout after ") for note in notes)
    return int(match[1].replace(",", ""))


@pytest.mark.usefixtures("short_slices")
@pytest.mark.parametrize("arguments", [POSITION, PLAYS, ROUNDS], ids=["position", "plays", "rounds"])
def test_stopped_rollout_resumes(
    player_root: Path, rollout_cache: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    """A rollout that is stopped twice gives exactly the figures of one that was never stopped."""
    expected = output_of(player_root, "rollout", *arguments)
    assert saved_parts(rollout_cache) == []
    first_kept = kept_trials(run_stopped(monkeypatch, player_root, arguments, 1, KeyboardInterrupt()))
    then_kept = kept_trials(run_stopped(monkeypatch, player_root, arguments, 1, KeyboardInterrupt()))
    assert 0 < first_kept < then_kept
    assert saved_parts(rollout_cache)
    result = run(player_root, "rollout", *arguments)
    assert result.stdout == expected
    assert result.stderr == f"going on with this rollout after {then_kept:,} trials\n"
    assert list(rollout_cache.iterdir()) == []


@pytest.mark.usefixtures("short_slices")
def test_more_trials_resume_a_stopped_rollout(
    player_root: Path, rollout_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rollout with more trials continues the stopped one; a rollout with any other changed option does not."""
    more_trials = (*RESUMABLE, "--trials", "720", "--seed", "5")
    expected = output_of(player_root, "rollout", *more_trials)
    run_stopped(monkeypatch, player_root, POSITION, 1, KeyboardInterrupt())
    for changed in (("--seed", "6"), ("--no-luck",), ("--truncate", "2"), ("31",)):
        assert "going on" not in run(player_root, "rollout", *POSITION, *changed).stderr
        assert saved_parts(rollout_cache)
    result = run(player_root, "rollout", *more_trials)
    assert result.stdout == expected
    assert "going on" in result.stderr


@pytest.mark.usefixtures("short_slices")
@pytest.mark.parametrize(
    "damage",
    [lambda data: data[:-1], lambda data: data[:200] + b"x" + data[201:]],
    ids=["truncated", "changed byte"],
)
def test_damaged_parts_are_played_again(
    player_root: Path, rollout_cache: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[[bytes], bytes]
) -> None:
    """A damaged part of a stopped rollout is named and played again, and the result is the same."""
    expected = output_of(player_root, "rollout", *POSITION)
    for _ in range(3):
        run_stopped(monkeypatch, player_root, POSITION, 1, KeyboardInterrupt())
    first, second, _ = saved_parts(rollout_cache)
    second.write_bytes(damage(second.read_bytes()))
    n_intact = int(re.split("[-.]", first.name)[1]) * BLOCK
    result = run(player_root, "rollout", *POSITION)
    assert result.stdout == expected
    damage_note, resume_note = result.stderr.splitlines()
    assert re.fullmatch(rf"expected SHA-256 \w+\.\.\. of {second}, found another; computing it anew", damage_note)
    assert resume_note == f"going on with this rollout after {n_intact:,} trials"


@pytest.mark.usefixtures("short_slices")
def test_rollout_saves_at_checkpoints(player_root: Path, rollout_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rollout that is killed without notice continues from its last checkpoint."""
    monkeypatch.setattr(job, "CHECKPOINT_SECONDS", 0.0)
    result = run_stopped(monkeypatch, player_root, POSITION, 2, RuntimeError("killed"))
    assert isinstance(result.exception, RuntimeError)
    assert saved_parts(rollout_cache)
    assert "going on" in run(player_root, "rollout", *POSITION).stderr


@pytest.mark.usefixtures("short_slices")
def test_unwritable_cache_is_reported(player_root: Path, rollout_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rollout that cannot be saved still ends, and does not claim that trials were kept."""
    monkeypatch.setattr(job, "CHECKPOINT_SECONDS", 0.0)
    rollout_cache.write_text("a file in its place")
    result = run(player_root, "rollout", *POSITION)
    assert result.exit_code == 0
    assert re.fullmatch(r"this rollout is not kept: cannot create .*: part of the path is a file\n", result.stderr)
    result = run_stopped(monkeypatch, player_root, POSITION, 2, KeyboardInterrupt())
    assert result.stderr.splitlines()[-1] == "error: interrupted; nothing was kept"


def test_interrupted_process_keeps_finished_trials(player_root: Path, rollout_cache: Path, tmp_path: Path) -> None:
    """A process that is interrupted inside kernels, in a folder without a warehouse, keeps its finished trials."""
    endless = ("--trials", "36000000")
    command = bgdata_command("--warehouse", player_root, "rollout", START_ID, *RANDOM, "--no-luck", *endless)
    with started(command, tmp_path, cwd=tmp_path, env=environ | {"BGDATA_CHECKPOINT_SECONDS": "0"}) as process:
        process.wait_until(lambda: saved_parts(rollout_cache))
        (message,) = process.stop(signal.SIGINT)
    assert re.fullmatch(r"error: interrupted; [\d,]+ trials of this rollout are kept, the same .*", message)
    assert {path.name for path in tmp_path.iterdir()} == {"cache", "errors"}
