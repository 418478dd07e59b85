"""A small setting to judge in, and short ways to evaluate and decide what is written in it."""

from functools import cache

import numpy as np
from flint import ctx

from regard.derivations.judging.evaluator import Evaluator
from regard.derivations.judging.exact import PRECISION
from regard.derivations.judging.findings import Finding
from regard.derivations.judging.instances import Instance, choose_sizes
from regard.derivations.judging.judge import decide, shown
from regard.derivations.judging.relations import Instances, Relation, Sides, read_side
from regard.derivations.judging.scope import Scope
from regard.derivations.judging.values import BALLS, FLOATS, Arithmetic, Value
from regard.derivations.notation.statements import read_chains
from regard.derivations.notation.syntax import Expression
from regard.derivations.notation.tokens import tokenize
from regard.derivations.problems.problem import Problem, load_problem, parse_problem

SMALL = r"""
schema = "regard-problem/1"
name = "small"
title = "A small setting"
[settings.small]
ones = "n"
permutations = { pi = "P" }
[settings.small.sizes]
n = { at_least = 3 }
d = { above = ["n"] }
[settings.small.fixed]
a = "n"
b = "n"
[settings.small.free]
i = "n"
j = "n"
[settings.small.symbols]
k_i = { shape = "d", assume = ["orthonormal"] }
v_i = { shape = "d" }
u = { shape = "d" }
w = { shape = "d" }
A = { shape = "d×d" }
P = { shape = "n×n", assume = ["permutation"] }
X = { shape = "n×d" }
X_perm = { is = 'P X' }
x = { assume = ["positive"] }
y = {}
z_1 = {}
z_2 = {}
t = { assume = ["integer"] }
s = { assume = ["integer"] }
beta = { tends = "infinity" }
alpha = { tends = "zero" }
gamma = { mean = 1, variance = 0.5 }
rho = { shape = "d", variance = 2 }
tau = { is = '2 x' }
[settings.small.functions]
f = { arguments = ["y"], is = 'y^2 + 1' }
[settings.small.aliases]
u = ["g_u"]
_perm = ["_p"]
P = ["X_perm"]
[settings.plane]
complex = true
[settings.plane.symbols]
z = { assume = ["complex"] }
theta = {}
[[questions]]
id = "1"
title = "Small"
setting = "small"
[[questions]]
id = "2"
title = "Plane"
setting = "plane"
"""


@cache
def problem() -> Problem:
    return parse_problem(SMALL)


def scope(question: str = "1") -> Scope:
    """The scope of the small setting, or of a question of the shipped problem."""
    chosen = problem() if question in ("1", "2") else load_problem("cs224n-a4")
    return Scope(setting=chosen.question(question).setting)


def expression(source: str, inside: Scope | None = None) -> Expression:
    return read_side(tokenize(source), inside or scope())


def instance(inside: Scope | None = None, **changes) -> Instance:
    setting = (inside or scope()).setting
    return Instance(setting=setting, sizes=choose_sizes(setting), **changes)


def evaluator(inside: Scope | None = None, arithmetic: Arithmetic = FLOATS, **changes) -> Evaluator:
    inside = inside or scope()
    return Evaluator(scope=inside, instance=instance(inside, **changes), arithmetic=arithmetic)


def value(source: str, inside: Scope | None = None, **changes) -> Value:
    """The value of an expression in floats, (draw, row, column)."""
    with ctx.workprec(PRECISION):
        return evaluator(inside, **changes)(expression(source, inside))


def array(source: str, inside: Scope | None = None, **changes) -> np.ndarray:
    return value(source, inside, **changes).array


def in_balls(source: str, inside: Scope | None = None, **changes) -> np.ndarray:
    """The midpoints of the value in balls."""
    with ctx.workprec(PRECISION):
        balls = evaluator(inside, BALLS, **changes)(expression(source, inside)).array
        return np.vectorize(lambda ball: complex(ball.real.mid(), ball.imag.mid()))(balls)


def sides(source: str, **changes) -> Sides:
    chain = read_chains(source)[0]
    return Sides(left=chain.sides[0], sign=chain.signs[0].text, right=chain.sides[1], **changes)


def found(source: str, inside: Scope | None = None, **changes) -> Finding:
    """The finding on a relation as it is written, ready to be reported."""
    return shown(decide(sides(source, **changes), inside or scope()))


def relation(source: str, inside: Scope | None = None) -> Instances:
    """A relation read in the plain way, with its instances."""
    written, inside = sides(source), inside or scope()
    left, right = written.expressions(inside)
    return Instances(scope=inside, relation=Relation(left=left, sign=written.sign, right=right))
