"""Options that several commands have."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import click

from bgdata.errors import UsageError

SCORE = re.compile(r"(\d{1,3})-(\d{1,3})", re.ASCII)


def parse_score(text: str, expected: str, got: str = "") -> tuple[int, int]:
    """Both numbers of a score such as 3-5, that of the player on roll first. Raises UsageError, with what was expected
    and `got` (the text unless given)."""
    found = SCORE.fullmatch(text)
    if not found:
        raise UsageError(f"expected {expected}, got {got or text}")
    return int(found[1]), int(found[2])


def threads_option(function: Callable[..., None]) -> Callable[..., None]:
    """How many threads kernels may use."""
    return click.option("--threads", type=click.IntRange(1), metavar="N", help="Threads to use.  [default: all cores]")(
        function
    )


def executor_option(function: Callable[..., None]) -> Callable[..., None]:
    """Who computes kinds that come in parts."""
    return click.option(
        "--executor",
        default="local",
        show_default=True,
        metavar="NAME",
        help="Who computes what comes in parts, such as games: local, processes:N, or dask://HOST:PORT.",
    )(function)


def gnubg_option(function: Callable[..., None]) -> Callable[..., None]:
    """Files of gnubg to look into beside our tables."""
    return click.option(
        "--bd",
        "gnubg_files",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="A bearoff file of gnubg to look into as well; can be given several times.",
    )(function)
