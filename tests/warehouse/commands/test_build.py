"""Tests of `bgdata list`, `explain` and `build`."""

import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

import bgdata
from bgdata.cli import main
from bgdata.store import catalog
from bgdata.store.dataset import Dataset
from bgdata.store.parameters import Parameters, VersionRef, value_text
from bgdata.store.progress import progress_bars
from bgdata.warehouse import Warehouse
from bgdata.warehouse.commands import build
from bgdata.warehouse.commands.build import COMPUTED, SIZED, size_names
from tests.command_line import error_of, output_of, run
from tests.subtests import each


def test_list_shows_versions(small_root: Path, tmp_path: Path) -> None:
    text = output_of(small_root, "list")
    for table in bgdata.open_warehouse(small_root).versions():
        assert re.search(rf"{table.manifest.variant} +{table.folder.name} +{table.manifest.rows:,} rows", text)
    assert "damaged" not in text
    assert run(tmp_path / "none", "list").stderr == f"no warehouse in {tmp_path}/none yet; try: bgdata build\n"


@each("kind", bgdata.all_kinds)
def test_explain_shows_every_kind(tmp_path: Path, kind: Dataset[Any]) -> None:
    parameters = kind.smallest if kind in SIZED or not kind.defaults else kind.defaults[0]
    options = []
    if kind in SIZED:
        for size in size_names(kind):
            options += [f"--{size}", str(getattr(parameters, size))]
    text = output_of(tmp_path, "explain", kind.name, *options)
    assert kind.summary in text
    for column in kind.columns:
        assert re.search(rf"{column.name} +{re.escape(column.type)} +{re.escape(column.comment)}", text)
    for array in kind.arrays:
        assert array.meaning in text
    assert f"a build of {kind.slug(parameters)}: {kind.estimate(parameters).rows:,} rows, about" in text
    for needed in kind.inputs(parameters).values():
        if isinstance(needed, VersionRef):
            assert str(needed) in text
        else:
            name, recipe = needed
            settings = ", ".join(f"{key} {value_text(value)}" for key, value in vars(recipe).items())
            assert f"{name} with {settings}" in text


def test_second_build_finds_the_version(tmp_path: Path) -> None:
    root = tmp_path / "w"
    arguments = ("build", "bearoff_gammon", "--points", "2", "--threads", "1")
    result = run(root, *arguments)
    (table,) = bgdata.open_warehouse(root).versions()
    assert (result.exit_code, result.stdout) == (0, "")
    assert re.fullmatch(rf"bearoff_gammon/2x15: built {table.folder.name}, 16 rows in .* s\n", result.stderr)
    created = table.manifest.created
    assert run(root, *arguments).stderr == f"bearoff_gammon/2x15: already built ({table.folder.name})\n"
    assert run(root, *arguments, "--force").exit_code == 0
    (table,) = bgdata.open_warehouse(root).versions()
    assert table.manifest.created > created


def test_build_in_another_directory_is_linked(tmp_path: Path) -> None:
    root = tmp_path / "w"
    disk = tmp_path / "disk"
    disk.mkdir()
    arguments = ("build", "bearoff_gammon", "--points", "2", "--directory", disk)
    result = run(root, *arguments)
    (table,) = bgdata.open_warehouse(root).versions()
    message = rf"bearoff_gammon/2x15: built {table.folder.name}, 16 rows in .* s, in {disk}/bearoff_gammon/2x15\n"
    assert re.fullmatch(message, result.stderr)
    assert run(root, *arguments).stderr == f"bearoff_gammon/2x15: already built ({table.folder.name})\n"
    assert output_of(root, "query", "select count(*) from bearoff_gammon_2x15", "--format", "csv").split()[1] == "16"
    assert output_of(root, "use", table.name) == f"{table.name} is current already\n"
    assert "1 versions: 8 checks passed, 0 skipped, 0 failed\n" in output_of(root, "verify", "bearoff_gammon")
    assert output_of(root, "gc") == "nothing to delete\n"
    assert output_of(root, "rm", table.name) == f"deleted {table.name}\n"
    assert list(disk.iterdir()) == []


@each(
    ("arguments", "message"),
    [
        (["bearoff_gammon", "--points", "2", "--all"], "expected either --all or the parameters of one variant, got b"),
        (["--directory", "x"], "expected a dataset kind to put into x; try: bgdata list"),
        (["bearoff_gammon", "--directory", "none"], "expected a folder that is there, to put bearoff_gammon/6x15 into"),
        (["bearoff_gammon", "--directory", "file"], "expected a folder that is there, to put bearoff_gammon/6x15 into"),
        (["bearoff_gammon", "--directory", "w"], "expected a folder outside the warehouse w, got w"),
    ],
)
def test_contradicting_arguments_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "w").mkdir()
    (tmp_path / "file").write_text("")
    assert error_of(run(Path("w"), "build", *arguments), 2).startswith(message)
    assert list((tmp_path / "w").iterdir()) == []


