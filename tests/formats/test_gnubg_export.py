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


def only_game(file: ReplayedFile) -> list[ReplayedTurn]:
    """The turns of the only game."""
    (turns,) = file.replays.values()
    return turns


def read_turns(name: str) -> list[ReplayedTurn]:
    return only_game(read(name))


def analyses_of(turn: ReplayedTurn, subject: str) -> list[Analysis]:
    return [analysis for analysis in turn.turn.analyses if analysis.subject == subject]


def analysis_of(turn: ReplayedTurn, subject: str) -> Analysis:
    (analysis,) = analyses_of(turn, subject)
    return analysis


def equities(analysis: Analysis) -> list[float | None]:
    return [choice.equity for choice in analysis.choices]


def test_game_of_a_money_session_is_read() -> None:
    file = read("session_004.txt")
    (match,) = file.matches
    (game,) = match.games
    assert match.players == ("gnubg", "root")
    assert match.length == 0
    assert match.is_jacoby
    assert match.form == "gnubg text"
    assert dict(match.info)["Date"] == "11/30/26"
    assert game.number == 4
    assert game.score == (9, 1)
    assert (game.winner, game.points) == (0, 6)
    turns = only_game(file)
    kinds = "play play play double take play play play"
    assert [str(turn.turn.kind) for turn in turns] == kinds.split()
    assert str(turns[6].play) == "bar/23 13/7"
    assert turns[6].cube.value == 2
    assert file.rejects == []
    assert file.counts.lines == file.counts.rows + file.counts.comments == 357


@pytest.mark.parametrize(
    ("name", "numbered", "unnumbered"),
    [
        ("session_002.txt", "*    2. Cubeful", "*   ?? Cubeful"),
        ("session_002.html.gz", '&bull; </td>\n<td class="movenumber">2<', '&bull; </td>\n<td class="movenumber">??<'),
    ],
)
def test_play_without_a_number_is_read(name: str, numbered: str, unnumbered: str) -> None:
    """gnubg writes ?? instead of a number if the play that was made is not among the listed ones."""
    content = read_bytes(FOLDER / name).decode()
    assert numbered in content
    turns = only_game(replay_file(parse_matches(name, content.replace(numbered, unnumbered).encode())))
    assert [len(analysis_of(turn, "play").choices) for turn in turns[:4]] == [5, 5, 5, 5]
    assert analysis_of(turns[2], "play").choices[1].is_made


def test_beaver_and_its_take_are_read() -> None:
    turns = read_turns("session.txt")
    acts = [(turn.turn.player, str(turn.turn.kind)) for turn in turns[3:6]]
    assert acts == [(0, "double"), (1, "beaver"), (0, "take")]
    assert turns[6].cube.value == 4


def test_plays_and_luck_of_a_turn_are_read() -> None:
    turn = read_turns("session_004.txt")[0]
    plays = analysis_of(turn, "play")
    assert (plays.analyst, plays.level, plays.is_mwc) == ("gnubg", "0-ply", False)
    best, second, *_ = plays.choices
    assert best.equity == 0.028
    assert best.is_made
    assert sorted(move[:2] for move in best.moves or ()) == [(13, 8), (24, 22)]
    assert best.chances == (0.508, 0.135, 0.007, 0.132, 0.005)
    assert not second.is_made
    assert equities(analysis_of(turn, "luck")) == [0.028]


def test_cube_actions_are_read() -> None:
    _, turn, _, double, take, *_ = read_turns("session_004.txt")
    cube = analysis_of(turn, "cube")
    assert cube.level == "2-ply"
    assert [choice.text for choice in cube.choices] == ["no double", "double, take", "double, pass"]
    assert cube.choices[2].equity == 1.0
    assert cube.choices[0].chances == (0.499, 0.131, 0.004, 0.135, 0.005)
    # the values of an answer are those of the player who doubled
    assert equities(analysis_of(double, "cube")) == [0.051, -0.272, 1.0]
    assert analysis_of(take, "cube").choices == analysis_of(double, "cube").choices


@pytest.mark.parametrize("name", ["rollout.txt", "rollout.html.gz"])
def test_rollout_and_remark_are_read(name: str) -> None:
    *_, before_last, last = read_turns(name)
    cube = analysis_of(before_last, "cube")
    assert cube.level == "rollout of 36 trials"
    assert equities(cube) == [0.357, 0.076, 1.0]
    assert analysis_of(last, "comment").choices[0].text == "About the cube"


