"""Pages without a server: every link leads to a file, and none to a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from bgdata.web.static_site import file_name, relinked
from tests.cli.command_line import error_of, run
from tests.web.reading import PageReader


@pytest.mark.slow
def test_every_link_leads_to_a_file(site_root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    result = run(site_root, "serve", "--static", folder)
    assert result.exit_code == 0, result.output
    pages = sorted(folder.rglob("*.html"))
    assert result.stderr == f"wrote {len(pages)} pages into {folder}\n"
    for path in pages:
        page = PageReader(path.read_text())
        assert "<form" not in path.read_text()
        for link in page.links:
            place, mark, name = link.partition("#")
            target = (path.parent / place).resolve() if place else path
            assert target.is_file(), (path, link)
            assert not mark or name in PageReader(target.read_text()).ids, (path, link)
    written = {str(path.relative_to(folder)) for path in pages}
    assert {"index.html", "table.html", "table/bearoff_two_sided/3x3.html", "openings-double-match-point-31.html",
            "match-equity-published-12.html", "players.html"} <= written  # fmt: skip
    assert (folder / "static" / "site.css").is_file()


def test_names_and_links() -> None:
    assert file_name("/") == "index.html"
    assert file_name("/table/a/b-1/r1-0123abcd") == "table/a/b-1/r1-0123abcd.html"
    assert file_name("/openings?objective=money&roll=31") == "openings-money-31.html"
    names = {"/": "index.html", "/table/a": "table/a.html", "/x?b=1&c=2": "x-1-2.html"}
    text = '<a href="/">h</a><a href="/x?b=1&amp;c=2#y">x</a><a href="/none">n</a><form action="/x"><p>f</p></form>'
    assert relinked(text, names, "table/a.html") == (
        '<a href="../index.html">h</a><a href="../x-1-2.html#y">x</a><a>n</a>'
    )


def test_folders_that_cannot_be_written(site_root: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    error_of(run(site_root, "serve", "--static", file), 2)
    error_of(run(site_root, "serve", "--static", file / "below"), 1)
    assert error_of(run(tmp_path / "none", "serve", "--static", tmp_path / "p"), 1).startswith("expected a warehouse")
    assert not (tmp_path / "p").exists()


@pytest.mark.parametrize("link", ["//elsewhere.example/x", "/none?<b>"])
def test_other_links_are_words(link: str) -> None:
    assert relinked(f'<a href="{link}">x</a>', {}, "index.html") == "<a>x</a>"
