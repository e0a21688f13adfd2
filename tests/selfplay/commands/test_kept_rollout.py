"""Rollouts that are stopped: they say what they keep, go on from there to the same figures, and leave nothing."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable
from os import environ
from pathlib import Path

import pytest
from click.testing import Result

from bgdata import kernel_cache
from bgdata.selfplay.commands import kept_rollout
from bgdata.store import job
from bgdata.store.progress import TerminalBars
from tests.command_line import run, succeeds
from tests.store.processes import bgdata_command
from tests.test_process import started

START_ID = "4HPwATDgc/ABMA"
SHORT = (START_ID, "--network", "random", "--truncate", "3", "--stop", "end", "--format", "json")
POSITION = (*SHORT, "--trials", "360", "--seed", "5")
PLAYS = (*SHORT, "--trials", "144", "31", "--within", "9", "--plays", "3")
ROUNDS = (*SHORT, "--trials", "144", "--until", "0.0001", "--most-trials", "576")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for rollouts of its own, with the compiled kernels that are there."""
    compiled = kernel_cache.kernel_cache()
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / compiled.name).symlink_to(compiled)
    monkeypatch.setenv("BGDATA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "rollouts"


@pytest.fixture
def slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices of as many blocks as there are threads, at most."""
    monkeypatch.setattr(kept_rollout, "LEAST_BLOCKS", 1)
    monkeypatch.setattr(kept_rollout, "SLICE_SECONDS", 0.0)


def stopped(
    monkeypatch: pytest.MonkeyPatch, root: Path, arguments: tuple[str, ...], after: int, error: BaseException
) -> Result:
    """Run a rollout that ends in an error after so many slices."""
    left = after

    def tell(self: TerminalBars, text: str) -> None:  # noqa: ARG001
        nonlocal left
        left -= 1
        if not left:
            raise error

    with monkeypatch.context() as changed:
        changed.setattr(TerminalBars, "tell", tell)
        return run(root, "rollout", *arguments)


def trials_kept(result: Result) -> int:
    """What a stopped rollout says of itself."""
    kept = r"([\d,]+) trials of this rollout are kept, the same command goes on from there"
    *notes, line = result.stderr.splitlines()
    found = re.fullmatch(f"error: interrupted; {kept}", line)
    assert (result.exit_code, bool(found)) == (130, True), result.stderr
    assert all(note.startswith("going on with this rollout after ") for note in notes)
    assert found
    return int(found[1].replace(",", ""))


@pytest.mark.usefixtures("slices")
@pytest.mark.parametrize("arguments", [POSITION, PLAYS, ROUNDS], ids=["position", "plays", "rounds"])
def test_a_stopped_rollout_resumes(
    player_root: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    """Twice, to exactly the figures of one that was never stopped."""
    whole = json.loads(succeeds(player_root, "rollout", *arguments))
    assert [*cache.iterdir()] == [] if cache.exists() else True
    kept = 0
    for _ in range(2):
        result = stopped(monkeypatch, player_root, arguments, 1, KeyboardInterrupt())
        before, kept = kept, trials_kept(result)
        assert kept > before
        assert [*cache.glob("*/*.npz")]
    result = run(player_root, "rollout", *arguments)
    assert json.loads(result.stdout) == whole
    assert result.stderr == f"going on with this rollout after {kept:,} trials\n"
    assert [*cache.iterdir()] == []


@pytest.mark.usefixtures("slices")
def test_more_trials_resume_a_stopped_rollout(player_root: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials do not depend on how many there are; everything else makes another rollout."""
    more = (*SHORT, "--trials", "720", "--seed", "5")
    whole = json.loads(succeeds(player_root, "rollout", *more))
    stopped(monkeypatch, player_root, POSITION, 1, KeyboardInterrupt())
    for other in (("--seed", "6"), ("--no-luck",), ("--truncate", "2"), ("31",)):
        assert "going on" not in run(player_root, "rollout", *POSITION, *other).stderr
        assert [*cache.glob("*/*.npz")]
    result = run(player_root, "rollout", *more)
    assert (json.loads(result.stdout), "going on" in result.stderr) == (whole, True)


@pytest.mark.usefixtures("slices")
@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[:200] + b"x" + data[201:]])
def test_damaged_parts_are_played_again(
    player_root: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[[bytes], bytes]
) -> None:
    whole = json.loads(succeeds(player_root, "rollout", *POSITION))
    for _ in range(3):
        stopped(monkeypatch, player_root, POSITION, 1, KeyboardInterrupt())
    first, second, _ = sorted(cache.glob("*/*.npz"))
    second.write_bytes(damage(second.read_bytes()))
    kept = int(re.split("[-.]", first.name)[1]) * 36
    result = run(player_root, "rollout", *POSITION)
    assert json.loads(result.stdout) == whole
    named, goes_on = result.stderr.splitlines()
    assert re.fullmatch(rf"expected SHA-256 \w+\.\.\. of {second}, found another; computing it anew", named)
    assert goes_on == f"going on with this rollout after {kept:,} trials"


@pytest.mark.usefixtures("slices")
def test_a_killed_rollout_has_saved(player_root: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever ends it: parts are written from time to time, here all the time."""
    monkeypatch.setattr(job, "CHECKPOINT_SECONDS", 0.0)
    result = stopped(monkeypatch, player_root, POSITION, 2, RuntimeError("killed"))
    assert isinstance(result.exception, RuntimeError)
    assert [*cache.glob("*/*.npz")]
    assert "going on" in run(player_root, "rollout", *POSITION).stderr


@pytest.mark.usefixtures("slices")
def test_an_unwritable_cache_is_reported(player_root: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rollout that only needs to be read off a disk that is full still comes to its end, and claims nothing."""
    monkeypatch.setattr(job, "CHECKPOINT_SECONDS", 0.0)
    cache.write_text("a file in its place")
    result = run(player_root, "rollout", *POSITION)
    assert result.exit_code == 0
    assert re.fullmatch(r"this rollout is not kept: cannot create .*: part of the path is a file\n", result.stderr)
    result = stopped(monkeypatch, player_root, POSITION, 2, KeyboardInterrupt())
    assert result.stderr.splitlines()[-1] == "error: interrupted; nothing was kept"


def test_ctrl_c_in_a_real_one(player_root: Path, cache: Path, tmp_path: Path) -> None:
    """In the middle of kernels, in a folder without a warehouse: what is finished is kept."""
    arguments = (*SHORT[:1], "--network", "random", "--no-luck", "--trials", "36000000")
    command = bgdata_command("--warehouse", player_root, "rollout", *arguments)
    with started(command, tmp_path, cwd=tmp_path, env=environ | {"BGDATA_CHECKPOINT_SECONDS": "0"}) as run_:
        run_.wait_until(lambda: [*cache.glob("*/*.npz")])
        (said,) = run_.stop(signal.SIGINT)
    assert re.fullmatch(r"error: interrupted; [\d,]+ trials of this rollout are kept, the same .*", said)
    assert {path.name for path in tmp_path.iterdir()} == {"cache", "errors"}
