"""The documentation: a short README, reachable pages, terms with one definition, a complete reference."""

import functools
import re
import shlex
from collections import Counter
from pathlib import Path

import click
import pytest

import bgdata
from bgdata.cli import main
from docs import reference_pages
from docs.plain_text import rst
from tests.subtests import each
from tests.test_readme import DOCS, ROOT, blocks, pages

ASKED_FOR = """
    6x9, EPC, MWC, crashed, Crawford, cube life index, luck-adjusted, 0-ply, 1-ply, ply, rollout, variance
    reduction, standard error, rescored labels, RMSE, dead cube, live cube, Janowski, jump model, take point,
    cash point, gammon value, wastage, one-sided, two-sided, Position ID, XGID, match ID, variant, version,
    recipe key, digest, manifest, catalog, lineage
"""


def glossary() -> list[str]:
    """The defined terms."""
    return re.findall(r"^(?! |```|#|$)(.+)\n {2}\S", pages()["docs/glossary.md"], re.MULTILINE)


def test_readme_is_short() -> None:
    assert pages()["README.md"].count("\n") <= 250


def toctree(page: str) -> list[str]:
    """The pages in the table of contents of a page."""
    lists = re.findall(r"```\{toctree\}\n(?::[^\n]*\n)*(.*?)```", pages()[f"docs/{page}.md"], re.DOTALL)
    names = [name for text in lists for name in text.split()]
    return [(Path(page).parent / name).as_posix() for name in names]


def test_every_page_is_in_the_table_of_contents_once() -> None:
    site = {name.removeprefix("docs/").removesuffix(".md") for name in pages() if name.startswith("docs/")}
    reached = ["index"]
    for page in reached:
        if page in site:
            reached += toctree(page)
    generated = {f"reference/{name}/index" for name in ("commands", "python", "tables")}
    assert Counter(reached) == Counter(site | generated)


def test_every_term_has_one_short_definition() -> None:
    assert Counter(glossary()).most_common(1)[0][1] == 1
    assert sorted(glossary(), key=lambda term: term.casefold().replace("-", "")) == glossary()
    assert {" ".join(term.split()) for term in ASKED_FOR.split(",")} <= set(glossary())
    for text in re.findall(r"^ {2}(\S.*)$", pages()["docs/glossary.md"], re.MULTILINE):
        assert text.endswith(".")
        assert len(re.findall(r"[.:?!](?= |$)", text)) <= 4, text


@each("page", lambda: list(pages()))
def test_linked_terms_are_in_the_glossary(page: str) -> None:
    linked = re.findall(r"\{term\}`(?:[^`<]*<)?([^`>]+)>?`", pages()[page])
    assert {term.casefold() for term in linked} <= {term.casefold() for term in glossary()}


def command_lines(page: str) -> list[str]:
    """Shell lines that call bgdata and are shown, but not run."""
    lines = [line for block in blocks(page, "sh") for line in block.splitlines()]
    parts = [part.strip() for line in lines for part in line.split(" && ")]
    return [part for part in parts if part.startswith("bgdata ")]


def shown_lines() -> list[str]:
    """Command lines of pages that are not run: shell blocks, commands of every kind of source, and those that made
    networks."""
    rows = [row for row in pages()["docs/research/systems.md"].splitlines() if row.startswith("| ")][2:]
    systems = [re.findall(r"`(bgdata [^`]+)`", row) for row in rows]
    assert all(systems), "every system needs a command"
    return [
        *(line for lines in systems for line in lines),
        *(line for page in pages() for line in command_lines(page)),
    ]


@each("line", shown_lines)
def test_lines_that_are_not_run_parse(line: str) -> None:
    """bgdata has the command with these options, and the command accepts as many arguments."""
    command: click.Command = main
    words = shlex.split(line, comments=True)[1:]
    context = click.Context(main, **main.context_settings)
    while isinstance(command, click.Group):
        name = words.pop(0)
        subcommand = command.get_command(context, name)
        assert subcommand is not None, name
        command = subcommand
        context = click.Context(command, parent=context, info_name=name)
    with pytest.MonkeyPatch.context() as here:
        here.chdir(ROOT)
        parser = command.make_parser(context)
        _, rest, _ = parser.parse_args(words)  # raises for an unknown option
    takes_all = any(isinstance(each, click.Argument) and each.nargs == -1 for each in command.params)
    arguments = sum(each.nargs for each in command.params if isinstance(each, click.Argument))
    assert takes_all or len(rest) <= arguments


