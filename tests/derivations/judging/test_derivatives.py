"""Derivatives by numbers, members of a family, entries, vectors and matrices, in both layouts."""

from functools import cache

import pytest

from derivations.judging.small import found
from regard.derivations.judging.findings import NoteKind
from regard.derivations.judging.scope import Scope
from regard.derivations.problems.problem import load_problem, parse_problem

CLASSIFIER = r"""
schema = "regard-problem/1"
name = "classifier"
title = "A linear classifier"
[settings.classifier]
[settings.classifier.sizes]
n = { at_least = 3 }
d = { at_least = 4 }
[settings.classifier.free]
i = "n"
j = "n"
[settings.classifier.symbols]
z = { shape = "n" }
y = { shape = "n", assume = ["one-hot"] }
x = { shape = "d" }
W = { shape = "n×d" }
b = { shape = "n" }
p = { is = '\text{softmax}(z)' }
L = { is = '-y^\top \log p' }
u = { is = 'W x + b' }
r = { is = '\text{softmax}(u)' }
M = { is = '-y^\top \log r' }
C = { is = '\|u\|^2 + \|W\|^2' }
[[questions]]
id = "1"
title = "A linear classifier"
setting = "classifier"
"""


@cache
def classifier() -> Scope:
    return Scope(setting=parse_problem(CLASSIFIER).question("1").setting)


@cache
def layer_norm() -> Scope:
    return Scope(setting=load_problem("layer-norm").question("1b").setting)


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        (r"\frac{\partial y_i}{\partial \gamma_j} = 0", "true"),
        (r"\frac{\partial y_i}{\partial \gamma_i} = \hat x_i", "true"),
        (r"\frac{\partial y_i}{\partial \gamma_i} = 0", "false"),
        (r"\frac{\partial y_i}{\partial \beta_i} = 1", "true"),
        (r"\frac{\partial \mu}{\partial x_i} = \frac1d", "true"),
        (
            r"\frac{\partial \hat x_i}{\partial x_j} = \frac1\sigma(\delta_{ij} - \frac1d - \frac1d\hat x_i\hat x_j)",
            "true",
        ),
        (r"\frac{\partial \hat x_i}{\partial x_j} = \frac1\sigma(\delta_{ij} - \frac1d)", "false"),
    ],
)
def test_one_member_of_a_family_changes_alone(source, kind):
    assert found(source, layer_norm()).kind == kind


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        (r"\frac{\partial p_i}{\partial z_i} = p_i(1 - p_i)", "true"),
        (r"\frac{\partial p_i}{\partial z_i} = p_i(1 + p_i)", "false"),
        (r"\frac{\partial p_i}{\partial z_j} = p_i(\delta_{ij} - p_j)", "true"),
        (r"\frac{\partial L}{\partial z} = p - y", "true"),
        (r"\frac{\partial L}{\partial z} = y - p", "false"),
        (r"\frac{\partial M}{\partial W} = (r - y)x^\top", "true"),
        (r"\frac{\partial M}{\partial W} = (y - r)x^\top", "false"),
        (r"\frac{\partial M}{\partial W_{ij}} = (r_i - y_i)x_j", "true"),
        (r"\frac{\partial M}{\partial b_i} = r_i - y_i", "true"),
        (r"\frac{\partial x}{\partial x} = I", "true"),
    ],
)
def test_entries_vectors_and_matrices(source, kind):
    assert found(source, classifier()).kind == kind


@pytest.mark.parametrize(
    ("source", "layout"),
    [
        (r"\frac{\partial u}{\partial x} = W^\top", "denominator"),
        (r"\frac{\partial M}{\partial x} = \frac{\partial u}{\partial x}\frac{\partial M}{\partial u}", "denominator"),
        (r"\frac{\partial M}{\partial x} = \frac{\partial M}{\partial u}\frac{\partial u}{\partial x}", "numerator"),
        (r"\frac{\partial M}{\partial W} = x(r - y)^\top", "numerator"),
    ],
)
def test_both_layouts_are_read(source, layout):
    finding = found(source, classifier())
    assert finding.is_true
    assert finding.has_note(NoteKind.LAYOUT)
    assert NoteKind.LAYOUT.note(layout) in finding.notes
    assert found(source.replace("=", "= 2"), classifier()).is_false


@pytest.mark.parametrize(
    "source",
    [
        r"\frac{\partial C}{\partial u} = 2u",  # C also depends on W, of which u is made
        r"\frac{\partial L}{\partial x} = 0",  # nothing says how z depends on x
        r"\frac{\partial u}{\partial W} = x",
        r"\frac{\partial L}{\partial (2z)} = 0",
    ],
)
def test_what_is_not_supported_is_left_open(source):
    assert found(source, classifier()).kind == "not understood"
