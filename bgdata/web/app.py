"""The ASGI application: routes, guards and error responses."""

from __future__ import annotations

import asyncio
import errno
import logging
import re
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from anyio.to_thread import current_default_thread_limiter
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route, Router
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bgdata.errors import BgdataError
from bgdata.game.position import START
from bgdata.store.storage import is_shortage_of_memory
from bgdata.warehouse import Warehouse
from bgdata.web.answer import FOLDER, TEMPLATES, UNTOUCHED, Endpoint, client_of, respond, respond_error, status_of
from bgdata.web.home import home
from bgdata.web.query_process import QueryProcess
from bgdata.web.site import Limits, Site

if TYPE_CHECKING:
    from bgdata.matches.pages.importing import Importer

LOG = logging.getLogger("uvicorn.error")
SHORTAGE = "expected few requests at once, got too many; try again later", 503
FAILURE = "the server could not make this page; its log says why"
LOOPBACK = ("127.0.0.1", "localhost", "::1", "[::1]")
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
COMPRESSION = Middleware(  # of texts: files are compressed already, and clients may ask for parts of them
    GZipMiddleware,
    compresslevel=4,
    exclude_content_types=(
        *DEFAULT_EXCLUDED_CONTENT_TYPES,
        "application/octet-stream",
        "application/vnd.apache.parquet",
    ),
)
IMPORTS = "/import/"  # beginning of the addresses that take files, if the site takes files
PORT = re.compile(r":\d+$", re.ASCII)  # the port of a host


def create_app(
    warehouse: Warehouse,
    limits: Limits | None = None,
    hosts: Sequence[str] = LOOPBACK,
    *,
    is_warm: bool = False,
    token: str = "",
) -> Starlette:
    """Make the site of a warehouse, as an ASGI application. It answers requests to the host names in `hosts`. If there
    are none, it answers to every name, and limits how much each client may compute. `is_warm` loads the kernels of
    pages in advance. With a `token`, the site takes match files at /import/TOKEN; without a token it only reads."""
    site = Site(warehouse, limits, is_limited=not hosts)
    queries, rest = QueryProcess(site), LazyRoutes(lambda: load_routes(site, is_warm=is_warm, importer=importer))
    importer = open_importer(site, token) if token else None

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        current_default_thread_limiter().total_tokens = site.limits.threads
        rest.begin()
        yield
        queries.end()
        if importer:
            importer.end()

    app = Starlette(
        routes=[
            Route("/", endpoint(site, home), methods=["GET"]),
            Mount("/static", StaticFiles(directory=FOLDER / "static")),
        ],
        middleware=[Middleware(Guard, limits=site.limits, hosts=hosts, takes_files=bool(token)), COMPRESSION],
        exception_handlers={HTTPException: on_http_error, Exception: on_failure},
        lifespan=lifespan,
    )
    app.router.default = rest
    app.state.site, app.state.queries, app.state.importer = site, queries, importer
    return app


def open_importer(site: Site, token: str) -> Importer:
    """Make the object that imports match files into the site's warehouse."""
    from bgdata.matches.pages.importing import Importer

    return Importer(site, token)


def load_routes(site: Site, *, is_warm: bool, importer: Importer | None = None) -> Router:
    """Return the routes of all addresses except the home page. This takes a second, because it imports the modules that
    compute."""
    from bgdata.evaluation.pages.position import warm_up
    from bgdata.selfplay.pages.choices import warm_up as warm_up_rollouts
    from bgdata.web.openapi import ADDRESSES

    # loaded now, because this page must also work when no more files can be opened
    TEMPLATES.get_template("error.html").render(path="", title="", message="")
    if is_warm:
        warm_up(site)

        def warm_up_rest() -> None:
            warm_up_queries(site)
            warm_up_rollouts(site)

        threading.Thread(target=warm_up_rest, daemon=True).start()
    routes = [Route(each.path, endpoint(site, each.endpoint), methods=["GET"]) for each in ADDRESSES]
    if importer:
        where = f"{IMPORTS}{{token}}"
        routes.append(Route(where, endpoint(site, importer.page), methods=["GET"]))
        routes.append(Route(where, importer.receive, methods=["POST"]))
    return Router(routes)


def warm_up_queries(site: Site) -> None:
    """Open the database connection of the site, so that the first page with rows is not slower than others."""
    with suppress(BgdataError):  # pages will report the error
        site.rows("select theme(board($id))", {"id": START.id})


