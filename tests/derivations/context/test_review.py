"""A refutation that rests on an uncertain reading is left open as doubtful, and says what it depends on."""

import pytest

from derivations.passages import judged, last
from regard.derivations.context.formulas import JudgedStep, read_formulas
from regard.derivations.context.placing import Placement, Region
from regard.derivations.context.review import ReviewedStep, doubtful, reviewed
from regard.derivations.judging.findings import CORRECTIONS, Finding, Note, NoteKind, OpenBecause, true
from regard.derivations.problems.problem import load_problem
from regard.derivations.reading.files import read_text
from regard.derivations.results import Role

QUESTION = load_problem("cs224n-a4").question("1b")
SMALL_CHANGE = NoteKind.CORRECTED.note("a factor 2")
OTHER_CASE = NoteKind.OTHER_CASE.note("K_a", "k_a")
GUESSES = [
    OTHER_CASE,
    NoteKind.RECOGNITION_SLIP.note("g", "q"),
    NoteKind.OTHER_QUESTION.note("gamma"),
    NoteKind.LIKE_SIBLING.note("z_3", "z_1"),
    NoteKind.SWAPPED_NAME.note("X_p", "P", "X_perm"),
    NoteKind.PRIME_AS_TRANSPOSE.note("K'"),
]


def failure(*notes: Note, is_correctable: bool = True) -> Finding:
    """A failure read with these notes, and one on the small change that would correct it."""
    changes = (SMALL_CHANGE,) if is_correctable else ()
    return Finding(kind="false", reason="The two sides differ", counterexample="1 is not 2", notes=(*notes, *changes))


def findings(
    *found: Finding,
    text: str = "",
    step: str = "x = 1",
    is_sure: bool = True,
    is_marked: bool = True,
    role: Role = Role.ASSERTION,
) -> list[Finding]:
    """What the review leaves of these findings, one for each of as many formulas."""
    document = read_text(text + f" So ${step}$.\n\n" * len(found))
    formulas = read_formulas(document)
    region = Region(start=0, body=0, end=0, questions=(QUESTION,) if is_marked else ())
    place = Placement(question=QUESTION, region=region, is_sure=is_sure)
    steps = [
        ReviewedStep(
            formula=formula, placement=place, step=JudgedStep(role=role, finding=finding, start=0, end=5, sign_start=2)
        )
        for formula, finding in zip(formulas[-len(found) :], found, strict=True)
    ]
    return [item.step.finding for item in reviewed(document, steps, formulas)]


def is_doubtful(finding: Finding) -> bool:
    return finding.open_because is OpenBecause.DOUBTFUL


# -- what makes a refutation doubtful ----------------------------------------------------------------------------------
def test_a_refutation_without_guesses_stands():
    assert findings(failure()) == [failure()]
    assert findings(failure(NoteKind.ALIAS.note("K_a", "k_a")))[0].is_false


@pytest.mark.parametrize("note", GUESSES, ids=lambda note: note.kind.name)
def test_a_guess_that_only_this_step_needs_is_not_enough(note):
    (found,) = findings(failure(note))
    assert is_doubtful(found)
    assert found.reason == f"Looks wrong if {note} (1 is not 2)"
    assert not found.is_false
    assert found.counterexample is None


@pytest.mark.parametrize("note", GUESSES, ids=lambda note: note.kind.name)
def test_a_guess_that_makes_another_step_true_is(note):
    assert findings(true("x").with_notes([note]), failure(note))[1].is_false
    other = NoteKind.OTHER_CASE.note("X_b", "x_b")
    assert is_doubtful(findings(true("x").with_notes([other]), failure(note))[1])
    assert is_doubtful(findings(failure(note), failure(note))[1])


def test_an_uncertain_place_is_not_enough():
    (found,) = findings(failure(), is_sure=False)
    assert is_doubtful(found)
    assert found.reason == "Looks wrong if this belongs to “An average of two” (1 is not 2)"


def test_at_a_place_without_a_heading_no_more_may_fail_than_holds():
    holds = true("x")
    assert is_doubtful(findings(failure(), is_marked=False)[0])
    assert findings(holds, failure(), is_marked=False)[1].is_false
    assert findings(failure(is_correctable=False), step="3 = 1", is_marked=False)[0].is_false


def test_under_a_heading_of_its_own_many_failures_are_too_many():
    assert findings(failure(), failure())[0].is_false
    assert all(map(is_doubtful, findings(failure(), failure(), failure())))
    assert findings(*[failure()] * 3, *[true("x")] * 4)[0].is_false
    assert findings(*[failure()] * 3, role=Role.DESIGN)[0].is_false


def test_what_no_small_change_corrects_is_not_enough():
    (found,) = findings(failure(is_correctable=False))
    assert is_doubtful(found)
    assert found.reason == "Looks wrong if its symbols mean what they were taken to mean (1 is not 2)"


@pytest.mark.parametrize("kind", CORRECTIONS)
def test_every_kind_of_correction_counts(kind):
    assert findings(failure(kind.note("2", "large"), is_correctable=False))[0].is_false


def test_plain_numbers_and_designs_need_no_correction():
    assert findings(failure(is_correctable=False), step="3 = 1")[0].is_false
    assert findings(failure(is_correctable=False), role=Role.DESIGN)[0].is_false


def test_what_holds_or_is_open_stays_as_it_is():
    assert findings(true("x").with_notes([OTHER_CASE]), is_sure=False)[0].is_true
    unknown = Finding(kind="unknown", reason="?")
    assert findings(unknown, is_sure=False) == [unknown]


def test_without_a_counterexample_the_doubt_is_all_that_is_said():
    assert doubtful(Finding(kind="false", reason="x"), "Z is z").reason == "Looks wrong if Z is z"


