"""Tests of importing folders and archives of matches: every match once, and what its files say of it."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import tarfile
from pathlib import Path
from typing import Literal
from zipfile import ZipFile

import pytest

from bgdata.errors import CorruptFileError, InvalidParameterError, MissingFileError, TooLargeError, UsageError
from bgdata.formats.unpacking import is_archive, unpack_archive
from bgdata.imports.steps import import_files
from bgdata.matches.kinds.matches import MatchesParameters
from bgdata.store.manifest import unpacked_name
from bgdata.store.progress import Progress
from bgdata.store.table import Table
from tests.formats import sessions
from tests.imports.importing import Imports, rows

pytest.importorskip("gvformat", reason="the extra matches is not installed")
BINARY = Path(__file__).parents[2] / "formats/binary"
TEXT = (BINARY / "session.mat").read_bytes()


def import_paths(imports: Imports, *paths: Path) -> Table:
    return import_files(imports.warehouse, "matches", paths, Progress(), name="mine")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two sessions in five files, two of them in an archive in a subfolder, and files without matches."""
    (tmp_path / "mine/2025").mkdir(parents=True)
    for form in ("xg", "bgf"):
        (tmp_path / f"mine/any-{form}.dat").write_bytes((BINARY / f"session.{form}").read_bytes())
    with ZipFile(tmp_path / "mine/2025/old.zip", "w") as archive:
        archive.writestr("a/session.mat", TEXT)
        archive.writestr("b/session.mat", sessions.MAT)
        archive.writestr("b/readme.txt", "Nothing")
        archive.writestr("__MACOSX/session.mat", b"\0")
    (tmp_path / "mine/notes.txt").write_text("To be done\n")
    (tmp_path / "mine/.hidden.mat").write_bytes(TEXT)
    return tmp_path / "mine"


def test_folder_with_archives_is_imported_once(folder: Path, imports: Imports) -> None:
    table = import_paths(imports, folder)
    found = rows(table, "imported_matches")
    assert [(row["source"], row["format"], row["n_games"], row["n_files"]) for row in found] == [
        ("any-bgf.dat", "bgf", 3, 3), ("b:session.mat", "mat", 8, 1),
    ]  # fmt: skip
    assert (found[0]["date"], found[0]["place"]) == ("2026.01.04", "SampleServer")
    assert (table.manifest.statistics["matches"], table.manifest.statistics["duplicates"]) == (2, 2)
    notes = {(row["source"], row["text"]) for row in rows(table, "game_notes") if "the same match" in row["text"]}
    others = ("any-xg.dat", "a:session.mat")
    assert notes == {("any-bgf.dat", f"the same match is in {other}") for other in others}


def test_same_match_is_known_in_every_order(folder: Path, imports: Imports) -> None:
    played = {rows(import_paths(imports, BINARY / f"session.{form}"), "imported_matches")[0]["played"] for form in
              ("mat", "xg", "bgf", "ogxm")}  # fmt: skip
    assert len(played) == 1
    assert played <= {row["played"] for row in rows(import_paths(imports, folder), "imported_matches")}


def test_matches_of_different_rolls_or_lengths_are_kept(tmp_path: Path, imports: Imports) -> None:
    """Matches with other rolls or another length are different matches; other names of players do not matter."""
    text = TEXT.decode()
    assert text.count("0 point match") == 1
    for name, other in (
        ("length", text.replace("0 point match", "25 point match")),
        ("less", text[: text.rindex("Game 3")]),
    ):
        (tmp_path / f"{name}.mat").write_text(other)
    (tmp_path / "names.mat").write_text(text.replace("Fox", "Wolf"))
    (tmp_path / "as.mat").write_text(text)
    found = rows(import_paths(imports, tmp_path), "imported_matches")
    assert sorted(row["n_files"] for row in found) == [1, 1, 2]


