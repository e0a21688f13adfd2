"""Tests of the command line: errors of all commands in one line, and exit codes."""

import errno
import json
import re
from pathlib import Path
from unittest.mock import Mock

import pytest

from bgdata.store.manifest import SEAL
from bgdata.warehouse import Warehouse
from tests.command_line import POSITION, error_of, output_of, position_id, run
from tests.formats.gnubg_files import two_sided_bytes
from tests.kept import own
from tests.store import processes
from tests.subtests import each


def test_version_is_printed(tmp_path: Path) -> None:
    assert re.fullmatch(r"bgdata.* \d+\.\d+\.\d+\n", output_of(tmp_path, "--version").replace("main", "bgdata"))


ON_BAR = position_id([0] * 24 + [2], [1])  # the contact endgames here have one checker a side

# arguments, exit code, message; {tmp} is an empty folder
FAILURES: list[tuple[list[str], int, str]] = [
    (["explain", "cubes"], 2, "expected a kind, table, view or macro, got 'cubes'; do you mean cube_"),
    (["explain", "cube_decisions", "--points", "3"], 2, "expected a kind of dataset before its parameters, got 'c"),
    (["build", "bearoff_gammon", "--set", "points=4", "--set", "points=4"], 2, "expected 'points' once, got 4 and '4'"),
    (["explain", "bearoff_gammon", "--points", "99"], 2, "expected 1 to 18 points, got 99"),
    (["explain", "bearoff_gammon", "--checkers", "3"], 2, "expected a parameter among points, got checkers"),
    (["build", "cubes"], 2, "expected a kind of dataset, got 'cubes'; do you mean cube_"),
    (["build", "bearoff_two_sided", "--points", "0"], 2, "expected 1 to 18 points .* got 0 points and 6 checkers"),
    (["build", "bearoff_two_sided", "--checkers", "16"], 2, "expected .* 1 to 15 checkers, got .* 16 checkers"),
    (["build", "bearoff_gammon", "--points", "4", "--set", "points=3"], 2, "expected 'points' once, got 4 and '3'; "),
    (["build", "--points", "3"], 2, "expected a dataset kind before its parameters; try: bgdata list"),
    (["probe", "nonsense"], 2, "expected 14 characters in a position id, got 8: 'nonsense'"),
    (["probe", "4HPwATDgc/ABMA"], 1, "expected a position that a table covers, got a checker on point 24; see"),
    (["probe", ON_BAR], 1, "expected a position that a table covers, got a checker on the bar; see: bgdata list"),
    (["probe", POSITION, "--bd", "{tmp}/x.bd"], 1, r"x\.bd"),
    (["query", "selec 1"], 1, "expected a valid query: Parser Error: syntax error at or near"),
    (["query", "select 1 from nowhere"], 1, "expected a valid query: Catalog Error: Table with name nowhere"),
    (["query", "select error('two\nlines')"], 1, "expected a valid query: Invalid Input Error: two lines"),
    (["query", "drop view bearoff_error"], 1, "expected a query that only reads, got 'drop view"),
    (["query", "select 1", "--format", "parquet"], 2, "expected --output FILE with --format parquet, got none"),
    (["query", "select 1", "--format", "table", "-o", "{tmp}/x"], 2, "expected csv, json or parquet with --output, "),
    (["query", "select 1", "-o", "{tmp}/none/x.csv"], 1, r"cannot write .*x\.csv: no such file or directory"),
    (["query", "select 1", "--bd", "{tmp}/x.bd"], 1, r"x\.bd"),
    (["list", "cubes"], 2, "expected a kind of dataset, got 'cubes'; do you mean cube_"),
    (["rebuild", "cubes"], 2, "expected a kind of dataset, got 'cubes'; do you mean cube_"),
    (["verify", "cubes"], 2, "expected a kind of dataset, got 'cubes'; do you mean cube_"),
    (["diff", "cubes/1", "cubes/2"], 2, "expected a kind of dataset, got 'cubes'; do you mean cube_"),
    (["rebuild", "--check"], 1, r"expected .*warehouse\.lock, found no such file; try: bgdata lock"),
    (["diff"], 1, r"expected .*warehouse\.lock, found no such file; try: bgdata lock"),
    (["diff", "bearoff_error/3x3"], 1, r"expected .*warehouse\.lock, found no such file; try: bgdata lock"),
    (["diff", "{tmp}/x.bd"], 2, "expected two tables to compare, got one: '"),
    (["diff", "bearoff_error/3x3/r1-00000000"], 2, "expected two tables to compare, got one: 'bearoff_error/3x3/r1-0"),
    (["list", "bearoff_error/9x9"], 1, r"no bearoff_error/9x9 in .* \(have: 3x3\)"),
    (["rebuild", "bearoff_error/9x9"], 1, r"no bearoff_error/9x9 in .* \(have: 3x3\)"),
    (["verify", "bearoff_error/9x9"], 1, r"no bearoff_error/9x9 in .* \(have: 3x3\)"),
    (["verify", "bearoff_error/3x3/r1-00000000"], 1, r"no bearoff_error/3x3/r1-00000000 in .* \(have: r2-\w+\)"),
    (["verify", "bearoff_error/../x"], 2, r"expected a variant named by small letters.*, got '\.\.'"),
    (["rebuild", "bearoff_error/3x3/r1-00000000"], 2, "expected KIND or KIND/VARIANT, got 'bearoff_error/3x3/r1-0"),
    (["rebuild", "positions/one"], 2, "expected a kind that is computed, got positions; try: bgdata import positions"),
    (["diff", "a", "b"], 2, r"expected KIND/VARIANT, KIND/VARIANT/VERSION or a \.bd file, got 'a'"),
    (["diff", "bearoff_error/3x3", "bearoff_two_sided/3x3"], 2, "expected two tables of one kind, got bearoff_error"),
    (["diff", "bearoff_error/3x3", "bearoff_error/9x9"], 1, r"no bearoff_error/9x9 in .* \(have: 3x3\); try: "),
    (["diff", "bearoff_error/3x3", "bearoff_error/3x3/r1-0"], 1, r"no bearoff_error/3x3/r1-0 in .* \(have: r2-\w+\)"),
    (["diff", "bearoff_error/3x3", "{tmp}/x.bd"], 1, r"x\.bd"),
    (["lock"], 1, "expected bearoff_error/6x9 in .*, found none; try: bgdata build"),
    (["export", "gnubg-bd", "-o", "{tmp}/x.bd"], 2, "expected one of --one-sided POINTS, --two-"),
    (["export", "gnubg-bd", "--one-sided", "2", "--two-sided", "2x2", "-o", "{tmp}/x.bd"], 2, "expected one of --one"),
    (["export", "gnubg-bd", "--two-sided", "2", "-o", "{tmp}/x.bd"], 2, "expected POINTSxCHECKERS such as 6x6, got "),
    (["export", "gnubg-bd", "--two-sided", "19x2", "-o", "{tmp}/x.bd"], 2, "expected 1 to 18 points, got 19"),
    (["export", "gnubg-bd", "--two-sided", "2x2", "-n", "-o", "{tmp}/x.bd"], 2, "expected -g, -c and -n with --one-"),
    (["export", "gnubg-bd", "--one-sided", "2", "-C", "-o", "{tmp}/x.bd"], 2, "expected -C with --two-sided only"),
    (["export", "gnubg-bd", "--one-sided", "1", "-o", "{tmp}/none/x.bd"], 1, r"expected to write .*none/x\.bd, found"),
]  # fmt: skip


