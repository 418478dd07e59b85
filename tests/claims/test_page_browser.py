"""The page of claims in a real browser: it loads nothing, reports no error, fits, and can be searched."""

from pathlib import Path

import pytest

from regard.claims.deciding import explain_claims
from regard.claims.page import render_claims


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("claims") / "claims.html"
    path.write_text(render_claims((*explain_claims("*average*"), *explain_claims("sinusoid-dot*"))), encoding="utf-8")
    return path


def unfold(page) -> None:
    page.evaluate("for (const part of document.querySelectorAll('.claim details')) part.open = true")


@pytest.mark.parametrize("width", [1280, 1000, 390])
def test_the_page_never_scrolls_sideways_and_figures_fit(opened, report, width):
    with opened(report, width=width) as page:
        unfold(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for figure in page.locator("figure").all():
            box = figure.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width


def test_text_in_figures_can_be_read_on_a_phone(opened, report):
    with opened(report, width=390) as page:
        unfold(page)
        sizes = page.evaluate(
            "[...document.querySelectorAll('.chart text')].map(text => parseFloat(getComputedStyle(text).fontSize)"
            " * text.ownerSVGElement.getBoundingClientRect().width / text.ownerSVGElement.viewBox.baseVal.width)"
        )
        assert min(sizes) >= 9


def test_words_in_a_figure_do_not_overlap(opened, report):
    overlapping = """() => [...document.querySelectorAll('.chart svg')].flatMap(svg => {
        const boxes = [...svg.querySelectorAll('text')].map(text => [text.textContent, text.getBoundingClientRect()]);
        return boxes.flatMap(([name, a], at) => boxes.slice(at + 1).filter(([, b]) =>
            a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3)
            .map(([other]) => `${name} / ${other}`));
    })"""
    for width in (1280, 390):
        with opened(report, width=width) as page:
            unfold(page)
            assert page.evaluate(overlapping) == []


@pytest.mark.parametrize(("scheme", "is_light"), [("light", True), ("dark", False)])
def test_figures_follow_the_theme(opened, report, scheme, is_light):
    brightness = """name => {
        const canvas = document.createElement('canvas').getContext('2d');
        canvas.fillStyle = getComputedStyle(document.querySelector(name)).fill;
        canvas.fillRect(0, 0, 1, 1);
        return canvas.getImageData(0, 0, 1, 1).data[1];
    }"""
    with opened(report, scheme=scheme) as page:
        unfold(page)
        ink, low = page.evaluate(brightness, ".chart .chart-axis"), page.evaluate(brightness, ".chart .s0")
        assert (ink < 128) == is_light
        assert (low > 128) == is_light


def test_search_and_filter_leave_what_fits(opened, report):
    with opened(report) as page:
        page.keyboard.press("/")
        page.keyboard.type("misconception half-sum")
        assert page.locator("#half-sum-averages").is_visible()
        assert page.locator("#average-of-two").is_hidden()
        page.keyboard.press("Escape")
        assert page.locator("#average-of-two").is_visible()
        page.locator("#show-refuted").check()
        assert page.locator("#average-of-two").is_hidden()
        page.locator("#search").fill("zzz")
        assert page.locator(".nothing").is_visible()
        page.locator('.contents a[href="#average-of-two"]').click()
        page.wait_for_selector("#average-of-two", state="visible")  # the page hears of the new place a moment later


def test_claims_are_folded_and_a_link_opens_its_claim(opened, report):
    with opened(report) as page:
        assert page.locator(".argument[open]").count() == 0
        assert page.locator("#average-of-two .statement").is_visible()
        page.locator('.contents a[href="#average-of-two"]').click()
        page.wait_for_selector("#average-of-two .chart", state="visible")
        assert page.locator(".argument[open]").count() == 1
        page.reload()
        assert page.locator("#average-of-two .chart").is_visible()


def test_on_paper_everything_is_unfolded_and_light(opened, report):
    with opened(report, scheme="dark") as page:
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.locator("#average-of-two details").first.get_attribute("open") is not None
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert page.locator(".filter").is_hidden()
