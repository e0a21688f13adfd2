"""Files from the network: resumed after interruptions, and put into place only when complete."""

from __future__ import annotations

import http.client
import ssl
import urllib.error
import urllib.request
from pathlib import Path

from bgdata.errors import DownloadError
from bgdata.process import keep, keeping
from bgdata.store.progress import Progress
from bgdata.store.storage import storage_errors, sync

CHUNK = 1 << 18
TIMEOUT_SECONDS = 30
HAVE_ALL = 416  # range not satisfiable: we already have all bytes
# ValueError: an invalid address
FAILURES = (urllib.error.URLError, http.client.HTTPException, ssl.SSLError, TimeoutError, ConnectionError, ValueError)


def download(address: str, path: Path, progress: Progress) -> Path:
    """Download a file to `path`, resuming a `.partial` file; do nothing if the file exists. Raises DownloadError, whose
    message says that nothing else needs the network, and StorageError."""
    if path.exists():
        return path
    partial = path.with_name(f"{path.name}.partial")

    def kept_bytes() -> str:
        return f"{partial.stat().st_size:,} bytes of {path.name} are kept" if partial.exists() else ""

    with storage_errors("write", path), keeping(kept_bytes):
        path.parent.mkdir(parents=True, exist_ok=True)
        if partial.is_symlink() or not (partial.is_file() or partial.is_dir()):
            partial.unlink(missing_ok=True)  # a link would be written through, a pipe would block
        try:
            append(address, partial, progress)
        except urllib.error.HTTPError as error:
            raise DownloadError(f"cannot download {address}: the server says {error.code} {error.reason}") from error
        except FAILURES as error:
            reason = getattr(error, "reason", error)
            raise DownloadError(
                f"cannot download {address}: {reason}; "
                "nothing else needs the network, and the same command goes on later"
            ) from error
        sync(partial)
        partial.rename(path)
    keep("what is finished is kept")
    return path


def append(address: str, partial: Path, progress: Progress) -> None:
    """Append the missing bytes to a partial file; if it is longer than the file on the server, start again."""
    have = partial.stat().st_size if partial.exists() else 0
    request = urllib.request.Request(address, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        answer = urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS)
    except urllib.error.HTTPError as error:
        if error.code != HAVE_ALL or not have:
            raise
        if error.headers["Content-Range"] != f"bytes */{have}":
            partial.unlink()
            append(address, partial, progress)
        return
    with answer:
        is_rest = answer.status == http.client.PARTIAL_CONTENT
        left = int(answer.headers.get("Content-Length") or 0)
        progress.start(partial.stem, left + (have if is_rest else 0), "bytes")
        progress.advance(have if is_rest else 0)
        with partial.open("ab" if is_rest else "wb") as file:
            received = 0
            while chunk := answer.read(CHUNK):
                file.write(chunk)
                received += len(chunk)
                progress.advance(len(chunk))
        if left and received < left:
            raise http.client.IncompleteRead(b"", left - received)