@pytest.mark.slow
@pytest.mark.usefixtures("small_defaults")
def test_default_build_builds_all_default_variants(small_root: Path, memory_path: Path) -> None:
    output_of(memory_path, "build")
    small = bgdata.open_warehouse(small_root)
    expected = {small.open(*title).name for kind in COMPUTED for title in titles_of(kind, kind.smallest)}
    assert [table.name for table in bgdata.open_warehouse(memory_path).versions()] == sorted(expected)


MISSING = "not built: bearoff_gammon/2x15; try: bgdata build --all\n"


def built_variants(root: Path) -> list[str]:
    """KIND/VARIANT of every version."""
    return [table.name.rpartition("/")[0] for table in bgdata.open_warehouse(root).versions()]


@pytest.mark.usefixtures("one_more")
def test_default_build_leaves_out_larger_variants(memory_path: Path) -> None:
    """A message names them."""
    line = "    2x15     is not built; try: bgdata build bearoff_gammon\n"
    result = run(memory_path, "build")
    assert (result.exit_code, result.stdout) == (0, "")
    assert re.fullmatch(rf"bearoff_gammon/1x15: built .*\n{MISSING}", result.stderr)
    assert built_variants(memory_path) == ["bearoff_gammon/1x15"]
    assert line in output_of(memory_path, "list")
    result = run(memory_path, "build", "--all")
    assert re.fullmatch(r"bearoff_gammon/1x15: already built .*\nbearoff_gammon/2x15: built .*\n", result.stderr)
    assert built_variants(memory_path) == ["bearoff_gammon/1x15", "bearoff_gammon/2x15"]
    assert line not in output_of(memory_path, "list")
    assert run(memory_path, "build").stderr.startswith("bearoff_gammon/1x15: already built")


@pytest.mark.usefixtures("one_more")
def test_build_of_a_kind_includes_larger_variants(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalog is written once, after both."""
    n_versions = []

    def count_versions(warehouse: Warehouse, **_: object) -> None:
        n_versions.append(len(list(warehouse.versions())))

    monkeypatch.setattr(catalog, "refresh_catalog", count_versions)
    assert MISSING not in run(memory_path, "build", "bearoff_gammon").stderr
    assert built_variants(memory_path) == ["bearoff_gammon/1x15", "bearoff_gammon/2x15"]
    assert n_versions == [2]


def titles_of(kind: Dataset[Any], parameters: Parameters) -> Iterator[tuple[str, str]]:
    """(kind, variant) of a recipe and of all its inputs."""
    yield kind.name, kind.slug(parameters)
    for needed in kind.inputs(parameters).values():
        assert not isinstance(needed, VersionRef)
        name, recipe = needed
        yield from titles_of(bgdata.all_kinds()[name], recipe)


@each("name", lambda: [kind.name for kind in bgdata.all_kinds().values() if not kind.defaults])
def test_build_of_kinds_made_by_other_commands_is_refused(tmp_path: Path, name: str) -> None:
    message = error_of(run(tmp_path, "build", name), 2)
    assert re.match(rf"expected a kind that is computed by itself, got {name}; (try|see): bgdata", message)


@pytest.mark.parametrize("command", ["build", "rebuild", "verify"])
def test_empty_kind_is_refused(small_root: Path, tmp_path: Path, command: str) -> None:
    """An unset variable of a script gives an empty argument."""
    root = small_root if command == "verify" else tmp_path
    assert error_of(run(root, command, ""), 2).startswith("expected a kind of dataset, got ''")


@pytest.mark.parametrize(("answer", "options", "is_built"), [("n", [], False), ("y", [], True), ("", ["--yes"], True)])
def test_large_builds_ask_first(
    memory_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, options: list[str], is_built: bool
) -> None:
    monkeypatch.setattr(build, "LARGE_BYTES", 0)
    monkeypatch.setattr(build, "sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True)))
    arguments = ["--warehouse", str(memory_path / "w"), "build", "bearoff_gammon", "--points", "1", *options]
    result = CliRunner().invoke(main, arguments, input=answer)
    assert result.exit_code == (0 if is_built else 1)
    assert ("build it? [y/N]" in result.stderr) == (not options)
    assert (memory_path / "w").exists() == is_built


def test_notes_are_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    """Many tables need the same input here."""
    for _ in range(2):
        with progress_bars() as progress:
            for text in ("one: already built", "two: built", "one: already built"):
                progress.note(text)
        assert capsys.readouterr().err == "one: already built\ntwo: built\n"


def test_large_builds_report_their_size(tmp_path: Path) -> None:
    result = run(tmp_path, "build", "bearoff_two_sided", "--points", "18", "--checkers", "15", "--yes")
    assert result.exit_code == 1
    sizes = r".* rows, about .* TB on disk, .* TB while it is built, and .* TB of memory"
    assert re.match(rf"bearoff_two_sided/18x15: {sizes}\nerror: ", result.stderr)
