"""Work for tests of shards: cheap, named so that other processes find it, and damaged at will."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np

from bgdata.errors import InvalidParameterError
from bgdata.store.arrays import Array
from bgdata.store.handed import Settings
from bgdata.store.shards import Work


def squares(settings: Settings, begin: int, end: int) -> dict[str, Array]:
    """The squares of a range, and a line in a file for each call: ranges that were computed."""
    if "log" in settings:
        with Path(str(settings["log"])).open("a") as log:
            log.write(f"{begin}-{end} {os.getpid()}\n")
    time.sleep(float(settings.get("seconds", 0)))
    if settings.get("refuse") == begin:
        raise InvalidParameterError(f"expected another range, got {begin}")
    if settings.get("die") == begin:
        os.kill(os.getpid(), signal.SIGKILL)
    numbers = np.arange(begin, end, dtype=np.int64)
    return {"square": numbers**2, "flags": np.full((end - begin, 2), int(settings.get("flag", 0)), np.int8)}


def work(**settings: str | int) -> Work:
    """`squares` with settings."""
    return Work("tests.store.sharing:squares", settings)
