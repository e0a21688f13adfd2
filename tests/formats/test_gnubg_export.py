"""Tests of gnubg's text and HTML exports, with files that it wrote and with gnubg itself."""

import random
import re
from pathlib import Path

import pytest

from bgdata.formats.gnubg_export import parse_gnubg_text
from bgdata.formats.lines import read_bytes
from bgdata.formats.match_files import match_form, parse_matches, read_matches
from bgdata.formats.matches import BY_HAND, Analysis, TurnKind
from bgdata.formats.replay import ReplayedFile, ReplayedTurn, replay_file
from tests.faults.corrupting import corrupt_line
from tests.formats.test_matches_oracle import MATCHES, PREAMBLE, SESSION
from tests.oracles import ask_gnubg, needs_gnubg_tool
from tests.subtests import each

FOLDER = Path(__file__).parent / "exports"
EXPORT = """
do("set analysis chequer evaluation plies 0", "set analysis cube evaluation plies 0")
do("set analysis luckanalysis plies 0", "analyse match")
for form in ("text", "html"):
    do(f"export match {form} {name}.{form}")
do(f"save match {name}.sgf", f"export match mat {name}.mat")
do("set output mwc on", "set output matchpc on", "set output winpc on", f"export match text {name}-mwc.text")
"""


def read(name: str) -> ReplayedFile:
    return replay_file(read_matches(FOLDER / name))


def turns_of(file: ReplayedFile) -> list[ReplayedTurn]:
    """The turns of the only game."""
    (found,) = file.replays.values()
    return found


def analysis_of(turn: ReplayedTurn, subject: str) -> Analysis:
    (found,) = (analysis for analysis in turn.turn.analyses if analysis.subject == subject)
    return found


def test_game_of_a_money_session_is_read() -> None:
    """The text export of one game gives its score, result, turns and facts, and accounts for all 357 lines."""
    file = read("session_004.txt")
    (match,) = file.matches
    (game,) = match.games
    assert match.players == ("gnubg", "root")
    assert match.length == 0
    assert match.is_jacoby
    assert match.form == "gnubg text"
    assert game.number == 4
    assert game.score == (9, 1)
    assert game.winner == 0
    assert game.points == 6
    kinds = "play play play double take play play play"
    assert [str(turn.turn.kind) for turn in turns_of(file)] == kinds.split()
    assert (str(turns_of(file)[6].play), turns_of(file)[6].cube.value) == ("bar/23 13/7", 2)
    assert dict(match.info)["Date"] == "11/30/26"
    assert file.rejects == []
    assert file.counts.lines == file.counts.rows + file.counts.comments == 357


def test_play_without_a_number_is_read() -> None:
    """A play that is not among the listed ones, for whose number gnubg writes ??, is read as the play that was made."""
    for name, old, new in (
        ("session_002.txt", "*    2. Cubeful", "*   ?? Cubeful"),
        ("session_002.html.gz", '&bull; </td>\n<td class="movenumber">2<', '&bull; </td>\n<td class="movenumber">??<'),
    ):
        content = read_bytes(FOLDER / name).decode()
        assert old in content
        file = replay_file(parse_matches(name, content.replace(old, new).encode()))
        assert [len(analysis_of(turn, "play").choices) for turn in turns_of(file)[:4]] == [5, 5, 5, 5]
        assert analysis_of(turns_of(file)[2], "play").choices[1].is_made


def test_beaver_and_its_take_are_read() -> None:
    turns = turns_of(read("session.txt"))
    assert [(turn.turn.player, str(turn.turn.kind)) for turn in turns[3:6]] == [
        (0, "double"),
        (1, "beaver"),
        (0, "take"),
    ]
    assert turns[6].cube.value == 4


def test_analysis_of_a_turn_is_read() -> None:
    """A turn has the plays, luck and cube actions of its analysis, with equities, chances and level."""
    turns = turns_of(read("session_004.txt"))
    plays = analysis_of(turns[0], "play")
    best, second, *_ = plays.choices
    assert (plays.analyst, plays.level, plays.is_mwc) == ("gnubg", "0-ply", False)
    assert best.equity == 0.028
    assert best.is_made
    assert sorted(move[:2] for move in best.moves or ()) == [(13, 8), (24, 22)]
    assert best.chances == (0.508, 0.135, 0.007, 0.132, 0.005)
    assert not second.is_made
    assert analysis_of(turns[0], "luck").choices[0].equity == 0.028
    cube = analysis_of(turns[1], "cube")
    assert [choice.text for choice in cube.choices] == ["no double", "double, take", "double, pass"]
    assert (cube.level, cube.choices[2].equity, cube.choices[0].chances) == (
        "2-ply",
        1.0,
        (0.499, 0.131, 0.004, 0.135, 0.005),
    )


def test_values_of_an_answer_are_those_of_the_player_who_doubled() -> None:
    _, _, _, double, take, *_ = turns_of(read("session_004.txt"))
    assert [choice.equity for choice in analysis_of(double, "cube").choices] == [0.051, -0.272, 1.0]
    assert [(choice.equity, choice.chances) for choice in analysis_of(take, "cube").choices] == [
        (choice.equity, choice.chances) for choice in analysis_of(double, "cube").choices
    ]


def test_rollout_and_remark_are_read() -> None:
    for name in ("rollout.txt", "rollout.html.gz"):
        *_, before, last = turns_of(read(name))
        cube = analysis_of(before, "cube")
        assert cube.level == "rollout of 36 trials"
        assert [choice.equity for choice in cube.choices] == [0.357, 0.076, 1.0]
        assert analysis_of(last, "comment").choices[0].text == "About the cube"


