"""Text as other systems save it: UTF-16, line ends of old Macs; and files of other programs that are no text at all."""

from __future__ import annotations

import codecs
import re

from bgdata.errors import CorruptFileError

_PROGRAMS = (  # how files begin that hold matches or positions, but no text, and what wrote them
    (re.compile(rb"RGMH"), "eXtreme Gammon"),
    (re.compile(rb'\{"version":"[^"]*","compression"'), "BGBlitz"),
    (re.compile(rb"OGXM"), "OpenGammon (OGXM)"),
)


def plain_text(data: bytes) -> bytes:
    """The same text in UTF-8 if it begins with a mark of UTF-16, else as it is; and with line feeds if carriage returns
    alone end its lines. What is not UTF-16 in spite of its mark becomes U+FFFD."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        data = data.decode("utf-16", errors="replace").encode(errors="replace")
    return data if b"\n" in data else data.replace(b"\r", b"\n")


def check_is_text(data: bytes, name: str) -> None:
    """Raise CorruptFileError for the content of a file that another program keeps in a form of its own."""
    for begin, program in _PROGRAMS:
        if begin.match(data):
            raise CorruptFileError(
                f"expected text in {name}, found a file of {program}; export it there as .mat or other text"
            )
