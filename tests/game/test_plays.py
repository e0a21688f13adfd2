"""Legal plays of one position: rules by example, invariants of every play, and plays as text."""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bgdata.errors import IllegalPlayError, InvalidRollError
from bgdata.game.dice import ROLLS, Roll, parse_roll
from bgdata.game.plays import CheckerMove, Play, broken_rule, judge_play, legal_plays, parse_play
from bgdata.game.position import START, Position
from tests.game.strategies import positions
from tests.reference.plays import boards_after
from tests.subtests import each

rolls = st.sampled_from(ROLLS)
# number of plays of each roll from the start, in the order of ROLLS; gnubg agrees (test_plays_gnubg)
PLAYS_FROM_START = [15, 16, 17, 14, 18, 17, 8, 8, 9, 9, 10, 14, 14, 14, 7, 42, 75, 73, 52, 4, 11]


def position(own: dict[int, int], opponent: dict[int, int], opponent_bar: int = 0) -> Position:
    """A position of checkers on the mover's points; 25 is its bar."""
    board = [opponent_bar] + [0] * 25
    for point, count in own.items():
        board[point] = count
    for point, count in opponent.items():
        board[point] = -count
    return Position(board)


def texts(before: Position, roll: str) -> list[str]:
    return [str(play) for play in legal_plays(before, roll)]


def test_number_of_plays_from_the_start() -> None:
    assert [len(legal_plays(START, roll)) for roll in ROLLS] == PLAYS_FROM_START
    assert texts(START, "65") == ["24/13", "24/18 13/8", "24/18 8/3", "13/8 13/7", "13/7 8/3", "13/2", "8/3 8/2"]


RULES = {
    # 20/14 or 20/15; then 14/9 and 15/9 are blocked
    "the higher die if only one can be played": (position({20: 1}, {19: 0, 9: 2, 24: 2}), "65", ["20/14"]),
    "the lower die if the higher cannot be played": (position({20: 1}, {14: 2, 9: 2}), "65", ["20/15"]),
    # 8/2 leaves no 5 to play (2/off is illegal with 20 outside), but 20/15 and 8/2 together are legal
    "both dice if possible": (position({20: 1, 8: 1}, {14: 2, 3: 2}), "65", ["20/15 8/2", "20/9"]),
    # the second checker stays on the bar: 19 is blocked
    "one enters": (position({25: 2, 6: 1}, {24: 1, 19: 2}), "61", ["bar/24*"]),
    "both enter": (position({25: 2, 6: 1}, {24: 1, 19: 2}), "51", ["bar/24* bar/20"]),
    "a higher die bears off": (position({4: 2, 2: 1}, {24: 1}), "65", ["4/off(2)"]),
    "a die of the point bears off": (position({6: 1, 4: 1}, {24: 1}), "52", ["6/1 4/2", "6/off"]),
    "bear off once all are home": (position({7: 1, 4: 1}, {24: 1}), "41", ["7/3 4/3", "7/2", "7/6 4/off"]),
    "a double is played four times": (position({6: 5}, {24: 1}), "66", ["6/off(4)"]),
    "a double with fewer checkers": (position({6: 3}, {24: 1}), "66", ["6/off(3)"]),
    "a double in parts": (position({13: 2}, {24: 1, 1: 2}), "22", ["13/9(2)", "13/11 13/7", "13/5"]),
    # 5/off with the 6 would end the game, but both dice can be played, so both must be
    "the last checker uses both dice": (position({5: 1}, {4: 1}), "61", ["5/4*/off"]),
}


@each(("before", "roll", "plays"), RULES)
def test_examples_have_the_plays_of_the_rules(before: Position, roll: str, plays: list[str]) -> None:
    assert texts(before, roll) == plays


def test_blocked_player_has_an_empty_play() -> None:
    shut_out = position({25: 1, 6: 2}, dict.fromkeys(range(19, 25), 2))
    plays = legal_plays(shut_out, "61")
    assert plays == [Play((), shut_out)]
    assert str(plays[0]) == "no play"


