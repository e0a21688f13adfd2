"""With `--format json` or `csv` standard output is data alone, for every command that has them."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import click
import pytest

from tests.commands.command_line import POSITION, run
from tests.formats import samples
from tests.formats.sessions import MAT
from tests.test_cli import EVERY, command_at

START_ID = "4HPwATDgc/ABMA"
TRIALS = ("--network", "tiny", "--trials", "72", "--truncate", "2")
# arguments of every command that prints data; {tmp} has files to read
SAMPLES: dict[str, list[tuple[str, ...]]] = {
    "query": [("from bearoff_one_sided_3x15 limit 3",), ("select 1 where false",)],
    "eval": [(START_ID,), (POSITION,)],
    "hint": [(START_ID, "31")],
    "cube": [(START_ID,), (POSITION, "--score", "0-1", "--length", "7", "--met", "published-12")],
    "luck": [("{tmp}/session.mat",), ("{tmp}/session.mat", "--games")],
    "rollout": [(START_ID, *TRIALS), (START_ID, "31", *TRIALS)],
    "benchmark": [
        ("pubeval", "--bm", "{tmp}/contact.bm"),
        ("pubeval", "--against", "random", "--games", "4"),
        ("pubeval", "--against", "random", "--games", "4", "--luck"),
    ],
    "referee": [("pubeval", "--decisions", "20", "--table", "3x3"), ("random", "--decisions", "20")],
    "score": [
        ("pubeval", "--games", "4", "--hedged-games", "0", "--decisions", "20", "--no-programs"),
        ("random", "--games", "4", "--hedged-games", "0", "--decisions", "20", "--no-programs"),
    ],
}


def forms(names: tuple[str, ...]) -> set[str]:
    """The forms of data that a command prints; what it writes to a file that must be named is no output."""
    options = {parameter.name: parameter for parameter in command_at(names).params}
    kind = options["form"].type if "form" in options else None
    if not isinstance(kind, click.Choice) or ("output" in options and options["output"].required):
        return set()
    return {"json", "csv"} & set(map(str, kind.choices))


PRINTING = {" ".join(names): forms(names) for names in EVERY if forms(names)}
CASES = [(name, form) for name, has in PRINTING.items() for form in sorted(has)]


def test_every_command_with_data_has_samples() -> None:
    assert set(PRINTING) == set(SAMPLES)
    assert {"json"} < set.union(*PRINTING.values())
    for names in EVERY:  # none calls its option otherwise
        spelled = [each for each in command_at(names).params if "--format" in each.opts]
        assert all(each.name == "form" for each in spelled), names


def parsed(form: str, text: str) -> Any:
    """All of a text as data. Raises ValueError for what is none."""
    if form == "json":
        return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    head, *rows = csv.reader(text.splitlines(), strict=True)
    if any(len(row) != len(head) for row in rows) or not all(name.replace("_", "").isalnum() for name in head):
        raise ValueError(text)
    return rows


@pytest.mark.parametrize(("name", "form"), CASES, ids=[" ".join(case) for case in CASES])
def test_standard_output_is_data_alone(small_root: Path, tmp_path: Path, name: str, form: str) -> None:
    """The first time, when things are built and imported, and the second, when they are there."""
    root = tmp_path / "warehouse"
    shutil.copytree(small_root, root)
    (tmp_path / "session.mat").write_text(MAT.replace("$", ""))
    (tmp_path / "contact.bm").write_bytes(samples.BENCHMARK_ROWS)
    for arguments in SAMPLES[name]:
        given = [argument.replace("{tmp}", str(tmp_path)) for argument in arguments]
        shown = []
        for _ in range(2):
            result = run(root, name, *given, "--format", form)
            assert result.exit_code == 0, result.output
            shown.append(parsed(form, result.stdout))
        assert shown[0] == shown[1]
        assert shown[0] or "false" in given[0]
