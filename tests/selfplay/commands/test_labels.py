"""`bgdata label` with every engine: versions, output, and errors in one line."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from bgdata.evaluation import gnubg
from bgdata.selfplay.kinds.position_sample import DATASET as SAMPLE
from bgdata.warehouse import Warehouse
from tests.command_line import error_of, output_of, run
from tests.oracles import needs_gnubg_tool
from tests.subtests import each

SAMPLED = f"{SAMPLE.name}/{SAMPLE.slug(SAMPLE.smallest)}"
SLUG = SAMPLED.replace("/", "-").replace("_", "-")
TINY = ("--network", "tiny")


def test_lookahead_labels_positions(warehouse: Warehouse) -> None:
    """The command labels positions by looking ahead and prints how much the equity changes."""
    output = output_of(warehouse.root, "label", SAMPLED, "--engine", "lookahead", *TINY)
    table = warehouse.open("lookahead_labels", f"{SLUG}-by-tiny-1ply")
    statistics = table.manifest.statistics
    assert output.splitlines() == [
        str(table.folder),
        f"{table.manifest.rows:,} positions, {statistics['lookahead']:,.0f} of them looked into: the equity changes by "
        f"{statistics['mean_absolute_change']:.4f} on average, at most {statistics['largest_absolute_change']:.4f}",
    ]


def test_changed_positions_are_rolled_out(warehouse: Warehouse) -> None:
    """`--least-change` keeps the positions where looking ahead matters, and these can be rolled out as a source."""
    arguments = ("label", SAMPLED, "--engine", "lookahead", *TINY)
    output_of(warehouse.root, *arguments)
    output = output_of(warehouse.root, *arguments, "--least-change", "0.3")
    changed = warehouse.open("lookahead_labels", f"{SLUG}-by-tiny-1ply-change-0-3")
    assert output.splitlines()[0] == str(changed.folder)
    every = warehouse.open("lookahead_labels", f"{SLUG}-by-tiny-1ply")
    assert changed.manifest.rows == (np.abs(every.array("changes")) >= np.float32(0.3)).sum() > 0
    source = f"lookahead_labels/{changed.folder.parent.name}"
    output_of(warehouse.root, "label", source, *TINY, "--trials", "72", "--truncate", "1")
    rolled_out = warehouse.open("rollout_labels", f"{source.replace('/', '-').replace('_', '-')}-by-tiny-72-seed-0")
    assert np.array_equal(rolled_out.array("boards"), changed.array("boards"))


def test_labels_may_have_no_rows(warehouse: Warehouse) -> None:
    arguments = ("label", SAMPLED, "--engine", "lookahead", "--ply", "1", *TINY, "--least-change", "6")
    assert output_of(warehouse.root, *arguments).splitlines()[1] == "0 positions, 0 of them looked into"


def test_lookahead_at_2_ply_builds_engine_labels(warehouse: Warehouse) -> None:
    output = output_of(warehouse.root, "label", "positions/sample", "--engine", "lookahead", *TINY, "--ply", "2")
    table = warehouse.open("engine_labels", "positions-sample-by-tiny-2ply")
    network = table.array("engine").tobytes().decode()
    assert output.splitlines() == [str(table.folder), f"2 positions by {network}, 2-ply"]


def test_tables_label_pairs(warehouse: Warehouse) -> None:
    arguments = ("label", "bearoff_one_sided/6x15", "--engine", "tables", "--pairs", "200", "--seed", "3")
    output = output_of(warehouse.root, *arguments)
    table = warehouse.open("bearoff_labels", "6x15-200-and-50-of-6x6-seed-3")
    statistics = table.manifest.statistics
    assert output.splitlines() == [
        str(table.folder),
        f"{table.manifest.rows} positions: {statistics['exact']:.0f} exact, {statistics['combined']:.0f} combined; "
        f"{statistics['with_gammons']:.0f} with gammons",
    ]


@needs_gnubg_tool("gnubg")
def test_gnubg_labels_positions(warehouse: Warehouse) -> None:
    output = output_of(warehouse.root, "label", "positions/sample", "--engine", "gnubg")
    table = warehouse.open("engine_labels", "positions-sample-by-gnubg-0ply")
    assert output.splitlines() == [str(table.folder), f"2 positions by gnubg {gnubg.gnubg_version()}-external, 0-ply"]


def test_missing_program_is_refused(small_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gnubg, "find_gnubg_tool", lambda _: None)
    gnubg.gnubg_version.cache_clear()
    result = run(small_root, "label", "positions/sample", "--engine", "gnubg")
    assert error_of(result, result.exit_code).startswith("expected GNU Backgammon on this machine, found none")
    gnubg.gnubg_version.cache_clear()


@each(
    ("arguments", "message"),
    [
        (("positions/none", "--engine", "lookahead"), "no positions/none in"),
        (("nothing", "--engine", "lookahead"), "expected a table of positions, such as positions/NAME, got nothing"),
        (("nothing/x", "--engine", "gnubg"), "expected a table of positions"),
        (("positions/sample", "--engine", "lookahead", "--network", "none"), "no network/none in"),
        (("positions/sample", "--engine", "lookahead", "--least-change", "-1"), "expected a least change of 0 to 6"),
        (("positions/sample", "--engine", "lookahead", "--ply", "4"), "expected --ply 0 to 3 for lookahead, got 4"),
        (
            ("positions/sample", "--engine", "lookahead", "--ply", "2", "--least-change", "0.1"),
            "expected --least-change with --ply 1, got it with --ply 2",
        ),
        (
            ("positions/sample", "--engine", "lookahead", "--trials", "72"),
            "expected options of --engine lookahead: --least-change, --network, --ply, got --trials",
        ),
        (("positions/sample", "--network", "none"), "no network/none in"),
        (("positions/sample", "--trials", "100"), "expected a multiple of 36 trials"),
        (("positions/sample", "--most-trials", "144"), "expected --until with --most-trials, got --most-trials alone"),
        (("positions/sample", "--ply", "1"), "expected options of --engine rollout: .*, --play-ply, .*, got --ply"),
        (("positions/sample", "--engine", "gnubg", "--seed", "1"), "expected options of --engine gnubg: --ply, got --"),
        (
            ("positions/sample", "--engine", "tables"),
            "expected a table of distributions, such as bearoff_one_sided/10x15, got 'positions/sample'",
        ),
        (("bearoff_one_sided/many", "--engine", "tables"), "expected a table of distributions"),
        (("bearoff_one_sided/13x15", "--engine", "tables"), "expected 1 to 12 points, got 13"),
        (("bearoff_one_sided/9x15", "--engine", "tables"), "no bearoff_one_sided/9x15 in"),
    ],
)
def test_invalid_arguments_are_refused(small_root: Path, arguments: tuple[str, ...], message: str) -> None:
    result = run(small_root, "label", *arguments)
    assert re.match(message, error_of(result, result.exit_code))
    assert result.exit_code in (1, 2)
