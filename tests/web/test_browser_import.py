"""Tests of the page that takes match files in Debian's chromium: by dropping, and without JavaScript."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import bgdata
from bgdata.web.app import create_app
from tests.matches.test_importing import PAGE, TOKEN, match_text
from tests.matches.test_importing import shared_root as shared_root
from tests.web.reading import serving
from tests.web.test_browser import CHROMIUM
from tests.web.test_browser import browser as browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="needs chromium on the machine")]
DROP = """
([name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  document.querySelector("form.drop").dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true }));
}
"""


@pytest.fixture(scope="module")
def taking_host(shared_root: Path) -> Iterator[str]:
    """Address of a server that takes match files."""
    with serving(create_app(bgdata.open_warehouse(shared_root), token=TOKEN)) as port:
        yield f"http://127.0.0.1:{port}"


def follow_to_the_end(page: Page, player: str) -> None:
    """Wait until the page says that the import is done, and has a link to the player's report. An earlier import may be
    done while the files are sent."""
    page.get_by_role("link", name=player).wait_for()
    page.get_by_text("Done.").wait_for()


def test_dropped_file_leads_to_report_and_quiz(browser: Browser, taking_host: str) -> None:
    context = browser.new_context(base_url=taking_host)
    page, messages = context.new_page(), list[str]()
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.goto(PAGE)
    page.evaluate(DROP, ["dropped.mat", match_text("dropper").decode()])
    page.locator("progress").wait_for()
    follow_to_the_end(page, "dropper")
    page.get_by_role("link", name="dropper").click()
    assert "Decisions of dropper" in page.locator("h1").inner_text()
    page.get_by_role("link", name="quiz", exact=True).click()
    page.locator("ul.answers, .none").wait_for()
    context.close()
    assert messages == []


def test_file_is_chosen_without_javascript(browser: Browser, taking_host: str, tmp_path: Path) -> None:
    """The page refreshes itself; on a phone it is as wide as the screen."""
    file = tmp_path / "chosen.mat"
    file.write_bytes(match_text("chooser", "13/9"))
    context = browser.new_context(
        base_url=taking_host, java_script_enabled=False, viewport={"width": 390, "height": 800}
    )
    page = context.new_page()
    page.goto(PAGE)
    page.get_by_label("Match files").set_input_files(file)
    page.get_by_role("button", name="Add and analyse").click()
    follow_to_the_end(page, "chooser")
    context.close()


def test_token_does_not_leave_the_page(browser: Browser, taking_host: str) -> None:
    context = browser.new_context(base_url=taking_host)
    page = context.new_page()
    page.goto(PAGE)
    assert page.locator(f"a[href*={TOKEN}]").count() == 0
    context.close()
