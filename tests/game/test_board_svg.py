"""SVG boards are well-formed, self-contained, reproducible, and show the right number of checkers."""

from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgdata.errors import IllegalPlayError, UsageError
from bgdata.game.board import BAR, OPPONENT_BAR
from bgdata.game.board_svg import HEIGHT, WIDTH, format_board_svg
from bgdata.game.dice import ROLLS, Roll
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.plays import checker_paths, parse_play
from bgdata.game.position import START, Position
from tests.game.match_strategies import states_without_offer
from tests.game.strategies import positions

SVG = "{http://www.w3.org/2000/svg}"
ELEMENTS = {"svg", "title", "desc", "rect", "path", "g", "text", "circle"}
CROWDED = Position([2, 0, -1, 2, 2, -2, 10, 0, 0, 0, 0, 0, -6, 0, 0, 0, 0, -2, 0, 0, 0, 0, 0, 0, 0, 1])


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def expected_circles(position: Position) -> int:
    return sum(min(abs(count), 5) for count in position.board)


@given(positions, st.none() | st.sampled_from(ROLLS), st.none() | states_without_offer(), st.integers(1, 2000))
def test_picture_is_well_formed(position: Position, roll: Roll | None, match: object, width: int) -> None:
    stakes = getattr(match, "stakes", None)
    svg = format_board_svg(position, roll=roll, stakes=stakes, width=width)
    assert svg == format_board_svg(position, roll=roll, stakes=stakes, width=width)
    root = ElementTree.fromstring(svg)
    assert root.get("viewBox") == f"0 0 {WIDTH} {HEIGHT}"
    assert (root.get("width"), root.get("height")) == (str(width), str(round(width * HEIGHT / WIDTH)))
    elements = list(root.iter())
    assert {element.tag.removeprefix(SVG) for element in elements} <= ELEMENTS
    assert not any("style" in element.attrib or "href" in element.attrib for element in elements)
    spots = roll.high + roll.low if roll else 0
    assert len([element for element in elements if element.tag == f"{SVG}circle"]) == expected_circles(position) + spots


@given(positions)
def test_elements_lie_within_the_picture(position: Position) -> None:
    for element in ElementTree.fromstring(format_board_svg(position)).iter():
        x, y = int(element.get("cx", element.get("x", "0"))), int(element.get("cy", element.get("y", "0")))
        assert 0 <= x < WIDTH
        assert 0 <= y < HEIGHT


def test_tall_stacks_have_a_number() -> None:
    assert [text for text in texts(format_board_svg(CROWDED)) if text in ("6", "10")] == [
        "6",
        "10",
        "10",
        "6",
    ]  # the other 6 and 10 are point numbers
    assert "2 off" in texts(format_board_svg(CROWDED))


def test_checkers_are_on_the_home_board_of_their_side() -> None:
    """Light checkers on point 1 and dark ones on point 24 are at the right, below and above; checkers on the bar are in
    the other half."""
    board = [0] * 26
    board[1], board[BAR], board[OPPONENT_BAR], board[24] = 1, 1, 1, -1
    colors, sides = [], []
    for group in ElementTree.fromstring(format_board_svg(Position(board))).iter(f"{SVG}g"):
        for circle in group.iter(f"{SVG}circle"):
            colors.append(group.get("fill"))
            is_right = int(circle.get("cx", "")) > WIDTH // 2 + 20
            is_below = int(circle.get("cy", "")) > HEIGHT // 2
            sides.append(("right" if is_right else "bar", "below" if is_below else "above"))
    light, dark = colors[:2]
    assert light != dark
    assert colors == [light, dark, light, dark]
    assert sides == [("right", "below"), ("right", "above"), ("bar", "above"), ("bar", "below")]


def test_title_and_description_name_the_position() -> None:
    stakes = Stakes(MatchScore(3, 5), Cube(4, CubeOwner.ON_ROLL))
    root = ElementTree.fromstring(format_board_svg(START, roll=Roll(6, 5), stakes=stakes))
    title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None
    assert description is not None
    assert title.text == "Backgammon position 4HPwATDgc/ABMA, 65 to play"
    assert description.text == (
        "On roll: 2 on point 24, 5 on point 13, 3 on point 8, 5 on point 6; 167 pips. "
        "Opponent: 2 on point 24, 5 on point 13, 3 on point 8, 5 on point 6; 167 pips. "
        "Score: on roll 3-away, opponent 5-away. Kind of game: match. Cube: 4, owned by the player on roll."
    )
    assert root.get("role") == "img"
    assert root.get("aria-labelledby", "").split() == [title.get("id"), description.get("id")]


def test_cube_and_captions_follow_the_stakes() -> None:
    assert texts(format_board_svg(START))[-2:] == ["opponent, 167 pips", "on roll, 167 pips"]
    money = texts(format_board_svg(START, stakes=Stakes(Money(is_jacoby=True), Cube(64))))
    assert money[-4:] == ["64", "opponent, 167 pips", "money with jacoby rule", "on roll, 167 pips"]
    crawford = texts(format_board_svg(START, stakes=Stakes(MatchScore(1, 3, is_crawford=True))))
    assert crawford[-3:] == ["opponent, 3-away, 167 pips", "crawford game", "on roll, 1-away, 167 pips"]
    assert crawford[:-3] == texts(format_board_svg(START))[:-2]  # no cube in the Crawford game


