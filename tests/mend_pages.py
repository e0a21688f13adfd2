"""Rewrites pages whose commands print something else now: `python -m tests.mend_pages [PAGE...]`.

Each page runs in its own folder with the default warehouse, as in the tests. The output of console steps, results of
Python examples and answers of SQL are replaced. `...` in a page stays, and only the visible text is rewritten. Read the
difference before you commit it, because a page that follows a bug is wrong.
"""

import doctest
import os
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from pathlib import Path

import duckdb
import numpy as np
from click.testing import CliRunner

from bgdata import open_player
from bgdata.cli import main
from bgdata.equity.cube import CubeRules
from bgdata.protocols.decisions import Decisions
from bgdata.protocols.ubgi import UbgiEngine
from tests.test_readme import (
    FLAGS,
    ROOT,
    SQL_PAGE,
    blocks,
    build_default_warehouse,
    command_words,
    console_steps,
    pages,
    queries,
    reader_warehouse,
    shown,
)

UBGI_PAGE = "docs/how_to/speak_ubgi.md"
NOTES = re.compile(r"^(.*: (already built|built|comes with) |compil).*\n", re.MULTILINE)  # notes of builds
LONG = {"docs/how_to/score_players.md"}  # pages with a step that is too slow for the tests, in a text block
WIDTH = 200  # width of the terminal for pages
ANYTHING = "..."
DROPPED = 1.0  # cost of leaving out a line or word of either text
UNLIKE = 0.5  # lines and words that differ more are not matched


def mend(page: str, built: Path, folder: Path) -> None:
    """Run a page in a new folder with its warehouse, and rewrite it if its output has changed."""
    reader_warehouse(page, built, folder / "warehouse")
    for name, text in re.findall(r"```text (\S+)\n(.*?)```", pages()[page], re.DOTALL):
        (folder / name).write_text(text)
    os.chdir(folder)
    text = mended_steps(page)
    if page == SQL_PAGE:
        text = mended_queries(text)
    if page == UBGI_PAGE:
        text = re.sub(r"(?<=```\n)ubgi\n.*?(?=```)", mended_session, text, flags=re.DOTALL)
    if blocks(page, "python"):
        example = doctest.DocTestParser().get_doctest("\n".join(blocks(page, "python")), {}, page, page, 0)
        runner = Mender(text)
        runner.run(example)
        text = runner.text
    (ROOT / page).write_text(text)


def mended_steps(page: str) -> str:
    """The text of a page with the current output of its commands."""
    text = pages()[page]
    long_steps = console_steps(page, "text") if page in LONG else []
    for command, expected in [*console_steps(page), *long_steps]:
        if "^C\n" in expected:
            continue
        words, given = command_words(command)
        found = CliRunner().invoke(main, words[1:], given, terminal_width=WIDTH).output.rstrip("\n") + "\n"
        if (command, expected) in long_steps:
            found = NOTES.sub("", found)
        text = text.replace(f"$ {command}\n{expected}", f"$ {command}\n{merged(expected, found)}")
    return text


class Mender(doctest.DocTestRunner):
    """Runs the examples of a page, and replaces results that have changed."""

    def __init__(self, text: str) -> None:
        super().__init__(optionflags=FLAGS)
        self.text = text

    def report_failure(
        self, _out: Callable[[str], object], _test: doctest.DocTest, example: doctest.Example, got: str
    ) -> None:
        first, *more = example.source.splitlines()
        source = "\n".join([f">>> {first}", *(f"... {line}".rstrip() for line in more)])
        shown_before = f"{source}\n{example.want}"
        if shown_before not in self.text:
            print(f"mend by hand\n{source}\n{got}", flush=True)
        self.text = self.text.replace(shown_before, f"{source}\n{merged(example.want, got)}", 1)


def mended_queries(text: str) -> str:
    """The page of SQL questions with current answers."""
    CliRunner().invoke(main, ["benchmark", "pubeval"])
    with duckdb.connect("warehouse/catalog.duckdb", read_only=True) as connection:
        connection.execute("set enable_progress_bar = false")
        for query, expected in queries():
            found = shown(connection.sql(query))
            text = text.replace(f"{query}```\n\n```text\n{expected}", f"{query}```\n\n```text\n{found}")
    return text