class LazyRoutes:
    """An ASGI application for everything except the home page and static files. Its routes are loaded in a thread after
    the site has started, or by the first request, which waits for them."""

    def __init__(self, load: Callable[[], ASGIApp]) -> None:
        self._load = load
        self._loading: asyncio.Task[ASGIApp] | None = None

    def begin(self) -> asyncio.Task[ASGIApp]:
        """Start loading the routes, unless they are being loaded already."""
        if self._loading is None:
            self._loading = asyncio.create_task(run_in_threadpool(self._load))
        return self._loading

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Wait until the routes are loaded, and answer the request."""
        app = await asyncio.shield(self.begin())
        await app(scope, receive, send)


def endpoint(site: Site, function: Endpoint) -> Callable[[Request], Response]:
    """Wrap the function of a page as an endpoint of Starlette, which calls it in a thread. An error becomes a response,
    and the time is charged to the client."""

    def answer_request(request: Request) -> Response:
        try:
            with site.charge(client_of(request)), site.request():
                return respond(request, function(site, request))
        except BgdataError as error:
            return respond_error(request, site.public(error), status_of(error))
        except Exception as error:  # a bug; the error is logged, and the client gets no details
            if is_crowded(error):
                return respond_error(request, *SHORTAGE)
            LOG.exception("%s", request.url.path[:200])
            return respond_error(request, FAILURE, 500)

    return answer_request


def is_crowded(error: Exception) -> bool:
    """Return whether an error means that the server lacks memory, threads or open files at the moment."""
    is_full = isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)
    return is_full or is_shortage_of_memory(error)


async def on_http_error(request: Request, error: Exception) -> Response:
    """Return the response to an error that Starlette raises: an unknown address or method."""
    assert isinstance(error, HTTPException)
    messages = {404: f"expected a page of this site, got {request.url.path[:200]}"}
    return respond_error(request, messages.get(error.status_code, error.detail), error.status_code)


async def on_failure(request: Request, _: Exception) -> Response:
    """Return the response to an unexpected exception, which the server logs."""
    return respond_error(request, FAILURE, 500)


class Guard:
    """Middleware that refuses requests with a body, a long address or another host name, and adds security headers to
    every response. If `takes_files` is true, pages of this site may send files to /import/."""

    def __init__(self, app: ASGIApp, limits: Limits, hosts: Sequence[str], *, takes_files: bool = False) -> None:
        self._app, self._limits, self._hosts, self._takes_files = app, limits, frozenset(hosts), takes_files

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on. Requests that are not HTTP pass through."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        is_begun = False

        async def send_with_headers(message: Message) -> None:
            nonlocal is_begun
            if message["type"] == "http.response.start":
                is_begun = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        path: str = scope["path"]
        if path.endswith(".json") and not path.startswith(UNTOUCHED):
            scope = {**scope, "path": path.removesuffix(".json") or "/", "bgdata.json": True}
        request = Request(scope)
        refused = self._refusal(request)
        answer = respond_error(request, *refused) if refused else self._app
        try:
            await answer(scope, receive, send_with_headers)
        except Exception as error:  # for example if the system cannot start another thread
            if is_begun or not is_crowded(error):
                raise
            await respond_error(request, *SHORTAGE)(scope, receive, send_with_headers)

    def _refusal(self, request: Request) -> tuple[str, int] | None:
        """Return why a request is refused, and the HTTP status; None if the request is allowed."""
        host = PORT.sub("", request.headers.get("host", ""))
        if self._hosts and host not in self._hosts:
            return f"expected one of {', '.join(sorted(self._hosts))} as the host, got {host[:100]}", 421
        # Pages of other sites may not make this site compute, except by a link that a person follows. Browsers send
        # these headers; other programs do not.
        headers = request.headers
        is_followed = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        if headers.get("sec-fetch-site") in ("cross-site", "same-site") and not is_followed:
            return "expected a page of this site to ask, or a person who follows a link, got another site", 403
        if self._takes_files and request.method == "POST" and request.url.path.startswith(IMPORTS):
            return self._upload_refusal(request)
        # only uploads write anything, so other requests need no token against forgery
        if request.method not in ("GET", "HEAD"):
            return f"expected GET or HEAD, got {request.method[:20]}", 405
        if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
            return "expected a request without a body", 413
        if len(request.url.path) + len(request.url.query) > self._limits.address_bytes:
            return f"expected an address of at most {self._limits.address_bytes:,} bytes", 414
        return None

    def _upload_refusal(self, request: Request) -> tuple[str, int] | None:
        """Return why a request that sends match files is refused, and the HTTP status; None if the request is
        allowed."""
        headers, most = request.headers, self._limits.upload_bytes
        own = f"{request.url.scheme}://{headers.get('host', '')}"
        if headers.get("sec-fetch-site", "same-origin") != "same-origin" or headers.get("origin", own) != own:
            return "expected files from a page of this site, got them from another", 403
        size = headers.get("content-length", "")
        if "transfer-encoding" in headers or not (size.isascii() and size.isdigit()):
            return "expected the length of the files in content-length, got none", 411
        if len(size) > 12 or int(size) > most:
            return f"expected files of at most {most:,} bytes at once, got more", 413
        return None