def test_hit_and_pass_over_are_different_plays() -> None:
    before = position({10: 1}, {8: 1, 1: 2})
    assert texts(before, "21") == ["10/8*/7", "10/7"]
    hit, pass_over = legal_plays(before, "21")
    assert hit.moves == (CheckerMove(10, 8, True), CheckerMove(8, 7, False))
    assert hit.after_play.board[0] == 1
    assert hit.next_position.board[25] == 1
    assert pass_over.hit_points == frozenset()


@pytest.mark.parametrize("over", [position({}, {3: 1}), position({3: 1}, {})], ids=["won", "lost"])
def test_finished_game_has_an_empty_play(over: Position) -> None:
    assert legal_plays(over, "21") == [Play((), over)]


@given(positions, rolls)
def test_plays_match_the_reference(before: Position, roll: Roll) -> None:
    plays = legal_plays(before, roll)
    boards = [play.after_play.board for play in plays]
    assert len(set(boards)) == len(boards)
    assert set(boards) == boards_after(before.board, roll.low, roll.high)


@given(positions, rolls)
def test_plays_change_pips_and_checkers_as_their_moves(before: Position, roll: Roll) -> None:
    """Each play uses the same number of dice, lowers the pips as its moves say, and puts hit checkers on the bar."""
    plays = legal_plays(before, roll)
    dice_played = {len(play.moves) for play in plays}
    assert len(dice_played) == 1
    for play in plays:
        after = play.after_play
        hits = len(play.hit_points)
        pips = before.pip_count - after.pip_count
        borne_off = after.off - before.off
        assert pips == sum(move.start - move.end for move in play.moves)
        assert pips == roll.high * len(play.moves) or not roll.is_double or borne_off
        assert 0 <= borne_off <= len(play.moves)
        assert after.board[0] - before.board[0] == hits
        assert after.opponent_off == before.opponent_off
        assert after.opponent_pip_count - before.opponent_pip_count == sum(play.hit_points)
        assert play.next_position.flip() == after


@given(positions, rolls)
def test_text_of_plays_is_parsed_back(before: Position, roll: Roll) -> None:
    plays = legal_plays(before, roll)
    assert len({str(play) for play in plays}) == len(plays)
    all_hit_the_same = len({play.hit_points for play in plays}) == 1
    for play in plays:
        assert parse_play(str(play), before, roll) == play
        if all_hit_the_same:
            assert parse_play(str(play).replace("*", ""), before, roll) == play


ON_THE_BAR = position({25: 1, 4: 1}, {22: 1, 20: 2})


@pytest.mark.parametrize(
    ("text", "roll", "canonical"),
    [
        ("8/5 6/5", "31", "8/5 6/5"),
        ("6/5,8/5", "13", "8/5 6/5"),
        ("24/23/20", "31", "24/20"),
        ("24/23 23/20", "31", "24/20"),
        ("13/7 13/7 24/18 24/18", "66", "24/18(2) 13/7(2)"),
        ("24/18(2) 13/7(2)", "66", "24/18(2) 13/7(2)"),
        ("24/18, 13/11", "62", "24/18 13/11"),
        (" 13-11;24 - 18 ", "62", "24/18 13/11"),
        ("24 / 18 (2),13/7( 2 )", "66", "24/18(2) 13/7(2)"),
        ("24/18/16", "62", "24/16"),
    ],
)
def test_parse_play_accepts_other_notation(text: str, roll: str, canonical: str) -> None:
    assert str(parse_play(text, START, roll)) == canonical


