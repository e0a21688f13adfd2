"""What players do on the site in Debian's chromium, each by mouse, by touch and by keyboard alone; and how pages help:
suggestions of the search, the way back, and the first column of wide tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.command_line import POSITION, position_id
from tests.web.test_browser import CHROMIUM, PAGES, START, Opener, wait_for_address
from tests.web.test_browser import browser as browser
from tests.web.test_browser import host as host
from tests.web.test_browser import opened as opened

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="needs chromium on the machine")]
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
MOST_TABS = 600  # stops of the keyboard on a page


class Hand:
    """Who uses a page: by mouse, by touch, or by keyboard alone."""

    def __init__(self, page: Page, way: str) -> None:
        self.page, self.way = page, way

    def reach(self, place: Locator) -> None:
        """Press Tab until a place has the focus."""
        for _ in range(MOST_TABS):
            if place.evaluate("each => each === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"expected {place} to be reached by Tab")

    def press(self, place: Locator) -> None:
        """Follow a link, or press a button."""
        if self.way == "mouse":
            place.click()
        elif self.way == "touch":
            place.tap()
        else:
            self.reach(place)
            self.page.keyboard.press("Enter")

    def write(self, place: Locator, text: str) -> None:
        """Replace the text of a field."""
        if self.way == "keyboard":
            self.reach(place)
            self.page.keyboard.press("Control+A")
        else:
            self.press(place)
            place.fill("")
        self.page.keyboard.type(text)

    def choose(self, place: Locator, option: str) -> None:
        """Choose an option of a list."""
        if self.way == "keyboard":
            self.reach(place)
            self.page.keyboard.type(option)
        else:
            place.select_option(option)


@pytest.fixture(params=["mouse", "touch", "keyboard"])
def hand(request: pytest.FixtureRequest, opened: Opener) -> Hand:
    """A hand at the home page."""
    return Hand(opened("/", **(PHONE if request.param == "touch" else {})), request.param)


def follow(hand: Hand, name: str) -> None:
    """Follow a link of the menu."""
    hand.press(hand.page.get_by_role("navigation").get_by_role("link", name=name, exact=True))


def test_position_is_set_up_from_nothing(hand: Hand, host: str) -> None:
    follow(hand, "Position")
    hand.press(hand.page.get_by_text("Set up a position"))
    hand.press(hand.page.get_by_role("button", name="Clear"))
    wait_for_address(hand.page, f"{host}/position/AAAAAAAAAAAAAA")
    hand.write(hand.page.locator("input[name=p22]"), "-1")
    hand.write(hand.page.locator("input[name=p3]"), "2")
    hand.page.keyboard.press("Enter")
    wait_for_address(hand.page, f"{host}/position/{position_id([0, 0, 1], [0, 0, 2])}")
    hand.page.locator("h1", has_text="Before the roll").wait_for()


def test_best_play_of_a_roll_is_found(hand: Hand) -> None:
    follow(hand, "Position")
    hand.write(hand.page.locator("#editor input[name=roll]"), "31")
    hand.press(hand.page.locator("#editor button", has_text="Show").first)
    hand.page.locator("h1", has_text="31 to play: ").wait_for()
    best = hand.page.locator("h1").inner_text().removeprefix("31 to play: ")
    assert hand.page.locator(".plays tbody th").first.inner_text() == best


def test_cube_at_a_score_is_found(hand: Hand) -> None:
    hand.page.goto(f"/position/{START}?met=published-12")
    hand.choose(hand.page.locator("select[name=own]"), "5")
    hand.page.wait_for_url("**away=5-5**")
    hand.choose(hand.page.locator("select[name=theirs]"), "3")
    hand.page.wait_for_url("**away=5-3**")
    hand.page.locator("h1", has_text="Before the roll: ").wait_for()
    hand.page.get_by_text("In percent of match winning chances (mwc), by").wait_for()


def test_reply_in_the_book_is_found(hand: Hand, host: str) -> None:
    follow(hand, "Openings")
    hand.choose(hand.page.locator("select[name=objective]"), "double-match-point")
    hand.press(hand.page.locator("main form button", has_text="Show"))
    hand.page.wait_for_url("**objective=double-match-point**")
    hand.press(hand.page.get_by_role("link", name="replies", exact=True).first)
    hand.page.locator("h1", has_text="Replies to ").wait_for()
    reply = hand.page.locator("tbody tr").first
    roll = reply.locator("xpath=th/preceding-sibling::td[1]").inner_text()
    hand.press(reply.locator("th a"))
    hand.page.wait_for_url(lambda url: url.startswith(f"{host}/position/") and url.endswith(f"?roll={roll}"))


def test_worst_error_of_a_player_is_found(hand: Hand, host: str) -> None:
    follow(hand, "Matches")
    hand.press(hand.page.locator("tbody th a").first)
    hand.page.locator("h1", has_text="Decisions of ").wait_for()
    hand.press(hand.page.get_by_role("link", name="last week").first)
    hand.page.locator("[aria-current]", has_text="last week").first.wait_for()
    hand.press(hand.page.get_by_role("link", name="all matches").last)
    hand.page.locator("[aria-current]", has_text="all matches").first.wait_for()
    hand.press(hand.page.get_by_role("link", name="worst errors"))
    hand.page.wait_for_url("**#worst")
    losses = [float(text.split(" loses ")[1].split()[0]) for text in hand.page.locator(".errors h3").all_inner_texts()]
    assert losses == sorted(losses, reverse=True) != []
    hand.press(hand.page.locator(".errors h3 a").first)
    hand.page.wait_for_url(f"{host}/position/**")


def test_search_suggests_pages_by_keyboard(opened: Opener, host: str) -> None:
    """Arrows choose one of the pages, Escape closes the list and keeps the text, Enter opens the page."""
    page = opened("/")
    box, places = page.get_by_role("combobox"), page.get_by_role("option")
    box.focus()
    page.keyboard.type("opening")
    places.first.wait_for()
    found = page.request.get("/search.json?q=opening").json()
    assert places.count() == min(10, len(found))
    assert [text.removeprefix(row["kind"]) for text, row in zip(places.all_text_contents(), found, strict=False)] == [
        row["name"] for row in found[:10]
    ]
    chosen = page.locator("[role=option][aria-selected=true]")
    assert chosen.count() == 0
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert box.get_attribute("aria-activedescendant") == chosen.get_attribute("id") == "place-1"
    page.keyboard.press("Escape")
    assert (places.first.is_hidden(), box.input_value(), box.get_attribute("aria-expanded")) == (
        True,
        "opening",
        "false",
    )
    page.keyboard.press("ArrowDown")
    places.first.wait_for()
    page.keyboard.press("ArrowUp")
    assert chosen.get_attribute("id") == f"place-{places.count() - 1}"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url(host + found[0]["address"])


def test_suggestion_is_opened_by_tap_and_text_by_enter(opened: Opener, host: str) -> None:
    page = opened("/", **PHONE)
    page.get_by_role("combobox").tap()
    page.keyboard.type("clai")
    page.get_by_role("option").first.tap()
    page.wait_for_url(f"{host}/claims*")
    page.get_by_role("combobox").tap()
    page.keyboard.type("31")
    page.get_by_role("option").first.wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url(f"{host}/search?q=31")
    page.get_by_role("combobox").fill("no such thing")
    page.wait_for_function("() => document.getElementById('places').hidden")


def test_back_returns_to_the_row_that_was_left(opened: Opener, host: str) -> None:
    """The page of a position is where it was, and the play that was followed has the focus."""
    page = opened(f"/position/{START}?roll=31&plays=60", viewport={"width": 390, "height": 600})
    play = page.locator(".plays tbody a").nth(12)
    name = play.inner_text()
    play.click(trial=True)  # scrolls
    before = page.evaluate("scrollY")
    assert before > 300
    play.click()
    page.locator("h1", has_text="Before the roll").wait_for()
    assert page.evaluate("scrollY") == 0
    page.go_back()
    page.wait_for_url(f"{host}/position/{START}?roll=31&plays=60")
    page.wait_for_function("name => document.activeElement.textContent === name", arg=name)
    assert abs(page.evaluate("scrollY") - before) < 3


def test_rollout_page_leads_to_the_editor(opened: Opener) -> None:
    page = opened(f"/choices/{POSITION}?roll=21")
    page.get_by_role("link", name="the position").click()
    page.get_by_text("Set up a position").click()
    page.locator("#board.edited").wait_for()


def test_back_returns_to_the_place_in_a_grid(opened: Opener, host: str) -> None:
    page = opened("/positions?source=games", viewport={"width": 390, "height": 600})
    link = page.locator(".grid > li > a").nth(10)
    link.click(trial=True)  # scrolls
    before = page.evaluate("scrollY")
    assert before > 300
    link.click()
    page.wait_for_url(f"{host}/position/**")
    page.go_back()
    page.wait_for_url(f"{host}/positions?source=games")
    page.wait_for_function("before => Math.abs(scrollY - before) < 3", arg=before)


@pytest.mark.parametrize(
    "where", ["/matches", "/openings?objective=double-match-point", "/game/selfplay/pubeval-20-seed-3/3", "/players",
              "/rows/selfplay/pubeval-20-seed-3/turns"],
)  # fmt: skip
def test_name_of_a_row_stays_in_view_on_a_phone(opened: Opener, where: str) -> None:
    """Where a table is wider than the screen, what names its rows stays at the left edge."""
    page = opened(where, **PHONE)
    seen = page.evaluate("""() => [...document.querySelectorAll(".wide")].map(region => {
        region.scrollLeft = 1e6;
        const cell = region.querySelector("tbody th[scope=row]") ?? region.querySelector("tbody tr > :first-child");
        const box = cell.getBoundingClientRect(), outer = region.getBoundingClientRect();
        return [region.scrollLeft > 60, box.left - outer.left, box.width, outer.width];
    })""")
    assert any(is_wide for is_wide, *_ in seen), where
    for is_wide, left, width, most in seen:
        assert not is_wide or (abs(left) < 2 and width < 0.6 * most), (where, left, width)


def test_titles_tell_pages_apart(opened: Opener) -> None:
    page = opened("/")
    titles = dict[str, str]()
    for where in PAGES:
        if "setup=1" in where:  # the editor of another page
            continue
        if page.request.get(where, headers={"accept": "text/html"}).ok:
            page.goto(where)
            titles[where] = page.title()
    assert len(set(titles.values())) == len(titles), sorted(titles.values())
    assert all(title.endswith("bgdata") for title in titles.values())
