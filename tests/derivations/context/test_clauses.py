"""The words around a relation say how it is meant, and on what condition."""

import pytest

from regard.derivations.context.clauses import Clause, read_clauses
from regard.derivations.context.environment import apply_conditions, form_of
from regard.derivations.context.formulas import read_formulas, read_sentences
from regard.derivations.judging.scope import Scope
from regard.derivations.notation.statements import Chain
from regard.derivations.notation.syntax import Number, Symbol
from regard.derivations.problems.problem import load_problem
from regard.derivations.reading.files import read_text
from regard.derivations.results import Role

SCOPE = Scope(setting=load_problem("cs224n-a4").question("1c.ii").setting)
A, B = r"$c \approx v_a$", r"$c \approx v_b$"


def clauses_in(text: str) -> list[Clause]:
    """The clauses of every relation of a text, sentence by sentence."""
    document = read_text(text)
    sentences = read_sentences(document, read_formulas(document))
    return [
        clause
        for sentence in sentences.values()
        for clause in read_clauses(
            sentence.parts, form=lambda chain: form_of(chain, SCOPE), following=sentence.following
        )
    ]


def roles(text: str) -> list[str]:
    return [clause.role.name.lower() for clause in clauses_in(text)]


def spelt(chain: Chain) -> str:
    words = [token.text for side in chain.sides for token in side]
    words.insert(len(chain.sides[0]), chain.signs[0].text)
    return " ".join(words).replace("\\", "")


def conclusions(text: str) -> list[tuple[str, list[str]]]:
    """For each claim of a text its first value (a or b) and its premises."""
    document = read_text(text)
    formulas = read_formulas(document)
    found = []
    for sentence in read_sentences(document, formulas).values():
        clauses = read_clauses(sentence.parts, form=lambda chain: form_of(chain, SCOPE))
        pairs = zip(sentence.chains, clauses, strict=True)
        found += [
            (chain.sides[1][-1].text, [spelt(premise) for premise in clause.condition.relations])
            for chain, clause in pairs
            if clause.role is Role.ASSERTION
        ]
    return found


# -- one premise for each clause ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "text",
    [
        rf"When $\gamma > 1$ we get {A} and when $\gamma < 1$ we get {B}.",
        rf"If $\gamma > 1$, then {A}; if $\gamma < 1$, then {B}.",
        rf"{A} if $\gamma > 1$, and {B} if $\gamma < 1$.",
        rf"{A} when $\gamma > 1$; {B} when $\gamma < 1$.",
        rf"For $\gamma > 1$: {A}. For $\gamma < 1$: {B}.",
        rf"当 $\gamma > 1$ 时，{A}；当 $\gamma < 1$ 时，{B}。",
        rf"Gdy $\gamma > 1$, wtedy {A}, ale gdy $\gamma < 1$, wtedy {B}.",
        rf"Wenn $\gamma > 1$, dann {A}, und wenn $\gamma < 1$, dann {B}.",
        r"$$\gamma > 1: \quad c \approx v_a$$ $$\gamma < 1: \quad c \approx v_b$$",
        rf"$\gamma > 1$ : {A}" + "\n" + rf"$\gamma < 1$ : {B}",
        rf"$\gamma > 1$, so {A}" + "\n" + rf"$\gamma < 1$, so {B}",
        r"$$c \approx v_a \quad \text{if } \gamma > 1, \qquad c \approx v_b \quad \text{if } \gamma < 1$$",
        r"$$c \approx v_a \quad (\gamma > 1) \\ c \approx v_b \quad (\gamma < 1)$$",
    ],
)
def test_each_of_two_conditions_governs_its_own_clause(text):
    assert conclusions(text) == [("a", ["gamma > 1"]), ("b", ["gamma < 1"])]


def test_a_condition_governs_all_conclusions_of_its_clause():
    text = rf"If $\gamma > 1$, then $k_a^\top q > k_b^\top q$, so {A}."
    assert conclusions(text) == [("q", ["gamma > 1"]), ("a", ["gamma > 1"])]


@pytest.mark.parametrize("word", ["for", "if"])
def test_a_condition_after_a_colon_opens_a_clause(word):
    found = conclusions(rf"$s = e^\gamma$: {word} $\gamma > 1$, {A}, {word} $\gamma < 1$, {B}.")
    assert found == [(r"\gamma", []), ("a", ["gamma > 1"]), ("b", ["gamma < 1"])]


@pytest.mark.parametrize("link", [":", " so"])
def test_a_bare_condition_before_a_colon_says_nothing_of_the_line_above(link):
    found = conclusions("$s = e^\\gamma$\n" + rf"$\gamma > 1${link} {A}" + "\n" + rf"$\gamma < 1${link} {B}")
    assert found == [(r"\gamma", []), ("a", ["gamma > 1"]), ("b", ["gamma < 1"])]