def test_width_of_zero_is_refused() -> None:
    with pytest.raises(UsageError, match="expected a width of at least 1 pixel, got 0"):
        format_board_svg(START, width=0)


def test_finished_game_shows_checkers_off() -> None:
    svg = format_board_svg(Position((0, *[0] * 25)))
    assert "no checker on the board; 0 pips, 15 off" in svg
    assert texts(svg).count("15 off") == 2


def points_of(path: ElementTree.Element) -> list[tuple[int, int]]:
    """The corners of a path of straight lines."""
    corners = path.get("d", "").strip("Mz").split("L")
    return [(int(x), int(y)) for x, y in (corner.split() for corner in corners)]


def arrows(svg: str) -> list[list[tuple[int, int]]]:
    """The points of each arrow from start to tip, without the white outline."""
    groups = [list(group) for group in ElementTree.fromstring(svg).iter(f"{SVG}g")]
    arrow_groups = [group for group in groups if group and group[0].get("stroke-width") == "5"]
    return [[*points_of(line)[:-1], points_of(head)[0]] for line, head in arrow_groups]


@given(positions, st.sampled_from(ROLLS), st.integers(0))
def test_each_moved_checker_has_an_arrow(position: Position, roll: Roll, number: int) -> None:
    plays = position.legal_plays(roll)
    play = plays[number % len(plays)]
    svg = position.svg(play, roll)
    assert svg == format_board_svg(position, roll=roll, play=play)
    assert len(arrows(svg)) == len(checker_paths(play))
    for x, y in (place for arrow in arrows(svg) for place in arrow):
        assert 0 <= x < WIDTH
        assert 0 <= y < HEIGHT
    assert {element.tag.removeprefix(SVG) for element in ElementTree.fromstring(svg).iter()} <= ELEMENTS
    assert f"Play: {play}." in svg


def test_arrow_goes_from_checker_to_checker() -> None:
    """Each arrow begins at a checker that leaves and ends at one that arrives, with a corner between two steps."""

    def circles(position: Position) -> set[tuple[int, int]]:
        elements = ElementTree.fromstring(position.svg()).iter(f"{SVG}circle")
        return {(int(circle.get("cx", "")), int(circle.get("cy", ""))) for circle in elements}

    for text, corners in (("13/8 24/23", 0), ("24/14", 1), ("24/22(2) 6/4(2)", 0)):
        play = parse_play(text, START)
        leaving = circles(START) - circles(play.after_play)
        arriving = circles(play.after_play) - circles(START)
        for start, *between, end in arrows(START.svg(play)):
            assert start in leaving
            assert end in arriving
            assert len(between) == corners
    blot_to_hit = Position([0, 0, 0, 0, 0, -1, 0, 0, 1, *[0] * 17])
    assert set(arrows(blot_to_hit.svg("8/5*", "21"))[0]) >= circles(blot_to_hit)


def test_turned_board_is_that_of_the_opponent() -> None:
    stakes = Stakes(MatchScore(3, 5), Cube(2, CubeOwner.ON_ROLL))
    turned = format_board_svg(CROWDED, stakes=stakes, names=("Ann", "Bob"), is_turned=True)
    of_opponent = format_board_svg(CROWDED.flip(), stakes=stakes.flip(), names=("Bob", "Ann"))

    def drawing(svg: str) -> list[tuple[str, dict[str, str], str | None]]:
        _, *elements = ElementTree.fromstring(svg).iter()
        elements = [element for element in elements if element.tag not in (f"{SVG}title", f"{SVG}desc")]
        return [(element.tag, dict(element.attrib), element.text) for element in elements]

    assert drawing(turned) == drawing(of_opponent)


def test_arrows_of_a_turned_board_are_mirrored() -> None:
    play = parse_play("13/8 24/23", START)
    turned = arrows(format_board_svg(START, play=play, is_turned=True))
    mirrored = [[(x, HEIGHT - y) for x, y in arrow] for arrow in turned]
    np.testing.assert_allclose(mirrored, arrows(START.svg(play)), atol=1)  # heads are rounded to whole pixels


def test_names_of_players_are_escaped() -> None:
    svg = format_board_svg(START, names=("<script>", "a & b"))
    assert "<script>" not in svg
    assert {"<script>, 167 pips", "a & b, 167 pips"} <= set(texts(svg))


def test_dice_are_on_the_side_of_their_player() -> None:
    for is_turned in (False, True):
        svg = format_board_svg(START, roll=Roll(3, 1), is_turned=is_turned)
        first, second = (rect for rect in ElementTree.fromstring(svg).iter(f"{SVG}rect") if rect.get("rx") == "7")
        for die in (first, second):
            assert (int(die.get("x", "")) < WIDTH / 2) == is_turned


def test_position_has_svg_for_notebooks() -> None:
    assert START._repr_svg_() == START.svg() == format_board_svg(START)
    assert "31 to play" in START.svg(roll="31")
    with pytest.raises(IllegalPlayError, match="expected a legal play"):
        START.svg("6/1", "31")
