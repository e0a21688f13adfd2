"""Runs README, the pages of docs and docstrings: every `$ bgdata ...` must print and every `>>>` return what is
shown."""

import doctest
import functools
import os
import re
import shlex
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

import bgdata
from bgdata.bearoff import index
from bgdata.cli import main
from bgdata.game import identifiers, plays, position
from bgdata.openings.kinds.openings_compute import OpeningsComputation
from bgdata.store.catalog import write_catalog
from bgdata.store.dataset import Dataset, Recheck
from bgdata.store.lockfile import FILE_NAME as LOCK
from bgdata.store.lockfile import load_lock
from bgdata.store.parameters import Parameters
from bgdata.store.progress import TerminalBars
from bgdata.store.table import Table
from tests.subtests import each

pytestmark = pytest.mark.catalog

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
GENERATED = {DOCS / "_build", *(DOCS / "reference" / name for name in ("commands", "python", "tables"))}
NEEDS = {"docs/how_to/use_the_network_elsewhere.md": "onnxruntime"}  # by page: the package that its examples need
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@functools.cache
def pages() -> dict[str, str]:
    """The text of README and of every written page, by path."""
    paths = [path for path in sorted(DOCS.rglob("*.md")) if not GENERATED & {*path.parents}]
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in (ROOT / "README.md", *paths)}


def blocks(page: str, language: str) -> list[str]:
    """The code blocks of a page in a language."""
    return re.findall(rf"```{language}\n(.*?)```", pages()[page], re.DOTALL)


def console_steps(page: str, language: str = "console") -> list[tuple[str, str]]:
    """(command, output) of every step in the blocks of a page in a language."""
    steps = []
    for block in blocks(page, language):
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = step.partition("\n")
            steps.append((command, output))
    return steps


def command_words(command: str) -> tuple[list[str], str | None]:
    """The words of a command, and its input for `< FILE`, a file in the folder of the page."""
    words = shlex.split(command)
    return (words[:-2], Path(words[-1]).read_text()) if words[-2:-1] == ["<"] else (words, None)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The default warehouse, shared by all pages."""
    root = tmp_path_factory.mktemp("built") / "warehouse"
    build_default_warehouse(root)
    return root


def build_default_warehouse(root: Path) -> None:
    """Build only the default warehouse."""
    provide(root, [(kind, each) for kind in bgdata.all_kinds().values() for each in kind.basic])
    shutil.copy(ROOT / "warehouse" / LOCK, root)


def provide(root: Path, variants: Sequence[tuple[Dataset[Any], Parameters]]) -> list[Table]:
    """The tables of locked variants: linked from the checkout if built there, else built here."""
    checkout = bgdata.open_warehouse(ROOT / "warehouse")
    warehouse = bgdata.open_warehouse(root)
    locked = {entry.recipe_key for entry in load_lock(checkout.lock)}
    for kind, parameters in variants:
        for table in checkout.versions(kind.name, kind.slug(parameters)):
            if table.manifest.recipe_key in locked and not (root / table.name).exists():
                shutil.copytree(table.folder, root / table.name, copy_function=os.link)
    return [warehouse.build(kind.name, parameters, with_catalog=False) for kind, parameters in variants]


def more_of(page: str) -> list[Dataset[Any]]:
    """The kinds that a page builds before its other steps: `bgdata build KIND` or `bgdata build --all` in a block
    without output."""
    names = re.findall(r"^bgdata build (\S+)(?: +#.*)?$", "\n".join(blocks(page, "sh")), re.MULTILINE)
    return [
        kind for kind in bgdata.all_kinds().values() if kind.of_all != kind.basic and {kind.name, "--all"} & {*names}
    ]


def reader_warehouse(page: str, built: Path, root: Path) -> None:
    """Make the warehouse of a page: the default one, and the kinds that the page builds first, which are built once for
    all pages, beside `built`. The first query or build of the page writes its catalog."""
    link = partial(shutil.copytree, copy_function=os.link, ignore=shutil.ignore_patterns("*catalog*"))  # links a folder
    link(built, root)
    if more := [(kind, each) for kind in more_of(page) for each in kind.more]:
        whole = built.with_name("whole")
        if not whole.exists():
            link(built, whole)
        for table in provide(whole, more):
            link(table.folder, root / table.name)
    if "\n$ bgdata verify\n" in pages()[page]:  # it checks the catalog, but does not write it
        write_catalog(bgdata.open_warehouse(root))


@pytest.fixture(scope="module")
def folders(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """For each page the working folder of one reader: the warehouse, the files in the page, and the results of earlier
    steps."""

    @functools.cache
    def folder(page: str) -> Path:
        target = tmp_path_factory.mktemp("reader")
        reader_warehouse(page, built, target / "warehouse")
        for name, text in re.findall(r"```text (\S+)\n(.*?)```", pages()[page], re.DOTALL):
            (target / name).write_text(text)
        return target

    return folder


def pages_with(language: str) -> list[str]:
    """The pages with code blocks in a language, except those that need an extra that is not installed."""
    return [page for page in pages() if blocks(page, language) and (page not in NEEDS or find_spec(NEEDS[page]))]


# slow: builds the default warehouse if missing
@pytest.mark.slow
@each("page", lambda: pages_with("console"))
def test_console_blocks_print_the_output_of_the_page(
    folders: Callable[[str], Path], page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each page has one folder, where its Python blocks run afterwards."""
    monkeypatch.chdir(folders(page))
    roll_out_few_openings(monkeypatch)
    checker = doctest.OutputChecker()
    for command, expected in console_steps(page):
        (program, *arguments), typed = command_words(command)
        assert program == "bgdata"
        with monkeypatch.context() as changed:
            if "^C\n" in expected:
                changed.setattr(TerminalBars, "tell", press_control_c)
            result = CliRunner().invoke(main, arguments, typed, catch_exceptions=False, terminal_width=200)
        assert checker.check_output(expected.replace("^C\n", ""), result.output, FLAGS), f"$ {command}\n{result.output}"