def test_a_condition_behind_two_conclusions_governs_both():
    assert conclusions(rf"{A} and {A} when $\gamma > 1$.") == [("a", ["gamma > 1"])] * 2


def test_two_premises_of_one_condition_go_together():
    found = conclusions(rf"If $\gamma > 1$ and $\beta = 5$, then {A}.")
    assert found == [("a", ["gamma > 1", "beta = 5"])]


def test_a_condition_ends_with_its_sentence():
    assert conclusions(rf"If $\gamma > 1$, then {A}. In general {B}.") == [("a", ["gamma > 1"]), ("b", [])]


def test_the_words_before_a_list_govern_its_items():
    assert conclusions(f"If $\\gamma > 1$:\n\n- {A}\n- {B}\n") == [("a", ["gamma > 1"]), ("b", ["gamma > 1"])]


def test_what_the_regime_says_is_a_premise_of_nothing():
    assert conclusions(rf"Let $\beta \gg 0$, so {A}.") == [("a", [])]


def test_otherwise_is_a_condition_of_its_own():
    first, _, second = clauses_in(rf"{A} if $\gamma > 1$, otherwise {B}.")
    assert [first.condition.is_in_words, second.condition.is_in_words] == [False, True]
    assert second.condition.words == "otherwise"


def test_where_begins_a_clause_without_the_condition():
    text = rf"If $\gamma > 1$, we have {A}, where $s = e^\gamma$."
    assert conclusions(text) == [("a", ["gamma > 1"]), (r"\gamma", [])]
    assert clauses_in(text)[-1].is_defining
    assert not clauses_in(text)[-2].is_defining


@pytest.mark.parametrize(
    ("text", "is_in_words", "is_extreme"),
    [
        (rf"If the key is long, {A}.", True, False),
        (rf"When β is large, {A}.", True, True),
        (rf"if the scale β is sufficiently large, {A}.", True, True),
        (rf"当 β 足够大时，{A}。", True, True),
        (rf"When $\gamma > 1$, {A}.", False, False),
        (rf"Therefore {A}.", False, False),
    ],
)
def test_conditions_in_words(text, is_in_words, is_extreme):
    condition = clauses_in(text)[-1].condition
    assert (condition.is_in_words, condition.is_extreme) == (is_in_words, is_extreme)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"If γ is slightly larger than 1, {A}.", [("gamma", ">", 1)]),
        (rf"When \gamma is less than 2, {A}.", [("gamma", "<", 2)]),
        (f"如果 γ 略大于 1，{A}。", [("gamma", ">", 1)]),
        (f"If β is above 3 and γ below 1, {A}.", [("beta", ">", 3), ("gamma", "<", 1)]),
        (f"If the key is larger than 1, {A}.", []),
        (f"If γ is large, {A}.", []),
    ],
)
def test_conditions_on_numbers_are_read_from_words(text, expected):
    premises = apply_conditions(clauses_in(text)[-1].condition, SCOPE)
    found = []
    for premise in premises.relations:
        assert isinstance(premise.left, Symbol)
        assert isinstance(premise.right, Number)
        found.append((premise.left.name, premise.sign, premise.right.value))
    assert found == expected
    assert premises.is_complete == bool(expected)


# -- roles -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "before",
    [
        "",
        "Therefore ",
        "When β is large, ",
        "if the scale β is sufficiently large, ",
        "If the key is long, ",
        "如果钥匙很长，",
        "当 β 足够大时，",
        "It sits there if the score is large, where ",
        "Whence ",
        "这是一个 ",
        "We want the mean of two values, so we set the scale high: this gives ",
    ],
)
def test_what_is_asserted(before):
    assert roles(f"{before}{A}.") == ["assertion"]


@pytest.mark.parametrize(
    ("before", "role"),
    [
        ("If ", "supposition"),
        ("Suppose that ", "supposition"),
        ("假设 ", "supposition"),
        ("Supposons que ", "supposition"),
        ("Załóżmy, że ", "supposition"),
        ("To get this we would need ", "wanted"),
        ("The goal is ", "wanted"),
        ("We want ", "wanted"),
        ("Il faudrait ", "wanted"),
        ("Con dos posiciones haría falta ", "wanted"),
        ("为了使 ", "wanted"),
        ("In some samples ", "possibility"),
        ("It can happen that ", "possibility"),
        ("The output could be ", "possibility"),
        ("有时 ", "possibility"),
        ("It isn't true that ", "denial"),
        ("并不是说 ", "denial"),
        ("The probability of ", "event"),
        ("The chance that ", "event"),
    ],
)
def test_what_the_words_before_make_of_a_relation(before, role):
    assert roles(f"{before}{A}.") == [role]


