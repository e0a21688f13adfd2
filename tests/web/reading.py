"""Helpers that read pages like a browser, check the rules of this site, and serve sites on a real socket."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.testclient import TestClient
    from starlette.types import ASGIApp

HOST = "http://localhost"
EMPTY = {"meta", "link", "input", "br", "img", "hr"}  # elements without an end


def open_client(app: Starlette, base_url: str = HOST, **options: Any) -> TestClient:
    """A client of a site without a server."""
    from starlette.testclient import TestClient

    return TestClient(app, base_url, **options)


class PageReader(HTMLParser):
    """The content of a page; raises AssertionError if its elements do not nest."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.links: list[str] = []
        self.ids: list[str] = []
        self.flaws: list[str] = []
        self.words: list[str] = []
        self.fields: list[tuple[str, str]] = []  # (name, value) of forms, without the search form
        self._choice = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        if self._open:
            self.flaws.append(f"not closed: {self._open}")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "a" and "href" in attributes:
            self.links.append(str(attributes["href"]))
        if "id" in attributes:
            self.ids.append(str(attributes["id"]))
        self.flaws += [f"{name} in {tag}" for name in attributes if name == "style" or name.startswith("on")]
        if tag == "style" or (tag == "script" and "src" not in attributes):
            self.flaws.append(f"inline {tag}")
        if tag in ("link", "script"):
            where = str(attributes.get("src") or attributes.get("href"))
            self.flaws += [f"from elsewhere: {where}"] * (not where.startswith("/static/"))
        if tag in ("input", "select", "textarea") and attributes.get("type") != "hidden":
            is_named = "label" in self._open or "aria-label" in attributes or "id" in attributes
            self.flaws += [f"no label for {tag} {attributes.get('name')}"] * (not is_named)
        self._note_field(tag, attributes)
        if tag == "svg" and "role" not in attributes:
            self.flaws.append("a picture without a role")
        if tag not in EMPTY:
            self._open.append(tag)

    def _note_field(self, tag: str, attributes: dict[str, str | None]) -> None:
        name = str(attributes.get("name"))
        is_sent = attributes.get("type") != "checkbox" or "checked" in attributes
        if tag == "input" and is_sent and attributes.get("type") != "search":
            self.fields.append((name, str(attributes.get("value") or "")))
        self._choice = name if tag == "select" else self._choice
        if tag == "option" and "selected" in attributes:
            self.fields.append((self._choice, str(attributes.get("value"))))

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.flaws.append(f"</{tag}> closes something else")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in EMPTY:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        """All words of the page, with one space between them."""
        return " ".join(" ".join(self.words).split())


def read(client: TestClient, where: str, status: int = 200) -> PageReader:
    """Read a page and check its status and the rules: nesting, labels, unique ids, no inline style or script."""
    answer = client.get(where)
    assert answer.status_code == status, (where, answer.text[:2000])
    assert answer.headers["content-type"].startswith("text/html"), where
    page = PageReader(answer.text)
    assert page.flaws == [], where
    repeated = {name for name in page.ids if page.ids.count(name) > 1}
    assert repeated == set(), where
    return page


def inner_links(page: PageReader, where: str) -> list[str]:
    """Addresses that a page links to, without fragments. Raises AssertionError for a link to another site."""
    addresses = [urljoin(HOST + where, link).partition("#")[0] for link in page.links]
    assert all(address.startswith(HOST + "/") for address in addresses), addresses
    return list(dict.fromkeys(address.removeprefix(HOST) for address in addresses))


@contextmanager
def serving(app: Starlette | ASGIApp) -> Iterator[int]:
    """Serve a site during the block, like `bgdata serve`, and yield its port."""
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
    """Wait until a condition is true. Raises TimeoutError."""
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.01)


@contextmanager
def asked(port: int, where: str) -> Iterator[http.client.HTTPResponse]:
    """The response of a server on a separate connection, which is closed at the end of the block."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", where, headers={"accept": "text/html"})
        with connection.getresponse() as answer:
            yield answer
    finally:
        connection.close()
