import base64
import hashlib
import html as escaping
import re
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import hostile_text as hostile
from page_checks import check_self_contained
from regard.derivations.reading.document import Range
from regard.derivations.report.page import render_document
from regard.derivations.results import STANDINGS, Role
from regard.render.page import Page as ReportPage
from regard.render.page import render_page

TEXT = r"""---
# 1.(b) An average of two

Take $q = k_a + k_b$, **where** $x = 1$; see ![the plot of $y = 2$](https://example.org/plot.png).

> $$k_a^\top q = 1 = \frac{1}{2}$$

| key | score |
|---:|---|
| $a$ | $s = 3$ |

1. first $u = v$
2. 能，见 [here](https://example.org/x).

```python
z = 1
```
"""
STEPS = {
    "refuted": ["q = k_a + k_b", "s = 3"],
    "holds": ["x = 1", "k_a^\\top q = 1"],
    "undecided": ["= \\frac{1}{2}", "能"],
}
LATEX = r"""\documentclass{article}
\begin{document}
\section*{1.(b) \emph{Average}} % a comment
Take $q = k_a$ with \textbf{care \emph{here}}: 50\% of it.
\begin{itemize}
\item one $$x = 1$$ two
\item[(ii)] <b>three</b>
\end{itemize}
\end{document}
"""


def test_the_page_is_well_formed_and_loads_nothing(judged):
    source = render_document(judged(TEXT, **STEPS))
    page = check_self_contained(source)
    assert not page.tags("img")
    assert "https://example.org" not in "".join(
        value for _, attributes in page.elements for value in attributes.values()
    )


@pytest.mark.parametrize("kind", ["markdown", "latex", "notebook", "text"])
@pytest.mark.parametrize("text", [TEXT, LATEX])
def test_every_kind_of_document_makes_a_page(judged, kind, text):
    steps = STEPS if text is TEXT else {"refuted": ["q = k_a"], "holds": ["x = 1"]}
    document = judged(text, kind=kind, **steps)
    page = check_self_contained(render_document(document))
    assert {verdict.id for verdict in document.verdicts} <= marked(page)


def marked(page) -> set[str]:
    return {
        name for attributes in page.with_attribute("data-verdicts") for name in attributes["data-verdicts"].split(" ")
    }


def test_every_mark_can_be_focused_and_says_why(judged):
    document = judged(TEXT, **STEPS)
    source = render_document(document)
    page = check_self_contained(source)
    steps = [attributes for attributes in page.with_attribute("data-verdicts") if "tabindex" in attributes]
    ids = {attributes["id"] for attributes in page.with_attribute("id")}
    assert sorted(step["data-verdicts"] for step in steps) == sorted(verdict.id for verdict in document.verdicts)
    assert all(step["tabindex"] == "0" and step["aria-describedby"] in ids for step in steps)
    assert all(re.search("refuted|holds|undecided", step["aria-label"]) for step in steps)
    assert page.text.count("n = 10: 0.2023, not 0.5") >= 2 * len(STEPS["refuted"])
    assert len(page.with_attribute("data-verdict")) == len(document.verdicts), "and each has a row in the table"


def test_a_step_has_an_icon_not_just_a_colour(judged):
    source = render_document(judged(TEXT, **STEPS))
    for name in ("refuted", "holds", "undecided"):
        assert re.search(rf'class="step {name}[^>]*>.*?#icon-{name}', source, re.DOTALL)
    assert all(f'id="icon-{name}"' in source for name in STANDINGS)


def test_each_step_of_a_chain_is_marked_on_its_own(judged):
    source = render_document(judged("$a = b = c$", holds=["a = b"], refuted=["= c"]))
    holds, refuted = re.findall(r'<span class="step (?:holds|refuted)".*?</math>', source, re.DOTALL)
    assert "<mi>a</mi><mo>=</mo><mi>b</mi>" in holds
    assert "<mo>=</mo><mi>c</mi>" in refuted
    assert "<mi>a</mi>" not in refuted


def test_a_step_of_two_cells_has_one_card(judged):
    source = render_document(
        judged(r"$$\begin{aligned} Q &= XW \\ &= PQ \end{aligned}$$", holds=["Q &= XW"], refuted=["= PQ"])
    )
    page = check_self_contained(source)
    spans = page.with_attribute("data-verdicts")
    assert [("tabindex" in span, span["data-verdicts"]) for span in spans] == [
        (False, "1b/1"),
        (True, "1b/1"),
        (True, "1b/2"),
    ]


def test_a_step_that_has_no_place_in_the_prose_is_still_in_the_table(judged):
    hidden = {"comments": (Range(start=0, end=16),)}
    report = judged("<!-- $x = 1$ --> and [a]($y = 2$)", refuted=["x = 1"], holds=["y = 2"], document=hidden)
    page = check_self_contained(render_document(report))
    assert {attributes["data-verdict"] for attributes in page.with_attribute("data-verdict")} == {"1b/1", "1b/2"}


def test_what_is_hidden_is_not_shown(judged):
    hidden = {"front_matter": Range(start=0, end=6)}
    page = check_self_contained(render_document(judged("secret\n\nshown $x = 1$", holds=["x = 1"], document=hidden)))
    assert "secret" not in page.text
    assert "shown" in page.text