def test_few_rolls_are_the_same_only_between_the_same_players(tmp_path: Path, imports: Imports) -> None:
    short = " 1 point match\n\n Game 1\n {} : 0       bob : 0\n  1) 31: 8/5 6/5\n      Wins 1 point\n"
    for number, name in enumerate(("ann", "eve", "ann")):
        (tmp_path / f"{number}.mat").write_text(short.format(name))
    found = rows(import_paths(imports, tmp_path), "imported_matches")
    assert [(row["player_0"], row["n_files"]) for row in found] == [("ann", 2), ("eve", 1)]


def test_analysis_of_two_programs_is_stored(folder: Path, imports: Imports) -> None:
    """The analyses in files of eXtreme Gammon and BGBlitz are stored for the same turns, each once."""
    table = import_paths(imports, folder)
    said = rows(table, "foreign_analysis")
    assert {row["analyst"] for row in said} == {"xg", "bgblitz"}
    keys = [(row["game"], row["turn"], row["subject"], row["analyst"], row["choice"]) for row in said]
    assert len(set(keys)) == len(keys)
    turns = {(row["game"], row["turn"]): row for row in rows(table, "turns")}
    for analyst in ("xg", "bgblitz"):
        made = [row for row in said if row["is_made"] and row["analyst"] == analyst]
        assert len(made) == sum(row["action"] == "play" for row in turns.values() if row["game"] < 3)
        assert all(row["text"] == turns[row["game"], row["turn"]]["play"] for row in made)
    first = [row for row in said if (row["game"], row["turn"], row["subject"], row["choice"]) == (0, 0, "play", 0)]
    assert [(row["analyst"], round(row["value"], 4), row["unit"], row["level"]) for row in first] == [
        ("bgblitz", 0.0434, "points", "3ply"), ("xg", 0.0269, "points", "database"),
    ]  # fmt: skip
    luck = next(row for row in said if row["subject"] == "luck")
    assert (luck["text"], luck["win"], luck["is_made"]) == ("", None, None)


def test_damaged_file_among_others_is_quarantined(folder: Path, imports: Imports) -> None:
    (folder / "bad.xg").write_bytes((BINARY / "session.xg").read_bytes()[:9000])
    found = list(rows(import_paths(imports, folder), "quarantine"))
    assert [(row["source"], row["line"]) for row in found] == [("bad.xg", 1)]
    assert "expected a whole file of eXtreme Gammon in bad.xg, found damage" in found[0]["reason"]


def test_folders_and_archives_without_matches_are_refused(tmp_path: Path, imports: Imports) -> None:
    (tmp_path / "none").mkdir()
    (tmp_path / "none/readme.txt").write_text("Nothing")
    with ZipFile(tmp_path / "none.zip", "w") as archive:
        archive.writestr("readme.txt", "Nothing")
    for name in ("none", "none.zip"):
        with pytest.raises(MissingFileError, match=rf"expected files with matches in .*{name}, found none in 1 files"):
            import_paths(imports, tmp_path / name)


def archive_of(path: Path, name: str = "a.mat") -> Path:
    """Write a zip archive that contains one match file."""
    with ZipFile(path / "x.zip", "w") as archive:
        archive.writestr(name, TEXT)
    return path / "x.zip"


def test_archives_are_recognized(tmp_path: Path) -> None:
    assert is_archive(archive_of(tmp_path))
    assert not is_archive(tmp_path)


def tar_of(path: Path, mode: Literal["w", "w:gz", "w:bz2"], **contents: bytes) -> Path:
    """Write a tar archive, packed as `mode` says, with a folder, a link, and files with these contents."""
    with tarfile.open(path, mode) as archive:
        for name, kind in (("old", tarfile.DIRTYPE), ("old/link.mat", tarfile.SYMTYPE)):
            other = tarfile.TarInfo(name)
            other.type, other.linkname = kind, "b.mat"
            archive.addfile(other)
        for stem, content in contents.items():
            member = tarfile.TarInfo(f"old/{stem}.mat")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2"])
