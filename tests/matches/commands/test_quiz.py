"""Tests of `bgdata quiz`: in the terminal, as page, deck and list, with wrong requests."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from zipfile import ZipFile

import pytest
from click.testing import CliRunner, Result

from bgdata.cli import main
from bgdata.warehouse import open_whole
from tests.command_line import error_of, run
from tests.subtests import each


@pytest.fixture(scope="module")
def root(small_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the small warehouse, in whose analysed matches players err."""
    folder = tmp_path_factory.mktemp("quiz") / "warehouse"
    shutil.copytree(small_root, folder)
    return folder


@pytest.fixture(scope="module")
def player(root: Path) -> str:
    """The name of the player who erred most often."""
    (row, *_) = open_whole(root).rows("select player, count(*) as n from my_errors group by player order by n desc")
    return str(row["player"])


def run_quiz(root: Path, tmp_path: Path, given: str, *arguments: str) -> Result:
    """Run a quiz at 0-ply in which the user types `given`."""
    words = ["--warehouse", str(root), "quiz", *arguments, "--ply", "0", "--results", str(tmp_path / "results.json")]
    return CliRunner().invoke(main, words, input=given)


def test_quiz_asks_until_the_user_quits(root: Path, player: str, tmp_path: Path) -> None:
    """The quiz shows boards, repeats a question after nonsense, judges the answer, and stores the results."""
    found = run_quiz(root, tmp_path, "nonsense\n1\nquit\n", player, "--questions", "2")
    assert found.exit_code == 0, found.output
    assert "question 1 of " in found.output
    assert "expected a number from 1 to" in found.output
    assert "+-13-14-15-16-17-18-+" in found.output
    assert ("right: " in found.output) != ("wrong: " in found.output)
    assert "you chose" in found.output
    assert found.output.rstrip().endswith((" of 1 right", " of 2 right"))
    kept = json.loads((tmp_path / "results.json").read_text())
    assert kept["sessions"] == 1
    assert [row["asked"] for row in kept["questions"].values()] == [1]


def test_end_of_the_input_ends_the_quiz(root: Path, player: str, tmp_path: Path) -> None:
    found = run_quiz(root, tmp_path, "", player)
    assert found.exit_code == 0, found.output
    assert found.output.rstrip().endswith("or quit: quit")
    assert not (tmp_path / "results.json").exists()


def test_wrong_answer_comes_again_and_right_one_rests(root: Path, tmp_path: Path) -> None:
    """A question answered wrongly is asked again in the next session; one answered rightly is not."""
    first = run_quiz(root, tmp_path, "1\n" * 50, "--from", "decisions", "--questions", "50")
    assert first.exit_code == 0, first.output
    n_wrong = first.output.count("\nwrong: ")
    second = run_quiz(root, tmp_path, "1\n" * 50, "--from", "decisions", "--questions", "50")
    n_due = second.output.count("question ")
    assert n_due == first.output.count("question ")  # box 1 is asked in the next session
    third = run_quiz(root, tmp_path, "", "--from", "decisions", "--questions", "50")
    if n_wrong:
        assert f"question 1 of {n_wrong}" in third.output
    else:
        assert third.output == "no question is due; try again tomorrow, or with other options\n"


@each("source", ["decisions", "openings"])
def test_questions_from_tables_are_listed(root: Path, tmp_path: Path, source: str) -> None:
    listing, page = tmp_path / "list.txt", tmp_path / "page.html"
    found = run(root, "quiz", "--from", source, "--questions", "3", "--xgid", listing, "--page", page)
    assert found.exit_code == 0, found.output
    lines = listing.read_text().splitlines()
    assert len(lines) == len(set(lines)) >= 1
    assert all(line.startswith("XGID=") for line in lines)
    text = page.read_text()
    assert text.count("<h2>Question") == text.count("<details>") == len(lines)
    assert found.output.count("wrote ") == 2


def test_page_depends_on_the_seed(root: Path, player: str, tmp_path: Path) -> None:
    pages = [tmp_path / f"{number}.html" for number in range(3)]
    for page, seed in zip(pages, ("1", "1", "2"), strict=True):
        arguments = ("--about", "plays", "--ply", "0", "--seed", seed, "--page", page)
        assert run(root, "quiz", player, *arguments).exit_code == 0
    assert pages[0].read_bytes() == pages[1].read_bytes() != pages[2].read_bytes()


def test_deck_for_anki(root: Path, player: str, tmp_path: Path) -> None:
    """The deck has a card for each question, with the board in front and the answer behind; a second deck has the same
    cards."""
    pytest.importorskip("genanki", reason="the extra matches is not installed")
    deck = tmp_path / "errors.apkg"
    found = run(root, "quiz", player, "--ply", "0", "--questions", "4", "--anki", deck)
    assert found.exit_code == 0, found.output
    with ZipFile(deck) as archive:
        archive.extract("collection.anki2", tmp_path)
    with sqlite3.connect(tmp_path / "collection.anki2") as connection:
        notes = connection.execute("select guid, flds, tags from notes").fetchall()
        (cards,) = connection.execute("select count(*) from cards").fetchone()
    assert len({guid for guid, *_ in notes}) == len(notes) == cards >= 1
    asked, answer = notes[0][1].split("\x1f")
    assert "<svg" in asked
    assert "XGID=" in answer
    assert "XGID=" not in asked
    again = tmp_path / "again.apkg"
    run(root, "quiz", player, "--ply", "0", "--questions", "4", "--anki", again)
    with ZipFile(again) as archive:
        archive.extract("collection.anki2", tmp_path)
    with sqlite3.connect(tmp_path / "collection.anki2") as connection:
        assert connection.execute("select guid, flds, tags from notes").fetchall() == notes


def test_invalid_quiz_options_are_refused(root: Path, player: str, tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("{}")
    for arguments, code, message in (
        ((), 2, "expected a PLAYER, or --from with decisions or openings, got neither"),
        ((player, "--from", "openings"), 2, "expected a PLAYER, or --from with decisions or openings, got both"),
        (("eve",), 1, "no errors of 'eve' in match_analysis/"),
        ((player, "--analysis", "none"), 1, "no match_analysis/'none' in"),
        ((player, "--least-loss", "99"), 2, "expected decisions that the options leave, got none"),
        (
            (player, "--theme", "backgame"),
            2,
            "bear-in-against-contact, bear-off-against-contact, crashed, race or bear-off as theme, got 'backgame'",
        ),
        ((player, "--results", str(bad)), 1, "expected results of a quiz in"),
        (("--from", "decisions", "--about", "cube"), 2, "expected decisions that the options leave, got none"),
    ):
        assert message in error_of(run(root, "quiz", *arguments), code), arguments
    empty = tmp_path / "empty"
    assert "no analysis of matches in" in error_of(run(empty, "quiz", "ann"), 1)


def test_missing_package_is_named(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "genanki", None)
    found = run(root, "quiz", "--from", "decisions", "--anki", tmp_path / "x.apkg")
    assert "expected genanki to write a deck for Anki, found none; try: " in error_of(found, 1)
