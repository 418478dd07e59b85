"""Each part in a real browser: by mouse and by keyboard it does what it says, and loads and reports nothing."""

import numpy as np
import pytest

from regard.analysis.closed_forms.softmax import average_scale, average_weight
from regard.claims.catalog.rope_layouts_are_permuted import CLAIM as MIXED_LAYOUTS

TOO_SMALL = """part => [...document.querySelectorAll(`#${part} :is(input, button, a, [tabindex="0"])`)]
    .filter(control => control.type !== "hidden" && control.checkVisibility())
    .filter(control => Math.min(control.getBoundingClientRect().width, control.getBoundingClientRect().height) < 8)
    .map(control => control.outerHTML)"""
PARTS = ["reading", "copy", "swing", "shuffle", "positions", "verdicts", "sheet"]


def reading(page, name: str) -> str:
    return page.locator(f"section:visible [data-show='{name}']").first.inner_text()


def slide(page, name: str, value: float) -> None:
    """Moves a visible slider to a position on its own scale, as a user would."""
    page.locator(f"section:visible input[name={name}]").evaluate(
        "(input, value) => { input.value = value; input.dispatchEvent(new Event('input', { bubbles: true })); }", value
    )


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_parts_fit_and_every_control_can_be_hit(opened, page_path, show, width, scheme):
    with opened(page_path, width=width, scheme=scheme) as page:
        for part in PARTS:
            page.evaluate("part => { location.hash = part; }", part)
            page.wait_for_selector(f"#{part}.unanswered:visible")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, part
            show(page, part)
            page.wait_for_timeout(100)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, part
            assert page.locator(f"#{part} h1").is_visible()
            assert page.evaluate(TOO_SMALL, part) == []


@pytest.mark.parametrize("part", PARTS)
def test_a_part_shows_its_figures_after_a_guess_and_says_whether_it_was_right(opened, page_path, part):
    with opened(page_path) as page:
        page.evaluate("part => { location.hash = part; }", part)
        hidden = page.locator(f"#{part} > :not(.head, .prediction)").first
        hidden.wait_for(state="hidden")
        page.locator(f"#{part} .prediction .action:not([data-right])").first.click()
        assert hidden.is_visible()
        assert page.locator(f"#{part} .reply").inner_text().startswith("Not quite.")
        assert page.locator(f"#{part} .reveal").is_hidden()
        page.locator(f"#{part} .prediction [data-right]").focus()
        page.keyboard.press("Enter")
        assert page.locator(f"#{part} .reply").inner_text().startswith("Right.")
        assert page.locator(f"#{part} .prediction [aria-pressed=true]").count() == 1


def test_a_guess_leads_to_the_state_that_shows_the_answer(opened, page_path):
    with opened(page_path) as page:
        for part in ("copy", "verdicts", "sheet"):
            page.locator(f".parts a[data-part={part}]").click()
            page.locator(f"#{part} .reveal").click()
        assert "0.2023" in page.locator("#sheet-card").inner_text()
        assert page.locator("#claim-title").text_content() == "two-heads-always-steady"
        page.locator(".parts a[data-part=copy]").click()
        assert 2 * float(reading(page, "a")) == pytest.approx(0.405, abs=2e-3)


def test_a_text_of_ones_own_is_read(opened, page_path, show):
    with opened(page_path) as page:
        show(page, "reading")
        page.locator("#reading-text").fill("moon green fox river7. Once more: moon green fox")
        page.locator(".look", has_text="Once").wait_for()
        assert "".join(page.locator(".look > span:first-child").all_inner_texts()).startswith("startmoongreenfoxriver.")
        assert "no 7" in reading(page, "missing")
        assert reading(page, "continued").startswith("ri")
        page.wait_for_function("() => location.hash.includes('river7')")
        page.reload()
        page.locator(".look", has_text="Once").wait_for()


def test_a_token_and_a_head_are_chosen_by_mouse_and_keyboard(opened, page_path, show):
    with opened(page_path) as page:
        show(page, "reading?text=The+key+near+the+box")
        page.locator(".look", has_text="near").click()
        assert "While it reads “near”" in reading(page, "looking")
        assert page.locator(".looks .ahead").count() == 2
        page.keyboard.press("ArrowLeft")
        assert "While it reads “key”" in reading(page, "looking")
        assert page.evaluate("document.activeElement.dataset.at") == "2"
        page.locator("[data-head='1.2']").focus()
        page.keyboard.press("Enter")
        assert reading(page, "head-name") == "layer 1, head 2"
        weights = page.locator("#reading-exchange tbody td:nth-child(4)").all_inner_texts()
        assert sum(map(float, weights)) == pytest.approx(1, abs=0.01)


