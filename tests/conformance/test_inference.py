"""What probing finds is what the layer is."""

from dataclasses import replace

import numpy as np
import pytest

from conformance.broken_attention import Sunk
from conformance.broken_projections import BROKEN as TURNED
from regard.conformance.inference import infer
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec, Subject


def missing(found) -> list[str]:
    return [str(each) for each in found.findings if each.kind == "not found"]


EVERYTHING = ("weights", "positions", "mask")


class Undeclared(Subject):
    """A reference layer that declares only its sizes."""

    name = "undeclared"

    def __init__(self, layer: ReferenceLayer, *capabilities: str, **declared: object) -> None:
        spec = layer.spec
        self.layer, self.capabilities = layer, frozenset(capabilities)
        self.spec = Spec(width=spec.width, num_heads=spec.num_heads, head_width=spec.head_width, **declared)

    def call(self, x, **options):
        return self.layer.call(x, **options)

    def projections(self):
        return self.layer.projections()

    def core(self, q, k, v, **options):
        return self.layer.core(q, k, v, **options)

    def in_dtype(self, dtype):
        other = Undeclared(self.layer.in_dtype(dtype), *self.capabilities)
        other.spec = replace(self.spec, dtype=dtype)
        return other


class Placed(ReferenceLayer):
    """Turns and biases in its core."""

    def core(self, q, k, v, *, positions=None, **options):
        z = self.logits(self.rotate(q, positions), self.rotate(k, positions))
        added = self.bias(positions, positions)
        z = z if added is None else z + added
        return self.mix(self.softmax(z, np.ones(z.shape, dtype=bool)), v)