def test_the_margin_names_every_question(judged):
    page = check_self_contained(render_document(judged(TEXT, **STEPS)))
    for question in judged(TEXT).questions:
        assert question.title in page.text
    assert "prose, not judged; see sinusoid-unique" in page.text
    assert "6 steps, 100 % understood" in page.text


def test_a_document_without_formulas_is_not_said_to_be_understood(judged):
    page = check_self_contained(render_document(judged("Words only.")))
    assert "No formulas found" in page.text
    assert "understood" not in page.text.replace("not understood", "")


@pytest.mark.parametrize("role", [Role.ASSERTION, Role.WANTED, Role.DENIAL, Role.INDEX])
def test_the_card_names_the_role(judged, role):
    source = render_document(judged(TEXT, holds=["x = 1"], extra={"role": role}))
    assert f'<span class="which">1b/1 · {role.value}</span>' in source


def test_a_doubtful_step_has_a_softer_mark_than_another_undecided_one(judged):
    doubtful = render_document(judged(TEXT, undecided=["x = 1"], extra={"outcome": "doubtful"}))
    assert '<span class="step undecided doubtful" id="step-1"' in doubtful
    assert "<b>doubtful</b>" in doubtful
    unread = render_document(judged(TEXT, undecided=["x = 1"], extra={"outcome": "not understood"}))
    assert '<span class="step undecided" id="step-1"' in unread
    styles = (resources.files("regard.render") / "assets" / "steps.css").read_text(encoding="utf-8")
    assert ".step.doubtful > .marked" in styles


def test_a_page_says_its_language_its_title_and_its_landmarks(judged):
    source = render_document(judged(TEXT, path="dir/<odd> name.md", **STEPS))
    page = check_self_contained(source)
    tags = [tag for tag, _ in page.elements]
    assert page.elements[0] == ("html", {"lang": "en"})
    assert [tags.count(name) for name in ("title", "main", "nav", "h1")] == [1, 1, 1, 1]
    assert "<title>&lt;odd&gt; name.md · 2 steps refuted</title>" in source
    assert 'lang="zh"' in render_document(judged("设键两两正交，长度为一。$x = 1$", holds=["x = 1"]))
    levels = [int(tag[1]) for tag in tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert min(levels[1:]) == 2


def test_the_policy_allows_just_this_style_and_this_script():
    source = render_page(ReportPage(title="t", main="<p>x</p>"))
    check_self_contained(source)
    policy = escaping.unescape(re.search('Security-Policy" content="([^"]*)"', source)[1])
    for tag in ("style", "script"):
        content = re.search(f"<{tag}>(.*?)</{tag}>", source, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")


def test_no_asset_names_another_place():
    for asset in resources.files("regard.render").joinpath("assets").iterdir():
        assert not re.search(
            r"https?://|url\(|@import|fetch\(|XMLHttp|innerHTML|eval\(", asset.read_text(encoding="utf-8")
        )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    st.lists(st.sampled_from([*hostile.PROSE, *(f"${formula}$" for formula in hostile.FORMULAS)]), max_size=12),
    st.lists(st.sampled_from(hostile.FORMULAS), max_size=5),
    st.sampled_from(["markdown", "latex", "text", "notebook"]),
)
@example([*hostile.PROSE], [*hostile.FORMULAS], "markdown")
@example([*hostile.PROSE], [*hostile.FORMULAS], "latex")
def test_a_hostile_document_is_shown_and_never_run(judged, pieces, formula, kind):
    said = {"reason": "".join(pieces), "role": Role.DESIGN}
    text = f"{''.join(pieces)}\n\n$a = b {''.join(formula)}$"
    document = judged(text, path="".join(pieces) or "x", kind=kind, refuted=["a = b"], extra=said)
    source = render_document(document)
    page = check_self_contained(source)
    assert "1b/1" in {attributes["data-verdict"] for attributes in page.with_attribute("data-verdict")}
    source.encode("utf-8")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.text(max_size=120), st.sampled_from(["markdown", "latex", "text"]), st.data())
def test_any_text_with_marks_anywhere_makes_a_page(judged, text, kind, data):
    report = judged(f"{text} $x = 1$ {text}", kind=kind, holds=["x = 1"])
    moved = []
    for verdict in report.verdicts * 3:
        start = data.draw(st.integers(0, len(report.document.text)))
        end = data.draw(st.integers(start, len(report.document.text)))
        moved.append(replace(verdict, span=(start, end)))
    page = check_self_contained(render_document(replace(report, verdicts=tuple(moved))))
    assert len(page.with_attribute("data-verdict")) == 3


# -- what is shared ----------------------------------------------------------------------------------------------------
def test_assets_are_short():
    for asset in Path(str(resources.files("regard.render").joinpath("assets"))).iterdir():
        assert len(asset.read_text(encoding="utf-8").splitlines()) < 300


@pytest.mark.parametrize(
    "flaw",
    [
        "<p><div></div></p>",
        "<p>",
        "</p>",
        "<b><i></b></i>",
        '<p onclick="x()">y</p>',
        '<a href="https://example.org">x</a>',
        '<a href="javascript:x">x</a>',
        '<a href="#nowhere">x</a>',
        '<p style="color: red">x</p>',
        "<script>x()</script>",
        "<img>",
        '<p id="main">x</p>',
        "<!-- x -->",
    ],
)
def test_the_reader_of_pages_sees_every_flaw(flaw):
    with pytest.raises(AssertionError):
        check_self_contained(render_page(ReportPage(title="t", main=flaw)))