def test_tar_archives_are_read(tmp_path: Path, imports: Imports, mode: Literal["w", "w:gz", "w:bz2"]) -> None:
    """Tar archives are read alone and in a folder; their links are left out."""
    (tmp_path / "mine").mkdir()
    path = tar_of(tmp_path / "mine/any.dat", mode, b=sessions.MAT.encode(), a=TEXT)
    (tmp_path / "mine/other.mat").write_bytes(TEXT)
    assert is_archive(path)
    (tmp_path / "new").mkdir()
    assert [each.name for each in unpack_archive(path, tmp_path / "new")] == ["a.mat", "b.mat"]
    found = rows(import_paths(imports, tmp_path / "mine"), "imported_matches")
    assert sorted((row["n_games"], row["n_files"]) for row in found) == [(3, 2), (8, 1)]


def cut_zip(path: Path) -> bytes:
    """The bytes of a zip archive without its end."""
    return archive_of(path).read_bytes()[:-30]


def test_files_that_cannot_be_unpacked_are_set_aside(tmp_path: Path, imports: Imports) -> None:
    """Each file that cannot be unpacked gets a line with its name and the reason, in a folder and in an archive. The
    others are imported; a packed text without matches is left out."""
    packed = gzip.compress(TEXT)
    wrong = bytearray(packed)
    wrong[len(packed) // 2] ^= 1
    tar = tar_of(tmp_path / "x", "w:gz", a=TEXT).read_bytes()
    contents = {
        "cut.mat.gz": (packed[:-40], "expected packed data in cut.mat.gz, found: the file is truncated; fetch it"),
        "short.gz": (packed[:9], "expected packed data in short.gz, found: the file is truncated"),
        "wrong.mat.gz": (bytes(wrong), "expected packed data in wrong.mat.gz, found: error -3"),
        "other.bz2": (bz2.compress(TEXT)[:-40], "expected packed data in other.bz2, found: the file is truncated"),
        "cut.zip": (cut_zip(tmp_path), "expected a whole zip archive in cut.zip, found: file is not a zip file"),
        "cut.tar.gz": (tar[:-30], "expected packed data in cut.tar.gz, found: the file is truncated"),
        "a.xz": (lzma.compress(TEXT), "expected text in a.xz, plain or packed once with gzip or bzip2, found xz"),
        "twice.gz": (gzip.compress(packed), "expected text in twice.gz, plain or packed once with gzip or bzip2"),
    }  # fmt: skip
    folder = tmp_path / "mine"
    (folder / "sub").mkdir(parents=True)
    (folder / "whole.mat").write_bytes(TEXT)
    (folder / "text.gz").write_bytes(gzip.compress(b"Nothing"))
    for name, (content, _) in contents.items():
        (folder / "sub" / name).write_bytes(content)
    with ZipFile(tmp_path / "all.zip", "w") as archive:
        for path in (each for each in folder.rglob("*") if each.is_file()):
            archive.write(path, path.relative_to(folder))
    for given in (folder, tmp_path / "all.zip"):
        table = import_paths(imports, given)
        (match,) = rows(table, "imported_matches")
        assert (match["source"], match["n_files"]) == ("whole.mat", 1)
        found = {row["source"]: (row["line"], row["text"].strip(), row["reason"]) for row in rows(table, "quarantine")}
        assert len(found) == len(contents)
        for name, (_, reason) in contents.items():
            assert found[unpacked_name(name)][:2] == (1, "")
            assert found[unpacked_name(name)][2].startswith(reason), name


def test_damaged_file_by_name_is_an_error(tmp_path: Path, imports: Imports) -> None:
    """A damaged file that is named on its own is an error, also beside a whole one."""
    (tmp_path / "whole.mat").write_bytes(TEXT)
    (tmp_path / "cut.mat.gz").write_bytes(gzip.compress(TEXT)[:-40])
    (tmp_path / "cut.zip").write_bytes(cut_zip(tmp_path))
    for name, reason in (("cut.mat.gz", "expected packed data in"), ("cut.zip", "expected a whole zip archive in")):
        with pytest.raises(CorruptFileError, match=rf"^{reason} .*/{name}, found: "):
            import_paths(imports, tmp_path / "whole.mat", tmp_path / name)


def test_bad_tar_archives_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tar_of(tmp_path / "x.tar.gz", "w:gz", a=TEXT)
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    with pytest.raises(CorruptFileError, match=r"expected packed data in .*x\.tar\.gz, found: the file is truncated"):
        unpack_archive(path, tmp_path)
    plain = tar_of(tmp_path / "x.tar", "w", a=TEXT)
    plain.write_bytes(plain.read_bytes()[:2000])
    with pytest.raises(
        CorruptFileError, match=r"expected a whole tar archive in .*x\.tar, found: unexpected end of data"
    ):
        unpack_archive(plain, tmp_path)
    path.write_bytes(whole)
    monkeypatch.setenv("BGDATA_MOST_UNPACKED_BYTES", "3000")
    with pytest.raises(TooLargeError, match="expected at most 3,000 bytes of content"):
        unpack_archive(path, tmp_path)


@pytest.mark.parametrize("name", ["../a.mat", "/a.mat", "C:/a.mat", "..\\a.mat"])
def test_names_outside_an_archive_are_refused(tmp_path: Path, name: str) -> None:
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo(name))
    for path in (archive_of(tmp_path, name), tmp_path / "x.tar"):
        with pytest.raises(CorruptFileError, match="expected names inside the archive"):
            unpack_archive(path, tmp_path)