@functools.cache
def table_pages() -> reference_pages.Pages:
    return reference_pages.table_pages()


def test_reference_has_every_table_column_and_check() -> None:
    pages = table_pages()
    for name, kind in bgdata.all_kinds().items():
        page = pages[f"{name}.md"]
        for shape in kind.tables:
            assert f"## Table {shape.name}\n" in page
            for column in shape.columns:
                assert f"| `{column.name}` | {column.type} |" in page
                assert column.meaning.replace("*", "\\*").replace("<", "&lt;").replace("|", "\\|") in page
        for array in kind.arrays:
            assert f"| `{array.name}` |" in page
    assert "owning the cube never hurts" in pages["bearoff_two_sided.md"]


def test_reference_has_every_view_and_macro(tmp_path: Path) -> None:
    pages = table_pages()
    with bgdata.open_warehouse(tmp_path).connect() as catalog:
        views = {name for (name,) in catalog.sql("select view_name from duckdb_views() where not internal").fetchall()}
        macros = catalog.sql(
            "select function_name from duckdb_functions() where function_type like '%macro' and not internal"
        )
        tables = {shape.name for kind in bgdata.all_kinds().values() for shape in kind.tables}
        assert views - tables >= {"lineage", "versions", "leakage"}
        assert {name for name in views - tables if f"\n## {name}\n" not in pages["views.md"]} == set()
        assert {name for (name,) in macros.fetchall() if f"| `{name}(" not in pages["macros.md"]} == set()


def test_reference_has_every_command_once() -> None:
    text = "".join(reference_pages.command_pages().values())
    context = click.Context(main, **main.context_settings)
    for name in main.list_commands(context):
        assert text.count(f".. click:: docs.reference_pages:{name}\n") == 1
        assert getattr(reference_pages, name) is main.get_command(context, name)
    with pytest.raises(AttributeError):
        _ = reference_pages.no_such_command


def test_reference_has_every_module_once() -> None:
    text = "".join(reference_pages.module_pages().values())
    counts = Counter(re.findall(r"\.\. automodule:: (\S+)", text))
    root = Path(bgdata.__file__).parent
    files = [path.relative_to(root.parent).with_suffix("").parts for path in root.rglob("*.py")]
    names = {
        ".".join(part for part in parts if part != "__init__")
        for parts in files
        if parts[-1][:1] != "_" or parts[-1] == "__init__"
    }
    assert counts == Counter(names)
    assert [name for name in bgdata.__all__ if f":: bgdata.{name}\n" not in text] == []


def test_obsolete_pages_are_deleted(tmp_path: Path) -> None:
    reference_pages.write_pages(tmp_path, {"a.md": "a", "b.md": "b"})
    before = (tmp_path / "a.md").stat().st_mtime_ns
    reference_pages.write_pages(tmp_path, {"a.md": "a"})
    assert [path.name for path in tmp_path.iterdir()] == ["a.md"]
    assert (tmp_path / "a.md").stat().st_mtime_ns == before


@each(
    ("plain", "markup"),
    [
        ("a * b, |c| and d_ but not e_f", [r"a \* b, \|c\| and d\_ but not e_f"]),
        ("some `code*`s", [r"some ``code*``\ s"]),
        ("first line\nsecond line\n\nother", ["first line", "second line", "", "other"]),
        (">>> 1 * 1\n1", [">>> 1 * 1", "1"]),
        ("\b\n  bgdata list *", [".. code-block:: text", "", "   bgdata list *"]),
        ("* one *\n  more\n* two", [r"* one \*", "  more", "* two"]),
    ],
)
def test_plain_text_is_escaped_in_rst(plain: str, markup: list[str]) -> None:
    assert rst(plain) == [*markup, ""]


def test_every_picture_is_used_in_a_page() -> None:
    text = "".join(pages().values())
    assert [path.name for path in (DOCS / "images").iterdir() if path.name not in text] == []


def test_picture_of_the_rooms_has_every_folder() -> None:
    from docs import pictures  # needs matplotlib

    rooms = [room for floor in pictures.floors_of_the_house() for room in floor]
    folders = [path.parent.name for path in (ROOT / "bgdata").glob("*/__init__.py")]
    assert sorted(rooms) == sorted([*folders, "pipelines", "sql"])