def mended_session(shown_session: re.Match[str]) -> str:
    """A session with an engine: typed lines are unindented, current replies indented."""
    engine = UbgiEngine(Decisions(open_player("warehouse"), CubeRules()))
    typed = re.findall(r"^\S.*", shown_session[0], re.MULTILINE)
    return "".join("\n    ".join([line, *engine.answers(line)]) + "\n" for line in typed)


def merged(expected: str, found: str) -> str:
    """The new output in the form of the page, which keeps its `...`."""
    if agrees(expected, found):
        return expected
    if ANYTHING not in expected:
        return found
    lines = pairs(expected.splitlines(), found.splitlines())
    return "".join(f"{either(before, after, merged_line)}\n" for before, after in lines)


def merged_line(expected: str, found: str) -> str:
    """`merged` for one line, with the spaces of the new output."""
    if agrees(expected, found):
        return expected
    words = (re.findall(r"\s*\S+", line) for line in (expected, found))
    return "".join(either(before, after, merged_word) for before, after in pairs(*words))


def either(expected: str | None, found: str | None, merge: Callable[[str, str], str]) -> str:
    """Both merged, or the only one."""
    if expected is None or found is None:
        return expected or found or ""
    return merge(expected, found)


def merged_word(expected: str, found: str) -> str:
    """`merged` for one word: `0.34...` keeps its number of digits, as in `0.35...`."""
    if agrees(expected, found):
        return expected
    start, gap, end = expected.partition(ANYTHING)
    return f"{found[: len(start)]}{gap}{end}" if gap and start.strip() and found.endswith(end) else found


def pairs(expected: Sequence[str], found: Sequence[str]) -> list[tuple[str | None, str | None]]:
    """Align new and expected lines or words in order. `...` matches any number of new ones, missing ones are left out,
    and new ones have no partner."""
    costs = np.full((len(expected) + 1, len(found) + 1), np.inf)
    steps: dict[tuple[int, int], list[int]] = {}
    costs[0, 0] = 0
    is_gap = [False, *(each.strip() == ANYTHING for each in expected)]  # by row; row 0 is before all of them
    for row in range(len(expected) + 1):
        alone = 0 if is_gap[row] else DROPPED
        for column in range(len(found) + 1):
            ways = []
            if row and column and not is_gap[row]:
                ways.append((costs[row - 1, column - 1] + distance(expected[row - 1], found[column - 1]), 1, 1))
            if row:
                ways.append((costs[row - 1, column] + alone, 1, 0))
            if column:
                ways.append((costs[row, column - 1] + alone, 0, 1))
            if ways:
                costs[row, column], *steps[row, column] = min(ways)
    row = len(expected)
    column = len(found)
    walked: list[tuple[str | None, str | None]] = []
    while row or column:
        down, right = steps[row, column]
        if (down and right) or down == is_gap[row]:  # text within `...` and text that is gone are not shown
            walked.append((expected[row - 1] if down else None, found[column - 1] if right else None))
        row = row - down
        column = column - right
    return walked[::-1]


def distance(expected: str, found: str) -> float:
    """How different two lines or words are, from 0 to 1; infinite if they have little in common."""
    if agrees(expected, found):
        return 0.0
    unlike = 1 - SequenceMatcher(None, expected, found, autojunk=False).ratio()
    return unlike if unlike < UNLIKE else np.inf


def agrees(expected: str, found: str) -> bool:
    """Whether the new text matches what the page shows."""
    return doctest.OutputChecker().check_output(expected, found, FLAGS)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=ROOT, prefix=".pages-") as place:  # on the warehouse's disk, for links
        build_default_warehouse(Path(place, "built"))
        for number, chosen in enumerate(sys.argv[1:] or pages()):
            folder = Path(place, str(number))
            folder.mkdir()
            mend(Path(chosen).as_posix(), Path(place, "built"), folder)
            os.chdir(ROOT)
