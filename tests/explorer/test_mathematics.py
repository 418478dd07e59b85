"""The page's own functions in a real browser, at random states of its sliders, against the Python functions."""

import math
from itertools import pairwise

import ml_dtypes
import numpy as np
import pytest
from flint import arb, ctx

from regard.analysis.closed_forms.arithmetic import normal_tail
from regard.analysis.closed_forms.position_codes import envelope
from regard.analysis.closed_forms.random_keys import one_head_density, reliability_score
from regard.analysis.closed_forms.softmax import (
    average_scale,
    average_weight,
    copy_error,
    copy_margin,
    copy_weight,
    share,
)
from regard.analysis.engines import Mean, SquaredError, TotalVariance, Variance, certified, coefficient
from regard.analysis.scenarios import GAMMA_POSITIVE, course_keys, identical_heads, one_head, two_heads
from regard.positions.rotary import UNSCALED, LinearScaling, NtkScaling, Rotary, YarnScaling
from regard.positions.sinusoidal import sinusoid

CLOSE = 1e-12
STATES = 60
FORMATS = {
    "float32": np.float32,
    "bfloat16": ml_dtypes.bfloat16,
    "float16": np.float16,
    "float8_e5m2": ml_dtypes.float8_e5m2,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
}
SCALINGS = {
    "none": lambda factor, length: UNSCALED,
    "linear": lambda factor, length: LinearScaling(factor=factor),
    "ntk": lambda factor, length: NtkScaling(factor=factor),
    "yarn": lambda factor, length: YarnScaling(factor=factor, original_length=length),
}


COLLISIONS = """state => {
    const codes = regard.roundedCodes(state);
    return { ...regard.collisions(codes, state.width), start: [...codes.slice(0, 40 * state.width)] };
}"""


@pytest.fixture(scope="module")
def call(page):
    """`call(name, arguments of each call)`: what the page's function gives for each."""
    return lambda name, calls: page.evaluate(
        "([name, calls]) => calls.map(given => regard[name](...given))", [name, [list(given) for given in calls]]
    )


@pytest.fixture
def rng(request):
    return np.random.default_rng([7, *request.node.name.encode()])


def log_uniform(rng, lower, upper):
    return float(np.exp(rng.uniform(np.log(lower), np.log(upper))))


def close(found, expected, *, scale=None):
    """True if every number agrees to 1e-12, relative to itself, or to the scale of a sum whose terms cancel."""
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    size = np.abs(expected) if scale is None else scale
    return found.shape == expected.shape and bool(np.all(np.abs(found - expected) <= CLOSE * size))


def test_close_notices_the_thirteenth_digit_and_nan():
    assert close([1.0 + 5e-13], [1.0])
    assert not close([1.0 + 2e-12], [1.0])
    assert not close([math.nan], [1.0])


def plane_states(rng):
    return [
        {"n": int(log_uniform(rng, 3, 1000)), "beta": rng.uniform(0, 17), "degrees": rng.uniform(-180, 180)}
        for _ in range(STATES)
    ]


def exact_weights(state, logits):
    """Weights of a, b and each other key in balls of 200 bits, from the page's own two logits."""
    with ctx.workprec(200):
        first, second, others = (arb(z).exp() for z in (*logits, 0.0))
        rest = others * (state["n"] - 2)
        return {
            "a": share(first, second + rest),
            "b": share(second, first + rest),
            "other": share(others, first + second + others * (state["n"] - 3)),
            "rest": share(rest, first + second),
        }


def test_the_query_in_the_plane(call, rng):
    states = plane_states(rng)
    logits = call("planeLogits", [(state,) for state in states])
    for state, (za, zb) in zip(states, logits, strict=True):
        across, upward = math.cos(math.radians(state["degrees"])), math.sin(math.radians(state["degrees"]))
        longest = max(abs(across), abs(upward))
        assert close([za, zb], np.array([across, upward]) * state["beta"] / longest, scale=state["beta"])
    for state, z, found in zip(states, logits, call("planeWeights", [(state,) for state in states]), strict=True):
        expected = exact_weights(state, z)
        assert close([found[name] for name in expected], [float(x) for x in expected.values()])


def test_the_error_and_its_bound(call, rng):
    states = plane_states(rng)
    weights = call("planeWeights", [(state,) for state in states])
    logits = call("planeLogits", [(state,) for state in states])
    for goal, shares in (("copy", (1, 0)), ("average", (0.5, 0.5))):
        errors = call("outputError", [(each, goal) for each in weights])
        bounds = call("errorBound", [(each, goal) for each in weights])
        for state, z, error, bound in zip(states, logits, errors, bounds, strict=True):
            exact = exact_weights(state, z)
            with ctx.workprec(200):
                missed = (exact["a"] - shares[0]) ** 2 + (exact["b"] - shares[1]) ** 2
                expected = (missed + exact["other"] ** 2 * (state["n"] - 2)).sqrt()
                if goal == "copy":
                    most = copy_error(exact["a"], arb(2).sqrt())
                else:
                    most = copy_error(1 - exact["rest"], arb(1.5).sqrt()) + abs(exact["a"] - exact["b"]) / arb(2).sqrt()
            assert close([error, bound], [float(expected), float(most)])
            assert error <= bound * (1 + CLOSE)


