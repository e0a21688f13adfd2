"""Tests of commands in unusual environments: the output is identical."""

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import bgdata
from bgdata.process import cache_folder

pytestmark = pytest.mark.slow

BUILD = ("build", "bearoff_two_sided", "--points", "3", "--checkers", "3")
COMMANDS = (
    BUILD,
    ("verify",),
    ("query", "select count(*) from bearoff_two_sided"),
    ("show", "start"),
    ("eval", "start"),
)


ENVIRONMENTS: dict[str, tuple[dict[str, str], Callable[[], object] | None]] = {
    "a Turkish locale": ({"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"}, None),
    "a locale that there is not": ({"LC_ALL": "xx_YY.UTF-8"}, None),
    "no temporary folder": ({"TMPDIR": "/dev/null/none"}, None),
    "no home": ({"HOME": "/dev/null/none", "BGDATA_CACHE": str(cache_folder())}, None),
    "files for the user alone": ({}, lambda: os.umask(0o077)),
    "few open files": ({}, lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))),
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_output_is_the_same_in_every_environment(small_root: Path, tmp_path: Path, name: str) -> None:
    """Commands give the same digests in unusual environments, and in a folder whose name has spaces and letters outside
    ASCII."""
    variables, prepare = ENVIRONMENTS[name]
    folder = tmp_path / "a b ürü ı"
    folder.mkdir()
    for command in COMMANDS:
        result = subprocess.run(
            [sys.executable, "-m", "bgdata", "--warehouse", folder / "w", *command],
            env=os.environ | variables,
            cwd=folder,
            preexec_fn=prepare,
            capture_output=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        assert b"Traceback" not in result.stderr
    tables = (bgdata.open_warehouse(root).open("bearoff_two_sided", "3x3") for root in (folder / "w", small_root))
    assert len({table.manifest.digest for table in tables}) == 1


def test_letters_outside_the_output_encoding_are_reported(small_root: Path) -> None:
    """A letter that the encoding of the output lacks gives an error of one line. JSON is ASCII, so it can always be
    printed."""
    for encoding in ("latin-1", "ascii"):
        for options, code in (([], 1), (["--format", "json"], 0)):
            result = subprocess.run(
                [sys.executable, "-m", "bgdata", "--warehouse", small_root, "query", "select 'ő' as a", *options],
                env=os.environ | {"PYTHONIOENCODING": encoding},
                capture_output=True,
                check=False,
                text=True,
            )
            assert result.returncode == code, result.stderr
            assert len(result.stderr.splitlines()) == code
            assert result.stderr.startswith("error: expected an output that holds '\\u" if code else "")
