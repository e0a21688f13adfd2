"""The page to add match files to the library while the server runs, for the person who started it.

The page exists only with `bgdata serve --import`, on this machine alone, at an address with a token that the command
prints. A process of its own imports the files, one request at a time.
"""

from __future__ import annotations

import multiprocessing
import re
import secrets
import shutil
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from bgdata.errors import BgdataError, MissingFileError, TooBusyError, UsageError, cite
from bgdata.matches.pages.import_process import LIBRARY, library_files, library_folder, take_matches
from bgdata.web.answer import Page, respond_error, status_of
from bgdata.web.position_request import integer_parameter
from bgdata.web.site import Row, Site

MAX_FILES = 1_000  # files of one request
MAX_NAME = 200  # bytes of the name of a file
MAX_PLY = 2
KEPT_NOTES = 200
INVALID = re.compile(r"[\x00-\x1f\x7f/\\:\ud800-\udfff]")  # characters that names of files may not have
PLAYERS = """
select variant as analysis, player, matches, decisions, performance_rating, pr, luck_per_game
from players where starts_with(variant, $library) order by matches desc, player limit 100
"""


@dataclass
class ImportState:
    """The state of the last request to add files: `idle` before the first, then `working`, then `done` or `failed`."""

    state: str = "idle"
    step: str = ""
    done: int = 0
    total: int = 0
    unit: str = ""
    error: str = ""
    notes: list[str] = field(default_factory=list)

    def row(self) -> Row:
        """Return the JSON form of the page."""
        return {**vars(self), "notes": list(self.notes)}


class Importer:
    """Adds match files to the library of a site, one request at a time, in a process of its own."""

    def __init__(self, site: Site, token: str) -> None:
        self._site, self._token, self._lock = site, token, threading.Lock()
        self._process: BaseProcess | None = None
        self.work = ImportState()

    def page(self, site: Site, request: Request) -> Page:
        """The page with a form for match files, the progress of the last request, and links to its results."""
        self.check_token(request)
        work = self.work.row()  # before the library is read: a page that says `done` must show what was imported
        files = library_files(site.warehouse)
        rows = site.rows(PLAYERS, {"library": f"{LIBRARY}-"}) if site.warehouse.variants("match_analysis") else []
        shown_ = {
            "work": work,
            "here": request.url.path,
            "n_files": len(files),
            "n_bytes": sum(path.stat().st_size for path in files),
            "variant": LIBRARY if LIBRARY in site.warehouse.variants("matches") else "",
            "players": rows,
            "most_bytes": site.limits.upload_bytes,
            "most_files": MAX_FILES,
            "plies": range(MAX_PLY + 1),
        }
        return Page("import.html", shown_, work)

    async def receive(self, request: Request) -> Response:
        """Accept the files of a submitted form, and redirect to the page, which shows the progress."""
        try:
            self.check_token(request)
            async with request.form(max_files=MAX_FILES, max_fields=4, max_part_size=100) as form:
                await run_in_threadpool(self.take, form)
        except HTTPException as error:  # the form is invalid
            return respond_error(request, f"expected a form with files, got another: {error.detail}", 400)
        except BgdataError as error:
            return respond_error(request, self._site.public(error), status_of(error))
        return RedirectResponse(request.url.path, 303)

    def check_token(self, request: Request) -> None:
        """Raise MissingFileError, as for any unknown page, unless the address contains the token."""
        if not secrets.compare_digest(request.path_params["token"].encode(), self._token.encode()):
            raise MissingFileError("expected a page of this site, got another address")

    def take(self, form: FormData) -> None:
        """Start the process that adds the files of a form. Raises UsageError for an invalid name or ply, or if there is
        no file to analyse, and TooBusyError while the files of an earlier request are being added."""
        ply = integer_parameter({"ply": str(form.get("ply") or "0")}, "ply", 0, most=MAX_PLY)
        files = [file for file in form.getlist("file") if isinstance(file, UploadFile) and file.filename]
        names = [checked_name(str(file.filename)) for file in files]
        if len({name.lower() for name in names}) < len(names):
            raise UsageError("expected files with different names, got one name twice")
        if not files and not library_files(self._site.warehouse):
            raise UsageError("expected a file, got none")
        if not self._lock.acquire(blocking=False):
            raise TooBusyError("expected one import at a time, found another at work; try again when it has ended")
        try:
            folder = library_folder(self._site.warehouse).parent
            folder.mkdir(parents=True, exist_ok=True)
            incoming = TemporaryDirectory(prefix=".incoming-", dir=folder, ignore_cleanup_errors=True)
            for name, file in zip(names, files, strict=True):
                with Path(incoming.name, name).open("xb") as target:
                    shutil.copyfileobj(file.file, target)
            self._begin(incoming, ply)
        except OSError as error:
            self._lock.release()
            raise UsageError(f"expected files that can be kept, found: {error.strerror}") from error
        except BaseException:
            self._lock.release()
            raise

    def _begin(self, incoming: TemporaryDirectory[str], ply: int) -> None:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe(duplex=False)
        given = self._site.warehouse, Path(incoming.name).resolve(), ply, theirs
        self.work = ImportState("working", "starting")
        process = context.Process(target=take_matches, args=given, daemon=True)
        with theirs:
            process.start()
        self._process = process
        threading.Thread(target=self._follow, args=(process, ours, incoming), daemon=True).start()

    def _follow(self, process: BaseProcess, pipe: Connection, incoming: TemporaryDirectory[str]) -> None:
        """Record the messages of the process until it ends, and delete the folder `incoming`."""
        work, end = self.work, ("failed", "expected the import to end by itself, found that its process was ended")
        try:
            while True:
                message = pipe.recv()
                if message[0] in ("done", "failed"):
                    end = message
                    break
                note_message(work, message)
        except (EOFError, OSError):
            pass  # the process has ended
        pipe.close()
        process.join()
        incoming.cleanup()
        if end[0] == "failed":
            work.error = self._site.public(end[1])
        work.state = end[0]
        self._lock.release()

    def end(self) -> None:
        """Stop the importing process, if it is running. Matches that it has not finished are not in the warehouse."""
        if self._process:
            self._process.kill()
            self._process.join()


def note_message(work: ImportState, message: Sequence[Any]) -> None:
    """Update `work` by a message of the process: a step of its progress, or a note."""
    kind, *values = message
    if kind == "step":
        work.step, work.done, work.total, work.unit = values
    else:
        work.notes = [*work.notes, *values][-KEPT_NOTES:]


def checked_name(name: str) -> str:
    """Return the name of an uploaded file. Raises UsageError if it is not the plain name of a visible file."""
    if INVALID.search(name) or name.startswith(".") or name != name.strip() or len(name.encode()) > MAX_NAME:
        raise UsageError(f"expected the plain name of a file, at most {MAX_NAME} bytes long, got {cite(name)}")
    return name
