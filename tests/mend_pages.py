"""Writes anew what pages show where commands print something else now: `python -m tests.mend_pages [PAGE...]`.

Each page is read in a folder of its own with the default warehouse, as the tests do. Console steps and
answers of SQL are replaced; a step in which `...` stands for something, and examples in Python, are printed to be
mended by hand. Read the difference before you commit it: a page that follows a mistake is a mistake.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import duckdb
from click.testing import CliRunner

import bgdata
from bgdata.cli import main
from bgdata.store.catalog import write_catalog
from tests.test_readme import FLAGS, PAGES, ROOT, blocks, build_default_warehouse, console_steps, words_of
from tests.test_sql_page import QUERIES, shown

SQL_PAGE = "docs/how_to/sql_questions.md"
WIDTH = 200  # of the terminal in which pages are run


def mend(page: str, built: Path, folder: Path) -> None:
    """Run a page in a new folder with the default warehouse, and write it anew where it shows something else."""
    shutil.copytree(built, folder / "warehouse", copy_function=os.link, ignore=shutil.ignore_patterns("*catalog*"))
    write_catalog(bgdata.open_warehouse(folder / "warehouse"))
    for name, text in re.findall(r"```text (\S+)\n(.*?)```", PAGES[page], re.DOTALL):
        (folder / name).write_text(text)
    os.chdir(folder)
    text = mended_steps(page)
    if page == SQL_PAGE:
        text = mended_queries(text)
    if blocks(page, "python"):
        example = doctest.DocTestParser().get_doctest("\n".join(blocks(page, "python")), {}, page, page, 0)
        doctest.DocTestRunner(optionflags=FLAGS).run(example)
    (ROOT / page).write_text(text)


def mended_steps(page: str) -> str:
    """The text of a page with the output that its commands have."""
    text, checker = PAGES[page], doctest.OutputChecker()
    for command, expected in console_steps(page):
        if "^C\n" in expected:
            continue
        words, given = words_of(command)
        found = CliRunner().invoke(main, words[1:], given, terminal_width=WIDTH).output.rstrip("\n") + "\n"
        if checker.check_output(expected, found, FLAGS):
            continue
        if "..." in expected:
            print(f"{page}: mend by hand\n$ {command}\n{found}", flush=True)
        else:
            text = text.replace(f"$ {command}\n{expected}", f"$ {command}\n{found}")
    return text


def mended_queries(text: str) -> str:
    """The page of questions in SQL with the answers of today."""
    CliRunner().invoke(main, ["benchmark", "pubeval"])
    with duckdb.connect("warehouse/catalog.duckdb", read_only=True) as connection:
        connection.execute("set enable_progress_bar = false")
        for query, expected in QUERIES:
            found = shown(connection.sql(query))
            text = text.replace(f"{query}```\n\n```text\n{expected}", f"{query}```\n\n```text\n{found}")
    return text


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=ROOT, prefix=".pages-") as place:  # beside the warehouse: its files are linked
        build_default_warehouse(Path(place, "built"))
        for number, chosen in enumerate(sys.argv[1:] or PAGES):
            folder = Path(place, str(number))
            folder.mkdir()
            mend(Path(chosen).as_posix(), Path(place, "built"), folder)
            os.chdir(ROOT)
