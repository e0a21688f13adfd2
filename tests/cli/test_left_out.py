"""Tests that commands use every part of a position's identifier, or name the parts that they leave out.

For two identifiers that differ in one part, either the answers differ, or standard error names that part.
"""

import json
from pathlib import Path
from typing import Any

import pytest

import bgdata
from bgdata.equity.kinds.match_equity import PUBLISHED
from bgdata.errors import InvalidScoreError, UsageError
from bgdata.evaluation.rows import parse_away, unused_parts
from bgdata.game.dice import parse_roll
from bgdata.game.identifiers import format_xgid
from bgdata.game.match import MatchScore
from bgdata.game.match_state import MatchState, Side, format_gnubg_id
from bgdata.game.position import Position
from tests.command_line import position_id, run
from tests.stated_parts import CHANGES, CONTACT, MATCH, MONEY, ROLL
from tests.subtests import each

RACE = position_id([0, 1, 0, 0, 1], [0, 2, 1])
SHORT = ("--trials", "72", "--seed", "5")
COMMANDS = {  # by name: arguments after the position, and the used parts
    "show": ([], set(CHANGES)),
    "eval": ([], set[str]()),
    "hint": ([], {"score", "match", "crawford", "cube", "owner", "jacoby", "roll"}),
    "cube": ([], {"score", "match", "crawford", "cube", "owner", "jacoby", "beavers"}),
    "rollout": (SHORT, {"score", "match", "crawford", "cube", "owner", "jacoby", "roll"}),
}
JSON = ("--format", "json")
MET = ("--met", "published-12")


@pytest.fixture(scope="module")
def root(network_root: Path) -> Path:
    """A warehouse with a match equity table."""
    bgdata.open_warehouse(network_root).build("match_equity", PUBLISHED)
    return network_root


@each("change", list(CHANGES))
@each("command", list(COMMANDS))
def test_unused_parts_of_an_identifier_are_named(root: Path, command: str, change: str) -> None:
    """A part of an identifier, such as the score, either changes the answer of a command or is named as left out."""
    first, second, words = CHANGES[change]
    arguments, used_parts = COMMANDS[command]
    if (command, change) == ("hint", "roll"):
        first = MatchState(roll=parse_roll("42"))

    def answer(state: MatchState) -> tuple[list[dict[str, Any]], list[str]]:
        """The rows without names of the question, and the notes on what is left out."""
        met = MET if state.length and command in ("hint", "cube", "rollout") else ()
        result = run(root, command, format_xgid(Position(CONTACT), state), *arguments, *met, *JSON)
        assert result.exit_code == 0, result.output
        rows = [
            {name: value for name, value in row.items() if name not in ("unit", "stakes")}
            for row in json.loads(result.stdout)
        ]
        beginning = "left out of what the position says: "
        return rows, [line for line in result.stderr.splitlines() if line.startswith(beginning)]

    rows_of_first, _ = answer(first)
    rows_of_second, notes = answer(second)
    if change in used_parts:
        assert rows_of_first != rows_of_second
        assert not any(words in note for note in notes)
    else:
        assert rows_of_first == rows_of_second
        (note,) = notes
        assert words in note


def test_rollout_of_a_gnubg_id_uses_cube_and_score(root: Path) -> None:
    text = format_gnubg_id(Position(CONTACT), MATCH)
    result = run(root, "rollout", text, *SHORT, "--plays", "3", *MET)
    assert "mwc %" in result.stdout, result.output
    assert "; bearoffs of up to six checkers a side were solved for the score\n" in result.stdout
    assert "left out" not in result.stderr
    result = run(root, "rollout", text, *SHORT, "--plays", "3", "--cubeless")
    assert "win     g    bg" in result.stdout
    assert "left out of what the position says: 5-away 4-away, a cube of 1, centered" in result.stderr.splitlines()
    result = run(root, "rollout", text, "--cubeless", "--cube", "2")
    assert result.exit_code == 2
    assert result.stderr == "error: expected --cubeless without what is played for, got both\n"


def test_rollouts_name_the_tables_that_end_their_games(network_root: Path) -> None:
    for text in (CONTACT, format_xgid(Position(CONTACT), MatchState())):
        (row, *_) = json.loads(run(network_root, "rollout", text, *SHORT, "--format", "json").stdout)
        assert [name.rpartition("/")[0] for name in row["tables"].split(", ")] == [
            "bearoff_two_sided/6x6", "bearoff_one_sided/6x15", "bearoff_gammon/6x15",
        ]  # fmt: skip
        last = run(network_root, "rollout", text, *SHORT).stdout
        assert f"by {row['player']}, with {row['tables']}\n" in last


def test_probe_says_that_the_roll_is_left_out(root: Path) -> None:
    match = MatchState(length=7, scores=(5, 4), roll=ROLL)
    result = run(root, "probe", format_xgid(Position(RACE), MONEY))
    assert result.stderr == "left out of what the position says: the roll 31\n"
    result = run(root, "probe", format_xgid(Position(CONTACT), match), *MET)
    assert result.exit_code == 1  # no table covers it
    assert result.stderr.splitlines()[0] == "left out of what the position says: the roll 31"


def test_unused_parts_of_a_match_state_are_named() -> None:
    offered = MatchState(is_double_offered=True, to_decide=Side.TOP)
    assert unused_parts(offered) == "left out of what the position says: a double that is offered"
    assert unused_parts(MatchState(resigned=1, to_decide=Side.TOP)).endswith(": a resignation")
    assert unused_parts(None) == unused_parts(MatchState()) == unused_parts(offered, "offer") == ""
    assert unused_parts(MATCH, "score", "cube", "roll") == ""


def test_scores_are_parsed_as_points_to_go() -> None:
    for text, numbers in (("3-5", (3, 5)), ("1-1", (1, 1)), ("07-120", (7, 120))):
        assert parse_away(text, is_crawford=False) == MatchScore(*numbers)
    assert parse_away("1-5", is_crawford=True) == MatchScore(1, 5, is_crawford=True)
    with pytest.raises(InvalidScoreError, match="expected one side at 1-away in the crawford game, got 3-away 5-away"):
        parse_away("3-5", is_crawford=True)
    with pytest.raises(InvalidScoreError, match="expected at least 1 point to go for each side, got 0-away 5-away"):
        parse_away("0-5", is_crawford=False)


@each("text", ["", "3", "3:5", "3-", "-3-5", "3-5-7", "3-5\n", " 3-5", "a-b", "٣-٥", "1000-5"])
def test_invalid_scores_are_refused(text: str) -> None:
    message = f"expected points that the player on roll and the opponent need, such as 3-5, got {text!r}"
    with pytest.raises(UsageError) as caught:
        parse_away(text, is_crawford=False)
    assert str(caught.value) == message