def test_the_scale_that_is_needed(call, rng):
    asked = [(log_uniform(rng, 1e-4, 0.3), int(log_uniform(rng, 3, 1000))) for _ in range(STATES)]
    scales = [(rng.uniform(0, 17), n) for _, n in asked]
    for name, form, given in (
        ("copyMargin", copy_margin, asked),
        ("averageScale", average_scale, asked),
        ("copyWeight", copy_weight, scales),
        ("averageWeight", average_weight, scales),
    ):
        assert close(call(name, given), [form(*numbers) for numbers in given])


def test_the_tail_of_the_normal_distribution(call, rng):
    numbers = rng.uniform(-9, 30, size=400)
    with ctx.workprec(200):
        expected = [float(normal_tail(arb(x))) for x in numbers]
    assert close(call("normalTail", [(x,) for x in numbers.tolist()]), expected)


def random_key_states(rng):
    return [
        {
            "n": int(log_uniform(rng, 3, 1000)),
            "beta": log_uniform(rng, 0.5, 50),
            "sigma2": rng.uniform(0.02, 1),
            "design": str(rng.choice(["one", "two", "identical"])),
            "isNormalized": bool(rng.random() < 0.25),
            "isPositive": bool(rng.random() < 0.35),
        }
        for _ in range(STATES)
    ]


def test_exact_means_variances_and_errors_under_random_keys(call, rng):
    designs = {"one": one_head, "two": two_heads, "identical": identical_heads}
    states = random_key_states(rng)
    found = call("outputMoments", [(state,) for state in states])
    for state, moments in zip(states, found, strict=True):
        keys = course_keys(n=state["n"], sigma2=state["sigma2"], is_normalized=state["isNormalized"])
        given = GAMMA_POSITIVE if state["isPositive"] else None
        a = coefficient("a")
        questions = [
            Mean(of=a, given=given),
            Variance(of=a, given=given),
            TotalVariance(given=given),
            SquaredError(target={"a": 0.5, "b": 0.5}, given=given),
        ]
        exact = certified.answers(keys.logits(designs[state["design"]](state["beta"])), questions)
        names = ("mean", "variance", "trace", "error")
        assert close([moments[name] for name in names], [estimate.value for estimate in exact]), state


def two_head_density(weight, beta, n, sigma):
    """φ((β − L)/(βσ))/(βσ·w(1−w)): L is the logit βγ at which head 1's weight is w, and dL/dw = 1/(w(1−w))."""
    score = reliability_score(beta, copy_margin(1 - weight, n), sigma)
    return (-score * score / 2).exp() / (2 * arb.pi()).sqrt() / (beta * sigma * weight * (1 - weight))


def test_densities_of_the_weight(call, rng):
    states = [{**state, "isPositive": False, "isNormalized": False} for state in random_key_states(rng)]
    weights = rng.uniform(0.001, 0.999, size=STATES).tolist()
    found = call("weightDensity", list(zip(weights, states, strict=True)))
    for weight, state, density in zip(weights, states, found, strict=True):
        form = two_head_density if state["design"] == "two" else one_head_density
        with ctx.workprec(200):
            expected = form(arb(weight), arb(state["beta"]), state["n"], arb(state["sigma2"]).sqrt())
        # The exponent (γ−1)²/2σ² is a number of this size, and its last digit counts as much in the density.
        size = max(1.0, abs(math.log(max(float(expected), 1e-300))))
        assert abs(density - float(expected)) <= CLOSE * size * float(expected), state


def test_a_density_given_a_positive_length_is_whole(call, rng):
    for state in random_key_states(rng)[:8]:
        edges = np.linspace(0, 1, 201)
        kept = {**state, "isNormalized": False}
        chances = call("binChance", [(lower, upper, kept) for lower, upper in pairwise(edges.tolist())])
        assert sum(chances) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("name", FORMATS)
def test_rounding_to_a_format(call, rng, name):
    dtype = FORMATS[name]
    sizes = rng.choice([1e-9, 1e-3, 1.0, 300.0, 7e4], size=2000)
    numbers = np.concatenate([rng.normal(size=2000) * sizes, np.arange(-600.0, 600.0), [0.0, 464.0, 464.1, 65520.0]])
    with np.errstate(over="ignore"):
        expected = numbers.astype(dtype).astype(float)
    found = np.array(call("rounded", [(x, name) for x in numbers.tolist()]), dtype=float)
    assert np.array_equal(found, expected, equal_nan=True)


