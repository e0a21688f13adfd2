"""`bgdata train output-trials`: means of the last half, rows as data, and a picture."""

import json
from pathlib import Path

import pytest

from bgdata.training.commands.output_trials import figure_value, mean_row
from bgdata.training.kinds.output_trials import FIGURES, TRIALS
from tests.command_line import output_of, run

SMALL = ("train", "output-trials", "--games", "5", "--units", "4", "--row-games", "2", "--test-games", "4")


def test_output_trials_prints_a_line_for_each_trial(small_root: Path) -> None:
    folder, heading, _, *lines = output_of(small_root, *SMALL).splitlines()
    assert "output_trials/5-units-4-rate-0-1-seed-1/r1-" in folder
    assert heading.startswith("means from 4 games on; ")
    assert [line.split("  ")[0] for line in lines] == list(TRIALS)
    rows = json.loads(output_of(small_root, *SMALL, "--format", "json"))
    assert [row["trial"] for row in rows[::3]] == list(TRIALS)
    rows_of_last_trial = [row for row in rows if row["trial"] == "chances"]
    mean = f"{(rows_of_last_trial[1]['turns_per_game'] + rows_of_last_trial[2]['turns_per_game']) / 2:.1f}"
    assert mean in lines[-1].split()


def test_means_are_of_independent_games() -> None:
    rows = [{"trial": "zeroed", "games": n, **{column.name: float(n) for column in FIGURES}} for n in (1, 3, 4)]
    mean = mean_row(rows)
    assert mean["points_per_game"] == 3.5
    assert mean["standard_error"] == pytest.approx(5 / 2)
    assert mean["games"] == 3
    assert figure_value({"win_gammon": 0.2, "win": 0.5}, "gammon_given_win") == pytest.approx(0.4)
    assert figure_value({"gammon_share": 0.0}, "gammon_share") == 0.0


def test_picture_is_written(small_root: Path, tmp_path: Path) -> None:
    result = run(small_root, *SMALL, "--plot", tmp_path / "a.png")
    assert result.stderr.splitlines()[-1] == f"wrote {tmp_path / 'a.png'}"
    assert (tmp_path / "a.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