@each(("arguments", "code", "message"), FAILURES)
def test_invalid_arguments_give_a_one_line_error(
    small_root: Path, tmp_path: Path, arguments: list[str], code: int, message: str
) -> None:
    result = run(small_root, *(argument.replace("{tmp}", str(tmp_path)) for argument in arguments))
    assert re.match(f".*{message}", error_of(result, code))
    assert list(tmp_path.iterdir()) == [], "no file is left"


@pytest.mark.parametrize(
    "arguments",
    [
        ["cubes"],
        ["build", "--colour", "1"],
        ["build", "--points", "many"],
        ["build", "--threads", "0"],
        ["query", "select 1", "--format", "xml"],
        ["query", "select 1", "-o", "."],
        ["verify", "--sample", "-1"],
        ["export", "gnubg-bd", "--one-sided", "19", "-o", "x"],
        ["export", "letters", "x/y"],
        ["--colour"],
    ],
    ids=" ".join,
)
def test_errors_of_click_end_with_a_hint_to_the_help(small_root: Path, arguments: list[str]) -> None:
    message = error_of(run(small_root, *arguments), 2)
    assert re.search(r"; (see: bgdata.* --help|do you mean cube\?)$", message), message


@each(
    "arguments",
    [
        ["probe", POSITION],
        ["query", "select 1"],
        ["verify"],
        ["diff"],
        ["diff", "bearoff_error/3x3", "bearoff_error/3x3"],
        ["catalog"],
        ["export", "letters", "bearoff_two_sided/3x3", "-o", "x"],
        ["lock"],
        ["rebuild", "--check"],
    ],
)
def test_missing_warehouse_is_reported(tmp_path: Path, arguments: list[str]) -> None:
    message = error_of(run(tmp_path / "none", *arguments), 1)
    assert re.match(r"expected .*(none|lock|6x9).*(try: bgdata|found no such)", message)
    assert list(tmp_path.iterdir()) == []


