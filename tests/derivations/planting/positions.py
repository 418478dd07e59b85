"""True derivations about position codes: sinusoids and rotations."""

from derivations.planting.chains import Chain, Derivation, chain
from derivations.planting.terms import Dot, Grid, Group, Term, Total, call, exp, symbols

t, s, u, t_1, t_2, theta, i = symbols("t s u t_1 t_2 theta imaginary")
z, z_1, z_2, x, y, x_1, x_2, identity = symbols("z z_1 z_2 x y x_1 x_2 I")
omega_i, d, P, X, codes = symbols("omega_i d P X codes")


def _sin(angle: Term) -> Term:
    return call("sin", angle)


def _cos(angle: Term) -> Term:
    return call("cos", angle)


def _conj(number: Term) -> Term:
    return call("conj", number)


def _turn(position: Term) -> Term:
    """e^{itθ}."""
    return exp(i * position * theta)


def _back(position: Term) -> Term:
    return exp(-(i * position * theta))


def _rope(number: Term, position: Term | int) -> Term:
    return call("RoPE", number, position)


def _column(*entries: Term) -> Term:
    return Grid(tuple((entry,) for entry in entries))


def _rotation(angle: Term) -> Term:
    return Grid(((_cos(angle), -_sin(angle)), (_sin(angle), _cos(angle))))


def _about_rotations(name: str, part: str, chains: tuple[Chain, ...], **opening: str) -> Derivation:
    title = {"i": "Rotary codes as complex multiplication", "ii": "Rotary codes are relative"}[part]
    number = ("3", "g", part)
    return Derivation(name=name, subject="rotations", number=number, title=title, opening=opening, chains=chains)


def _about_sinusoids(name: str, chains: tuple[Chain, ...], **opening: str) -> Derivation:
    number, title = ("2", "b", "i"), "Position embeddings"
    return Derivation(name=name, subject="sinusoids", number=number, title=title, opening=opening, chains=chains)


shift = t_1 - t_2
angle = t * theta
waves = (_sin(t) * _cos(s) + _cos(t) * _sin(s), _cos(t) * _cos(s) - _sin(t) * _sin(s))
turned = z_1 * _conj(z_2) * _turn(Group(shift))

POSITIONS = (
    _about_rotations("rotary: one pair", "i", (
        chain(_turn(t), "=", _cos(angle) + i * _sin(angle)),
        chain(_back(t), "=", _cos(angle) - i * _sin(angle)),
        chain(Group(x_1 + i * x_2) * _turn(t), "=", Group(x_1 + i * x_2) * Group(_cos(angle) + i * _sin(angle)), "=",
              Group(x_1 * _cos(angle) - x_2 * _sin(angle)) + i * Group(x_1 * _sin(angle) + x_2 * _cos(angle))),
        chain(_rotation(angle) * _column(x_1, x_2), "=",
              _column(x_1 * _cos(angle) - x_2 * _sin(angle), x_1 * _sin(angle) + x_2 * _cos(angle))),
    ), en="Each pair is one complex number.", zh="把每一对看成一个复数。"),
    _about_rotations("rotary: relative", "ii", (
        chain(_rope(z_1, t_1), "=", z_1 * _turn(t_1)),
        chain(_conj(z_2 * _turn(t_2)), "=", _conj(z_2) * _back(t_2)),
        chain(z_1 * _turn(t_1) * _conj(z_2 * _turn(t_2)), "=", z_1 * _conj(z_2) * _turn(t_1) * _back(t_2), "=", turned),
        chain(call("Re", z_1 * _turn(t_1) * _conj(z_2 * _turn(t_2))), "=", call("Re", turned)),
        chain(_rope(z_1, shift), "=", z_1 * _turn(Group(shift))),
        chain(_rope(z, t) * _turn(s), "=", z * _turn(Group(t + s)), "=", _rope(z, t + s)),
    ), en="Only the difference of the positions is left.", zh="最后只剩下位置之差。"),
    _about_rotations("rotary: inner product", "ii", (
        chain(call("inner", _rope(z_1, t_1), _rope(z_2, t_2)), "=",
              call("inner", z_1 * _turn(t_1), z_2 * _turn(t_2)), "=",
              call("Re", z_1 * _turn(t_1) * _conj(z_2 * _turn(t_2))), "=", call("Re", turned)),
        chain(call("inner", _rope(z_1, shift), _rope(z_2, 0)), "=", call("inner", z_1 * _turn(Group(shift)), z_2), "=",
              call("Re", turned)),
        chain(call("inner", z_1, z_2), "=", call("Re", z_1 * _conj(z_2))),
    ), en="The inner product is a real part.", zh="内积就是实部。"),
    _about_rotations("rotary: matrices", "ii", (
        chain(call("R", t) * call("R", s), "=", call("R", t + s)),
        chain(call("R", t).T, "=", call("R", -t)),
        chain(call("R", t).T * call("R", s), "=", call("R", s - t)),
        chain(call("R", t).T * call("R", t), "=", identity),
        chain(Group(call("R", t) * x).T * Group(call("R", s) * y), "=", x.T * call("R", t).T * call("R", s) * y, "=",
              x.T * call("R", s - t) * y),
        chain(call("norm", call("R", t) * x), "=", call("norm", x)),
    ), en="The same with rotations of the plane.", zh="换成平面旋转来写。"),
    _about_sinusoids("sinusoids: shift", (
        chain(_sin(t + s), "=", waves[0]),
        chain(_cos(t + s), "=", waves[1]),
        chain(_column(_sin(t + s), _cos(t + s)), "=", _column(*waves), "=",
              Grid(((_cos(s), _sin(s)), (-_sin(s), _cos(s)))) * _column(_sin(t), _cos(t))),
        chain(_cos(s) ** 2 + _sin(s) ** 2, "=", 1),
    ), en="A shift is a rotation.", zh="平移相当于旋转。"),
    _about_sinusoids("sinusoids: inner product", (
        chain(Dot(call("Phi", t), call("Phi", u)), "=",
              Total(_sin(t * omega_i) * _sin(u * omega_i) + _cos(t * omega_i) * _cos(u * omega_i), "i", ""), "=",
              Total(_cos(Group(t - u) * omega_i), "i", "")),
        chain(call("norm", call("Phi", t)) ** 2, "=",
              Total(_sin(t * omega_i) ** 2 + _cos(t * omega_i) ** 2, "i", ""), "=", d / 2),
        chain(call("norm", call("Phi", t)), "=", call("sqrt", d / 2)),
        chain(P * Group(X + codes), "=", P * X + P * codes),
    ), en="Two codes are compared by their distance.", zh="两个编码只按距离比较。"),
)  # fmt: skip
