"""Converts docstrings and help texts, which are plain text with `code` and >>> examples, to reStructuredText.

Stars, bars and underscores are escaped, so that Sphinx does not read them as markup.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

CODE = re.compile(r"`+([^`]+)`+")
MARKUP = re.compile(r"([\\*|`]|_(?=\W|$)|(?<=\w):(?=\w+:))")
FIELD = "Alias for field number"  # Python's docstring of the fields of a NamedTuple


def rst(text: str) -> list[str]:
    """The lines of a plain text in reStructuredText: paragraphs, lists and code (indented, or beginning with >>>)."""
    lines: list[str] = []
    for is_blank, block in groupby(text.expandtabs(4).splitlines(), key=lambda line: not line.strip()):
        if not is_blank:
            lines += [*block_lines([line.rstrip() for line in block]), ""]
    return lines


def block_lines(block: list[str]) -> Iterator[str]:
    """The lines of one paragraph, list or block of code."""
    if block[0].startswith(">>>"):
        yield from block
    elif block[0].startswith((" ", "\b")):
        yield from code_block(block)
    elif block[0].startswith(("* ", "- ")):
        for line in block:
            yield line[:2] + escaped(line[2:])
    else:
        yield from escaped("\n".join(line.strip() for line in block)).split("\n")


def code_block(block: list[str]) -> Iterator[str]:
    """The lines of a literal block."""
    yield ".. code-block:: text"
    yield ""
    kept = [line for line in block if line.strip(" \b")]
    margin = min(len(line) - len(line.lstrip()) for line in kept)
    yield from (f"   {line[margin:]}" for line in kept)


def escaped(text: str) -> str:
    """Text in which only `code` is markup."""
    pieces = CODE.split(text)  # alternately outside and inside of code
    pieces[::2] = [MARKUP.sub(r"\\\1", piece) for piece in pieces[::2]]
    pieces[1::2] = [f"``{piece.strip()}``" for piece in pieces[1::2]]
    pieces[2::2] = [f"\\ {piece}" if piece[:1].isalnum() else piece for piece in pieces[2::2]]  # `Executor`s
    return "".join(pieces)


def of_docstring(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:  # noqa: ARG001
    """Hook of autodoc: convert a docstring."""
    lines[:] = rst("\n".join(lines))


def skips_member(app: Any, what: str, name: str, thing: Any, is_skipped: bool, options: Any) -> bool | None:  # noqa: ARG001
    """Hook of autodoc: skip fields of a NamedTuple, which are in its signature."""
    return True if (getattr(thing, "__doc__", None) or "").startswith(FIELD) else None


def of_help(app: Any, context: Any, lines: list[str]) -> None:  # noqa: ARG001
    """Hook of sphinx-click: convert the help of a command."""
    lines[:] = rst(inspect.cleandoc(context.command.help or ""))


def of_options(app: Any, context: Any, lines: list[str]) -> None:  # noqa: ARG001
    """Hook of sphinx-click: convert the help of options, line by line."""
    lines[:] = [
        line if line.lstrip().startswith((".. option::", ":default:", ":options:")) else escaped(line) for line in lines
    ]