def test_event_place_and_round_are_read() -> None:
    (match,) = read("rollout.html.gz").matches
    info = dict(match.info)
    assert (info["Event"], info["Place"], info["Round"]) == ("Open Cup", "Basel, CH", "3")
    assert match.length == 5


def test_text_and_html_say_the_same_except_luck() -> None:
    text, html = read_turns("session_002.txt"), read_turns("session_002.html.gz")
    assert len(text) == len(html) == 6
    for turn, html_turn in zip(text, html, strict=True):
        assert (turn.position, turn.play, turn.turn.kind) == (html_turn.position, html_turn.play, html_turn.turn.kind)
        for subject in ("play", "cube", "comment"):
            assert analyses_of(turn, subject) == analyses_of(html_turn, subject)
        assert analyses_of(html_turn, "luck") == []


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
    (bad,) = (bad for bad in file.rejects if "see line" not in bad.reason)
    assert reason in bad.reason


def test_decimal_commas_are_read() -> None:
    """gnubg writes decimal commas on some systems."""
    text = re.sub(r"(\d)\.(\d{3})", r"\1,\2", (FOLDER / "session_004.txt").read_text())
    turns = only_game(replay_file(parse_gnubg_text(text.encode())))
    assert turns[0].turn.analyses == read_turns("session_004.txt")[0].turn.analyses


@pytest.mark.parametrize("name", ["session.txt", "session_002.html.gz"])
def test_damaged_files_give_errors_or_games_that_keep_the_rules(name: str) -> None:
    content = read_bytes(FOLDER / name)
    generator = random.Random(name)
    for _ in range(60):
        damaged = corrupt_line(content, generator)
        if match_form(damaged) not in ("gnubg text", "gnubg html"):
            continue
        file = replay_file(parse_matches("x", damaged))
        counts = file.counts
        assert counts.lines == counts.rows + counts.comments + counts.quarantined
        assert all(bad.reason.startswith("expected ") and bad.text.isprintable() for bad in file.rejects)


@needs_gnubg_tool("gnubg")
def test_exports_are_the_games_that_gnubg_saves(tmp_path: Path) -> None:
    ask_gnubg(f"{PREAMBLE}{SESSION.replace('save(', 'name = (')}{EXPORT}", tmp_path)
    (saved,) = read_matches(tmp_path / "session.sgf").matches
    for number, game in enumerate(saved.games, 1):
        suffix = "" if number == 1 else f"_{number:03}"
        exported_turns = [turn for turn in game.turns if turn.kind not in (TurnKind.RESIGN, TurnKind.ROLL)]
        acts = [(turn.player, turn.kind, turn.dice) for turn in exported_turns]
        for form in ("text", "html"):
            (match,) = replay_file(read_matches(tmp_path / f"session{suffix}.{form}")).matches
            (exported,) = match.games
            assert (match.players, match.length, match.is_jacoby) == (saved.players, saved.length, saved.is_jacoby)
            assert exported.number == game.number
            assert exported.score == game.score
            assert exported.winner == game.winner
            assert exported.points == game.points
            assert [(turn.player, turn.kind, turn.dice) for turn in exported.turns] == acts


@needs_gnubg_tool("gnubg")
def test_values_of_matches_are_points_or_mwc(tmp_path: Path) -> None:
    """Values of a match are points of normalised equity or mwc, as gnubg was set to write them."""
    script = MATCHES.replace("save(", "name = (").replace(
        "for number, (mine, yours) in enumerate(names):", "number, mine, yours = 1, 'Ann Lee', 'B'\nif True:"
    )
    ask_gnubg(f"{PREAMBLE}{script}{EXPORT}", tmp_path)
    turns_in_points = only_game(replay_file(read_matches(tmp_path / "match1.text")))
    turns_in_mwc = only_game(replay_file(read_matches(tmp_path / "match1-mwc.text")))
    compared = 0
    for turn_in_points, turn_in_mwc in zip(turns_in_points, turns_in_mwc, strict=True):
        for subject in ("play", "cube", "luck"):
            pairs = zip(analyses_of(turn_in_points, subject), analyses_of(turn_in_mwc, subject), strict=True)
            for in_points, in_mwc in pairs:
                assert not in_points.is_mwc
                assert in_mwc.is_mwc
                for choice, same_choice in zip(in_points.choices, in_mwc.choices, strict=True):
                    assert (choice.moves, choice.level) == (same_choice.moves, same_choice.level)
                    assert subject == "luck" or 0 <= (same_choice.equity or 0) <= 1
                    if choice.chances and same_choice.chances:
                        assert same_choice.chances == pytest.approx(choice.chances, abs=0.0011)
                        compared += 1
    assert compared > 50
