"""gnubg's bearoff files, computed with its integer arithmetic: the bytes of makebearoff 1.07.

Hashes and sizes are those of files that makebearoff wrote; the tests need no gnubg.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bgdata.warehouse.commands.export import describe_file, write_gnubg_bearoff

# points or size, options, bytes of the file, MD5
ONE_SIDED = [
    (2, {}, 2_452, "b6e61c1625ae4b3b164e93ab064192b9"),
    (3, {}, 16_672, "346dae6139ccb4b227c534373e5c52e4"),
    (4, {}, 87_074, "653255f5f9f22fd50277f7ff25b2a343"),
    (4, {"uncompressed": True}, 496_168, "e6eacd41c36e73db31b4625fb2c83a65"),
    (4, {"no_gammons": True}, 71_262, "047224d7882dd9432913330858f5578e"),
    (4, {"no_gammons": True, "uncompressed": True}, 248_104, "7a5b9a6313660f8482f1bfbabd359798"),
    (4, {"normal": True}, 62_056, "5f26057e178f0edb000fe326d5c50b1c"),
    (6, {}, 1_465_788, "3dc7b833c4670849cee00479a9e21b49"),
]
TWO_SIDED = [
    ("3x3", {}, 3_240, "a43a7077e7061fd41532e6d68ca3448b"),
    ("3x3", {"cubeless": True}, 840, "2a3a64fd829e49c3d782f65ed34255aa"),
    ("6x2", {}, 6_312, "e9d760bf213841c285245ed757a52f4d"),
    ("6x4", {}, 352_840, "9156f37032d1d4b0352a41186e632dfc"),
    ("6x6", {}, 6_830_248, "44b6040b49b46cb9dd2ce8caa947044d"),
]


def md5(path: Path) -> str:
    return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()


@pytest.mark.parametrize(("points", "options", "n_bytes", "digest"), ONE_SIDED)
def test_one_sided_files_have_golden_hashes(
    tmp_path: Path, points: int, options: dict[str, Any], n_bytes: int, digest: str
) -> None:
    output = tmp_path / "gnubg_os.bd"
    write_gnubg_bearoff(points, None, output, **options)
    assert output.stat().st_size == n_bytes
    assert md5(output) == digest


WRITE = """
import sys
from bgdata.warehouse.commands.export import write_gnubg_bearoff
write_gnubg_bearoff(4, None, sys.argv[1], normal=True)
"""


def test_compiled_and_cached_kernels_give_the_same_bytes(tmp_path: Path) -> None:
    output = tmp_path / "gnubg_os.bd"
    environment = os.environ | {"BGDATA_CACHE": str(tmp_path / "cache")}
    for _process in ("compiles", "loads"):
        subprocess.run([sys.executable, "-c", WRITE, str(output)], env=environment, check=True)
        assert md5(output) == "5f26057e178f0edb000fe326d5c50b1c"
        output.unlink()


@pytest.mark.parametrize(("variant", "options", "n_bytes", "digest"), TWO_SIDED)
def test_two_sided_files_have_golden_hashes(
    tmp_path: Path, variant: str, options: dict[str, Any], n_bytes: int, digest: str
) -> None:
    output = tmp_path / "gnubg_ts.bd"
    write_gnubg_bearoff(None, variant, output, **options)
    assert output.stat().st_size == n_bytes
    assert md5(output) == digest


@pytest.mark.parametrize(
    ("one_sided", "two_sided", "digest"),
    [
        (6, None, "38089567e87a681682bb4ff53f30d781af215fc04debbdff3f61b6db68547a49"),  # gnubg_os0.bd
        (None, "6x6", "9eac8a2c697dae8a09f2e5653022084b9e725df6c32950cb5299b273fc64500f"),  # gnubg_ts0.bd
    ],
)
def test_files_match_those_of_gnubg(tmp_path: Path, one_sided: int | None, two_sided: str | None, digest: str) -> None:
    write_gnubg_bearoff(one_sided, two_sided, tmp_path / "file.bd")
    assert hashlib.sha256((tmp_path / "file.bd").read_bytes()).hexdigest() == digest
    assert digest in describe_file(tmp_path / "file.bd", with_hash=True)
