"""One false edit at a time: steps that hold are changed so that they are false, and the judge must notice.

    python bench/verify_edits.py --edits 600 --list

Steps that hold in the labelled sheets (and in the samples beside the project, if they are there) get one edit each: an
index, sign, constant, transpose, factor or relation is changed in the text. An edit counts only if it is really false.
That is decided without the judge, by numpy in random worlds (`tests/derivations/planting`): the step was true there and
is false now; or what was edited has another value, so that it can't equal the other side as well; or a relation that
holds was turned into its opposite. The edited document is then judged, and the verdict on the edited step counted.
"""

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from derivations.labelled import labels_of, paired  # noqa: E402
from derivations.planting.formula_values import formula, like, value  # noqa: E402
from derivations.planting.truth import Pair, Truth, truth_of_pair  # noqa: E402
from derivations.planting.values import World  # noqa: E402
from derivations.planting.worlds import SUBJECTS, Subject, attended  # noqa: E402
from regard.core.processes import Ended  # noqa: E402
from regard.core.worker_pool import PoolLimits, run_tasks  # noqa: E402
from regard.derivations.notation.signs import relation_signs  # noqa: E402
from regard.derivations.notation.syntax import Expression, symbols  # noqa: E402
from regard.derivations.problems.problem import load_problem  # noqa: E402
from regard.derivations.reading.document import DocumentKind  # noqa: E402
from regard.derivations.reading.files import KINDS, read_text  # noqa: E402
from regard.derivations.results import DocumentReport, Role, StepVerdict  # noqa: E402
from regard.derivations.verify import judge_document  # noqa: E402

PROBLEM = "cs224n-a4"
SHEETS = ROOT / "tests" / "derivations"
SAMPLES = ROOT.parent / "shared" / "samples"
LEAST_REFUTED, LEAST_NOTICED = 0.80, 0.95
OUTCOMES = ("refuted", "doubtful", "undecided", "not a claim", "holds", "lost")

# No sheet of the tests answers the question on self-attention of the older edition.
SELF_ATTENTION = r"""
1.(e) Key-query-value self-attention

i. Here $k_2^\top q_2 = u_a^\top u_a = \beta^2$, $k_1^\top q_2 = 0$ and $k_3^\top q_2 = 0$, so $c_2 \approx u_a$.
For the first one $k_1^\top q_1 = 2\beta^2$, $k_2^\top q_1 = 0$ and $k_3^\top q_1 = u_b^\top u_b = \beta^2$,
so $c_1 \approx u_d + u_b$. Likewise $k_3^\top q_3 = 2\beta^2$ and $c_3 \approx u_c + u_b$.

ii. Let $K = I$, $Q = \frac{1}{\beta^2}(u_d u_a^\top + u_c u_d^\top)$ and
$V = \frac{1}{\beta^2}(u_b u_b^\top - u_c u_c^\top)$. Then $v_1 = u_b$, $v_2 = 0$ and $v_3 = u_b - u_c$.
"""


# -- worlds ------------------------------------------------------------------------------------------------------------
def _self_attention(*, has_matrices: bool, scale: float, rng: np.random.Generator) -> World:
    units = np.linalg.qr(rng.normal(size=(7, 4)))[0].T[:, :, None]
    u = scale * units
    a, b, c, d = u
    inputs = np.stack([d + b, a, c + b])
    keys = queries = values = inputs
    if has_matrices:
        queries = (d @ a.T + c @ d.T) / scale**2 @ inputs
        values = (b @ b.T - c @ c.T) / scale**2 @ inputs
    scores = queries[:, :, 0] @ keys[:, :, 0].T
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    outputs = (powers / powers.sum(axis=1, keepdims=True)) @ values[:, :, 0]
    families = {"k": keys, "q": queries, "v": values, "x": inputs, "c": outputs[:, :, None]}
    known = {f"{name}_{number + 1}": family[number] for name, family in families.items() for number in range(3)}
    return World(values=known | {"mu": u, "scale": scale}, places=dict(zip("abcd", range(4), strict=True)), lengths={})


def _self_attention_subject(*, has_matrices: bool) -> Subject:
    def at(scale: float, rng: np.random.Generator) -> World:
        return _self_attention(has_matrices=has_matrices, scale=scale, rng=rng)

    return Subject(
        draw=lambda rng: at(rng.uniform(0.6, 1.9), rng),
        drive=lambda rng: [[at(scale, rng) for scale in (6.0, 8.0, 10.0)]],
    )


