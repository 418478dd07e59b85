"""Machine-made mutants of the cache layers of transformers: how many the laws of caches catch.

One operator, number, name, condition or statement of a method is changed. Nobody chose the changes: they are drawn from
all possible ones. Mutants that raise an error in their first two steps are left out: nobody would need a law for them.
"""

import argparse
import ast
import inspect
import random
import statistics
import textwrap
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from transformers import cache_utils

import regard
from regard.conformance.adapters import adapt

# The classes, and a model whose cache consists of them.
SUBJECTS: dict[str, tuple[str, dict[str, Any]]] = {
    "DynamicLayer": ("LlamaForCausalLM", {}),
    "CacheLayerMixin": ("LlamaForCausalLM", {"cache": "static"}),
    "DynamicSlidingWindowLayer": ("MistralForCausalLM", {"sliding_window": 4, "cache": "recording"}),
    "StaticLayer": ("LlamaForCausalLM", {"cache": "static"}),
    "StaticSlidingWindowLayer": ("MistralForCausalLM", {"sliding_window": 4, "cache": "static"}),
    "Fp8QuantizedLayer": ("LlamaForCausalLM", {"cache": "quantized"}),
    "LinearAttentionLayer": ("Lfm2ForCausalLM", {}),
}
METHODS = (
    "update",
    "get_mask_sizes",
    "get_seq_length",
    "reset",
    "crop",
    "reorder_cache",
    "update_conv_state",
    "update_recurrent_state",
    "_quantize",
    "_dequantize",
)
# The quickest first: the first one that fails ends the trial.
LAWS = ("CACHE", "REQUESTS", "REORDER", "REUSE", "CROP", "REJECT", "EVICT", "FORK", "INTERLEAVE", "TRACE")
_COMPARED = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
_NAMES = {"keys": "values", "values": "keys", "key_states": "value_states", "value_states": "key_states"}
_NAMES |= {"max": "min", "min": "max", "cumulative_length": "max_cache_len"}


class Mutation(ast.NodeTransformer):
    """Changes the place with this number, counted in the order of visits."""

    def __init__(self, wanted: int) -> None:
        self.wanted, self.num_places, self.change, self.statement = wanted, 0, "", ""

    def _is_here(self, node: ast.AST) -> bool:
        self.num_places += 1
        if self.num_places - 1 != self.wanted:
            return False
        self.change = ast.unparse(node).splitlines()[0]
        return True

    def visit(self, node: ast.AST) -> Any:
        """The node, changed if it is the wanted one."""
        if isinstance(node, ast.stmt):
            self.statement = ast.unparse(node).splitlines()[0]
        changed = super().visit(node)
        new: ast.AST | None = None
        match changed:
            case ast.Compare(left=left, ops=[operator], comparators=right) if type(operator) in _COMPARED:
                new = ast.Compare(left=left, ops=[_COMPARED[type(operator)]()], comparators=right)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as operator, right=right):
                new = ast.BinOp(left=left, op=ast.Sub() if isinstance(operator, ast.Add) else ast.Add(), right=right)
            case ast.Constant(value=int() as value) if not isinstance(value, bool):
                new = ast.Constant(value=value + 1)
            case ast.Attribute(value=value, attr=name, ctx=ast.Load()) if name in _NAMES:
                new = ast.Attribute(value=value, attr=_NAMES[name], ctx=ast.Load())
            case ast.Name(id=name, ctx=ast.Load()) if name in _NAMES:
                new = ast.Name(id=_NAMES[name], ctx=ast.Load())
            case ast.If(test=test, body=body, orelse=orelse):
                new = ast.If(test=ast.UnaryOp(op=ast.Not(), operand=test), body=body, orelse=orelse)
            case ast.Assign() | ast.AugAssign() | ast.Expr(value=ast.Call()):
                new = ast.Pass()
        if new is None or not self._is_here(changed):
            return changed
        self.change += f"  →  {ast.unparse(new).splitlines()[0]}  (in {self.statement})"
        return new

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Keys and values have the same sizes here, so that exchanging those changes nothing."""
        return node if node.attr in ("dtype", "device", "shape") else self.generic_visit(node)

    def visit_Try(self, node: ast.Try) -> ast.AST:
        """Fallbacks are never reached here."""
        node.body = [self.visit(each) for each in node.body]
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        """Errors stay."""
        return node


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A class with one method changed."""

    kind: str
    method: str
    change: str
    function: Any


