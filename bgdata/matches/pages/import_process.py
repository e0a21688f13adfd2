"""Adds match files to the library in a process of its own: checks them, imports them, and analyses the matches."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory

from bgdata.equity.kinds.match_equity import DATASET as MATCH_EQUITY
from bgdata.errors import BgdataError, MissingFileError, NoRowsError, UsageError
from bgdata.formats.unpacking import BYTES_VARIABLE
from bgdata.imports.steps import RAW, collect_files, import_files
from bgdata.matches.kinds.match_analysis import DATASET as MATCH_ANALYSIS
from bgdata.matches.kinds.match_analysis import OWN, PUBLISHED_MET, MatchAnalysisParameters
from bgdata.matches.kinds.matches import DATASET as MATCHES
from bgdata.matches.kinds.matches_compute import MatchesComputation
from bgdata.store.parameters import VersionRef
from bgdata.store.progress import Progress, Silence
from bgdata.store.storage import sha256_file
from bgdata.warehouse import Warehouse

LIBRARY = "uploaded"  # the variant of `matches`, and the folder of its files among the downloads of the warehouse
LIBRARY_FILES, LIBRARY_BYTES = 10_000, 1 << 30  # limits of the library
UNPACKED_BYTES = 1 << 28  # limit of a file or archive, unless the environment has another limit
PAUSE_SECONDS = 0.1  # time between two reports of progress
COMPUTATION = MatchesComputation(MATCHES)


class PipedProgress(Progress):
    """Progress that is sent through a pipe, as (`step`, label, done, total, unit) or (`note`, text). Files in `folder`
    are named without the folder."""

    def __init__(self, pipe: Connection, folder: Path) -> None:
        self._pipe, self._folder, self._sent = pipe, folder, 0.0
        self._label, self._done, self._total, self._unit = "", 0, 0, ""

    def start(self, label: str, total: int, unit: str) -> None:
        self._label, self._done, self._total, self._unit = label, 0, total, unit
        self._send()

    def advance(self, count: int) -> None:
        self._done += count
        if time.monotonic() > self._sent + PAUSE_SECONDS or self._done == self._total:
            self._send()

    def note(self, text: str) -> None:
        self._pipe.send(("note", text.replace(f"{self._folder}/", "")))

    def _send(self) -> None:
        self._sent = time.monotonic()
        self._pipe.send(("step", self._label, self._done, self._total, self._unit))


def library_folder(warehouse: Warehouse) -> Path:
    """Return the folder in the warehouse where the files of the library are kept."""
    return warehouse.root / RAW / LIBRARY


def library_files(warehouse: Warehouse) -> list[Path]:
    """Return the files of the library, in the order in which they were added."""
    folder = library_folder(warehouse)
    found = [path for path in folder.iterdir() if path.is_file()] if folder.is_dir() else []
    return sorted(found, key=lambda path: (path.stat().st_mtime_ns, path.name))


def take_matches(warehouse: Warehouse, incoming: Path, ply: int, pipe: Connection) -> None:
    """Add the files in the folder `incoming` to the library of the warehouse, and analyse all its matches, `ply` rolls
    ahead. Sends progress through the pipe, and at the end (`done`, analysis) or (`failed`, message)."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends this process
    os.environ.setdefault(BYTES_VARIABLE, str(UNPACKED_BYTES))
    progress = PipedProgress(pipe, incoming)
    try:
        import_new(warehouse, incoming, progress)
        analysis = analyse_library(warehouse, ply, progress)
        pipe.send(("done", analysis))
    except BgdataError as error:
        pipe.send(("failed", str(error).replace(f"{incoming}/", "")))


