"""Checks and quotes external names (of kinds, variants, versions, tables and files) in one place.

They are parts of paths and of SQL, so only names in these forms are allowed: a single path component that stays inside
its folder, needs no quoting in a shell, and is the same on every file system.
"""

from __future__ import annotations

import re
from pathlib import Path

from bgdata.errors import InvalidNameError, cite

CURRENT = "current"  # file in the folder of a variant with the name of the default version
LONGEST = 200  # characters of a variant: staging folders add kind, key and fingerprint, within 255 bytes

KIND = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")  # tables and arrays too
VARIANT = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
VERSION = re.compile(r"r[1-9][0-9]{0,8}-[0-9a-f]{8}")
FILE = re.compile(rf"{KIND.pattern}\.(npy|parquet)")
ROLE = re.compile(r"[a-z][a-z0-9]*([_-][a-z0-9]+)*")  # role of an input; some contain the name of a variant
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
    """Whether a value is the name of a `kind` (or table, or array), `variant`, `version` or `file`, the `role` of an
    input, or a `digest`."""
    return isinstance(text, str) and len(text) <= LONGEST and _RULES[what][0].fullmatch(text) is not None


def check_name(what: str, text: object) -> str:
    """The name itself. Raises InvalidNameError if it is invalid; `what` is as for `is_name`."""
    if not (is_name(what, text) and isinstance(text, str)):
        raise InvalidNameError(f"expected a {what} named by {_RULES[what][1]}, got {cite(text)}")
    return text


def parse_reference(text: str) -> tuple[str, str, str | None]:
    """The kind, the variant, and the version or None, of KIND/VARIANT or KIND/VARIANT/VERSION. Raises InvalidNameError
    for any other string."""
    parts = text.split("/")
    if len(parts) not in (2, 3):
        raise InvalidNameError(f"expected KIND/VARIANT or KIND/VARIANT/VERSION, got {cite(text)}")
    names = [check_name(what, part) for what, part in zip(("kind", "variant", "version"), parts, strict=False)]
    return names[0], names[1], names[2] if len(names) == 3 else None


def parse_scope(text: str | None) -> tuple[str | None, str | None, str | None]:
    """The kind, variant and version of an empty string, KIND, KIND/VARIANT or KIND/VARIANT/VERSION; None for missing
    parts. Raises InvalidNameError for any other string."""
    if text is None or "/" not in text:
        return text, None, None
    return parse_reference(text)


def parse_input(text: object) -> tuple[str, str, str]:
    """The kind, variant and digest of `kind/variant@digest`, an input of a version. Raises InvalidNameError for any
    other string."""
    title, sign, digest = text.partition("@") if isinstance(text, str) else ("", "", "")
    if not sign:
        raise InvalidNameError(f"expected kind/variant@digest, got {cite(text)}")
    kind, variant, version = parse_reference(title)
    if version is not None:
        raise InvalidNameError(f"expected kind/variant@digest, got {cite(text)}")
    return kind, variant, check_name("digest", digest)


def sql_text(text: str) -> str:
    """A string as an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def parquet_source(*paths: str | Path) -> str:
    """The rows of Parquet files, one after the other, as an SQL source. Unlike DuckDB's default, folders named
    `column=value` add no columns."""
    return read_parquet(*(sql_text(str(path)) for path in paths))


def read_parquet(*expressions: str, options: str = "") -> str:
    """Like `parquet_source`, for paths given by SQL expressions; a single expression may be a list."""
    paths = expressions[0] if len(expressions) == 1 else f"[{', '.join(expressions)}]"
    return f"read_parquet({paths}, hive_partitioning = false{options})"


def identifier(name: str) -> str:
    """A name as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
