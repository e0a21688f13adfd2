"""Match files of every format. The format is decided by the content of a file, not by its name."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from bgdata.formats.gammonview import binary_form, parse_document
from bgdata.formats.gnubg_export import is_html_export, is_text_export, parse_gnubg_html, parse_gnubg_text
from bgdata.formats.lines import as_utf8, plain_text, read_bytes, without_unprintable
from bgdata.formats.mat import parse_mat
from bgdata.formats.matches import Match, MatchFile
from bgdata.formats.sgf import parse_sgf
from bgdata.formats.unpacking import first_bytes

LONGEST_NAME = 500  # longest name of a player that is kept, in letters
HEAD_BYTES = 1 << 16  # enough to find out what a file contains
SGF, MAT, TEXT, HTML = "sgf", "mat", "gnubg text", "gnubg html"
_TREE = re.compile(rb"\(\s*;")
_SGF = re.compile(rb"(?:\xef\xbb\xbf)?\s*" + _TREE.pattern)
_CALLED_SGF = re.compile(r"\.sgf(?:\.gz|\.bz2)?\Z", re.IGNORECASE)
_MAT = re.compile(rb"^\s*(?:\d{1,5}\s+points?\s+match|match\s+(?:of|to)\s+\d{1,5}\s+points?)\s*$", re.IGNORECASE | re.M)
ONE_GAME = (TEXT, HTML)  # formats whose files contain one game of a match
READERS = {SGF: parse_sgf, MAT: parse_mat, TEXT: parse_gnubg_text, HTML: parse_gnubg_html}


def match_form(content: bytes) -> str | None:
    """Return the format of a match file, from its content or the beginning of it: xg, bgf, ogxm, sgf or mat, or None if
    it is not a match file."""
    if form := binary_form(content):
        return form
    text = plain_text(content)
    if _SGF.match(text):
        return SGF
    if is_text_export(text):
        return TEXT
    if is_html_export(text):
        return HTML
    return MAT if _MAT.search(text) else None


def holds_matches(path: Path) -> bool:
    """Whether a file, decompressed if it is compressed, begins like a match file. Raises StorageError if it cannot be
    read."""
    return match_form(first_bytes(path, HEAD_BYTES)) is not None


def read_matches(path: Path) -> MatchFile:
    """Read the matches in a file, without replaying them. Raises the errors of `lines.read_bytes` and
    `parse_matches`."""
    return parse_matches(path.name, read_bytes(path))


def parse_matches(name: str, content: bytes, encoding: str = "") -> MatchFile:
    """Parse the matches in the content of a file, without replaying them. Text that does not begin like any format is
    .sgf if the file's name says so and the text has a game tree, otherwise .mat. `encoding` is the encoding of text, as
    in `as_utf8`. Raises CorruptFileError if a binary file is damaged, and MissingExtraError if the package that reads
    it is not installed."""
    form = match_form(content)
    if form not in (None, *READERS):
        found = parse_document(content, name)
    else:
        text = plain_text(as_utf8(content, encoding))
        if form is None:
            form = SGF if _CALLED_SGF.search(name) and _TREE.search(text) else MAT
        found = READERS[form](text)
        found = replace(found, matches=tuple(replace(match, form=form) for match in found.matches))
    return replace(found, matches=tuple(map(_with_printable_names, found.matches)))


def _with_printable_names(match: Match) -> Match:
    """Copy a match, with names of players that have no control characters and at most LONGEST_NAME letters."""
    one, other = (without_unprintable(name[:LONGEST_NAME]) for name in match.players)
    return replace(match, players=(one, other))
