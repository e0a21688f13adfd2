"""Takes the pictures of the explorer that the README and the documentation show: `python -m docs.screenshots`.

It serves the default warehouse and takes screenshots with Debian's chromium (needs Playwright from the development
packages).
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
PICTURES = {  # name: (address, height in pixels, whether the screen is dark)
    "explorer_position": ("/position/4HPwATDgc/ABMA?roll=31", 860, False),
    "explorer_table": ("/table/bearoff_match/6x6-away-3-5-cube-1-diverse-19-1ply-25-index-0-8", 860, False),
    "explorer_match_equity": ("/match-equity", 860, True),
}
WIDTH = 1180


def main() -> None:
    """Take every screenshot. Raises FileNotFoundError without chromium."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise FileNotFoundError("expected chromium on the PATH, found none; try: apt-get install chromium")
    command = [sys.executable, "-m", "bgdata", "serve", "--port", "0", *sys.argv[1:]]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT) as server, sync_playwright() as started:
        assert server.stderr
        host = "http://" + server.stderr.readline().partition("http://")[2].partition("/")[0]
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, (where, height, is_dark) in PICTURES.items():
            size = {"width": WIDTH, "height": height}
            page = browser.new_page(viewport=size, color_scheme="dark" if is_dark else "light")
            page.goto(host + where)
            page.screenshot(path=IMAGES / f"{name}.png")
        browser.close()
        server.send_signal(signal.SIGINT)


if __name__ == "__main__":
    main()