WORLDS: Mapping[str, Subject] = {
    "1a": SUBJECTS["copying"],
    "1b": SUBJECTS["keys"],
    "1b.subspace": SUBJECTS["subspaces"],
    "1c.i": SUBJECTS["noisy keys"],
    "1c.ii": SUBJECTS["one long key"],
    "1d.i": SUBJECTS["two heads"],
    "1d.ii": SUBJECTS["two heads, one long key"],
    "1e.i": _self_attention_subject(has_matrices=False),
    "1e.ii": _self_attention_subject(has_matrices=True),
    "2a.i": SUBJECTS["layer"],
    "2a.ii": SUBJECTS["layer"],
    "2b.i": SUBJECTS["sinusoids"],
    "2b.ii": SUBJECTS["sinusoids"],
    "3g.i": SUBJECTS["rotations"],
    "3g.ii": SUBJECTS["rotations"],
}
WITH_GAMMA = ("1c.ii", "1d.ii")  # elsewhere γ may be anything, such as a scale
DESIGNED = ("q", "q_1", "q_2", "M")
# What depends on the query that a document chooses, which need not be that of the world.
_BY_DESIGN = ("q", "Q", "c", "w", "alpha", "z", "s", "p", "M")


# -- steps -------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class Step:
    """A step that holds, where it stands: `cut` is the offset of its sign, `before` the left side of a chain's step."""

    document: str
    kind: DocumentKind
    text: str
    verdict: StepVerdict
    sign: str = ""
    cut: tuple[int, int] = (0, 0)
    before: str = ""

    @property
    def question(self) -> str:
        """The id of the question in which it stands."""
        return self.verdict.question or ""

    @property
    def left(self) -> str:
        """What stands before the sign; in a later step of a chain, the right side of the step before it."""
        return self.text[self.verdict.span[0] : self.cut[0]].strip(" &\n") or self.before

    @property
    def right(self) -> str:
        """What stands after the sign."""
        return self.text[self.cut[1] : self.verdict.span[1]]


_SIGN = re.compile(r"\\x[a-z]+\s*(?:\[[^\]]*\])?\s*\{[^{}]*\}|\\not\s*\\?[a-zA-Z=]+|\\[A-Za-z]+|[<>]=|<<|>>|:=|.")


def steps_of(report: DocumentReport, kept: Iterable[StepVerdict]) -> Iterator[Step]:
    """The kept verdicts of a report whose text is as it was judged, each with one sign."""
    assert report.document is not None
    text, before, end = report.document.text, "", -1
    after_slips = {
        verdict.question for verdict in report.verdicts if verdict.role is Role.DESIGN and _is_refuted(verdict)
    }
    accepted = {id(verdict) for verdict in kept}
    for verdict in sorted(report.verdicts, key=lambda verdict: verdict.span):
        start, stop = verdict.span
        own = Step(document=report.file, kind=report.document.kind, text=text, verdict=verdict)
        if verdict.role is Role.CHOICE:
            if id(verdict) in accepted:
                yield own
            continue
        signs = relation_signs(text[start:stop])
        if text[start:stop] != verdict.source or len(signs) != 1:
            before = ""
            continue
        offset, meaning = signs[0]
        written = _SIGN.match(text, start + offset)
        assert written is not None
        is_linked = end >= 0 and re.fullmatch(r"[\s&\\]*", text[end:start]) is not None
        own = replace(own, sign=meaning, cut=(start + offset, written.end()), before=before if is_linked else "")
        before, end = own.right, stop
        is_after_slip = verdict.question in after_slips and _depends_on_design(own.left, own.right)
        if id(verdict) in accepted and not is_after_slip:
            yield own


