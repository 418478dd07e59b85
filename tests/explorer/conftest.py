"""The whole page, built once by its command, for all tests that open it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture(scope="session")
def page_path(tmp_path_factory) -> Path:
    """The exported page, built in a separate process because runtime type checks would make it slow."""
    path = tmp_path_factory.mktemp("explorer") / "page.html"
    command = [sys.executable, "-m", "regard", "explore", "--jobs", "1", "--export", str(path)]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(SOURCE)}, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return path


@pytest.fixture(scope="module")
def page(browser, page_path):
    """The page in a browser, for calls to its functions."""
    page = browser.new_page(reduced_motion="reduce")
    page.goto(page_path.as_uri())
    yield page
    page.close()


@pytest.fixture
def show():
    """`show(page, "swing?beta=2")` shows the figures of the part in that state, as a link would."""

    def show(page, address: str) -> None:
        part, _, state = address.partition("?")
        page.evaluate("address => { location.hash = address; }", f"{part}?{state}")
        page.wait_for_selector(f"section#{part}:not(.unanswered):visible")

    return show