def test_unprintable_letters_in_names_of_an_archive_are_replaced(tmp_path: Path) -> None:
    assert [each.name for each in unpack_archive(archive_of(tmp_path, "\x1b[31ma\n.mat"), tmp_path)] == ["_[31ma_.mat"]


def test_cut_archive_is_refused(tmp_path: Path) -> None:
    path = archive_of(tmp_path)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(CorruptFileError, match="expected a whole zip archive"):
        unpack_archive(path, tmp_path)


def test_archive_with_a_wrong_byte_is_refused(tmp_path: Path) -> None:
    path = archive_of(tmp_path)
    damaged = bytearray(path.read_bytes())
    damaged[60] ^= 1  # within the content of the first file
    path.write_bytes(damaged)
    with pytest.raises(CorruptFileError, match="expected a whole zip archive"):
        unpack_archive(path, tmp_path)


def test_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BGDATA_MOST_UNPACKED_BYTES", "100")
    with pytest.raises(TooLargeError, match="expected at most 100 bytes of content"):
        unpack_archive(archive_of(tmp_path), tmp_path)


PLAYERS = {
    "cp1250": ("Łukasz Żądło", "Jiří Šťastný"),
    "cp1251": ("Иван Щукин", "Ђорђе Њагић"),
    "cp1253": ("Γιώργος Ρήγας", "Άννα Ξένου"),
}


@pytest.mark.parametrize(("encoding", "players"), PLAYERS.items())
def test_names_in_other_encodings_are_read(
    tmp_path: Path, imports: Imports, encoding: str, players: tuple[str, str]
) -> None:
    """Player names in other encodings are read: alone, packed, in archives and in .sgf. Files in UTF-8 and UTF-16
    beside them are read as such."""
    session = TEXT.decode()
    names = re.search(r"^ *(\w+) *: 0 +(\w+) *: 0", session, re.M)
    assert names
    for old, new in zip(names.groups(), players, strict=True):
        session = session.replace(old, new)
    folder = tmp_path / "mine"
    folder.mkdir()
    text = session.encode(encoding)
    (folder / "a.mat").write_bytes(text)
    (folder / "b.mat.gz").write_bytes(gzip.compress(text))
    (folder / "c.mat").write_bytes(session.encode())
    (folder / "d.mat").write_bytes(session.encode("utf-16"))
    with ZipFile(folder / "old.zip", "w") as archive:
        archive.writestr("e.mat", text)
    tree = "(;FF[4]GM[6]AP[GNU Backgammon:1.07]MI[length:1][game:0][ws:0][bs:0]PW[{}]PB[{}];W[31hefe];B[41ablp]C[{}])"
    (folder / "f.sgf").write_bytes(tree.format(*players, players[0]).encode(encoding))
    table = import_files(
        imports.warehouse, "matches", [folder], Progress(), encoding=encoding.replace("cp", "windows-")
    )
    found = rows(table, "imported_matches")
    assert [(row["player_0"], row["player_1"]) for row in found] == [players, players]
    assert [(row["format"], row["n_files"]) for row in found] == [("mat", 5), ("sgf", 1)]
    assert {row["text"] for row in rows(table, "foreign_analysis") if row["subject"] == "comment"} == {players[0]}
    assert table.manifest.parameters == {"name": "mine", "encoding": encoding}
    assert import_files(imports.warehouse, "matches", [folder], Progress(), encoding=encoding).folder == table.folder
    assert import_files(imports.warehouse, "matches", [folder], Progress()).folder != table.folder