def all_steps() -> Iterator[Step]:
    """Every step that holds and is true: by its label in the sheets, by the judge alone in the samples."""
    problem = load_problem(PROBLEM)
    for folder in sorted(SHEETS.glob("set_*")):
        for name, labels in labels_of(folder.name).items():
            path = folder / name
            if path.suffix != ".ipynb":
                report = judge_document(
                    read_text(path.read_bytes().decode("utf-8-sig"), kind=KINDS[path.suffix], path=name), problem
                )
                true = [
                    verdict
                    for label, verdict in paired(labels, report.verdicts)
                    if label["truth"] == "true" and verdict
                ]
                yield from steps_of(report, [verdict for verdict in true if _holds(verdict)])
    texts = {path.name: path.read_text(encoding="utf-8-sig") for path in sorted(SAMPLES.glob("*.md"))}
    for name, text in {"self-attention": SELF_ATTENTION, **texts}.items():
        report = judge_document(read_text(text, path=name), problem)
        yield from steps_of(report, filter(_holds, report.verdicts))


def _is_refuted(verdict: StepVerdict) -> bool:
    return verdict.status == "refuted"


def _holds(verdict: StepVerdict) -> bool:
    return verdict.status in ("holds", "proved") and verdict.role.is_claim


# -- edits -------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Rule:
    """Replaces one match of a pattern in a side of a step; `new` may refer to its groups."""

    kind: str
    pattern: str
    new: str

    def edits(self, source: str) -> Iterator[str]:
        """The side with each match replaced in turn."""
        for found in re.finditer(self.pattern, source):
            yield source[: found.start()] + found.expand(self.new) + source[found.end() :]


_SCALE = r"(?:\\beta|\\lambda|β|λ)(?![a-zA-Z])\s*"
_FRACTION = r"\\[dt]?frac\s*\{((?:[^{}]|\{[^{}]*\})*)\}\s*\{((?:[^{}]|\{[^{}]*\})*)\}"
_END = r"(?![a-zA-Z0-9])"
RULES = (
    Rule("a for b", rf"_(?:\{{a\}}|a{_END})", "_b"),
    Rule("a for b", rf"_(?:\{{b\}}|b{_END})", "_a"),
    Rule("a for b", "ₐ", "_b"),
    Rule("indices exchanged", rf"_(?:\{{i\}}|i{_END})", "_j"),
    Rule("indices exchanged", rf"_(?:\{{j\}}|j{_END})", "_i"),
    Rule("indices exchanged", r"(?<=[a-zA-Z])_1(?!\d)", "_2"),
    Rule("indices exchanged", r"(?<=[a-zA-Z])_2(?!\d)", "_1"),
    Rule("transpose dropped", r"\^\s*(?:\{\s*)?(?:\\top|\\intercal|T(?![a-z])|\\rm T)(?:\s*\})?|ᵀ", ""),
    Rule("scale dropped", rf"(?<![{{^]){_SCALE}(?=[({{\\a-zA-Zγμ])", ""),
    Rule("factor dropped", r"(?:\\gamma|γ)(?![a-zA-Z])\s*(?=[\\a-zA-Z(βμ])", ""),
    Rule("factor dropped", r"(?<![a-zA-Z\\_{])P(?![_a-zA-Z^'])\s*(?=[A-Z\\(])", ""),
    Rule("factor dropped", r"(?<![\d.^_{])[2-9]\s*(?=[\\a-z(])", ""),
    Rule("sign changed", r"(?<=[\w})ₐ])\s*\+\s*", " - "),
    Rule("sign changed", r"(?<=[\w})ₐ])\s*[-−]\s*", " + "),
    Rule("sign changed", r"(?<=\^\{)-", ""),
    Rule("sign changed", r"^\s*(?=[\w\\ ½βγ])(?!\s*0)", " -"),
    Rule("constant changed", r"(?<![\d._^{\w])1(?![\d.])", "2"),
    Rule("constant changed", r"(?<![\d._^])2(?![\d.])", "3"),
    Rule("constant changed", r"(?<![\d._])(?=\d\.\d)", "1"),
    Rule("exponent changed", r"\^2(?!\d)|\^\{2\}", "^3"),
    Rule("exponent changed", r"²", "³"),
    Rule("exponent changed", rf"\^(\{{?)({_SCALE})", r"^\g<1>2\2"),
    Rule("n - 2 to n - 1", r"n\s*[-−]\s*2", "n - 1"),
    Rule("½ to ⅓", r"\\([dt]?)frac\s*12|\\([dt]?)frac\{1\}\{2\}", r"\\frac{1}{3}"),
    Rule("½ to ⅓", "½", "⅓"),
    Rule("fraction inverted", _FRACTION, r"\\frac{\2}{\1}"),
    Rule("0 to 1", r"^\s*0\s*$", " 1"),
    Rule("1 to 0", r"^\s*1\s*$", " 0"),
    Rule("exp dropped", r"(?<![a-zA-Z])\\?(?:exp)(?=\s*(?:\\left)?\()", ""),
    Rule("exp dropped", r"(?<![a-zA-Z])(?:\\mathrm\{e\}|e)\^(\{[^{}]*\}|\\[a-z]+)", r"\1"),
    Rule("permuted for unpermuted", r"_\{(?:\\text|\\mathrm)?\{?perm\}?\}|_\{?p\}?(?![a-z])|'(?=\s*[A-Z=^_]|$)", ""),
    Rule("root dropped", r"\\sqrt\s*(\{?\w\}?)", r"\1"),
    Rule("cosine for sine", r"\\sin(?![a-z])", r"\\cos"),
    Rule("cosine for sine", r"\\cos(?![a-z])", r"\\sin"),
    Rule("product reversed", r"([A-Z])\s*\1\^(\\top|T|\{T\}|\{\\top\})", r"\1^\2 \1"),
    Rule("product reversed", r"(?<![A-Za-z_\\^])([PQKVXHAM])\s*([QKVXHAMs])(?![A-Za-z_'^])", r"\2\1"),
    Rule("term dropped", r"\s*[+-]\s*(?:\\mathbf\s*\{?1\}?\s*b_[12]|\(?n\s*-\s*2\)?)", ""),
    Rule("conjugate dropped", r"\\(?:bar|overline)\s*(\{[^{}]*\}|[a-z])", r"\1"),
)
CLOSED_FORMS = ("n - 2 to n - 1", "constant changed")
_OPPOSITES = (
    (">", "<"),
    ("<", ">"),
    ("≫", r"\ll "),
    ("≪", r"\gg "),
    ("≥", "<"),
    ("≤", ">"),
    ("=", r"\neq "),
    ("≠", "="),
)
_ANSWERS = {"Yes": "No", "No": "Yes", "能": "不能", "不能": "能", "是": "否", "否": "是", "Oui": "Non", "Non": "Oui"}
_ANSWERS |= {"Ja": "Nein", "Nein": "Ja"}
KINDS_OF_EDIT = (*dict.fromkeys(rule.kind for rule in RULES), "relation turned round", "= to ≠", "≠ to =", "yes to no")


