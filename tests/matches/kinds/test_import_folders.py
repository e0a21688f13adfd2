"""Tests of importing folders and archives of matches: each match is stored once, with the analyses of its files."""

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
FORMATS = Path(__file__).parents[2] / "formats"
BINARY = FORMATS / "binary"  # the same session of 3 games in several formats
EXPORTS = FORMATS / "exports"  # single games that gnubg exported
SESSION = (BINARY / "session.mat").read_bytes()
PACKED_SESSION = gzip.compress(SESSION)


def import_paths(imports: Imports, *paths: Path) -> Table:
    """Import these files, folders and archives."""
    return import_files(imports.warehouse, "matches", paths, Progress(), name="mine")


def write_zip(path: Path, name: str = "a.mat") -> Path:
    """Write a zip archive that contains one match file with this name; returns the path."""
    with ZipFile(path, "w") as archive:
        archive.writestr(name, SESSION)
    return path


def write_tar(path: Path, mode: Literal["w", "w:gz", "w:bz2"], **contents: bytes) -> Path:
    """Write a tar archive with a folder, a link, and match files with these contents; returns the path."""
    with tarfile.open(path, mode) as archive:
        folder, link = tarfile.TarInfo("old"), tarfile.TarInfo("old/link.mat")
        folder.type = tarfile.DIRTYPE
        link.type, link.linkname = tarfile.SYMTYPE, "b.mat"
        archive.addfile(folder)
        archive.addfile(link)
        for stem, content in contents.items():
            member = tarfile.TarInfo(f"old/{stem}.mat")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def cut(path: Path) -> bytes:
    """The bytes of a file without the last 30."""
    return path.read_bytes()[:-30]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two sessions in five files, two of them in an archive in a subfolder, and files without matches."""
    folder = tmp_path / "mine"
    (folder / "2025").mkdir(parents=True)
    for form in ("xg", "bgf"):
        (folder / f"any-{form}.dat").write_bytes((BINARY / f"session.{form}").read_bytes())
    with ZipFile(folder / "2025/old.zip", "w") as archive:
        archive.writestr("a/session.mat", SESSION)
        archive.writestr("b/session.mat", sessions.MAT)
        archive.writestr("b/readme.txt", "Nothing")
        archive.writestr("__MACOSX/session.mat", b"\0")
    (folder / "notes.txt").write_text("To be done\n")
    (folder / ".hidden.mat").write_bytes(SESSION)
    return folder


def test_same_match_in_several_files_is_stored_once(folder: Path, imports: Imports) -> None:
    table = import_paths(imports, folder)
    session, other = rows(table, "imported_matches")
    assert (session["source"], session["format"]) == ("any-bgf.dat", "bgf")
    assert (session["n_games"], session["n_files"]) == (3, 3)
    assert (session["date"], session["place"]) == ("2026.01.04", "SampleServer")
    assert (other["source"], other["format"]) == ("b:session.mat", "mat")
    assert (other["n_games"], other["n_files"]) == (8, 1)
    assert table.manifest.statistics["matches"] == 2
    assert table.manifest.statistics["duplicates"] == 2
    notes = [(row["source"], row["text"]) for row in rows(table, "game_notes")]
    assert ("any-bgf.dat", "the same match is in any-xg.dat") in notes
    assert ("any-bgf.dat", "the same match is in a:session.mat") in notes
    assert sum("the same match" in text for _, text in notes) == 2


def test_all_formats_of_a_match_have_the_same_identifier(imports: Imports) -> None:
    identifiers = []
    for form in ("mat", "xg", "bgf", "ogxm"):
        (match,) = rows(import_paths(imports, BINARY / f"session.{form}"), "imported_matches")
        identifiers.append(match["played"])
    assert len(set(identifiers)) == 1


def test_matches_with_other_rolls_or_lengths_are_different(tmp_path: Path, imports: Imports) -> None:
    """Only other names of the players do not make another match."""
    text = SESSION.decode()
    texts = {
        "original": text,
        "longer": text.replace("0 point match", "25 point match"),
        "unfinished": text[: text.rindex("Game 3")],
        "renamed": text.replace("Fox", "Wolf"),
    }
    assert len(set(texts.values())) == 4
    for name, content in texts.items():
        (tmp_path / f"{name}.mat").write_text(content)
    matches = rows(import_paths(imports, tmp_path), "imported_matches")
    assert sorted(row["n_files"] for row in matches) == [1, 1, 2]


def test_short_matches_are_the_same_only_between_the_same_players(tmp_path: Path, imports: Imports) -> None:
    short = " 1 point match\n\n Game 1\n {} : 0       bob : 0\n  1) 31: 8/5 6/5\n      Wins 1 point\n"
    for number, name in enumerate(("ann", "eve", "ann")):
        (tmp_path / f"{number}.mat").write_text(short.format(name))
    matches = rows(import_paths(imports, tmp_path), "imported_matches")
    assert [(row["player_0"], row["n_files"]) for row in matches] == [("ann", 2), ("eve", 1)]


def test_analyses_of_two_programs_are_stored(folder: Path, imports: Imports) -> None:
    table = import_paths(imports, folder)
    analyses = rows(table, "foreign_analysis")
    assert {row["analyst"] for row in analyses} == {"xg", "bgblitz"}
    keys = [(row["game"], row["turn"], row["subject"], row["analyst"], row["choice"]) for row in analyses]
    assert len(set(keys)) == len(keys)
    turns = {(row["game"], row["turn"]): row for row in rows(table, "turns")}
    n_plays = sum(row["action"] == "play" and row["game"] < 3 for row in turns.values())
    for analyst in ("xg", "bgblitz"):
        plays_made = [row for row in analyses if row["is_made"] and row["analyst"] == analyst]
        assert len(plays_made) == n_plays
        for row in plays_made:
            assert row["text"] == turns[row["game"], row["turn"]]["play"]
    first_play = [
        row for row in analyses if (row["game"], row["turn"], row["subject"], row["choice"]) == (0, 0, "play", 0)
    ]
    assert [(row["analyst"], round(row["value"], 4), row["unit"], row["level"]) for row in first_play] == [
        ("bgblitz", 0.0434, "points", "3ply"),
        ("xg", 0.0269, "points", "database"),
    ]
    luck = next(row for row in analyses if row["subject"] == "luck")
    assert (luck["text"], luck["win"], luck["is_made"]) == ("", None, None)


def test_damaged_file_in_a_folder_is_quarantined(folder: Path, imports: Imports) -> None:
    (folder / "bad.xg").write_bytes((BINARY / "session.xg").read_bytes()[:9000])
    (row,) = rows(import_paths(imports, folder), "quarantine")
    assert (row["source"], row["line"]) == ("bad.xg", 1)
    assert "expected a whole file of eXtreme Gammon in bad.xg, found damage" in row["reason"]


def test_folders_and_archives_without_matches_are_refused(tmp_path: Path, imports: Imports) -> None:
    (tmp_path / "none").mkdir()
    (tmp_path / "none/readme.txt").write_text("Nothing")
    with ZipFile(tmp_path / "none.zip", "w") as archive:
        archive.writestr("readme.txt", "Nothing")
    for name in ("none", "none.zip"):
        with pytest.raises(MissingFileError, match=rf"expected files with matches in .*{name}, found none in 1 files"):
            import_paths(imports, tmp_path / name)


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2"])
def test_tar_archives_are_read_without_their_links(
    tmp_path: Path, imports: Imports, mode: Literal["w", "w:gz", "w:bz2"]
) -> None:
    (tmp_path / "mine").mkdir()
    archive = write_tar(tmp_path / "mine/any.dat", mode, b=sessions.MAT.encode(), a=SESSION)
    (tmp_path / "mine/other.mat").write_bytes(SESSION)
    assert is_archive(archive)
    assert not is_archive(tmp_path)
    (tmp_path / "unpacked").mkdir()
    assert [path.name for path in unpack_archive(archive, tmp_path / "unpacked")] == ["a.mat", "b.mat"]
    matches = rows(import_paths(imports, tmp_path / "mine"), "imported_matches")
    assert sorted((row["n_games"], row["n_files"]) for row in matches) == [(3, 2), (8, 1)]


@pytest.mark.parametrize("container", ["folder", "archive"])
def test_files_that_cannot_be_unpacked_are_quarantined(tmp_path: Path, imports: Imports, container: str) -> None:
    """Each file that cannot be unpacked has a row with its name and the reason. The others are imported; a packed text
    without matches is left out."""
    wrong_byte = bytearray(PACKED_SESSION)
    wrong_byte[len(PACKED_SESSION) // 2] ^= 1
    cut_zip = cut(write_zip(tmp_path / "x.zip"))
    cut_tar = cut(write_tar(tmp_path / "x.tar.gz", "w:gz", a=SESSION))
    damaged_files = {  # content and reason by name
        "cut.mat.gz": (PACKED_SESSION[:-40], "expected packed data in cut.mat.gz, found: the file is truncated; fetch"),
        "short.gz": (PACKED_SESSION[:9], "expected packed data in short.gz, found: the file is truncated"),
        "wrong.mat.gz": (bytes(wrong_byte), "expected packed data in wrong.mat.gz, found: error -3"),
        "other.bz2": (bz2.compress(SESSION)[:-40], "expected packed data in other.bz2, found: the file is truncated"),
        "cut.zip": (cut_zip, "expected a whole zip archive in cut.zip, found: file is not a zip file"),
        "cut.tar.gz": (cut_tar, "expected packed data in cut.tar.gz, found: the file is truncated"),
        "a.xz": (lzma.compress(SESSION), "expected text in a.xz, plain or packed once with gzip or bzip2, found xz"),
        "twice.gz": (gzip.compress(PACKED_SESSION), "expected text in twice.gz, plain or packed once with gzip or"),
    }
    folder = tmp_path / "mine"
    (folder / "sub").mkdir(parents=True)
    (folder / "whole.mat").write_bytes(SESSION)
    (folder / "text.gz").write_bytes(gzip.compress(b"Nothing"))
    for name, (content, _) in damaged_files.items():
        (folder / "sub" / name).write_bytes(content)
    with ZipFile(tmp_path / "all.zip", "w") as archive:
        for path in folder.rglob("*.*"):
            archive.write(path, path.relative_to(folder))
    table = import_paths(imports, folder if container == "folder" else tmp_path / "all.zip")
    (match,) = rows(table, "imported_matches")
    assert (match["source"], match["n_files"]) == ("whole.mat", 1)
    quarantine = {row["source"]: row for row in rows(table, "quarantine")}
    assert quarantine.keys() == {unpacked_name(name) for name in damaged_files}
    for name, (_, reason) in damaged_files.items():
        row = quarantine[unpacked_name(name)]
        assert (row["line"], row["text"].strip()) == (1, "")
        assert row["reason"].startswith(reason)


def test_damaged_file_given_by_name_raises(tmp_path: Path, imports: Imports) -> None:
    (tmp_path / "whole.mat").write_bytes(SESSION)
    (tmp_path / "cut.mat.gz").write_bytes(PACKED_SESSION[:-40])
    (tmp_path / "cut.zip").write_bytes(cut(write_zip(tmp_path / "x.zip")))
    with pytest.raises(CorruptFileError, match=r"^expected packed data in .*/cut\.mat\.gz, found: "):
        import_paths(imports, tmp_path / "whole.mat", tmp_path / "cut.mat.gz")
    with pytest.raises(CorruptFileError, match=r"^expected a whole zip archive in .*/cut\.zip, found: "):
        import_paths(imports, tmp_path / "whole.mat", tmp_path / "cut.zip")


def test_damaged_archives_are_refused(tmp_path: Path) -> None:
    packed_tar = write_tar(tmp_path / "x.tar.gz", "w:gz", a=SESSION)
    packed_tar.write_bytes(cut(packed_tar))
    with pytest.raises(CorruptFileError, match=r"expected packed data in .*x\.tar\.gz, found: the file is truncated"):
        unpack_archive(packed_tar, tmp_path)
    tar = write_tar(tmp_path / "x.tar", "w", a=SESSION)
    tar.write_bytes(tar.read_bytes()[:2000])
    message = r"expected a whole tar archive in .*x\.tar, found: unexpected end of data"
    with pytest.raises(CorruptFileError, match=message):
        unpack_archive(tar, tmp_path)
    wrong_byte = bytearray(write_zip(tmp_path / "x.zip").read_bytes())
    wrong_byte[60] ^= 1  # within the content of the first file
    (tmp_path / "x.zip").write_bytes(wrong_byte)
    with pytest.raises(CorruptFileError, match="expected a whole zip archive"):
        unpack_archive(tmp_path / "x.zip", tmp_path)


@pytest.mark.parametrize("form", ["zip", "tar"])
def test_archive_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    path = tmp_path / "archive"
    archive = write_zip(path) if form == "zip" else write_tar(path, "w:gz", a=SESSION)
    monkeypatch.setenv("BGDATA_MOST_UNPACKED_BYTES", "3000")
    with pytest.raises(TooLargeError, match="expected at most 3,000 bytes of content"):
        unpack_archive(archive, tmp_path)


@pytest.mark.parametrize("name", ["../a.mat", "/a.mat", "C:/a.mat", "..\\a.mat"])
def test_archive_with_names_outside_its_folder_is_refused(tmp_path: Path, name: str) -> None:
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo(name))
    write_zip(tmp_path / "x.zip", name)
    for path in (tmp_path / "x.zip", tmp_path / "x.tar"):
        with pytest.raises(CorruptFileError, match="expected names inside the archive"):
            unpack_archive(path, tmp_path)


def test_unprintable_letters_in_names_of_an_archive_are_replaced(tmp_path: Path) -> None:
    (path,) = unpack_archive(write_zip(tmp_path / "x.zip", "\x1b[31ma\n.mat"), tmp_path)
    assert path.name == "_[31ma_.mat"


@pytest.mark.parametrize(
    ("encoding", "players"),
    [
        ("cp1250", ("Łukasz Żądło", "Jiří Šťastný")),
        ("cp1251", ("Иван Щукин", "Ђорђе Њагић")),
        ("cp1253", ("Γιώργος Ρήγας", "Άννα Ξένου")),
    ],
    ids=["cp1250", "cp1251", "cp1253"],
)
def test_names_in_other_encodings_are_read(
    tmp_path: Path, imports: Imports, encoding: str, players: tuple[str, str]
) -> None:
    """Player names in other encodings are read: alone, packed, in archives and in .sgf. Files in UTF-8 and UTF-16
    beside them are read as such."""
    text = SESSION.decode()
    names = re.search(r"^ *(\w+) *: 0 +(\w+) *: 0", text, re.MULTILINE)
    assert names
    text = text.replace(names[1], players[0]).replace(names[2], players[1])
    folder = tmp_path / "mine"
    folder.mkdir()
    encoded = text.encode(encoding)
    (folder / "a.mat").write_bytes(encoded)
    (folder / "b.mat.gz").write_bytes(gzip.compress(encoded))
    (folder / "c.mat").write_bytes(text.encode())
    (folder / "d.mat").write_bytes(text.encode("utf-16"))
    with ZipFile(folder / "old.zip", "w") as archive:
        archive.writestr("e.mat", encoded)
    tree = "(;FF[4]GM[6]AP[GNU Backgammon:1.07]MI[length:1][game:0][ws:0][bs:0]PW[{}]PB[{}];W[31hefe];B[41ablp]C[{}])"
    (folder / "f.sgf").write_bytes(tree.format(*players, players[0]).encode(encoding))

    def import_folder(encoding: str = "") -> Table:
        return import_files(imports.warehouse, "matches", [folder], Progress(), encoding=encoding)

    table = import_folder(encoding.replace("cp", "windows-"))
    mat, sgf = rows(table, "imported_matches")
    assert (mat["format"], mat["n_files"]) == ("mat", 5)
    assert (mat["player_0"], mat["player_1"]) == players
    assert (sgf["format"], sgf["n_files"]) == ("sgf", 1)
    assert (sgf["player_0"], sgf["player_1"]) == players
    comments = {row["text"] for row in rows(table, "foreign_analysis") if row["subject"] == "comment"}
    assert comments == {players[0]}
    assert table.manifest.parameters == {"name": "mine", "encoding": encoding}
    assert import_folder(encoding).folder == table.folder
    assert import_folder().folder != table.folder


@pytest.mark.parametrize("name", ["cp1", "hex", "undefined", "utf-16", "cp500", "\0", "é", "x" * 5000])
def test_unknown_encodings_are_refused(tmp_path: Path, imports: Imports, name: str) -> None:
    (tmp_path / "a.mat").write_bytes(SESSION)
    with pytest.raises(InvalidParameterError, match=r"^expected an encoding of text, such as .*, got ") as error:
        import_files(imports.warehouse, "matches", [tmp_path], Progress(), encoding=name)
    assert len(str(error.value)) < 400


def test_encoding_is_an_option_of_matches_under_one_name(tmp_path: Path, imports: Imports) -> None:
    with pytest.raises(UsageError, match=r"^expected --encoding with matches, .*, got positions$"):
        import_files(imports.warehouse, "positions", [tmp_path], Progress(), encoding="cp1250")
    with pytest.raises(InvalidParameterError, match=r"^expected the encoding cp1250 by this name, got windows-1250$"):
        MatchesParameters("mine", "windows-1250").check()


def test_exports_of_single_games_are_joined_to_a_match(tmp_path: Path, imports: Imports) -> None:
    """gnubg's exports of single games are one match; a missing game is noted."""
    for name in ("session.txt", "session_002.txt", "session_004.txt"):
        (tmp_path / name).write_bytes((EXPORTS / name).read_bytes())
    table = import_paths(imports, tmp_path)
    (match,) = rows(table, "imported_matches")
    assert (match["source"], match["format"]) == ("session.txt", "gnubg text")
    assert (match["n_games"], match["n_files"]) == (3, 1)
    assert [(row["game_number"], row["score_0"], row["points_won"]) for row in rows(table)] == [
        (1, 0, 8),
        (2, 8, 1),
        (4, 9, 6),
    ]
    (note,) = rows(table, "game_notes")
    assert note["text"] == "game 3 is missing: game 4 begins at 9-1, and game 2 ends at 9-0, in session_004.txt"
    turns = {(row["game"], row["turn"]) for row in rows(table, "turns")}
    analysed = {(row["game"], row["turn"]) for row in rows(table, "foreign_analysis")}
    assert analysed <= turns
    assert {game for game, _ in analysed} == {0, 1, 2}


def test_exports_of_a_game_in_two_formats_are_one_match(tmp_path: Path, imports: Imports) -> None:
    for name in ("session_002.txt", "session_002.html.gz"):
        (tmp_path / name).write_bytes((EXPORTS / name).read_bytes())
    (match,) = rows(import_paths(imports, tmp_path), "imported_matches")
    assert match["n_files"] == 2


def test_two_exports_of_the_same_game_number_are_two_matches(tmp_path: Path, imports: Imports) -> None:
    text = (EXPORTS / "session_002.txt").read_text()
    (tmp_path / "a.txt").write_text(text)
    (tmp_path / "a_002.txt").write_text(text.replace("24/20 13/10", "13/9 13/10"))
    matches = rows(import_paths(imports, tmp_path), "imported_matches")
    assert [row["n_games"] for row in matches] == [1, 1]
