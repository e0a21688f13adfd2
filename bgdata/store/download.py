"""Downloads files. Downloads are resumed after interruptions, and a file gets its name only when it is complete and
checked."""

from __future__ import annotations

import http.client
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from bgdata.errors import BgdataError, DownloadError
from bgdata.process import keep, keeping
from bgdata.store.progress import Progress
from bgdata.store.storage import check_room, storage_errors, sync, write_file

CHUNK = 1 << 18
TIMEOUT_SECONDS = 30
HAVE_ALL = 416  # HTTP status "range not satisfiable": we already have all bytes
# errors of a download; ValueError is for an invalid address
FAILURES = (urllib.error.URLError, http.client.HTTPException, ssl.SSLError, TimeoutError, ConnectionError, ValueError)
Check = Callable[[Path], None]  # raises a BgdataError for a file that is not as expected


def partial_path(path: Path) -> Path:
    """Return the path of the incomplete file until its download is complete."""
    return path.with_name(f"{path.name}.partial")


def download(
    address: str, path: Path, progress: Progress, check: Check = lambda _: None, *, token: str = "", advice: str = ""
) -> Path:
    """Download a file to `path`, and return the path. If the file exists, nothing is downloaded. A `.partial` file
    beside it is resumed.

    A complete file is checked by `check` before it gets its name, and deleted if the check fails. `token` is sent to
    the host of the address, but not to a host to which it redirects. Raises DownloadError if the download fails, with a
    message that nothing else needs the network; StorageError if the file cannot be written; TooLargeError, whose
    message ends with `advice`, if the disk is too small for the rest of the file; and the errors of `check`."""
    if path.exists():
        return path
    partial = partial_path(path)
    tag = partial.with_name(f"{partial.name}.tag")

    def kept_bytes() -> str:
        return f"{partial.stat().st_size:,} bytes of {path.name} are kept" if partial.exists() else ""

    with storage_errors("write", path), keeping(kept_bytes):
        path.parent.mkdir(parents=True, exist_ok=True)
        for each in (partial, tag):
            if each.is_symlink() or not (each.is_file() or each.is_dir()):
                each.unlink(missing_ok=True)  # a link would be written through, a pipe would block
        try:
            append(address, partial, progress, token, advice)
        except urllib.error.HTTPError as error:
            raise DownloadError(f"cannot download {address}: the server says {error.code} {error.reason}") from error
        except FAILURES as error:
            reason = getattr(error, "reason", error)
            raise DownloadError(
                f"cannot download {address}: {reason}; "
                "nothing else needs the network, and the same command goes on later"
            ) from error
        sync(partial)
        try:
            check(partial)
        except BgdataError:
            partial.unlink()
            raise
        finally:
            tag.unlink(missing_ok=True)
        partial.rename(path)
    keep("what is finished is kept")
    return path


def append(address: str, partial: Path, progress: Progress, token: str = "", advice: str = "") -> None:
    """Download the missing bytes of a file, and append them to its partial file. The download starts again if the
    partial file is longer than the file on the server, or if the file on the server has changed. To find this out, a
    file beside the partial file contains the ETag of the file on the server, or the time of its last change."""
    have, kept = (partial.stat().st_size if partial.exists() else 0), partial.with_name(f"{partial.name}.tag")
    tag = kept.read_text(errors="replace") if have and kept.is_file() else ""
    headers = {"Range": f"bytes={have}-"} if have else {}
    if tag.isprintable() and tag:
        headers["If-Range"] = tag
    request = urllib.request.Request(address, headers=headers)
    if token:
        request.add_unredirected_header("Authorization", f"Bearer {token}")
    try:
        answer = urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS)
    except urllib.error.HTTPError as error:
        if error.code != HAVE_ALL or not have:
            raise
        if error.headers["Content-Range"] != f"bytes */{have}":
            _begin_again(address, partial, progress, token, advice)
        return
    with answer:
        found, is_rest = _tag(answer.headers), answer.status == http.client.PARTIAL_CONTENT
        if is_rest and tag and found and found != tag:
            answer.close()
            _begin_again(address, partial, progress, token, advice)
            return
        if have and not is_rest:
            progress.note(f"{partial.stem}: from its beginning, as the file has changed or the server does not resume")
        if not is_rest:
            write_file(kept, found.encode(), is_durable=False)
        left = int(answer.headers.get("Content-Length") or 0)
        check_room(partial.parent, left, advice)
        progress.start(partial.stem, left + (have if is_rest else 0), "bytes")
        progress.advance(have if is_rest else 0)
        with partial.open("ab" if is_rest else "wb") as file:
            received = 0
            while chunk := answer.read(CHUNK):
                file.write(chunk)
                received += len(chunk)
                progress.advance(len(chunk))
        if left and received < left:
            raise http.client.HTTPException(f"the connection ended {left - received:,} bytes early")


def _begin_again(address: str, partial: Path, progress: Progress, token: str, advice: str) -> None:
    """Delete the partial file, because it is not the beginning of the file on the server, and download the file from
    its first byte."""
    progress.note(f"{partial.stem}: from its beginning, as the file has changed")
    partial.unlink()
    append(address, partial, progress, token, advice)


def _tag(headers: http.client.HTTPMessage) -> str:
    """Return a string that changes with the file on the server: its strong ETag, or the time of its last change. It is
    empty if the server sends neither."""
    tag = headers.get("ETag") or ""
    return headers.get("Last-Modified") or "" if tag.startswith("W/") or not tag else tag
