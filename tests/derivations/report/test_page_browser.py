"""The page in a real browser: it loads nothing, reports no error, and opens its cards by keyboard."""

from pathlib import Path

import pytest

from regard.derivations.report.page import render_document

TEXT = (
    "Take $q = k_a + k_b$ and $x = 1$.\n\n$$"
    + "\\alpha_a = " * 12
    + "\\beta$$\n\n能 holds $y = 2$, <b onclick=x()>raw</b>.\n"
)
# A browser keeps what a page stores in its own time: on a busy machine, not always before the page is loaded again.
RELOADS = 20
STEPS = {"refuted": ["q = k_a + k_b"], "holds": ["x = 1", "y = 2"], "undecided": ["能"]}


@pytest.fixture
def report(judged, tmp_path) -> Path:
    path = tmp_path / "report.html"
    path.write_text(render_document(judged(TEXT, **STEPS)), encoding="utf-8")
    return path


def test_cards_open_by_keyboard_and_by_hover(opened, report):
    with opened(report) as page:
        card = page.locator("#card-step-1")
        assert card.is_hidden()
        while page.evaluate("document.activeElement.id") != "step-1":
            page.keyboard.press("Tab")
        assert card.is_visible()
        assert "0.2023" in card.inner_text()
        page.keyboard.press("Escape")
        assert card.is_hidden()
        page.keyboard.press("Enter")
        assert card.is_visible()
        page.locator("#step-2").hover()
        assert page.locator("#card-step-2").is_visible()


def test_n_leads_to_the_refuted_step_and_links_to_theirs(opened, report):
    with opened(report) as page:
        page.keyboard.press("n")
        assert page.evaluate("document.activeElement.id") == "step-1"
        page.locator(".questions a").first.click()
        assert page.evaluate("document.activeElement.id") == "step-1"


def test_cards_stay_on_the_screen(opened, report):
    for width in (1280, 700, 390):
        with opened(report, width=width) as page:
            for step in page.locator(".step[tabindex]").all():
                step.focus()
                box = step.locator(".card").bounding_box()
                assert box["x"] >= 0
                assert box["x"] + box["width"] <= width
                assert box["y"] + box["height"] <= 800


@pytest.mark.parametrize("width", [1280, 1000, 390])
def test_the_page_never_scrolls_sideways(opened, report, width):
    with opened(report, width=width) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_filter_leaves_what_is_refuted(opened, report):
    with opened(report) as page:
        page.locator("#show-refuted").check()
        assert page.locator("#step-1").is_visible()
        assert page.locator("#step-3").is_hidden()
        page.locator("#show-look").check()
        assert page.locator("#step-3").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_dark_follows_the_reader_and_the_button(opened, report, scheme):
    brightness = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0] > 128"
    with opened(report, scheme=scheme) as page:
        assert page.evaluate(brightness) == (scheme == "light")
        page.locator(".theme").click()
        assert page.evaluate(brightness) == (scheme == "dark")
        for _ in range(RELOADS):
            page.reload()
            if page.evaluate(brightness) == (scheme == "dark"):
                break
        else:
            pytest.fail("what the button says is forgotten")


def test_on_paper_it_is_light_and_the_notes_are_there(opened, report):
    with opened(report, scheme="dark") as page:
        page.emulate_media(media="print")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert page.locator(".notes").first.is_visible()
        assert page.locator(".filter").is_hidden()


def test_a_page_that_is_flawed_is_noticed(opened, report):
    source = report.read_text(encoding="utf-8").replace("</main>", '<img src="https://example.invalid/x.png"></main>')
    report.write_text(source, encoding="utf-8")
    with pytest.raises(AssertionError), opened(report):
        pass