def mutants(kind: str) -> Iterator[Mutant]:
    """All mutants of a class."""
    for method in METHODS:
        own = vars(getattr(cache_utils, kind)).get(method)
        if own is None:
            continue
        source, place = textwrap.dedent(inspect.getsource(own)), 0
        while True:
            tree, mutation = ast.parse(source), Mutation(place)
            body = tree.body[0]
            assert isinstance(body, ast.FunctionDef)
            body.args.defaults, body.returns, body.decorator_list = body.args.defaults, None, []
            body.body = [mutation.visit(each) for each in body.body]
            if place >= mutation.num_places:
                break
            place += 1
            kind_of = getattr(cache_utils, kind)
            code = compile(ast.fix_missing_locations(_in_class(tree, kind)), f"<{kind}.{method}>", "exec")
            names: dict[str, Any] = {}
            exec(code, dict(vars(cache_utils)), names)
            yield Mutant(kind=kind, method=method, change=mutation.change, function=names["bound"](kind_of))


def _in_class(tree: ast.Module, kind: str) -> ast.Module:
    """The method inside a function with the cell that `super()` needs."""
    maker = ast.parse("def bound(__class__):\n    pass").body[0]
    method = tree.body[0]
    assert isinstance(maker, ast.FunctionDef)
    assert isinstance(method, ast.FunctionDef)
    for node in ast.walk(method):
        match node:
            case ast.Call(func=ast.Name(id="super"), args=[]):
                node.args = [ast.Name(id=kind, ctx=ast.Load()), ast.Name(id="self", ctx=ast.Load())]
    maker.body = [method, ast.Return(value=ast.Name(id=method.name, ctx=ast.Load()))]
    return ast.Module(body=[maker], type_ignores=[])


def is_stillborn(subject: Any) -> bool:
    """True if one of the first two steps raises an error."""
    x = np.random.default_rng(0).standard_normal((2, 4, subject.spec.width)).astype(np.float32)
    try:
        cache = subject.step(x[:, :3], subject.empty_cache(2))[1]
        subject.step(x[:, 3:], cache)
    except Exception:  # noqa: BLE001 - any error
        return True
    return False


def caught_by(subject: Any, traces: int) -> tuple[str, int | None, str | None]:
    """The first law that fails, the number of operations of its trace, and the family named; "" for none."""
    for law in LAWS:
        report = regard.check(subject, laws=law, traces=traces)
        for failure in report.failures:
            story = failure.counterexample or ""
            family = failure.diagnosis[0].family if failure.diagnosis else None
            return law, story.count(" · ") + 1 if story.startswith("trace ") else None, family
    return "", None, None


def main() -> None:
    """Prints a line per mutant and the sums."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=10, help="mutants per class (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="which of them (default: %(default)s)")
    parser.add_argument("--traces", type=int, default=10, help="random traces per law (default: %(default)s)")
    parser.add_argument("--only", default="", help="classes whose names contain this text")
    given = parser.parse_args()
    caught, missed, named, lengths = 0, 0, 0, []
    for kind, (model, arguments) in SUBJECTS.items():
        if given.only not in kind:
            continue
        subject = adapt(regard.hf(model, **arguments)())
        start = time.perf_counter()
        if not given.only:
            print(f"{kind}: sound: {caught_by(subject, given.traces)[0] or 'no failure'}")
        possible, num_tried = list(mutants(kind)), 0
        random.Random(given.seed).shuffle(possible)
        for mutant in possible:
            if num_tried == given.each:
                break
            owner = getattr(cache_utils, kind)
            original = vars(owner)[mutant.method]
            setattr(owner, mutant.method, mutant.function)
            try:
                if is_stillborn(subject):
                    continue
                law, length, family = caught_by(subject, given.traces)
            finally:
                setattr(owner, mutant.method, original)
            num_tried, caught, missed = num_tried + 1, caught + bool(law), missed + (not law)
            named += family == "cache"
            lengths += [] if length is None else [length]
            print(f"  {law or 'MISSED'} ({family}, {length}): {kind}.{mutant.method}: {mutant.change}", flush=True)
        print(f"{kind}: {num_tried} of {len(possible)}, {time.perf_counter() - start:.0f} s", flush=True)
    median = statistics.median(lengths) if lengths else "-"
    print(f"{caught} of {caught + missed} caught, {named} named cache, {median} operations in the median trace")


if __name__ == "__main__":
    main()
