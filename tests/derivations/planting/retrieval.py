"""True derivations about keys and queries: copying, the average of two, one long key, two heads."""

import numpy as np

from derivations.planting.chains import Chain, Derivation, Goal, chain, design, given
from derivations.planting.terms import Dot, Group, Term, Total, call, exp, half, one, symbols, zero
from derivations.planting.values import World
from derivations.planting.worlds import attended

k_a, k_b, k_i, k_j, v_a, v_b, v_i, v_j, w_a, w_b, w_i, w_j = symbols("k_a k_b k_i k_j v_a v_b v_i v_j w_a w_b w_i w_j")
mu_a, mu_b, mu_i, q, q_1, q_2, c, c_1, c_2 = symbols("mu_a mu_b mu_i q q_1 q_2 c c_1 c_2")
scale, gamma, noise, n, Sigma_a, Sigma_b, identity = symbols("scale gamma noise n Sigma_a Sigma_b I")
OTHERS, ANOTHER = r"i \neq a, b", r"i \neq j"
average = half * (v_a + v_b)


def _mean(world: World) -> np.ndarray:
    return 0.5 * (world.values["v"][world.places["a"]] + world.values["v"][world.places["b"]])


def _averages(world: World, query: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return attended(world, query), _mean(world)


def _with_head(*names: str) -> Goal:
    """The goal of one head beside another whose query is the sum of these."""

    def reached(world: World, query: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        other = sum(world.values[name] for name in names)
        return 0.5 * (attended(world, query) + attended(world, other)), _mean(world)

    return reached


def _scores(x: Term, y: Term, query: Term) -> tuple[Chain, ...]:
    """The scores of an exact query, one chain a key."""
    other = k_i if x == k_a else mu_i
    return (
        chain(Dot(x, query), "=", Dot(x, scale * (x + y)), "=", scale * (Dot(x, x) + Dot(x, y)), "=", scale),
        chain(Dot(y, query), "=", scale * (Dot(y, x) + Dot(y, y)), "=", scale * (zero + one), "=", scale),
        chain(Dot(other, query), "=", scale * Dot(other, x) + scale * Dot(other, y), "=", 0, where=OTHERS),
    )


def _d(name: str, subject: str, number: str, chains: tuple[Chain, ...], **opening: str) -> Derivation:
    titles = {
        "1a": "Copying in attention",
        "1b": "An average of two",
        "1c": "Drawbacks of single-headed attention",
        "1d": "Benefits of multi-headed attention",
    }
    path = tuple(number.split("."))
    return Derivation(
        name=name,
        subject=subject,
        number=(path[0][0], path[0][1], *path[1:]),
        title=titles[path[0]],
        opening=opening,
        chains=chains,
        stands_alone=number == "1b",
    )


normaliser = Total(exp(Dot(k_j, q)), "j")
sum_design = design(q, scale * (k_a + k_b), _averages)
mean_design = design(q, scale * (mu_a + mu_b), _averages)

RETRIEVAL = (
    _d("ratio of two weights", "copying", "1a", (
        chain(w_j / w_i, "=", exp(Dot(k_j, q)) / exp(Dot(k_i, q)), "=", exp(Dot(k_j, q) - Dot(k_i, q)), where=ANOTHER),
        chain(1 - w_j, "=", Total(w_i, "i", without=("j",))),
        chain(c, "=", Total(w_i * v_i, "i"), "≈", v_j),
    ), en="Only the gaps between scores count.", zh="权重只取决于分数之差。"),
    _d("average: scores", "keys", "1b", (
        sum_design, *_scores(k_a, k_b, q),
        chain(exp(Dot(k_a, q)), "=", exp(scale)),
        chain(c, "≈", average),
    ), en="The query is a large multiple of the sum of two keys.", zh="查询取两个键之和的很大倍数。"),
    _d("average: weights", "keys", "1b", (
        sum_design,
        chain(w_a, "=", exp(Dot(k_a, q)) / normaliser, "=", exp(scale) / (exp(scale) + exp(scale) + Group(n - 2)), "=",
              exp(scale) / (2 * exp(scale) + Group(n - 2))),
        chain(w_b, "=", exp(scale) / (2 * exp(scale) + n - 2), "=", 1 / (2 + (n - 2) * exp(-scale)), "→", half),
        chain(w_i, "=", 1 / (2 * exp(scale) + n - 2), "→", 0, where=OTHERS),
        chain(c, "→", half * v_a + half * v_b, "=", average),
    ), en="Put the scores into the softmax.", zh="把分数代入 softmax。"),
    _d("average: normaliser", "keys", "1b", (
        sum_design,
        chain(normaliser, "=", exp(Dot(k_a, q)) + exp(Dot(k_b, q)) + Total(exp(0), "i", without=("a", "b")), "=",
              exp(scale) + exp(scale) + (n - 2) * exp(0), "=", 2 * exp(scale) + n - 2),
        chain(w_a / w_i, "=", exp(scale) / exp(0), "=", exp(scale), where=OTHERS),
        chain(w_a + w_b, "=", (2 * exp(scale)) / (2 * exp(scale) + n - 2), "→", 1),
        chain(1 - 2 * w_a, "=", (n - 2) * w_i, where=OTHERS),
    ), en="The denominator has one term a key.", zh="分母里每个键各占一项。"),
    _d("average: lengths", "keys", "1b", (
        sum_design,
        chain(call("norm", q) ** 2, "=", scale**2 * Dot(k_a + k_b, k_a + k_b), "=",
              scale**2 * (Dot(k_a, k_a) + 2 * Dot(k_a, k_b) + Dot(k_b, k_b)), "=", 2 * scale**2),
        chain(call("norm", q), "=", call("sqrt", 2) * scale),
        chain(w_a, "<", half),
        chain(w_a * v_a + w_b * v_b, "≈", average),
    ), en="A check of the lengths.", zh="再检查一下长度。"),
    _d("noisy keys", "noisy keys", "1c.i", (
        mean_design,
        chain(k_i, "≈", mu_i),
        chain(Dot(k_a, q), "≈", Dot(mu_a, q), "=", scale * (Dot(mu_a, mu_a) + Dot(mu_a, mu_b)), "=", scale),
        chain(Dot(k_b, q), "≈", scale * (Dot(mu_b, mu_a) + Dot(mu_b, mu_b)), "=", scale),
        chain(Dot(k_i, q), "≈", 0, where=OTHERS),
        chain(c, "≈", average),
    ), en="The noise is negligible.", zh="噪声可以忽略。"),
    _d("one long key: scores", "one long key", "1c.ii", (
        given(q, "=", scale * (mu_a + mu_b)),
        chain(k_a, "≈", gamma * mu_a),
        chain(Dot(k_a, q), "≈", Dot(gamma * mu_a, scale * (mu_a + mu_b)), "=",
              gamma * scale * (Dot(mu_a, mu_a) + Dot(mu_a, mu_b)), "=", gamma * scale),
        chain(Dot(k_b, q), "≈", Dot(mu_b, q), "=", scale),
        chain(w_a, "≈", exp(gamma * scale) / (exp(gamma * scale) + exp(scale) + n - 2)),
        chain(w_a / w_b, "≈", exp(gamma * scale) / exp(scale), "=", exp((gamma - 1) * scale)),
    ), en="The first key keeps its direction and changes its length.", zh="第一个键方向不变，长度在变。"),
    _d("one long key: spread", "one long key", "1c.ii", (
        given(q, "=", scale * (mu_a + mu_b)),
        chain(Sigma_a * mu_a, "=", noise * mu_a + half * mu_a * Dot(mu_a, mu_a), "=", (noise + half) * mu_a),
        chain(Sigma_a * mu_b, "=", noise * mu_b),
        chain(mu_a.T * Sigma_a * mu_a, "=", noise + half),
        chain(mu_b.T * Sigma_a * mu_b, "=", noise),
        chain(q.T * Sigma_a * q, "=", 2 * noise * scale**2 + half * scale**2),
    ), en="The spread lies along one direction only.", zh="协方差只在一个方向上很大。"),
    _d("two heads", "two heads", "1d.i", (
        design(q_1, scale * mu_a, _with_head("q_1"), _with_head("q_2"), _with_head("q_1", "q_2")),
        design(q_2, scale * mu_b, _with_head("q_1")),
        chain(Dot(mu_a, q_1), "=", scale * Dot(mu_a, mu_a), "=", scale),
        chain(Dot(mu_b, q_1), "=", scale * Dot(mu_b, mu_a), "=", 0),
        chain(Dot(q_1, q_2), "=", scale**2 * Dot(mu_a, mu_b), "=", 0),
        chain(c_1, "≈", v_a), chain(c_2, "≈", v_b),
        chain(c, "=", half * (c_1 + c_2), "≈", average),
    ), en="One target for each head.", zh="每个头只看一个目标。"),
    _d("two heads, one long key", "two heads, one long key", "1d.ii", (
        given(q_1, "=", scale * mu_a), given(q_2, "=", scale * mu_b),
        chain(Dot(k_a, q_1), "≈", gamma * scale * Dot(mu_a, mu_a), "=", gamma * scale),
        chain(Dot(k_b, q_2), "≈", scale * Dot(mu_b, mu_b), "=", scale),
        chain(Dot(k_a, q_2), "≈", 0), chain(Dot(k_b, q_1), "≈", 0),
        chain(q_1.T * Sigma_a * q_1, "=", scale**2 * (noise + half), "=", noise * scale**2 + half * scale**2),
    ), en="Only the first head feels the length.", zh="只有第一个头受长度影响。"),
)  # fmt: skip
