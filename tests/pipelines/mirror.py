"""A mirror of published files on this machine, which can hold back the second half of one."""

import threading
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Mirror(ThreadingHTTPServer):
    """Serves one file: the first half at once, the rest when `may_finish` is set. Clients may request a part alone."""

    daemon_threads = True

    def __init__(self, name: str, content: bytes) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.name = name
        self.content = content
        self.may_finish = threading.Event()
        self.ranges: list[str] = []  # the header Range of each request, empty for the whole file
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        """The address of the file."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def close(self) -> None:
        """Stop the server, and release the rest of the file."""
        self.may_finish.set()
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Mirror

    def do_GET(self) -> None:
        """Send the file, or the part in Range."""
        byte_range = self.headers.get("Range", "")
        self.server.ranges.append(byte_range)
        if self.path != f"/{self.server.name}":
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        content = self.server.content
        first = int(byte_range.removeprefix("bytes=").rstrip("-") or 0)
        half = len(content) // 2
        self.send_response(HTTPStatus.PARTIAL_CONTENT if byte_range else HTTPStatus.OK)
        self.send_header("Content-Length", str(len(content) - first))
        self.end_headers()
        with suppress(ConnectionError):  # the client was killed
            self.wfile.write(content[first:half])
            self.server.may_finish.wait()
            self.wfile.write(content[max(first, half) :])

    def log_message(self, *_: object) -> None:
        """Log nothing."""