def roll_out_few_openings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `bgdata verify` roll out a decision again of two opening tables only, one of each objective: all thirty take
    twelve minutes."""
    check_sample = OpeningsComputation.check_sample

    def check_few(self: OpeningsComputation, recheck: Recheck[Any]) -> str:
        is_checked = recheck.table.manifest.variant.endswith("-31")
        return check_sample(self, recheck) if is_checked else "not rolled out again in this test"

    monkeypatch.setattr(OpeningsComputation, "check_sample", check_few)


def press_control_c(bars: TerminalBars, estimate: str) -> None:  # noqa: ARG001
    """Press Ctrl-C after the first estimate of a rollout."""
    raise KeyboardInterrupt


@pytest.mark.slow
@each("page", lambda: pages_with("python"))
def test_python_blocks_return_the_values_of_the_page(
    folders: Callable[[str], Path], page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folders(page))
    example = doctest.DocTestParser().get_doctest("\n".join(blocks(page, "python")), {}, page, page, 0)
    assert example.examples
    assert doctest.DocTestRunner(optionflags=FLAGS).run(example).failed == 0


def test_every_page_is_read() -> None:
    assert {"README.md", "docs/how_to/play_in_a_notebook.md", "docs/tutorial/first_table.md"} <= set(pages())
    assert sum(len(console_steps(page)) for page in pages()) >= 90


@each("module", [index, plays, position, identifiers])
def test_docstring_examples_are_true(module: object) -> None:
    results = doctest.testmod(module, optionflags=FLAGS)  # type: ignore[arg-type]
    assert results.attempted > 0
    assert results.failed == 0


@each("page", lambda: list(pages()))
def test_linked_pictures_and_pages_exist(page: str) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", pages()[page])
    paths = [(ROOT / page).parent.joinpath(link).resolve() for link in links]
    written = [path for path in paths if not GENERATED & {*path.parents}]  # `make docs` checks the generated ones
    assert [path for path in written if not path.exists()] == []


SQL_PAGE = "docs/how_to/sql_questions.md"


def queries() -> list[tuple[str, str]]:
    """The queries of the SQL page, each with its answer."""
    return re.findall(r"```sql\n(.*?)```\n\n```text\n(.*?)```\n", pages()[SQL_PAGE], re.DOTALL)


def shown(relation: duckdb.DuckDBPyRelation) -> str:
    """Rows in the form of the page: columns side by side."""
    texts = [[text_of(value) for value in row] for row in relation.fetchall()]
    rows = [relation.columns, *texts]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() + "\n" for row in rows
    )
    return "".join(lines)


def text_of(value: object) -> str:
    """A value as SQL text; empty for null."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


# slow: needs the default warehouse
@pytest.mark.slow
def test_queries_give_the_rows_of_the_page(built: Path, tmp_path: Path) -> None:
    """The queries run in a DuckDB client without bgdata."""
    assert len(queries()) == pages()[SQL_PAGE].count("```sql") >= 10
    warehouse = tmp_path / "warehouse"
    reader_warehouse(SQL_PAGE, built, warehouse)
    result = CliRunner().invoke(main, ["--warehouse", str(warehouse), "benchmark", "pubeval"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    with duckdb.connect(str(warehouse / "catalog.duckdb"), read_only=True) as connection:
        connection.execute("set enable_progress_bar = false")
        for query, expected in queries():
            assert shown(connection.sql(query)) == expected, query
