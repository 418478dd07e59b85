"""The web app in a real browser: writing, reading, opening files, by keyboard, on a phone and in the dark."""

import json
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from regard.derivations.reading.files import MAX_BYTES, MAX_LINES

WRONG = "We have $2 + 2 = 5$.\n"
RIGHT = "We have $2 + 2 = 4$.\n"


@pytest.fixture
def writing(browser, address):
    """`writing(text)`: the app with this text in it; nothing may come from elsewhere, and nothing be reported."""

    @contextmanager
    def writing(text: str | None = None, *, width: int = 1280, scheme: str = "light"):
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        page = context.new_page()
        said, hosts = [], set()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
        page.goto(address)
        if text is not None:
            page.locator("#source").fill(text)
        yield page
        assert said == []
        assert hosts <= {urlsplit(address).netloc, ""}
        context.close()

    return writing


def status(page, text: str) -> None:
    page.locator("#status", has_text=text).wait_for(timeout=20_000)


def report_of(page):
    return page.frame_locator("#report")


def test_the_example_is_judged_and_the_token_leaves_the_address(writing, address):
    with writing() as page:
        status(page, "5 refuted")
        assert report_of(page).locator("h1").inner_text() == "answers.md"
        assert page.url == address.partition("?")[0]
        assert page.locator("#lines > div.refuted").count() >= 4


def test_the_report_follows_the_text_and_keeps_what_the_reader_has_opened(writing):
    with writing(WRONG) as page:
        status(page, "1 refuted")
        report_of(page).locator(".all-steps summary").last.click()
        report_of(page).locator("#show-look").check()
        page.locator("#source").fill(RIGHT + WRONG)
        status(page, "1 holds, 1 refuted")
        assert report_of(page).locator(".all-steps").last.get_attribute("open") is not None
        assert report_of(page).locator("#show-look").is_checked()
        assert page.locator("#lines > div").evaluate_all("lines => lines.map((line) => line.className)") == [
            "holds", "refuted", "",
        ]  # fmt: skip


def test_only_the_last_of_quick_edits_counts(writing):
    with writing() as page:
        judged = []
        page.on("request", lambda request: judged.append(request.url) if "/judge" in request.url else None)
        page.locator("#source").fill("")
        page.locator("#source").press_sequentially("We have $1 + 1 = 2$.", delay=10)
        status(page, "1 holds")
        page.wait_for_timeout(300)
        assert page.locator("#status").inner_text().endswith("1 holds")
        assert len(judged) <= 4


def test_cards_open_in_the_report_after_it_was_replaced(writing):
    with writing(RIGHT) as page:
        status(page, "1 holds")
        page.locator("#source").fill(WRONG)
        status(page, "1 refuted")
        report_of(page).locator("#step-1").hover()
        assert report_of(page).locator("#card-step-1").is_visible()
        report_of(page).locator("#step-1").press("Escape")
        assert report_of(page).locator("#card-step-1").is_hidden()


def test_a_step_to_look_at_leads_to_its_line(writing):
    with writing("First.\n\n" + WRONG) as page:
        status(page, "1 refuted")
        page.keyboard.press("Tab")
        button = page.locator("#attention button")
        assert button.inner_text().startswith("Line 3: refuted")
        button.focus()
        page.keyboard.press("Enter")
        assert page.evaluate("[document.activeElement.id, document.activeElement.selectionStart]") == ["source", 8]


def test_the_problem_can_be_chosen(writing):
    with writing("Take $q = k_a + k_b$.") as page:
        page.locator("#problem").select_option("cs224n-a4")
        status(page, "CS224N assignment 4")


NOTEBOOK = {
    "cells": [
        {"cell_type": "code", "source": "1", "outputs": [], "metadata": {}, "execution_count": 1},
        {"cell_type": "markdown", "source": ["# Title\n", RIGHT], "metadata": {}},
        {"cell_type": "markdown", "source": f"A line.\n{WRONG}", "metadata": {}},
    ],
    "nbformat": 4,
    "nbformat_minor": 5,
    "metadata": {},
}
FILES = [("mine.md", WRONG, 1), ("mine.tex", f"\\section{{x}}\n{WRONG}", 2), ("mine.ipynb", json.dumps(NOTEBOOK), 8)]


