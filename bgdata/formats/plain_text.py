"""Text as other systems save it: UTF-16, line ends of old Macs; and binary files of other programs."""

from __future__ import annotations

import codecs
import re

from bgdata.errors import CorruptFileError

_PROGRAMS = (  # how binary files of matches or positions begin, and what wrote them
    (re.compile(rb"RGMH"), "eXtreme Gammon"),
    (re.compile(rb'\{"version":"[^"]*","compression"'), "BGBlitz"),
    (re.compile(rb"OGXM"), "OpenGammon (OGXM)"),
)


def plain_text(data: bytes) -> bytes:
    """The text in UTF-8 if it has a mark of UTF-16, else unchanged; with line feeds if only carriage returns end its
    lines. Invalid UTF-16 becomes U+FFFD."""
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
