"""UBGI engines as players: invalid engine files, and engines with invalid answers."""

import pickle
from pathlib import Path

import pytest

from bgdata.equity.doubling import Action
from bgdata.errors import ExternalProgramError, MissingFileError, UnknownPlayerError, UsageError
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.ubgi_player import UbgiPlayer
from bgdata.game.position import Position
from tests.protocols.test_ubgi import BOARD, ROLL, TINY_PROGRAM, engine_file, tiny_engine_file


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "expected the command of an engine as first line of "),
        ("'", "expected the command of an engine as first line of "),
        ("engine\nengine.ply", "expected lines KEY VALUE below the command in "),
        ("engine\npatience 0", "expected patience SECONDS above 0 in .*, got '0'"),
        ("engine\npatience 5\npatience forever", "expected patience SECONDS above 0 in .*, got 'forever'"),
    ],
)
def test_invalid_files_are_refused(text: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "a.ubgi"
    path.write_text(text)
    with pytest.raises(UnknownPlayerError, match=reason):
        UbgiPlayer(str(path))


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="expected a file of text that starts an engine, found none in "):
        UbgiPlayer(str(tmp_path / "a.ubgi"))


@pytest.mark.parametrize(("command", "reason"), [("no/such/engine", ""), ("engine\0", ".*: embedded null byte")])
def test_command_that_starts_no_engine_is_refused(tmp_path: Path, command: str, reason: str) -> None:
    path = tmp_path / "a.ubgi"
    path.write_text(command)
    message = f"expected a command that starts an engine, got {reason}"
    with pytest.raises(UnknownPlayerError, match=message):
        UbgiPlayer(str(path)).choose_plays(BOARD, ROLL)
    with pytest.raises(UnknownPlayerError, match=message):
        UbgiPlayer(str(path)).evaluate_many(BOARD)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ('"bestmove 8/3"', "expected a legal play .* in the answer of tiny-0ply about 4HPwATDgc/ABMA"),
        ('"error bad_state missing dice"', "tiny-0ply answered 'error bad_state missing dice'"),
        ("sys.exit()", "expected an answer of tiny-0ply, found none"),
        ('"x" * 5000', "expected lines of at most 4096 bytes, got a longer one, in an answer of tiny-0ply"),
        (
            '"bestm", end="", flush=True); sys.exit("!"',
            "expected tiny-0ply to end its last line, found it gone after 'bestm'",
        ),
    ],
)
def test_invalid_answers_are_refused(answer: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(ExternalProgramError, match=reason):
        UbgiPlayer(tiny_engine_file(tmp_path, answer)).choose_plays(BOARD, ROLL)


def test_rounded_chances_are_put_in_order(tmp_path: Path) -> None:
    """Cube decisions need the order."""
    player = UbgiPlayer(tiny_engine_file(tmp_path, '"chances 0.7000 0.3001 0.0100 0.3001 0.0000"'))
    (chances,) = player.evaluate_many(BOARD).chances.tolist()
    assert chances == pytest.approx([0.7, 0.3001, 0.01, 0.3, 0], abs=1e-6)
    assert chances[3] <= 1 - chances[0]
    assert LookaheadPlayer(player).decide_cube(Position(BOARD[0].tolist())).action in Action


@pytest.mark.parametrize(
    ("answer", "rest"),
    [
        ('__import__("time").sleep(600)', ""),
        ('"bestmove 8/5", end="", flush=True); __import__("time").sleep(600', ", only 'bestmove 8/5'"),
    ],
)
def test_silent_engine_is_replaced(answer: str, rest: str, tmp_path: Path) -> None:
    """After the patience in its file; a new process answers the next question."""
    player = UbgiPlayer(tiny_engine_file(tmp_path, answer, "patience 2"))
    with pytest.raises(ExternalProgramError, match=f"^expected a line of tiny-0ply within 2 s, got none{rest}$"):
        player.choose_plays(BOARD, ROLL)
    tiny_engine_file(tmp_path, '"bestmove 8/5 6/5"', "patience 2")  # now it answers
    assert player.choose_plays(BOARD, ROLL).shape == (1, 26)


def test_patience_is_not_part_of_the_version(tmp_path: Path) -> None:
    """Answers do not depend on it."""
    patient = UbgiPlayer(tiny_engine_file(tmp_path, '"bestmove 8/5 6/5"'))
    version = patient.version
    impatient = UbgiPlayer(tiny_engine_file(tmp_path, '"bestmove 8/5 6/5"', "patience 2.5"))
    assert patient.patience_seconds == 600
    assert impatient.patience_seconds == 2.5
    assert pickle.loads(pickle.dumps(impatient)).patience_seconds == 2.5
    assert impatient.version == version


def test_engine_that_never_speaks_times_out(tmp_path: Path) -> None:
    path = engine_file(tmp_path, "import time; time.sleep(600)", "patience 0.2")
    with pytest.raises(ExternalProgramError, match=r"^expected a line of tiny-0ply within 0\.2 s, got none$"):
        UbgiPlayer(path).choose_plays(BOARD, ROLL)


@pytest.mark.parametrize(("version", "go"), [("0.1", "go role chequer"), ("0.2", "go chequer")])
def test_supported_versions_are_accepted(version: str, go: str, tmp_path: Path) -> None:
    answer = f"'bestmove 8/5 6/5' if line.strip() == '{go}' else 'error bad_command'"
    program = TINY_PROGRAM.replace("ANSWER", answer).replace("ubgiok", f"proto {version}\\nubgiok")
    assert UbgiPlayer(engine_file(tmp_path, program)).choose_plays(BOARD, ROLL).shape == (1, 26)


@pytest.mark.parametrize("version", ["0.3", "9", "1e999999", "x" * 1000])
def test_unknown_versions_are_refused(version: str, tmp_path: Path) -> None:
    program = TINY_PROGRAM.replace("ubgiok", f"proto {version}\\nubgiok")
    message = r"^expected an engine of UBGI 0\.1 or 0\.2, got tiny-0ply of '"
    with pytest.raises(UnknownPlayerError, match=message) as raised:
        UbgiPlayer(engine_file(tmp_path, program)).choose_plays(BOARD, ROLL)
    assert len(str(raised.value)) < 200


def test_engine_without_evaluation_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected an engine that answers go eval, got tiny-0ply"):
        UbgiPlayer(tiny_engine_file(tmp_path, '"error unsupported eval"')).evaluate_many(BOARD)


@pytest.mark.parametrize("chances", ["0.5 0.1", "nan 0 0 0 0", "7 0 0 0 0", "0.5 -3 0 0 0", "0.5 0 0 0 one"])
def test_impossible_chances_are_refused(chances: str, tmp_path: Path) -> None:
    with pytest.raises(ExternalProgramError, match="expected five chances from 0 to 1 of tiny-0ply for 4HPwATDgc/ABMA"):
        UbgiPlayer(tiny_engine_file(tmp_path, f'"chances {chances}"')).evaluate_many(BOARD)


def test_unknown_key_is_refused(tmp_path: Path) -> None:
    program = (
        "import sys\nfor line in sys.stdin:\n"
        "    print('ubgiok' if line == 'ubgi\\n' else 'readyok' if line == 'isready\\n' else 'error unsupported')\n"
        "    sys.stdout.flush()\n"
    )
    with pytest.raises(UnknownPlayerError, match=r"expected an engine that has engine\.ply 3"):
        UbgiPlayer(engine_file(tmp_path, program), 2).choose_plays(BOARD, ROLL)