@pytest.mark.parametrize(
    ("before", "roll", "text", "canonical"),
    [
        (ON_THE_BAR, "43", "bar/22*/18", "bar/22*/18"),
        (ON_THE_BAR, "43", "25/22 22/18", "bar/22*/18"),
        (ON_THE_BAR, "43", "bar/22/18", "bar/22*/18"),
        (ON_THE_BAR, "43", "bar/18", "bar/18"),  # over 21
        (position({4: 1, 2: 1}, {24: 2}), "65", "2/0 4/0", "4/off 2/off"),
        (position({8: 2}, {5: 1, 1: 2}), "33", "8/5*(2) 5/2(2)", "8/5*/2(2)"),
    ],
)
def test_parse_play_reads_hits_bar_and_off(before: Position, roll: str, text: str, canonical: str) -> None:
    assert str(parse_play(text, before, roll)) == canonical


@pytest.mark.parametrize("text", ["bar/22* 4/off", "25/22 4/0", "BAR/22* 4/OFF"])
def test_bearing_off_after_entering_is_refused(text: str) -> None:
    with pytest.raises(IllegalPlayError, match="expected a legal play"):
        parse_play(text, ON_THE_BAR, "53")


def test_text_with_ambiguous_hit_is_refused() -> None:
    before = position({10: 1}, {9: 1, 8: 1, 1: 2})
    assert texts(before, "21") == ["10/8*/7", "10/9*/7"]
    with pytest.raises(IllegalPlayError, match=r"says where it hits \(10/8\*/7 or 10/9\*/7\), got '10/7'"):
        parse_play("10/7", before, "21")
    assert parse_play("10/9/7", before, "21").hit_points == {9}


@each(
    ("text", "message"),
    [
        ("8/4 6/5", "expected a legal play [(]24/23 24/21 or 24/20 or 24/21 8/7 or ...[)], got '8/4 6/5'"),
        ("no play", "expected a legal play [(]24/23 24/21 or"),
        ("", "expected a legal play [(]24/23 24/21 or"),
        ("8/5*", "expected a legal play [(]24/23 24/21 or"),
        ("8+5", "expected checker moves such as 'bar/22[*] 6/5[(]2[)]', got '8[+]5'"),
        ("8-5-", "expected checker moves"),
        ("24/18 18", "expected checker moves"),
        ("8/5(0)", "expected checker moves"),
        ("8", "expected checker moves"),
        ("5/8", "expected points that go down from 25 to 0, got '5/8'"),
        ("26/23", "expected points that go down from 25 to 0"),
        ("0/off", "expected points that go down from 25 to 0"),
        ("8/8", "expected points that go down from 25 to 0"),
    ],
)
def test_invalid_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(IllegalPlayError, match=message):
        parse_play(text, START, "31")


@pytest.mark.parametrize("text", ["", "no play", "No  Play", "PASS", "dance", "cannot move"])
def test_empty_play_has_several_names(text: str) -> None:
    closed = position({25: 1}, {19: 2, 20: 2, 21: 2, 22: 2, 23: 2, 24: 2})
    assert parse_play(text, closed, "31").moves == ()


BAR_AND_BLOCKS = position({25: 2, 8: 2}, {24: 2, 22: 1, 5: 2})
HOME = position({6: 1, 4: 1, 1: 1}, {24: 2})


