"""Files that others publish: the addresses, licences and hashes in `sources.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

PATH = Path(__file__).with_name("sources.toml")


@dataclass(frozen=True)
class SourceFile:
    """A file that somebody publishes, with its hashes, which are empty if they are not known. `content_sha256` is the
    hash of the content after unpacking."""

    name: str  # its name in the folder of downloads
    address: str
    kind: str = ""  # the kind that imports it, empty if none does
    size: int = 0  # in bytes, may be rounded; 0 if unknown
    sha256: str = ""
    content_sha256: str = ""


@dataclass(frozen=True)
class Source:
    """A publisher of backgammon data, with the files that can be downloaded."""

    name: str
    about: str
    home: str
    licence: str
    citation: str
    files: tuple[SourceFile, ...]
    login: str = ""  # the environment variable with the reader's token, if the publisher asks who downloads


@cache
def load_sources() -> Mapping[str, Source]:
    """The publishers in `sources.toml` by name, in the order of that file."""
    found = {}
    for name, fields in tomllib.loads(PATH.read_text()).items():
        files = tuple(SourceFile(**file) for file in fields.pop("files"))
        found[name] = Source(name, files=files, **fields)
    return found


def at_mirror(source: Source, address: str | None) -> Source:
    """Return the publisher with the addresses of its files on a mirror, in the folder at `address`. The publisher does
    not change if `address` is None or empty."""
    if not address:
        return source
    site = address.rstrip("/")
    return replace(source, files=tuple(replace(file, address=f"{site}/{file.name}") for file in source.files))


def published_contents(kind: str) -> Mapping[str, str]:
    """Return the SHA-256 of the unpacked content of each published file of a kind, if it is known, by file name without
    the ending for compression."""
    files = [file for source in load_sources().values() for file in source.files if file.kind == kind]
    return {file.name.removesuffix(".bz2"): file.content_sha256 for file in files if file.content_sha256}