@dataclass(frozen=True, kw_only=True)
class Edit:
    """A step made false: the stretch from `start` on, `old`, is replaced by `new`."""

    kind: str
    step: Step
    start: int
    old: str
    new: str

    @property
    def document(self) -> str:
        """The whole text with the edit."""
        text = self.step.text
        return text[: self.start] + self.new + text[self.start + len(self.old) :]

    @property
    def written(self) -> str:
        """The edited step as it stands in the document."""
        start, stop = self.step.verdict.span
        return self.document[start : stop + len(self.new) - len(self.old)]


def edits_of(step: Step) -> Iterator[Edit]:
    """Every edit of a step that is surely false."""
    if step.verdict.role is Role.CHOICE:
        start, stop = step.verdict.span
        answer = step.text[start:stop]
        if answer in _ANSWERS:
            yield Edit(kind="yes to no", step=step, start=start, old=answer, new=_ANSWERS[answer])
        return
    yield from _turned_round(step)
    start = step.verdict.span[0]
    sides = {"right": (step.cut[1], step.right)}
    own_left = step.text[start : step.cut[0]]
    if own_left.strip(" &\n") and step.verdict.role is not Role.DESIGN:
        sides["left"] = (start, own_left)
    for side, (place, source) in sides.items():
        for rule in RULES:
            for new in rule.edits(source):
                if _is_false(step, side, source, new, is_closed_form=rule.kind in CLOSED_FORMS):
                    yield Edit(kind=rule.kind, step=step, start=place, old=source, new=new)


def _turned_round(step: Step) -> Iterator[Edit]:
    """The opposite of a relation that holds; ≠ only for an = that holds exactly."""
    start, stop = step.cut
    for sign, opposite in _OPPOSITES:
        if sign == step.sign and step.verdict.role is Role.ASSERTION:
            kind = {"=": "= to ≠", "≠": "≠ to ="}.get(sign, "relation turned round")
            if kind != "= to ≠" or _truth(step, step.left, step.right) == "true":
                yield Edit(kind=kind, step=step, start=start, old=step.text[start:stop], new=opposite)


