"""Checks and quotes names from outside: of kinds, variants, versions, tables and files.

Such names become part of paths and of SQL. So a name must be a single path component that stays inside its folder,
needs no quoting in a shell, and is the same on every file system.
"""

from __future__ import annotations

import re
from pathlib import Path

from bgdata.errors import InvalidNameError, cite

CURRENT = "current"  # file in the folder of a variant with the name of the default version
LONGEST = 200  # most characters of a variant: staging folders add kind, key and fingerprint, within 255 bytes

KIND = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")  # also for tables and arrays
VARIANT = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
VERSION = re.compile(r"r[1-9][0-9]{0,8}-[0-9a-f]{8}")
FILE = re.compile(rf"{KIND.pattern}\.(npy|parquet)")
ROLE = re.compile(r"[a-z][a-z0-9]*([_-][a-z0-9]+)*")  # role of an input; some roles contain the name of a variant
DIGEST = re.compile(r"[0-9a-f]{64}")

_RULES = {
    "kind": (KIND, "small letters, digits and single _"),
    "variant": (VARIANT, f"small letters, digits and single -, at most {LONGEST} of them"),
    "version": (VERSION, "r<revision>-<first 8 hex digits of the digest>"),
    "file": (FILE, "small letters, digits and single _, ending in .npy or .parquet"),
    "role": (ROLE, "small letters, digits, single _ and -"),
    "digest": (DIGEST, "64 hex digits"),
}


def is_name(what: str, text: object) -> bool:
    """Whether a value is a valid name of the sort `what`: `kind` (also for tables and arrays), `variant`, `version`,
    `file`, `role` (of an input), or `digest`."""
    return isinstance(text, str) and len(text) <= LONGEST and _RULES[what][0].fullmatch(text) is not None


def check_name(what: str, text: object) -> str:
    """Return `text` if it is a valid name of the sort `what` (see `is_name`). Raises InvalidNameError if it is not."""
    if not (is_name(what, text) and isinstance(text, str)):
        raise InvalidNameError(f"expected a {what} named by {_RULES[what][1]}, got {cite(text)}")
    return text


def parse_reference(text: str) -> tuple[str, str, str | None]:
    """Split KIND/VARIANT or KIND/VARIANT/VERSION into kind, variant, and version or None. Raises InvalidNameError for
    any other string."""
    parts = text.split("/")
    if len(parts) not in (2, 3):
        raise InvalidNameError(f"expected KIND/VARIANT or KIND/VARIANT/VERSION, got {cite(text)}")
    names = [check_name(what, part) for what, part in zip(("kind", "variant", "version"), parts, strict=False)]
    return names[0], names[1], names[2] if len(names) == 3 else None


def parse_scope(text: str | None) -> tuple[str | None, str | None, str | None]:
    """Split KIND, KIND/VARIANT or KIND/VARIANT/VERSION into kind, variant and version, with None for each part that is
    missing. An empty string gives None three times. Raises InvalidNameError for any other string."""
    if text is None or "/" not in text:
        return text, None, None
    return parse_reference(text)


def parse_input(text: object) -> tuple[str, str, str]:
    """Split `kind/variant@digest`, which names an input of a version, into kind, variant and digest. Raises
    InvalidNameError for any other string."""
    title, sign, digest = text.partition("@") if isinstance(text, str) else ("", "", "")
    if not sign:
        raise InvalidNameError(f"expected kind/variant@digest, got {cite(text)}")
    kind, variant, version = parse_reference(title)
    if version is not None:
        raise InvalidNameError(f"expected kind/variant@digest, got {cite(text)}")
    return kind, variant, check_name("digest", digest)


def sql_text(text: str) -> str:
    """Quote a string as an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def parquet_source(*paths: str | Path) -> str:
    """Return SQL that reads the rows of these Parquet files, one file after another. Folders named `column=value` add
    no columns, although they do by default in DuckDB."""
    return read_parquet(*(sql_text(str(path)) for path in paths))


def read_parquet(*expressions: str, options: str = "") -> str:
    """Return SQL that reads the rows of Parquet files, as `parquet_source` does, but with paths that are SQL
    expressions. A single expression may also be a list of paths."""
    paths = expressions[0] if len(expressions) == 1 else f"[{', '.join(expressions)}]"
    return f"read_parquet({paths}, hive_partitioning = false{options})"


def identifier(name: str) -> str:
    """Quote a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
