"""Ranks in processes of their own give what one pass gives."""

from typing import Any

from regard.conformance.law import BlindSpot, Comparisons, InputSize, Law, LawTrial
from regard.conformance.laws._parallel import compare_ranks, places_of_ranks
from regard.conformance.reference_kernels import attend_tokens, parallel_kernel

_WORLD = 2


def _compare(trial: LawTrial) -> Comparisons:
    """Two processes of torch.distributed."""
    for kind, places in places_of_ranks(trial, _WORLD):
        yield compare_ranks(trial, "processes", _WORLD, kind, places)


def _own_keys_only(q: Any, k: Any, v: Any, _comm: object) -> Any:
    return attend_tokens(q.numpy(), k.numpy(), v.numpy())


LAW = Law(
    id="PARALLELGLOO",
    statement="two processes of torch.distributed together equal one pass over the whole sequence",
    family="parallel",
    rank=680,
    needs=("parallel", "gloo"),
    compare=_compare,
    diagnosed_by="suspects",
    broken_example=lambda: parallel_kernel(_own_keys_only, framework="torch"),
    suspects=("keys of other ranks are missing", "messages are received in another order than they were sent"),
    size=InputSize(batch=1, length=3),
    grade="spec",
    reveals=(*BlindSpot,),
)
