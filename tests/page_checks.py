"""A strict reader of our own pages: whatever is not ours, or not nested as HTML asks, is an error."""

import re
from html.parser import HTMLParser

VOID = {"meta", "input", "br", "hr", "wbr"}
MATHEMATICS = set(
    """math mrow mi mn mo mtext ms mspace mfrac msub msup msubsup munder mover munderover msqrt mroot mstyle mtable mtr
    mtd mphantom mpadded""".split()
)
KNOWN = (
    MATHEMATICS
    | VOID
    | set(
        """html head title style body a svg symbol path circle use rect div nav span button section p b i ul ol li
        details summary fieldset legend label main header h1 h2 h3 h4 h5 h6 article script table thead tbody tr th td
        tfoot code pre blockquote em strong s kbd figure figcaption desc text tspan g dl dt dd sub sup""".split()
    )
)
PHRASING_ONLY = set("p span h1 h2 h3 h4 h5 h6 b em strong code i s a label".split())
BLOCKS = set("p div ul ol li table pre blockquote h1 h2 h3 h4 h5 h6 article hr".split())
ATTRIBUTES = set(
    """lang charset http-equiv content name class href id aria-hidden focusable viewbox d cx cy r type aria-label
    tabindex aria-pressed role aria-describedby data-verdicts data-verdict data-for x y width height open checked
    preserveaspectratio disabled scope title start displaystyle stretchy fence form accent accentunder movablelimits
    text-anchor transform dy hidden placeholder aria-labelledby data-value colspan
    scriptlevel depth lspace rspace minsize maxsize linethickness voffset mathvariant""".split()
)


class Page(HTMLParser):
    """The elements of a page, in order, as (tag, attributes); `text` is what a reader sees."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(source)
        self.close()
        assert not self._open, f"left open: {self._open}"

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert tag in KNOWN, f"<{tag}>"
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice: {names}"
        assert set(names) <= ATTRIBUTES, f"<{tag}> has {set(names) - ATTRIBUTES}"
        inside = next((outer for outer in reversed(self._open) if outer in PHRASING_ONLY), None)
        assert not (inside and tag in BLOCKS), f"<{tag}> inside <{inside}>"
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open, f"</{tag}> closes nothing"
        assert self._open[-1] == tag, f"</{tag}> closes <{self._open[-1]}>"
        self._open.pop()

    def handle_data(self, data):
        if not {"script", "style"} & set(self._open):
            self.text += data

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    def with_attribute(self, name: str) -> list[dict[str, str]]:
        return [attributes for _, attributes in self.elements if name in attributes]

    def tags(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]


def check_self_contained(source: str) -> Page:
    """Reads the page, and asserts that it loads nothing and runs nothing but its own script."""
    page = Page(source)
    assert all(attributes["href"].startswith("#") for attributes in page.with_attribute("href"))
    assert len(page.tags("script")) == len(page.tags("style")) == 1
    ids = [attributes["id"] for attributes in page.with_attribute("id")]
    assert len(ids) == len(set(ids)), "ids are unique"
    targets = {attributes["href"][1:] for attributes in page.with_attribute("href")}
    assert targets <= set(ids), f"links that lead nowhere: {targets - set(ids)}"
    style = re.search("<style>(.*?)</style>", source, re.DOTALL)
    assert style
    assert not re.search(r"url\(|@import|https?:", style[1])
    return page
