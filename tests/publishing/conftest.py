"""A published folder that the tests of this room read."""

from __future__ import annotations

import functools
import http.server
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import bgdata
from bgdata.publishing import publish

KINDS = (
    "bearoff_gammon",
    "bearoff_two_sided",
    "gnubg_training",
    "match_equity",
    "reference_positions",
    "selfplay",
    "selfplay_labels",
)


@pytest.fixture(scope="session")
def published(small_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A published folder of some kinds of the small warehouse; read-only."""
    folder = tmp_path_factory.mktemp("published") / "folder"
    publish(bgdata.open_warehouse(small_root), folder, KINDS)
    return folder


class RangeHandler(http.server.SimpleHTTPRequestHandler):
    """Serves files of a folder, and ranges of their bytes."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """A file, or the part of it that the header Range asks for."""
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            self.send_error(404)
            return
        size = path.stat().st_size
        byte_range = self.headers.get("Range", "")
        first, _, last = byte_range.removeprefix("bytes=").partition("-")
        if not byte_range:
            begin, end = 0, size
        elif first:
            begin, end = int(first), min(size, int(last) + 1 if last else size)
        else:  # the last bytes
            begin, end = size - int(last), size
        self.send_response(206 if byte_range else 200)
        if byte_range:
            self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{size}")
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(end - begin))
        self.end_headers()
        with path.open("rb") as file:
            file.seek(begin)
            self.wfile.write(file.read(end - begin))

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="session")
def published_address(published: Path) -> Iterator[str]:
    """The published folder on a web server of this machine, which supports ranges."""
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(RangeHandler, directory=os.fspath(published))
    )
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