# -- whether an edit is false ------------------------------------------------------------------------------------------
def _is_false(step: Step, side: str, old: str, new: str, *, is_closed_form: bool) -> bool:
    if step.verdict.role is Role.DESIGN:
        return _goal(step, old) == "true" and _goal(step, new) == "false"
    is_read = _names(new) <= _names(old) | set("abije")
    if not is_read or step.left in DESIGNED or step.sign not in ("=", "≈", "→", "<", ">"):
        return False
    sides = (step.left, new) if side == "right" else (new, step.right)
    before, after = _truth(step, step.left, step.right), _truth(step, *sides)
    if before in ("true", "limit"):
        # Another closed form is meant exactly: n - 1 for n - 2 is false, although it makes no difference in the limit.
        return after == "false" or is_closed_form and (before, after, step.sign) == ("true", "limit", "=")
    if step.sign in ("<", ">") or _depends_on_design(old, new):
        return False
    return _truth(step, old, old) == "true" and _truth(step, old, new) == "false"


def _names(source: str) -> set[str]:
    tree = _formula(source)
    return set() if tree is None else {symbol.name for symbol in symbols(tree)}


@cache
def _formula(source: str) -> Expression | None:
    return formula(source.replace("&", " ").strip().rstrip(".,;"))


def _depends_on_design(*sources: str) -> bool:
    return any(name.partition("^")[0] in _BY_DESIGN for source in sources for name in _names(source))


def _truth(step: Step, left: str, right: str) -> Truth:
    """Whether a relation between two formulas is true in the worlds of the step's question."""
    return _truth_of(step.question, left, step.sign, right)


@cache
def _truth_of(question: str, left: str, sign: str, right: str) -> Truth:
    first, second = _formula(left), _formula(right)
    if first is None or second is None or question not in WORLDS:
        return "unclear"
    if "gamma" in _names(left) | _names(right) and question not in WITH_GAMMA:
        return "unclear"

    def pair(world: World) -> tuple[np.ndarray, np.ndarray]:
        one, other = value(first, world), value(second, world)
        return like(one, other), like(other, one)

    return _decided(pair, "≈" if sign == "→" else sign, WORLDS[question])


def _decided(pair: Pair, sign: str, subject: Subject) -> Truth:
    try:
        return truth_of_pair(pair, sign, subject)
    except (ValueError, ArithmeticError, IndexError, np.linalg.LinAlgError):
        return "unclear"


def _goal(step: Step, design: str) -> Truth:
    """Whether a design reaches the goal of its question, if the other head is as in the world."""
    tree, name = _formula(design), re.sub(r"[{}\s&]", "", step.left)
    if tree is None:
        return "unclear"

    def retrieved(world: World) -> tuple[np.ndarray, np.ndarray]:
        a, b = (world.values["v"][world.places[letter]] for letter in "ab")
        found = attended(world, value(tree, world))
        if name in ("q_1", "q_2"):
            found = (found + world.values["c_2" if name == "q_1" else "c_1"]) / 2
        return found, (a + b) / 2

    def extracted(world: World) -> tuple[np.ndarray, np.ndarray]:
        product = value(tree, world)
        return like(product, np.eye(7)) @ world.values["s"], world.values["v_a"]

    goals = {"1b": ("q", retrieved), "1c.i": ("q", retrieved), "1d.i": ("q_1 q_2", retrieved)}
    goals["1b.subspace"] = ("M", extracted)
    names, pair = goals.get(step.question, ("", retrieved))
    if name not in names.split():
        return "unclear"
    return _decided(pair, "=" if name == "M" else "≈", WORLDS[step.question])


