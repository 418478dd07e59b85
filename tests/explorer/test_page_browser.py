"""The page as a whole in a real browser: how fast it repaints, accessibility, and use inside a notebook."""

import pytest

from regard.explorer import ExplorerPage

PARTS = ["reading", "copy", "swing", "shuffle", "positions", "verdicts", "sheet"]
# What shows that a part is painted whose data must be unpacked first.
LATER = {"reading": ".look", "verdicts": "#claim-title"}
STEPS = 40
MOVES = """async ({part, count, seed}) => {
    const sliders = [...document.querySelectorAll(`#${part} input[type=range]:not(:disabled)`)];
    const random = regard.uniforms(seed);
    for (let k = 0; k < count; k += 1) {
        const slider = sliders[k % sliders.length];
        slider.value = Number(slider.min) + random() * (slider.max - slider.min);
        slider.dispatchEvent(new Event("input", { bubbles: true }));
        await new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)));
    }
}"""


@pytest.mark.parametrize("part", ["copy", "swing", "positions"])
def test_a_slider_is_answered_within_a_frame(browser, page_path, part):
    """Script, style, layout and paint of a slider's step, in the page's own processor time.

    Other work on the machine does not count; bench/explore.py measures by the clock, up to the painted frame.
    """
    page = browser.new_page(reduced_motion="reduce")
    page.goto(f"{page_path.as_uri()}#{part}?")
    tools = page.context.new_cdp_session(page)
    tools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def seconds() -> float:
        metrics = tools.send("Performance.getMetrics")["metrics"]
        return next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")

    page.evaluate(MOVES, {"part": part, "count": 8, "seed": 4})
    start = seconds()
    page.evaluate(MOVES, {"part": part, "count": STEPS, "seed": 5})
    assert 0.0001 < (seconds() - start) / STEPS <= 0.016
    page.close()


@pytest.mark.parametrize("part", PARTS)
def test_axe_finds_no_violation(browser, page_path, show, violations, part):
    page = browser.new_page()
    page.goto(page_path.as_uri())
    show(page, part)
    if part in LATER:
        page.wait_for_selector(LATER[part])
    # The whole page once; then what differs from part to part.
    assert violations(page, f"#{part}" if part != "reading" else "html") == []
    page.close()


def test_axe_finds_a_control_without_a_name(browser, page_path, violations):
    page = browser.new_page()
    page.goto(f"{page_path.as_uri()}#copy?")
    page.evaluate("document.querySelector('label[for=copy-n]').remove()")
    assert "label" in {rule for _, _, rule, _ in violations(page, "#copy")}
    page.close()


def test_the_page_works_inside_a_notebook(browser, page_path):
    said = []
    page = browser.new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.set_content(ExplorerPage(html=page_path.read_text(encoding="utf-8"))._repr_html_())
    frame = page.frame_locator("iframe")
    frame.locator(".parts a", has_text="Position codes").click()
    assert frame.locator("#positions").is_visible()
    frame.locator("#positions .reveal").click()
    frame.locator("#sinusoid-width").fill("2")
    assert frame.locator("[data-show=nearest]").inner_text() == "710 apart"
    frame.locator("a", has_text="sinusoid-nearest").click()
    frame.locator("#claim-title", has_text="sinusoid-nearest").wait_for()
    assert said == []
    page.close()