def test_a_head_that_is_switched_off_changes_the_guess(opened, page_path, show):
    with opened(page_path) as page:
        show(page, "reading?text=moon+green+fox+river.+Once+more:+moon+green+fox")
        page.locator(".guesses li").first.wait_for()
        before = page.locator(".guesses .share").first.inner_text()
        page.locator("#reading [name=isSilenced]").check()
        page.wait_for_function("() => document.querySelector('.guesses .share').textContent.includes('→')")
        whole, without = page.locator(".guesses .share").first.inner_text().split(" → ")
        assert whole == before
        assert float(without) < float(whole)


@pytest.mark.parametrize("text", ["", "   ", "%%%", "π", "a " * 150])
def test_any_text_can_be_read(opened, page_path, show, text):
    with opened(page_path) as page:
        show(page, "reading")
        page.locator("#reading-text").fill(text)
        page.locator(".guesses li").first.wait_for()
        assert 1 <= page.locator(".look").count() <= 65


def test_the_keyboard_reaches_every_control_of_a_part(opened, page_path, show):
    with opened(page_path) as page:
        show(page, "copy")
        wanted = set(
            page.evaluate(
                "[...document.querySelectorAll('#copy [id]:is(input, button, svg[tabindex])')].map(node => node.id)"
            )
        )
        reached = set()
        for _ in range(40):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("document.activeElement.id"))
        assert {"copy-plane", "copy-n", "copy-beta", "copy-use"} <= wanted <= reached
        page.locator("#copy-beta").focus()
        page.keyboard.press("ArrowRight")
        assert page.locator("#copy-beta").get_attribute("aria-valuetext") == "3.01"


def test_sliders_show_what_python_computes(opened, page_path, show):
    rng = np.random.default_rng(3)
    with opened(page_path) as page:
        show(page, "copy")
        for _ in range(12):
            place, beta = rng.uniform(0, 1), round(rng.uniform(0, 17), 2)
            slide(page, "n", place)
            slide(page, "beta", beta)
            n = round(3 * (1000 / 3) ** float(page.locator("#copy-n").input_value()))
            assert page.locator("#copy [data-value=n]").inner_text() == str(n)
            assert float(reading(page, "a")) == pytest.approx(average_weight(beta, n), rel=5e-3)
            assert 0 <= float(reading(page, "needed").removeprefix("β ≥ ")) - average_scale(0.01, n) <= 0.01


def test_the_query_is_dragged_and_the_address_keeps_the_state(opened, page_path, show):
    with opened(page_path) as page:
        show(page, "copy")
        box = page.locator("#copy-plane").bounding_box()
        middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        unit = box["width"] / 240 * 100 / 4
        page.mouse.move(middle[0] + 3 * unit, middle[1] - 3 * unit)
        page.mouse.down()
        page.mouse.move(middle[0] + 2 * unit, middle[1] + 1 * unit)
        page.mouse.up()
        assert float(page.locator("#copy-beta").input_value()) == pytest.approx(2, abs=0.1)
        assert float(page.locator("#copy-degrees").input_value()) == pytest.approx(-26.6, abs=2)
        page.wait_for_function("() => location.hash.includes('degrees=-')")
        before = reading(page, "a")
        page.reload()
        assert reading(page, "a") == before


def test_the_scale_that_is_needed_can_be_used(opened, page_path, show):
    with opened(page_path) as page:
        show(page, "copy?n=500&degrees=10&epsilon=0.02")
        page.locator("#copy-use").click()
        assert float(reading(page, "a")) == 0.48
        page.locator("#copy label", has_text="a copy").click()
        assert page.locator("#copy-degrees").input_value() == "0"
        show(page, "copy?goal=copy&degrees=0&n=1000&epsilon=0.0001")
        page.locator("#copy-use").click()
        assert reading(page, "a") == "1.00"
        assert reading(page, "error") == "0.000100"


