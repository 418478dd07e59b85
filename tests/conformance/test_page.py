"""The page of checked layers in a real browser: cells tell what they know by mouse and by keyboard, on any width."""

from dataclasses import replace

import pytest

from regard.conformance.page import render_check
from regard.conformance.report import reports_as_junit
from regard.conformance.verdict import CheckReport, Diagnosis, LawVerdict

OUTCOMES = {
    "CAUSAL": ("refuted", "refuted"),
    "PAD": ("expected failure", "refuted"),
    "DET": ("holds", "holds"),
    "PURE": ("unexpected pass", "holds"),
    "CACHE": ("skipped", "undecided"),
    "CONST": ("inconclusive", "undecided"),
    "BATCH": ("crashed", "undecided"),
    "PREFIX": ("timed out", "undecided"),
}


def verdict(law: str, layer: str) -> LawVerdict:
    outcome, status = OUTCOMES[law]
    told = {"counterexample": "batch 1 <b>length</b> 2", "diagnosis": (Diagnosis("mask", "it is missing"),)}
    told = told if status == "refuted" else {}
    return LawVerdict(
        id=law,
        statement=f"the law {law}",
        status=status,
        outcome=outcome,
        reason=f"because of {law}",
        layer=layer,
        error=0.3,
        tolerance=1e-5,
        control=2.0,
        seed=0,
        reproduce=f"regard check {layer}",
        **told,
    )


def report(layer: str, *, laws=tuple(OUTCOMES)) -> CheckReport:
    verdicts = tuple(verdict(law, layer) for law in laws)
    spec = {"width": 32, "num_heads": 4, "num_kv_heads": 4, "causal": True, "dtype": "float32", "device": "cpu"}
    return CheckReport(layer=layer, spec=spec, grade="black-box", blind_to=("a wrong scale",), verdicts=verdicts)


def test_one_layer_is_laid_open():
    page = render_check([report("<mine>")])
    assert "&lt;mine&gt;" in page
    assert "<mine>" not in page
    for told in ("expected failure", "timed out", "batch 1 &lt;b&gt;length", "a wrong scale", "because of CACHE"):
        assert told in page


def test_every_cell_of_the_matrix_says_its_outcome_in_words():
    page = render_check([report("one"), report("two", laws=("DET",))])
    tried = [law for law, (outcome, _) in OUTCOMES.items() if outcome != "skipped"]
    for law in tried:
        assert f'aria-label="one, {law}: {OUTCOMES[law][0]}"' in page
    assert page.count('<td class="empty">') == len(tried) - 1


def test_a_law_has_a_column_if_a_layer_was_tried_by_it():
    skipped = next(law for law, (outcome, _) in OUTCOMES.items() if outcome == "skipped")
    page = render_check([report("one"), report("two")])
    assert f'aria-label="one, {skipped}' not in page
    assert "1 law skipped for every layer" in page
    holding = replace(report("two"), verdicts=(replace(verdict("DET", "two"), id=skipped),))
    page = render_check([report("one"), holding])
    assert f'aria-label="one, {skipped}: skipped"' in page
    assert "skipped for every layer" not in page


def test_junit_has_a_case_for_each_law():
    text = reports_as_junit([report("one\x00"), report("two")])
    assert text.count("<testcase") == 2 * len(OUTCOMES)
    assert 'failures="2" errors="2" skipped="3"' in text


@pytest.mark.parametrize("width", [390, 1280])
def test_the_matrix_works_by_keyboard_on_any_width(browser, tmp_path, width):
    path = tmp_path / "zoo.html"
    path.write_text(render_check([replace(report(f"layer {k}"), grade="spec") for k in range(12)]), encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 800})
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator(".matrix td a").first.focus()
    assert "layer 0, CAUSAL: refuted" in page.locator("#tooltip").inner_text()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert "layer 1, PAD: expected failure" in page.locator("#tooltip").inner_text()
    page.keyboard.press("Enter")
    assert page.locator("#layer-1-PAD").is_visible()
    page.keyboard.press("/")
    page.keyboard.type("layer 11")
    assert page.locator(".matrix tbody tr:visible").count() == 1
    assert not said
    page.close()
