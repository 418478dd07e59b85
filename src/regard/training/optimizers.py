"""The optimizers: Muon for matrices, and Adam for tables of which each step uses few rows."""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.optim import Optimizer

from regard.core.axes import Float

FillTask: TypeAlias = tuple[Tensor, Callable[[], Tensor]]

# Five steps of x → ax + bx³ + cx⁵ with these take every singular value from (0, 1] to about 1 ± 0.3.
_A, _B, _C = 3.4445, -4.7750, 2.0315
_STEPS = (2, 2, 1)


def nearly_orthogonal(matrix: Float[Tensor, "row column"]) -> Float[Tensor, "row column"]:
    """A matrix with the same singular vectors and all singular values near 1 (Newton–Schulz).

        X ← P X,   P = a + bG + cG²,   G = XXᵀ

    Some P's are multiplied with each other first: all are functions of the first G, which is as small as the shorter
    side. Not all of them, since their product grows like aᵏ where X is small, and rounding errors with it.
    """
    is_tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if is_tall else matrix
    x = x / (x.norm() + 1e-7)
    for steps in _STEPS:
        x = _product_of_factors(x @ x.T, steps) @ x
    return x.T if is_tall else x


def _product_of_factors(gram: Float[Tensor, "row row"], steps: int) -> Float[Tensor, "row row"]:
    """P_k … P_1, where each step takes G to PGP."""
    product = factor = _factor(gram)
    for _ in range(steps - 1):
        gram = factor @ (factor @ gram)
        factor = _factor(gram)
        product = factor @ product
    return product


def _factor(gram: Float[Tensor, "row row"]) -> Float[Tensor, "row row"]:
    factor = torch.addmm(gram, gram, gram, beta=_B, alpha=_C)
    factor.diagonal().add_(_A)
    return factor


class Muon(Optimizer):
    """Momentum, made nearly orthogonal before each step, with Nesterov's look-ahead.

    `pieces` are the numbers of rows of the blocks in a joined matrix; each block is orthogonalized on its own, in
    `dtype`, since the direction need not be exact. `share_tasks` lets several processes divide the work: it takes tasks
    that each fill a tensor.
    """

    def __init__(
        self,
        params: Iterable[dict],
        *,
        lr: float = 0.02,
        momentum: float = 0.95,
        dtype: torch.dtype = torch.float32,
        share_tasks: Callable[[list[FillTask]], None],
    ) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "pieces": None})
        self._dtype, self._share_tasks = dtype, share_tasks

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        """Updates every matrix."""
        assert closure is None
        tasks, moves = [], []
        for group in self.param_groups:
            for parameter in group["params"]:
                direction = self._momentum(parameter, group["momentum"])
                update = torch.empty_like(direction)
                blocks = group["pieces"] or [len(direction)]
                for piece, filled in zip(direction.split(blocks), update.split(blocks), strict=True):
                    tasks.append((filled, lambda piece=piece: _scaled(nearly_orthogonal(piece.to(self._dtype)))))
                moves.append((parameter, update, group["lr"]))
        self._share_tasks(tasks)
        for parameter, update, rate in moves:
            parameter.add_(update, alpha=-rate)

    def _momentum(self, parameter: Tensor, momentum: float) -> Tensor:
        state = self.state[parameter]
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(parameter)
        gradient = parameter.grad
        assert gradient is not None, "every matrix is used in every step"
        state["momentum"].lerp_(gradient, 1 - momentum)
        return torch.lerp(gradient, state["momentum"], momentum)


def _scaled(update: Tensor) -> Tensor:
    """Tall matrices take larger steps, so that the effect on the outputs does not depend on the shape."""
    return update * max(1.0, update.shape[0] / update.shape[1]) ** 0.5


class RowAdam(Optimizer):
    """Adam for sparse gradients: unused rows stay as they are, and each row counts its own steps.

    m ← β₁m + (1 − β₁)g,   v ← β₂v + (1 − β₂)g²,   row ← row − η m̂/(√v̂ + ε)
    """

    def __init__(
        self, params: Iterable[Any], *, lr: float, betas: tuple[float, float] = (0.9, 0.95), eps: float = 1e-8
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        """Updates every row that has a gradient."""
        assert closure is None
        for group in self.param_groups:
            for table in group["params"]:
                gradient = table.grad.coalesce()
                rows, values = gradient.indices()[0], gradient.values()
                state = self._state(table)
                state["count"][rows] += 1
                count = state["count"][rows, None]
                parts = []
                for name, beta, new in zip(("mean", "square"), group["betas"], (values, values.square()), strict=True):
                    moved = state[name][rows].lerp_(new, 1 - beta)
                    state[name][rows] = moved
                    parts.append(moved / (1 - beta**count))
                table[rows] -= group["lr"] * parts[0] / (parts[1].sqrt() + group["eps"])

    def _state(self, table: Tensor) -> dict[str, Tensor]:
        state = self.state[table]
        if not state:
            state["mean"], state["square"] = torch.zeros_like(table), torch.zeros_like(table)
            state["count"] = torch.zeros(len(table))
        return state