def test_wrong_encodings_are_refused(tmp_path: Path, imports: Imports) -> None:
    (tmp_path / "a.mat").write_bytes(TEXT)
    for name in ("cp1", "hex", "undefined", "utf-16", "cp500", "\0", "é", "x" * 5000):
        with pytest.raises(InvalidParameterError, match=r"^expected an encoding of text, such as .*, got ") as caught:
            import_files(imports.warehouse, "matches", [tmp_path], Progress(), encoding=name)
        assert len(str(caught.value)) < 400
    with pytest.raises(UsageError, match=r"^expected --encoding with matches, .*, got positions$"):
        import_files(imports.warehouse, "positions", [tmp_path], Progress(), encoding="cp1250")
    with pytest.raises(InvalidParameterError, match=r"^expected the encoding cp1250 by this name, got windows-1250$"):
        MatchesParameters("mine", "windows-1250").check()


EXPORTS = Path(__file__).parents[2] / "formats/exports"


def test_games_of_exports_are_one_match(tmp_path: Path, imports: Imports) -> None:
    """gnubg's exports of single games are joined to one match; a missing game is noted."""
    for name in ("session.txt", "session_002.txt", "session_004.txt"):
        (tmp_path / name).write_bytes((EXPORTS / name).read_bytes())
    table = import_paths(imports, tmp_path)
    (match,) = rows(table, "imported_matches")
    assert match["source"] == "session.txt"
    assert match["format"] == "gnubg text"
    assert match["n_games"] == 3
    assert match["n_files"] == 1
    assert [(row["game_number"], row["score_0"], row["points_won"]) for row in rows(table)] == [
        (1, 0, 8),
        (2, 8, 1),
        (4, 9, 6),
    ]
    notes = [row["text"] for row in rows(table, "game_notes")]
    assert notes == ["game 3 is missing: game 4 begins at 9-1, and game 2 ends at 9-0, in session_004.txt"]
    turns = {(row["game"], row["turn"]) for row in rows(table, "turns")}
    said = {(row["game"], row["turn"]) for row in rows(table, "foreign_analysis")}
    assert said <= turns
    assert {game for game, _ in said} == {0, 1, 2}


def test_exports_of_a_match_in_two_formats_are_the_same(tmp_path: Path, imports: Imports) -> None:
    for name in ("session_002.txt", "session_002.html.gz"):
        (tmp_path / name).write_bytes((EXPORTS / name).read_bytes())
    (match,) = rows(import_paths(imports, tmp_path), "imported_matches")
    assert match["n_files"] == 2


def test_two_exports_of_the_same_game_number_are_two_matches(tmp_path: Path, imports: Imports) -> None:
    text = (EXPORTS / "session_002.txt").read_text()
    (tmp_path / "a.txt").write_text(text)
    (tmp_path / "a_002.txt").write_text(text.replace("24/20 13/10", "13/9 13/10"))
    assert [row["n_games"] for row in rows(import_paths(imports, tmp_path), "imported_matches")] == [1, 1]
