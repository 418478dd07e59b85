"""USED refutes parameters that change nothing, and allows those that cannot."""

import pytest

torch = pytest.importorskip("torch")
nn = torch.nn

from conformance.adapters.judged import broken  # noqa: E402
from conformance.adapters.test_modules import Attention, checked  # noqa: E402


def on_used(module):
    return broken(checked(module, causal=True, positions="none")[0], "USED").get("USED", "")


def test_a_bias_of_keys_changes_nothing_lawfully_and_one_of_queries_does_not():
    class Biased(Attention):
        def heads(self, x, part):
            linear = getattr(self, self.names[part])
            bias = None if part in self.forgotten else linear.bias
            return nn.functional.linear(x, linear.weight, bias).unflatten(-1, (self.n_head, -1)).transpose(1, 2)

    for forgotten, words in (([], ""), ([1], ""), ([0], "q_proj.bias"), ([2], "v_proj.bias"), ([1, 2], "v_proj.bias")):
        module = Biased()
        module.forgotten = forgotten
        found = on_used(module)
        assert words in found
        assert bool(words) == bool(found)


def test_one_matrix_in_the_place_of_another_is_refuted():
    class Swapped(Attention):
        def forward(self, x):
            return self.mixed(*(self.heads(x, part) for part in (0, 1, 1)))

    assert "no output changes with v_proj.weight" in on_used(Swapped(kv_heads=2))


def test_a_head_that_takes_no_part_is_refuted():
    class FirstHeadOnly(Attention):
        def heads(self, x, part):
            found = super().heads(x, part)
            return found[:, :1].expand_as(found) if part == 2 else found

    assert "1920 of the 2304 numbers of v_proj.weight" in on_used(FirstHeadOnly())


def test_embeddings_and_what_is_frozen_may_be_unused():
    class Model(Attention):
        def __init__(self):
            super().__init__()
            self.positions = nn.Embedding(99, 48)
            self.temperature = nn.Parameter(torch.ones(3), requires_grad=False)

        def forward(self, x):
            return super().forward(x + self.positions(torch.arange(x.shape[1])))

    assert not broken(checked(Model(), causal=True, positions="learned")[0], "USED")


def test_a_step_function_hides_gradients_and_is_used_all_the_same():
    class Hard(Attention):
        def mixed(self, q, k, v, mask=None):
            picked = (q @ k.mT + torch.full((q.shape[2],) * 2, -torch.inf).triu(1)).argmax(-1)
            one = nn.functional.one_hot(picked, q.shape[2]).to(v.dtype)
            return self.o_proj((one @ v).transpose(1, 2).flatten(2))

    assert "q_proj.weight" not in on_used(Hard())
    assert "k_proj.weight" not in on_used(Hard())


def test_where_nothing_is_declared_an_unused_parameter_is_a_finding():
    class WithMore(Attention):
        def __init__(self):
            super().__init__()
            self.for_another_mode = nn.Linear(48, 48)

    subject, findings = checked(WithMore())
    assert [each.kind for each in findings if "for_another_mode" in each.how] == ["unusual"]
    assert not broken(subject, "USED")
    assert "USED" in broken(checked(WithMore(), causal=True, positions="none")[0], "USED")


def test_what_waits_for_an_argument_that_nobody_gives_may_be_unused():
    class WithContext(Attention):
        def __init__(self):
            super().__init__()
            self.of_context = nn.Linear(48, 48)

        def forward(self, x, context=None):
            return super().forward(x if context is None else x + self.of_context(context))

    assert not broken(checked(WithContext(), causal=True, positions="none")[0], "USED")
