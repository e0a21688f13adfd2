"""Pages of learning curves: well-formed, self-contained, with every number, the lineage and a command line that
works."""

import re
import shlex
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import bgdata
from bgdata.cli.recipes import recipe_command
from bgdata.store.manifest import Manifest
from bgdata.store.parameters import VersionRef
from bgdata.training.kinds.network import DATASET as NETWORK
from bgdata.training.kinds.supervised_network import DATASET as SUPERVISED
from bgdata.warehouse import Warehouse
from tests.command_line import error_of, output_of, run
from tests.kept import link

EMPTY_ELEMENTS = {"meta", "path", "rect", "use"}  # empty elements
SMALL = ("--epochs", "1", "--batch-size", "32", "--hidden", "12", "--test-games", "4")


class Page(HTMLParser):
    """A parser that checks that a page is well-formed, and collects the text of its tables and headings."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open, self.tags, self.attributes = list[str](), list[str](), list[str]()
        self.sections: dict[str, list[list[str]]] = {}
        self.text, self._words = text, ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        self.open += [tag] * (tag not in EMPTY_ELEMENTS)
        if tag == "tr":
            self.sections[self._heading].append([])
        self._words = ""

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        assert tag in EMPTY_ELEMENTS
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self._words += data

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if tag == "h2":
            self._heading = self._words
            self.sections[self._words] = []
        elif tag in ("th", "td"):
            self.sections[self._heading][-1].append(self._words)

    def pictures(self) -> list[ElementTree.Element]:
        return [ElementTree.fromstring(text) for text in re.findall("<svg.*?</svg>", self.text, re.DOTALL)]


def page_of(root: Path, folder: Path, *arguments: str) -> Page:
    """Write a page by the command, check that it loads nothing, and parse it."""
    path = folder / "curve.html"
    assert run(root, "train", "plot", *arguments, "-o", path).stderr == f"wrote {path}\n"
    page = Page(path.read_text(encoding="utf-8"))
    assert {"html", "title", "style", "svg", "table"} <= set(page.tags)
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    assert not {"src", "onload"} & set(page.attributes)
    assert set(re.findall(r"(?:href=\"|url\()(.)", page.text)) == {"#"}, "inside the page"
    assert "@import" not in page.text
    assert "prefers-color-scheme: dark" in page.text
    assert set(re.findall(r"https?://[^ \"<,;)]+", page.text)) <= {"http://www.w3.org/2000/svg"}
    names = re.findall(r'\bid="([^"]+)"', page.text)
    assert len(set(names)) == len(names)
    return page


def number_of(text: str) -> float:
    """The number in the text of a cell."""
    return float(text.replace(",", ""))


def test_all_colours_are_defined(small_root: Path, tmp_path: Path) -> None:
    text = page_of(small_root, tmp_path, "tiny-supervised").text
    light, _, dark = text.partition("</style>")[0].partition("@media")
    used = set(re.findall(r"var\((--[a-z]+)\)", text))
    assert used == set(re.findall(r"(--[a-z]+):", light))
    assert used == set(re.findall(r"(--[a-z]+):", dark.partition("} }")[0]))


def test_page_of_a_network_from_self_play(small_root: Path, tmp_path: Path, warehouse: Warehouse) -> None:
    """The page contains the learning curve, the final figures, the parameters, the lineage and the digest of the
    network."""
    page = page_of(small_root, tmp_path, "tiny")
    table = warehouse.open("network", "tiny")
    assert len(page.pictures()) == 3
    rows = page.sections["Table"]
    assert rows[0] == [column.name for column in NETWORK.columns]
    assert [[number_of(text) for text in row] for row in rows[1:]] == [
        pytest.approx(row, rel=1e-5, abs=1e-9) for row in np.asarray(table.array("curve")).tolist()
    ]
    statistics = table.manifest.statistics
    figures = {row[0]: row[1:] for row in page.sections["Final figures"]}
    assert float(figures["points_per_game"][0]) == pytest.approx(statistics["points_per_game"], rel=1e-5)
    assert {row[0]: row[1] for row in page.sections["Recipe"][1:]} == {
        name: str(value) for name, value in table.manifest.parameters.items() if name not in ("name", "start")
    }
    assert page.sections["Lineage"][1][:2] == [table.name, "400 games of self-play"]
    assert len(page.sections["Lineage"]) == 2
    assert dict(page.sections["Version"])["digest of the values"] == table.manifest.digest
    assert "Labels" not in page.sections


def test_page_of_a_network_from_labels(small_root: Path, tmp_path: Path, warehouse: Warehouse) -> None:
    """The page contains the errors of each network, the network that it started from, and the labels with their
    share."""
    page = page_of(small_root, tmp_path, "tiny-supervised")
    table = warehouse.open(SUPERVISED.name, "tiny-supervised")
    start = warehouse.open("network", "tiny")
    labels = next(warehouse.versions("selfplay_labels"))
    assert len(page.pictures()) == 6
    assert len(page.sections["Table"]) == 1 + table.manifest.rows
    statistics = table.manifest.statistics
    figures = {row[0]: row[1:] for row in page.sections["Final figures"][1:]}
    for name in ("contact", "crashed", "race"):
        assert float(figures[name][1]) == pytest.approx(statistics[f"{name}_cross_entropy"], abs=1e-5)
        assert float(figures[name][4]) == pytest.approx(statistics[f"start_{name}_equity_error"], abs=1e-5)
    assert [row[0] for row in page.sections["Lineage"][1:]] == [table.name, start.name]
    assert page.sections["Labels"][1:] == [
        [labels.name.rpartition("/")[0], f"{labels.manifest.rows:,}", "100 %", labels.manifest.digest]
    ]


@pytest.fixture(scope="module")
def trained(small_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """A warehouse in which network/one was trained from network/tiny, and network/two from network/one."""
    root = link(small_root, tmp_path_factory.mktemp("trained") / "warehouse")
    train = ("train", "sl", "one", "--start", "network/tiny", "--labels", "selfplay_labels", "--average-decay", "0.5")
    output_of(root, *train, *SMALL, "--no-guard")
    labels = ("--labels", "selfplay_labels:2", "--labels", "bearoff_labels")
    output_of(root, "train", "sl", "two", "--start", "network/one", *labels, *SMALL)
    return bgdata.open_warehouse(root)


def check_recipe_is_built(warehouse: Warehouse, manifest: Manifest) -> None:
    """Check that the command line of a version finds that version built."""
    command = recipe_command(manifest)
    result = run(warehouse.root, *shlex.split(command)[1:])
    assert f"already built ({manifest.version})" in result.stderr


def test_page_lists_the_networks_that_training_started_from(trained: Warehouse, tmp_path: Path) -> None:
    page = page_of(trained.root, tmp_path, "two")
    expected = [
        trained.open(SUPERVISED.name, "two").name,
        trained.open(SUPERVISED.name, "one").name,
        trained.open("network", "tiny").name,
    ]
    assert [row[0] for row in page.sections["Lineage"][1:]] == expected


def test_page_says_which_start_is_missing(trained: Warehouse, tmp_path: Path) -> None:
    root = link(trained.root, tmp_path / "warehouse")
    shutil.rmtree(root / SUPERVISED.name / "one")
    missing = trained.open(SUPERVISED.name, "one").name
    page = page_of(root, tmp_path, "two")
    assert page.sections["Lineage"][2:] == [[missing, "not in this warehouse", "", ""]]


def test_page_has_the_shares_of_labels_and_the_guard(trained: Warehouse, tmp_path: Path) -> None:
    page = page_of(trained.root, tmp_path, "two")
    shares = {row[0].partition("/")[0]: row[2] for row in page.sections["Labels"][1:]}
    assert shares["selfplay_labels"] == "66.7 %"
    assert shares["bearoff_labels"] == "33.3 %"
    assert "none: its positions are left out" in shares.values()


@pytest.mark.parametrize("name", ["one", "two"])
def test_page_has_the_command_line_of_the_version(trained: Warehouse, tmp_path: Path, name: str) -> None:
    manifest = trained.open(SUPERVISED.name, name).manifest
    assert recipe_command(manifest) in page_of(trained.root, tmp_path, name).text
    check_recipe_is_built(trained, manifest)


def test_new_network_has_a_lineage_of_itself(warehouse: Warehouse, tmp_path: Path) -> None:
    new = ("--start", "new", "--inputs", "tesauro-196", "--activation", "rectified", "--revive")
    sizes = ("--hidden", "6-4", "--crashed-hidden", "6", "--race-hidden", "4")
    labels = ("--labels", "selfplay_labels:0.12345678")
    output_of(warehouse.root, "train", "sl", "new", *SMALL, *new, *sizes, *labels)
    table = warehouse.open(SUPERVISED.name, "new")
    check_recipe_is_built(warehouse, table.manifest)
    page = page_of(warehouse.root, tmp_path, "new")
    assert [row[0] for row in page.sections["Lineage"][1:]] == [table.name]


def test_command_line_of_a_network_from_self_play(warehouse: Warehouse) -> None:
    check_recipe_is_built(warehouse, warehouse.open("network", "tiny").manifest)


def test_command_line_names_the_start_and_missing_tables(warehouse: Warehouse) -> None:
    manifest = warehouse.open("network", "tiny").manifest
    start = vars(VersionRef("supervised_network", "other", "r1-01234567"))
    parameters = manifest.parameters | {"start": start, "tables": False}
    words = shlex.split(recipe_command(replace(manifest, parameters=parameters)))
    assert words[:4] == ["bgdata", "train", "td", "tiny"]
    assert words[words.index("--start") + 1] == "network/other"
    assert words[-1] == "--no-tables"


def test_network_of_the_package_has_a_page(tmp_path: Path) -> None:
    page = page_of(tmp_path / "none", tmp_path)
    assert len(page.pictures()) == 6
    assert not (tmp_path / "none").exists()


def test_page_is_written_to_the_default_or_given_file(
    small_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(small_root, "train", "plot", "tiny", "--page").stderr == "wrote tiny.html\n"
    assert run(small_root, "train", "plot", "tiny", "--page", "-o", "other").stderr == "wrote other\n"
    assert (tmp_path / "other").read_bytes() == (tmp_path / "tiny.html").read_bytes()
    message = error_of(run(small_root, "train", "plot", "tiny", "--page", "-o", "x.png"), 2)
    assert message == "expected a file that ends in .html for a page, got x.png"
    message = "invalid value for '-o' / '--output': expected a file in a folder that is there, got 'none/x.html'"
    assert error_of(run(small_root, "train", "plot", "tiny", "-o", "none/x.html"), 2).startswith(message)
