"""README and docstrings are run: every `$ bgdata ...` prints what the page shows, every `>>>` returns it."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

import bgdata
from bgdata.bearoff import index
from bgdata.cli import main
from bgdata.commands.report import TerminalBars
from bgdata.formats import identifiers
from bgdata.game import plays, position
from bgdata.store.lockfile import load_lock

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def console_steps() -> list[tuple[str, str]]:
    """(command, output) of every step in the console blocks."""
    steps = []
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL):
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = step.partition("\n")
            steps.append((command, output))
    return steps


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the default warehouse in it: linked from the checkout where it is built, else built here."""
    folder = tmp_path_factory.mktemp("readme")
    built = bgdata.open_warehouse(ROOT / "warehouse")
    found = {table.manifest.recipe_key: table for table in built.versions()}
    for entry in load_lock(built.lock):
        if entry.recipe_key in found:
            table = found[entry.recipe_key]
            shutil.copytree(table.folder, folder / "warehouse" / table.name, copy_function=os.link)
    warehouse = bgdata.open_warehouse(folder / "warehouse")
    for kind in warehouse.kinds.values():
        for parameters in kind.defaults:
            warehouse.build(kind.name, parameters)
    shutil.copy(built.lock, folder / "warehouse")
    for name, text in re.findall(r"```text (\S+)\n(.*?)```", README, re.DOTALL):
        (folder / name).write_text(text)
    return folder


# slow: builds the default warehouse where there is none
@pytest.mark.slow
def test_console_blocks_print_what_the_page_shows(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    checker = doctest.OutputChecker()
    steps = console_steps()
    assert len(steps) >= 10
    for command, expected in steps:
        program, *arguments = shlex.split(command)
        assert program == "bgdata"
        with monkeypatch.context() as changed:
            if "^C\n" in expected:
                changed.setattr(TerminalBars, "tell", press_control_c)
            result = CliRunner().invoke(main, arguments, catch_exceptions=False, terminal_width=200)
        assert checker.check_output(expected.replace("^C\n", ""), result.output, FLAGS), f"$ {command}\n{result.output}"


def press_control_c(bars: TerminalBars, estimate: str) -> None:  # noqa: ARG001
    """What a reader does who has seen the first estimate of a rollout."""
    raise KeyboardInterrupt


@pytest.mark.slow
def test_python_blocks_return_what_the_page_shows(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    blocks = "\n".join(re.findall(r"```python\n(.*?)```", README, re.DOTALL))
    example = doctest.DocTestParser().get_doctest(blocks, {}, "README.md", "README.md", 0)
    assert example.examples
    assert doctest.DocTestRunner(optionflags=FLAGS).run(example).failed == 0


@pytest.mark.parametrize("module", [index, plays, position, identifiers])
def test_docstring_examples(module: object) -> None:
    results = doctest.testmod(module, optionflags=FLAGS)  # type: ignore[arg-type]
    assert results.attempted > 0
    assert results.failed == 0


def test_pictures_and_pages_of_the_readme_exist() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
