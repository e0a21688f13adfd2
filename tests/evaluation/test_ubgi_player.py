"""Engines of UBGI as players: files that start none, and engines that do not answer as they should."""

from __future__ import annotations

from pathlib import Path

import pytest

from bgdata.errors import ExternalProgramError, MissingFileError, UnknownPlayerError, UsageError
from bgdata.evaluation.ubgi_player import UbgiPlayer
from tests.protocols.test_ubgi import BOARD, ROLL, engine_file, tiny


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "expected the command of an engine as first line of "),
        ("'", "expected the command of an engine as first line of "),
        ("engine\nengine.ply", "expected lines KEY VALUE below the command in "),
    ],
)
def test_files_that_start_nothing(text: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "a.ubgi"
    path.write_text(text)
    with pytest.raises(UnknownPlayerError, match=reason):
        UbgiPlayer(str(path))


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="expected a file of text that starts an engine, found none in "):
        UbgiPlayer(str(tmp_path / "none.ubgi"))


def test_commands_that_are_not_there(tmp_path: Path) -> None:
    path = tmp_path / "a.ubgi"
    path.write_text(str(tmp_path / "nothing"))
    with pytest.raises(UnknownPlayerError, match="expected a command that starts an engine, got "):
        UbgiPlayer(str(path)).choose_plays(BOARD, ROLL)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ('"bestmove 8/3"', "expected a legal play .* in the answer of tiny-0ply about 4HPwATDgc/ABMA"),
        ('"error bad_state missing dice"', "tiny-0ply answered 'error bad_state missing dice'"),
        ("sys.exit()", "expected an answer of tiny-0ply, found none"),
        ('"x" * 5000', "expected lines of at most 4096 bytes, got a longer one, in an answer of tiny-0ply"),
    ],
)
def test_engines_that_answer_wrongly(answer: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(ExternalProgramError, match=reason):
        UbgiPlayer(tiny(tmp_path, answer)).choose_plays(BOARD, ROLL)


def test_engines_that_do_not_evaluate(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected an engine that answers go eval, got tiny-0ply"):
        UbgiPlayer(tiny(tmp_path, '"error unsupported eval"')).evaluate_many(BOARD)


def test_keys_that_an_engine_does_not_have(tmp_path: Path) -> None:
    program = (
        "import sys\nfor line in sys.stdin:\n"
        "    print('ubgiok' if line == 'ubgi\\n' else 'readyok' if line == 'isready\\n' else 'error unsupported')\n"
        "    sys.stdout.flush()\n"
    )
    with pytest.raises(UnknownPlayerError, match=r"expected an engine that has engine\.ply 3"):
        UbgiPlayer(engine_file(tmp_path, program), 2).choose_plays(BOARD, ROLL)
