"""Tests of `--format json` and `csv`: standard output has only data, for every command with these formats."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import click
import pytest

import bgdata
from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters
from bgdata.store.lockfile import save_lock
from bgdata.studies import rows as claims
from bgdata.studies.kinds.claims import DATASET as CLAIMS
from tests.cli.test_grammar import commands as all_commands
from tests.command_line import POSITION, run
from tests.formats import samples
from tests.formats.sessions import MAT
from tests.kept import link
from tests.subtests import each

START_ID = "4HPwATDgc/ABMA"
TRIALS = ("--network", "tiny", "--trials", "72", "--truncate", "2")
BOOK = (*TRIALS[:4], *("--truncate", "1", "--until", "9", "--only", "31", "--sensible-plays", "1"))
ONE_PLAYER = ("--games", "4", "--luck-adjusted-games", "0", "--decisions", "20", "--no-programs")
REFERENCE = (*TRIALS, "--seed", "1")
TINY = ("--games", "40", "--round-games", "20", "--row-games", "20", "--test-games", "4", "--hidden", "4")
# arguments of every command that prints data; {tmp} has files to read
SAMPLES: dict[str, list[tuple[str, ...]]] = {
    "list": [()],
    "diagnose": [()],
    "explain": [("bearoff_two_sided",), ("cube_decisions",), ("best_cube_action",), ("versions",)],
    "query": [("from bearoff_one_sided_3x15 limit 3",), ("select 1 where false",)],
    "rebuild": [("bearoff_gammon", "--check")],
    "verify": [("bearoff_gammon", "--sample", "3")],
    "publish": [("{tmp}/published", "bearoff_gammon", "match_equity")],
    "diff": [(), ("bearoff_gammon/3x15", "bearoff_gammon/3x15")],
    "show": [(START_ID,), (START_ID, "--roll", "31"), ("XGID=-b----E-C---eE---c-e----B-:0:0:1:52:2:3:0:7:10",)],
    "probe": [(POSITION,), (POSITION, "--away", "3-5", "--met", "published-12")],
    "eval": [(START_ID,), (POSITION,)],
    "hint": [
        (START_ID, "31"),
        (START_ID, "31", "--cube", "2"),
        (START_ID, "31", "--away", "3-5", "--met", "published-12"),
    ],
    "cube": [(START_ID,), (POSITION, "--away", "7-6", "--met", "published-12")],
    "analyze": [
        ("{tmp}/session.mat", "--ply", "0", "--network", "tiny", *by) for by in ((), ("--by-game",), ("--by-player",))
    ],
    "matches": [(), ("left",)],
    "luck": [("{tmp}/session.mat",), ("{tmp}/session.mat", "--by-game")],
    "rollout": [(START_ID, *TRIALS), (START_ID, "31", *TRIALS), (POSITION, "--cube", "1", *TRIALS[:4])],
    "benchmark": [
        ("pubeval", "--bm", "{tmp}/contact.bm"),
        ("pubeval", "--against", "random", "--games", "4"),
        ("pubeval", "--against", "random", "--games", "4", "--luck"),
    ],
    "referee": [("pubeval", "--decisions", "20", "--table", "3x3"), ("random", "--decisions", "20")],
    "score": [("pubeval", *ONE_PLAYER), ("random", *ONE_PLAYER)],
    "ladder": [("network/tiny", "pubeval", "--alone", "--games", "4")],
    "compare": [
        (),
        ("network/tiny", "network/tiny:1", "--split", "validation", "--quantity", "win"),
        ("pubeval", "random", "--benchmarks"),
    ],
    "import": [("positions", "{tmp}/list.txt")],
    "selfplay": [("--player", "pubeval", "--games", "4")],
    "label": [("positions/{positions}", "--engine", "lookahead", "--network", "tiny")],
    "rescore": [("selfplay/{corpus}", "--table", "3x3")],
    "decisions": [("selfplay/{corpus}", *TRIALS, "--decisions", "1", "--class", "race", "--plays", "2")],
    "check-reference": [("pubeval", *REFERENCE, "--checked", "3", "--reference", "2-by-tiny-seed-1")],
    "reference": [(*REFERENCE, "--positions", "2", "--until", "0.5", "--most-trials", "72")],
    "study": [("index", "--games", "4", "--player", "network/tiny")],
    "openings": [BOOK, (*BOOK, "31"), (*BOOK, "31", "64"), (*BOOK, "--beside", "published")],
    "met build": [("--row", "0.5 0.49 0.32", "--gammon-rate", "0.25", "--length", "3")],
    "met show": [("published-12",), ("published-12", "--away", "3-5"), ("published-12", "--away", "1-5", "--crawford")],
    "met compare": [("published-12", "published-12", "--length", "3")],
    "cube-life": [("--points", "2", "--checkers", "2"), ("--rollouts",)],
    "race-error": [("--table", "6x6")],
    "race-rules": [("selfplay/{corpus}", "--table", "6x6")],
    "claims": [(), ("A12",)],
    "train games": [("games", "--network", "tiny", "--games", "11")],
    "train td": [("tiny-too", *TINY)],
    "train turn-input": [("--games", "4", "--units", "4", "--row-games", "2")],
    "train output-trials": [("--games", "4", "--units", "4", "--row-games", "2")],
    "train parts": [("--labels", "selfplay_labels", "--parts", "2", "--units", "4", "--epochs", "1")],
    "train sl": [
        ("tinier", "--labels", "selfplay_labels", "--start", "network/tiny", "--epochs", "1", "--test-games", "4")
    ],
    "gc": [("--dry-run",)],
    "fetch": [()],
}
# other commands print text for people: messages, a game, or a script
NO_DATA = {
    "build", "play", "export gnubg-bd", "export text", "export letters", "export met",
    "export onnx", "export torch", "export parquet", "met plot", "train plot", "use", "rm", "lock", "catalog",
    "completion", "external", "fibs", "ubgi", "serve", "quiz",
    "push", "pull",  # need another place: see tests/warehouse/commands/test_transfer.py
}  # fmt: skip


def test_every_command_with_data_has_formats() -> None:
    commands = {" ".join(names): command for names, command in all_commands().items()}
    groups = {name for name, command in commands.items() if isinstance(command, click.Group)}
    printing = {name for name in commands if "form" in {each.name for each in commands[name].params}} - NO_DATA
    assert set(SAMPLES) == printing
    assert printing | NO_DATA | groups == set(commands)
    for name in printing - {"query"}:
        (option,) = (each for each in commands[name].params if each.name == "form")
        assert isinstance(option.type, click.Choice)
        assert option.opts == ["--format"]
        assert (list(option.type.choices), option.default) == (["table", "csv", "json"], "table"), name


def parse_output(form: str, text: str) -> Any:
    """A whole text as data. Raises ValueError for other text."""
    if form == "json":
        return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    head, *rows = csv.reader(text.splitlines(), strict=True)
    if any(len(row) != len(head) for row in rows) or not all(name.replace("_", "").isalnum() for name in head):
        raise ValueError(text)
    return rows


@pytest.mark.slow
@each("name", list(SAMPLES))
def test_standard_output_has_only_data(
    small_root: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `--format json` or `csv`, the standard output of every command can be parsed. A second run, which finds
    everything built, prints the same."""
    root = link(small_root, tmp_path / "warehouse")
    (tmp_path / "session.mat").write_text(MAT.replace("$", ""))
    (tmp_path / "contact.bm").write_bytes(samples.BENCHMARK_ROWS)
    (tmp_path / "list.txt").write_text(f"{START_ID}\n")
    warehouse = bgdata.open_warehouse(root)
    if name in ("rebuild", "diff"):
        save_lock(warehouse.lock, [warehouse.build("bearoff_gammon", RaceParameters(6)).manifest])
    (warehouse.staging / "left-over").mkdir(parents=True)  # for gc
    monkeypatch.setattr(claims, "WHOLE", CLAIMS.smallest)
    names = {
        "tmp": str(tmp_path),
        "corpus": warehouse.variants("selfplay")[0],
        "positions": warehouse.variants("positions")[0],
    }

    def printed_data(form: str, arguments: tuple[str, ...]) -> Any:
        result = run(root, *name.split(), *(text.format_map(names) for text in arguments), "--format", form)
        assert result.exit_code == 0, result.output
        return parse_output(form, result.stdout)

    for arguments in SAMPLES[name]:
        rows = printed_data("json", arguments)
        assert printed_data("json", arguments) == rows
        assert len(printed_data("csv", arguments)) == len(rows)
        assert rows or "false" in arguments[0]


def test_csv_and_json_have_the_same_rows(small_root: Path) -> None:
    """CSV and JSON have the same columns and numbers, and JSON has no numbers as strings."""
    for arguments in (["eval", START_ID], ["probe", POSITION], ["show", START_ID, "--roll", "31"], ["cube", START_ID]):
        rows = json.loads(run(small_root, *arguments, "--format", "json").stdout)
        table = list(csv.DictReader(run(small_root, *arguments, "--format", "csv").stdout.splitlines()))
        assert [list(row) for row in rows] == [list(row) for row in table]
        for row, cells in zip(rows, table, strict=True):
            for name, value in row.items():
                assert not (isinstance(value, str) and re.fullmatch(r"-?\d+\.\d+", value)), (name, value)
                if isinstance(value, float):
                    assert float(cells[name]) == value
