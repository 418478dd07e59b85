"""True derivations about matrices: a projection onto a subspace, and a layer whose input is shuffled."""

import numpy as np

from derivations.planting.chains import Chain, Derivation, chain, design, given
from derivations.planting.terms import Dot, Group, Symbol, Term, Total, call, symbols
from derivations.planting.values import Misfit, World

A, B, M, s, c, v_a, v_b, identity = symbols("A B M s c v_a v_b I")
c_j, a_j = symbols("coefficient_j axis_j")
P, X, Q, K, V, H, Z, d, ones = symbols("P X Q K V H Z d ones")
W_Q, W_K, W_V, W_1, W_2, b_1, b_2 = symbols("W_Q W_K W_V W_1 W_2 b_1 b_2")
X_p, Q_p, K_p, V_p, H_p, Z_p = (Symbol(letter, is_shuffled=True) for letter in "XQKVHZ")


def _extracts(world: World, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    both = world.values["s"]
    if matrix.shape != (len(both), len(both)):
        raise Misfit("M is square.")
    return matrix @ both, world.values["v_a"]


def _softmax(scores: Term) -> Term:
    return call("softmax", scores / call("sqrt", d))


def _forward(hidden: Term) -> Term:
    return call("ReLU", hidden * W_1 + ones * b_1) * W_2 + ones * b_2


def _about_subspaces(name: str, chains: tuple[Chain, ...], **opening: str) -> Derivation:
    return Derivation(
        name=name,
        subject="subspaces",
        number=("1", "b"),
        title="Combining values",
        opening=opening,
        chains=chains,
        stands_alone=True,
    )


def _about_layers(name: str, chains: tuple[Chain, ...], **opening: str) -> Derivation:
    return Derivation(
        name=name,
        subject="layer",
        number=("2", "a", "i"),
        title="Permuting the input",
        opening=opening,
        chains=chains,
        stands_alone=True,
    )


projection = design(M, A * A.T, _extracts)

MATRICES = (
    _about_subspaces("subspace: projection", (
        projection,
        chain(M * s, "=", A * A.T * s, "=", A * A.T * v_a + A * A.T * v_b, "=", v_a),
        chain(A * A.T * v_b, "=", 0),
        chain(Group(A * A.T) * Group(A * A.T), "=", A * Group(A.T * A) * A.T, "=", A * A.T),
        chain(Group(A * A.T).T, "=", A * A.T),
    ), en="The matrix is a projection.", zh="这个矩阵就是投影。"),
    _about_subspaces("subspace: coordinates", (
        projection,
        chain(v_a, "=", A * c, "=", Total(c_j * a_j, "j", "m")),
        chain(A.T * s, "=", A.T * v_a + A.T * v_b, "=", A.T * A * c, "=", c),
        chain(Dot(a_j, s), "=", Dot(a_j, v_a) + Dot(a_j, v_b), "=", c_j),
        chain(A * A.T * s, "=", A * c, "=", v_a),
        chain(call("norm", s) ** 2, "=", call("norm", v_a) ** 2 + call("norm", v_b) ** 2),
    ), en="Read off the coordinates, then build the vector again.", zh="先读出坐标，再重新组合。"),
    _about_subspaces("subspace: complement", (
        projection,
        chain(B.T * s, "=", B.T * v_a + B.T * v_b, "=", B.T * v_b),
        chain(B * B.T * s, "=", v_b),
        chain(A.T * M, "=", A.T * A * A.T, "=", A.T),
        chain(M * v_a, "=", A * A.T * A * c, "=", A * c, "=", v_a),
        chain(Group(A * A.T + B * B.T) * s, "=", A * A.T * s + B * B.T * s, "=", v_a + v_b, "=", s),
    ), en="The other part is found in the same way.", zh="另一部分同样可以取出。"),
    _about_layers("permutation: projections", (
        given(X_p, "=", P * X),
        chain(Q_p, "=", X_p * W_Q, "=", Group(P * X) * W_Q, "=", P * Group(X * W_Q), "=", P * Q),
        chain(K_p, "=", P * X * W_K, "=", P * K),
        chain(V_p, "=", X_p * W_V, "=", P * V),
        chain(K_p.T, "=", Group(P * K).T, "=", K.T * P.T),
        chain(Q_p * K_p.T, "=", Group(P * Q) * Group(P * K).T, "=", P * Q * K.T * P.T),
        chain(P.T * P, "=", identity),
    ), en="The projections move with the rows.", zh="三个矩阵随着行一起移动。"),
    _about_layers("permutation: attention", (
        chain(Q_p * K_p.T, "=", P * Q * K.T * P.T),
        chain(H_p, "=", _softmax(Q_p * K_p.T) * V_p, "=", _softmax(P * Q * K.T * P.T) * P * V, "=",
              P * _softmax(Q * K.T) * P.T * P * V, "=", P * _softmax(Q * K.T) * V, "=", P * H),
    ), en="The softmax moves with rows and columns.", zh="softmax 的行和列一起移动。"),
    _about_layers("permutation: feed-forward", (
        chain(H_p, "=", P * H),
        chain(P * ones, "=", ones),
        chain(H_p * W_1 + ones * b_1, "=", P * H * W_1 + P * ones * b_1, "=", P * Group(H * W_1 + ones * b_1)),
        chain(Z_p, "=", _forward(H_p), "=", P * call("ReLU", H * W_1 + ones * b_1) * W_2 + P * ones * b_2, "=",
              P * Group(_forward(H)), "=", P * Z),
    ), en="Every row gets the same bias.", zh="每一行加上的偏置都一样。"),
    _about_layers("permutation: what is kept", (
        given(X_p, "=", P * X),
        chain(X_p.T * X_p, "=", X.T * P.T * P * X, "=", X.T * X),
        chain(K_p.T * V_p, "=", K.T * P.T * P * V, "=", K.T * V),
        chain(ones.T * P, "=", ones.T),
        chain(P * Q + P * K, "=", P * Group(Q + K)),
        chain(ones.T * Z_p, "=", ones.T * P * Z, "=", ones.T * Z),
    ), en="Some products forget the order.", zh="有些乘积与顺序无关。"),
)  # fmt: skip
