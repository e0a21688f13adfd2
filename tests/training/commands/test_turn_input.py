"""`bgdata train turn-input`: what three arms say of the start, as a table, as data and as a picture."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.command_line import error_of, run, succeeds

TINY = ("train", "turn-input", "--games", "5", "--units", "4", "--row-games", "2")


def test_a_line_for_each_row(small_root: Path) -> None:
    folder, said, head, *rows = succeeds(small_root, *TINY).splitlines()
    assert re.search(r"turn_input/5-units-4-rate-0-1-seed-1/r1-[0-9a-f]{8}$", folder)
    assert said == "chances at the start with the dice, in %: to win, to win a gammon, to lose a gammon"
    assert re.split("  +", head.strip()) == ["games", "dice kept", "dice passed", "no input"]
    query = "select games, arm, win, win_gammon, lose_gammon from turn_input order by games, arm"
    figures = json.loads(succeeds(small_root, "query", query, "--format", "json"))
    shown = [[f"{100 * each[name]:.1f}" for name in ("win", "win_gammon", "lose_gammon")] for each in figures]
    assert [row.split() for row in rows] == [
        [str(games), *shown[3 * place], *shown[3 * place + 1], *shown[3 * place + 2]]
        for place, games in enumerate((2, 4, 5))
    ]


def test_data_are_those_of_the_table(small_root: Path) -> None:
    rows = json.loads(succeeds(small_root, *TINY, "--format", "json"))
    query = "select * exclude (variant) from turn_input order by arm, games"
    assert rows == json.loads(succeeds(small_root, "query", query, "--format", "json"))


def test_a_picture(small_root: Path, tmp_path: Path) -> None:
    pictures = [tmp_path / f"{name}.png" for name in "ab"]
    for picture in pictures:
        result = run(small_root, *TINY, "--plot", picture)
        assert result.exit_code == 0, result.output
        assert result.stderr.splitlines()[-1] == f"wrote {picture}"
    assert pictures[0].read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert pictures[0].read_bytes() == pictures[1].read_bytes()


def test_wrong_numbers(tmp_path: Path) -> None:
    said = error_of(run(tmp_path, "train", "turn-input", "--games", "0"), 2)
    assert said == "expected 1 to 2^31 - 1 games, got 0"
