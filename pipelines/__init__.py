"""Prefect flows over bgdata. Flows name steps, retry and report; the library computes, and does not depend on Prefect.

Prefect is set to be quiet, local and offline here, before it is imported. Its database is in .bgdata/prefect of the
current folder, nothing is sent anywhere, and no server needs to be started. If that folder cannot be written, the
database is temporary. It contains only past runs.
"""

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

from bgdata.errors import MissingExtraError, needing
from bgdata.process import begin


def begin_flow() -> None:
    """Prepare a program that runs a flow: handle signals, and import Prefect, which takes seconds. Exits if Prefect is
    not installed."""
    begin()
    try:
        with needing("flows", "to run a flow"):
            import prefect  # noqa: F401
    except MissingExtraError as error:
        sys.exit(f"error: {error}")


def writable_home(wanted: Path) -> Path:
    """Create the folder `wanted` if it is missing, and return it. If it cannot be written, tell the user, and return a
    temporary folder."""
    try:
        wanted.mkdir(
            parents=True, exist_ok=True
        )  # Prefect creates only one level, and its server dies silently without the folder
        with tempfile.TemporaryFile(dir=wanted):
            return wanted
    except OSError as error:
        found = Path(tempfile.mkdtemp(prefix="bgdata-prefect-"))
        atexit.register(shutil.rmtree, found, ignore_errors=True)
        reason = (error.strerror or str(error)).lower()
        print(f"cannot write {wanted}: {reason}; this run is not recorded", file=sys.stderr)
        return found


HOME = writable_home(Path(os.environ.get("PREFECT_HOME", Path.cwd() / ".bgdata" / "prefect")))
os.environ["PREFECT_HOME"] = str(HOME)

_SERVICES = ("TRIGGERS", "SCHEDULER", "LATE_RUNS", "FOREMAN", "CANCELLATION_CLEANUP", "PAUSE_EXPIRATIONS")
SETTINGS = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_LOGGING_LEVEL": "CRITICAL",  # `main` prints one line for raised failures, not two tracebacks
    "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL",
    "PREFECT_LOGGING_ROOT_LEVEL": "CRITICAL",  # the server's database logs errors when the server ends
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
} | {f"PREFECT_SERVER_SERVICES_{name}_ENABLED": "false" for name in _SERVICES}
for _name, _value in SETTINGS.items():
    os.environ.setdefault(_name, _value)