def test_file_as_warehouse_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for command in (["catalog"], ["verify"], ["query", "select 1"]):
        assert "found no such folder" in error_of(run(tmp_path / "file", *command), 1)
    message = error_of(run(tmp_path / "file" / "w", "build", "bearoff_gammon", "--points", "1"), 1)
    assert re.match(r"cannot lock .*: part of the path is a file", message)


def test_newer_manifest_does_not_affect_other_versions(warehouse: Warehouse) -> None:
    table = warehouse.open("bearoff_two_sided", "3x3")
    name = table.name
    path = own(table.folder / "manifest.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 3, "colour": 1, SEAL: "?"}))
    for arguments in (["probe", POSITION], ["diff", "bearoff_two_sided/3x3", "bearoff_two_sided/3x3"]):
        message = error_of(run(warehouse.root, *arguments), 1)
        assert re.match(r"expected a manifest of format 2 or older in .*, found format 3; upgrade bgdata", message)
    listed = output_of(warehouse.root, "list")
    assert re.search(rf"{name} is damaged: expected a manifest of format 2 .*; upgrade bgdata", listed)
    output_of(warehouse.root, "catalog")
    assert "816" in output_of(warehouse.root, "query", "select count(*) from bearoff_one_sided_3x15")
    result = run(warehouse.root, "verify", "bearoff_two_sided", "--sample", "5")
    assert result.exit_code == 1
    assert f"FAILED {name}: manifest: expected a manifest of format 2" in result.stderr
    assert "ok     bearoff_two_sided/6x6/" in result.stderr
    assert " versions: " in result.stdout


@pytest.mark.parametrize("size", [0, 10, 40, 100])
def test_truncated_gnubg_files_are_refused(small_root: Path, tmp_path: Path, size: int) -> None:
    path = tmp_path / "x.bd"
    path.write_bytes(two_sided_bytes(4)[:size])
    commands: tuple[list[str | Path], ...] = (
        ["probe", POSITION, "--bd", path],
        ["query", "select 1", "--bd", path],
        ["diff", "bearoff_two_sided/3x3", path],
    )
    for arguments in commands:
        assert "x.bd" in error_of(run(small_root, *arguments), 1)


def test_read_only_disks_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "mkdir", Mock(side_effect=OSError(errno.EROFS, "read-only")))
    message = error_of(run(tmp_path / "w", "build", "bearoff_gammon", "--points", "1"), 1)
    assert message.endswith("the file system is read-only; choose another place with --warehouse")


def test_read_only_folders_can_be_read(warehouse: Warehouse) -> None:
    for folder in (warehouse.root, warehouse.staging):
        folder.chmod(0o555)
    result = processes.bgdata("--warehouse", warehouse.root, "build", "bearoff_gammon", "--points", "2", bare=True)
    assert (result.returncode, result.stdout) == (1, "")
    message = r"error: cannot lock .*: permission denied; choose another place with --warehouse\n"
    assert re.fullmatch(message, result.stderr)
    query = "select count(*) from bearoff_gammon_3x15"
    result = processes.bgdata("--warehouse", warehouse.root, "query", query, bare=True)
    assert (result.returncode, result.stderr) == (0, "")
    assert "136" in result.stdout


def test_real_processes_have_the_same_errors(small_root: Path) -> None:
    result = processes.bgdata("--warehouse", small_root, "query", "selec")
    assert (result.returncode, result.stdout, len(result.stderr.splitlines())) == (1, "", 1)
    result = processes.bgdata("--warehouse", small_root, "--debug", "probe", "x")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("Traceback")
    assert "InvalidPositionError: expected 14 characters" in result.stderr


def test_disabled_compilation_is_refused(small_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    error = error_of(run(small_root, "list"), 1)
    assert error == "expected compiled kernels, found NUMBA_DISABLE_JIT set; try: unset NUMBA_DISABLE_JIT"
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "0")
    assert run(small_root, "list").exit_code == 0
