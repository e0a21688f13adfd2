"""Sites on a real socket: what only shows where clients connect, wait and leave."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.types import ASGIApp


@contextmanager
def serving(app: Starlette | ASGIApp) -> Iterator[int]:
    """The port at which a site answers inside of the block, run as `bgdata serve` runs it."""
    import uvicorn

    from bgdata.web.connections import Connection

    config = uvicorn.Config(app, http=Connection, port=0, log_level="warning", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    wait_until(lambda: server.started)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()


def wait_until(is_so: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait until something is so. Raises TimeoutError."""
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.01)


@contextmanager
def asked(port: int, where: str) -> Iterator[http.client.HTTPResponse]:
    """The answer of a server on a connection of its own, which is closed at the end whatever is still to come."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", where, headers={"accept": "text/html"})
        with connection.getresponse() as answer:
            yield answer
    finally:
        connection.close()