@each(
    ("before", "roll", "text", "rule"),
    [
        (START, "31", "8/5 6/5", ""),
        (START, "31", "8/5* 6/5", "nothing is hit on 5"),
        (START, "31", "no play", "a checker can move"),
        (START, "31", "23/20 6/5", "no checker is on 23"),
        (START, "66", "24/18(3) 13/7", "fewer than 3 checkers are on 24"),
        (START, "51", "24/19 6/5", "the opponent holds 19"),
        (START, "55", "24/14 13/3", "the opponent holds the points between"),
        (START, "31", "8/5", "another die can be played too"),
        (START, "66", "24/18(2) 13/7", "another die can be played too"),
        (START, "31", "8/4 6/5", "checkers do not move so by 3 and 1"),
        (START, "31", "8/6 6/4", ""),
        (START, "61", "6/off 8/7", "no checker is borne off while others are not home"),
        (BAR_AND_BLOCKS, "32", "8/5 bar/23", "the opponent holds 5"),
        (BAR_AND_BLOCKS, "32", "bar/22* 8/6", "checkers on the bar enter first"),
        (BAR_AND_BLOCKS, "32", "bar/22*", "another die can be played too"),
        (BAR_AND_BLOCKS, "32", "25/22/20", "checkers on the bar enter first"),
        (BAR_AND_BLOCKS, "11", "bar/24", "no checker can move"),
        (position({25: 1}, {19: 2, 20: 2, 21: 2, 22: 2, 23: 2, 24: 2}), "11", "bar/24", "no checker can move"),
        (position({10: 1}, {3: 2, 24: 2}), "61", "10/9", "the 6 can be played, and must be"),
        (HOME, "52", "4/off", "a higher die bears off from the highest point alone"),
        (HOME, "21", "6/off", "checkers do not move so by 2 and 1"),
        (position({25: 1}, {3: 15}), "11", "", "a checker can move"),
        (position({}, {3: 1}), "21", "8/5", "the game is over"),
        (HOME, "64", "6/off 4/off", ""),
    ],
)
def test_broken_rule_names_the_rule(before: Position, roll: str, text: str, rule: str) -> None:
    assert broken_rule(text, before, roll) == judge_play(text, before, roll).reason == rule
    if rule:
        with pytest.raises(IllegalPlayError, match=rf"^expected a legal play \(.*\), got .*: {rule}$"):
            parse_play(text, before, roll)


NOTATION = "expected checker moves such as 'bar/22* 6/5(2)', got "


@each(
    ("before", "roll", "text", "expected"),
    [
        (START, "26", "  13 / 11 ;  24-18\n", "legal: 24/18 13/11"),
        (START, "66", "24/18 13/7 24/18 13/7", "legal: 24/18(2) 13/7(2)"),
        (BAR_AND_BLOCKS, "31", "BAR / 24 , bar/22 *", "illegal: the opponent holds 24"),
        (position({25: 1, 8: 2}, {20: 1, 5: 2}), "52", "8/6, Bar/20*", "legal: bar/20* 8/6"),
        (position({25: 1, 8: 2}, {20: 1, 5: 2}), "52", "25/20 8/6", "legal: bar/20* 8/6"),
        (START, "31", "hello", f"illegal: {NOTATION}'hello'"),
        (START, "31", "8/5 hello", f"illegal: {NOTATION}'hello' in '8/5 hello'"),
        (START, "31", "5/8", "illegal: expected points that go down from 25 to 0, got '5/8'"),
        (START, "31", "", "illegal: a checker can move"),
        (position({10: 1}, {9: 1, 8: 1, 1: 2}), "21", "10/7",
         "illegal: expected a play that says where it hits (10/8*/7 or 10/9*/7), got '10/7'"),
        (START, None, "13/11 24/18", "legal: 24/18 13/11"),
        (START, None, "6/1", "illegal: no roll is played so"),
    ],
)  # fmt: skip
def test_judge_play_gives_verdict(before: Position, roll: str | None, text: str, expected: str) -> None:
    verdict = judge_play(text, before, roll)
    assert str(verdict) == expected
    assert (verdict.play is None) == expected.startswith("illegal: ") == bool(verdict.reason) == bool(verdict.error)
    rolls = [parse_roll(roll)] if roll else ROLLS
    legal_boards = {play.after_play for roll in rolls for play in legal_plays(before, roll)}
    assert {play.after_play for play in verdict.legal_plays} == legal_boards
    assert len(set(map(str, verdict.legal_plays))) == len(verdict.legal_plays)
    if verdict.play:
        assert verdict.play in verdict.legal_plays
    else:
        with pytest.raises(IllegalPlayError) as raised:
            parse_play(text, before, roll)
        assert str(raised.value) == verdict.error
        assert len(verdict.error) < 400


