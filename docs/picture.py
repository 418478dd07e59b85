"""Takes the picture of a report that the README shows: python docs/picture.py (needs playwright and chromium)."""

import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from regard.cli import main

PICTURE = Path(__file__).with_name("report.png")
QUIET = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]


def take() -> None:
    """Judge the built-in answers, open the page, and keep its first screen."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        answers, page_file = Path(folder) / "answers.md", Path(folder) / "report.html"
        for arguments in (["verify", "--example", str(answers)], ["verify", str(answers), "--html", str(page_file)]):
            main(arguments)
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=QUIET)
        page = browser.new_page(viewport={"width": 1240, "height": 860})
        page.goto(page_file.as_uri())
        page.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    take()