# -- text recognition --------------------------------------------------------------------------------------------------
GARBLED = "The keys k; and q; give s! and z2K here."
LOOK_ALIKES = r"$\alpha_b + a_b = \mu_b$ and $\kappa_b + K_b = \gamma_i + v_i + \chi_j + x_j$."


@pytest.mark.parametrize("text", [GARBLED, LOOK_ALIKES], ids=["prose", "formulas"])
def test_in_a_text_from_text_recognition_a_letter_may_be_misread(text):
    (found,) = findings(failure(), text=text)
    assert is_doubtful(found)
    assert "text recognition" in found.reason


@pytest.mark.parametrize(
    "text",
    [
        "The keys k and q give s and zK here.",
        "Note; this is new! The keys (k; q) are long; x! is a factorial.",
        r"$\alpha_b + a_c = \mu_d + u_e$",
        r"$\alpha_b + a_b = \mu_b$",
    ],
)
def test_a_clean_text_is_not_taken_for_one(text):
    assert findings(failure(), text=text)[0].is_false


def test_a_design_whose_letters_were_read_as_written_is_refuted_all_the_same():
    assert findings(failure(), text=GARBLED, role=Role.DESIGN)[0].is_false
    alias = NoteKind.ALIAS.note("K_a", "k_a")
    assert is_doubtful(findings(failure(alias), text=GARBLED, role=Role.DESIGN)[0])


# -- whole documents ---------------------------------------------------------------------------------------------------
DESIGN = r"Take $q = \beta(k_a + k_b)$."


def test_noise_in_a_document_makes_its_refutations_doubtful():
    wrong = r"Then $k_a^\top q = 2\beta$."
    noisy = last("1b", GARBLED, DESIGN, wrong)
    assert (noisy.status, noisy.outcome, noisy.counterexample) == ("undecided", "doubtful", None)
    assert last("1b", DESIGN, wrong).status == "refuted"


def test_the_noise_does_not_touch_what_holds():
    assert [step.status for step in judged("1b", GARBLED, DESIGN, r"$k_a^\top q = \beta$")] == ["holds"] * 2


def test_half_of_a_design_is_doubtful_and_the_whole_is_refuted():
    half = last("1d.i", r"Take $q_1 = \mu_a$.")
    assert (half.role, half.status, half.outcome) == (Role.DESIGN, "undecided", "doubtful")
    assert "q_2" in (half.reason or "")
    whole = judged("1d.i", r"Take $q_1 = \mu_a$ and $q_2 = \beta\mu_b$.")
    assert [step.status for step in whole] == ["refuted", "holds"]


def test_what_leads_to_a_contradiction_is_doubtful():
    claim = r"Then $\|\Phi_t\|^2 = d$"
    assert last("2b.ii", f"{claim}, which is a contradiction.").outcome == "doubtful"
    assert last("2b.ii", f"{claim}.").outcome == "refuted"


@pytest.mark.parametrize(
    "said",
    [r"So $\frac{e^{\epsilon N}}{e^{\epsilon N}+e^N} = \frac{1}{1+e^{N(1-\epsilon)}}$.", r"If $\epsilon > 1$, fine."],
)
def test_what_holds_whatever_a_letter_means_does_not_confirm_its_meaning(said):
    design = r"Take $q = N(\mu_a+\mu_b)$ with $N$ large."
    assert last("1c.i", design, said, r"Then $k_a^\top q \approx \epsilon N$.").outcome == "doubtful"


def test_a_number_in_a_row_of_a_table_is_not_what_the_row_is_about():
    steps = judged(
        "1d.ii", "| $m$ | weight |\n|---|---|\n| $1.7$ | $\\approx 1$ |\n| $0$ | $\\frac{1}{1+5} = \\frac15$ |\n"
    )
    assert [step.statement for step in steps if step.status == "refuted"] == [r"\frac{1}{1+5} = \frac15"]


def test_a_row_of_a_table_is_about_the_value_in_it():
    row = "| $\\gamma$ | $k_a^\\top q$ |\n|---|---|\n| $\\gamma = 3$ | $\\approx \\beta$ |\n"
    assert all(step.status != "refuted" for step in judged("1c.ii", row))


def test_a_letter_that_is_also_written_without_an_argument_may_be_no_sigmoid():
    design = r"Take $q = \sigma(k_a + k_b)$."
    assert last("1b", design).status == "refuted"
    (first, *_) = judged("1b", design, r"Then $\alpha_a = \frac{e^\sigma}{2e^\sigma + n - 2}$.")
    assert first.outcome == "doubtful"


def test_a_transposed_letter_that_nothing_explains_is_no_number():
    assert last("1b.subspace", r"Take $M = U U^\top$.").outcome == "doubtful"


def test_a_computed_subscript_may_count_from_zero():
    steps = judged("2b.ii", r"Here $\omega_{d/2-1} = 10000^{-(d-2)/d}$.")
    assert all(step.status != "refuted" for step in steps)


def test_what_a_rotation_is_computed_from_counts_from_nowhere():
    assert last("3g.ii", r"So $R_{t_1}^\top R_{t_2} = R_{t_2 - t_1}$.").status == "holds"
    assert last("3g.ii", r"So $R_{t_1}^\top R_{t_2} = R_{t_1 - t_2}$.").status == "refuted"


def test_a_letter_that_is_defined_after_it_was_used_may_mean_something_else():
    wrong, right = r"$c = V\alpha$", r"$c = V^\top\alpha$"
    assert judged("1b", DESIGN, f"Then {wrong}, where $V = [v_1 \\mid \\dots \\mid v_n]$.")[1].outcome == "doubtful"
    assert judged("1b", DESIGN, f"Then {right}. So {wrong}.")[-1].status == "refuted"
