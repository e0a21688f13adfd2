"""Generates the pages of the reference: commands, Python, and tables, views and macros of SQL.

All names are discovered: commands from the command line, modules from the folders of the package, tables from
`bgdata.all_kinds()`, views and macros from the catalog.
"""

from __future__ import annotations

import inspect
import pkgutil
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import duckdb

import bgdata
from bgdata.cli import main
from bgdata.store.dataset import Dataset, TableShape

Pages = Mapping[str, str]  # text by name of the file
SKIPPED = {"bgdata.__main__"}  # it ends the process


def write_all(folder: Path) -> None:
    """Write every generated page into its folder of the reference, and delete old pages."""
    for name, pages in {"commands": command_pages(), "python": module_pages(), "tables": table_pages()}.items():
        write_pages(folder / name, pages)


def write_pages(folder: Path, pages: Pages) -> None:
    """Write changed pages and delete old ones; Sphinx reads only newer files again."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.name not in pages:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


# commands


def __getattr__(name: str) -> click.Command:
    """A command by its name, for references of sphinx-click such as `docs.reference_pages:list`."""
    command = main.get_command(click.Context(main), name)
    if command is None:
        raise AttributeError(name)
    return command


def command_pages() -> Pages:
    """A page for each section of the help, and one that lists them."""
    sections = dict(main.sections)
    missing = set(main.list_commands(click.Context(main))) - {name for names in sections.values() for name in names}
    assert not missing, f"expected every command in a section of the help, found {sorted(missing)} in none"
    pages = {f"{section}.rst": command_page(section, names) for section, names in sections.items()}
    return {"index.md": index_page("Commands", COMMANDS, sections), **pages}


COMMANDS = """\
`bgdata --help` lists the commands, `bgdata COMMAND --help` explains one; these pages say the same. `--warehouse DIR`
stands before or after any command, and the variable `BGDATA_WAREHOUSE` names the folder where no option does.
`--debug` shows tracebacks.

Data go to standard output, everything else to standard error. Exit codes: 0 done, 1 failed or found to differ, 2
wrong usage, 130 interrupted, 141 nobody reads the output.
"""


def command_page(section: str, names: Iterable[str]) -> str:
    """The commands of a section."""
    lines = heading(section.capitalize(), "=")
    for name in names:
        lines += [f".. click:: docs.reference_pages:{name}", f"   :prog: bgdata {name}"]
        lines += ["   :nested: full", ""]
    return "\n".join(lines)


# Python


def module_pages() -> Pages:
    """A page for the names of `bgdata`, one for each package, and one that lists them."""
    packages: dict[str, list[str]] = {"bgdata": []}
    for module in pkgutil.walk_packages(bgdata.__path__, "bgdata."):
        parent = module.name.rpartition(".")[0]
        if module.name in SKIPPED or any(part.startswith("_") for part in module.name.split(".")):
            continue
        if module.ispkg:
            packages[module.name] = []
        else:
            packages[parent].append(module.name)
    pages = {f"{name}.rst": package_page(name, modules) for name, modules in packages.items()}
    return {"index.md": index_page("Python", PYTHON, [PUBLIC[:-4], *packages]), PUBLIC: public_page(), **pages}


PUBLIC = "public.rst"
PYTHON = """\
The names that `import bgdata` offers are the ones to begin with. Below them is every package, module by module, from
its docstrings. Importing `bgdata` loads nothing else; DuckDB, PyArrow, Numba and Prefect are loaded when they are
needed.
"""


def public_page() -> str:
    """The names of `bgdata.__all__`."""
    lines = [*heading("The names of bgdata", "="), ".. py:currentmodule:: bgdata", ""]
    for name in bgdata.__all__:
        thing = getattr(bgdata, name)
        if inspect.isclass(thing):
            lines += [f".. autoclass:: bgdata.{name}", "   :members:", ""]
        elif callable(thing):
            lines += [f".. autofunction:: bgdata.{name}", ""]
        else:
            lines += [f".. autodata:: bgdata.{name}", ""]
    return "\n".join(lines)


def package_page(package: str, modules: Iterable[str]) -> str:
    """The docstring of a package, then its modules with their public names."""
    lines = [*heading(package, "="), f".. automodule:: {package}", ""]
    if package != "bgdata":  # the names of bgdata have a separate page
        lines[-1:] = ["   :members:", ""]
    for module in modules:
        lines += [*heading(module, "-"), f".. automodule:: {module}", "   :members:", ""]
    return "\n".join(lines)


# tables


def table_pages() -> Pages:
    """A page for each kind of dataset, one for the views, one for the macros, and one that lists them."""
    kinds = bgdata.all_kinds()
    pages = {f"{name}.md": kind_page(kind) for name, kind in kinds.items()}
    with tempfile.TemporaryDirectory() as folder, bgdata.open_warehouse(folder).connect() as catalog:
        tables = {shape.name for kind in kinds.values() for shape in kind.tables}
        pages |= {"views.md": views_page(catalog, tables), "macros.md": macros_page(catalog)}
    return {"index.md": tables_index(kinds.values()), **pages}


def tables_index(kinds: Iterable[Dataset[Any]]) -> str:
    """The page that lists all kinds and their tables."""
    rows = [(f"[{kind.name}]({kind.name}.md)", tables_of(kind), kind.summary) for kind in kinds]
    text = TABLES + "\n" + markdown_table(("kind of dataset", "tables", "a row of the first"), rows)
    return index_page("Tables", text, ["views", "macros", *(kind.name for kind in kinds)], is_listed=False)


TABLES = """\
Every kind of dataset declares its tables: columns with type, unit and meaning, what a row is, and what must hold in
all of them. These pages are made from the declarations, as the comments of the SQL catalog and the metadata of the
Parquet files are. `bgdata explain NAME` prints the same. Beside them the catalog has [views](views.md), which join
and summarise, and [macros](macros.md), the formulas.

