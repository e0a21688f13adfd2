"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click


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
