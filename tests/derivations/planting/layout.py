"""A document around derivations: headings, prose in English or Chinese, formulas in the line or on their own."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from derivations.planting.chains import Chain, Derivation
from derivations.planting.terms import Symbol
from derivations.planting.writing import Hand, write

LEADS = {
    "en": ("Then", "So", "This gives", "We get", "Hence", "It follows that", "Also,", "Next,"),
    "zh": ("于是", "因此", "得到", "所以", "同时", "接着有", "代入得"),
}
DESIGNS = {"en": ("I take", "Take", "Choose", "My choice:"), "zh": ("取", "选择", "令")}
GIVENS = {"en": ("We know", "Recall"), "zh": ("题目给出", "已知")}
LARGE = {"en": " with a large ", "zh": "，其中系数很大："}
TASKS = {"en": "Task: find what is asked for, and justify it.", "zh": "题目：求出答案并说明理由。"}
STOPS = {"en": ".", "zh": "。"}
FORMS = ("assignment", "numbered", "answered", "parts", "title", "none")
LAYOUTS = ("display", "inline", "aligned", "continued", "list", "quoted", "worded", "joined")
LONG_CHAINS = ("aligned", "continued")
INLINE = (("$", "$"), (r"\(", r"\)"))
DISPLAY = (("$$", "$$"), ("$$\n", "\n$$"), (r"\[ ", r" \]"), ("```math\n", "\n```"))


@dataclass(frozen=True, kw_only=True)
class Written:
    """A step where it stands: the line and column of its sign. Conditions on indices are steps of no chain."""

    line: int
    column: int
    derivation: str = ""
    chain: int = -1
    step: int = -1


@dataclass(frozen=True, kw_only=True)
class Page:
    """A document and the places of all its signs, in reading order."""

    text: str
    steps: tuple[Written, ...]

    def find(self, derivation: str, chain: int, step: int) -> Written:
        return next(s for s in self.steps if (s.derivation, s.chain, s.step) == (derivation, chain, step))


@dataclass(kw_only=True)
class _Pen:
    """Writes a document from top to bottom and remembers where the signs are."""

    rng: np.random.Generator
    hand: Hand
    language: str
    text: str = ""
    is_open: bool = False
    signs: list[tuple[int, str, int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.inline = INLINE[self.rng.integers(len(INLINE))]
        self.display = DISPLAY[self.rng.integers(len(DISPLAY))]

    def choose(self, options: Sequence[str]) -> str:
        return options[self.rng.integers(len(options))]

    def block(self, *, is_item: bool = False) -> None:
        """An empty line, or none between two items of a list."""
        last = self.text.rstrip("\n").rpartition("\n")[2]
        gap = "\n" if is_item and last.startswith("- ") else "\n\n"
        self.text = self.text.rstrip("\n") + (gap if self.text else "")

    def sign(self, sign: str, derivation: str = "", chain: int = -1, step: int = -1) -> None:
        self.signs.append((len(self.text), derivation, chain, step))
        self.text += sign

    def page(self) -> Page:
        return Page(text=self.text + "\n", steps=tuple(self._steps()))

    def _steps(self) -> Iterator[Written]:
        for offset, derivation, chain, step in self.signs:
            line = self.text.count("\n", 0, offset) + 1
            column = offset - (self.text.rfind("\n", 0, offset) + 1) + 1
            yield Written(line=line, column=column, derivation=derivation, chain=chain, step=step)


def lay_out(derivations: Sequence[Derivation], rng: np.random.Generator) -> Page:
    """The document; how it looks depends on `rng` alone, so a changed term changes nothing else."""
    pen = _Pen(rng=rng, hand=Hand.draw(rng), language="en" if rng.random() < 0.5 else "zh")
    form = pen.choose([form for form in FORMS if all(_fits(form, derivation) for derivation in derivations)])
    if len(derivations) > 1 and form == "none":
        form = "assignment"
    previous: Derivation | None = None
    for derivation in derivations:
        pen.is_open = False
        _heading(pen, derivation, form, previous)
        pen.text += derivation.opening[pen.language]
        for place, chain in enumerate(derivation.chains):
            _chain(pen, chain, derivation.name, place)
        previous = derivation
    return pen.page()


def _fits(form: str, derivation: Derivation) -> bool:
    if form == "none":
        return derivation.stands_alone
    if form == "title":
        # The parts of 1c and of 1d are about different keys, which a bare title leaves open.
        return derivation.number[2:] != ("ii",) and derivation.number[:2] not in (("1", "c"), ("1", "d"))
    if form in ("numbered", "answered"):
        return derivation.number[0] != "3"
    return form == "assignment" or derivation.subject != "subspaces"


def _heading(pen: _Pen, derivation: Derivation, form: str, previous: Derivation | None) -> None:
    part, letter, *rest = derivation.number
    roman = rest[0] if rest else None
    is_new_part = previous is None or previous.number[0] != part
    is_new_question = is_new_part or previous is None or previous.number[:2] != derivation.number[:2]
    pen.block()
    if form == "parts":
        lines = [f"## Part {part}"] * is_new_part + [f"### {letter}"] * is_new_question
        lines += [f"#### {roman}"] if roman else []
        pen.text += "\n\n".join(lines) + "\n\n"
        return
    numbered = f"### Q{part}-{'abcdefg'.index(letter) + 1}. {derivation.title}"
    titles = {
        "assignment": f"{part}.({letter}) {derivation.title}",
        "numbered": numbered,
        "answered": f"{numbered}\n\n*{TASKS[pen.language]}*\n\nMy answer:",
        "title": f"## {derivation.title}",
    }
    if form in titles and is_new_question:
        pen.text += titles[form] + "\n\n"
    if roman and form not in ("title", "none"):
        pen.text += f"{roman}." + ("\n\n" if form == "assignment" else " ")


def _chain(pen: _Pen, chain: Chain, derivation: str, place: int) -> None:
    layout = pen.choose([layout for layout in LAYOUTS if _suits(layout, chain, pen)])
    leads = {"step": LEADS, "design": DESIGNS, "given": GIVENS}[chain.role]
    lead = pen.choose(leads[pen.language])
    if layout in ("inline", "list", "quoted"):
        pen.block(is_item=layout == "list")
        opening = f"{lead} " if pen.language == "en" else lead
        pen.text += {"inline": opening, "list": "- ", "quoted": f"> {opening}"}[layout]
        _in_line(pen, chain, derivation, place)
    elif layout == "joined":
        pen.text = pen.text.removesuffix(pen.display[1]) + r", \qquad "
        _displayed(pen, chain, derivation, place, layout)
    else:
        pen.block()
        if layout != "worded":
            pen.text += lead.rstrip(",") + (":" if pen.language == "en" else "：") * (not lead.endswith(":"))
            pen.block()
        pen.text += pen.display[0] + rf"\text{{{lead} }}" * (layout == "worded")
        _displayed(pen, chain, derivation, place, layout)
    pen.is_open = layout in ("display", "joined") and chain.condition is None


def _suits(layout: str, chain: Chain, pen: _Pen) -> bool:
    if layout == "joined":
        return pen.is_open and chain.condition is None
    return len(chain.signs) > 1 or layout not in LONG_CHAINS


def _in_line(pen: _Pen, chain: Chain, derivation: str, place: int) -> None:
    opens, closes = pen.inline
    pen.text += opens + write(chain.sides[0], pen.hand)
    for step, sign in enumerate(chain.signs):
        _step(pen, sign, derivation, place, step)
        pen.text += write(chain.sides[step + 1], pen.hand)
    pen.text += closes
    if chain.condition:
        pen.text += (" for " if pen.language == "en" else "，") + opens
        _condition(pen, chain.condition)
        pen.text += closes
    if chain.role == "design" and chain.sides[0] == Symbol("q"):
        pen.text += LARGE[pen.language] + opens + pen.hand.scale + closes
    pen.text += STOPS[pen.language]


def _step(pen: _Pen, sign: str, derivation: str, place: int, step: int, *, before: str = " ") -> None:
    pen.text += before
    pen.sign(pen.hand.sign(sign), derivation, place, step)
    pen.text += " "


def _displayed(pen: _Pen, chain: Chain, derivation: str, place: int, layout: str) -> None:
    opens, closes = pen.display
    is_aligned = layout == "aligned"
    pen.text += r"\begin{aligned} " * is_aligned + write(chain.sides[0], pen.hand)
    for step, sign in enumerate(chain.signs):
        if layout == "continued" and step:
            pen.text += f"{closes}\n\n{opens}"
        before = {"aligned": r" \\ &" if step else " &", "continued": "" if step else " "}.get(layout, " ")
        _step(pen, sign, derivation, place, step, before=before)
        pen.text += write(chain.sides[step + 1], pen.hand)
    if chain.condition:
        pen.text += r", \quad "
        _condition(pen, chain.condition)
    pen.text += r" \end{aligned}" * is_aligned + closes


def _condition(pen: _Pen, condition: str) -> None:
    left, sign, right = condition.split(" ", 2)
    pen.text += left + " "
    pen.sign(sign)
    pen.text += " " + right
