"""Sites over small warehouses."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import bgdata
from bgdata.datasets.claims import DATASET as CLAIMS
from bgdata.rows import claims
from bgdata.web.app import create_app
from bgdata.web.limits import Limits
from tests.conftest import SharedFolder
from tests.web.reading import open_client

if TYPE_CHECKING:
    from starlette.testclient import TestClient


@pytest.fixture(scope="session")
def site_root(small_root: Path, shared_folder: SharedFolder) -> Path:
    """The smallest variant of every kind, and a match equity table that is long enough for a match. Only to be read."""

    def fill(folder: Path) -> None:
        shutil.copytree(small_root, folder / "warehouse")
        kind = bgdata.open_warehouse(folder / "warehouse").kinds["match_equity"]
        bgdata.open_warehouse(folder / "warehouse").build(kind.name, kind.default("published-12"))

    return shared_folder("site", fill) / "warehouse"


@pytest.fixture(scope="module")
def client(site_root: Path) -> Iterator[TestClient]:
    """A client of the site over the smallest variant of every kind. The register of claims is that of its parts."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(claims, "WHOLE", CLAIMS.smallest)
        app = create_app(bgdata.open_warehouse(site_root), Limits(sql_seconds=2.0, sql_rows=50, stream_trials=216))
        with open_client(app, follow_redirects=False) as found:
            yield found


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[TestClient]:
    """A client of the site over a warehouse without anything."""
    app = create_app(bgdata.open_warehouse(tmp_path), Limits(stream_trials=72))
    with open_client(app, follow_redirects=False) as found:
        yield found
