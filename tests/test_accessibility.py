"""axe-core finds nothing to object to in the pages that the commands write; the explorer's parts have a test each."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from browser_fixtures import LOOKS

ROOT = Path(__file__).parents[1]
LAYER = ROOT / "docs/examples/leaky_attention.py"
ANSWERS = ROOT / "src/regard/derivations/examples/flawed-answers.md"
WIDE = "\n\n".join(
    [
        "",
        "$$" + " + ".join(f"x_{{{number}}}" for number in range(80)) + " = y$$",
        "```\n" + "wide " * 60 + "\n```",
        "| " + " | ".join(f"heading-{number}" for number in range(20)) + " |",
    ]
)
TINY = [f"--set={each}" for each in ("model.width=32", "model.num_heads=2", "model.hidden=64", "tokens.size=400")]
CAUSAL = ["--spec", "causal,positions=none"]
COMMANDS = {
    "report": ["verify", "answers/a.md", "--html", "report.html"],
    "class": ["verify", "answers", "--problem", "cs224n-a4", "--html", "class"],
    "claims": ["claims", "rope-*", "--html", "claims.html"],
    "claim": ["claims", "--explain", "copy", "--html", "claim.html"],
    "design": ["design", "--head", "beta*(mu_a+mu_b)", "--beta", "20", "--html", "design.html"],
    "check": ["check", "leaky.py:layer", *CAUSAL, "--html", "check.html"],
    "matrix": ["check", "leaky.py:layer", "sound.py:layer", *CAUSAL, "--html", "matrix.html"],
    "compare": ["train", "compare", "--positions", "none,rotary", "--people", "24", "--steps", "8", *TINY],
    "run": ["train", "--people", "24", "--steps", "8", *TINY, "--members", "1", "--threads", "1", "--out", "run"],
}
COMMANDS["compare"] += ["--seeds", "1", "--html", "compare.html"]
# Where a command does not write just one page, named like itself.
PAGES = {"class": ["class/index.html", "class/a.md.html"], "run": ["run/page.html"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    (folder / "answers").mkdir()
    for name in ("a.md", "b.md"):
        (folder / "answers" / name).write_text(ANSWERS.read_text(encoding="utf-8") + WIDE, encoding="utf-8")
    (folder / "answers" / "c.pdf").write_bytes(b"%PDF")
    leaky = LAYER.read_text(encoding="utf-8")
    (folder / "leaky.py").write_text(leaky, encoding="utf-8")
    (folder / "sound.py").write_text(leaky.replace("k=1", "k=0"), encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", COMMANDS)
def test_axe_finds_no_violation(browser, folder, violations, name):
    if COMMANDS[name][0] == "train":
        pytest.importorskip("torch")
        pytest.importorskip("tokenizers")
    command = [sys.executable, "-m", "regard", *COMMANDS[name]]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=300, check=False)
    assert done.returncode in (0, 1), done.stderr.decode()
    for written in PAGES.get(name, [f"{name}.html"]):
        page = browser.new_page()
        page.goto((folder / written).as_uri())
        page.locator("details").evaluate_all("all => all.forEach((each) => { each.open = true; })")
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") == page.viewport_size["width"] == 390
        page.close()


def test_what_axe_objects_to_is_noticed(browser, violations):
    page = browser.new_page()
    page.set_content('<html lang="en"><title>x</title><main><h1>x</h1><p style="color: #bbb">faint</p><img></main>')
    found = violations(page)
    assert {rule for _, _, rule, _ in found} == {"color-contrast", "image-alt"}
    assert {tuple(look) for *look, _, _ in found} == set(LOOKS)
    page.close()
