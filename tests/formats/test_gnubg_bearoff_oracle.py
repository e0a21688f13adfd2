"""gnubg's own files: read, compared with the output of its tools, and written again byte for byte."""

import hashlib
import re
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from bgdata.formats import gnubg_bearoff
from tests.formats.gnubg_files import one_sided_bytes, open_as, two_sided_bytes
from tests.oracles import find_gnubg_tool, needs_gnubg_tool
from tests.reference.gnubg_normal import normal_moments

MakeFile = Callable[[str], Path]
NUMBER = r"[+-]?\d+\.\d+"

MD5 = {
    "-o 2": "b6e61c1625ae4b3b164e93ab064192b9",
    "-o 3": "346dae6139ccb4b227c534373e5c52e4",
    "-o 4": "653255f5f9f22fd50277f7ff25b2a343",
    "-o 4 -c": "e6eacd41c36e73db31b4625fb2c83a65",
    "-o 4 -g": "047224d7882dd9432913330858f5578e",
    "-o 4 -c -g": "7a5b9a6313660f8482f1bfbabd359798",
    "-o 6": "3dc7b833c4670849cee00479a9e21b49",
    "-o 4 -n": "5f26057e178f0edb000fe326d5c50b1c",
    "-t 3x3": "a43a7077e7061fd41532e6d68ca3448b",
    "-t 3x3 -C": "2a3a64fd829e49c3d782f65ed34255aa",
    "-t 6x2": "e9d760bf213841c285245ed757a52f4d",
    "-t 6x4": "9156f37032d1d4b0352a41186e632dfc",
}


@pytest.fixture(scope="module")
def make_file(tmp_path_factory: pytest.TempPathFactory) -> MakeFile:
    """A function from options of makebearoff ("hyper 1" for makehyper `-c 1`) to the file, which is made once."""
    folder = tmp_path_factory.mktemp("gnubg")

    @cache
    def make(options: str) -> Path:
        tool, arguments = ("makehyper", ["-c", "1"]) if options == "hyper 1" else ("makebearoff", options.split())
        path = folder / options.replace(" ", "")
        if tool == "makebearoff":
            arguments += ["-s", "20000000"]  # the default cache takes up to 790 MB
        command = [find_gnubg_tool(tool) or tool, *arguments, "-f", path.name]  # makehyper overflows with a long path
        subprocess.run(command, cwd=folder, capture_output=True, check=True)
        return path

    return make


