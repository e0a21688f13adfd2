"""Tests of pages without a server: every link leads to a file."""

from __future__ import annotations

from pathlib import Path

import pytest

import bgdata
from bgdata.store.storage import sha256_file
from bgdata.web.static_site import file_names, link_or_copy, relink
from tests.command_line import error_of, run
from tests.web.reading import PageReader


@pytest.mark.slow
def test_every_link_has_a_file(site_root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    result = run(site_root, "serve", "--static", folder, "--files")
    assert result.exit_code == 0, result.output
    pages = sorted(folder.rglob("*.html"))
    assert result.stderr == f"wrote {len(pages)} pages into {folder}\n"
    readers = {path: PageReader(path.read_text()) for path in pages}
    for path, page in readers.items():
        text = path.read_text()
        assert "<form" not in text
        assert ".json</code>" not in text
        navigation = text[text.index("<nav") : text.index("</nav>")]
        assert navigation.count("<a ") == navigation.count("href=") == navigation.count("<a")
        assert 'class="chip">' not in text.replace('<code class="chip">', "")
        for link in page.links:
            address, mark, name = link.partition("#")
            target = (path.parent / address).resolve() if address else path
            assert target.is_file(), (path, link)
            assert not mark or name in readers[target].ids, (path, link)
    names = {str(path.relative_to(folder)) for path in pages}
    assert {"index.html", "table.html", "table/bearoff_two_sided/3x3.html", "openings-double-match-point-31.html",
            "match-equity-published-12.html", "players.html", "match-equity-published-12-sample.html",
            "race-played.html"} <= names  # fmt: skip
    assert any(name.startswith("players-") for name in names)
    assert any(name.startswith("race-equal-") for name in names)
    assert (folder / "static" / "site.css").is_file()
    for table in bgdata.open_warehouse(site_root).versions("bearoff_two_sided"):
        files = folder / "file" / table.name
        assert (files / "manifest.json").read_bytes() == table.manifest.to_bytes()
        version_page = (folder / "table" / f"{table.name}.html").read_text()
        for file in table.manifest.files:
            assert sha256_file(files / file.name) == file.sha256
            assert file.sha256 in version_page
            assert f"file/{table.name}/{file.name}" in version_page


def test_file_names_of_links_are_unique() -> None:
    names = file_names(["/", "/table/a", "/x?b=1&c=2", "/p?x=a%3Ab", "/p?x=a_b", "/p?x=../../x"])
    files = ["index.html", "table/a.html", "x-1-2.html", "p-a_b.html", "p-a_b_.html", "p-.._.._x.html"]
    assert list(names.values()) == files
    text = '<a href="/">h</a><a href="/x?b=1&amp;c=2#y">x</a><a href="/none">n</a><form action="/x"><p>f</p></form>'
    assert relink(text, names, "table/a.html") == (
        '<a href="../index.html">h</a><a href="../x-1-2.html#y">x</a><a>n</a>'
    )
    for link in ("//elsewhere.example/x", "/none?<b>"):
        assert relink(f'<a href="{link}">x</a>', {}, "index.html") == "<a>x</a>"


def test_buttons_without_a_target_are_removed() -> None:
    """Other links without a target become plain text."""
    text = (
        '<nav aria-label="P"><a href="/sql">SQL</a>\n<a href="/" aria-current="page">h</a></nav>'
        '<p><a class="chip" href="/sql">SQL</a> <a class="chip" href="/">h</a> <a href="/sql">w</a></p>'
    )
    assert relink(text, {"/": "index.html"}, "index.html") == (
        '<nav aria-label="P"><a href="index.html" aria-current="page">h</a></nav>'
        '<p><a class="chip" href="index.html">h</a> <a>w</a></p>'
    )


def test_files_are_linked_or_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Existing files are overwritten."""
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_bytes(b"1")
    link_or_copy(source, target)
    assert target.stat().st_ino == source.stat().st_ino

    def refuse(*_: object) -> None:
        raise OSError

    monkeypatch.setattr("os.link", refuse)
    link_or_copy(source, target)
    assert target.read_bytes() == b"1"
    assert target.stat().st_ino != source.stat().st_ino


def test_invalid_folders_are_refused(site_root: Path, tmp_path: Path) -> None:
    assert error_of(run(site_root, "serve", "--files"), 2) == "expected --static with --files, got none"
    file = tmp_path / "file"
    file.touch()
    error_of(run(site_root, "serve", "--static", file), 2)
    error_of(run(site_root, "serve", "--static", file / "below"), 1)
    assert "expected an empty folder" in error_of(run(site_root, "serve", "--static", tmp_path), 2)
    assert [*tmp_path.iterdir()] == [file]
    assert error_of(run(tmp_path / "none", "serve", "--static", tmp_path / "p"), 1).startswith("expected a warehouse")
    assert not (tmp_path / "p").exists()
