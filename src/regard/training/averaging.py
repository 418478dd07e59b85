"""The averaging task: heads learn by gradient descent to average two of n values, one key's length being random."""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import torch
from torch import Tensor

from regard.analysis.scenarios import CourseKeys, QueryDesign, course_keys, one_head, two_heads
from regard.core.axes import Float
from regard.core.errors import InputError

Layout: TypeAlias = Literal["one head", "two heads", "one head, normalised keys"]
Reach: TypeAlias = Literal["scale", "plane", "free"]
LAYOUTS: tuple[Layout, ...] = get_args(Layout)
REACHES: tuple[Reach, ...] = get_args(Reach)

_RATES: Mapping[Reach, float] = {"scale": 0.12, "plane": 0.3, "free": 0.3}


@dataclass(frozen=True, kw_only=True)
class AveragingTask:
    """n keys with orthonormal means, k_a = γμ_a with γ ~ N(1, σ²), and the target ½(v_a + v_b).

    Each of `num_seeds` models makes `steps` steps of Adam, whose rate falls to zero along a cosine, on `draws` fresh
    lengths a step.
    """

    n: int = 10
    sigma2: float = 0.5
    num_seeds: int = 5
    steps: int = 600
    draws: int = 128
    seed: int = 0

    def __post_init__(self) -> None:
        if not 3 <= self.n <= 1000:
            raise InputError(f"n = {self.n} keys can't be learned here: it takes a, b and one other. Give 3 to 1,000.")
        if not 0 < self.sigma2 < math.inf:
            raise InputError(f"σ² = {self.sigma2} leaves no random length to learn from. Give a positive variance.")
        if not 2 <= self.num_seeds <= 100:
            raise InputError(f"{self.num_seeds} seeds give no interval that can be had soon. Give 2 to 100.")
        if not 1 <= self.steps <= 1_000_000:
            raise InputError(f"{self.steps} steps can't be made. Give 1 to 1,000,000.")

    def keys(self, layout: Layout) -> CourseKeys:
        """The keys that a layout meets."""
        return course_keys(n=self.n, sigma2=self.sigma2, is_normalised=layout == "one head, normalised keys")


def prescribed(layout: Layout, beta: float) -> QueryDesign:
    """The theory's design: q_1 = βμ_a and q_2 = βμ_b for two heads, else q = β(μ_a + μ_b)."""
    return two_heads(beta) if layout == "two heads" else one_head(beta)


def learn(task: AveragingTask, layout: Layout, reach: Reach) -> Float[Tensor, "seed head key"]:
    """The queries that each seed learns, as multiples of the keys' means.

    `scale` leaves only β of the theory's design to learn, `plane` any query in the plane of μ_a and μ_b, `free` any
    query at all.
    """
    index = LAYOUTS.index(layout) * len(REACHES) + REACHES.index(reach)
    generator = torch.Generator().manual_seed(task.seed * 1000 + index)
    free = _start(task, layout, reach, generator).requires_grad_()
    with _one_thread():
        _descend(free, task, layout, reach, generator)
    return _queries(free, task, layout, reach).detach()


def to_designs(queries: Float[Tensor, "seed head key"]) -> list[QueryDesign]:
    """Each seed's queries as a design that the engines can judge; keys beyond a and b are called o1, o2, …"""
    names = ["a", "b", *(f"o{number}" for number in range(1, queries.shape[-1] - 1))]
    return [
        QueryDesign(coefficients={name: tuple(seed[:, key].tolist()) for key, name in enumerate(names)})
        for seed in queries.double()
    ]


def _descend(free: Tensor, task: AveragingTask, layout: Layout, reach: Reach, generator: torch.Generator) -> None:
    """Every step of the training; `free` is changed."""
    optimizer = torch.optim.Adam([free], lr=_RATES[reach])
    for step in range(task.steps):
        optimizer.param_groups[0]["lr"] = _RATES[reach] * (1 + math.cos(math.pi * step / task.steps)) / 2
        lengths = _lengths(task, generator)
        if task.keys(layout).is_normalised:
            lengths = lengths.sign()
        # Seeds share nothing, so the sum of their errors trains each on its own.
        error = _squared_errors(_queries(free, task, layout, reach), lengths).mean(dim=-1).sum()
        (free.grad,) = torch.autograd.grad(error, [free])
        optimizer.step()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Arrays so small take longer to divide among threads than to work on."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _start(task: AveragingTask, layout: Layout, reach: Reach, generator: torch.Generator) -> Tensor:
    """Small random queries, or a random log β around log 2."""
    if reach == "scale":
        return math.log(2) + torch.randn(task.num_seeds, generator=generator, dtype=torch.float64) / 2
    heads, columns = (2 if layout == "two heads" else 1), (2 if reach == "plane" else task.n)
    return torch.randn(task.num_seeds, heads, columns, generator=generator, dtype=torch.float64)


def _queries(free: Tensor, task: AveragingTask, layout: Layout, reach: Reach) -> Tensor:
    if reach == "free":
        return free
    if reach == "scale":
        unit = prescribed(layout, 1.0).coefficients
        free = free.exp()[:, None, None] * torch.tensor([unit["a"], unit["b"]], dtype=torch.float64).T
    return torch.nn.functional.pad(free, (0, task.n - 2))


def _lengths(task: AveragingTask, generator: torch.Generator) -> Float[Tensor, "seed draw"]:
    """γ = 1 + σz, one z from each of `draws` equally likely strata, which leaves the mean gradient little noise."""
    inside = torch.rand(task.num_seeds, task.draws, generator=generator, dtype=torch.float64)
    levels = ((torch.arange(task.draws) + inside) / task.draws).clamp(1e-12, 1 - 1e-12)
    return 1 + math.sqrt(task.sigma2) * torch.special.ndtri(levels)


def _squared_errors(
    queries: Float[Tensor, "seed head key"], lengths: Float[Tensor, "seed draw"]
) -> Float[Tensor, "seed draw"]:
    """‖c − ½(v_a + v_b)‖² for orthonormal values, so that c is the mean of the heads' weights."""
    factors = torch.ones(*lengths.shape, 1, queries.shape[-1], dtype=torch.float64)
    factors[..., 0] = lengths[..., None]
    output = torch.softmax(queries[:, None] * factors, dim=-1).mean(dim=-2)
    return (output - _target(queries.shape[-1])).square().sum(dim=-1)


def _target(n: int) -> Float[Tensor, " key"]:
    return torch.cat([torch.full((2,), 0.5), torch.zeros(n - 2)]).double()
