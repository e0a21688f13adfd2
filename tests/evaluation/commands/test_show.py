"""`bgdata show`: the drawing, the identifiers, the plays, the picture, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from bgdata.cli import main
from bgdata.game.board_text import parse_board_text
from bgdata.game.position import START

IDENTIFIERS = ("4HPwATDgc/ABMA", "OAHDPAABDAOAHDPAABDA", "XGID=-b----E-C---eE---c-e----B-:0:0:1:00:0:0:0:0:10")


@pytest.mark.parametrize("text", [*IDENTIFIERS, ",".join(map(str, START.board))])
def test_every_identifier_shows_the_same_position(text: str) -> None:
    shown = CliRunner().invoke(main, ["show", text], catch_exceptions=False).output
    drawing, _, rest = shown.partition("\n\n")
    assert parse_board_text(drawing) == START
    assert all(identifier in rest for identifier in IDENTIFIERS)
    assert "class        contact" in rest


def test_an_xgid_may_begin_with_a_minus() -> None:
    """Sites copy them without XGID=, and most begin so."""
    text = IDENTIFIERS[2].removeprefix("XGID=")
    for arguments in ([text], ["--", text]):
        result = CliRunner().invoke(main, ["show", *arguments])
        assert (result.exit_code, IDENTIFIERS[0] in result.output) == (0, True)
    assert CliRunner().invoke(main, ["show", "-b"]).exit_code == 2


def test_plays_of_a_roll_and_a_picture(tmp_path: Path) -> None:
    picture = tmp_path / "board.svg"
    arguments = ["show", IDENTIFIERS[0], "--roll", "66", "--svg", str(picture)]
    lines = CliRunner().invoke(main, arguments, catch_exceptions=False).output.splitlines()
    assert "11 plays of 66" in lines
    assert any(line.split() == ["24/18(2)", "13/7(2)", "4NvBwQDgc/ABMA"] for line in lines)
    assert picture.read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["nope"],
            "error: expected one of position id, gnubg id, 20-letter key, xgid, 26 integers, start; as ",
        ),
        ([IDENTIFIERS[0], "--roll", "70"], "error: expected two dice such as '31', got '70'"),
    ],
)
def test_invalid_positions_and_rolls_are_refused(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(main, ["show", *arguments])
    assert result.exit_code == 2
    assert result.stderr.startswith(message)
    assert len(result.stderr.splitlines()) == 1


def test_a_play_is_shown_with_arrows(tmp_path: Path) -> None:
    shown = CliRunner().invoke(
        main, ["show", "start", "--roll", "31", "--play", "6/5, 8/5", "--svg", str(tmp_path / "x.svg")]
    )
    assert shown.exit_code == 0
    assert "after 8/5 6/5, seen by the opponent: sGfwATDgc/ABMA" in shown.stdout
    assert (tmp_path / "x.svg").read_text() == START.svg("8/5 6/5", "31")
    wrong = CliRunner().invoke(main, ["show", "start", "--roll", "31", "--play", "6/1"])
    assert (wrong.exit_code, wrong.stderr.count("\n")) == (2, 1)
    assert wrong.stderr.startswith("error: expected a legal play (")


@pytest.mark.parametrize("form", ["table", "json"])
def test_beavers_of_an_xgid_are_kept(form: str) -> None:
    """And what other notations of a match leave out is said, beside the data."""
    xgid = IDENTIFIERS[2].replace(":0:0:10", ":3:0:10")
    found = CliRunner().invoke(main, ["show", xgid, "--format", form], catch_exceptions=False)
    assert xgid in found.stdout
    assert "4HPwATDgc/ABMA:cAkAAAAAAAAA" in found.stdout
    assert found.stderr == "match_id and gnubg_id do not say that beavers are allowed\n"
    assert CliRunner().invoke(main, ["show", IDENTIFIERS[2], "--format", form]).stderr == ""
