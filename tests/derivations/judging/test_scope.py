"""What names mean: as written, under an alias, in the other case, swapped, or astray."""

from dataclasses import replace

import pytest

from derivations.judging.small import expression, problem, scope
from regard.derivations.judging.findings import NoteKind
from regard.derivations.judging.scope import Scope, UnknownSymbol, other_spellings
from regard.derivations.judging.setting import Setting, SymbolMeaning
from regard.derivations.notation.syntax import Label, Symbol

A = Symbol("a")


def with_aliases(**aliases: tuple[str, ...]) -> Setting:
    return replace(scope().setting, aliases=aliases)


def test_a_symbol_is_found_as_it_is_written():
    found = scope().find(Symbol("u"))
    assert (found.meaning.name, found.member, found.note) == ("u", None, None)


def test_a_member_is_found_with_its_subscript():
    found = scope().find(Symbol("k", (A,)))
    assert (found.meaning.name, found.member) == ("k", A)


def test_a_label_picks_no_member():
    assert not scope().knows(Symbol("k", (Label("perm"),)))


def test_what_nobody_explains_is_unknown():
    assert not scope().knows(Symbol("eta"))
    with pytest.raises(UnknownSymbol, match="'eta' is not defined here"):
        scope().find(Symbol("eta"))


def test_a_suffix_that_is_an_alias_is_read_and_said():
    found = scope().find(Symbol("X", (Symbol("p"),)))
    assert found.meaning.name == "X_perm"
    assert found.note == NoteKind.ALIAS.note("X_p", "X_perm")


def test_the_other_case_is_read_for_families_only():
    assert scope().find(Symbol("V", (A,))).note == NoteKind.OTHER_CASE.note("V_a", "v_a")
    assert not scope().knows(Symbol("U"))


def test_slips_of_text_recognition_are_mended_and_said():
    ((other, note),) = other_spellings(Symbol("g"), with_aliases())
    assert other == Symbol("q")
    assert note == NoteKind.RECOGNITION_SLIP.note("g", "q")
    assert other_spellings(Symbol("h"), with_aliases()) == ()


def test_an_alias_renames_the_letter_and_keeps_its_subscripts():
    first, _ = other_spellings(Symbol("m", (A,)), with_aliases(mu=("m",)))[0]
    assert first == Symbol("mu", (A,))


def test_a_swap_reads_one_declared_name_as_another():
    swapped = replace(scope(), swaps={"X_perm": "P"})
    found = swapped.find(Symbol("X", (Label("perm"),)))
    assert found.meaning.name == "P"
    assert found.note == NoteKind.SWAPPED_NAME.note("X_perm", "P", "X_perm")
    assert scope().find(Symbol("X", (Label("perm"),))).meaning.name == "X_perm"


def test_a_number_that_is_counted_like_known_ones_is_taken_as_one_and_said():
    found = scope().find(expression("z_3"))
    assert found.meaning.name == "z_3"
    assert found.note == NoteKind.LIKE_SIBLING.note("z_3", "z_1")
    assert not scope().knows(expression("y_3"))


def test_a_symbol_of_another_question_means_what_it_means_there():
    gamma = problem().question("1").setting.symbols["gamma"]
    plane = problem().question("2").setting
    found = Scope(setting=plane, neighbours={"gamma": gamma}).find(Symbol("gamma"))
    assert found.meaning is gamma
    assert found.note == NoteKind.OTHER_QUESTION.note("gamma")
    assert not Scope(setting=plane).knows(Symbol("gamma"))


def test_the_students_own_lies_over_the_problems():
    own = SymbolMeaning(name="u", formula=expression("2 w"))
    assert scope().with_meaning(own).find(Symbol("u")).meaning is own
    assert scope().find(Symbol("u")).meaning is not own


def test_what_is_declared_is_known_as_written_only():
    assert scope().declares(Symbol("k", (A,)))
    assert not scope().declares(Symbol("X", (Symbol("p"),)))
    assert scope().knows(Symbol("X", (Symbol("p"),)))


@pytest.mark.parametrize(("name", "is_constant"), [("n", True), ("a", True), ("i", True), ("pi", True), ("u", False)])
def test_sizes_indices_and_constants(name, is_constant):
    assert scope().is_constant(Symbol(name)) is is_constant


def test_sigma_is_a_function_unless_it_is_a_symbol():
    assert "\\sigma" in scope().reading.functions
    assert "\\sigma" not in scope().with_meaning(SymbolMeaning(name="sigma_1")).reading.functions


def test_reach_goes_through_definitions_functions_and_members():
    assert scope().reach(expression(r"\tau")) == {"tau", "x"}
    assert scope().reach(expression("f(x)")) == {"f()", "x", "y"}
    own = SymbolMeaning(name="k_a", formula=expression(r"\gamma u"))
    assert {"gamma", "u"} <= scope().with_meaning(own).reach(expression("k_j"))
    assert "gamma" not in scope().reach(expression("k_j"))


@pytest.mark.parametrize(
    ("source", "is_so"), [(r"\alpha_{21}", True), (r"\alpha_{ij}", True), (r"\alpha_2", False), (r"u_{12}", False)]
)
def test_entries_of_a_matrix_with_a_formula_are_known(source, is_so):
    inside = scope("1e.i")
    symbol = expression(source, inside)
    assert isinstance(symbol, Symbol)
    assert inside.is_entry(symbol) is is_so
    assert not scope().is_entry(Symbol("A", (Symbol("i"), Symbol("j"))))
