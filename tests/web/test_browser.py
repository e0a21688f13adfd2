"""Tests of the site in Debian's chromium: by pointer, by keyboard, on a phone, in dark mode, and without JavaScript."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest

import bgdata
from bgdata.game.position import Position
from bgdata.web.app import create_app
from bgdata.web.site import Limits
from tests.command_line import POSITION, position_id
from tests.web.reading import serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, Route

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="needs chromium on the machine")]

PATIENCE = 240_000  # milliseconds to wait for what a page should show: kernels may be compiled first
START = "4HPwATDgc/ABMA"
PAGES = (
    "/", "/table", "/table/bearoff_two_sided", "/table/bearoff_two_sided/3x3", "/table/selfplay_labels", "/claims",
    "/rows/bearoff_two_sided/3x3/bearoff_two_sided?column=cubeless&filter=cubeless > 0&sort=-owned",
    "/rows/selfplay/pubeval-20-seed-3/turns?column=class", "/rows/selfplay/pubeval-20-seed-3/turns?filter=x",
    f"/position/{START}", f"/position/{START}?roll=31&away=2-4&met=published-12", f"/position/{POSITION}",
    f"/where/{START}", f"/probe/{POSITION}", f"/cube-map/{START}?met=published-12&length=4", f"/rollout/{POSITION}",
    f"/choices/{POSITION}?roll=21", f"/choices/{POSITION}",
    "/match-equity", "/match-equity?met=published-12&away=3-5", "/match-equity?met=published-12&show=take",
    "/openings?objective=double-match-point",
    "/openings/train?objective=double-match-point", "/players", "/game", "/matches",
    "/positions", f"/positions?like={START}",
    "/race", "/race?by=equal", f"/position/{START}?setup=1",
    "/sql?q=select position_id, equity from opening_book limit 3", "/sql?q=select&chart=bar&name=Names",
    "/sql?chart=bar&q=select class, count(*) from turns group by all",
    "/sql?chart=scatter&q=select game, turn from turns",
    "/sql?chart=heat&q=select die1, die2, count(*) - 3 from turns group by all", "/game/selfplay/pubeval-20-seed-3",
    "/game/selfplay/pubeval-20-seed-3/3?turn=4", "/game/matches/sample", "/game/matches/sample/0",
    "/matches?player=left", "/matches?player=left&since=9999-01-01",
    "/quiz", "/quiz?player=left", "/quiz?from=openings&number=23&answered=2&right=1",
    "/openings?objective=double-match-point&roll=21", f"/cube-map/{START}?met=published-12&show=gain",
    "/search?q=bear", f"/position/{START}?roll=31&play=6/1", "/position/nonsense", "/position/AAAAAAAAAAAAAA",
    "/nowhere",
)  # fmt: skip


@pytest.fixture(scope="module")
def host(site_root: Path) -> Iterator[str]:
    """Address of a server with the smallest variant of every kind."""
    app = create_app(bgdata.open_warehouse(site_root), Limits(stream_trials=360))
    with serving(app) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser shared by all tests of this module."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        new_context = found.new_context

        def patient_context(**options: Any) -> BrowserContext:
            context = new_context(**options)
            context.set_default_timeout(PATIENCE)
            return context

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(found, "new_context", patient_context)
            yield found
        found.close()


Opener: TypeAlias = "Callable[..., Page]"


@pytest.fixture
def opened(browser: Browser, host: str) -> Iterator[Opener]:
    """A function that opens a page in a new window; console messages fail the test."""
    messages: list[str] = []
    contexts: list[BrowserContext] = []

    def open_page(where: str, **options: Any) -> Page:
        contexts.append(browser.new_context(base_url=host, **options))
        page = contexts[-1].new_page()
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.goto(where)
        return page

    yield open_page
    for context in contexts:
        context.close()
    expected = "Failed to load resource: the server responded with a status of 40"
    assert [text for text in messages if expected not in text] == []


def place_of(page: Page, x: int, y: int) -> tuple[float, float]:
    """Screen coordinates of a point of the board's picture."""
    box = page.locator("#board svg").bounding_box()
    assert box
    return box["x"] + x * box["width"] / 660, box["y"] + y * box["height"] / 548


