"""The page as a whole in a real browser: how fast it repaints, accessibility, and use inside a notebook."""

import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from regard.explorer import ExplorerPage

PARTS = ["copy", "swing", "shuffle", "positions", "verdicts", "sheet"]
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
    page.goto(f"{page_path.as_uri()}#{part}")
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


VIOLATIONS = """async (place) => {
    const found = await axe.run(place, { resultTypes: ["violations"] });
    return found.violations.map(({ id, nodes }) => [id, nodes[0].html]);
}"""


@pytest.fixture(scope="session")
def axe(request, tmp_path_factory) -> str:
    """axe-core from pytest's cache if it is there, else fetched by npm."""
    cache = getattr(request.config, "cache", None)
    folder = Path(cache.mkdir("axe-core")) if cache else tmp_path_factory.mktemp("axe-core")
    script = folder / "axe.min.js"
    if not script.exists():
        if shutil.which("npm") is None:
            pytest.skip("there is no npm to fetch axe-core with")
        command = ["npm", "pack", "axe-core@4"]
        fetched = subprocess.run(command, cwd=folder, capture_output=True, timeout=60, check=False)
        archives = list(folder.glob("axe-core-*.tgz"))
        if fetched.returncode or not archives:
            pytest.skip("npm could not fetch axe-core")
        with tarfile.open(archives[0]) as archive:
            script.write_bytes(archive.extractfile("package/axe.min.js").read())
    return script.read_text(encoding="utf-8")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_axe_finds_no_violation(browser, page_path, show, axe, width, scheme):
    size = {"width": width, "height": 800}
    page = browser.new_page(viewport=size, color_scheme=scheme, reduced_motion="reduce")
    page.goto(page_path.as_uri())
    page.evaluate(axe)
    for part in PARTS:
        show(page, part)
        if part == "verdicts":
            page.wait_for_selector("#claim-title")
        # The whole page once; then what differs from part to part.
        assert page.evaluate(VIOLATIONS, f"#{part}" if part != "copy" else "html") == [], part
    page.close()


def test_axe_finds_a_control_without_a_name(browser, page_path, axe):
    page = browser.new_page()
    page.goto(page_path.as_uri())
    page.evaluate(axe)
    page.evaluate("document.querySelector('label[for=copy-n]').remove()")
    assert "label" in [rule for rule, _ in page.evaluate(VIOLATIONS, "#copy")]
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
    frame.locator("#sinusoid-width").fill("2")
    assert frame.locator("[data-show=nearest]").inner_text() == "710 apart"
    frame.locator("a", has_text="sinusoid-nearest").click()
    frame.locator("#claim-title", has_text="sinusoid-nearest").wait_for()
    assert said == []
    page.close()
