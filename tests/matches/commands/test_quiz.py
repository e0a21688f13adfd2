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


def run_quiz(root: Path, tmp_path: Path, typed: str, *arguments: str) -> Result:
    """Run a quiz at 0-ply in which the user types `typed`."""
    words = ["--warehouse", str(root), "quiz", *arguments, "--ply", "0", "--results", str(tmp_path / "results.json")]
    return CliRunner().invoke(main, words, input=typed)


def test_quiz_asks_until_the_user_quits(root: Path, player: str, tmp_path: Path) -> None:
    quiz = run_quiz(root, tmp_path, "nonsense\n1\nquit\n", player, "--questions", "2")
    assert quiz.exit_code == 0, quiz.output
    assert "question 1 of " in quiz.output
    assert "expected a number from 1 to" in quiz.output
    assert "+-13-14-15-16-17-18-+" in quiz.output
    assert ("right: " in quiz.output) != ("wrong: " in quiz.output)
    assert "you chose" in quiz.output
    assert quiz.output.rstrip().endswith((" of 1 right", " of 2 right"))
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["sessions"] == 1
    assert [row["asked"] for row in results["questions"].values()] == [1]


def test_end_of_the_input_ends_the_quiz(root: Path, player: str, tmp_path: Path) -> None:
    quiz = run_quiz(root, tmp_path, "", player)
    assert quiz.exit_code == 0, quiz.output
    assert quiz.output.rstrip().endswith("or quit: quit")
    assert not (tmp_path / "results.json").exists()


def test_question_answered_wrongly_is_asked_in_the_next_session(root: Path, tmp_path: Path) -> None:
    """After the first session all questions are asked again, and then only those that were answered wrongly twice."""
    options = ("--from", "decisions", "--questions", "50")
    first = run_quiz(root, tmp_path, "1\n" * 50, *options)
    assert first.exit_code == 0, first.output
    second = run_quiz(root, tmp_path, "1\n" * 50, *options)
    assert second.output.count("question ") == first.output.count("question ")
    third = run_quiz(root, tmp_path, "", *options)
    if n_wrong := first.output.count("\nwrong: "):
        assert f"question 1 of {n_wrong}" in third.output
    else:
        assert third.output == "no question is due; try again tomorrow, or with other options\n"


@each("source", ["decisions", "openings"])
def test_questions_from_tables_are_listed(root: Path, tmp_path: Path, source: str) -> None:
    listing, page = tmp_path / "list.txt", tmp_path / "page.html"
    result = run(root, "quiz", "--from", source, "--questions", "3", "--xgid", listing, "--page", page)
    assert result.exit_code == 0, result.output
    lines = listing.read_text().splitlines()
    assert len(lines) == len(set(lines)) >= 1
    assert all(line.startswith("XGID=") for line in lines)
    text = page.read_text()
    assert text.count("<h2>Question") == text.count("<details>") == len(lines)
    assert result.output.count("wrote ") == 2


def test_page_depends_on_the_seed(root: Path, player: str, tmp_path: Path) -> None:
    def page(name: str, seed: int) -> bytes:
        options = ("--about", "plays", "--ply", "0", "--seed", str(seed), "--page", tmp_path / name)
        assert run(root, "quiz", player, *options).exit_code == 0
        return (tmp_path / name).read_bytes()

    assert page("first.html", seed=1) == page("again.html", seed=1) != page("other.html", seed=2)


def test_deck_for_anki_is_reproducible(root: Path, player: str, tmp_path: Path) -> None:
    pytest.importorskip("genanki", reason="the extra matches is not installed")

    def written_notes(name: str) -> list[tuple[str, str, str]]:
        result = run(root, "quiz", player, "--ply", "0", "--questions", "4", "--anki", tmp_path / name)
        assert result.exit_code == 0, result.output
        with ZipFile(tmp_path / name) as archive:
            archive.extract("collection.anki2", tmp_path)
        with sqlite3.connect(tmp_path / "collection.anki2") as connection:
            notes = connection.execute("select guid, flds, tags from notes").fetchall()
            assert connection.execute("select count(*) from cards").fetchone() == (len(notes),)
        return notes

    notes = written_notes("errors.apkg")
    assert len({guid for guid, *_ in notes}) == len(notes) >= 1
    front, back = notes[0][1].split("\x1f")
    assert "<svg" in front
    assert "XGID=" not in front
    assert "XGID=" in back
    assert written_notes("again.apkg") == notes


@each(
    ("arguments", "code", "message"),
    [
        ([], 2, "expected a PLAYER, or --from with decisions or openings, got neither"),
        (["PLAYER", "--from", "openings"], 2, "expected a PLAYER, or --from with decisions or openings, got both"),
        (["eve"], 1, "no errors of 'eve' in match_analysis/"),
        (["PLAYER", "--analysis", "none"], 1, "no match_analysis/'none' in"),
        (["PLAYER", "--least-loss", "99"], 2, "expected decisions that the options leave, got none"),
        (
            ["PLAYER", "--theme", "backgame"],
            2,
            "bear-in-against-contact, bear-off-against-contact, crashed, race or bear-off as theme, got 'backgame'",
        ),
        (["PLAYER", "--results", "bad.json"], 1, "expected results of a quiz in"),
        (["--from", "decisions", "--about", "cube"], 2, "expected decisions that the options leave, got none"),
    ],
)
def test_invalid_options_are_refused(
    root: Path, player: str, tmp_path: Path, arguments: list[str], code: int, message: str
) -> None:
    (tmp_path / "bad.json").write_text("{}")
    values = {"PLAYER": player, "bad.json": str(tmp_path / "bad.json")}
    result = run(root, "quiz", *(values.get(word, word) for word in arguments))
    assert message in error_of(result, code)


def test_missing_analysis_is_an_error(tmp_path: Path) -> None:
    assert "no analysis of matches in" in error_of(run(tmp_path, "quiz", "ann"), 1)


def test_missing_package_is_named(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "genanki", None)
    result = run(root, "quiz", "--from", "decisions", "--anki", tmp_path / "x.apkg")
    assert "expected genanki to write a deck for Anki, found none; try: " in error_of(result, 1)
