"""Figures of `regard explore`: size, time from slider to painted frame, frames per second; and its picture.

python bench/explore.py                                      measures the page
python bench/explore.py --picture docs/images/explore.png    takes the README's picture
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from regard.explorer import explore

CHROMIUM = "/usr/bin/chromium"
QUIET = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
STEPS = 150
# A frame has been painted when a message posted from its animation callback arrives. Sliders move at random times,
# because a loop that starts right after a frame would always wait for the whole of the next one.
REPAINTS = """async ({part, count, isIdle}) => {
    const sliders = [...document.querySelectorAll(`#${part} input[type=range]:not(:disabled)`)];
    const random = regard.uniforms(1);
    const painted = () => new Promise((done) => requestAnimationFrame(() => {
        const channel = new MessageChannel();
        channel.port1.onmessage = () => done(performance.now());
        channel.port2.postMessage(0);
    }));
    const times = [];
    for (let k = 0; k < count; k += 1) {
        const slider = sliders[k % sliders.length];
        await new Promise((done) => setTimeout(done, 40 * random()));
        slider.value = Number(slider.min) + random() * (slider.max - slider.min);
        const start = performance.now();
        if (!isIdle) slider.dispatchEvent(new Event("input", { bubbles: true }));
        const answered = performance.now() - start;
        times.push([answered, await painted() - start]);
    }
    return times;
}"""
KEYSTROKES = """async () => {
    const text = document.querySelector("#reading-text");
    const times = [];
    for (const sign of " box. The ring is in the bag") {
        text.value += sign;
        const start = performance.now();
        text.dispatchEvent(new Event("input", { bubbles: true }));
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
        times.push(performance.now() - start);
    }
    return times;
}"""
FRAMES = """() => new Promise((done) => {
    const times = [];
    const step = (time) => { times.push(time); times.length < 120 ? requestAnimationFrame(step) : done(times); };
    requestAnimationFrame(step);
})"""


@contextmanager
def opened(path: Path, **settings: object) -> Iterator[Page]:
    """The page in a browser of its own."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        page = browser.new_page(**settings)  # type: ignore[arg-type]
        page.goto(path.as_uri())
        yield page
        browser.close()


def medians(page: Page, part: str, *, is_idle: bool = False) -> tuple[float, float]:
    """Milliseconds until a slider's event is handled and until its frame is painted; if idle, nothing moves."""
    times = page.evaluate(REPAINTS, {"part": part, "count": STEPS, "isIdle": is_idle})
    answered, painted = (statistics.median(column) for column in zip(*times, strict=True))
    return answered, painted


def measure(path: Path) -> None:
    """Prints the timings, part by part."""
    with opened(path, viewport={"width": 1280, "height": 900}) as page:
        for part in ("copy", "swing", "positions"):
            page.goto(f"{path.as_uri()}#{part}?")
            page.wait_for_timeout(400)
            _, still = medians(page, part, is_idle=True)
            answered, total = medians(page, part)
            print(
                f"{part:10} slider to repaint {total:5.1f} ms (median), of which script {answered:4.1f} ms; "
                f"an idle frame takes {still:4.1f} ms"
            )
        page.goto(f"{path.as_uri()}#reading?")
        page.wait_for_selector(".look")
        times = page.evaluate(KEYSTROKES)
        print(
            f"reading    keystroke to repaint {statistics.median(times):.0f} ms (median); the model reads the text anew"
        )
        page.goto(f"{path.as_uri()}#swing?")
        times = page.evaluate(FRAMES)
        print(f"swing      {1000 * (len(times) - 1) / (times[-1] - times[0]):.0f} frames per second while it runs")


def take_picture(path: Path, picture: Path) -> None:
    """Lets the second part run for a while, then takes a screenshot."""
    picture.parent.mkdir(parents=True, exist_ok=True)
    with opened(path, viewport={"width": 1280, "height": 880}) as page:
        page.goto(f"{path.as_uri()}#swing?")
        page.wait_for_timeout(1500)
        page.locator("#swing-draw").evaluate("button => { for (let k = 0; k < 20; k += 1) button.click(); }")
        page.wait_for_timeout(800)
        page.locator("#swing-run").click()
        page.evaluate("document.activeElement.blur()")
        page.screenshot(path=picture)


def main() -> None:
    """Builds the page, then measures it or takes its picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", type=Path, help="take the picture instead of measuring")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, start = Path(folder) / "page.html", time.process_time()
        explore().write(path)
        spent = time.process_time() - start
        if chosen.picture:
            take_picture(path, chosen.picture)
            return
        print(f"page       {path.stat().st_size / 1000:.0f} kB, built in {spent:.1f} s of CPU time")
        measure(path)


if __name__ == "__main__":
    main()