# -- judging -----------------------------------------------------------------------------------------------------------
def chosen_edits(number: int, rng: random.Random) -> list[Edit]:
    """At most one edit per step, questions in turn, always of the kind that is rarest so far."""
    by_question: dict[str, list[Step]] = {}
    for step in all_steps():
        by_question.setdefault(step.question, []).append(step)
    for steps in by_question.values():
        rng.shuffle(steps)
    kinds: Counter[str] = Counter()
    chosen: list[Edit] = []
    while len(chosen) < number and any(by_question.values()):
        for steps in by_question.values():
            found: Sequence[Edit] = ()
            while steps and not found:
                found = list(edits_of(steps.pop()))
            if found:
                rarest = min(kinds[edit.kind] for edit in found)
                chosen.append(rng.choice([edit for edit in found if kinds[edit.kind] == rarest]))
                kinds[chosen[-1].kind] += 1
    return chosen[:number]


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What the judge says of an edited step."""

    outcome: str
    reason: str


def judge(edit: Edit) -> Judged:
    """The verdict on the step that was edited; `lost` if there is none where it stands."""
    document = read_text(edit.document, kind=edit.step.kind, path=edit.step.document)
    verdicts = judge_document(document, load_problem(PROBLEM)).verdicts
    start = edit.step.verdict.span[0]
    there = [
        verdict
        for verdict in verdicts
        if verdict.span[0] <= edit.start + len(edit.new) and edit.start < verdict.span[1]
    ]
    if not there:
        return Judged(outcome="lost", reason="no verdict")
    verdict = min(there, key=lambda verdict: abs(verdict.span[0] - start))
    if verdict.role is Role.DESIGN and verdict.status != "refuted":
        # Two queries are one design: which of the two is blamed doesn't matter.
        pair = [other for other in verdicts if other.role is Role.DESIGN and other.question == verdict.question]
        verdict = next((other for other in pair if _is_refuted(other) and _is_near(other, verdict)), verdict)
    if verdict.is_doubtful:
        outcome = "doubtful"
    elif verdict.status in ("holds", "proved"):
        outcome = "holds" if verdict.role.is_claim else "not a claim"
    else:
        outcome = verdict.status
    return Judged(outcome=outcome, reason=f"{verdict.role}, {verdict.outcome}: {verdict.reason}")


def _is_near(one: StepVerdict, other: StepVerdict) -> bool:
    return one.where is not None and other.where is not None and abs(one.where.line - other.where.line) <= 2


def table(results: Sequence[tuple[Edit, Judged]], names: Sequence[str], name_of: Callable[[Edit], str]) -> list[str]:
    """A Markdown table: one row per name, one column per outcome."""
    lines = [f"| | edits | {' | '.join(OUTCOMES)} | refuted | noticed |", "|---" * (len(OUTCOMES) + 4) + "|"]
    for name in (*names, "all"):
        counts = Counter(judged.outcome for edit, judged in results if name in (name_of(edit), "all"))
        total = counts.total()
        if total:
            cells = " | ".join(str(counts[outcome]) for outcome in OUTCOMES)
            noticed = counts["refuted"] + counts["doubtful"]
            lines.append(f"| {name} | {total} | {cells} | {counts['refuted'] / total:.0%} | {noticed / total:.0%} |")
    return lines


def main() -> int:
    """Exit code 1 if fewer edits are refuted or noticed than wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edits", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--list", action="store_true", dest="is_listing", help="list the edits that are not noticed")
    chosen = parser.parse_args()
    edits = chosen_edits(chosen.edits, random.Random(chosen.seed))
    results: list[tuple[Edit, Judged]] = []
    for edit, judged in run_tasks(edits, judge, PoolLimits(jobs=chosen.jobs)):
        failed = Judged(outcome="lost", reason=judged.reason) if isinstance(judged, Ended) else judged
        results.append((edit, failed))
    print("\n".join(table(results, KINDS_OF_EDIT, lambda edit: edit.kind)))
    print("\n".join(["", *table(results, sorted(WORLDS), lambda edit: edit.step.question)]))
    if chosen.is_listing:
        for edit, judged in sorted(results, key=lambda result: (result[1].outcome, result[0].kind)):
            if judged.outcome not in ("refuted", "doubtful"):
                before = edit.step.text[slice(*edit.step.verdict.span)]
                print(f"\n{judged.outcome}, {edit.kind}: {edit.step.document}, {edit.step.question}")
                print(f"  was {before!r}\n  is  {edit.written!r}\n  {judged.reason}")
    refuted = sum(judged.outcome == "refuted" for _, judged in results)
    noticed = sum(judged.outcome in ("refuted", "doubtful") for _, judged in results)
    is_enough = refuted >= LEAST_REFUTED * len(results) and noticed >= LEAST_NOTICED * len(results)
    return 0 if is_enough else 1


if __name__ == "__main__":
    sys.exit(main())