def dump(path: Path, index: int) -> str:
    """The output of bearoffdump for a record; it does not accept index 0 or indexes above 2^31."""
    command = [find_gnubg_tool("bearoffdump") or "bearoffdump", "-n", str(index), str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def dumped_chances(text: str) -> np.ndarray:
    """float[32, 4]: percent by number of rolls, of player and opponent bearing off, then of both bearing off the first
    checker."""
    percent = np.zeros((32, 4))
    for rolls, row in re.findall(rf"^\s+(\d+)((?:[ \t]+{NUMBER})+)[\sn/a]*$", text, re.MULTILINE):
        numbers = [float(number) for number in row.split()]
        percent[int(rolls), : len(numbers)] = numbers
    return percent


def dumped_equities(text: str) -> list[float]:
    return [float(number) for number in re.findall(rf": ({NUMBER})$", text, re.MULTILINE)]


def write_again(source: Path, target: Path) -> None:
    """Read a whole file and write it."""
    table = gnubg_bearoff.open_gnubg_bearoff(source)
    if isinstance(table, gnubg_bearoff.GnubgTwoSided):
        gnubg_bearoff.write_two_sided(target, table.points, table.checkers, table.codes)
    elif isinstance(table, gnubg_bearoff.GnubgOneSided) and table.header.is_normal:
        gnubg_bearoff.write_one_sided_normal(target, table.points, table.moments)
    elif isinstance(table, gnubg_bearoff.GnubgOneSided):
        gnubg_bearoff.write_one_sided(target, table.points, *table.read_all(), compressed=table.header.is_compressed)


@needs_gnubg_tool("makebearoff")
@pytest.mark.parametrize("options", MD5)
def test_files_are_reproduced_byte_for_byte(make_file: MakeFile, tmp_path: Path, options: str) -> None:
    source = make_file(options)
    write_again(source, tmp_path / "again.bd")
    written = (tmp_path / "again.bd").read_bytes()
    assert written == source.read_bytes()
    assert hashlib.md5(written).hexdigest() == MD5[options]
    assert gnubg_bearoff.format_header(gnubg_bearoff.parse_header(written)) == written[:40]


@needs_gnubg_tool("makebearoff")
@pytest.mark.parametrize(
    ("options", "data"),
    [
        ("-o 1", one_sided_bytes(True, True)),
        ("-o 1 -c", one_sided_bytes(True, False)),
        ("-o 1 -g", one_sided_bytes(False, True)),
        ("-o 1 -c -g", one_sided_bytes(False, False)),
        ("-t 1x3", two_sided_bytes(4)),
        ("-t 1x3 -C", two_sided_bytes(1)),
    ],
)
def test_hand_made_files_equal_those_of_gnubg(make_file: MakeFile, options: str, data: bytes) -> None:
    assert make_file(options).read_bytes() == data


@needs_gnubg_tool("makebearoff", "bearoffdump")
@pytest.mark.parametrize("options", ["-o 4", "-o 4 -c", "-o 4 -g", "-o 4 -c -g", "-o 4 -n"])
def test_one_sided_probe_equals_bearoffdump(make_file: MakeFile, options: str) -> None:
    table = open_as(gnubg_bearoff.GnubgOneSided, make_file(options))
    for player, opponent in [(0, 5), (9, 3700), (3875, 8), (3060, 3874), (1234, 2345)]:
        text = dump(table.path, player * len(table) + opponent)
        percent = dumped_chances(text)
        chances = [table.probe_chances(player), table.probe_chances(opponent)]
        if table.header.has_gammon:
            chances += [table.probe_chances(index, is_gammon=True) for index in (player, opponent)]
        first = 0 if table.header.has_gammon else 1  # without gammon part, bearoffdump leaves out the row of 0 rolls
        expected = percent[first:, : len(chances)]
        assert 100 * np.transpose(chances)[first:] == pytest.approx(expected, abs=6e-4)
        means = re.search(rf"Mean\s+({NUMBER})\s+({NUMBER})", text)
        assert means is not None
        assert [table.mean_rolls(player), table.mean_rolls(opponent)] == pytest.approx(
            [float(mean) for mean in means.groups()], abs=6e-4
        )


@needs_gnubg_tool("makebearoff", "bearoffdump")
@pytest.mark.parametrize("options", ["-t 3x3", "-t 6x2", "-t 6x4"])
def test_two_sided_probe_equals_bearoffdump(make_file: MakeFile, options: str) -> None:
    table = open_as(gnubg_bearoff.GnubgTwoSided, make_file(options))
    last = len(table) - 1
    for on_roll, opponent in [(last, last), (1, last), (last, 1), (last // 2, last // 3), (0, 7), (7, 0)]:
        expected = dumped_equities(dump(table.path, on_roll * len(table) + opponent))
        assert list(table.probe(on_roll, opponent)) == pytest.approx(expected, abs=6e-5)


@needs_gnubg_tool("makebearoff", "bearoffdump")
def test_cubeless_file_has_the_first_column(make_file: MakeFile) -> None:
    cubeful = open_as(gnubg_bearoff.GnubgTwoSided, make_file("-t 3x3"))
    cubeless = open_as(gnubg_bearoff.GnubgTwoSided, make_file("-t 3x3 -C"))
    assert (cubeless.codes[:, :, 0] == cubeful.codes[:, :, 0]).all()
    assert cubeless.probe(19, 19).cubeless == pytest.approx(0.6204, abs=6e-5)
    # bearoffdump takes the equity of a cubeless file for a chance, and prints twice that minus one
    assert dumped_equities(dump(cubeless.path, 399)) == pytest.approx([2 * 0.62043 - 1], abs=6e-5)


@needs_gnubg_tool("makebearoff")
@pytest.mark.slow
def test_two_sided_spot_values_of_six_checkers(make_file: MakeFile, tmp_path: Path) -> None:
    table = open_as(gnubg_bearoff.GnubgTwoSided, make_file("-t 6x6"))
    for pair, codes in {
        (12, 12): [49488, 49605, 49605, 49487],
        (27, 27): [49445, 53140, 52530, 48516],
        (637, 637): [45910, 53631, 52500, 44272],
    }.items():
        assert table.codes[pair].tolist() == codes
    write_again(table.path, tmp_path / "again.bd")
    assert hashlib.md5((tmp_path / "again.bd").read_bytes()).hexdigest() == "44b6040b49b46cb9dd2ce8caa947044d"


@needs_gnubg_tool("makehyper", "bearoffdump")
def test_hypergammon_probe_equals_bearoffdump(make_file: MakeFile) -> None:
    path = make_file("hyper 1")
    table = open_as(gnubg_bearoff.GnubgHypergammon, path)
    assert gnubg_bearoff.format_header(table.header) == path.read_bytes()[:40]
    assert table.probe(24, 24)[:5] == pytest.approx([0.60158, 0.60158, 0.07959, 0.39842, 0.03315], abs=6e-6)
    for on_roll, opponent in [(24, 24), (25, 3), (3, 25), (12, 7), (1, 24)]:
        expected = dumped_equities(dump(path, 26 * on_roll + opponent))
        assert list(table.probe(on_roll, opponent)[5:]) == pytest.approx(expected, abs=6e-5)


@needs_gnubg_tool("makebearoff")
@pytest.mark.parametrize("points", [1, 2, 3, pytest.param(4, marks=pytest.mark.slow)])
def test_normal_variant_has_its_own_recursion(make_file: MakeFile, tmp_path: Path, points: int) -> None:
    gnubg_bearoff.write_one_sided_normal(tmp_path / "normal.bd", points, normal_moments(points))
    assert (tmp_path / "normal.bd").read_bytes() == make_file(f"-o {points} -n").read_bytes()