def code_states(rng):
    return [(int(rng.integers(1, 33)) * 2, log_uniform(rng, 10, 1e6)) for _ in range(STATES)]


def test_sinusoidal_codes_and_their_distances(call, rng):
    states = code_states(rng)
    positions = rng.integers(0, 2048, size=STATES).tolist()
    found = call("sinusoid", [(t, *state) for t, state in zip(positions, states, strict=True)])
    for t, (width, base), row in zip(positions, states, found, strict=True):
        assert close([row], sinusoid(np.array([t]), width=width, base=base), scale=1)
    distances = call("codeDistance", [(t, *state) for t, state in zip(positions, states, strict=True)])
    for t, (width, base), distance in zip(positions, states, distances, strict=True):
        codes = sinusoid(np.array([0, t]), width=width, base=base)
        assert close(distance, np.linalg.norm(codes[1] - codes[0]), scale=math.sqrt(width))


def test_the_nearest_two_positions(call, rng):
    states = [(int(rng.integers(17, 1500)), *state) for state in code_states(rng)[:12]] + [(1024, 2, 10_000.0)]
    for (count, width, base), found in zip(states, call("nearestCodes", states), strict=True):
        codes = sinusoid(np.arange(count), width=width, base=base)
        distances = np.linalg.norm(codes[1:] - codes[0], axis=-1)
        assert found["lag"] == int(np.argmin(distances)) + 1
        assert close(found["distance"], distances.min(), scale=max(distances.min(), 1e-3))
    assert found["lag"] == 710


def test_where_rounded_codes_collide(page, rng):
    choices = [
        (int(rng.integers(100, 3000)), int(rng.integers(1, 5)) * 2, str(rng.choice(list(FORMATS)))) for _ in range(12)
    ]
    for count, width, name in choices:
        state = {"count": count, "width": width, "base": 10_000.0, "format": name}
        found = page.evaluate(COLLISIONS, state)
        expected = sinusoid(np.arange(count), width=width).astype(FORMATS[name]).astype(float)
        assert np.array_equal(found["start"], expected[:40].ravel())
        firsts = np.unique(expected + 0.0, axis=0, return_index=True)[1]
        assert found["rows"] == sorted(set(range(count)) - set(firsts.tolist()))
        assert found["lost"] == len(found["rows"])
        if found["first"]:
            earlier, later = found["first"]
            assert earlier < later
            assert np.array_equal(expected[earlier], expected[later])


def turning_states(rng):
    return [
        {
            "width": int(rng.integers(1, 33)) * 4,
            "base": log_uniform(rng, 10, 1e6),
            "scaling": str(rng.choice(list(SCALINGS))),
            "factor": rng.uniform(1, 16),
            "original": int(log_uniform(rng, 64, 8192)),
        }
        for _ in range(STATES)
    ]


def test_rotary_frequencies_and_gains(call, rng):
    states = turning_states(rng)
    turnings = call("turningOf", [(state,) for state in states])
    for state, turning in zip(states, turnings, strict=True):
        scaling = SCALINGS[state["scaling"]](state["factor"], state["original"])
        assert close(turning["thetas"], scaling.frequencies(state["base"], state["width"])), state
        assert close(turning["size"], scaling.gain)


def test_rotary_scores_in_both_layouts_and_mixed(call, rng):
    for state in turning_states(rng):
        scaling = SCALINGS[state["scaling"]](state["factor"], state["original"])
        query, key = rng.normal(size=(2, state["width"]))
        layouts = [str(name) for name in rng.choice(["interleaved", "half-split"], size=2)]
        positions, at = rng.integers(0, 1200, size=5), int(rng.integers(0, 1000))
        pair = {"query": query.tolist(), "key": key.tolist(), "queryLayout": layouts[0], "keyLayout": layouts[1]}
        turning = call("turningOf", [(state,)])[0]
        found = call("scores", [(pair, positions.tolist(), at, turning)])[0]
        codes = [Rotary(base=state["base"], layout=layout, scaling=scaling) for layout in layouts]
        queries = codes[0].rotate(np.tile(query, (5, 1)), positions)
        expected = queries @ codes[1].rotate(key[None], np.array([at]))[0]
        assert close(found, expected, scale=scaling.gain**2 * np.linalg.norm(query) * np.linalg.norm(key))


def test_the_envelope_of_rotary_scores(call, rng):
    for width, base in code_states(rng):
        lags = rng.integers(1, 2000, size=4)
        thetas = call("plainFrequencies", [(width, base)])[0]
        found = call("envelope", [(lag, thetas) for lag in lags.tolist()])
        assert close(found, envelope(lags, width, base), scale=width / 2)