@given(positions, rolls, st.text(max_size=400))
def test_random_text_has_a_verdict(before: Position, roll: Roll, text: str) -> None:
    verdict = judge_play(text, before, roll)
    assert verdict.legal_plays == tuple(legal_plays(before, roll))
    assert str(verdict).startswith("legal: " if verdict.play else "illegal: ")
    assert len(verdict.error) < 400
    assert "\n" not in str(verdict) + verdict.error


@given(positions, rolls, rolls, st.integers(0))
@example(Position("AACAEAAAAAAAAA"), Roll(5, 2), Roll(2, 1), 1)  # 3/off means 3/1*/off
def test_play_of_another_roll_breaks_a_rule_unless_legal(
    before: Position, roll: Roll, other_roll: Roll, number: int
) -> None:
    """A play that leaves out a hit on the way is legal too."""
    plays = legal_plays(before, other_roll)
    play = plays[number % len(plays)]
    is_legal = any(
        own_checkers(legal) == own_checkers(play) and play.hit_points <= legal.hit_points
        for legal in legal_plays(before, roll)
    )
    assert (broken_rule(str(play), before, roll) == "") == is_legal


def own_checkers(play: Play) -> list[int]:
    """The checkers of the player on each point after a play, whatever it hit."""
    return [max(count, 0) for count in play.after_play.board[1:]]


def test_invalid_roll_is_refused() -> None:
    with pytest.raises(InvalidRollError, match="expected two dice such as '31', got '70'"):
        legal_plays(START, "70")


AFTER_31 = "sGfwATDgc/ABMA"  # the opponent's view after 8/5 6/5 from the start


@pytest.mark.parametrize("text", ["8/5 6/5", "6/5 8/5", " 6/5, 8/5 ", "6/5,8/5"])
def test_position_plays_text(text: str) -> None:
    for roll in (None, "31", "13", Roll(3, 1)):
        after = START.play(text, roll)
        assert after.id == AFTER_31
        assert after == START.legal_plays("31")[texts(START, "31").index("8/5 6/5")].next_position
        assert after.flip().board == (0, -2, 0, 0, 0, 2, 4, 0, 2, *START.board[9:])


@settings(max_examples=30)
@given(positions, rolls, st.integers(0))
def test_position_plays_its_legal_plays(before: Position, roll: Roll, number: int) -> None:
    plays = before.legal_plays(str(roll))
    assert plays == legal_plays(before, roll)
    play = plays[number % len(plays)]
    assert before.play(play) == before.play(play, roll) == before.play(str(play), roll) == play.next_position


def test_illegal_plays_of_a_position_are_refused() -> None:
    with pytest.raises(IllegalPlayError, match=r"expected a legal play \(.*24/22 .* or \.\.\.\), got '8/4'"):
        START.play("8/4", "21")
    with pytest.raises(IllegalPlayError, match=r"expected a legal play \(.*\), got '6/1'"):
        START.play("6/1")


def test_play_of_an_invalid_roll_is_refused() -> None:
    with pytest.raises(InvalidRollError, match="expected two dice such as '31', got '37'"):
        START.play("8/5 6/5", "37")


def test_play_of_another_roll_or_position_is_refused() -> None:
    with pytest.raises(IllegalPlayError, match=r"expected a legal play of 21 \(.* or \.\.\.\), got '8/5 6/5'"):
        START.play(parse_play("8/5 6/5", START), "21")
    with pytest.raises(IllegalPlayError, match=f"expected a play of position {AFTER_31}, got '8/5 6/5' of another"):
        Position(AFTER_31).play(parse_play("8/5 6/5", START))


@pytest.mark.parametrize("value", [None, 31, ("8/5", "6/5")])
def test_values_other_than_plays_and_texts_are_refused(value: Any) -> None:
    with pytest.raises(IllegalPlayError, match="expected a play or its text, got"):
        START.play(value)
