"""A real browser for the tests of pages; without Debian's chromium they are skipped."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

CHROMIUM = Path("/usr/bin/chromium")


@pytest.fixture(scope="module")
def browser() -> Iterator:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM}")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture
def opened(browser):
    """`opened(path)`: the open page; at the end, it must have loaded nothing but itself and reported nothing."""

    @contextmanager
    def opened(report: Path, *, width: int = 1280, scheme: str = "light") -> Iterator:
        page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        said, loaded = [], []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: loaded.append(request.url))
        page.goto(report.as_uri())
        yield page
        assert not said
        assert set(loaded) == {report.as_uri()}
        page.close()

    return opened


LOOKS = [(width, scheme) for width in (1280, 390) for scheme in ("light", "dark")]
RUN_AXE = """async (place) => {
    const found = await axe.run(place, { resultTypes: ["violations"] });
    return found.violations.map(({ id, nodes }) => [id, nodes[0].html]);
}"""


@pytest.fixture(scope="session")
def violations():
    """`violations(page)`: what axe-core finds, wide and narrow, light and dark; `place` restricts it to an element."""
    script = pytest.importorskip("axe_playwright_python.sync_playwright").Axe().axe_script

    def violations(page, place: str = "html") -> list:
        for frame in page.frames:
            frame.evaluate(script)
        found = []
        for width, scheme in LOOKS:
            page.set_viewport_size({"width": width, "height": 800})
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            found += [(width, scheme, *each) for each in page.evaluate(RUN_AXE, place)]
        return found

    return violations