def test_facts_of_the_match_are_read() -> None:
    (match,) = read("rollout.html.gz").matches
    info = dict(match.info)
    assert (info["Event"], info["Place"], info["Round"]) == ("Open Cup", "Basel, CH", "3")
    assert match.length == 5


def test_text_and_html_say_the_same() -> None:
    text, html = (turns_of(read(f"session_002.{form}")) for form in ("txt", "html.gz"))
    assert len(text) == len(html) == 6
    for one, other in zip(text, html, strict=True):
        assert (one.position, one.play, one.turn.kind) == (other.position, other.play, other.turn.kind)
        assert [each for each in one.turn.analyses if each.subject != "luck"] == list(other.turn.analyses)


def test_export_of_a_position_is_no_game() -> None:
    file = read("position.txt")
    assert not file.matches[0].games
    assert [bad.reason for bad in file.rejects if "see line" not in bad.reason] == [BY_HAND]


@each(
    ("old", "new", "reason"),
    [
        ("* root moves 24/22 13/8", "* root jumps 24/22", "expected a player who moves, doubles"),
        ("* root moves 24/22 13/8", "* ann moves 24/22 13/8", "expected a player who moves, doubles"),
        ("* root moves 24/22 13/8", "* root moves 24/22 13/7", "got '24/22 13/7', in line 25: root play"),
        ("* root moves 24/22 13/8", "* root moves 24-22", "expected checker moves such as"),
        ("* root accepts", "* gnubg accepts", "expected a take of a double"),
        ("root to play 52", "root to play 72", "expected a player who moves, doubles"),
        ("gnubg wins 6 points", "gnubg wins 5 points", "expected a result that follows from the last position"),
    ],
)
def test_game_that_cannot_be_replayed_is_quarantined(old: str, new: str, reason: str) -> None:
    text = (FOLDER / "session_004.txt").read_text()
    assert old in text
    file = replay_file(parse_gnubg_text(text.replace(old, new).encode()))
    assert not any(match.games for match in file.matches)
    (first,) = (bad for bad in file.rejects if "see line" not in bad.reason)
    assert reason in first.reason


def test_decimal_commas_are_read() -> None:
    """Numbers with decimal commas, which gnubg writes on some systems, are read."""
    text = re.sub(r"(\d)\.(\d{3})", r"\1,\2", (FOLDER / "session_004.txt").read_text())
    found = turns_of(replay_file(parse_gnubg_text(text.encode())))
    assert found[0].turn.analyses == turns_of(read("session_004.txt"))[0].turn.analyses


@pytest.mark.parametrize("name", ["session.txt", "session_002.html.gz"])
def test_damaged_files_give_errors_or_games_that_keep_the_rules(name: str) -> None:
    content = read_bytes(FOLDER / name)
    chance = random.Random(name)
    for _ in range(60):
        damaged = corrupt_line(content, chance)
        if match_form(damaged) not in ("gnubg text", "gnubg html"):
            continue
        file = replay_file(parse_matches("x", damaged))
        counts = file.counts
        assert counts.lines == counts.rows + counts.comments + counts.quarantined
        assert all(bad.reason.startswith("expected ") and bad.text.isprintable() for bad in file.rejects)


@needs_gnubg_tool("gnubg")
def test_exports_are_the_games_that_gnubg_saves(tmp_path: Path) -> None:
    """Text and HTML exports have the same games as the .sgf file that gnubg saves of the session."""
    ask_gnubg(f"{PREAMBLE}{SESSION.replace('save(', 'name = (')}{EXPORT}", tmp_path)
    (saved,) = read_matches(tmp_path / "session.sgf").matches
    for number, game in enumerate(saved.games, 1):
        suffix = f"_{number:03}" * (number > 1)
        for form in ("text", "html"):
            file = replay_file(read_matches(tmp_path / f"session{suffix}.{form}"))
            (match,) = file.matches
            (found,) = match.games
            assert (match.players, match.length, match.is_jacoby) == (saved.players, saved.length, saved.is_jacoby)
            assert found.number == game.number
            assert found.score == game.score
            assert found.winner == game.winner
            assert found.points == game.points
            acts = [
                (turn.player, turn.kind, turn.dice)
                for turn in game.turns
                if turn.kind not in (TurnKind.RESIGN, TurnKind.ROLL)
            ]
            assert [(turn.player, turn.kind, turn.dice) for turn in found.turns] == acts


@needs_gnubg_tool("gnubg")
def test_values_of_matches_are_points_or_mwc(tmp_path: Path) -> None:
    """Values of a match are points of normalised equity or mwc, as gnubg was set to write them."""
    script = MATCHES.replace("save(", "name = (").replace(
        "for number, (mine, yours) in enumerate(names):", "number, mine, yours = 1, 'Ann Lee', 'B'\nif True:"
    )
    ask_gnubg(f"{PREAMBLE}{script}{EXPORT}", tmp_path)
    points, chances = (turns_of(replay_file(read_matches(tmp_path / f"match1{kind}.text"))) for kind in ("", "-mwc"))
    compared = 0
    for one, other in zip(points, chances, strict=True):
        for subject in ("play", "cube", "luck"):
            for mine, yours in zip(_of(one, subject), _of(other, subject), strict=True):
                assert not mine.is_mwc
                assert yours.is_mwc
                for choice, again in zip(mine.choices, yours.choices, strict=True):
                    assert (choice.moves, choice.level) == (again.moves, again.level)
                    assert subject == "luck" or 0 <= (again.equity or 0) <= 1
                    if choice.chances and again.chances:
                        assert again.chances == pytest.approx(choice.chances, abs=0.0011)
                        compared += 1
    assert compared > 50


def _of(turn: ReplayedTurn, subject: str) -> list[Analysis]:
    return [analysis for analysis in turn.turn.analyses if analysis.subject == subject]