Each table is one view over all of its {term}`variants <variant>`, with a first column `variant`; each variant has a
view of its own too, such as `bearoff_two_sided_6x9`. A *shared* table is filled by several kinds, and has a column
`dataset` before it.
"""


def tables_of(kind: Dataset[Any]) -> str:
    """The tables of a kind in one cell."""
    return ", ".join(f"`{shape.name}`" for shape in kind.tables)


def kind_page(kind: Dataset[Any]) -> str:
    """Everything that a kind declares."""
    facts = [("revision", str(kind.revision)), ("source", kind.source), ("licence", kind.licence)]
    facts.append(("made again", kind.made_again))
    if kind.defaults:
        facts.append(("default variants", ", ".join(f"`{kind.slug(each)}`" for each in kind.defaults)))
    if kind.takes_files:
        facts.append(("imported", f"`bgdata import {kind.name} FILE...`"))
    text = f"# {kind.name}\n\n{kind.summary}\n\n" + "".join(f"* **{name}**: {value}\n" for name, value in facts)
    text += "".join(shape_text(shape, is_main=shape == kind.tables[0]) for shape in kind.tables)
    if kind.arrays:
        arrays = [(f"`{each.name}`", each.dtype, f"[{each.axes}]", each.meaning) for each in kind.arrays]
        text += "\n## Flat arrays\n\n" + markdown_table(("array", "type", "axes", "what it holds"), arrays)
    return text + parameters_text(kind)


def shape_text(shape: TableShape, *, is_main: bool) -> str:
    """A table: what a row is, its columns, and the SQL checks."""
    shared = " Shared with other kinds: it has a column `dataset`." if shape.shared else ""
    columns = [(f"`{each.name}`", each.type, each.unit, each.meaning) for each in shape.columns]
    summary = "" if is_main else f"{shape.summary}\n\n"  # the main table has the summary of its kind
    text = f"\n## Table {shape.name}\n\n{summary}{shape.row}{shared}\n\n"
    text += markdown_table(("column", "type", "unit", "meaning"), columns)
    text += "".join(f"\nJoins `{join}`.\n" for join in shape.joins)
    claims = list(claims_of(shape))
    return text + "".join(["\nChecked in every row:\n\n", *(f"* {each}\n" for each in claims)] if claims else [])


def claims_of(shape: TableShape) -> Iterator[str]:
    """The claims of a table's SQL checks, in words."""
    for claim, _ in bgdata.all_kinds().sql.checks(shape.name):
        yield claim.replace("_", " ")