PLACES = {  # places in the board's picture
    "24": (576, 80), "23": (536, 80), "1": (576, 470), "2": (536, 470), "6": (376, 470), "bar": (332, 230),
    "own off": (628, 450), "own cube": (34, 470), "die": (450, 274), "own score": (300, 540),
    "6 of the opponent": (376, 80),
}  # fmt: skip


def drag_checker(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Move a checker with the mouse, between screen coordinates."""
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=4)
    page.mouse.up()


def test_dragging_a_checker_changes_the_address(opened: Opener, host: str) -> None:
    page = opened(f"/position/{START}")
    page.get_by_text("Set up a position").click()
    page.locator("#board").scroll_into_view_if_needed()
    drag_checker(page, place_of(page, *PLACES["24"]), place_of(page, *PLACES["23"]))
    board = list(Position(START).board)
    board[24], board[23] = board[24] - 1, board[23] + 1
    page.wait_for_url(f"{host}/position/{Position(board).id}*")
    assert "Before the roll" in page.locator("h1").inner_text()
    page.get_by_role("button", name="Take back").click()
    wait_for_address(page, f"{host}/position/{START}")
    page.get_by_role("button", name="Take back").wait_for(state="hidden")


def test_checker_dropped_beside_the_board_stays(opened: Opener, host: str) -> None:
    page = opened(f"/position/{START}")
    page.get_by_text("Set up a position").click()
    beside_the_board = (700, 300)
    drag_checker(page, place_of(page, *PLACES["6"]), beside_the_board)
    drag_checker(page, place_of(page, *PLACES["6"]), place_of(page, *PLACES["24"]))  # the only move that counts
    board = list(Position(START).board)
    board[6], board[24] = board[6] - 1, board[24] + 1
    wait_for_address(page, f"{host}/position/{Position(board).id}")


def wait_for_address(page: Page, address: str) -> None:
    """Wait until the page is at this address, with any query and fragment."""
    page.wait_for_url(lambda url: url.partition("?")[0].partition("#")[0] == address)


def tap_places(page: Page, host: str, *places: str) -> tuple[Position, dict[str, str]]:
    """Tap places of the board, and return the position and query of the new address."""
    before = page.url
    for place in places:
        page.touchscreen.tap(*place_of(page, *PLACES[place]))
    page.wait_for_function("before => location.href != before", arg=before)
    page.locator("#board").scroll_into_view_if_needed()
    parts = urlsplit(page.url.removeprefix(host))
    return Position(unquote(parts.path).removeprefix("/position/")), dict(parse_qsl(parts.query))


def test_board_is_set_up_by_taps(opened: Opener, host: str) -> None:
    """On a phone, taps move, bear off, take back and hit, and set cube, dice and score."""
    page = opened(
        f"/position/{START}?met=published-12", viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True
    )
    page.get_by_text("Set up a position").click()
    page.evaluate("scrollTo(0, 0)")
    board = list(Position(START).board)

    def moves(start: int | None, end: int | None, *places: str) -> None:
        side = -1 if start is not None and board[start] < 0 else 1
        if start is not None:
            board[start] -= side
        if end is not None:
            board[end] += side
        assert tap_places(page, host, *places)[0] == Position(board), places

    moves(24, None, "24", "own off")
    moves(None, 25, "own off", "bar")
    moves(1, 2, "1", "2")
    board[1], board[0] = 0, 1  # hit
    moves(6, 1, "6", "1")
    here = page.url
    for place in ("bar", "bar", "own off", "2"):  # picked up and put back; nothing is off
        page.touchscreen.tap(*place_of(page, *PLACES[place]))
    page.touchscreen.tap(*place_of(page, *PLACES["6"]))  # a point of the other side: no change
    page.locator("h1").tap()
    assert (page.url, page.locator(".held").count()) == (here, 0)
    assert tap_places(page, host, "own cube")[1] == {
        "cube": "2", "owner": "on_roll", "met": "published-12", "setup": "1",
    }  # fmt: skip
    assert tap_places(page, host, "own cube")[1]["cube"] == "4"
    assert tap_places(page, host, "die")[1]["roll"] == "11"
    page.touchscreen.tap(*place_of(page, *PLACES["own score"]))
    assert page.evaluate("document.activeElement.name") == "own"
    page.locator("select[name=own]").select_option("3")
    page.wait_for_url("**away=3-3**")
    page.get_by_role("button", name="Take back").click()
    page.wait_for_url("**roll=11&cube=4&owner=on_roll**")


def test_copying_a_notation_is_confirmed(opened: Opener) -> None:
    page = opened(f"/position/{START}", permissions=["clipboard-read", "clipboard-write"])
    page.locator(".names code", has_text=START).first.click()
    page.locator(".copied", has_text="copied").wait_for()
    assert START in page.evaluate("navigator.clipboard.readText()")


def test_sql_names_are_completed(opened: Opener) -> None:
    page = opened("/sql")
    box = page.locator("textarea")
    box.press_sequentially("from bearoff_two")
    box.press("Control+Space")
    assert box.input_value() == "from bearoff_two_sided"
    page.get_by_text("versions", exact=True).first.click()
    page.locator("#names details[open] p code").first.click()
    assert box.input_value() == "from bearoff_two_sidedversions "
    box.press("Tab")
    assert page.evaluate("document.activeElement.tagName") != "TEXTAREA"


def test_rollout_continues_to_its_last_game(opened: Opener) -> None:
    page = opened(f"/rollout/{POSITION}")
    page.wait_for_function("() => document.querySelector('[data-count]').textContent == '360'")


def test_rollout_of_plays_is_stopped_and_kept(opened: Opener) -> None:
    """A click begins it, another stops it. It is still there after a reload, and continues unless it was stopped."""
    page = opened(f"/position/{POSITION}?roll=31&cube=1")
    assert page.locator(".plays .rolled").first.is_hidden()
    page.get_by_role("button", name="Roll out", exact=True).click()
    is_rolled = "() => document.querySelector('.plays [data-value]').textContent.includes('±')"
    page.wait_for_function(is_rolled)
    page.get_by_role("button", name="Stop").or_(page.get_by_role("button", name="Go on rolling out")).click()
    kept = page.locator(".plays [data-value]").first
    assert "±" in kept.inner_text()
    page.reload()
    assert "±" in kept.inner_text()
    page.locator("[data-rollout]").get_by_text("games each").wait_for()  # it may go on, if it ended before the click
    page = opened(f"/position/{POSITION}?cube=1")
    page.get_by_role("button", name="Roll out", exact=True).click()
    page.locator(".cubes [data-value]").first.wait_for()
    page.reload()
    wait_for_last_game(page)


def wait_for_last_game(page: Page) -> None:
    """Wait until a rollout has all of its games."""
    is_finished = "() => document.querySelector('[data-rollout]').textContent.includes('360 games each')"
    page.wait_for_function(is_finished)


def test_page_rendered_before_the_last_game_is_brought_up_to_date(opened: Opener) -> None:
    page = opened(f"/position/{POSITION}?cube=2&owner=on_roll")
    page.get_by_role("button", name="Roll out", exact=True).click()
    wait_for_last_game(page)

    def render_earlier(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace("360 games each", "36 games each"))

    page.route("**/position/*", render_earlier)
    page.reload()
    wait_for_last_game(page)


def test_rollout_waits_for_a_busy_server(opened: Opener) -> None:
    """As after a reload, while the server still computes for the page before it. Other refusals are final."""
    page = opened(f"/position/{START}?cube=1")
    refusals = [{"error": "others are at work", "is_busy": True}, {"error": "too long", "is_busy": False}]

    def refuse(route: Route) -> None:
        body = f"event: refused\ndata: {json.dumps(refusals.pop(0))}\n\n"
        route.fulfill(content_type="text/event-stream", body=body)

    page.route("**/choices-stream/**", refuse)
    page.get_by_role("button", name="Roll out", exact=True).click()
    said = page.locator("[data-rollout] [role=status]")
    said.get_by_text("others are at work").wait_for()
    page.get_by_role("button", name="Stop").wait_for()
    said.get_by_text("too long").wait_for()
    page.get_by_role("button", name="Go on rolling out").wait_for()
    assert refusals == []


def test_play_shows_arrows_and_links_to_the_next_position(opened: Opener, host: str) -> None:
    page = opened(f"/position/{START}?roll=31")
    play = page.get_by_role("link", name="8/5 6/5", exact=True)
    before = page.locator("#board").inner_html()
    with page.expect_response("**/board/**"):
        play.hover()
    page.wait_for_function("before => document.getElementById('board').innerHTML != before", arg=before)
    page.mouse.move(1, 1)
    page.wait_for_function("before => document.getElementById('board').innerHTML == before", arg=before)
    play.click()
    after = next(each.next_position.id for each in Position(START).legal_plays("31") if str(each) == "8/5 6/5")
    page.wait_for_url(f"{host}/position/{after}*")
    own = page.locator(".headline .figure").first.inner_text()
    found = page.request.get(f"/position/{after}.json").json()["eval"][0]["cubeless_equity"]
    assert float(own.replace("−", "-")) == pytest.approx(found, abs=6e-5)


def test_dragged_checker_follows_the_pointer(opened: Opener) -> None:
    """The checker itself moves; it returns if it is let go where it cannot stand."""
    page = opened(f"/position/{START}?setup=1")
    before = page.locator("#board svg circle").count()
    page.mouse.move(*place_of(page, *PLACES["24"]))
    page.mouse.down()
    page.mouse.move(*place_of(page, 300, 300), steps=3)
    assert page.locator("#board svg circle").count() == before
    box = page.locator(".dragged").bounding_box()
    assert box
    x, y = place_of(page, 300, 300)
    assert (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) == pytest.approx((x, y), abs=2)
    page.mouse.move(*place_of(page, *PLACES["6 of the opponent"]))
    page.mouse.up()
    assert (page.locator(".dragged").count(), page.locator("#board svg circle").count()) == (0, before)
    assert "The other side holds 19." in page.locator(".by-pointer").inner_text()


def test_position_is_set_up_by_keys_alone(opened: Opener, host: str) -> None:
    """The test goes from the editor to a bearoff with a roll and a play."""
    page = opened(f"/position/{START}")
    press = page.keyboard.press
    while page.evaluate("document.activeElement.tagName") != "SUMMARY":
        press("Tab")
    press("Enter")
    press("Tab")
    assert page.evaluate("document.activeElement.value") == "clear"
    press("Enter")
    wait_for_address(page, f"{host}/position/AAAAAAAAAAAAAA")
    while page.evaluate("document.activeElement.id") != "board":
        press("Shift+Tab")
    for key in ("-", "-", "ArrowDown", "+", "+", "ArrowLeft", "+"):  # on 24, on 1 and on 2
        press(key)
    expected = position_id([2], [2, 1])
    wait_for_address(page, f"{host}/position/{expected}")
    assert page.evaluate("document.activeElement.id") == "board"
    for key in (" ", "ArrowLeft", " "):  # picked up on 2, put down on 3
        press(key)
    wait_for_address(page, f"{host}/position/{position_id([2], [2, 0, 1])}")
    for key in ("ArrowLeft", "ArrowLeft", "+", "+"):
        press(key)
    wait_for_address(page, f"{host}/position/{position_id([2], [2, 0, 1, 0, 2])}")
    press("2")
    press("1")
    page.wait_for_url("**roll=21**")
    assert page.locator("h1").inner_text().startswith("21 to play: ")
    while page.evaluate("!document.activeElement.closest('.plays a')"):
        press("Tab")
    press("ArrowDown")
    name = page.evaluate("document.activeElement.textContent")
    assert name == page.locator(".plays a").nth(1).inner_text()
    page.wait_for_function("n => document.querySelector('#board desc').textContent.endsWith(`Play: ${n}.`)", arg=name)
    press("Enter")
    page.wait_for_function("() => document.querySelector('h1').textContent.startsWith('Before the roll')")


def test_numbers_typed_in_fields_count_after_enter(opened: Opener, host: str) -> None:
    page = opened(f"/position/{START}?setup=1")
    page.locator("input[name=p24]").fill("1")
    page.locator("input[name=p23]").fill("1")
    page.keyboard.press("Enter")
    board = list(Position(START).board)
    board[24], board[23] = 1, 1
    wait_for_address(page, f"{host}/position/{Position(board).id}")
    assert page.evaluate("document.activeElement.name") == "p23"
    page.locator("main input[name=q]").fill("nonsense")
    page.keyboard.press("Enter")
    page.get_by_text("expected one of position id").wait_for()
    assert page.locator("main input[name=q]").input_value() == "nonsense"


def test_score_counts_at_once(opened: Opener) -> None:
    """By pointer and by keyboard; money is for both sides, and the focus stays."""
    page = opened(f"/position/{START}?setup=1&met=published-12")
    assert not page.locator("noscript button").is_visible()
    page.locator("select[name=own]").select_option("2")
    page.wait_for_url("**away=2-2**")
    page.locator("select[name=theirs]").focus()
    page.keyboard.press("ArrowUp")
    page.wait_for_url("**away=2-1**")
    page.wait_for_function("() => document.activeElement.name === 'theirs'")
    page.locator("input[name=crawford]").check()
    page.wait_for_url("**away=2-1&crawford=1**")
    page.locator("select[name=theirs]").select_option("")
    page.wait_for_function("() => !location.search.includes('away')")
    page.locator("select[name=cube]").select_option("4")
    page.wait_for_url("**cube=4**")
    page.locator("select[name=owner]").select_option("centered")
    page.wait_for_function("() => !location.search.includes('cube=4')")
    page.locator("h1", has_text="Before the roll: no double").wait_for()


def test_score_has_a_button_without_javascript(opened: Opener, host: str) -> None:
    page = opened(f"/position/{START}?setup=1", java_script_enabled=False)
    page.locator("select[name=own]").select_option("3")
    page.locator(".at-once button").click()
    page.wait_for_url(f"{host}/position/{START}?away=3-3**")


@pytest.mark.parametrize("away", ["", "&away=3-5"])
def test_rolled_out_losses_are_in_view(opened: Opener, away: str) -> None:
    """At 1280 pixels they are within the column, once there are standard errors."""
    page = opened(f"/position/{START}?roll=31&met=published-12{away}", viewport={"width": 1280, "height": 800})
    page.get_by_role("button", name="Roll out").click()
    page.locator("[data-lost]", has_text="±").first.wait_for()
    cell, column = page.locator("[data-lost]").first.bounding_box(), page.locator(".wide", has=page.locator(".plays"))
    within = column.bounding_box()
    assert cell
    assert within
    assert cell["x"] + cell["width"] <= within["x"] + within["width"]
    assert column.evaluate("each => each.scrollWidth - each.clientWidth") == 0


def test_pictures_of_boards_follow_the_dark(opened: Opener) -> None:
    """A picture has the color of the page around its board."""
    page = opened("/positions", color_scheme="dark")
    page.locator(".grid img").first.scroll_into_view_if_needed()
    page.wait_for_function("() => document.querySelector('.grid img').complete")
    color = page.evaluate("""() => {
        const image = document.querySelector(".grid img"), canvas = document.createElement("canvas");
        canvas.width = 66, canvas.height = 54;
        const context = canvas.getContext("2d");
        context.drawImage(image, 0, 0, 66, 54);
        return [...context.getImageData(33, 0, 1, 1).data].slice(0, 3);
    }""")
    assert color == [25, 22, 19]


@pytest.mark.parametrize("size", [(1280, 720), (390, 844)])
def test_board_stays_in_view_beside_its_plays(opened: Opener, size: tuple[int, int]) -> None:
    page = opened(f"/position/{START}?roll=31&plays=60", viewport={"width": size[0], "height": size[1]})
    page.locator(".plays a").last.hover()
    page.wait_for_function("() => document.querySelector('#board desc').textContent.includes('Play: ')")
    box = page.locator("#board svg").bounding_box()
    assert box
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= size[1]


def test_tapped_play_stays_on_the_board(opened: Opener) -> None:
    page = opened(f"/position/{START}?roll=31", viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page.locator(".plays tbody tr").nth(1).locator("td").nth(1).tap()
    page.wait_for_function("() => document.querySelector('#board desc').textContent.includes('Play: ')")
    assert page.locator(".plays .chosen").count() == 1
    page.locator(".plays tbody tr").nth(1).locator("td").nth(1).tap()
    page.wait_for_function("() => !document.querySelector('#board desc').textContent.includes('Play: ')")


def test_pages_work_without_javascript(opened: Opener, host: str) -> None:
    """The test sets up a position in the form, chooses a roll, and runs SQL."""
    page = opened(f"/position/{START}", java_script_enabled=False)
    page.get_by_text("Set up a position").click()
    page.locator("input[name=p24]").fill("1")
    page.locator("input[name=p23]").fill("1")
    page.locator("input[name=edit]").check()
    page.locator("#editor button", has_text="Show").first.click()
    board = list(Position(START).board)
    board[24], board[23] = 1, 1
    wait_for_address(page, f"{host}/position/{Position(board).id}")
    page.locator("#editor button", has_text="Mirror").click()
    wait_for_address(page, f"{host}/position/{Position(board).flip().id}")
    for expected in (Position(board).id, START):
        page.go_back()
        wait_for_address(page, f"{host}/position/{expected}")
    page.goto(f"/position/{Position(board).id}")
    page.locator(".heat a").first.click()
    page.wait_for_url(f"{host}/position/{Position(board).id}?roll=11")
    page.goto("/sql")
    page.locator("textarea").fill("select 42 as answer")
    page.get_by_role("button", name="Run").click()
    assert page.locator("table.data td").inner_text() == "42"


def test_pages_work_by_keyboard(opened: Opener, host: str) -> None:
    """The keyboard reaches the content, the search box, a play, and the turns of a game."""
    page = opened("/")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{host}/#main")
    while page.evaluate("document.activeElement.name") != "q":
        page.keyboard.press("Tab")
    page.keyboard.type(START)
    page.keyboard.press("Enter")
    page.wait_for_url(f"{host}/position/{START}")
    page.goto(f"/position/{START}?roll=31")
    while page.evaluate("!document.activeElement.closest('.plays')"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('h1').textContent.startsWith('Before the roll')")
    page.goto("/game/selfplay/pubeval-20-seed-3/3")
    page.keyboard.press("ArrowRight")
    page.wait_for_url(f"{host}/game/selfplay/pubeval-20-seed-3/3?turn=1#board")
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(f"{host}/game/selfplay/pubeval-20-seed-3/3#board")


@pytest.mark.parametrize("where", PAGES)
def test_every_page_fits_a_phone(opened: Opener, where: str) -> None:
    """Nothing is wider than the screen, and a board fills its width."""
    page = opened(where, viewport={"width": 320, "height": 640}, has_touch=True, is_mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") == 320
    for board in page.locator(".board svg").all():
        box = board.bounding_box()
        assert box
        assert box["width"] >= 280


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_accessible(opened: Opener, scheme: str) -> None:
    """Pages follow the rules of axe: contrast, names, labels, order of headings."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs the package axe-playwright-python")
    size = {"width": 390, "height": 844} if scheme == "dark" else {"width": 1280, "height": 800}
    page = opened("/", color_scheme=scheme, bypass_csp=True, viewport=size)
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, paper.removeprefix("rgb(").removesuffix(")").split(","))) < 200) == (scheme == "dark")
    for where in PAGES:
        page.goto(where)
        page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
        flaws = axe.Axe().run(page).response["violations"]
        assert [(flaw["id"], flaw["nodes"][0]["html"]) for flaw in flaws] == [], where