def test_one_head_swings_and_measured_variances_come_to_the_exact_ones(opened, page_path, show):
    with opened(page_path) as page:
        show(page, "swing")
        assert reading(page, "one-exact") == "0.222"
        assert reading(page, "ratio-exact") == "10.8"
        page.wait_for_function("() => document.querySelector('[data-show=draws]').textContent.length > 3")
        page.locator("#swing-draw").evaluate("button => { for (let k = 0; k < 30; k += 1) button.click(); }")
        # The standard error of the first is below 0.001 in 30000 draws: one run in a billion is farther off.
        assert float(reading(page, "one-measured").split()[1]) == pytest.approx(0.222019, abs=0.006)
        page.locator("#swing label", has_text="identical").click()
        assert reading(page, "ratio-exact") == "1.00"
        page.locator("#swing label", has_text="only").click()
        assert reading(page, "backwards") == "0 (given)"


def test_nothing_moves_for_those_who_want_it_still(browser, page_path):
    page = browser.new_page(reduced_motion="reduce")
    page.goto(f"{page_path.as_uri()}#swing?")
    before = page.locator("#swing").inner_text()
    assert page.locator("#swing-run").inner_text() == "Run"
    page.wait_for_timeout(300)
    assert page.locator("#swing").inner_text() == before
    page.locator("#swing-run").click()
    page.wait_for_function("before => document.querySelector('#swing').innerText !== before", arg=before)
    page.close()


def test_words_move_and_their_rows_with_them(opened, page_path, show):
    with opened(page_path) as page:
        show(page, "shuffle")
        assert page.locator(".token").all_inner_texts() == ["man", "bites", "dog"]
        assert "Equivariant" in page.locator("#shuffle-verdict").inner_text()
        page.locator(".token").first.focus()
        page.keyboard.press("ArrowRight")
        assert page.locator(".token").all_inner_texts() == ["bites", "man", "dog"]
        assert page.evaluate("document.activeElement.textContent") == "man"
        last, first = (page.locator(".token").nth(place).bounding_box() for place in (2, 0))
        page.mouse.move(last["x"] + 5, last["y"] + 5)
        page.mouse.down()
        page.mouse.move(first["x"] + 5, first["y"] + 5, steps=6)
        page.mouse.up()
        assert page.locator(".token").all_inner_texts() == ["dog", "bites", "man"]
        assert "as typed" in page.locator("#shuffle-verdict").inner_text()


def test_a_word_that_is_dragged_over_a_longer_one_moves_once(opened, page_path, show):
    with opened(page_path) as page:
        show(page, "shuffle?sentence=a+extraordinarily+b&order=0,1,2")
        short, long = (page.locator(".token").nth(place).bounding_box() for place in (0, 1))
        page.mouse.move(short["x"] + 5, short["y"] + 8)
        page.mouse.down()
        orders = []
        for step in range(0, int(long["width"]) - 2, 6):
            page.mouse.move(long["x"] + 2 + step, long["y"] + 8)
            orders.append(page.locator(".token").first.inner_text())
        page.mouse.up()
        assert orders == sorted(orders), "the words changed places more than once"
        assert {orders[0], orders[-1]} == {"a", "extraordinarily"}
        assert page.locator("#shuffle-moved .marked-row").count() == 1
        page.locator("#shuffle-back").click()
        assert page.locator("#shuffle-moved .marked-row").count() == 0


def test_equal_words_that_change_places_leave_the_sentence_as_typed(opened, page_path, show):
    with opened(page_path) as page:
        show(page, "shuffle?sentence=the+the+cat&order=1,0,2&isCausal=1")
        assert "as typed" in page.locator("#shuffle-verdict").inner_text()
        show(page, "shuffle?sentence=the+the+cat&order=2,1,0&isCausal=1")
        assert "Not equivariant" in page.locator("#shuffle-verdict").inner_text()


def test_an_address_that_makes_no_sense_leaves_the_state_at_the_start(opened, page_path, show):
    with opened(page_path) as page:
        show(page, "copy?goal=copy&n=500")
        show(page, "copy?goal=neither&n=many&beta=1e9")
        page.wait_for_function("() => document.querySelector('#copy [data-value=beta]').textContent === '17.0'")
        assert page.locator("#copy [name=goal][value=average]").is_checked()
        assert page.locator("#copy [data-value=n]").inner_text() == "10"
        show(page, "positions?format=decimal&width=7")
        assert page.locator("#sinusoid-width").input_value() == page.locator("[data-value=width]").inner_text() == "8"
        assert reading(page, "format-name") == "float32"