def import_new(warehouse: Warehouse, incoming: Path, progress: Progress) -> None:
    """Import the files in the folder `incoming` together with those of the library, and add them to the library. Files
    without a readable match are left out with a note. Does nothing if there are no files. Raises MissingFileError if no
    new file remains, UsageError if the library would become too large, and the errors of `import_files`."""
    arrived, known = sorted(incoming.iterdir()), library_files(warehouse)
    if not arrived:
        return
    new = list(readable_files(warehouse, arrived, known, progress))
    if not new:
        raise MissingFileError(f"expected a new file with matches, found none in {len(arrived)}")
    if len(known) + len(new) > LIBRARY_FILES or sum(path.stat().st_size for path in (*known, *new)) > LIBRARY_BYTES:
        raise UsageError(
            f"expected a library of at most {LIBRARY_FILES:,} files and {LIBRARY_BYTES:,} bytes, got more; "
            "try: bgdata import matches FOLDER"
        )
    table = import_files(warehouse, MATCHES.name, [*known, *new], progress, name=LIBRARY)
    counts = table.manifest.statistics
    left_out = f", {int(counts['lines_quarantined']):,} lines quarantined" if counts["lines_quarantined"] else ""
    again = f", {int(counts['duplicates']):,} found again" if counts["duplicates"] else ""
    progress.note(f"{int(counts['matches']):,} matches in the library{again}{left_out}")
    folder = library_folder(warehouse)
    folder.mkdir(parents=True, exist_ok=True)
    for path in new:
        shutil.move(path, free_place(folder, path.name))


def readable_files(
    warehouse: Warehouse, arrived: Sequence[Path], known: Sequence[Path], progress: Progress
) -> Iterator[Path]:
    """Yield the files that contain matches and are not in the library yet. A note says why other files are left out."""
    contents = {sha256_file(path) for path in known}
    progress.start("reading", len(arrived), "files")
    for path in arrived:
        content = sha256_file(path)
        try:
            if content in contents:
                progress.note(f"{path.name}: is in the library already")
                continue
            with unpack_files(warehouse, path) as inside:
                if not any(has_game(each) for each in inside):
                    raise NoRowsError("expected a game that can be replayed, found none")
        except BgdataError as error:
            progress.note(f"{path.name}: left out: {error}")
        else:
            contents.add(content)
            yield path
        finally:
            progress.advance(1)


@contextmanager
def unpack_files(warehouse: Warehouse, path: Path) -> Iterator[list[Path]]:
    """Yield the match files in a file or archive; unpacked copies are deleted when the `with` block ends. Raises
    MissingFileError if it contains no match, and the errors of `collect_files`."""
    with TemporaryDirectory(prefix="bgdata-") as folder:
        try:
            found = collect_files(warehouse, MATCHES.name, [path], Silence(), Path(folder))
        except BgdataError:  # before OSError, because some are OSErrors too
            raise
        except OSError as error:
            raise UsageError(f"expected files that can be unpacked, found: {error.strerror}") from error
        if not any(COMPUTATION.holds(each) for each in found):
            raise MissingFileError("expected a match file, found none")
        yield found


def has_game(path: Path) -> bool:
    """Return whether a match file has a game that can be replayed. Raises the errors of `read_content`."""
    return COMPUTATION.has_rows(COMPUTATION.parse(COMPUTATION.read_file(path), MATCHES.smallest))


def free_place(folder: Path, name: str) -> Path:
    """Return a path in a folder at which there is no file: `name`, with a number before the ending if necessary."""
    stem, dot, ending = name.partition(".")
    numbered = (f"{stem}-{number}{dot}{ending}" for number in range(2, LIBRARY_FILES + 3))
    return next(folder / each for each in (name, *numbered) if not (folder / each).exists())


def analyse_library(warehouse: Warehouse, ply: int, progress: Progress) -> str:
    """Build the analysis of the library's matches, `ply` rolls ahead, and return its variant. Matches are judged by the
    default network's match equity table, or by the published one if the warehouse does not contain it."""
    given = {"source": VersionRef(MATCHES.name, LIBRARY), "ply": ply}
    own = MATCH_ANALYSIS.complete(MatchAnalysisParameters().with_changes(given), warehouse)
    has_own = warehouse.find(MATCH_EQUITY, MATCH_EQUITY.defaults[0]) is not None
    parameters = own.with_changes({"met": OWN if has_own else PUBLISHED_MET})
    warehouse.build(MATCH_ANALYSIS.name, parameters, progress=progress)
    return MATCH_ANALYSIS.slug(parameters)
