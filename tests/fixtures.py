"""Fixtures of several folders besides `conftest.py`: small default builds, folders for imports, warehouses for
training, and sites."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import bgdata
from tests.contract.kinds import small_variants

if TYPE_CHECKING:
    from starlette.testclient import TestClient

    from bgdata.warehouse import Warehouse
    from tests.conftest import SharedFolder
    from tests.imports.importing import Imports


@pytest.fixture
def remote_cache(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of what is fetched from warehouses at addresses, empty at first."""
    monkeypatch.setattr("bgdata.store.remote.cache_folder", lambda: memory_path / "cache")
    return memory_path / "cache" / "remote"


@pytest.fixture
def memory_store() -> Iterator[str]:
    """The address of an empty store in the memory of this process."""
    from fsspec.implementations.memory import MemoryFileSystem

    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]
    yield "memory://shop/ware"
    MemoryFileSystem.store.clear()


@pytest.fixture(scope="session")
def s3_address() -> Iterator[str]:
    """The address of a server on this machine that answers as S3 does."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    yield "http://{}:{}".format(*server.get_host_and_port())
    server.stop()


@pytest.fixture
def bucket(s3_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of an empty bucket: s3://<name>."""
    import s3fs

    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATESTOFBGDATA")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-the-test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", s3_address)
    name = f"bucket-{abs(hash(tmp_path)):x}"
    s3fs.S3FileSystem().mkdir(name)
    return f"s3://{name}"


@pytest.fixture
def small_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the default build the smallest variant of every kind with defaults."""
    from bgdata.warehouse.commands.build import COMPUTED

    for kind in COMPUTED:
        monkeypatch.setattr(type(kind), "defaults", small_variants(kind))
        monkeypatch.setattr(type(kind), "more", ())


@pytest.fixture
def one_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the default build one variant of `bearoff_gammon`, with another one left out."""
    from bgdata.bearoff.kinds.bearoff_gammon import BearoffGammon
    from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters
    from bgdata.warehouse.commands.build import COMPUTED

    for kind in COMPUTED:
        monkeypatch.setattr(type(kind), "defaults", ())
        monkeypatch.setattr(type(kind), "more", ())
    small = RaceParameters(1)
    large = RaceParameters(2)
    monkeypatch.setattr(BearoffGammon, "defaults", (small, large))
    monkeypatch.setattr(BearoffGammon, "more", (large,))


@pytest.fixture
def imports(memory_path: Path) -> Imports:
    """An empty warehouse, and a folder for files."""
    from tests.imports.importing import Imports

    return Imports(memory_path)


@pytest.fixture
def warehouse_with_bearoffs(small_root: Path, memory_path: Path) -> Warehouse:
    """A warehouse with the inputs of the smallest network, but without networks."""
    from bgdata.training.kinds.network import DATASET

    for kind, _ in DATASET.inputs(DATASET.smallest).values():
        shutil.copytree(small_root / kind, memory_path / "warehouse" / kind)
    return bgdata.open_warehouse(memory_path / "warehouse")


@pytest.fixture
def warehouse_with_labels(small_root: Path, memory_path: Path) -> Warehouse:
    """A warehouse with the inputs of the smallest supervised network, but without it."""
    root = memory_path / "warehouse"
    for kind in ("bearoff_one_sided", "bearoff_gammon", "bearoff_two_sided", "network", "selfplay", "selfplay_labels"):
        shutil.copytree(small_root / kind, root / kind)
    return bgdata.open_warehouse(root)


@pytest.fixture(scope="session")
def site_root(small_root: Path, shared_folder: SharedFolder) -> Path:
    """The smallest variant of every kind, and a match equity table long enough for a match. Read-only."""

    def fill(folder: Path) -> None:
        shutil.copytree(small_root, folder / "warehouse")
        kind = bgdata.open_warehouse(folder / "warehouse").kinds["match_equity"]
        bgdata.open_warehouse(folder / "warehouse").build(kind.name, kind.default("published-12"))

    return shared_folder("site", fill) / "warehouse"


@pytest.fixture(scope="module")
def client(site_root: Path) -> Iterator[TestClient]:
    """A client of the site over the smallest variant of every kind, with a register of claims from their parts."""
    from bgdata.studies import rows
    from bgdata.studies.kinds.claims import DATASET as CLAIMS
    from bgdata.web.app import create_app
    from bgdata.web.site import Limits
    from tests.web.reading import open_client

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(rows, "WHOLE", CLAIMS.smallest)
        app = create_app(bgdata.open_warehouse(site_root), Limits(sql_seconds=2.0, sql_rows=50, stream_trials=216))
        with open_client(app, follow_redirects=False) as test_client:
            yield test_client


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[TestClient]:
    """A client of the site over an empty warehouse."""
    from bgdata.web.app import create_app
    from bgdata.web.site import Limits
    from tests.web.reading import open_client

    app = create_app(bgdata.open_warehouse(tmp_path), Limits(stream_trials=72))
    with open_client(app, follow_redirects=False) as test_client:
        yield test_client