@pytest.mark.parametrize(("name", "text", "line"), FILES)
def test_a_file_is_opened_in_the_browser(writing, name, text, line):
    with writing() as page:
        status(page, "5 refuted")
        page.locator("#file").set_input_files({"name": name, "mimeType": "text/plain", "buffer": text.encode()})
        status(page, "1 refuted")
        assert report_of(page).locator("h1").inner_text() == name
        assert page.locator("#attention button").inner_text().startswith(f"Line {line}: refuted")


UNREADABLE = [("a.pdf", b"%PDF"), ("a.ipynb", b"{"), ("a.ipynb", b"null"), ("a.md", b"\xff\xfe\x00")]


@pytest.mark.parametrize(("name", "content"), UNREADABLE)
def test_a_file_that_cannot_be_read_leaves_the_text_alone(writing, name, content):
    with writing(RIGHT) as page:
        status(page, "1 holds")
        page.locator("#file").set_input_files({"name": name, "mimeType": "text/plain", "buffer": content})
        status(page, f"{name} ")
        assert page.locator("#source").input_value() == RIGHT


def test_a_notebook_can_still_be_written_after_a_file_that_cannot_be_read(writing):
    with writing() as page:
        for name, content in (("mine.ipynb", json.dumps(NOTEBOOK)), ("a.ipynb", "{")):
            page.locator("#file").set_input_files({"name": name, "mimeType": "", "buffer": content.encode()})
            status(page, "1 refuted" if name == "mine.ipynb" else name)
        page.locator("#source").press_sequentially("\n")
        status(page, "1 refuted")


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"x" * (MAX_BYTES + 1), "larger than 5 MB"), (b"$x=1$\n" * 800_000, f"has more than {MAX_LINES} lines")],
)
def test_a_file_that_is_too_large_is_not_put_into_the_editor(writing, content, said):
    with writing(WRONG) as page:
        status(page, "1 refuted")
        page.locator("#file").set_input_files({"name": "large.md", "mimeType": "text/plain", "buffer": content})
        status(page, said)
        assert page.locator("#source").input_value() == WRONG


def test_a_text_that_is_too_large_is_not_sent(writing):
    with writing(WRONG) as page:
        status(page, "1 refuted")
        page.locator("#source").evaluate(f"(area) => {{ area.value = 'x'.repeat({MAX_BYTES + 1}); }}")
        page.locator("#source").dispatch_event("input")
        status(page, "larger than 5 MB")


def test_an_empty_text_says_so_and_the_next_is_judged(writing):
    with writing("") as page:
        status(page, "is empty")
        page.locator("#source").fill(RIGHT)
        status(page, "1 holds")


def test_hostile_text_runs_nothing(writing):
    hostile = "<img src=x onerror=alert(1)> <script>alert(1)</script> $\\href{javascript:alert(1)}{x} = 1$\n" + RIGHT
    with writing(hostile) as page:
        page.on("dialog", lambda dialog: pytest.fail("a script ran"))
        status(page, "1 holds")
        assert report_of(page).locator("img, main script").count() == 0


@pytest.mark.parametrize("width", [1280, 700, 390])
def test_the_app_fits_its_window(writing, width):
    with writing(width=width) as page:
        status(page, "5 refuted")
        assert page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]") <= [
            width, 800,
        ]  # fmt: skip
        if width < 900:
            assert page.locator("#report").is_hidden()
            page.locator("#view-report").check()
        assert page.locator("#report").is_visible()
        assert report_of(page).locator("html").evaluate("root => root.scrollWidth") <= width


def test_dark_and_light_are_switched_for_the_report_too(writing):
    brightness = "root => getComputedStyle(root.ownerDocument.body).backgroundColor.match(/\\d+/g).map(Number)[0]"
    with writing(RIGHT, scheme="dark") as page:
        status(page, "1 holds")
        assert page.locator("html").evaluate(brightness) < 128
        assert report_of(page).locator("html").evaluate(brightness) < 128
        page.locator(".theme").click()
        assert page.locator("html").evaluate(brightness) > 128
        report_of(page).locator("html[data-theme=light]").wait_for()


def test_the_claims_are_one_click_away(writing):
    with writing() as page:
        with page.expect_popup() as popup:
            page.locator("a", has_text="Claims").click()
        popup.value.locator("article.claim").first.wait_for(timeout=30_000)


def test_axe_finds_no_violation(writing, violations):
    with writing() as page:
        status(page, "5 refuted")
        report_of(page).locator(".step").first.wait_for(state="attached")
        assert violations(page) == []