def parameters_text(kind: Dataset[Any]) -> str:
    """The parameters with their default values."""
    rows = []
    for field in fields(kind.parameters):
        base = kind.defaults[0] if kind.defaults else kind.smallest
        rows.append((f"`{field.name}`", type(getattr(base, field.name)).__name__, f"`{getattr(base, field.name)!r}`"))
    if not rows:
        return ""
    whose = "of the first default variant" if kind.defaults else "of the smallest variant, which the tests build"
    return "\n## Parameters\n\n" + markdown_table(("parameter", "type", f"value {whose}"), rows)


def views_page(catalog: duckdb.DuckDBPyConnection, tables: set[str]) -> str:
    """The page of all views of the catalog that are not tables of a kind."""
    text = f"# Views\n\n{VIEWS}"
    views = catalog.execute(
        "select view_name, comment from duckdb_views() where not internal "
        "union all select table_name, comment from duckdb_tables() where not internal order by all"
    ).fetchall()
    for name, comment in views:
        if name not in tables:
            text += f"\n## {name}\n\n{comment or ''}\n\n" + markdown_table(VIEW_HEAD, view_columns(catalog, name))
    return text


VIEWS = """\
Views join tables and sum them up. They hold no data: `bgdata explain NAME` says which tables a view reads. A unit
stands in brackets at the end of a meaning.
"""
VIEW_HEAD = ("column", "type", "meaning")


def view_columns(catalog: duckdb.DuckDBPyConnection, name: str) -> list[tuple[str, ...]]:
    """Columns of a view."""
    rows = catalog.execute(
        "select column_name, data_type, comment from duckdb_columns() where table_name = ? order by column_index",
        [name],
    ).fetchall()
    return [(f"`{column}`", kind, comment or "") for column, kind, comment in rows]


def macros_page(catalog: duckdb.DuckDBPyConnection) -> str:
    """The page of all macros of the catalog."""
    rows = catalog.execute(
        "select function_name, any_value(parameters), max(comment) from duckdb_functions() "
        "where not internal and function_type like '%macro%' group by function_name order by function_name"
    ).fetchall()
    cells = [(f"`{name}({', '.join(parameters)})`", comment or "") for name, parameters, comment in rows]
    return f"# Macros\n\n{MACROS}\n" + markdown_table(("call", "what it returns"), cells)


MACROS = """\
Formulas that every DuckDB client can call. Points lists have the ace point first; lists of chances begin at 0 rolls;
a board is the list of 26 integers that is described in [positions](../positions.md).
"""


# text


def heading(title: str, line: str) -> list[str]:
    """A heading in reStructuredText."""
    return [title, line * len(title), ""]


def index_page(title: str, text: str, names: Iterable[str], *, is_listed: bool = True) -> str:
    """A page with links to other pages of its folder."""
    hidden = "" if is_listed else ":hidden:\n"
    return (
        f"# {title}\n\n{text}\n```{{toctree}}\n:maxdepth: 1\n{hidden}\n"
        + "".join(f"{each}\n" for each in names)
        + "```\n"
    )


def markdown_table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table in Markdown."""
    lines = [head, ("-",) * len(head), *rows]
    return "".join(f"| {' | '.join(map(cell, line))} |\n" for line in lines)


def cell(text: str) -> str:
    """Text escaped for a cell of a Markdown table."""
    text = text.replace("|", "\\|").replace("\n", " ")
    return text if text.startswith(("`", "[", "-")) else text.replace("*", "\\*").replace("<", "&lt;")