def drawn(seed: int) -> Spec:
    """A random spec."""
    rng = np.random.default_rng(seed)
    heads = int(rng.choice([2, 4, 6]))
    positions = str(rng.choice(["none", "rotary", "rotary", "alibi"]))
    return Spec(
        width=8 * heads,
        num_heads=heads,
        num_kv_heads=int(rng.choice([1, heads // 2, heads])),
        causal=bool(rng.integers(2)),
        window=[None, 3, 6, 40][rng.integers(4)],
        positions=positions,
        rotary_layout=str(rng.choice(["half-split", "interleaved"])),
        rotary_width=[None, 4, 6][rng.integers(3)],
        rotary_base=float(np.exp(rng.uniform(np.log(50), np.log(1e6)))),
        scale=[None, float(rng.uniform(0.1, 1.0))][rng.integers(2)],
        softcap=[None, None, float(rng.uniform(2, 60))][rng.integers(3)],
    )


def expected(spec: Spec) -> dict:
    wanted = {"causal": spec.causal, "positions": spec.positions, "num_kv_heads": spec.num_kv_heads}
    if spec.window is not None:
        wanted["window"] = spec.window
    if spec.positions == "rotary":
        wanted |= {"rotary_layout": spec.rotary_layout, "rotary_width": spec.rotary_width}
    return wanted


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(16))
def test_random_specs_are_found(seed, dtype):
    spec = drawn(seed)
    found = infer(Undeclared(ReferenceLayer(spec, dtype=dtype), *EVERYTHING, dtype=dtype))
    assert {name: found.changes.get(name) for name in expected(spec)} == expected(spec), found
    scale = spec.scale or 8**-0.5
    assert found.changes["scale"] == pytest.approx(scale, rel=1e-4)
    if spec.softcap:
        assert found.changes["softcap"] == pytest.approx(spec.softcap, rel=1e-3)
    else:
        assert "softcap" not in found.changes
    if spec.positions == "rotary":
        assert found.changes["rotary_base"] == pytest.approx(spec.rotary_base, rel=1e-3)
    assert "sink" not in found.changes


@pytest.mark.parametrize("seed", range(8))
def test_a_core_that_takes_positions_is_enough(seed):
    spec = drawn(seed)
    layer = Undeclared(Placed(spec), "core", "placed", num_kv_heads=spec.num_kv_heads)
    changes = infer(layer).changes
    assert changes["scale"] == pytest.approx(spec.scale or 8**-0.5, rel=1e-4)
    assert changes["positions"] == spec.positions
    if spec.positions == "rotary":
        assert changes["rotary_base"] == pytest.approx(spec.rotary_base, rel=1e-3)
        assert (changes["rotary_layout"], changes["rotary_width"]) == (spec.rotary_layout, spec.rotary_width)


def test_without_positions_neighbours_tell():
    spec = Spec(causal=True, positions="rotary", rotary_layout="interleaved", rotary_base=500_000.0)
    found = infer(Undeclared(ReferenceLayer(spec), "weights", "float64"))
    assert found.changes["rotary_layout"] == "interleaved"
    assert found.changes["rotary_base"] == pytest.approx(500_000.0, rel=1e-3)
    assert any("softcap" in line for line in missing(found))
    sloped = infer(Undeclared(ReferenceLayer(Spec(causal=True, positions="alibi")), "weights"))
    assert sloped.changes["positions"] == "alibi"
    assert sloped.found["slopes"] == pytest.approx([1 / 4, 1 / 16, 1 / 64, 1 / 256], rel=1e-3)


def test_calls_alone_tell_causality_window_and_little_more():
    found = infer(Undeclared(ReferenceLayer(Spec(causal=True, positions="rotary", window=5))))
    assert dict(found.changes) == {"causal": True, "window": 5}
    assert any("order matters" in line for line in missing(found))
    assert any("scale" in line for line in missing(found))
    relative = infer(Undeclared(ReferenceLayer(Spec(causal=True, positions="rotary")), "positions"))
    assert relative.changes["positions"] == "relative"
    assert infer(Undeclared(ReferenceLayer(Spec(positions="alibi")), "positions")).changes["positions"] == "alibi"
    assert infer(Undeclared(ReferenceLayer(Spec(positions="none")))).changes["positions"] == "none"


def test_a_longer_window_is_found_and_the_longest_is_not():
    assert infer(Undeclared(ReferenceLayer(Spec(causal=True, positions="none", window=70)))).changes["window"] == 70
    unseen = infer(Undeclared(ReferenceLayer(Spec(causal=True, positions="none", window=500))))
    assert "window" not in unseen.changes
    assert any(line.startswith("window: none below") for line in missing(unseen))


def test_a_sink_is_found():
    found = infer(Undeclared(Sunk(Spec(causal=True, positions="rotary", sink=True)), *EVERYTHING))
    assert found.changes["sink"] is True
    assert any("0.5, -0.3, 1, 0.1" in line for line in map(str, found.findings))


def test_tiled_key_heads_are_found():
    found = infer(Undeclared(TURNED["key and value heads tiled instead of repeated"](), *EVERYTHING))
    assert found.found["key_heads"] == (0, 1, 0, 1)
    assert any("tiled" in line for line in map(str, found.findings))


def test_a_turn_the_other_way_is_said():
    found = infer(Undeclared(TURNED["rotated the other way"](), *EVERYTHING))
    assert any("backward" in line for line in map(str, found.findings))


def test_frequencies_of_no_rule_have_no_base():
    found = infer(Undeclared(TURNED["frequencies in the opposite order"](), *EVERYTHING))
    assert "rotary_base" not in found.changes
    assert any(line.startswith("rotary_base") for line in missing(found))


def test_what_is_declared_is_never_overruled():
    layer = Undeclared(ReferenceLayer(Spec(causal=False, positions="none")), *EVERYTHING, causal=True)
    found = infer(layer)
    assert "causal" not in found.changes
    assert any("causal: declared to be True" in line for line in map(str, found.findings))
    assert layer.declared(**found.changes).spec.causal is True


def test_a_dead_layer_tells_nothing():
    layer = ReferenceLayer(Spec(causal=True, positions="none"))
    layer.matrices = {part: 0 * matrix for part, matrix in layer.matrices.items()}
    found = infer(Undeclared(layer, *EVERYTHING))
    assert not {"causal", "window", "positions", "scale"} & set(found.changes)
    assert missing(found)
