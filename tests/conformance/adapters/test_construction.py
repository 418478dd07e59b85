"""Classes are built by the names of what they ask for; what no name explains is asked for in one line."""

from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from regard.conformance.adapters.construction import build
from regard.core.errors import InputError


class Plain:
    def __init__(self, d_model, num_heads, dropout, qkv_bias, context_length, causal: bool = False):
        self.given = (d_model, num_heads, dropout, qkv_bias, context_length, causal)


@dataclass
class LargeConfig:
    dim: int = 4096
    n_heads: int = 32
    n_kv_heads: int | None = None
    vocab_size: int = -1
    max_seq_len: int = 2048


class Configured:
    def __init__(self, args: LargeConfig):
        self.args = args


class Asking:
    def __init__(self, config):
        self.width, self.heads = config.n_embd, config["n_head"]
        self.kv_heads = getattr(config, "n_kv_head", self.heads)
        self.window = config.get("window")


class Odd:
    def __init__(self, config):
        self.odd = config.frobnication


def test_sizes_are_chosen_by_their_names():
    built = build(Plain, {"num_heads": 2}, "plain")
    assert built.layer.given == (32, 2, 0.0, False, 64, False)
    assert built.arguments["num_heads"] == 2
    assert "d_model=32" in str(built.findings[0])
    assert "num_heads" not in str(built.findings[0])


def test_a_config_has_the_class_of_its_own_module_and_small_sizes():
    made = build(Configured, {}, "configured").layer
    assert isinstance(made.args, LargeConfig)
    assert (made.args.dim, made.args.n_heads, made.args.n_kv_heads, made.args.vocab_size) == (32, 4, None, 99)
    given = build(Configured, {"args": {"dim": 64, "n_heads": 2}}, "configured").layer
    assert (given.args.dim, given.args.n_heads, given.args.max_seq_len) == (64, 2, 2048)


def test_a_config_without_a_class_answers_only_what_it_is_asked():
    built = build(Asking, {"config": {"n_head": 8}}, "asking")
    made = built.layer
    assert (built.arguments["n_embd"], built.arguments["n_head"]) == (32, 8)
    assert (made.width, made.heads, made.kv_heads, made.window) == (32, 8, 8, None)
    assert "n_embd=32" in str(built.findings[0])
    own = SimpleNamespace(n_embd=6)
    with pytest.raises(InputError, match="could not be made"):
        build(Asking, {"config": own}, "asking")


@pytest.mark.parametrize(("make", "told"), [(Odd, "config.frobnication"), (lambda d_model, gizmo: None, "gizmo")])
def test_what_no_name_explains_is_asked_for(make, told):
    with pytest.raises(InputError, match=told) as caught:
        build(make, {}, "odd")
    assert "--arg" in str(caught.value)


def test_what_a_constructor_raises_is_said_with_what_it_was_given():
    class Fails:
        def __init__(self, dim):
            raise ValueError(f"{dim} is too small")

    with pytest.raises(InputError, match=r"dim=32.*ValueError: 32 is too small"):
        build(Fails, {}, "fails")


def test_what_is_only_asked_for_in_a_condition_is_switched_off():
    class Switched:
        def __init__(self, args):
            self.width = args.embed_dim if not args.multiway else 2 * args.embed_dim

    built = build(Switched, {}, "switched")
    assert built.layer.width == 32
    assert "multiway=False" in str(built.findings[0])