@pytest.mark.parametrize("broken", ["isCausal=1", "codes=sinusoidal", "codes=rotary"])
def test_a_mask_and_codes_tell_orders_apart(opened, page_path, show, broken):
    with opened(page_path) as page:
        show(page, f"shuffle?{broken}")
        assert "Not equivariant" in page.locator("#shuffle-verdict").inner_text()
        assert float(reading(page, "gap")) > 0.01
        page.locator("#shuffle-sentence").fill("one two three four")
        assert page.locator(".token").all_inner_texts() == ["one", "two", "three", "four"]


def test_position_codes_nearly_meet_and_meet_when_rounded(opened, page_path, show):
    with opened(page_path) as page:
        show(page, "positions?width=2&count=1024")
        assert reading(page, "nearest") == "710 apart"
        assert reading(page, "lost") == "none of 1024"
        page.locator("#positions label", has_text="bf16").click()
        assert reading(page, "lost") == "287 of 1024"
        assert reading(page, "first") == "711 has the code of 1"
        assert reading(page, "repeats").startswith("287 repeat")
        page.locator("#positions a", has_text="four numbers in fp8").click()
        assert int(reading(page, "lost").split()[0]) > 0


def test_rotary_scores_stay_while_both_slide_unless_layouts_are_mixed(opened, page_path, show):
    with opened(page_path) as page:
        show(page, "positions?vectors=random&lag=30&keyAt=700")
        assert reading(page, "score") == reading(page, "score-at-zero")
        page.locator("#positions label", has_text="mixed").click()
        assert float(reading(page, "score-gap").replace("−", "-")) > 0.01
        assert page.locator("#rotary-factor").is_disabled()
        page.locator("#positions label", has_text="YaRN").click()
        assert page.locator("#rotary-original").is_enabled()


def test_the_live_figure_of_mixed_layouts_shows_the_difference(opened, page_path, show):
    with opened(page_path) as page:
        show(page, MIXED_LAYOUTS.demonstration)
        assert float(reading(page, "score-gap")) > 0.1


def test_the_page_stands_still_while_the_key_jitters(opened, page_path, show):
    with opened(page_path) as page:
        show(page, "swing")
        heights = set()
        for gamma in ("-0.64", "1.00", "2.31"):
            page.locator("[data-show=gamma]").evaluate("(place, text) => { place.textContent = text; }", gamma)
            heights.add(page.evaluate("document.querySelector('#swing .stage').getBoundingClientRect().height"))
        assert len(heights) == 1


def test_claims_are_found_and_opened_and_lead_to_their_live_figure(opened, page_path, show):
    with opened(page_path) as page:
        show(page, "verdicts")
        page.wait_for_selector("#claim-title")
        page.locator("#verdicts-search").fill("swing")
        page.locator("#verdicts-list button", has_text="one-head-swings").click()
        assert page.evaluate("document.activeElement.id") == "claim-title"
        assert page.locator("#verdicts-card .chart svg").is_visible()
        page.locator("#verdicts-card a", has_text="live").click()
        assert page.locator("#swing").is_visible()
        assert page.evaluate("document.activeElement.textContent") == "One head or two"
        page.go_back()
        page.wait_for_selector("#verdicts:visible")


def test_the_derivation_is_gone_through_step_by_step(opened, page_path, show):
    with opened(page_path, width=1280) as page:
        show(page, "sheet")
        assert reading(page, "which").startswith("Step 1 of ")
        page.locator("#sheet-slip").click()
        assert "refuted" in page.locator("#sheet-card").inner_text()
        assert "0.2023" in page.locator("#sheet-card").inner_text()
        place = reading(page, "which")
        page.locator("#sheet-next").click()
        assert reading(page, "which") != place
        page.locator("#sheet .step").first.focus()
        page.keyboard.press("Enter")
        assert reading(page, "which").startswith("Step 1 of ")
        page.locator("#sheet-live").click()
        assert page.locator("#copy [data-value=beta]").inner_text() == "5.00"


def test_the_theme_changes_what_is_painted_on_canvases(opened, page_path, show):
    with opened(page_path) as page:
        show(page, "positions")
        before = page.locator("#sinusoid-map").screenshot()
        page.locator(".theme").click()
        assert page.locator("#sinusoid-map").screenshot() != before