@pytest.mark.parametrize(
    ("after", "role"),
    [
        (" is impossible.", "denial"),
        (", never.", "denial"),
        (" does not hold.", "denial"),
        (" alone is not enough.", "denial"),
        (" is too weak.", "denial"),
        ("不成立。", "denial"),
        (" forces it.", "supposition"),
        (" would mean it.", "supposition"),
        ("当且仅当它大。", "supposition"),
        (" holds.", "assertion"),
        (" alone.", "assertion"),
        (" alone is enough.", "assertion"),
        (" alone gives the mean.", "assertion"),
        (" would do too.", "assertion"),
        (" and only then.", "assertion"),
        (" and this is false for others.", "assertion"),
        ("成立。", "assertion"),
    ],
)
def test_what_the_words_after_make_of_a_relation(after, role):
    assert roles(f"{A}{after}") == [role]


def test_either_of_two_is_a_possibility():
    assert roles(f"The output is {A} or {B}.") == ["possibility"] * 2
    assert roles(f"The output is {A}, and {B}.") == ["assertion"] * 2


def test_an_event_is_a_premise_of_nothing():
    text = rf"$P(\gamma > 1) = \frac12$ and {A}."
    assert roles(text) == ["assertion", "event", "assertion"]
    assert all(clause.condition.is_empty for clause in clauses_in(text))


def test_what_is_wanted_ends_where_something_is_asserted():
    assert roles(f"We want {A}, so we have {B}.") == ["wanted", "assertion"]
    assert roles(f"We want {A}. Now {B}.") == ["wanted", "assertion"]


@pytest.mark.parametrize(
    ("text", "is_defining"),
    [("Let $s = 2$.", True), ("令 $s = 2$。", True), ("with $s = 2$", True), ("Thus $s = 2$.", False)],
)
def test_words_that_introduce_a_symbol(text, is_defining):
    assert clauses_in(text)[0].is_defining == is_defining


@pytest.mark.parametrize(
    ("text", "is_example"), [(f"Check: {A}.", True), (f"For example {A}.", True), (f"So {A}.", False)]
)
def test_words_that_open_an_example(text, is_example):
    assert clauses_in(text)[0].is_example == is_example


# -- taken back --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("before", "after", "following"),
    [
        ("It is wrong to say that ", ".", ""),
        ("One shouldn't believe that ", ".", ""),
        ("Attention, il est faux de dire que ", " suffit.", ""),
        ("注意并不是说 ", " 精确成立。", ""),
        ("I had claimed ", " for all samples; that's false.", ""),
        ("In the draft I had ", ", too short.", ""),
        ("I first wrote ", ".", ""),
        ("Draft: ", ".", " No! It should be longer."),
        ("First attempt: ", ".", " This is wrong: it is short."),
        ("True or false: ", " for all lengths.", " **False**, only for one."),
        ("d) ", ".", " Falsch. Es ist kürzer."),
        ("", ", which makes no sense.", ""),
        ("It does not suffice to take ", ".", ""),
        ("It isn't enough to simply use ", ".", ""),
        ("My first idea was ", ", which fails.", ""),
        ("The line ", " was wrong, it is shorter.", ""),
        ("Version 1 (rejected): ", ".", ""),
        ("Scratch work: ", ".", ""),
        ("A common error: ", ".", ""),
        ("一开始我写的是 ", "。", ""),
        ("先试 ", "，后来发现不对。", ""),
        ("误：", "。", ""),
        ("所以不再有 ", "。", ""),
    ],
)
def test_words_that_take_a_formula_back(before, after, following):
    assert roles(f"{before}{A}{after}{following}") == ["denial"]


@pytest.mark.parametrize(
    ("before", "after", "following"),
    [
        ("It is true that ", ".", ""),
        ("I have claimed ", ".", ""),
        ("First attempt: ", ".", " This is right."),
        ("Then ", ".", " False positives are another matter."),
        ("Then ", " holds.", " This is wrong for others."),
        ("Then ", ".", "\n\nNo! That was another question."),
        ("We had better say ", ".", ""),
        ("It suffices to take ", ".", ""),
        ("Ignoring the noise, ", ".", ""),
        ("一开始取 ", "，这就够了。", ""),
    ],
)
def test_words_that_do_not(before, after, following):
    assert roles(f"{before}{A}{after}{following}") == ["assertion"]


def test_what_follows_whether_is_no_condition():
    found = clauses_in(rf"{A} or {B}, depending on whether $\gamma > 1$ or $\gamma < 1$.")
    assert [clause.role for clause in found] == [Role.POSSIBILITY] * 2 + [Role.SUPPOSITION] * 2
    assert all(clause.condition.is_empty for clause in found)


def test_what_need_not_be_so_is_denied():
    assert roles(rf"We are not guaranteed that {A}, but it can happen that {B}.") == ["denial", "possibility"]
